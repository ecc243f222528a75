"""Distance linkage: take the nearest released row for the person's own (Pagliuca and Seri 1999)."""

from __future__ import annotations

from enum import Enum
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.core.catalogue import declare, parameter
from discreet.core.families import ATTACKS
from discreet.core.optional import extra
from discreet.core.statement import Recipe
from discreet.verbs.attack.linkage import Linkage, Linked, by_lot
from discreet.verbs.attack.linkage_matrix import Sight

Array = npt.NDArray[Any]


class Metric(Enum):
    """How far a person is from a row."""

    EUCLIDEAN = "Euclidean"
    """Differences in standard deviations."""
    MAHALANOBIS = "Mahalanobis"
    """The same, with correlated columns not counted twice."""
    RANK = "rank"
    """Differences in rank; what a monotone masking, or one that keeps the ranks near, does not blur."""


@declare(ATTACKS, "distance linkage", rank=8)
class DistanceLinkage(Linkage):
    """Link each person to the nearest released row, exactly; text that differs counts as much as numbers of two
    strangers do on average."""

    metric: Metric = parameter("How far a person is from a row.", default=Metric.EUCLIDEAN)

    name: ClassVar[str]

    @property
    def skill(self) -> str:
        return f"and takes the nearest row by {self.metric.value} distance"

    def link(self, sight: Sight, recipe: Recipe) -> Linked:
        people, rows = sight.known[:, sight.numeric], sight.shown[:, sight.numeric]
        if self.metric is Metric.RANK:
            people, rows = ranks(people), ranks(rows)
        if self.metric is Metric.MAHALANOBIS:
            people, rows = whitened(people, rows)
        else:
            people, rows = standardised(people, rows)
        return Linked(nearest_credits(sight, people, rows), {"metric": self.metric.value}, sight.guessing)


def nearest_credits(sight: Sight, people: Array, rows: Array) -> Array:
    """The credits of linking to the nearest row, where ``people`` and ``rows`` hold the numeric columns as they are to
    be compared. NULL stands at the origin, and differs from values as a code does."""
    from discreet.verbs.attack.nearest import Points, nearest

    codes = np.column_stack([sight.known[:, ~sight.numeric], np.isnan(sight.known[:, sight.numeric])])
    others = np.column_stack([sight.shown[:, ~sight.numeric], np.isnan(sight.shown[:, sight.numeric])])
    codes, others = np.nan_to_num(codes, nan=-1.0), np.nan_to_num(others, nan=-1.0)
    varied = np.array([len(np.unique(both)) > 1 for both in np.concatenate([codes, others]).T], dtype=bool)
    codes, others = codes[:, varied], others[:, varied]
    costs = np.array([2.0 / unlike(column) for column in np.concatenate([codes, others]).T])
    asked = Points(np.nan_to_num(people), codes.astype(np.int64), costs)
    held = Points(np.nan_to_num(rows), others.astype(np.int64), costs)
    _, ties, found = nearest(asked, held, sight.truth)
    return by_lot(ties, found)


def standardised(people: Array, rows: Array) -> tuple[Array, Array]:
    """Both in the standard deviations of the known people, so that equal values stay equal."""
    mean, deviation = np.nanmean(people, axis=0), np.nanstd(people, axis=0)
    scale = np.where(deviation > 0, deviation, 1.0)
    return (people - mean) / scale, (rows - mean) / scale


def whitened(people: Array, rows: Array) -> tuple[Array, Array]:
    """Both turned so that Euclidean distance is Mahalanobis': by the covariance of the difference of two strangers.
    Directions without spread are dropped."""
    people, rows = standardised(people, rows)
    people, rows = np.nan_to_num(people), np.nan_to_num(rows)
    return whitened_by(np.atleast_2d(np.cov(people.T) + np.cov(rows.T)) / 2, people, rows)


def whitened_by(covariance: Array, people: Array, rows: Array) -> tuple[Array, Array]:
    """Both turned so that a difference with this covariance becomes one of unit spread."""
    spread, axes = np.linalg.eigh(covariance)
    kept = spread > 1e-12 * max(float(spread.max()), 1e-300)
    turn = axes[:, kept] / np.sqrt(spread[kept])
    return _turned(people, turn), _turned(rows, turn)


def ranks(values: Array) -> Array:
    """Of each column the mean ranks in [0, 1]; NaN stays NaN."""
    with extra("attack"):
        from scipy.stats import rankdata

    counted = np.maximum(np.count_nonzero(~np.isnan(values), axis=0), 1)
    return np.asarray((rankdata(values, axis=0, nan_policy="omit") - 0.5) / counted)


def unlike(codes: Array) -> float:
    """The probability that two strangers differ."""
    _, counts = np.unique(codes, return_counts=True)
    return float(1.0 - np.sum((counts / len(codes)) ** 2))


def _turned(values: Array, turn: Array) -> Array:
    """``values @ turn``, a column at a time: a matrix product may round equal rows differently, and part ties."""
    turned = np.zeros((len(values), turn.shape[1]))
    for column, weights in zip(values.T, turn, strict=True):
        turned += column[:, None] * weights
    return turned
