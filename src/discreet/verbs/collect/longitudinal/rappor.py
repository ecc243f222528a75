"""RAPPOR and L-OSUE: a memoized unary encoding whose bits are flipped at random in each report.

A device makes a row of bits once, by a coin for every value, and keeps it: the permanent step. Each time it is asked
it reports that row with every bit turned over by a further coin: the instantaneous step.

* *RAPPOR* (Erlingsson, Pihur, Korolova 2014) makes the permanent row by SUE. This is basic RAPPOR, with a bit of its
  own for each value.
* *L-OSUE* (Arcolezi and others 2022) makes it by OUE, which is more accurate.

Why this is private. All that a device ever reports is made of the row that it keeps, which has a loss of
``permanent_epsilon``: however often it is asked, it loses no more (post-processing). In that row the own bit is 1 with
probability a, any other with b, and each report tells a bit of it truly with probability s. So in one report they are 1
with p = a s + (1 - a) (1 - s) and q = b s + (1 - b) (1 - s); two answers differ in two bits, and a report's
probabilities by p (1 - q) / (q (1 - p)) at most, which is kept at or below e**ε:

* RAPPOR has b = 1 - a, hence q = 1 - p, and p / (1 - p) is e**(ε/2);
* L-OSUE has a = 1/2, hence p = 1/2, and q is 1 / (e**ε + 1);

s, of which either follows, is rounded down: towards reports that tell nothing. Of T reports about a value that stays,
those tell most that have its bit 1 every time and the other value's 0 every time: bits are independent, and the more
often a bit was 1, the likelier it is 1 in the permanent row.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import declare
from discreet.core.exact import exp_lower
from discreet.core.families import FREQUENCY_ORACLES
from discreet.noise.entropy import Entropy
from discreet.noise.packed import packed_flips
from discreet.verbs.collect.frequency.unary_encoding import OUE, SUE, UnaryEncoding
from discreet.verbs.collect.longitudinal.memoization import MemoizedOracle, power_lower
from discreet.verbs.collect.report_arrays import bits_to_reports, reports_to_rows, word_count
from discreet.verbs.collect.report_distribution import round_down


@dataclass(frozen=True, init=False)
class MemoizedUnaryEncoding(MemoizedOracle, UnaryEncoding):
    """A memoized unary encoding."""

    @property
    @abstractmethod
    def p_instantaneous(self) -> Fraction:
        """s: probability that a report keeps a bit of the permanent row, rounded down."""

    @cached_property
    def p_own(self) -> Fraction:
        """p: the own bit is 1 and kept, or 0 and flipped."""
        return self._p_in_report(self.permanent.p_own)

    @cached_property
    def q_other(self) -> Fraction:
        """q: a bit of another value is 1 and kept, or 0 and flipped."""
        return self._p_in_report(self.permanent.q_other)

    @property
    def instantaneous_ratio(self) -> Fraction:
        """Largest quotient under two permanent rows, which may differ in every bit."""
        return (self.p_instantaneous / (1 - self.p_instantaneous)) ** len(self.domain)

    def ratio(self, rounds: int) -> Fraction:
        """Largest quotient of several reports: that of reports that all have the value's bit, and none the other's."""
        a, b = self.permanent.p_own, self.permanent.q_other
        fade = power_lower((1 - self.p_instantaneous) / self.p_instantaneous, rounds)
        one = (a + (1 - a) * fade) / (b + (1 - b) * fade)
        return one * (1 - b + b * fade) / (1 - a + a * fade)

    def instantaneous_report(self, permanent: pa.Array[Any], entropy: Entropy) -> pa.Array[Any]:
        d, words = len(self.domain), word_count(len(self.domain))
        rows = np.zeros((len(permanent), 8 * words), dtype=np.uint8)
        rows[:, : permanent.type.byte_width] = reports_to_rows(permanent)
        turned = packed_flips(1 - self.p_instantaneous, len(permanent) * words, entropy).reshape(-1, words)
        return bits_to_reports(rows.view("<u8") ^ turned, d)

    def _p_in_report(self, probability: Fraction) -> Fraction:
        """Probability that a bit is 1 in a report, by that in the permanent row."""
        return probability * self.p_instantaneous + (1 - probability) * (1 - self.p_instantaneous)


@declare(FREQUENCY_ORACLES, "rappor", rank=11, paper="Erlingsson, Pihur and Korolova 2014", init=False)
class RAPPOR(MemoizedUnaryEncoding):
    """Basic RAPPOR: each bit is reported truly with the same probability."""

    @cached_property
    def permanent(self) -> SUE:
        return SUE(self.domain, self.permanent_epsilon)

    @cached_property
    def p_instantaneous(self) -> Fraction:
        """s such that p / (1 - p) is e**(ε/2), rounded down."""
        odds, a = exp_lower(self.epsilon / 2), self.permanent.p_own
        return round_down((odds / (odds + 1) - (1 - a)) / (2 * a - 1))


@declare(FREQUENCY_ORACLES, "l-osue", rank=13, paper="Arcolezi and others 2022", init=False)
class LOSUE(MemoizedUnaryEncoding):
    """L-OSUE: the most accurate over time, at a bit for every value."""

    @cached_property
    def permanent(self) -> OUE:
        return OUE(self.domain, self.permanent_epsilon)

    @cached_property
    def p_instantaneous(self) -> Fraction:
        """s such that q is 1 / (e**ε + 1), rounded down."""
        b = self.permanent.q_other
        return round_down((1 - b - 1 / (exp_lower(self.epsilon) + 1)) / (1 - 2 * b))
