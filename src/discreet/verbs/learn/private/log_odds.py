"""Log odds from noisy histograms: how much each value of a column speaks for each class.

All of this is post-processing: it sees noisy counts and declarations alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.verbs.learn.frame import CategoryFeature, Figures
from discreet.verbs.learn.private.coding import Coding

_FEWEST = 2.0
"""A group has more rows than this many deviations of its noise."""
_SPLIT = 3.0
"""What a further interval must explain, in units of noise squared."""
_SPREAD = 4.0
"""How much wider the true rates may spread than is seen: little is lost by believing too much, and more otherwise."""
_LEAST_RATE = 0.005
_MOST_ODDS = 4.0
_LEAST_DEVIATION = 1.0
Groups = NDArray[np.int64]


@dataclass(frozen=True)
class LogOdds:
    """How much the codes of each column speak for the classes, against the first one."""

    prior: Figures
    """Log odds of each class but the first."""
    tables: tuple[Figures, ...]
    """For each column: codes × classes but the first."""
    squares: tuple[Figures, ...]
    """For each column the mean square of its log odds over the rows, for each class but the first."""
    rows: float
    """Number of rows, with noise."""
    deviation: float
    """Deviation of the noise in the number of rows of a class."""

    @property
    def says_nothing(self) -> bool:
        """Whether the noise is so large that not even the classes can be told apart from it."""
        return self.rows < _FEWEST * self.deviation * 2


def log_odds(
    codings: Sequence[Coding], histograms: Sequence[Figures], deviation: float, *, normal: bool = False
) -> LogOdds:
    """The log odds, from a histogram of each column (classes × codes) whose counts have noise of this deviation.

    Every histogram counts the same rows, so their totals are made to agree, each counting by its precision. Intervals
    that cannot be told apart are joined; rare values are joined with each other; and rates are drawn towards that of
    all rows as far as noise explains them. ``normal``: numbers are taken to be normal within each class.
    """
    deviation = max(deviation, _LEAST_DEVIATION)
    weights = np.array([1 / one.shape[1] for one in histograms])
    totals = sum(weight * one.sum(axis=1) for weight, one in zip(weights, histograms, strict=True)) / weights.sum()
    noise = float(deviation / np.sqrt(weights.sum()))
    known = np.maximum(totals, max(noise, 1.0))
    base = known / known.sum()
    tables, squares = [], []
    for coding, counts in zip(codings, histograms, strict=True):
        level = counts + ((totals - counts.sum(axis=1)) / counts.shape[1])[:, None]
        groups = _groups(coding, level, deviation, base)
        table = _table(groups, level, deviation, base)
        if normal and coding.edges:
            table[: coding.values] = _normal(coding, level[:, : coding.values], deviation)
        shares = np.maximum(level.sum(axis=0), 0.0)
        tables.append(table)
        squares.append(shares @ table**2 / max(float(shares.sum()), 1.0))
    return LogOdds(np.log(base[1:] / base[0]), tuple(tables), tuple(squares), float(totals.sum()), noise)


def _table(groups: Groups, counts: Figures, deviation: float, base: Figures) -> Figures:
    many = int(groups.max()) + 1
    held = np.stack([np.bincount(groups, one, many) for one in counts])
    variance = deviation**2 * np.bincount(groups, minlength=many)
    rows = held.sum(axis=0)
    enough = np.maximum(rows, np.maximum(np.sqrt(variance), 1.0))
    rates = np.clip(held / enough, 0.0, 1.0)
    share = base[:, None]
    others = (len(base) - 1) * rates**2
    unsure = variance * ((1 - rates) ** 2 + others) / enough**2 + share * (1 - share) / enough
    weight = np.maximum(rows, 0.0)
    seen = (weight * ((rates - share) ** 2 - unsure)).sum(axis=1) / max(float(weight.sum()), 1.0)
    spread = _SPREAD * np.maximum(seen, 0.0)[:, None]
    rates = share + spread / (spread + unsure) * (rates - share)
    rates = np.maximum(rates, _LEAST_RATE)
    rates = rates / rates.sum(axis=0)
    found = np.log(rates[1:] / rates[0]) - np.log(base[1:] / base[0])[:, None]
    return np.asarray(np.clip(found, -_MOST_ODDS, _MOST_ODDS)[:, groups].T, np.float64)


def _normal(coding: Coding, counts: Figures, deviation: float) -> Figures:
    """Log odds of normal distributions that have the mean and the variance of the noisy counts of each class.

    The variance is no less than that within an interval, and a class that noise hides has those of all rows.
    """
    edges = np.array([coding.feature.low, *coding.edges, coding.feature.high])  # type: ignore[union-attr]
    middles, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    every, lines = np.maximum(counts.sum(axis=0), 0.0), []
    for one in counts:
        weight = np.maximum(one, 0.0) if one.sum() > _FEWEST * deviation * np.sqrt(len(one)) else every
        weight = weight / max(float(weight.sum()), 1e-9)
        mean = float(weight @ middles)
        variance = float(weight @ ((middles - mean) ** 2 + widths**2 / 12)) + 1e-12
        lines.append(-((middles - mean) ** 2) / (2 * variance) - np.log(variance) / 2)
    found = np.stack([one - lines[0] for one in lines[1:]], axis=1)
    return np.asarray(np.clip(found, -_MOST_ODDS, _MOST_ODDS), np.float64)


def _groups(coding: Coding, counts: Figures, deviation: float, base: Figures) -> Groups:
    """The group of each code; that of missing values stands alone."""
    values = coding.values
    known = counts[:, :values]
    if isinstance(coding.feature, CategoryFeature):
        rare = known.sum(axis=0) < _FEWEST * deviation * np.sqrt(len(base))
        found = np.cumsum(~rare) - 1
        found[rare] = int((~rare).sum())
    else:
        found = _joined(known, deviation, base)
    return np.append(found, found.max() + 1) if coding.size > values else found


def _joined(counts: Figures, deviation: float, base: Figures) -> Groups:
    """Neighbouring intervals joined where one rate for all of them explains the counts (by dynamic programming)."""
    many = counts.shape[1]
    rows = counts.sum(axis=0)
    up_to = [np.concatenate([[0.0], np.cumsum(one)]) for one in (rows, rows * rows)]
    sums = np.concatenate([np.zeros((len(base), 1)), np.cumsum(counts, axis=1)], axis=1)
    squares = np.concatenate([np.zeros((len(base), 1)), np.cumsum(counts * counts, axis=1)], axis=1)
    mixed = np.concatenate([np.zeros((len(base), 1)), np.cumsum(counts * rows, axis=1)], axis=1)
    best, before = np.full(many + 1, np.inf), np.zeros(many + 1, np.int64)
    best[0] = 0.0
    for last in range(1, many + 1):
        first = np.arange(last)
        held = up_to[0][last] - up_to[0][first]
        enough = held > _FEWEST * deviation * np.sqrt(len(base) * (last - first))
        cost = np.zeros(last)
        for place in range(1, len(base)):
            rate = np.where(enough, (sums[place, last] - sums[place, first]) / np.where(enough, held, 1.0), base[place])
            rate = np.clip(rate, 0.001, 0.999)
            wrong = squares[place, last] - squares[place, first]
            wrong = wrong - 2 * rate * (mixed[place, last] - mixed[place, first])
            wrong = wrong + rate**2 * (up_to[1][last] - up_to[1][first])
            cost = cost + wrong / (deviation**2 * ((1 - rate) ** 2 + (len(base) - 1) * rate**2))
        cost = np.where(enough | (last - first == many), cost, np.inf)
        found = best[first] + cost + _SPLIT * (len(base) - 1)
        before[last] = int(found.argmin())
        best[last] = found[before[last]]
    groups, last, group = np.zeros(many, np.int64), many, 0
    while last > 0:
        groups[before[last] : last] = group
        last, group = int(before[last]), group + 1
    return np.asarray(groups.max() - groups, np.int64)
