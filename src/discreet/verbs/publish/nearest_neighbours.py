"""The nearest points of each point, compiled. Import this where it is needed only."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit
from discreet.verbs.publish.clustering_cost import Points

Array = npt.NDArray[Any]
Whole: TypeAlias = Any
"""A whole number, Python's or NumPy's: compiled code does not tell them apart."""

FAR: Whole = np.int64(1 << 62)
BLOCK = 32_768
"""In larger tables a point is compared with so many others around it, not with all."""


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
    than its top label is shared, so once so many of the cheapest tops cost as much as the worst neighbour, no other
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
                        cost = _together(points, one, two, bound)
                        if cost < bound:
                            rank = count - 1
                            while rank > 0 and costs[one, rank - 1] > cost:
                                costs[one, rank], found[one, rank] = costs[one, rank - 1], found[one, rank - 1]
                                rank -= 1
                            costs[one, rank], found[one, rank] = cost, two


@njit(cache=True, inline="always")
def _together(points: Points, one: Whole, two: Whole, bound: Whole) -> Whole:
    """What a row of either loses when both get the same labels; at least ``bound``, if it is not less."""
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
