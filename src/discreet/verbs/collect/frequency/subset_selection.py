"""Subset selection: a report names several values, of which one may be the own.

A device reports ω of the d values: with probability p its own and ω - 1 others, else ω others, drawn evenly. Why this
is private: a subset that has the own value is at most e**ε times as likely as one that has not, p being rounded down,
and no other quotients occur. With ω near d / (e**ε + 1) this is the most accurate protocol there is (Ye and Barg 2018;
Wang and others 2016).

Others are drawn by coins, 64 at once: each other value is in by a coin with the same probability, and then random ones
are taken out or put in until there are as many as there must be. No step favours a value, so all subsets of that size
are equally likely, whatever the coin's probability is; near their share it leaves little to correct. Whom to take out
or put in is an even number below d, found exactly: 32 random bits times d, of which the upper half counts, and which is
drawn again where the lower half would favour someone (Lemire 2019) or where it is not a value to be changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, isqrt
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.catalogue import declare
from discreet.core.compiled import njit
from discreet.core.exact import Number, exp_lower
from discreet.core.families import FREQUENCY_ORACLES
from discreet.noise.entropy import Entropy
from discreet.noise.packed import packed_flips
from discreet.verbs.collect.domain import Codes, Counts, Domain
from discreet.verbs.collect.frequency.unary_encoding import BitOracle
from discreet.verbs.collect.report_arrays import bits_to_reports, count_bits, reports_to_rows, word_count
from discreet.verbs.collect.report_distribution import Matrix, SymmetricAnswers, round_down

_COIN_DENOMINATOR = 1 << 6
"""Denominator of the coin's probability: the fewer digits, the fewer random words it takes."""
_SPARE_NUMBERS = 1 << 10
"""Number of random numbers drawn beyond those expected."""


@declare(FREQUENCY_ORACLES, "subset", rank=5, paper="Ye and Barg 2018", init=False)
class SubsetSelection(BitOracle):
    """Subset selection, with the number of values that is best for the epsilon."""

    size: int
    """ω: number of values in a report."""

    def __init__(self, domain: Domain | int | Iterable[Any], epsilon: Number) -> None:
        super().__init__(domain, epsilon)
        object.__setattr__(self, "size", max(1, round(len(self.domain) / (exp_lower(self.epsilon) + 1))))

    @cached_property
    def p_own(self) -> Fraction:
        """p: a subset with the own value is e**ε times as likely as one without; rounded down."""
        d, w, odds = len(self.domain), self.size, exp_lower(self.epsilon)
        return round_down(odds * w / (odds * w + d - w))

    @cached_property
    def q_other(self) -> Fraction:
        """q: another value is among the ω - 1 or ω that are drawn from d - 1."""
        return (self.p_own * (self.size - 1) + (1 - self.p_own) * self.size) / (len(self.domain) - 1)

    @cached_property
    def report_distribution(self) -> SymmetricAnswers:
        """Probability of every subset: for two values, with both, with one, with the other, or with neither."""
        d, w = len(self.domain), self.size
        with_own, without = self.p_own / comb(d - 1, w - 1), (1 - self.p_own) / comb(d - 1, w)
        both, either, neither = comb(d - 2, w - 2) if w > 1 else 0, comb(d - 2, w - 1), comb(d - 2, w)
        kinds = (both * with_own, either * with_own, either * without, neither * without)
        pair = Matrix((kinds, (kinds[0], kinds[2], kinds[1], kinds[3])))

        def whole() -> Matrix:
            sets = list(combinations(range(d), w))
            return Matrix(tuple(tuple(with_own if x in one else without for one in sets) for x in range(d)))

        return SymmetricAnswers(pair, d, whole)

    @property
    def operations(self) -> int:
        """Steps of some five words of coins for 64 values, a look-up for eight, and the corrections."""
        return 5 * word_count(len(self.domain)) + 2 * self.report_type.byte_width + 2 * isqrt(len(self.domain))

    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """Draw the own value or not, and others, evenly."""
        d, words = len(self.domain), word_count(len(self.domain))
        others = self.size - entropy.flips(self.p_own, codes.size).astype(np.int64)
        near = Fraction(round(Fraction(_COIN_DENOMINATOR * self.size, d)), _COIN_DENOMINATOR)
        bits = packed_flips(near, codes.size * words, entropy).reshape(codes.size, words)
        bits[:, -1] &= np.uint64((1 << (d - 64 * (words - 1))) - 1)
        done = 0
        while done < codes.size:
            wanted = (codes.size - done) * (2 + isqrt(d)) + _SPARE_NUMBERS
            done = int(_correct(bits, done, codes, others, (d, entropy.words(wanted // 2).view(np.uint32))))
        _set_own(bits, codes, others < self.size)
        return bits_to_reports(bits, d)

    def count(self, reports: pa.Array[Any]) -> Counts:
        return count_bits(reports_to_rows(reports), len(self.domain), self.size)


@njit(cache=True)
def _correct(bits: Any, done: int, own: Codes, others: Any, random: Any) -> int:
    """From row ``done`` on, remove and add values other than the own until there are as many as wanted.

    How far the random numbers lasted: the row where they ran out goes on from where it is.
    """
    (d, drawn), at = random, 0
    below = np.uint64(d)
    uneven = np.uint64(0x100000000) % below
    for row in range(done, own.size):
        mine = own[row]
        bits[row, mine >> 6] &= ~(np.uint64(1) << np.uint64(mine & 63))
        has = np.int64(0)
        for index in range(bits.shape[1]):
            has += _popcount(bits[row, index])
        while has != others[row]:
            if at == drawn.size:
                return row
            product = np.uint64(drawn[at]) * below
            at += 1
            pick = np.int64(product >> np.uint64(32))
            if product & np.uint64(0xFFFFFFFF) < uneven or pick == mine:
                continue
            word, mask = pick >> 6, np.uint64(1) << np.uint64(pick & 63)
            if (bits[row, word] & mask != 0) == (has > others[row]):
                bits[row, word] ^= mask
                has += 1 if has < others[row] else -1
    return own.size


@njit(cache=True)
def _set_own(bits: Any, own: Codes, there: NDArray[np.bool_]) -> None:
    """Set the bit of the own value where it is reported."""
    for row in range(own.size):
        bits[row, own[row] >> 6] |= np.uint64(there[row]) << np.uint64(own[row] & 63)


@njit(cache=True)
def _popcount(word: np.uint64) -> np.int64:
    """Number of ones in a word: by pairs, fours, bytes, and the sum of the bytes."""
    word -= word >> np.uint64(1) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (word >> np.uint64(2) & np.uint64(0x3333333333333333))
    word = word + (word >> np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64(word * np.uint64(0x0101010101010101) >> np.uint64(56))
