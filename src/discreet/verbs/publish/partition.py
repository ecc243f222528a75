"""Points with the loss of their labels, their nearest neighbours, and classes of them (Numba).

Each column is a tree: two values share the label of their lowest common ancestor. What a label loses is a whole
number, so that sums are exact and a search that only goes down must end. Import this where it is needed only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit
from discreet.verbs.publish.tuples import Tuples

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BUCKETS = 2048
"""Largest number of buckets of points; each is compared with all others."""


class Points(NamedTuple):
    """Tuples as compiled loops take them; columns are in an order of their own, those that differ most first."""

    codes: npt.NDArray[np.int32]
    """Shape (points, columns): the value of each."""
    weights: Integers
    """Number of rows of each point."""
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
        """Loss of a suppressed row: as much as one with top labels only."""
        return int(self.costs[:, -1, 0].sum()) if self.costs.size else 0


class Layout(NamedTuple):
    """Points, and the unit of their costs."""

    points: Points
    scale: float
    """The cost of losing everything in a row."""


def layout(codes: npt.NDArray[np.int32], weights: Integers, labels: Sequence[Any], losses: Sequence[Floats]) -> Layout:
    """Points of ``codes`` (columns, tuples). For each column the labels and losses of its values, (levels, values).

    Losses are at least 0, do not fall from level to level, and add up to at most 1 over the top of all columns.
    """
    rows = int(weights.sum())
    scale = 1 << max(8, min(40, 60 - rows.bit_length()))
    order = np.argsort([-_expected_loss(*three) for three in zip(codes, labels, losses, strict=True)], kind="stable")
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
    return Layout(Points(points, weights.astype(np.int64), padded, costs, *buckets), float(scale))


def by_hierarchy(tuples: Tuples, cells: Sequence[Floats]) -> Layout:
    """The tuples of a table with the labels of its hierarchies; ``cells``: what they lose, with 1 for all."""
    columns = max(len(tuples.names), 1)
    labels = [one.codes for one in tuples.levels]
    return layout(tuples.codes, tuples.counts, labels, [one / columns for one in cells])


def _expected_loss(codes: Any, labels: Any, losses: Floats) -> float:
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


Array = npt.NDArray[Any]
Whole: TypeAlias = Any
"""A whole number, Python's or NumPy's: compiled code does not tell them apart."""

FAR: Whole = np.int64(1 << 62)
BLOCK = 32_768
"""Points that a point is compared with in larger tables."""


def nearest(points: Points, count: int) -> tuple[Array, Array]:
    """For each point the ``count`` points with which it loses least, nearest first (-1: there are no more), and what
    a row loses then.

    Exact for up to ``BLOCK`` points. Of more, those are compared whose coarse labels are next to each other.
    """
    order = np.argsort(points.buckets, kind="stable")
    sorted_buckets = points.buckets[order]
    found = np.full((len(order), count), -1, dtype=np.int32)
    costs = np.full((len(order), count), FAR, dtype=np.int64)
    blocks = -(-len(order) // BLOCK)
    for part in np.array_split(np.arange(len(order)), max(blocks, 1)):
        if len(part):
            numbers, starts = np.unique(sorted_buckets[part], return_index=True)
            ends = np.append(starts, len(part))
            _nearest(points, order[part], ends, numbers, (found, costs))
    return found, costs


@njit(cache=True)
def _nearest(points: Points, members: Array, starts: Array, numbers: Array, nearest: tuple[Array, Array]) -> None:
    """The nearest among ``members``, which lie bucket by bucket; ``numbers``: which buckets these are.

    Buckets are visited in the order of how many columns tell them from the point's own: in each of these nothing finer
    than its top label is shared, so once that many of the cheapest tops cost as much as the worst neighbour, no other
    bucket has a better one.
    """
    (found, costs), keys = nearest, points.keys[numbers]
    buckets, columns, count = len(keys), keys.shape[1], found.shape[1]
    top = FAR
    for column in range(columns):
        if keys[0, column] >= 0:
            top = min(top, points.tops[column])
    apart, order, ends = np.zeros(buckets, np.int64), np.zeros(buckets, np.int64), np.zeros(columns + 2, np.int64)
    for bucket in range(buckets):
        ends[:] = 0
        for other in range(buckets):
            differ: Whole = 0
            for column in range(columns):
                differ += keys[bucket, column] != keys[other, column]
            apart[other] = differ
            ends[differ + 1] += 1
        for differ in range(columns + 1):
            ends[differ + 1] += ends[differ]
        for other in range(buckets):
            order[ends[apart[other]]] = other
            ends[apart[other]] += 1
        for place in range(starts[bucket], starts[bucket + 1]):
            one = members[place]
            for next_ in order:
                if apart[next_] * top >= costs[one, count - 1]:
                    break
                for beside in range(starts[next_], starts[next_ + 1]):
                    two = members[beside]
                    if one != two:
                        bound = costs[one, count - 1]
                        cost = _pair_cost(points, one, two, bound)
                        if cost < bound:
                            rank = count - 1
                            while rank > 0 and costs[one, rank - 1] > cost:
                                costs[one, rank], found[one, rank] = costs[one, rank - 1], found[one, rank - 1]
                                rank -= 1
                            costs[one, rank], found[one, rank] = cost, two


@njit(cache=True, inline="always")
def _pair_cost(points: Points, one: Whole, two: Whole, bound: Whole) -> Whole:
    """Loss of a row of either when both get the same labels; at least ``bound``, if it is not less."""
    cost = np.int64(0)
    for column in range(points.codes.shape[1]):
        a, b = points.codes[one, column], points.codes[two, column]
        if a != b:
            level = 0
            while points.labels[column, level, a] != points.labels[column, level, b]:
                level += 1
            cost += points.costs[column, level, a]
            if cost >= bound:
                break
    return cost


GONE = 0
"""The class of what is suppressed."""

Box: TypeAlias = tuple[Array, Whole, Whole]
"""Labels that some points share: levels of several boxes (boxes, columns), which of them, and a point in it."""


class Partition(NamedTuple):
    """Which class each point is in, and of each class its members, rows, levels and loss."""

    points: Points
    of: Array
    """The class of each point; -1: none yet."""
    first: Array
    """A member of each class, with whose values its labels are looked up; -1: the class is empty."""
    after: Array
    """For each point the next member of its class; -1: it is the last."""
    before: Array
    rows: Array
    cost: Array
    """Loss of each row of a class."""
    level: Array
    """Shape (classes, columns): the level of each column at which all members have the same label."""
    spare: Array
    """Numbers of empty classes; the last entry is how many of them there are."""


def partition(points: Points, of: Array) -> Partition:
    """The classes that points form by the numbers they are given; -1: none. Class 0 is what is suppressed."""
    count, columns = points.codes.shape
    new = Partition(
        points,
        np.full(count, -1, np.int32),
        np.full(count + 1, -1, np.int32),
        np.full(count, -1, np.int32),
        np.full(count, -1, np.int32),
        np.zeros(count + 1, np.int64),
        np.zeros(count + 1, np.int64),
        np.zeros((count + 1, columns), np.int32),
        np.zeros(count + 2, np.int32),
    )
    new.cost[GONE] = points.full
    _fill(new, of)
    return new


@njit(cache=True)
def _fill(parts: Partition, of: Array) -> None:
    for point in range(len(of)):
        if of[point] >= 0:
            add(parts, of[point], point)
    free = 0
    for number in range(len(parts.first) - 1, 0, -1):
        if parts.first[number] < 0:
            parts.spare[free] = number
            free += 1
    parts.spare[-1] = free


@njit(cache=True)
def new_class(parts: Partition) -> Whole:
    """The number of an empty class; -1 if there is none left."""
    if parts.spare[-1] == 0:
        return -1
    parts.spare[-1] -= 1
    return parts.spare[parts.spare[-1]]


@njit(cache=True, inline="always")
def cost_with(points: Points, box: Box, point: Whole, bound: Whole) -> Whole:
    """Loss of a row by the labels of a box with one point more; at least ``bound``, if it is not less."""
    levels, number, member = box
    cost = np.int64(0)
    for column in range(points.codes.shape[1]):
        a, b, level = points.codes[member, column], points.codes[point, column], levels[number, column]
        while points.labels[column, level, a] != points.labels[column, level, b]:
            level += 1
        cost += points.costs[column, level, a]
        if cost >= bound:
            break
    return cost


@njit(cache=True, inline="always")
def widen(points: Points, box: Box, point: Whole) -> Whole:
    """Raise the levels of a box until a point has the same labels; what a row loses then."""
    levels, number, member = box
    cost = np.int64(0)
    for column in range(points.codes.shape[1]):
        a, b, level = points.codes[member, column], points.codes[point, column], levels[number, column]
        while points.labels[column, level, a] != points.labels[column, level, b]:
            level += 1
        levels[number, column] = level
        cost += points.costs[column, level, a]
    return cost


@njit(cache=True, inline="always")
def level_without(parts: Partition, number: Whole, point: Whole, column: Whole) -> tuple[Whole, Whole]:
    """The level at which all members but one share a label, and what a row loses by it. There are others."""
    points, member = parts.points, parts.first[number]
    if member == point:
        member = parts.after[member]
    a, level, top = points.codes[member, column], 0, parts.level[number, column]
    other = parts.after[member]
    while other >= 0 and level < top:
        if other != point:
            b = points.codes[other, column]
            while points.labels[column, level, a] != points.labels[column, level, b]:
                level += 1
        other = parts.after[other]
    return level, points.costs[column, level, a]


@njit(cache=True)
def add(parts: Partition, number: Whole, point: Whole) -> None:
    """Put a point that is in no class into one."""
    head = parts.first[number]
    parts.of[point] = number
    parts.rows[number] += parts.points.weights[point]
    parts.before[point], parts.after[point] = -1, head
    parts.first[number] = point
    if head >= 0:
        parts.before[head] = point
    if number == GONE:
        return
    if head < 0:
        parts.level[number, :] = 0
    parts.cost[number] = widen(parts.points, (parts.level, number, point if head < 0 else head), point)


@njit(cache=True)
def remove(parts: Partition, point: Whole) -> None:
    """Take a point out of its class, whose labels become as fine as they can."""
    number = parts.of[point]
    parts.of[point] = -1
    parts.rows[number] -= parts.points.weights[point]
    back, next_ = parts.before[point], parts.after[point]
    if back >= 0:
        parts.after[back] = next_
    else:
        parts.first[number] = next_
    if next_ >= 0:
        parts.before[next_] = back
    if number == GONE:
        return
    parts.cost[number] = 0
    if parts.first[number] >= 0:
        for column in range(parts.points.codes.shape[1]):
            level, cost = level_without(parts, number, -1, column)
            parts.level[number, column] = level
            parts.cost[number] += cost
