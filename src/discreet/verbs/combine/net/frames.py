"""Message frames between hosts: a signed header, and a body whose digest the header has.

The header says in which session, who, to whom, of which kind and the how-maniest of the sender's messages. It is
signed once, and checked by every receiver before anything is made of it. A message is sealed for one party, or told to
all others: nothing in between. What is told has its place among all that its sender told, so that whoever leaves
something out, or tells two parties different things in the same place, is convicted by its own signatures.

A body for one party is sealed, so that nobody who sees the frame can read it and transcripts need no more than its
digest. The key is X25519 of two keys made for this session, through HKDF; the nonce is a keyed digest of the message
itself, so that a party that says the same again after a crash seals it to the same bytes, and one that would say
something else under the same number does not use a nonce twice.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass, replace
from functools import cached_property

from discreet.core.optional import extra
from discreet.errors import BadInput
from discreet.noise.stream import Stream
from discreet.verbs.combine.net.keys import Identity, verifier
from discreet.verbs.combine.net.manifest import Manifest

with extra("combine"):
    from cryptography.exceptions import InvalidSignature, InvalidTag
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

HELLO, ABORT, SETTLED = "hello", "abort", "settled"
OWN_KINDS = (HELLO, ABORT, SETTLED)
"""Kinds that no protocol may use."""
MAX_HEADER_BYTES = 60_000
SIGNATURE_BYTES = 64
_CONTEXT = b"discreet combine message 1\n"
_FIXED = struct.Struct(">32sII?QH32s")
_NONCE_BYTES = 12
_MAX_KIND_BYTES = 200


@dataclass(frozen=True)
class Header:
    """Signed header of a message."""

    session: bytes
    number: int
    """Number among all messages of the sender."""
    of: str
    to: tuple[str, ...]
    """Receivers; empty for a broadcast."""
    sealed: bool
    kind: str
    size: int = 0
    """Size of the body as it is sent, bytes."""
    digest: bytes = bytes(32)
    """SHA-256 of the body, as it is sent."""
    place: int = 0
    """Of a broadcast: number of the sender's earlier broadcasts."""

    def pack(self) -> bytes:
        """Header as bytes, in its one canonical form."""
        kind = self.kind.encode()
        names = b"".join(bytes([len(name)]) + name.encode() for name in (self.of, *self.to))
        if not 0 < len(kind) <= _MAX_KIND_BYTES:
            raise BadInput(f"A message's kind has 1 to {_MAX_KIND_BYTES} bytes, got {self.kind!r}.")
        fixed = _FIXED.pack(self.session, self.number, self.place, self.sealed, self.size, len(self.to), self.digest)
        return fixed + bytes([len(kind)]) + kind + names

    @classmethod
    def unpack(cls, raw: bytes) -> Header:
        """Header from the bytes that ``pack`` wrote; BadInput for others."""
        try:
            session, number, place, sealed, size, count, digest = _FIXED.unpack_from(raw)
            texts, at = [], _FIXED.size
            for _ in range(count + 2):
                texts.append(raw[at + 1 : at + 1 + raw[at]].decode())
                at += 1 + raw[at]
        except (struct.error, IndexError, UnicodeDecodeError):
            raise BadInput("A message's header cannot be read.") from None
        made = cls(session, number, texts[1], tuple(texts[2:]), sealed, texts[0], size, digest, place)
        if not texts[0] or len(texts[0].encode()) > _MAX_KIND_BYTES or made.pack() != raw:
            raise BadInput("A message's header cannot be read.")
        return made


@dataclass(frozen=True)
class Signed:
    """A header as it was sent, with its signature."""

    raw: bytes
    signature: bytes

    @cached_property
    def header(self) -> Header:
        """The header."""
        return Header.unpack(self.raw)

    def check(self, manifest: Manifest) -> None:
        """Raise BadInput unless its sender signed it, in this session."""
        if self.header.session != manifest.digest:
            raise BadInput(f"A message of {self.header.of} belongs to another session.")
        try:
            verifier(manifest.party(self.header.of).key).verify(self.signature, _CONTEXT + self.raw)
        except InvalidSignature:
            raise BadInput(f"A message is not signed by {self.header.of}.") from None


@dataclass(frozen=True)
class Frame:
    """A message: its signed header, and its body as it is sent."""

    signed: Signed
    body: bytes | bytearray

    @property
    def header(self) -> Header:
        """The header."""
        return self.signed.header

    def check_body(self) -> None:
        """Raise BadInput unless the body is the one that was signed."""
        if len(self.body) != self.header.size or hashlib.sha256(self.body).digest() != self.header.digest:
            raise BadInput(f"The body of a message of {self.header.of} is not the one its header says.")


def sign(identity: Identity, header: Header, body: bytes) -> Frame:
    """Sign a message; ``header`` has everything but the size and the digest of the body."""
    raw = replace(header, size=len(body), digest=hashlib.sha256(body).digest()).pack()
    return Frame(Signed(raw, identity.sign(_CONTEXT + raw)), body)


class Sealer:
    """Authenticated encryption between two parties."""

    def __init__(self, mine: bytes, theirs: bytes, session: bytes, pair: tuple[str, str]) -> None:
        try:
            shared = X25519PrivateKey.from_private_bytes(mine).exchange(X25519PublicKey.from_public_bytes(theirs))
        except ValueError:
            raise BadInput("That is not a key to seal with.") from None
        stream = Stream(shared, (b"seal", session, *(name.encode() for name in sorted(pair))))
        self._cipher, self._nonces = AESGCM(stream.bytes(32)), stream.bytes(32)

    def seal(self, of: str, number: int, kind: str, body: bytes) -> bytes:
        """Encrypt a body for the other party."""
        label = _label(of, number, kind)
        nonce = hmac.digest(self._nonces, label + body, "sha256")[:_NONCE_BYTES]
        return nonce + self._cipher.encrypt(nonce, body, label)

    def open(self, of: str, number: int, kind: str, sealed: bytes | bytearray) -> bytes:
        """Decrypt a body; BadInput if it was not sealed, or not as this message."""
        view = memoryview(sealed)
        try:
            return self._cipher.decrypt(view[:_NONCE_BYTES], view[_NONCE_BYTES:], _label(of, number, kind))
        except (InvalidTag, ValueError):
            raise BadInput(f"A sealed message of {of} cannot be opened.") from None


def sealing_key(secret: bytes) -> bytes:
    """Public key that others seal with for the owner of this secret."""
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def _label(of: str, number: int, kind: str) -> bytes:
    parts = (of.encode(), number.to_bytes(4, "big"), kind.encode())
    return b"".join(len(part).to_bytes(2, "big") + part for part in parts)
