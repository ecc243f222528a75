"""Vectors of integers modulo 2**bits, in which secure sums are computed.

One implementation serves them all. Up to 64 bits a vector is an array of 64-bit words that wrap round by themselves, of
which the low bits count; with one bit this is the sum of the dining cryptographers (exclusive or), with 64 the sum of
salaries. Beyond 64 bits (sums of squares) it is an array of Python's integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadInput

Vector: TypeAlias = NDArray[Any]
"""Elements of a group: 64-bit words, or Python's integers in a group of more than 64 bits."""
_WORD_BITS = 64
_MAX_BITS = 4096


@dataclass(frozen=True)
class ModularGroup:
    """Integers modulo 2**bits, with bits 1 or a multiple of 8."""

    bits: int

    def __post_init__(self) -> None:
        if self.bits != 1 and (self.bits % 8 or not 8 <= self.bits <= _MAX_BITS):
            raise BadInput(f"A group has 1 bit, or a multiple of 8 up to {_MAX_BITS}; got {self.bits}.")

    @classmethod
    def fitting(cls, largest: int) -> ModularGroup:
        """The smallest group in which 0, 1, …, ``largest`` are distinct."""
        bits = largest.bit_length()
        return cls(1 if bits <= 1 else -(-bits // 8) * 8)

    def __str__(self) -> str:
        return f"integers modulo 2^{self.bits}"

    @property
    def modulus(self) -> int:
        """Number of elements."""
        return 1 << self.bits

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy type of a vector."""
        return np.dtype(object if self.bits > _WORD_BITS else np.uint64)

    def vector(self, numbers: Any) -> Vector:
        """Integers of any sign and size as elements."""
        if self.bits > _WORD_BITS:
            return np.array([int(number) % self.modulus for number in numbers], dtype=object)
        array = np.asarray(numbers)
        if array.dtype.kind in "iu":
            return array.astype(np.uint64) & self._mask
        return np.array([int(number) % self.modulus for number in numbers], dtype=np.uint64)

    def reduce(self, vector: Vector) -> Vector:
        """Reduce sums and differences of elements to elements."""
        if self.bits == _WORD_BITS:
            return vector
        return vector % self.modulus if self.bits > _WORD_BITS else vector & self._mask

    def contains(self, vector: Vector) -> bool:
        """Whether all are elements: integers from 0 to below the modulus."""
        if self.bits > _WORD_BITS:
            return all(isinstance(item, int) and 0 <= item < self.modulus for item in vector)
        return self.bits == _WORD_BITS or int(vector.max(initial=0)) < self.modulus

    def size(self, length: int) -> int:
        """Size of ``length`` elements, in bytes."""
        return (length + 7) // 8 if self.bits == 1 else length * self.bits // 8

    def pack(self, vector: Vector) -> bytes:
        """Elements as bytes, least significant first."""
        if self.bits == 1:
            return np.packbits(vector.astype(np.uint8) & 1, bitorder="little").tobytes()
        if self.bits > _WORD_BITS:
            return b"".join(int(item % self.modulus).to_bytes(self.bits // 8, "little") for item in vector)
        words = np.ascontiguousarray(vector, dtype="<u8")
        if self.bits == _WORD_BITS:
            return words.tobytes()
        return np.ascontiguousarray(words.view(np.uint8).reshape(-1, 8)[:, : self.bits // 8]).tobytes()

    def unpack(self, data: bytes, length: int) -> Vector:
        """The ``length`` elements that ``pack`` wrote. They may be a view of ``data``, not to be written to."""
        if len(data) != self.size(length):
            raise BadInput(f"{length:,} {self} take {self.size(length):,} bytes, got {len(data):,}.")
        if self.bits == 1:
            return np.unpackbits(np.frombuffer(data, np.uint8), count=length, bitorder="little").astype(np.uint64)
        width = self.bits // 8
        if self.bits > _WORD_BITS:
            parts = (data[place : place + width] for place in range(0, len(data), width))
            return np.array([int.from_bytes(part, "little") for part in parts], dtype=object)
        if self.bits == _WORD_BITS:
            return np.frombuffer(data, "<u8").astype(np.uint64, copy=False)
        words = np.zeros((length, 8), np.uint8)
        words[:, :width] = np.frombuffer(data, np.uint8).reshape(length, width)
        return words.reshape(-1).view("<u8").astype(np.uint64, copy=False)

    @property
    def _mask(self) -> np.uint64:
        return np.uint64(self.modulus - 1)
