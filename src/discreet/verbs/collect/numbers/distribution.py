"""Maximum-likelihood distribution of a number, from square-wave reports.

The likeliest shares are found by expectation and maximisation: reports are shared out among the points that they may
come of, in proportion to the shares so far, and what each point got is its next share (*em*). The likeliest shares are
rugged; taking each with its neighbours after every round keeps them smooth (*ems*; Li and others 2020). Both look at
reports alone, so neither costs privacy, and both are biased: they have no error bars. Bars for shares of a range come
of ``ranges``, and the mean of these same reports has its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.verbs.collect.domain import Counts, Floats
from discreet.verbs.collect.numbers.grid import NumberGrid
from discreet.verbs.collect.numbers.mechanisms import Window
from discreet.verbs.collect.report_arrays import Reports, require_reports

Algorithm = Literal["ems", "em"]
_MAX_ROUNDS = 10_000
_LIKELIHOOD_STEP = 1e-3
"""Increase of the log-likelihood in a round at which the iteration stops."""


@dataclass(frozen=True, eq=False)
class NumberDistribution:
    """Estimated share of people at each point of a grid."""

    grid: NumberGrid
    n: int
    shares: Floats
    algorithm: Algorithm
    """Algorithm that estimated the shares; they may be biased."""

    @property
    def points(self) -> Floats:
        """Numbers at the points of the grid."""
        return np.asarray(self.grid.value(np.arange(self.grid.steps + 1.0)))

    @property
    def cdf(self) -> Floats:
        """Cumulative share of people at each point."""
        return np.cumsum(self.shares)

    @property
    def mean(self) -> float:
        return float(self.shares @ self.points)

    def table(self) -> pa.Table:
        """Numbers, shares and cumulative shares."""
        figures: dict[str, Any] = {"value": self.points, "share": self.shares, "cdf": self.cdf}
        return pa.table(figures)

    def quantile(self, share: float) -> float:
        """Quantile: the first point at or below which a share of people is."""
        if not 0 <= share <= 1:
            raise BadInput(f"A quantile is of a share from 0 to 1, got {share}.")
        index = np.searchsorted(self.cdf, min(share, self.cdf[-1]))
        return float(self.points[index])


def estimate_distribution(protocol: Window, reports: Reports, *, algorithm: Algorithm = "ems") -> NumberDistribution:
    """Estimate the distribution of numbers from reports."""
    return estimate_distribution_from_counts(protocol, protocol.count(reports), algorithm=algorithm)


def estimate_distribution_from_counts(
    protocol: Window, counts: Counts, *, algorithm: Algorithm = "ems"
) -> NumberDistribution:
    """Estimate the distribution of numbers from counts."""
    if algorithm not in get_args(Algorithm):
        raise BadInput(f"A distribution is estimated by {' or '.join(get_args(Algorithm))}, not {algorithm!r}.")
    n = int(counts.sum())
    require_reports(n, 0.95)
    probabilities, observed = protocol.probabilities, counts / n
    shares = np.full(protocol.grid.steps + 1, 1 / (protocol.grid.steps + 1))
    before = -np.inf
    for _ in range(_MAX_ROUNDS):
        expected = shares @ probabilities
        likelihood = float(counts @ np.log(expected))
        if likelihood - before < _LIKELIHOOD_STEP:
            break
        before = likelihood
        shares = shares * (probabilities @ (observed / expected))
        if algorithm == "ems":
            shares = _smooth(shares)
    return NumberDistribution(protocol.grid, n, shares / shares.sum(), algorithm)


def _smooth(shares: Floats) -> Floats:
    """Smooth shares: half of each and a quarter of each neighbour's; an end is its own neighbour."""
    wide: Floats = np.concatenate([shares[:1], shares, shares[-1:]])
    return (wide[:-2] + 2 * wide[1:-1] + wide[2:]) / 4
