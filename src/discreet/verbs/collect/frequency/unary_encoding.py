"""Unary encoding: a report has a random bit for every value (SUE, OUE).

The bit of the own value is 1 with probability p, every other with q. Why this is private: two answers differ in two
bits alone, so a report's probabilities differ by a factor of at most p (1 - q) / (q (1 - p)), which is kept at or below
e**ε:

* *SUE* (basic RAPPOR; Erlingsson, Pihur, Korolova 2014) treats 1 and 0 alike: p = 1 - q, and each of the two bits may
  differ by e**(ε/2). Giving every bit all of ε, without that split, would lose 2ε.
* *OUE* (Wang, Blocki, Li, Jha 2017) has p = 1/2 and q = 1 / (e**ε + 1): most bits are of values that one does not have,
  so those get the smaller probability of error. This is as accurate as local privacy gets, at a bit for every value.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import declare
from discreet.core.compiled import njit
from discreet.core.exact import exp_lower
from discreet.core.families import FREQUENCY_ORACLES
from discreet.noise.entropy import Entropy
from discreet.noise.packed import packed_flips
from discreet.verbs.collect.domain import Codes, Counts
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.report_arrays import (
    WORDS_PER_BATCH,
    bit_report_type,
    bits_to_reports,
    count_bits,
    reports_to_rows,
    word_count,
)
from discreet.verbs.collect.report_distribution import IndependentBits, SymmetricAnswers, round_down, round_up


@dataclass(frozen=True, init=False)
class BitOracle(FrequencyOracle):
    """A frequency oracle whose report has a bit for every value."""

    @cached_property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: a bit for every value."""
        return bit_report_type(len(self.domain))

    @property
    def batch_size(self) -> int:
        """Number of devices simulated at once, with a bounded number of words."""
        return max(1, WORDS_PER_BATCH // word_count(len(self.domain)))


@dataclass(frozen=True, init=False)
class UnaryEncoding(BitOracle):
    """A frequency oracle with an independent bit for every value."""

    @cached_property
    def report_distribution(self) -> SymmetricAnswers:
        """Independent bits; those of values that neither of two people has are identically distributed."""
        return SymmetricAnswers(self._coins(2), len(self.domain), lambda: self._coins(len(self.domain)))

    def _coins(self, d: int) -> IndependentBits:
        return IndependentBits(tuple(tuple(self.p_own if x == y else self.q_other for y in range(d)) for x in range(d)))

    @property
    def operations(self) -> int:
        """Number of operations: about seven words of coins per 64 values, and a look-up per eight."""
        return 7 * word_count(len(self.domain)) + self.report_type.byte_width

    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """Draw the bits of all values, then redraw the own one with its own probability."""
        words = word_count(len(self.domain))
        bits = packed_flips(self.q_other, codes.size * words, entropy).reshape(codes.size, words)
        _set_own(bits, codes, entropy.flips(self.p_own, codes.size))
        return bits_to_reports(bits, len(self.domain))

    def count(self, reports: pa.Array[Any]) -> Counts:
        return count_bits(reports_to_rows(reports), len(self.domain))


@declare(FREQUENCY_ORACLES, "sue", rank=1, paper="Erlingsson, Pihur and Korolova 2014", init=False)
class SUE(UnaryEncoding):
    """SUE, symmetric unary encoding: each bit is truthful with the same probability."""

    @cached_property
    def p_own(self) -> Fraction:
        """p: e**(ε/2) / (e**(ε/2) + 1), rounded down."""
        odds = exp_lower(self.epsilon / 2)
        return round_down(odds / (odds + 1))

    @cached_property
    def q_other(self) -> Fraction:
        """q: 1 - p."""
        return 1 - self.p_own


@declare(FREQUENCY_ORACLES, "oue", rank=2, paper="Wang and others 2017", init=False)
class OUE(UnaryEncoding):
    """OUE, optimised unary encoding: the smallest variance, at one bit for every value."""

    p_own = Fraction(1, 2)

    @cached_property
    def q_other(self) -> Fraction:
        """q: 1 / (e**ε + 1), rounded up."""
        return round_up(1 / (exp_lower(self.epsilon) + 1))


@njit(cache=True)
def _set_own(bits: Any, own: Codes, heads: Any) -> None:
    """Set or clear the own bit of each row."""
    for row in range(own.size):
        word, mask = own[row] >> 6, np.uint64(1) << np.uint64(own[row] & 63)
        if heads[row]:
            bits[row, word] |= mask
        else:
            bits[row, word] &= ~mask
