"""Shares of ranges, the distribution function and quantiles, by hierarchical intervals.

The grid's cells are joined by ``fanout`` into longer and longer intervals. A device draws one of these levels and
reports the interval of that level that its number is in (``question_sampling``, whose argument for privacy this is). A
range is then made of few long intervals instead of many cells (Cormode, Kulkarni, Srivastava 2019).

Levels tell the same things twice: an interval is the sum of its parts, and all together are everyone. *Constrained
inference* (Hay and others 2010) takes the shares of cells that are nearest to all figures of all levels, each weighed
by its variance, and add up to one. That is a fixed matrix times the figures, so what comes out is unbiased still, and
every range is a sum of scores over people. Their own spread, level by level, is the error bar: devices' coins, who was
asked on which level, and who answered at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.exact import Number
from discreet.errors import BadInput
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.verbs.collect.confidence_intervals import normal_quantile
from discreet.verbs.collect.domain import Codes, Counts, Floats, Values, set_fields
from discreet.verbs.collect.numbers.grid import NumberGrid
from discreet.verbs.collect.question_sampling import QuestionSampling, SamplingProtocol, compact_oracle, support_table
from discreet.verbs.collect.report_arrays import in_batches, require_reports
from discreet.verbs.collect.report_distribution import ReportDistribution, require_epsilon

_MAX_CELLS = 1024


@dataclass(frozen=True, init=False)
class Ranges(SamplingProtocol["RangeEstimate"]):
    """A local protocol for shares of ranges of a number, by hierarchical intervals."""

    name = "ranges"
    grid: NumberGrid
    epsilon: Fraction
    fanout: int

    def __init__(self, grid: NumberGrid, epsilon: Number, fanout: int = 4) -> None:
        set_fields(self, grid=grid, epsilon=require_epsilon(epsilon), fanout=fanout)
        if not 2 <= grid.steps <= _MAX_CELLS:
            raise BadInput(
                f"Range queries need a grid of 2 to {_MAX_CELLS} cells, got {grid.steps}.", hint="For example 256."
            )
        if fanout < 2:
            raise BadInput(f"The fanout must be at least 2, got {fanout}.", hint="For example 4.")

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Number of cells of an interval of each level, from one on; the longest leave two or more."""
        lengths = [1]
        while lengths[-1] * self.fanout < self.grid.steps:
            lengths.append(lengths[-1] * self.fanout)
        return tuple(lengths)

    @cached_property
    def sampling(self) -> QuestionSampling:
        """A question for each level: the interval that contains the number."""
        return QuestionSampling(
            tuple(compact_oracle(-(-self.grid.steps // length), self.epsilon) for length in self.lengths)
        )

    @cached_property
    def report_distribution(self) -> ReportDistribution:
        cells = range(self.grid.steps)
        return self.sampling.report_distribution([tuple(cell // length for cell in cells) for length in self.lengths])

    def draw(self, cells: Codes, entropy: Entropy) -> pa.Array[Any]:
        """Draw a report for each cell."""
        return self.sampling.draw([cells // length for length in self.lengths], entropy)

    def randomize(self, values: Values, *, entropy: Entropy = BULK) -> pa.Array[Any]:
        cells = self.grid.cells(values)
        return in_batches(cells.size, lambda part: self.draw(cells[part], entropy))

    def estimate_counts(self, counts: Counts, *, confidence: float = 0.95) -> RangeEstimate:
        level_counts = self.sampling.split_counts(counts)
        require_reports(min(int(level.sum()) for level in level_counts), confidence)
        return RangeEstimate(self, tuple(level_counts), confidence)


@dataclass(frozen=True)
class RangeShare:
    """Estimated share of people in a range, and its largest error with the stated confidence."""

    share: float
    error_bar: float


@dataclass(frozen=True)
class QuantileInterval:
    """A quantile, and its bounds with the stated confidence."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class RangeEstimate:
    """Estimated shares of people in ranges: unbiased and consistent."""

    protocol: Ranges
    level_counts: tuple[Counts, ...]
    """Counts of each level."""
    confidence: float

    @property
    def n(self) -> int:
        """Number of people who answered."""
        return int(sum(level.sum() for level in self.level_counts))

    @cached_property
    def shares(self) -> Floats:
        """Estimated share of people in each cell."""
        return self._sums(np.eye(self._cells))[0]

    @cached_property
    def cdf(self) -> tuple[Floats, Floats]:
        """Estimated share of people below the end of each cell, and the largest error of each, each by itself."""
        shares, deviations = self._sums(np.tri(self._cells).T)
        deviations[-1] = 0
        return shares, self._z * deviations

    def between(self, low: float, high: float) -> RangeShare:
        """Estimated share of people from ``low`` up to, not including, ``high``, both rounded to an edge of a cell."""
        grid = self.protocol.grid
        ends = (np.array([low, high]) - float(grid.low)) / float(grid.step)
        first, last = np.clip(np.rint(ends), 0, grid.steps).astype(int)
        if first >= last:
            raise BadInput(f"There is no cell from {low} to {high}.", hint=f"A cell is {float(grid.step):.4g} wide.")
        asked = np.zeros((self._cells, 1))
        asked[first:last] = 1
        shares, deviations = self._sums(asked)
        return RangeShare(float(shares[0]), self._z * float(deviations[0]))

    def table(self) -> pa.Table:
        """End of each cell, the share of people in it and the share below its end, with its error bar."""
        cdf, errors = self.cdf
        ends = self.protocol.grid.value(np.arange(1.0, self._cells + 1))
        figures: dict[str, Any] = {"below": ends, "share": self.shares, "cdf": cdf, "cdf_error": errors}
        return pa.table(figures)

    def quantile(self, share: float) -> QuantileInterval:
        """Quantile: the end of the first cell up to which a share of people is.

        Why the interval holds: say c is the true cell, so that at most its end the share is reached and before it is
        not. The interval starts after c only if the bar at c's end is wrong to one side, and ends before c only if the
        bar at its beginning is wrong to the other: both together as often as one bar is.
        """
        if not 0 < share < 1:
            raise BadInput(f"A quantile is of a share between 0 and 1, got {share}.")
        cdf, bars = self.cdf
        edges = self.protocol.grid.value(np.arange(1.0, self._cells + 1))
        reached = np.maximum.accumulate(cdf) >= share
        low = int(np.argmax(cdf + bars >= share))
        refuted = np.concatenate([[False], (cdf - bars >= share)[:-1]])
        high = int(np.flatnonzero(~refuted)[-1])
        middle = int(np.clip(np.argmax(reached), low, high))
        return QuantileInterval(float(edges[middle]), float(edges[low]), float(edges[high]))

    @property
    def _cells(self) -> int:
        return self.protocol.grid.steps

    @cached_property
    def _z(self) -> float:
        return normal_quantile(1 - self.confidence)

    @cached_property
    def _weights(self) -> list[float]:
        """Inverse variance of a figure of each level, where the share is small."""
        oracles = self.protocol.sampling.oracles
        return [
            level.sum() ** 2 / oracle.variance(int(level.sum()))
            for oracle, level in zip(oracles, self.level_counts, strict=True)
        ]

    @cached_property
    def _least_squares(self) -> tuple[Floats, Floats]:
        """Least-squares matrix from weighted figures to cells, and the constant term; all cells add up to one."""
        cell = np.arange(self._cells)
        normal = np.zeros((self._cells, self._cells))
        for length, weight in zip(self.protocol.lengths, self._weights, strict=True):
            normal += weight * (cell[:, None] // length == cell // length)
        inverse = np.linalg.inv(normal)
        even = inverse.sum(axis=1)
        return inverse - np.outer(even, even) / even.sum(), even / even.sum()

    def _sums(self, asked: Floats) -> tuple[Floats, Floats]:
        """Estimated sums of cells, one for each column, and their standard deviations."""
        matrix, level = self._least_squares
        shares, variances = asked.T @ level, np.zeros(asked.shape[1])
        used = matrix @ asked
        rows = zip(self.protocol.lengths, self._weights, self.protocol.sampling.oracles, self.level_counts, strict=True)
        for length, weight, oracle, counts in rows:
            n = counts.sum()
            on_intervals = weight * np.add.reduceat(used, np.arange(0, self._cells, length), axis=0)
            scores = _scores(support_table(oracle), float(oracle.p_own), float(oracle.q_other)) @ on_intervals
            mean = counts @ scores / n
            shares += mean
            variances += np.maximum(counts @ scores**2 / n - mean**2, 0) / (n - 1)
        return shares, np.sqrt(variances)


def _scores(supports: NDArray[np.bool_], own: float, other: float) -> Floats:
    """Contribution of each report to the share of each value, on average 1 for the own and 0 for any other."""
    return (supports.astype(np.float64) - other) / (own - other)
