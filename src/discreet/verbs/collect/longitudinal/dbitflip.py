"""dBitFlipPM: a few memoized bits about a few values (Ding, Kulkarni, Yekhanin 2017).

A device draws a few of the values once (for numbers: of the ranges), and for each of them keeps a bit that says whether
it has it, reported truly with probability p. Every report is that: the values it speaks of, and their bits.

Why this is private. Which values are spoken of depends on no one's answer. Given them, two answers differ in two bits
at most, each by a factor of p / (1 - p), which is kept at or below e**(ε/2); a device that speaks of one value only
differs in one bit, which may have all of ε. The same bits are reported in every round, so the loss of one report is
that of all of them about a value that stays. Each value has bits of its own, and a change of value shows as soon as a
bit changes: *when* it changed is not hidden at all, and there is no promise about it.

The estimate. Those who speak of a value are drawn without regard to what they have; of their m bits about it, m q + c
(p - q) are 1 on average if c of them have it. So n (ones / m - q) / (p - q) is unbiased, whatever m is but 0, with a
variance

    n² / m (f p (1 - p) + (1 - f) q (1 - q)) / (p - q)² + n² / m f (1 - f) (1 - m / n)          at a share f

of which the last part is that of drawing m of n people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.exact import Number, exp_lower
from discreet.core.loss import Pure
from discreet.errors import BadInput, DataError
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.confidence_intervals import (
    MIN_NORMAL_VARIANCE,
    normal_quantile,
    score_bound,
    share_error_bound,
)
from discreet.verbs.collect.domain import Codes, Counts, Domain, Floats
from discreet.verbs.collect.frequency_oracle import FrequencyEstimate, FrequencyOracle, ReportTally
from discreet.verbs.collect.report_arrays import WORDS_PER_BATCH, count_bits, reports_to_rows, rows_to_reports
from discreet.verbs.collect.report_distribution import IndependentBits, PublicChoice, SymmetricAnswers, round_down


@dataclass(frozen=True, init=False)
class DBitFlip(FrequencyOracle):
    """dBitFlipPM: the least to send and to remember; a device speaks of ``bits`` values."""

    name = "dbitflip"
    bits: int

    def __init__(self, domain: Domain | int | Iterable[Any], epsilon: Number, bits: int = 1) -> None:
        super().__init__(domain, epsilon)
        if not 1 <= bits <= len(self.domain):
            raise BadInput(f"A device must report on 1 to {len(self.domain)} values, not {bits}.")
        object.__setattr__(self, "bits", bits)

    @cached_property
    def p_own(self) -> Fraction:
        """p: probability that a bit is reported truly, if it is spoken of; rounded down."""
        odds = exp_lower(self.epsilon / min(self.bits, 2))
        return round_down(odds / (odds + 1))

    @cached_property
    def q_other(self) -> Fraction:
        """q: 1 - p."""
        return 1 - self.p_own

    @cached_property
    def report_distribution(self) -> SymmetricAnswers:
        """The values spoken of are public; devices that speak of both of two answers reveal most."""
        return SymmetricAnswers(self._reported(2), len(self.domain), lambda: self._reported(len(self.domain)))

    def _reported(self, d: int) -> PublicChoice:
        rows = [[self.p_own if x == y else self.q_other for y in range(d)] for x in range(d)]
        if self.bits > 1:
            return PublicChoice((IndependentBits(tuple(map(tuple, rows))),))
        return PublicChoice(tuple(IndependentBits(tuple((row[y],) for row in rows)) for y in range(d)))

    @cached_property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: a bit for every value that is spoken of, and then the reported bits."""
        return pa.binary(2 * self._width)

    @property
    def _width(self) -> int:
        return -(-len(self.domain) // 8)

    @property
    def operations(self) -> int:
        """Steps of a random number for every value."""
        return 2 * len(self.domain)

    @property
    def batch_size(self) -> int:
        """Number of devices simulated at once, with a bounded number of random numbers."""
        return max(1, WORDS_PER_BATCH // len(self.domain))

    @property
    def counter_length(self) -> int:
        """Number of counts: reports that have each bit, and reports that speak of each value."""
        return 2 * len(self.domain)

    def loss_of(self, rounds: int) -> Pure:
        """Loss of several reports about a value that stays: they are all the same."""
        return Pure(self.epsilon)

    @property
    def permanent_loss(self) -> Pure:
        """Loss of all reports about a value that stays."""
        return Pure(self.epsilon)

    def loss_of_values(self, values: int) -> Pure:
        """Loss of all reports of a person about which values they had; not about when they changed."""
        return Pure(values * self.epsilon)

    def permanent_answer(self, code: int, stream: Callable[..., Entropy]) -> pa.Array[Any]:
        """The values that the device speaks of, and the permanent bits of its value."""
        return self._row(np.array([code]), self._spoken(1, stream("spoken")), stream("value", code))

    def instantaneous_report(self, permanent: pa.Array[Any], entropy: Entropy) -> pa.Array[Any]:
        return permanent

    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """Draw the first reports of devices."""
        return self._row(codes, self._spoken(codes.size, entropy), entropy)

    def count(self, reports: pa.Array[Any]) -> Counts:
        """Count the reports that have each bit, and those that speak of each value."""
        rows, d = reports_to_rows(reports), len(self.domain)
        spoken, report_codes = rows[:, : self._width], rows[:, self._width :]
        if (report_codes & ~spoken).any():
            raise DataError("A report has a bit of a value that it does not cover.")
        return np.concatenate([count_bits(report_codes, d), count_bits(spoken, d, self.bits)])

    def support_counts(self, counts: Counts) -> Counts:
        return counts[: len(self.domain)]

    def tally(self) -> ReportTally:
        """An empty tally, with the number of reports that speak of each value."""
        return _DBitFlipTally(self)

    def _spoken(self, people: int, entropy: Entropy) -> Codes:
        """Indices of the smallest of d random numbers, for each person."""
        numbers = entropy.words(people * len(self.domain)).reshape(people, -1)
        return np.argsort(numbers, axis=1, kind="stable")[:, : self.bits].astype(np.int64)

    def _row(self, codes: Codes, spoken: Codes, entropy: Entropy) -> pa.Array[Any]:
        """Reports of the values that are spoken of, and a bit for each."""
        true = entropy.flips(self.p_own, spoken.size).reshape(spoken.shape)
        bits = np.zeros((2, codes.size, 8 * self._width), dtype=np.bool_)
        people = np.arange(codes.size)[:, None]
        bits[0, people, spoken] = True
        bits[1, people, spoken] = (spoken == codes[:, None]) == true
        return rows_to_reports(np.concatenate(list(np.packbits(bits, axis=2, bitorder="little")), axis=1))


class _DBitFlipTally(ReportTally):
    """A tally in which every value has reports of its own."""

    def estimate(self, *, confidence: float = 0.95) -> FrequencyEstimate:
        """Estimate how many people have each value, from those who spoke of it."""
        whole, d = FrequencyEstimate.of(self, confidence), len(self.oracle.domain)
        ones, spoke = self.counts[:d], self.counts[d:]
        if not spoke.all():
            raise BadInput("Some values have no reports.", hint="Wait for more reports.")
        (p, q), n = self.oracle.probabilities, self.reports
        shares = (ones / spoke - q) / (p - q)
        near: Floats = np.clip(shares, 0, 1)
        variances = self.oracle.variances(n, near) * n / spoke + n * n / spoke * near * (1 - near) * (1 - spoke / n)
        return _DBitFlipEstimate(
            self.oracle, n, whole.supports, n * shares, np.sqrt(variances), confidence, spoke=spoke.copy()
        )


@dataclass(frozen=True)
class _DBitFlipEstimate(FrequencyEstimate):
    """Counts estimated each from those who spoke of the value."""

    spoke: Counts = field(kw_only=True)

    def error_bars_at(self, error: float) -> Floats:
        """Largest error of each count, each by itself, except with probability ``error``.

        Those who spoke were drawn of all, so the variance also grows with f (1 - f); where few reports decide, they are
        a fair sample of coins.
        """
        n, ones, (p, q) = self.n, self.supports / self.spoke, self.oracle.probabilities
        drawn = (1 - self.spoke / n) / self.spoke
        near = np.clip((ones - q) / (p - q), 0, 1)
        normal = score_bound(normal_quantile(error), (self.deviations / n) ** 2, drawn * (1 - 2 * near), drawn)
        few = ones * (1 - ones) * self.spoke < MIN_NORMAL_VARIANCE
        return n * np.where(few, np.maximum(normal, share_error_bound(error, ones, self.spoke) / (p - q)), normal)
