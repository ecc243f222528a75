"""Frequency oracles: how a device reports which of some values it has, and how a collector counts the reports.

Every oracle here is *pure* (Wang, Blocki, Li, Jha 2017): a report supports some of the values. It supports the
respondent's own with probability p and any other with a probability q below it, whichever they are. So of n reports, of
which a share f come from people with a value, n (f p + (1 - f) q) support it on average, and

    estimate = (supporting - n q) / (p - q)         unbiased, whatever the answers are
    variance = n (f p (1 - p) + (1 - f) q (1 - q)) / (p - q)²

A collector keeps a row of counts of a fixed length, from which the numbers of supporting reports are computed when they
are asked for. Counts add up over batches, processes and machines.

**Estimates.** Each count is a sum of independent reports whose exact mean and variance are known; error bars are by the
normal approximation, which for the numbers of people that local privacy needs is close (the tests cover it by
simulation), and by exact tails where few reports decide (``confidence_intervals``). The variance depends on the true
count: a bar reaches to the farthest count c that is not refuted, one with (c - estimate)² <= z² variance(c) (a score
interval, Wilson 1927), not to z deviations at the estimate. ``error_bars_together`` hold for all values at once: each
is then wrong with a probability divided by their number (Bonferroni). Counts may be below 0 or above n: cutting them
off would bias them. Post-processing is a step of its own.

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

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import parameter, parameterized
from discreet.core.document import fields
from discreet.core.exact import Number, equation
from discreet.core.markup import markup, table, tag
from discreet.core.report import Picture, bars
from discreet.errors import BadInput, DataError
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.verbs.collect.confidence_intervals import count_error_bound
from discreet.verbs.collect.domain import Codes, Counts, Domain, Floats, Values, set_fields
from discreet.verbs.collect.protocol import LocalProtocol
from discreet.verbs.collect.report_arrays import Reports, chunks_of, in_batches, require_confidence
from discreet.verbs.collect.report_distribution import require_epsilon

_VALUES_SHOWN = 20
"""Number of values in a chart or a printed table."""
_POWER_LAW_EXPONENTS = np.linspace(1.05, 4, 60)
_QUADRATURE_POINTS = 400
_VALUES_PER_BATCH = 1 << 12


@parameterized(init=False)
class FrequencyOracle(LocalProtocol["FrequencyEstimate"]):
    """A local protocol for which of some values a person has."""

    domain: Domain
    epsilon: Fraction = parameter("Privacy loss of a report.", above=0, python=True)

    def __init__(self, domain: Domain | int | Iterable[Any], epsilon: Number) -> None:
        set_fields(self, domain=Domain.of(domain), epsilon=require_epsilon(epsilon))

    @property
    @abstractmethod
    def p_own(self) -> Fraction:
        """p: probability that a report supports the respondent's own value."""

    @property
    @abstractmethod
    def q_other(self) -> Fraction:
        """q: probability that a report supports any other value."""

    @property
    @abstractmethod
    def operations(self) -> int:
        """Approximate number of steps a report takes on the device and where it is counted, to compare oracles by."""

    @property
    def batch_size(self) -> int:
        """Number of devices simulated at once: few enough that memory is bounded and stays in the processor's cache."""
        return 1 << 16

    @abstractmethod
    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """Draw a report for each answer, all at once."""

    @property
    def counter_length(self) -> int:
        """Number of counts that a collector keeps."""
        return len(self.domain)

    @abstractmethod
    def count(self, reports: pa.Array[Any]) -> Counts:
        """Count reports; a report that no device can have made is an error."""

    def support_counts(self, counts: Counts) -> Counts:
        """Number of reports that support each value, from the counts that were kept."""
        return counts

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Arguments of the constructor beside the domain, as plain data."""
        return {"epsilon": str(self.epsilon), **self.parameters}

    def randomize(self, values: Values, /, *, entropy: Entropy = BULK) -> pa.Array[Any]:
        codes = self.domain.codes(values)
        return in_batches(codes.size, lambda part: self.draw(codes[part], entropy), self.batch_size)

    def supports(self, reports: pa.Array[Any]) -> Counts:
        """Number of reports that support each value."""
        return self.support_counts(self.count(reports))

    def tally(self) -> ReportTally:
        """An empty tally, to which reports can be added as they come."""
        return ReportTally(self)

    def estimate(self, reports: Reports, *, confidence: float = 0.95) -> FrequencyEstimate:
        """Estimate how many people have each value, with error bars."""
        return self.tally().add(reports).estimate(confidence=confidence)

    @cached_property
    def probabilities(self) -> tuple[Floats, Floats]:
        """p and q of every value, as floating-point numbers for estimates."""
        d = len(self.domain)
        return np.full(d, float(self.p_own)), np.full(d, float(self.q_other))

    def variances(self, n: int, shares: Floats) -> Floats:
        """Variance of each estimated count among ``n`` people, by the share of people that has each value."""
        p, q = self.probabilities
        return n * (shares * p * (1 - p) + (1 - shares) * q * (1 - q)) / (p - q) ** 2

    def variance(self, n: int, share: float = 0.0) -> float:
        """Variance for one value, the first, that a share of people has, if the others are evenly spread."""
        d = len(self.domain)
        shares = np.full(d, (1 - share) / (d - 1))
        shares[0] = share
        return float(self.variances(n, shares)[0])


@dataclass
class ReportTally:
    """Counts of reports of one oracle: a fixed size, however many there are. Tallies can be merged in any order."""

    oracle: FrequencyOracle
    reports: int = 0
    counts: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if self.counts.size == 0:
            self.counts = np.zeros(self.oracle.counter_length, dtype=np.int64)

    @property
    def supports(self) -> Counts:
        """Number of reports that support each value."""
        return self.oracle.support_counts(self.counts)

    def add(self, reports: Reports) -> Self:
        """Count further reports: all of them or, if one cannot be counted, none."""
        chunks = chunks_of(reports, self.oracle.report_type, self.oracle.name)
        counts = self.counts.copy()
        for chunk in chunks:
            if len(chunk):
                counts += self.oracle.count(chunk)
        self.counts = counts
        self.reports += len(reports)
        return self

    def merge(self, other: ReportTally) -> Self:
        """Add another collector's tally of the same protocol."""
        if other.oracle != self.oracle:
            raise BadInput("Reports of two protocols cannot be counted together.")
        self.counts = self.counts + other.counts
        self.reports += other.reports
        return self

    def estimate(self, *, confidence: float = 0.95) -> FrequencyEstimate:
        """Estimate how many people have each value, with error bars."""
        return FrequencyEstimate.of(self, confidence)

    def to_dict(self) -> dict[str, Any]:
        """This tally as plain data, to send to another machine."""
        return {"reports": self.reports, "counts": self.counts.tolist()}

    @classmethod
    def from_dict(cls, oracle: FrequencyOracle, data: object) -> ReportTally:
        """Read a tally of the same protocol from plain data, strictly."""
        document = fields(data, "a tally", reports=int, counts=list)
        whole = all(type(count) is int and 0 <= count <= document["reports"] < 2**63 for count in document["counts"])
        if not whole or len(document["counts"]) != oracle.counter_length:
            raise DataError("This is not a tally of that protocol.", hint="Merge tallies of one survey only.")
        return cls(oracle, document["reports"], np.array(document["counts"], dtype=np.int64))


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
            raise BadInput(f"There is no post-processing step {step!r}.", hint=f"Choose from {', '.join(STEPS)}.")
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
        rows, left = self._rows()
        wide = max(len(row[0]) for row in rows)
        lines = [f"{name:<{wide}}  {count:>14} {error}  {share:>8}" for name, count, error, share in rows]
        return "\n".join([f"{self.title} (each ± holds with {self.confidence:.4g})", *lines, *([left] if left else [])])

    def _repr_html_(self) -> str:
        rows, left = self._rows()
        figures = table(("value", "people", "error", "share"), rows)
        return markup(self.picture()._repr_html_(), figures, tag("p", left))

    def error_bars_at(self, error: float) -> Floats:
        """Largest error of each count, each by itself, except with probability ``error``."""
        return count_error_bound(error, self.supports, self.n, self.oracle.probabilities, self.deviations**2)

    def _rows(self) -> tuple[list[tuple[str, str, str, str]], str]:
        """Value, count, error and share of the largest counts, in words, and a sentence about the others."""
        (largest, left), errors, values = self._largest(_VALUES_SHOWN), self.error_bars, self.oracle.domain.values
        return [
            (str(values[at]), f"{self.counts[at]:,.0f}", f"± {errors[at]:,.0f}", f"{self.shares[at]:.2%}")
            for at in largest
        ], left

    def _largest(self, shown: int) -> tuple[Counts, str]:
        """Indices of the largest counts, and a sentence about the others."""
        if len(self.counts) <= shown:
            return np.arange(len(self.counts)), ""
        return np.argsort(-self.counts, kind="stable")[
            :shown
        ], f" {len(self.counts) - shown:,} smaller ones are not shown."


def norm_sub(estimate: FrequencyEstimate) -> Floats:
    """Subtract the same amount from all counts and cut them at 0, so that they add up to n."""
    return _filled(estimate.counts, np.ones_like(estimate.counts), estimate.n)


def norm_cut(estimate: FrequencyEstimate) -> Floats:
    """Keep the largest counts that add up to n, and set the others to 0."""
    order = np.argsort(-estimate.counts, kind="stable")
    largest = np.maximum(estimate.counts[order], 0)
    large = np.cumsum(largest) - largest < estimate.n
    counts = np.zeros_like(estimate.counts)
    counts[order[large]] = largest[large]
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
    return np.asarray(np.maximum(levels + slopes * at[last], 0))


def _parts(estimate: FrequencyEstimate) -> list[slice]:
    """Slices of a few thousand counts."""
    return [slice(start, start + _VALUES_PER_BATCH) for start in range(0, len(estimate.counts), _VALUES_PER_BATCH)]


def _kernel(estimate: FrequencyEstimate, part: slice, points: Floats) -> Floats:
    """Normal likelihood of each count at each point, scaled so that the largest is 1."""
    away = (estimate.counts[part, None] - points) / estimate.deviations[part, None]
    logs = -(away**2) / 2
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))
