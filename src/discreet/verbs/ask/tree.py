"""A cumulative distribution, and the count of any range of slices, for one price.

Asked one by one, n prefixes cost n epsilon. Here each slice is counted once, and so are the groups of slices on a few
coarser levels; every range is then a sum of a few noisy counts, and all ranges agree with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, combinations
from typing import Any

import numpy as np

from discreet.core.exact import Number, positive, whole
from discreet.core.loss import Concentrated, Pure
from discreet.errors import BadInput
from discreet.noise.deviation import Noise, sum_error
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

MOST_SLICES = 2**16
_Numbers = np.ndarray[Any, Any]
_CUTS = 9


@dataclass(frozen=True)
class Tree:
    """Noisy counts of ``slices`` slices, of groups of ``branching`` slices, of groups of such groups, and so on.

    Why this is private: a row is in one slice, hence in one group on every level. So a unit changes the counts of
    one level by at most its number of rows r in all, and those of L levels by L r, or √L r in Euclidean distance (all
    rows in one slice): Pure(L r / scale) with discrete Laplace noise, Concentrated(L r² / 2σ²) with discrete
    Gaussian (Dwork and others 2006; Bun and Steinke 2016). How slices are grouped is fixed beforehand. Making the
    counts agree is done to noisy figures alone (Hay, Rastogi, Miklau, Suciu 2010).

    With ``branching`` = ``slices`` there is one level, a histogram.
    """

    slices: int
    branching: int
    noise: Noise

    def __post_init__(self) -> None:
        if whole(self.slices, "The number of slices") > MOST_SLICES:
            raise BadInput(f"There are {self.slices:,} slices; the limit is {MOST_SLICES:,}.")
        whole(self.branching, "branching", 2)

    @classmethod
    def for_loss(cls, loss: Pure | Concentrated, slices: int, rows_per_unit: int = 1) -> Tree:
        """The tree that loses ``loss`` and whose ranges have the least error.

        The more levels, the fewer counts a range is made of, and the more noise each has. About 16 branches are
        best for many slices, and a histogram for few (Qardaji, Yang, Li 2013).
        """
        rows = whole(rows_per_unit, "rows_per_unit")
        trees = []
        for branching in _branchings(whole(slices, "The number of slices")):
            levels = len(_sizes(slices, branching))
            if isinstance(loss, Pure):
                trees.append(cls(slices, branching, DiscreteLaplace.for_loss(loss, levels * rows)))
            else:
                each = Concentrated(positive(loss.rho, "rho") / levels)
                trees.append(cls(slices, branching, DiscreteGaussian.for_loss(each, rows)))
        return min(trees, key=lambda tree: tree.noise.variance * _typical(tree.slices, tree.branching))

    @property
    def levels(self) -> int:
        """How many times a row is counted."""
        return len(_sizes(self.slices, self.branching))

    def loss(self, rows_per_unit: int = 1) -> Pure | Concentrated:
        """Privacy loss, given the contribution bound: the largest number of rows of a unit."""
        rows = whole(rows_per_unit, "rows_per_unit")
        if isinstance(self.noise, DiscreteLaplace):
            return self.noise.loss(self.levels * rows)
        return Concentrated(self.levels * self.noise.loss(rows).rho)

    def measure(self, counts: Sequence[int] | _Numbers, entropy: Entropy = SYSTEM) -> Ranges:
        """The counts of all ranges, with noise, from the true count of every slice."""
        true = np.asarray(counts, dtype=np.int64)
        if true.shape != (self.slices,):
            raise BadInput(f"{self.slices} slices need {self.slices} counts, not {true.size}.")
        noisy = []
        for _ in range(self.levels):
            drawn = self.noise.add_all(true, entropy).tolist()
            noisy.append(np.array([Fraction(one) for one in drawn], dtype=object)[:, None])
            true = _grouped(true, self.branching)
        leaves = _consistent(noisy, self.branching)[:, 0]
        return Ranges((Fraction(0), *accumulate(leaves)))

    def variance(self, low: int, high: int) -> float:
        """The variance of the count of slices low to high - 1, which is the same whatever the data is."""
        wanted = self._wanted(low, high)
        return self.noise.variance * float((wanted * _solved(wanted, self.branching)).sum())

    def error(self, beta: Number, low: int, high: int) -> float:
        """A bound on how far the count of slices low to high - 1 is off that holds with probability 1 - beta."""
        weights = [_solved(self._wanted(low, high), self.branching)]
        for _ in range(self.levels - 1):
            weights.append(_grouped(weights[-1], self.branching))
        return sum_error(self.noise, np.concatenate(weights), beta)

    def _wanted(self, low: int, high: int) -> _Numbers:
        _require_range(low, high, self.slices)
        wanted = np.zeros((self.slices, 1))
        wanted[low:high] = 1
        return wanted


@dataclass(frozen=True)
class Ranges:
    """Noisy counts that agree with each other: adjacent ranges add up, exactly."""

    cumulative: tuple[Fraction, ...]
    """How many rows are in the first 0, 1, 2, … slices; noise may make a longer prefix the smaller one."""

    def count(self, low: int, high: int) -> Fraction:
        """How many rows are in the slices low to high - 1. Nothing is cut off at zero: that would bias sums."""
        _require_range(low, high, len(self.cumulative) - 1)
        return self.cumulative[high] - self.cumulative[low]

    def monotone(self) -> tuple[Fraction, ...]:
        """The nearest cumulative counts, in least squares, that start at zero and never fall."""
        return (Fraction(0), *(max(one, Fraction(0)) for one in _never_falling(self.cumulative[1:])))

    def distribution(self) -> tuple[float, ...]:
        """The share of rows up to each slice: never falls, ends at 1. Even, if there seems to be no one."""
        counts = self.monotone()[1:]
        if counts[-1] == 0:
            return tuple((i + 1) / len(counts) for i in range(len(counts)))
        return tuple(float(one / counts[-1]) for one in counts)


def _sizes(slices: int, branching: int) -> list[int]:
    """How many counts each level has, finest first; the last has no more than ``branching``."""
    sizes = [slices]
    while sizes[-1] > branching:
        sizes.append(-(-sizes[-1] // branching))
    return sizes


def _grouped(counts: _Numbers, branching: int) -> _Numbers:
    """The sums of every ``branching`` counts; the last group may be smaller."""
    return np.add.reduceat(counts, np.arange(0, len(counts), branching), axis=0)


def _consistent(levels: Sequence[_Numbers], branching: int) -> _Numbers:
    """The finest counts that fit all levels best, in least squares; a column is a problem of its own.

    Why this is right: going up, a group is counted by its own count (of variance 1) and by the sum of what is in it,
    which are independent; the best of both is their mean, weighted by variance. Going down, what a group turned out
    to have beside that sum is shared out in proportion to variances. This is the two-pass solution of Hay and
    others, for groups of any size.
    """
    best = levels[0]
    variance = best[:, :1] * 0 + 1  # ones of the same kind: fractions stay fractions
    below = []
    for own in levels[1:]:
        total, spread = _grouped(best, branching), _grouped(variance, branching)
        below.append((best, variance, total, spread))
        best, variance = (own * spread + total) / (1 + spread), spread / (1 + spread)
    for finer, share, total, spread in reversed(below):
        rest = np.repeat((best - total) / spread, branching, axis=0)[: len(finer)]
        best = finer + share * rest
    return best


def _solved(wanted: _Numbers, branching: int) -> _Numbers:
    """(AᵀA)⁻¹ r for every column r, where A makes all counts of the slices: least squares, given r as finest counts.

    The variance of r's noisy count is then rᵀ of this, and the weights of the noisy counts in it are A of this.
    """
    levels = [wanted]
    for size in _sizes(len(wanted), branching)[1:]:
        levels.append(np.zeros((size, wanted.shape[1])))
    return _consistent(levels, branching)


def _branchings(slices: int) -> list[int]:
    """The fewest branches that reach all slices with 1, 2, 3, … levels."""
    found = [max(slices, 2)]
    while found[-1] > 2:
        levels = len(found) + 1
        branching = 2
        while branching**levels < slices:
            branching += 1
        found.append(branching)
    return found


@lru_cache(maxsize=256)
def _typical(slices: int, branching: int) -> float:
    """The mean variance of some ranges, for noise of variance 1; their ends are spread by the golden section."""
    ends = sorted({0, slices} | {int(slices * (k * 0.6180339887 % 1)) for k in range(1, _CUTS)})
    ranges = np.zeros((slices, len(ends) * (len(ends) - 1) // 2))
    for i, (low, high) in enumerate(combinations(ends, 2)):
        ranges[low:high, i] = 1
    return float((ranges * _solved(ranges, branching)).sum(axis=0).mean())


def _never_falling(values: Sequence[Fraction]) -> list[Fraction]:
    """The nearest sequence that never falls: neighbours out of order are pooled into their mean."""
    pools: list[tuple[Fraction, int]] = []
    for value in values:
        total, size = value, 1
        while pools and pools[-1][0] * size > total * pools[-1][1]:
            before, more = pools.pop()
            total, size = total + before, size + more
        pools.append((total, size))
    return [total / size for total, size in pools for _ in range(size)]


def _require_range(low: int, high: int, slices: int) -> None:
    if not 0 <= low < high <= slices:
        raise BadInput(f"A range of slices goes from 0 or more up to {slices} or less, not from {low} to {high}.")
