"""Frequency estimates: unbiased counts of people with each value, their error bars and their post-processing.

Each count is a sum of independent reports whose exact mean and variance are known; error bars are by the normal law,
which for the numbers of people that local privacy needs is close (the tests cover it by simulation), and by exact tails
where few reports decide (``confidence_intervals``). The variance depends on the true count: a bar reaches to the
farthest count c that is not refuted, one with (c - estimate)² <= z² variance(c) (a score interval, Wilson 1927), not to
z deviations at the estimate. ``error_bars_together`` hold for all values at once: each is then wrong with a probability
divided by their number (Bonferroni). Counts may be below 0 or above n: cutting them off would bias them.
Post-processing is a step of its own.

**Post-processing: named steps that make estimates consistent, and may bias them.** An unbiased count may be below 0,
and all of them need not add up to the number of people. Each step here repairs that in its own way (Wang,
Lopuhaä-Zwakenberg, Li, Skoric, Li 2020); none looks at a report, so none costs privacy. A step is written down in the
estimate, whose error bars stay those of the unbiased figures.

* *norm-sub*: the same amount is taken from every figure, so that those above 0 add up to n; the others become 0.
* *norm-cut*: figures below 0 become 0, and then the smallest, as long as those left still add up to n.
* *base-cut*: whatever its own error bar cannot tell from 0 becomes 0, by the bars that hold together.
* *cls*: constrained least squares: the figures that are not below 0, add up to n and are nearest, each distance being
  measured in its own standard deviations. With equal deviations it is norm-sub.
* *power*: figures are taken to follow a power law, whose exponent is the one that makes them likeliest, and each
  becomes what is expected of it under that distribution (Jia and Gong 2019). A guess about the world, good for words
  and bad for shares.
* *ibu*: the limit of the iterative Bayesian update (Agrawal and Aggarwal 2001), that is, the likeliest figures given
  how often each value was supported. A report that supports several values counts as one for each; where every report
  supports one value, as in GRR, this is the exact likelihood. The limit is found at once: it is the supports times a
  factor, less what others' reports give, and 0 where that is below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.core.exact import equation
from discreet.core.markup import markup, table, tag
from discreet.core.picture import Picture, bars
from discreet.errors import BadInput
from discreet.verbs.collect.confidence_intervals import count_error_bound
from discreet.verbs.collect.domain import Counts, Floats
from discreet.verbs.collect.report_arrays import require_confidence

if TYPE_CHECKING:
    from discreet.verbs.collect.frequency_oracle import FrequencyOracle, ReportTally

_VALUES_SHOWN = 20
"""Number of values in a chart or a printed table."""
_POWER_LAW_EXPONENTS = np.linspace(1.05, 4, 60)
_QUADRATURE_POINTS = 400
_VALUES_PER_BATCH = 1 << 12


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
        require_confidence(confidence)
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


def norm_sub(estimate: FrequencyEstimate) -> Floats:
    """Subtract the same amount from all counts and cut them at 0, so that they add up to n."""
    return _filled(estimate.counts, np.ones_like(estimate.counts), estimate.n)


def norm_cut(estimate: FrequencyEstimate) -> Floats:
    """Keep the largest counts that add up to n, and set the others to 0."""
    order = np.argsort(-estimate.counts, kind="stable")
    largest = np.maximum(estimate.counts[order], 0)
    kept = np.cumsum(largest) - largest < estimate.n
    counts = np.zeros_like(estimate.counts)
    counts[order[kept]] = largest[kept]
    return counts


def base_cut(estimate: FrequencyEstimate) -> Floats:
    """Set counts that their error bar cannot tell from 0 to 0."""
    return np.where(estimate.counts > estimate.error_bars_together, estimate.counts, 0.0)


def cls(estimate: FrequencyEstimate) -> Floats:
    """Constrained least squares: the nearest possible counts, each moved in proportion to its variance."""
    return _filled(estimate.counts, estimate.deviations**2, estimate.n)


def ibu(estimate: FrequencyEstimate) -> Floats:
    """Limit of the iterative Bayesian update: the counts that make the supports likeliest."""
    p, q = estimate.oracle.probabilities
    supports = np.maximum(estimate.n * q + estimate.counts * (p - q), 0)
    return _filled(-estimate.n * q / (p - q), np.where(supports > 0, supports / (p - q), 1e-300), estimate.n)


def power(estimate: FrequencyEstimate) -> Floats:
    """Posterior mean of each count under a power law fitted to all of them."""
    edges = np.geomspace(0.5, estimate.n + 0.5, _QUADRATURE_POINTS + 1)
    points, widths = np.sqrt(edges[:-1] * edges[1:]), np.diff(edges)
    weights = widths * points ** -_POWER_LAW_EXPONENTS[:, None]
    weights /= weights.sum(axis=1, keepdims=True)
    likelihoods = np.zeros(len(_POWER_LAW_EXPONENTS))
    for part in _parts(estimate):
        likelihoods += np.log(np.maximum(_kernel(estimate, part, points) @ weights.T, 1e-300)).sum(axis=0)
    prior, counts = weights[likelihoods.argmax()], np.empty_like(estimate.counts)
    for part in _parts(estimate):
        near = _kernel(estimate, part, points) * prior
        counts[part] = near @ points / near.sum(axis=1)
    return counts


STEPS: Mapping[str, Callable[[FrequencyEstimate], Floats]] = {
    "norm-sub": norm_sub,
    "norm-cut": norm_cut,
    "base-cut": base_cut,
    "cls": cls,
    "power": power,
    "ibu": ibu,
}


def _filled(levels: Floats, slopes: Floats, total: float) -> Floats:
    """Compute max(level + slope t, 0) for the t at which they add up to the total; slopes are above 0.

    Each counts from t = -level / slope on, so their sum grows with t by straight pieces: the right one is looked up.
    """
    starts = -levels / slopes
    order = np.argsort(starts, kind="stable")
    level, slope = np.cumsum(levels[order]), np.cumsum(slopes[order])
    at = (total - level) / slope
    last = np.flatnonzero(at >= starts[order])[-1]
    filled: Floats = np.maximum(levels + slopes * at[last], 0)
    return filled


def _parts(estimate: FrequencyEstimate) -> list[slice]:
    """Slices of a few thousand counts."""
    return [slice(start, start + _VALUES_PER_BATCH) for start in range(0, len(estimate.counts), _VALUES_PER_BATCH)]


def _kernel(estimate: FrequencyEstimate, part: slice, points: Floats) -> Floats:
    """Normal likelihood of each count at each point, scaled so that the largest is 1."""
    away = (estimate.counts[part, None] - points) / estimate.deviations[part, None]
    logs = -(away**2) / 2
    near: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    return near
