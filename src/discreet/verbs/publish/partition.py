"""Points in classes, each with the labels its members share, compiled. Import this where it is needed only."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from discreet.core.compiled import njit
from discreet.verbs.publish.clustering_cost import Points
from discreet.verbs.publish.nearest_neighbours import Array, Whole

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
    """What each row of a class loses."""
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
def fresh(parts: Partition) -> Whole:
    """The number of an empty class; -1 if there is none left."""
    if parts.spare[-1] == 0:
        return -1
    parts.spare[-1] -= 1
    return parts.spare[parts.spare[-1]]


@njit(cache=True, inline="always")
def joined(points: Points, box: Box, point: Whole, bound: Whole) -> Whole:
    """What a row loses by the labels of a box with one point more; at least ``bound``, if it is not less."""
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
def without(parts: Partition, number: Whole, point: Whole, column: Whole) -> tuple[Whole, Whole]:
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
            level, cost = without(parts, number, -1, column)
            parts.level[number, column] = level
            parts.cost[number] += cost
