"""Points in a k-d tree which they leave one by one, compiled. Import this where it is needed only.

Every answer is exact and the same as a scan of all points would give, ties included: distances add up column by column
in one order, of equal ones the point with the lowest number counts, and a box is passed over only if its bound, which
rounds as the distances do, is worse than the worst that would be kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]

LEAF = 32
"""So many points are in a leaf at most: what one scan compares."""
LOW, HIGH = 0, 1
SUM, MIDDLE = 0, 1
NUMBER, SLOT = 0, 1
_DEEP = 128


class Tree(NamedTuple):
    """Node 0 is the root; the children of node i are 2i + 1 and 2i + 2; the last half of the nodes are the leaves."""

    box: Array
    """Shape (nodes, 2, columns): the lowest and the highest values of each node; the other way round if it is empty."""
    reach: Array
    """For each node a squared distance from the middle; none of its points is farther away."""
    left: Array
    """How many points are left in each node."""
    cells: Array
    """Shape (leaves, columns, LEAF): the values of the points of each leaf."""
    ids: Array
    """Shape (leaves, LEAF): which points these are."""
    home: Array
    """Shape (points, 2): for each point its leaf and its slot there. The leaf is ``~leaf``, which is negative, once it
    has left."""
    whole: Array
    """Shape (2, columns): the sum of the points that are left, and where their middle was at first."""


@njit(cache=True)
def plant(points: Array, members: Array) -> Tree:
    """A tree of some of the points, split at the median of the widest column."""
    columns = points.shape[1]
    leaves = 1
    while leaves * LEAF < len(members):
        leaves *= 2
    nodes = 2 * leaves - 1
    tree = Tree(
        np.empty((nodes, 2, columns)),
        np.zeros(nodes),
        np.zeros(nodes, np.int64),
        np.zeros((leaves, columns, LEAF)),
        np.zeros((leaves, LEAF), np.int64),
        np.full((len(points), 2), -1, np.int64),
        np.zeros((2, columns)),
    )
    for point in members:
        for column in range(columns):
            tree.whole[SUM, column] += points[point, column]
    for column in range(columns):
        tree.whole[MIDDLE, column] = tree.whole[SUM, column] / max(len(members), 1)
    order, starts = members.copy(), np.zeros(nodes, np.int64)
    tree.left[0] = len(members)
    for node in range(nodes):
        first, end = starts[node], starts[node] + tree.left[node]
        widest, width = 0, -1.0
        for column in range(columns):
            low, high = np.inf, -np.inf
            for place in range(first, end):
                low, high = min(low, points[order[place], column]), max(high, points[order[place], column])
            tree.box[node, LOW, column], tree.box[node, HIGH, column] = low, high
            if high - low > width:
                widest, width = column, high - low
        if node < leaves - 1:
            half = (first + end) // 2
            select(points[:, widest], order, first, end - 1, half)
            starts[2 * node + 1], tree.left[2 * node + 1] = first, half - first
            starts[2 * node + 2], tree.left[2 * node + 2] = half, end - half
        else:
            for place in range(first, end):
                _put(tree, points, order[place], node - leaves + 1, place - first)
                tree.reach[node] = max(tree.reach[node], apart(points[order[place]], tree.whole[MIDDLE]))
    for node in range(leaves - 2, -1, -1):
        tree.reach[node] = max(tree.reach[2 * node + 1], tree.reach[2 * node + 2])
    return tree


@njit(cache=True)
def remove(tree: Tree, points: Array, point: int) -> None:
    """Take a point out, and draw the boxes around what is left."""
    number, columns = tree.home[point, NUMBER], points.shape[1]
    node = number + len(tree.ids) - 1
    last = tree.left[node] - 1
    _put(tree, points, tree.ids[number, last], number, tree.home[point, SLOT])
    tree.home[point, NUMBER] = ~number
    tree.left[node] = last
    inside = apart(points[point], tree.whole[MIDDLE]) < tree.reach[node]
    for column in range(columns):
        value = points[point, column]
        tree.whole[SUM, column] -= value
        inside &= tree.box[node, LOW, column] < value < tree.box[node, HIGH, column]
    if not inside:
        tree.reach[node] = 0.0
        for place in range(last):
            far = apart(points[tree.ids[number, place]], tree.whole[MIDDLE])
            tree.reach[node] = max(tree.reach[node], far)
        for column in range(columns):
            low, high = np.inf, -np.inf
            for place in range(last):
                value = tree.cells[number, column, place]
                low, high = min(low, value), max(high, value)
            tree.box[node, LOW, column], tree.box[node, HIGH, column] = low, high
    while node > 0:
        node = (node - 1) // 2
        tree.left[node] -= 1
        if not inside:
            one, two = 2 * node + 1, 2 * node + 2
            reach = max(tree.reach[one], tree.reach[two])
            inside = reach == tree.reach[node]
            tree.reach[node] = reach
            for column in range(columns):
                low = min(tree.box[one, LOW, column], tree.box[two, LOW, column])
                high = max(tree.box[one, HIGH, column], tree.box[two, HIGH, column])
                inside &= low == tree.box[node, LOW, column] and high == tree.box[node, HIGH, column]
                tree.box[node, LOW, column], tree.box[node, HIGH, column] = low, high


@njit(cache=True)
def restore(tree: Tree, points: Array, point: int) -> None:
    """Put a point back that was taken out."""
    number = ~tree.home[point, NUMBER]
    node = number + len(tree.ids) - 1
    _put(tree, points, point, number, tree.left[node])
    far = apart(points[point], tree.whole[MIDDLE])
    for column in range(points.shape[1]):
        tree.whole[SUM, column] += points[point, column]
    while True:
        tree.left[node] += 1
        tree.reach[node] = max(tree.reach[node], far)
        for column in range(points.shape[1]):
            tree.box[node, LOW, column] = min(tree.box[node, LOW, column], points[point, column])
            tree.box[node, HIGH, column] = max(tree.box[node, HIGH, column], points[point, column])
        if node == 0:
            return
        node = (node - 1) // 2


@njit(cache=True)
def farthest(tree: Tree, at: Array, best: float, found: int) -> int:
    """The point farthest from ``at``; -1 if none is left. ``found`` is one known to be far, as ``best`` says, or -1."""
    leaves = len(tree.ids)
    todo, bounds, costs = np.empty(_DEEP, np.int64), np.empty(_DEEP), np.empty(LEAF)
    todo[0], bounds[0], depth = 0, np.inf, 1
    while depth:
        depth -= 1
        node = todo[depth]
        if bounds[depth] < best or tree.left[node] == 0:
            continue
        if node < leaves - 1:
            one, two = 2 * node + 1, 2 * node + 2
            far, near = _outer(tree, one, at), _outer(tree, two, at)
            if far < near:
                one, two, far, near = two, one, near, far
            todo[depth], bounds[depth] = two, near
            todo[depth + 1], bounds[depth + 1] = one, far
            depth += 2
            continue
        number = node - leaves + 1
        _distances(tree.cells, number, at, costs)
        for place in range(tree.left[node]):
            if costs[place] >= best:
                point = tree.ids[number, place]
                if costs[place] > best or point < found:
                    best, found = costs[place], point
    return found


@njit(cache=True)
def nearest(  # noqa: PLR0917  # Numba takes arguments by position
    tree: Tree, at: Array, found: Array, costs: Array, wanted: Array, codes: Array
) -> int:
    """Fill ``found`` with the points nearest to ``at``, nearest first, and ``costs`` with their squared distances; how
    many there were. Unless ``wanted`` is empty, only points with ``wanted[codes[point]]`` count."""
    leaves, most, have = len(tree.ids), len(found), 0
    worst = np.inf if most else -1.0
    todo, bounds, here = np.empty(_DEEP, np.int64), np.empty(_DEEP), np.empty(LEAF)
    todo[0], bounds[0], depth = 0, 0.0, 1
    while depth:
        depth -= 1
        node = todo[depth]
        if bounds[depth] > worst or tree.left[node] == 0:
            continue
        if node < leaves - 1:
            one, two = 2 * node + 1, 2 * node + 2
            near, far = _inner(tree, one, at), _inner(tree, two, at)
            if far < near:
                one, two, near, far = two, one, far, near
            todo[depth], bounds[depth] = two, far
            todo[depth + 1], bounds[depth + 1] = one, near
            depth += 2
            continue
        number = node - leaves + 1
        _distances(tree.cells, number, at, here)
        for place in range(tree.left[node]):
            cost, point = here[place], tree.ids[number, place]
            if cost > worst or (cost == worst and have == most and point > found[most - 1]):
                continue
            if len(wanted) and not wanted[codes[point]]:
                continue
            rank = min(have, most - 1)
            have = min(have + 1, most)
            while rank > 0 and (costs[rank - 1] > cost or (costs[rank - 1] == cost and found[rank - 1] > point)):
                costs[rank], found[rank] = costs[rank - 1], found[rank - 1]
                rank -= 1
            costs[rank], found[rank] = cost, point
            if have == most:
                worst = costs[most - 1]
    return have


@njit(cache=True)
def apart(one: Array, two: Array) -> float:
    """The squared distance, added up column by column."""
    total = 0.0
    for column in range(len(one)):
        gap = one[column] - two[column]
        total += gap * gap
    return total


@njit(cache=True)
def select(values: Array, order: Array, first: int, last: int, wanted: int) -> None:
    """Rearrange ``order[first..last]`` so that no value before place ``wanted`` is larger than one from there on."""
    while first < last:
        pivot = values[order[(first + last) // 2]]
        left, right = first, last
        while left <= right:
            while values[order[left]] < pivot:
                left += 1
            while values[order[right]] > pivot:
                right -= 1
            if left <= right:
                order[left], order[right] = order[right], order[left]
                left += 1
                right -= 1
        if wanted <= right:
            last = right
        elif wanted >= left:
            first = left
        else:
            return


@njit(cache=True)
def _put(tree: Tree, points: Array, point: int, number: int, slot: int) -> None:
    tree.ids[number, slot] = point
    tree.home[point, NUMBER], tree.home[point, SLOT] = number, slot
    for column in range(points.shape[1]):
        tree.cells[number, column, slot] = points[point, column]


@njit(cache=True)
def _distances(cells: Array, number: int, at: Array, out: Array) -> None:
    """The squared distance of every point of a leaf, column by column, so that the machine takes several at once."""
    for place in range(LEAF):
        out[place] = 0.0
    for column in range(len(at)):
        value = at[column]
        for place in range(LEAF):
            gap = cells[number, column, place] - value
            out[place] += gap * gap


@njit(cache=True)
def _inner(tree: Tree, node: int, at: Array) -> float:
    """No point of the node is nearer than this."""
    total = 0.0
    for column in range(len(at)):
        gap = max(tree.box[node, LOW, column] - at[column], at[column] - tree.box[node, HIGH, column], 0.0)
        total += gap * gap
    return total


@njit(cache=True)
def _outer(tree: Tree, node: int, at: Array) -> float:
    """No point of the node is farther than this: the farthest corner of its box, or what the law of cosines leaves of
    it, seen from the middle (with room for rounding, since that adds up in another way)."""
    corner, own, along = 0.0, 0.0, 0.0
    for column in range(len(at)):
        low, high, middle = tree.box[node, LOW, column], tree.box[node, HIGH, column], tree.whole[MIDDLE, column]
        gap, way = max(at[column] - low, high - at[column]), at[column] - middle
        corner += gap * gap
        own += way * way
        along += min((low - middle) * way, (high - middle) * way)
    sizes = tree.reach[node] + own
    return float(min(corner, sizes - 2.0 * along + 1e-12 * (sizes + abs(along))))
