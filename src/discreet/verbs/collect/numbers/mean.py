"""Protocols for the mean of a number on a grid.

A device puts its number on the grid and reports one of finitely many outcomes; each outcome *says* a number, chosen
such that what a person's report says is that person's number on average. So the mean of what is said is unbiased,
whatever the numbers are. What is said varies, over devices' coins and over people; the error bar has both in it, so it
holds for all people of whom those who answered are a fair sample (for those who answered it is a little too wide). It
is by the normal approximation, but for two cases. Of two outcomes it is the interval of a coin
(``confidence_intervals``). Of more, where there are too few reports for the normal approximation
(``reports_for_normality``), as at a large ε, where one that says a far number is rare, it is by Maurer and Pontil's
bound (2009, Theorem 11), which knows how far off a report can be that no one has made yet: if all reports agree, the
bar is not 0. Counts of outcomes are all a collector keeps, and add up.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log, sqrt
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import parameter, parameterized
from discreet.core.exact import Number, equation
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.verbs.collect.confidence_intervals import MIN_NORMAL_VARIANCE, normal_quantile, share_error_bound
from discreet.verbs.collect.domain import Codes, Counts, Floats, Values, set_fields
from discreet.verbs.collect.numbers.grid import NumberGrid
from discreet.verbs.collect.protocol import IntegerProtocol
from discreet.verbs.collect.report_arrays import in_batches, require_reports, to_integer_reports
from discreet.verbs.collect.report_distribution import Matrix, require_epsilon


@dataclass(frozen=True)
class MeanEstimate:
    """Estimated mean of a number over ``n`` people."""

    n: int
    mean: float
    deviation: float
    """Standard deviation of the mean."""
    error_bar: float
    """Largest error of the mean, with the stated confidence."""
    confidence: float
    title: str

    def table(self) -> pa.Table:
        """The mean, its error bar and the number of reports."""
        figures: dict[str, Any] = {"mean": [self.mean], "mean_error": [self.error_bar], "reports": [self.n]}
        return pa.table(figures)

    def __str__(self) -> str:
        return f"{self.title}: {self.mean:,.6g} ± {self.error_bar:,.4g} (holds with {self.confidence:.4g})"


@parameterized(init=False)
class MeanProtocol(IntegerProtocol[MeanEstimate]):
    """A local protocol for a number on a grid, with an unbiased mean."""

    grid: NumberGrid
    epsilon: Fraction = parameter("Privacy loss of a report.", above=0, python=True)

    def __init__(self, grid: NumberGrid, epsilon: Number) -> None:
        set_fields(self, grid=grid, epsilon=require_epsilon(epsilon))

    @property
    @abstractmethod
    def report_values(self) -> tuple[Fraction, ...]:
        """Value of each report, in steps above the lowest: it may lie far outside the grid."""

    @abstractmethod
    def draw(self, codes: Codes, entropy: Entropy) -> Codes:
        """Draw a report for each point."""

    @property
    def outcomes(self) -> int:
        return len(self.report_values)

    def randomize(self, values: Values, *, entropy: Entropy = BULK) -> pa.Array[Any]:
        numbers = self.grid.numbers(values)
        return in_batches(
            numbers.size,
            lambda part: to_integer_reports(
                self.draw(self.grid.round_randomly(numbers[part], entropy), entropy), self.outcomes
            ),
        )

    def estimate_counts(self, counts: Counts, *, confidence: float = 0.95) -> MeanEstimate:
        n = int(counts.sum())
        require_reports(n, confidence)
        mean = float(counts @ self._report_values) / n
        step = float(self.grid.step)
        deviation = float(np.sqrt(counts @ (self._report_values - mean) ** 2 / (n - 1) / n))
        bar = self._bar(counts, deviation, 1 - confidence)
        title = f"{n:,} reports, {self.name}, {equation('ε', self.epsilon)}"
        return MeanEstimate(n, self.grid.value(mean), step * deviation, step * bar, confidence, title)

    def _bar(self, counts: Counts, deviation: float, error: float) -> float:
        n, wide = int(counts.sum()), float(np.ptp(self._report_values))
        if self.outcomes == 2:
            return wide * float(share_error_bound(error, counts[1:] / n, n)[0])
        if n >= self.reports_for_normality:
            return normal_quantile(error) * deviation
        limit = log(4 / error)
        return deviation * sqrt(2 * limit) + 7 * wide * limit / (3 * (n - 1))

    @cached_property
    def probabilities(self) -> Floats:
        """Probability of each report, as floating-point numbers: a row for each point."""
        assert isinstance(self.report_distribution, Matrix)  # noqa: S101
        return np.array(self.report_distribution.rows, dtype=np.float64)

    @cached_property
    def variances(self) -> Floats:
        """Variance of the value of one report of each point of the grid, in the number's own unit."""
        away = self._report_values - np.arange(self.grid.steps + 1)[:, None]
        return np.asarray((self.probabilities * away**2).sum(axis=1) * float(self.grid.step) ** 2)

    @cached_property
    def reports_for_normality(self) -> float:
        """Number of reports from which their mean is nearly normal, whatever the numbers are.

        How far a sum of n reports is from normal goes by its third moment, over its deviation cubed and √n (Berry and
        Esseen). Where reports that say a far number are rare, this asks for some 25 of those.
        """
        away = np.abs(self._report_values - np.arange(self.grid.steps + 1)[:, None])
        second, third = ((self.probabilities * away**power).sum(axis=1) for power in (2, 3))
        return MIN_NORMAL_VARIANCE * float((third**2 / second**3).max())

    @cached_property
    def _report_values(self) -> Floats:
        return np.array([float(value) for value in self.report_values])
