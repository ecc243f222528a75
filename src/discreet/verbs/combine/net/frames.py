"""A message between hosts: a signed header, and the body that the header has the digest of.

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
MOST_HEADER = 60_000
SIGNATURE = 64
_CONTEXT = b"discreet combine message 1\n"
_FIXED = struct.Struct(">32sII?QH32s")
_NONCE = 12
_LONGEST_KIND = 200


@dataclass(frozen=True)
class Header:
    """What is signed of a message."""

    session: bytes
    number: int
    """Counts the sender's messages, to whomever they go."""
    of: str
    to: tuple[str, ...]
    """Empty means all others."""
    sealed: bool
    kind: str
    size: int = 0
    """Of the body, as it is sent."""
    digest: bytes = bytes(32)
    """SHA-256 of the body, as it is sent."""
    place: int = 0
    """Of a message to all: how many its sender told before."""

    def pack(self) -> bytes:
        """This as bytes, in the one form there is."""
        kind = self.kind.encode()
        names = b"".join(bytes([len(name)]) + name.encode() for name in (self.of, *self.to))
        if not 0 < len(kind) <= _LONGEST_KIND:
            raise BadInput(f"A message's kind has 1 to {_LONGEST_KIND} bytes, got {self.kind!r}.")
        fixed = _FIXED.pack(self.session, self.number, self.place, self.sealed, self.size, len(self.to), self.digest)
        return fixed + bytes([len(kind)]) + kind + names

    @classmethod
    def unpack(cls, raw: bytes) -> Header:
        """The header that ``pack`` wrote; otherwise BadInput."""
        try:
            session, number, place, sealed, size, count, digest = _FIXED.unpack_from(raw)
            texts, at = [], _FIXED.size
            for _ in range(count + 2):
                texts.append(raw[at + 1 : at + 1 + raw[at]].decode())
                at += 1 + raw[at]
        except (struct.error, IndexError, UnicodeDecodeError):
            raise BadInput("A message's header cannot be read.") from None
        made = cls(session, number, texts[1], tuple(texts[2:]), sealed, texts[0], size, digest, place)
        if not texts[0] or len(texts[0].encode()) > _LONGEST_KIND or made.pack() != raw:
            raise BadInput("A message's header cannot be read.")
        return made


@dataclass(frozen=True)
class Signed:
    """A header as it was sent, and its signature."""

    raw: bytes
    signature: bytes

    @cached_property
    def header(self) -> Header:
        """What it says."""
        return Header.unpack(self.raw)

    def check(self, manifest: Manifest) -> None:
        """Raise BadInput unless it is signed by whom it says, in this session."""
        if self.header.session != manifest.digest:
            raise BadInput(f"A message of {self.header.of} belongs to another session.")
        try:
            verifier(manifest.party(self.header.of).key).verify(self.signature, _CONTEXT + self.raw)
        except InvalidSignature:
            raise BadInput(f"A message is not signed by {self.header.of}.") from None


@dataclass(frozen=True)
class Frame:
    """A whole message: the signed header and the body as it is sent."""

    signed: Signed
    body: bytes | bytearray

    @property
    def header(self) -> Header:
        """What is signed."""
        return self.signed.header

    def check_body(self) -> None:
        """Raise BadInput unless the body is the one that was signed."""
        if len(self.body) != self.header.size or hashlib.sha256(self.body).digest() != self.header.digest:
            raise BadInput(f"The body of a message of {self.header.of} is not the one its header says.")


def sign(identity: Identity, header: Header, body: bytes) -> Frame:
    """A message as it is sent; ``header`` says everything but the size and the digest of the body."""
    raw = replace(header, size=len(body), digest=hashlib.sha256(body).digest()).pack()
    return Frame(Signed(raw, identity.sign(_CONTEXT + raw)), body)


class Sealer:
    """Seals and opens what two parties say to each other alone."""

    def __init__(self, mine: bytes, theirs: bytes, session: bytes, pair: tuple[str, str]) -> None:
        try:
            shared = X25519PrivateKey.from_private_bytes(mine).exchange(X25519PublicKey.from_public_bytes(theirs))
        except ValueError:
            raise BadInput("That is not a key to seal with.") from None
        stream = Stream(shared, (b"seal", session, *(name.encode() for name in sorted(pair))))
        self._cipher, self._nonces = AESGCM(stream.bytes(32)), stream.bytes(32)

    def seal(self, of: str, number: int, kind: str, body: bytes) -> bytes:
        """The body, which only the two can read, and nobody change."""
        label = _label(of, number, kind)
        nonce = hmac.digest(self._nonces, label + body, "sha256")[:_NONCE]
        return nonce + self._cipher.encrypt(nonce, body, label)

    def open(self, of: str, number: int, kind: str, sealed: bytes | bytearray) -> bytes:
        """What was sealed; BadInput if it was not, or not as this message."""
        view = memoryview(sealed)
        try:
            return self._cipher.decrypt(view[:_NONCE], view[_NONCE:], _label(of, number, kind))
        except (InvalidTag, ValueError):
            raise BadInput(f"A sealed message of {of} cannot be opened.") from None


def public_half(secret: bytes) -> bytes:
    """The key that others seal with for the owner of this secret."""
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def _label(of: str, number: int, kind: str) -> bytes:
    parts = (of.encode(), number.to_bytes(4, "big"), kind.encode())
    return b"".join(len(part).to_bytes(2, "big") + part for part in parts)
