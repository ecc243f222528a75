"""Messages between hosts: signed headers, sealed bodies, and their binary encoding.

The header says in which session, who, to whom, of which kind and the how-maniest of the sender's messages. It is signed
once, and checked by every receiver before anything is made of it. A message is sealed for one party, or told to all
others: nothing in between. What is told has its place among all that its sender told, so that anyone who leaves
something out, or tells two parties different things in the same place, is convicted by its own signatures.

A body for one party is sealed, so that no one who sees the frame can read it and transcripts need no more than its
digest. The key is X25519 of two keys made for this session, through HKDF; the nonce is a keyed digest of the message
itself, so that a party that says the same again after a crash seals it to the same bytes, and one that would say
something else under the same number does not use a nonce twice.

**Binary encoding of bodies.** A body is a list of named parts: bytes, a text, a list of texts, or a vector with its
width and length. Reading is strict: every size is checked before anything is made of it, and nothing may be left over.
What the sender may not say for its size is what the receiver would refuse: a vector counts as it lies in memory.

The elements of a vector take the width of the group that the party computes in, or whole words of 64 bits where that is
not known. So the size of a message says nothing about the values in it.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.optional import extra
from discreet.errors import BadInput
from discreet.noise.stream import Stream
from discreet.verbs.combine.effects import Body
from discreet.verbs.combine.group import ModularGroup, Vector
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
_BYTES, _TEXT, _TEXTS, _WORDS, _WIDE = range(5)
_LENGTH = struct.Struct(">I")
_SHAPE = struct.Struct(">HI")
_COUNT = struct.Struct(">H")
_MAX_PARTS, _MAX_NAME_BYTES = 4096, 100
_WORD_BITS = 64


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
        return self.signed.header

    def check_body(self) -> None:
        """Raise BadInput unless the body is the one that was signed."""
        if len(self.body) != self.header.size or hashlib.sha256(self.body).digest() != self.header.digest:
            raise BadInput(f"The body of a message of {self.header.of} does not match its header.")


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
            raise BadInput("This is not an encryption key.") from None
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


def encode_body(body: Body, most: int, widths: Mapping[int, int] | None = None) -> bytes:
    """Encode a body; no part may take more than ``most`` bytes in memory, ``widths`` has bits by vector length."""
    if len(body) > _MAX_PARTS:
        raise BadInput(f"A message has at most {_MAX_PARTS:,} parts.")
    pieces = [_COUNT.pack(len(body))]
    for name, part in body.items():
        called = name.encode()
        if not 0 < len(called) <= _MAX_NAME_BYTES:
            raise BadInput(f"A part's name has 1 to {_MAX_NAME_BYTES} bytes.")
        pieces += [bytes([len(called)]), called, *_written(part, most, widths or {})]
    return b"".join(pieces)


def decode_body(data: bytes | bytearray | memoryview, most: int) -> dict[str, Any]:
    """Decode a body; BadInput if it is malformed or a part takes more than ``most`` bytes in memory."""
    reader = _WireReader(memoryview(data), most)
    body: dict[str, Any] = {}
    [count] = _COUNT.unpack(reader.take(_COUNT.size))
    if count > _MAX_PARTS:
        raise BadInput(f"A message has at most {_MAX_PARTS:,} parts, got {count:,}.")
    for _ in range(count):
        name = reader.text(reader.byte())
        if not name or len(name.encode()) > _MAX_NAME_BYTES or name in body:
            raise BadInput("A part of the message has no name, or the name of another part.")
        body[name] = reader.part()
    reader.end()
    return body


def _written(part: Any, most: int, widths: Mapping[int, int]) -> list[bytes]:
    if isinstance(part, bytes | bytearray | memoryview):
        return [bytes([_BYTES]), _LENGTH.pack(len(part)), bytes(part)]
    if isinstance(part, str):
        text = part.encode()
        return [bytes([_TEXT]), _LENGTH.pack(len(text)), text]
    if isinstance(part, tuple | list) and all(isinstance(item, str) for item in part):
        pieces = [bytes([_TEXTS]), _LENGTH.pack(len(part))]
        for item in part:
            text = item.encode()
            pieces += [_LENGTH.pack(len(text)), text]
        return pieces
    if isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype in (np.uint64, object):
        group = ModularGroup(_width(part, widths.get(len(part), 0)))
        _require_room(len(part), group.bits, most)
        return [
            bytes([_WIDE if part.dtype == object else _WORDS]),
            _SHAPE.pack(group.bits, len(part)),
            group.pack(part),
        ]
    raise BadInput(f"A message cannot contain a {type(part).__name__}.")


def _width(vector: Vector, known: int) -> int:
    """Width of the known group, if the vector is in it; otherwise the whole words it needs."""
    wide = vector.dtype == object
    if wide and len(vector) and int(vector.min()) < 0:
        raise BadInput("Elements of a group cannot be negative.")
    needed = int(vector.max()).bit_length() if len(vector) else 0
    if known >= max(needed, 1) and (known > _WORD_BITS) == wide:
        return known
    return max(-(-needed // _WORD_BITS) * _WORD_BITS, 2 * _WORD_BITS if wide else _WORD_BITS)


def _require_room(length: int, bits: int, most: int) -> None:
    if length * max(8, bits // 8) > most:
        raise BadInput(
            f"A vector of {length:,} elements is larger than the session allows.",
            hint="Agree on a larger `largest` in the manifest.",
        )


class _WireReader:
    """Reader of bytes from the front; reading past the end is an error."""

    def __init__(self, data: memoryview, most: int) -> None:
        self._data, self._at, self._most = data, 0, most

    def take(self, count: int) -> memoryview:
        if count > len(self._data) - self._at:
            raise BadInput("The message is shorter than it declares.")
        self._at += count
        return self._data[self._at - count : self._at]

    def byte(self) -> int:
        return self.take(1)[0]

    def size(self) -> int:
        return int(_LENGTH.unpack(self.take(_LENGTH.size))[0])

    def text(self, count: int) -> str:
        try:
            return str(self.take(count), "utf-8")
        except UnicodeDecodeError:
            raise BadInput("A text in the message is not UTF-8.") from None

    def part(self) -> Any:
        match self.byte():
            case 0:
                return bytes(self.take(self.size()))
            case 1:
                return self.text(self.size())
            case 2:
                count = self.size()
                if count * _LENGTH.size > len(self._data) - self._at:
                    raise BadInput("The message is shorter than it declares.")
                return tuple(self.text(self.size()) for _ in range(count))
            case 3 | 4 as tag:
                return self.vector(tag)
        raise BadInput("The message has a part of no known type.")

    def vector(self, tag: int) -> Vector:
        bits, length = _SHAPE.unpack(self.take(_SHAPE.size))
        group = ModularGroup(bits)
        _require_room(length, bits, self._most)
        packed = self.take(group.size(length))
        if (tag == _WIDE) != (bits > _WORD_BITS):
            raise BadInput("A vector's type does not match its width.")
        vector = group.unpack(bytes(packed), length)
        if bits == 1 and group.pack(vector) != packed:
            raise BadInput("A vector has bits after its end.")
        return vector

    def end(self) -> None:
        if self._at != len(self._data):
            raise BadInput("The message is longer than it declares.")
