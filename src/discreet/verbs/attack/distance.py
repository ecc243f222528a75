"""Distance-based record linkage (Pagliuca and Seri 1999), and Gower distances of mixed columns (Gower 1971)."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import ATTACKS
from discreet.core.optional import extra
from discreet.core.statement import Recipe
from discreet.verbs.attack.finding import Array
from discreet.verbs.attack.linkage import Linkage, LinkageData, LinkResult, tie_success

_BLOCK_PAIRS = 4_000_000
"""Pairs whose distances are held in memory at a time."""


class Metric(Enum):
    """Distance between a person and a row."""

    EUCLIDEAN = "Euclidean"
    """Differences in standard deviations."""
    MAHALANOBIS = "Mahalanobis"
    """The same, with correlated columns not counted twice."""
    RANK = "rank"
    """Differences in rank, which monotone masking, or one that keeps the ranks near, does not blur."""


@declare(ATTACKS, "distance linkage", rank=8)
class DistanceLinkage(Linkage):
    """Link each person to the nearest released row, exactly; text that differs counts as much as numbers of two
    strangers do on average."""

    metric: Metric = parameter("Distance between a person and a row.", default=Metric.EUCLIDEAN)

    @property
    def skill(self) -> str:
        return f"and takes the nearest row by {self.metric.value} distance"

    def link(self, data: LinkageData, recipe: Recipe) -> LinkResult:
        people, rows = data.known[:, data.numeric], data.released[:, data.numeric]
        if self.metric is Metric.RANK:
            people, rows = ranks(people), ranks(rows)
        if self.metric is Metric.MAHALANOBIS:
            people, rows = whitened(people, rows)
        else:
            people, rows = standardised(people, rows)
        return LinkResult(_nearest_success(data, people, rows), {"metric": self.metric.value}, data.guess_rate)


def _nearest_success(data: LinkageData, people: Array, rows: Array) -> Array:
    """Success probability of linking to the nearest row, where ``people`` and ``rows`` hold the numeric columns as they
    are to be compared. NULL stands at the origin, and differs from values as a code does."""
    from discreet.verbs.attack.linkage_kernels import Points, nearest_rows

    codes = np.column_stack([data.known[:, ~data.numeric], np.isnan(data.known[:, data.numeric])])
    others = np.column_stack([data.released[:, ~data.numeric], np.isnan(data.released[:, data.numeric])])
    codes, others = np.nan_to_num(codes, nan=-1.0), np.nan_to_num(others, nan=-1.0)
    varied = np.array([len(np.unique(both)) > 1 for both in np.concatenate([codes, others]).T], dtype=bool)
    codes, others = codes[:, varied], others[:, varied]
    costs = np.array([2.0 / difference_rate(column) for column in np.concatenate([codes, others]).T])
    targets = Points(np.nan_to_num(people), codes.astype(np.int64), costs)
    candidates = Points(np.nan_to_num(rows), others.astype(np.int64), costs)
    _, ties, found = nearest_rows(targets, candidates, data.truth)
    return tie_success(ties, found)


def standardised(people: Array, rows: Array) -> tuple[Array, Array]:
    """Both in standard deviations of the known people, so that equal values stay equal."""
    mean, deviation = np.nanmean(people, axis=0), np.nanstd(people, axis=0)
    scale = np.where(deviation > 0, deviation, 1.0)
    return (people - mean) / scale, (rows - mean) / scale


def whitened(people: Array, rows: Array) -> tuple[Array, Array]:
    """Both rotated and scaled so that Euclidean distance is Mahalanobis distance, by the covariance of the difference
    of two strangers. Directions without spread are dropped."""
    people, rows = standardised(people, rows)
    people, rows = np.nan_to_num(people), np.nan_to_num(rows)
    return whitened_by(np.atleast_2d(np.cov(people.T) + np.cov(rows.T)) / 2, people, rows)


def whitened_by(covariance: Array, people: Array, rows: Array) -> tuple[Array, Array]:
    """Both rotated and scaled so that a difference with this covariance has unit variance in every direction."""
    spread, axes = np.linalg.eigh(covariance)
    kept = spread > 1e-12 * max(float(spread.max()), 1e-300)
    rotation = axes[:, kept] / np.sqrt(spread[kept])
    return _rotated(people, rotation), _rotated(rows, rotation)


def ranks(values: Array) -> Array:
    """Mean ranks within each column, in [0, 1]; NaN stays NaN."""
    with extra("attack"):
        from scipy.stats import rankdata

    counted = np.maximum(np.count_nonzero(~np.isnan(values), axis=0), 1)
    return np.asarray((rankdata(values, axis=0, nan_policy="omit") - 0.5) / counted)


def difference_rate(codes: Array) -> float:
    """The probability that two strangers have different codes."""
    _, counts = np.unique(codes, return_counts=True)
    return float(1.0 - np.sum((counts / len(codes)) ** 2))


def _rotated(values: Array, rotation: Array) -> Array:
    """``values @ rotation``, a column at a time: a matrix product may round equal rows differently, and break ties."""
    rotated = np.zeros((len(values), rotation.shape[1]))
    for column, weights in zip(values.T, rotation, strict=True):
        rotated += column[:, None] * weights
    return rotated


def gower_distances(people: Array, rows: Array, numeric: Array) -> Iterator[Array]:
    """Gower distances of every person (a row of the result) to all rows, some people at a time.

    Numbers differ by their share of the released rows' range, all else is equal or not. NULL (NaN) is at 0 from NULL
    and at 1 from anything else.
    """
    there = [values[~np.isnan(values)] for values in rows.T]
    scales = [float(np.ptp(values)) if len(values) else 0.0 for values in there]
    step = max(_BLOCK_PAIRS // max(len(rows), 1), 1)
    for start in range(0, len(people), step):
        some = people[start : start + step]
        total = np.zeros((len(some), len(rows)))
        for column, number in enumerate(numeric):
            total += _column_distances(some[:, column], rows[:, column], scales[column] if number else 0.0)
        yield total


def closest_distances(people: Array, rows: Array, numeric: Array) -> Array:
    """Distance to the closest record, for each person."""
    return np.concatenate([far.min(axis=1) for far in gower_distances(people, rows, numeric)])


def _column_distances(people: Array, rows: Array, scale: float) -> Array:
    """Distances in one column; without a scale, 1 for unequal values."""
    if scale:
        far = np.minimum(np.abs(people[:, None] - rows[None, :]) / scale, 1.0)
    else:
        far = (people[:, None] != rows[None, :]).astype(float)
    missing = np.isnan(people)[:, None], np.isnan(rows)[None, :]
    if missing[0].any() or missing[1].any():
        far = np.where(missing[0] | missing[1], (missing[0] != missing[1]).astype(float), far)
    return np.asarray(far)
