"""Random bits from the operating system's cryptographic generator, and the exact choices made of them.

Nothing is buffered and nothing is kept: every bit is asked of the kernel when it is needed. So a forked
process, a thread or a restored snapshot of this process cannot repeat a draw, and no secret state lies in
memory. The kernel gives some 250 MB a second; a draw takes 2 to 20 bytes.
"""

from __future__ import annotations

import base64
import os
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadInput

Words: TypeAlias = NDArray[np.uint64]
Shorts: TypeAlias = NDArray[np.uint16]
Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


class Entropy:
    """Independent fair bits, and choices that are exact if the bits are fair.

    Samplers draw through this class alone, so that a test may feed them chosen bits by overriding ``bytes``.
    """

    __slots__ = ()

    def bytes(self, count: int) -> bytes:
        """``count`` random bytes. Everything else is made of these."""
        return os.urandom(count)

    def bits(self, count: int) -> int:
        """An integer of ``count`` random bits."""
        whole = (count + 7) // 8
        return int.from_bytes(self.bytes(whole), "little") >> (8 * whole - count)

    def below(self, n: int) -> int:
        """A uniform integer from 0 to n - 1: bits are drawn again until they are below n, so none is favoured."""
        if n < 1:
            raise BadInput(f"The upper limit must be at least 1, got {n}.")
        if n == 1:
            return 0
        count = (n - 1).bit_length()
        while (drawn := self.bits(count)) >= n:
            pass
        return drawn

    def flip(self, p: Fraction) -> bool:
        """True with probability exactly ``p``."""
        _require_probability(p)
        return self.flip_ratio(p.numerator, p.denominator)

    def flip_ratio(self, a: int, b: int) -> bool:
        """True with probability a / b, or 1 if that is more: for loops, where a fraction costs more than the coin."""
        return self.below(b) < a

    def flip_exp(self, x: Fraction) -> bool:
        """True with probability exactly e**-x, for x >= 0."""
        return self.flip_exp_ratio(x.numerator, x.denominator)

    def flip_exp_ratio(self, a: int, b: int) -> bool:
        """True with probability exactly e**-(a / b), for a >= 0 and b > 0 (Canonne, Kamath, Steinke 2020, Algorithm 1).

        Why this is right: for x <= 1, of coins with probability x/1, x/2, x/3, … the first to fail is the k-th with
        probability x**(k-1)/(k-1)! - x**k/k!; over odd k these add up to the series of e**-x. For a larger x, e**-x is
        e**-1 as often as x has wholes, times the rest; the first coin that fails settles it.
        """
        while a >= b:
            if not self._first_fail_is_odd(1, 1):
                return False
            a -= b
        return self._first_fail_is_odd(a, b)

    def words(self, count: int) -> Words:
        """``count`` uniform 64-bit integers."""
        return np.frombuffer(self.bytes(8 * count), dtype="<u8").astype(np.uint64, copy=False)

    def shorts(self, count: int) -> Shorts:
        """``count`` uniform 16-bit integers."""
        return np.frombuffer(self.bytes(2 * count), dtype="<u2").astype(np.uint16, copy=False)

    def coins(self, count: int) -> Flags:
        """``count`` fair coins."""
        packed = np.frombuffer(self.bytes((count + 7) // 8), dtype=np.uint8)
        return np.unpackbits(packed, count=count).view(np.bool_)

    def many_below(self, n: int, count: int) -> Integers:
        """``count`` uniform integers from 0 to n - 1, for n up to 2**63."""
        if not 1 <= n <= 2**63:
            raise BadInput(f"Arrays of integers below n need 1 <= n <= 2**63, got {n}.")
        if n == 1:
            return np.zeros(count, dtype=np.int64)
        spare = np.uint64(64 - (n - 1).bit_length())
        drawn = self.words(count) >> spare
        while (again := np.flatnonzero(drawn >= np.uint64(n))).size:
            drawn[again] = self.words(again.size) >> spare
        return drawn.astype(np.int64)

    def flips(self, p: Fraction, count: int) -> Flags:
        """``count`` coins, each true with probability exactly ``p``."""
        _require_probability(p)
        if p == 1:
            return np.ones(count, dtype=np.bool_)
        drawn = self.words(count)
        edge = (p.numerator << 64) // p.denominator
        heads = drawn < np.uint64(edge)
        for i in np.flatnonzero(drawn == np.uint64(edge)):
            heads[i] = self.falls_below(p, edge, 64)
        return heads

    def falls_below(self, p: Fraction, prefix: int, length: int) -> bool:
        """Whether a uniform real number, of which the first ``length`` bits are known, is below ``p``.

        As many more bits are drawn as it takes to tell.
        """
        while True:
            if (prefix + 1) * p.denominator <= p.numerator << length:
                return True
            if prefix * p.denominator >= p.numerator << length:
                return False
            prefix, length = prefix << 64 | self.bits(64), length + 64

    def _first_fail_is_odd(self, a: int, b: int) -> bool:
        k = 1
        while a and self.flip_ratio(a, b * k):
            k += 1
        return k % 2 == 1


class Watched(Entropy):
    """Entropy that records whether any bits were drawn."""

    __slots__ = ("drawn",)

    def __init__(self) -> None:
        self.drawn = False

    def bytes(self, count: int) -> bytes:
        """``count`` random bytes."""
        self.drawn = True
        return super().bytes(count)


SYSTEM = Entropy()
"""What every draw uses unless it is told otherwise."""


def token(count: int) -> str:
    """``count`` random bytes as a text that can stand in a header, an address or a file's name."""
    return base64.urlsafe_b64encode(SYSTEM.bytes(count)).decode().rstrip("=")


def _require_probability(p: Fraction) -> None:
    if not 0 <= p <= 1:
        raise BadInput(f"A probability must be between 0 and 1, got {p}.")
