"""Distinct tuples as points, and what it costs to give several of them the same labels.

Each column is a tree: two values share the label of their lowest common ancestor. What a label loses is a whole
number, so that sums are exact and a search that only goes down must end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.verbs.publish.tuples import Tuples

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BUCKETS = 2048
"""So many groups of points at most: what is compared between groups is compared with all others."""


class Points(NamedTuple):
    """Tuples as compiled loops take them; columns are in an order of their own, those that differ most first."""

    codes: npt.NDArray[np.int32]
    """Shape (points, columns): the value of each."""
    weights: Integers
    """How many rows each point has."""
    labels: npt.NDArray[np.int32]
    """Shape (columns, levels, values): the number of the label. A column of fewer levels repeats its top."""
    costs: Integers
    """Shape (columns, levels, values): what a row loses by that label."""
    buckets: Integers
    """The bucket of each point. Points of different buckets share only the top label of some column."""
    keys: npt.NDArray[np.int32]
    """Shape (buckets, columns): what a bucket's points share; -1 in columns that buckets do not look at."""
    tops: Integers
    """For each column what a row loses by a label that points of buckets with different keys there share."""

    @property
    def full(self) -> int:
        """What a row loses that is suppressed: as much as one with top labels only."""
        return int(self.costs[:, -1, 0].sum()) if self.costs.size else 0


class Layout(NamedTuple):
    """Points, and how to get back from them."""

    points: Points
    columns: Integers
    """For each column of the points its place among those of the tuples."""
    scale: float
    """The cost of losing everything in a row."""


def layout(codes: npt.NDArray[np.int32], weights: Integers, labels: Sequence[Any], losses: Sequence[Floats]) -> Layout:
    """Points of ``codes`` (columns, tuples). For each column the labels and losses of its values, (levels, values).

    Losses are at least 0, do not fall from level to level, and add up to at most 1 over the top of all columns.
    """
    rows = int(weights.sum())
    scale = 1 << max(8, min(40, 60 - rows.bit_length()))
    order = np.argsort([-_expected(*three) for three in zip(codes, labels, losses, strict=True)], kind="stable")
    height = max((len(one) for one in labels), default=1)
    width = max((one.shape[1] for one in labels), default=1)
    padded = np.zeros((len(codes), height, max(width, 1)), dtype=np.int32)
    costs = np.zeros(padded.shape, dtype=np.int64)
    for place, column in enumerate(order):
        levels = np.minimum(np.arange(height), len(labels[column]) - 1)
        values = labels[column].shape[1]
        padded[place, :, :values] = labels[column][levels]
        costs[place, :, :values] = np.rint(losses[column][levels] * scale)
    points = np.ascontiguousarray(codes[order].T)
    buckets = _buckets(points, padded, costs)
    return Layout(Points(points, weights.astype(np.int64), padded, costs, *buckets), order, float(scale))


def by_hierarchy(tuples: Tuples, cells: Sequence[Floats]) -> Layout:
    """The tuples of a table with the labels of its hierarchies; ``cells``: what they lose, with 1 for all."""
    columns = max(len(tuples.names), 1)
    labels = [one.codes for one in tuples.levels]
    return layout(tuples.codes, tuples.counts, labels, [one / columns for one in cells])


def _expected(codes: Any, labels: Any, losses: Floats) -> float:
    """About what two random tuples lose in a column: those that lose most are looked at first."""
    if not len(codes):
        return 0.0
    same = [float(((np.bincount(level[codes]) / len(codes)) ** 2).sum()) for level in labels]
    return float(np.diff(same, prepend=same[0]) @ losses.mean(axis=1))


def _buckets(
    codes: npt.NDArray[np.int32], labels: npt.NDArray[np.int32], costs: Integers
) -> tuple[Integers, npt.NDArray[np.int32], Integers]:
    """Points by their coarsest labels that are not all the same, in as many columns as there is room for."""
    count, columns = codes.shape
    numbers = np.zeros(count, dtype=np.int64)
    coarse = np.full((count, columns), -1, dtype=np.int32)
    tops = np.zeros(columns, dtype=np.int64)
    for column in range(columns):
        met = labels[column][:, codes[:, column]]
        telling = np.flatnonzero((met != met[:, :1]).any(axis=1))
        if not len(telling):
            continue
        label = met[telling[-1]]
        finer = np.unique(numbers * (int(label.max()) + 1) + label, return_inverse=True)[1]
        if finer.max() < _BUCKETS:
            numbers, coarse[:, column] = finer.astype(np.int64), label
            tops[column] = costs[column, telling[-1] + 1, codes[0, column]]
    first = np.unique(numbers, return_index=True)[1]
    return numbers, np.ascontiguousarray(coarse[first]), tops
