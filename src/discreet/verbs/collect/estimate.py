"""Frequency estimates: unbiased counts of people with each value, each with an error bar.

Each count is a sum of independent reports whose exact mean and variance are known; error bars are by the normal law,
which for the numbers of people that local privacy needs is close (the tests cover it by simulation), and by exact tails
where few reports decide (``exact_tails``). The variance depends on the true count: a bar reaches to the farthest count
c that is not refuted, one with (c - estimate)² <= z² variance(c) (a score interval, Wilson 1927), not to z deviations
at the estimate.
``error_bars_together`` hold for all values at once: each is then wrong with a probability divided by their number
(Bonferroni). Counts may be below 0 or above n: cutting them off would bias them. Post-processing is a step of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.core.exact import equation
from discreet.core.markup import markup, table, tag
from discreet.core.report import Picture, bars
from discreet.errors import BadInput
from discreet.verbs.collect.domain import Counts, Floats
from discreet.verbs.collect.postprocess import STEPS
from discreet.verbs.collect.score_intervals import count_error_bound

if TYPE_CHECKING:
    from discreet.verbs.collect.frequency_oracle import FrequencyOracle, ReportTally

_VALUES_SHOWN = 20
"""Number of values in a chart or a printed table."""


@dataclass(frozen=True)
class FrequencyEstimate:
    """Estimated number of people, of ``n``, with each value."""

    oracle: FrequencyOracle
    n: int
    supports: Counts
    """Number of reports that support each value."""
    counts: Floats
    deviations: Floats
    """Standard deviation of each count, at the estimated share."""
    confidence: float
    steps: tuple[str, ...] = ()
    """Post-processing steps that the counts went through; if any, they may be biased."""

    @classmethod
    def of(cls, tally: ReportTally, confidence: float) -> FrequencyEstimate:
        """The unbiased estimate from a tally."""
        if not 0 < confidence < 1:
            raise BadInput(f"Confidence lies between 0 and 1, got {confidence}.")
        if tally.reports == 0:
            raise BadInput("There are no reports to estimate from.")
        oracle, n, supports = tally.oracle, tally.reports, tally.supports
        p, q = oracle.probabilities
        shares = (supports / n - q) / (p - q)
        deviations = np.sqrt(oracle.variances(n, np.clip(shares, 0, 1)))
        return cls(oracle, n, supports, shares * n, deviations, confidence)

    @property
    def shares(self) -> Floats:
        """Estimated share of people with each value."""
        return self.counts / self.n

    @property
    def error_bars(self) -> Floats:
        """Largest error of each count, each by itself with the stated confidence."""
        return self.error_bars_at(1 - self.confidence)

    @property
    def error_bars_together(self) -> Floats:
        """Largest error of each count, all at once with the stated confidence."""
        return self.error_bars_at((1 - self.confidence) / len(self.oracle.domain))

    def postprocess(self, step: str) -> FrequencyEstimate:
        """Post-process the counts by a named step: norm-sub, norm-cut, base-cut, cls, power or ibu."""
        if step not in STEPS:
            raise BadInput(f"There is no step {step!r}.", hint=f"Known are {', '.join(STEPS)}.")
        return replace(self, counts=STEPS[step](self), steps=(*self.steps, step))

    def table(self) -> pa.Table:
        """Values, counts, shares and both kinds of error bars."""
        figures: dict[str, Any] = {"value": list(self.oracle.domain.values), "count": self.counts, "share": self.shares}
        return pa.table(figures | {"count_error": self.error_bars, "count_error_together": self.error_bars_together})

    @property
    def title(self) -> str:
        """Number of reports, protocol, epsilon and post-processing, in one line."""
        done = "".join(f", after {step}" for step in self.steps)
        return f"{self.n:,} reports, {self.oracle.name}, {equation('ε', self.oracle.epsilon)}{done}"

    def picture(self, *, shown: int = _VALUES_SHOWN) -> Picture:
        """Bar chart of the largest counts, with error bars."""
        largest, left = self._largest(shown)
        names = [str(self.oracle.domain.values[index]) for index in largest]
        counts, errors = self.counts[largest].tolist(), self.error_bars[largest].tolist()
        caption = f"People with each value, of {self.n:,}; each error bar holds with {self.confidence:.4g}.{left}"
        return bars(self.title, names, counts, errors=errors, caption=caption)

    def __str__(self) -> str:
        largest, left = self._largest(_VALUES_SHOWN)
        names = [str(self.oracle.domain.values[index]) for index in largest]
        wide, errors = max(map(len, names)), self.error_bars
        lines = [
            f"{name:<{wide}}  {self.counts[index]:>14,.0f} ± {errors[index]:,.0f}  {self.shares[index]:>8.2%}"
            for name, index in zip(names, largest, strict=True)
        ]
        return "\n".join([f"{self.title} (each ± holds with {self.confidence:.4g})", *lines, *([left] if left else [])])

    def _repr_html_(self) -> str:
        largest, left = self._largest(_VALUES_SHOWN)
        errors = self.error_bars
        values = self.oracle.domain.values
        rows = (
            (str(values[at]), f"{self.counts[at]:,.0f}", f"± {errors[at]:,.0f}", f"{self.shares[at]:.2%}")
            for at in largest
        )
        figures = table(("value", "people", "error", "share"), rows)
        return markup(self.picture()._repr_html_(), figures, tag("p", left))

    def error_bars_at(self, error: float) -> Floats:
        """Largest error of each count, each by itself, except with probability ``error``."""
        return count_error_bound(error, self.supports, self.n, self.oracle.probabilities, self.deviations**2)

    def _largest(self, shown: int) -> tuple[Counts, str]:
        """Indices of the largest counts, and a sentence about the others."""
        if len(self.counts) <= shown:
            return np.arange(len(self.counts)), ""
        return np.argsort(-self.counts, kind="stable")[:shown], f" {len(self.counts) - shown:,} smaller are left out."
