"""Binary encoding of message bodies: typed, canonical, and never larger than the session allows.

A body is a list of named parts: bytes, a text, a list of texts, or a vector with its width and length. Reading is
strict: every size is checked before anything is made of it, and nothing may be left over. What the sender may not say
for its size is what the receiver would refuse: a vector counts as it lies in memory.

The elements of a vector take the width of the group that the party computes in, or whole words of 64 bits where that is
not known. So the size of a message says nothing about the values in it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.errors import BadInput
from discreet.verbs.combine.effects import Body
from discreet.verbs.combine.group import ModularGroup, Vector

_BYTES, _TEXT, _TEXTS, _WORDS, _WIDE = range(5)
_LENGTH = struct.Struct(">I")
_SHAPE = struct.Struct(">HI")
_COUNT = struct.Struct(">H")
_MAX_PARTS, _MAX_NAME_BYTES = 4096, 100
_WORD_BITS = 64


def encode(body: Body, most: int, widths: Mapping[int, int] | None = None) -> bytes:
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


def decode(data: bytes | bytearray | memoryview, most: int) -> dict[str, Any]:
    """Decode a body; BadInput if it is malformed or a part takes more than ``most`` bytes in memory."""
    reader = _WireReader(memoryview(data), most)
    body: dict[str, Any] = {}
    [count] = _COUNT.unpack(reader.take(_COUNT.size))
    if count > _MAX_PARTS:
        raise BadInput(f"A message has at most {_MAX_PARTS:,} parts, got {count:,}.")
    for _ in range(count):
        name = reader.text(reader.byte())
        if not name or len(name.encode()) > _MAX_NAME_BYTES or name in body:
            raise BadInput("A part of the message has no name of its own.")
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
        return [bytes([_tag(part)]), _SHAPE.pack(group.bits, len(part)), group.pack(part)]
    raise BadInput(f"A message cannot say a {type(part).__name__}.")


def _tag(vector: Vector) -> int:
    return _WIDE if vector.dtype == object else _WORDS


def _width(vector: Vector, known: int) -> int:
    """Width of the known group, if the vector is in it; otherwise the whole words it needs."""
    wide = vector.dtype == object
    if wide and len(vector) and int(vector.min()) < 0:
        raise BadInput("An element below zero is in no group.")
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
            raise BadInput("The message is shorter than it says.")
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
                    raise BadInput("The message is shorter than it says.")
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
            raise BadInput("A vector has another type than its width says.")
        found = group.unpack(bytes(packed), length)
        if bits == 1 and group.pack(found) != packed:
            raise BadInput("A vector has bits after its end.")
        return found

    def end(self) -> None:
        if self._at != len(self._data):
            raise BadInput("The message is longer than it says.")
