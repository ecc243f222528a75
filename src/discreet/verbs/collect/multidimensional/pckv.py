"""PCKV by randomised response (a pair of a key and a sign, or any other) and by unary encoding (two bits a key).

Why this is private. The d keys and ``length`` made-up ones, each with either sign, are 2 (d + length) pairs. The truth
is reported with odds of t' = 1 + length (e**ε - 1) to any other pair. A report is the truth of at most one of the at
least ``length`` keys that are drawn from, so its probability is at most (t' + length - 1) / length = e**ε times what it
has at least for everybody. Keys differ from each other, or this would not hold; so the sampling earns a larger loss
inside.

By two bits a key: for each key nothing, minus or plus. Why this is private. The own key is reported with probability
1/2, and then with its true sign with p; any other is reported with b, and a fair sign. Two pairs of different keys
differ in two positions, by at most 2 p (1 - b) / b; two signs of one key by p / (1 - p); a made-up key leaves all d
positions alike. b is rounded up and p down such that all of these are at most e**ε. A person is a mixture of the pairs
that may be drawn, and no mixture is worse. What would be reported of made-up keys is not reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.directed_rounding import exp_lower
from discreet.errors import DataError
from discreet.noise.entropy import Entropy
from discreet.noise.packed import packed_flips
from discreet.verbs.collect.domain import Counts
from discreet.verbs.collect.multidimensional.key_value import KeyValue, ResponseRates, SampledPairs
from discreet.verbs.collect.probability import round_down, round_up
from discreet.verbs.collect.randomized_response import randomized_response
from discreet.verbs.collect.report_arrays import (
    Reports,
    bit_report_type,
    bits_to_reports,
    chunks_of,
    count_bits,
    count_integer_reports,
    integer_type,
    reports_to_rows,
    rows_to_reports,
    to_integer_reports,
    word_count,
)
from discreet.verbs.collect.report_distribution import Matrix, Ratio, largest_ratio, product_of_ratios


@dataclass(frozen=True, init=False)
class KeyValueGRR(KeyValue):
    """PCKV-GRR: a pair, in a few bytes; for few keys."""

    name = "pckv-grr"

    @property
    def pairs(self) -> int:
        """Number of pairs that can be reported: the d keys and the made-up ones, each with either sign."""
        return 2 * (len(self.keys) + self.length)

    @cached_property
    def p_own(self) -> Fraction:
        """Probability that the pair is reported truly, rounded down."""
        odds = 1 + self.length * (exp_lower(self.epsilon) - 1)
        return round_down(odds / (odds + self.pairs - 1))

    @cached_property
    def q_other(self) -> Fraction:
        """Probability of any other pair."""
        return (1 - self.p_own) / (self.pairs - 1)

    @cached_property
    def report_distribution(self) -> Matrix:
        """Matrix for people with no pair, with one, and with all keys: the worst are two people with one."""
        d = len(self.keys)
        ones = [[(key, sign)] for key in range(d) for sign in (0, 1)]
        return Matrix(tuple(self.row(pairs) for pairs in [[], *ones, [(key, key % 2) for key in range(d)]]))

    def row(self, pairs: list[tuple[int, int]]) -> tuple[Fraction, ...]:
        """Probability of each report for a person with pairs of a key's index and a sign."""
        among = max(len(pairs), self.length)
        made_up = range(len(self.keys), len(self.keys) + among - len(pairs))
        weights = dict.fromkeys(((key, sign) for key in made_up for sign in (0, 1)), Fraction(1, 2))
        weights |= dict.fromkeys(pairs, Fraction(1))
        report_codes = ((key, sign) for key in range(self.pairs // 2) for sign in (0, 1))
        return tuple(
            self.q_other + weights.get(pair, Fraction(0)) / among * (self.p_own - self.q_other) for pair in report_codes
        )

    @property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: twice a key's index, and one more if the sign is plus."""
        return integer_type(self.pairs)

    @cached_property
    def response_rates(self) -> ResponseRates:
        """Response of reports: a key is named with either sign if the truth is reported, or by chance."""
        gain = float(self.p_own - self.q_other)
        return ResponseRates(float(2 * self.q_other), gain, gain)

    def draw(self, pairs: SampledPairs, entropy: Entropy) -> pa.Array[Any]:
        """Draw the pair, or another."""
        codes = randomized_response(2 * pairs.keys + pairs.high, self.p_own, self.pairs, entropy)
        return to_integer_reports(codes, self.pairs)

    def count(self, reports: Reports) -> Counts:
        """Count reports: all, then those that name each key with a minus, then those with a plus."""
        report_codes = count_integer_reports(reports, self.pairs)
        signs = report_codes[: 2 * len(self.keys)]
        return np.concatenate([[report_codes.sum()], signs[::2], signs[1::2]])


_WORDS_PER_BATCH = 1 << 20


@dataclass(frozen=True)
class IndependentSymbols:
    """Symbols that are drawn independently: for each answer, the probabilities of each position's symbols."""

    rows: tuple[tuple[tuple[Fraction, ...], ...], ...]

    @property
    def answers(self) -> int:
        """Number of answers."""
        return len(self.rows)

    def ratio(self, one: int, other: int) -> Ratio:
        """Product of the largest quotients of every position."""
        pairs = zip(self.rows[one], self.rows[other], strict=True)
        return product_of_ratios(largest_ratio(zip(a, b, strict=True)) for a, b in pairs)


@dataclass(frozen=True, init=False)
class KeyValueUE(KeyValue):
    """PCKV-UE: two bits for every key; for many keys."""

    name = "pckv-ue"

    @cached_property
    def truth(self) -> Fraction:
        """p: probability that the sign of the own key is reported truly, rounded down."""
        odds = exp_lower(self.epsilon)
        return round_down(odds / (odds + 1))

    @cached_property
    def q_other(self) -> Fraction:
        """b: probability that a key that is not the own one is reported, rounded up."""
        return round_up(2 * self.truth / (exp_lower(self.epsilon) + 2 * self.truth))

    @cached_property
    def report_distribution(self) -> IndependentSymbols:
        """Independent symbols; keys that neither of two people has are alike, so that two keys stand for all."""
        return self.distribution_of(2)

    def distribution_of(self, d: int) -> IndependentSymbols:
        """Distribution for ``d`` keys: a made-up one, and each with each sign; at each nothing, minus or plus."""
        half = Fraction(1, 2)
        blank = (1 - self.q_other, self.q_other / 2, self.q_other / 2)
        minus = (half, half * self.truth, half * (1 - self.truth))
        own = (minus, (minus[0], minus[2], minus[1]))
        rows = [tuple(sign if index == key else blank for index in range(d)) for key in range(d) for sign in own]
        return IndependentSymbols(((blank,) * d, *rows))

    @property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: a bit for every key with a minus, then one for every key with a plus."""
        return pa.binary(2 * bit_report_type(len(self.keys)).byte_width)

    @cached_property
    def response_rates(self) -> ResponseRates:
        """Response of reports: the own key is named half of the time."""
        half = Fraction(1, 2)
        return ResponseRates(float(self.q_other), float(half - self.q_other), float(self.truth - half))

    def draw(self, pairs: SampledPairs, entropy: Entropy) -> pa.Array[Any]:
        """Draw a report for each drawn pair, in batches of bounded memory."""
        step = max(1, _WORDS_PER_BATCH // word_count(len(self.keys)))
        starts = range(0, max(pairs.keys.size, 1), step)
        parts = [self._drawn(pairs.keys[at : at + step], pairs.high[at : at + step], entropy) for at in starts]
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)

    def _drawn(self, keys: Any, high: Any, entropy: Entropy) -> pa.Array[Any]:
        """Draw all keys as others, and then the own one again."""
        n, d = keys.size, len(self.keys)
        words = word_count(d)
        report_codes = packed_flips(self.q_other, n * words, entropy).reshape(n, words)
        plus = report_codes & entropy.words(n * words).reshape(n, words)
        minus = report_codes & ~plus
        own = np.flatnonzero(keys < d)
        word, bit = keys[own] >> 6, np.uint64(1) << (keys[own] & 63).astype(np.uint64)
        truly = entropy.flips(self.truth, own.size)
        is_told, is_plus = entropy.coins(own.size), (high[own] == 1) == truly
        for plane, here in ((minus, is_told & ~is_plus), (plus, is_told & is_plus)):
            plane[own, word] = np.where(here, plane[own, word] | bit, plane[own, word] & ~bit)
        planes = [reports_to_rows(bits_to_reports(plane, d)) for plane in (minus, plus)]
        return rows_to_reports(np.hstack(planes))

    def count(self, reports: Reports) -> Counts:
        """Count reports: all, then those that name each key with a minus, then those with a plus."""
        counts = np.zeros(1 + 2 * len(self.keys), dtype=np.int64)
        for chunk in chunks_of(reports, self.report_type, self.name):
            minus, plus = np.split(reports_to_rows(chunk), 2, axis=1)
            if (minus & plus).any():
                raise DataError("A report tells a key with both signs.")
            report_codes = [count_bits(plane, len(self.keys)) for plane in (minus, plus)]
            counts += np.concatenate([[len(chunk)], *report_codes])
        return counts
