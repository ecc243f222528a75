"""Local hashing of bit strings of any length, by m parities of randomly chosen bits.

A device draws a row t of random bits. The j-th parity of its string v is that of the bits of v at which t, moved by j
places, has a 1; the m parities name one of 2**m buckets, and that or another is reported by randomised response.

Why this is private. The row depends on nobody's string, and the bucket is reported by randomised response with a loss
of ε, its probability rounded down: so the report loses ε.

Why it is unbiased. Take two strings that differ, and the last bit at which they do. Whether their j-th parities differ
depends on the bit of t that is j places after it, and on earlier ones: so the m differences are independent and fair,
and the strings share a bucket with probability exactly 2**-m. Randomised response then supports a string that is not
one's own with exactly 2**-m, whatever both are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.core.compiled import njit
from discreet.core.directed_rounding import exp_lower
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.domain import Codes, Counts, Floats
from discreet.verbs.collect.probability import round_down
from discreet.verbs.collect.randomized_response import randomized_response
from discreet.verbs.collect.report_arrays import read_only
from discreet.verbs.collect.report_distribution import PublicChoice, randomized_response_distribution

Bits: TypeAlias = NDArray[np.uint64]
"""A row for each string: 64 bits a word, the first bit the lowest."""
_MAX_PARITIES = 8


@dataclass(frozen=True)
class ParityHashing:
    """Local hashing by parities."""

    epsilon: Fraction

    @cached_property
    def parities(self) -> int:
        """m: number of parities, from 1 to 8, for which the count of a rare string is most accurate."""

        def spread(m: int) -> Fraction:
            own, other = exp_lower(self.epsilon) / (exp_lower(self.epsilon) + (1 << m) - 1), Fraction(1, 1 << m)
            return other * (1 - other) / (own - other) ** 2

        return min(range(1, _MAX_PARITIES + 1), key=spread)

    @property
    def buckets(self) -> int:
        """Number of buckets."""
        return 1 << self.parities

    @cached_property
    def p_own(self) -> Fraction:
        """p: probability that the own bucket is reported, rounded down."""
        odds = exp_lower(self.epsilon)
        return round_down(odds / (odds + self.buckets - 1))

    @property
    def q_other(self) -> Fraction:
        """q: probability that another string is supported."""
        return Fraction(1, self.buckets)

    @cached_property
    def report_distribution(self) -> PublicChoice:
        """Randomised response over buckets, given a row that separates two strings."""
        return PublicChoice((randomized_response_distribution(self.p_own, self.buckets),))

    def draw(self, strings: Bits, entropy: Entropy) -> tuple[Bits, NDArray[np.uint8]]:
        """Draw a random row for each string, a word longer than it, and the bucket to report."""
        rows = entropy.words(len(strings) * (strings.shape[1] + 1)).reshape(len(strings), -1)
        bucket = hashed(rows, strings, self.parities)
        return rows, randomized_response(bucket, self.p_own, self.buckets, entropy).astype(np.uint8)

    def supports(self, rows: Bits, report_codes: NDArray[np.uint8], prefixes: Bits, start: int, width: int) -> Counts:
        """Number of reports that support each prefix of ``start`` bits, extended in each of 2**``width`` ways."""
        arrays = read_only(rows), read_only(report_codes), read_only(prefixes)
        counts: Counts = _count_supports(*arrays, (start, width, self.parities))
        return counts

    def variance(self, n: int, shares: Floats) -> Floats:
        """Variance of the estimated number of people, of ``n``, by the share that has a string."""
        p, q = float(self.p_own), float(self.q_other)
        return n * (shares * p * (1 - p) + (1 - shares) * q * (1 - q)) / (p - q) ** 2


def hashed(rows: Bits, strings: Bits, parities: int) -> Codes:
    """Bucket of each string by the random row beside it."""
    result: Codes = _buckets(read_only(rows), read_only(strings), parities)
    return result


@njit(cache=True)
def _buckets(rows: Any, strings: Any, parities: int) -> Any:
    result = np.empty(len(strings), dtype=np.int64)
    for index in range(len(strings)):
        result[index] = _bucket(rows[index], strings[index], parities)
    return result


@njit(cache=True)
def _bucket(row: Any, string: Any, parities: int) -> Any:
    bucket = np.int64(0)
    for j in range(parities):
        mixed = np.uint64(0)
        for word in range(string.size):
            moved = row[word] >> np.uint64(j)
            if j:
                moved |= row[word + 1] << np.uint64(64 - j)
            mixed ^= moved & string[word]
        for half in (32, 16, 8, 4, 2, 1):
            mixed ^= mixed >> np.uint64(half)
        bucket |= np.int64(mixed & np.uint64(1)) << j
    return bucket


@njit(cache=True)
def _count_supports(rows: Any, report_codes: Any, prefixes: Any, sizes: tuple[int, int, int]) -> Any:
    """Count supports. Buckets are sums modulo 2 over bits: those of all extensions are computed once a report."""
    start, width, parities = sizes
    counts = np.zeros((len(prefixes), 1 << width), dtype=np.int64)
    ends = np.empty(1 << width, dtype=np.uint8)
    for report in range(report_codes.size):
        ends[0] = 0
        for bit in range(width):
            word, shift = (start + bit) >> 6, (start + bit) & 63
            moved = rows[report, word] >> np.uint64(shift)
            if shift:
                moved |= rows[report, word + 1] << np.uint64(64 - shift)
            column = np.uint8(moved & np.uint64((1 << parities) - 1))
            for end in range(1 << bit):
                ends[end | 1 << bit] = ends[end] ^ column
        for index in range(len(prefixes)):
            wanted = np.uint8(report_codes[report] ^ _bucket(rows[report], prefixes[index], parities))
            for end in range(1 << width):
                counts[index, end] += ends[end] == wanted
    return counts
