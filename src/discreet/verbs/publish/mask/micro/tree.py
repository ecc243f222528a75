"""A k-d tree whose points are removed one by one (Numba). Import this where it is needed only.

Every answer is exact and the same as a scan of all points would give, ties included: distances add up column by column
in one order, of equal ones the point with the lowest number counts, and a box is passed over only if its bound, which
rounds as the distances do, is worse than the worst that would be kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit

Array = npt.NDArray[Any]

LEAF = 32
"""Largest number of points in a leaf: what one scan compares."""
FAN = 8
"""Number of children of a node: what one scan of boxes compares."""
LOW, HIGH = 0, 1
SUM, MIDDLE = 0, 1
NUMBER, SLOT = 0, 1
_DEEP = 256


class Tree(NamedTuple):
    """Node 0 is the root; the children of node i are 8i + 1 to 8i + 8; the leaves follow the inner nodes."""

    box: Array
    """Shape (inner nodes, 2, columns, FAN): the lowest and the highest values of each child; the other way round if it
    is empty."""
    reach: Array
    """Shape (inner nodes, FAN): for each child a squared distance from the middle; none of its points is farther."""
    left: Array
    """Number of points left in each node; there may be fewer leaves than numbers of them."""
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
    """A tree of some of the points, halved at the median of the widest column."""
    columns = points.shape[1]
    leaves, inner, fan = 1, 1, 1
    while leaves * LEAF < len(members):
        leaves *= 2
        fan *= 2
        if fan > FAN:
            inner, fan = FAN * inner + 1, 2
    tree = Tree(
        np.empty((inner, 2, columns, FAN)),
        np.zeros((inner, FAN)),
        np.zeros(FAN * inner + 1, np.int64),
        np.zeros((leaves, columns, LEAF)),
        np.zeros((leaves, LEAF), np.int64),
        np.full((len(points), 2), -1, np.int64),
        np.zeros((2, columns)),
    )
    tree.box[:, LOW], tree.box[:, HIGH] = np.inf, -np.inf
    for point in members:
        for column in range(columns):
            tree.whole[SUM, column] += points[point, column]
    for column in range(columns):
        tree.whole[MIDDLE, column] = tree.whole[SUM, column] / max(len(members), 1)
    order, ends = members.copy(), np.zeros(FAN * inner + 1, np.int64)
    tree.left[0] = ends[0] = len(members)
    for node in range(inner):
        _split(points, order, tree.left, ends, node, fan if node == 0 else FAN)
    for number in range(leaves):
        node = inner + number
        for slot in range(tree.left[node]):
            _put(tree, points, order[ends[node] - tree.left[node] + slot], number, slot)
        _draw_leaf(tree, points, number)
    for node in range(inner - 1, 0, -1):
        _draw(tree, node)
    return tree


@njit(cache=True)
def remove(tree: Tree, points: Array, point: int) -> None:
    """Take a point out, and draw the boxes around what is left."""
    number = tree.home[point, NUMBER]
    node = number + len(tree.box)
    above, slot = _above(node)
    last = tree.left[node] - 1
    _put(tree, points, tree.ids[number, last], number, tree.home[point, SLOT])
    tree.home[point, NUMBER] = ~number
    tree.left[node] = last
    inside = squared_distance(points[point], tree.whole[MIDDLE]) < tree.reach[above, slot]
    for column in range(points.shape[1]):
        value = points[point, column]
        tree.whole[SUM, column] -= value
        inside &= tree.box[above, LOW, column, slot] < value < tree.box[above, HIGH, column, slot]
    if not inside:
        _draw_leaf(tree, points, number)
    while node > 0:
        node, _ = _above(node)
        tree.left[node] -= 1
        if node > 0 and not inside:
            inside = _draw(tree, node)


@njit(cache=True)
def restore(tree: Tree, points: Array, point: int) -> None:
    """Put a point back that was taken out."""
    number = ~tree.home[point, NUMBER]
    node = number + len(tree.box)
    _put(tree, points, point, number, tree.left[node])
    far = squared_distance(points[point], tree.whole[MIDDLE])
    for column in range(points.shape[1]):
        tree.whole[SUM, column] += points[point, column]
    while node > 0:
        tree.left[node] += 1
        node, slot = _above(node)
        tree.reach[node, slot] = max(tree.reach[node, slot], far)
        for column in range(points.shape[1]):
            value = points[point, column]
            tree.box[node, LOW, column, slot] = min(tree.box[node, LOW, column, slot], value)
            tree.box[node, HIGH, column, slot] = max(tree.box[node, HIGH, column, slot], value)
    tree.left[0] += 1


@njit(cache=True)
def farthest(tree: Tree, at: Array, best: float, found: int) -> int:
    """The point farthest from ``at``; -1 if none is left. ``found`` is one known to be far, as ``best`` says, or -1."""
    inner, own = len(tree.box), squared_distance(at, tree.whole[MIDDLE])
    todo, bounds, costs, along = np.empty(_DEEP, np.int64), np.empty(_DEEP), np.empty(LEAF), np.empty(FAN)
    todo[0], bounds[0], depth = 0, -np.inf, 1
    while depth:
        depth -= 1
        node = todo[depth]
        if -bounds[depth] < best:
            continue
        if node < inner:
            _outer(tree, node, at, own, costs, along)
            depth = _push(tree, node, costs, -best, todo, bounds, depth)
            continue
        number = node - inner
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
    inner, most, have = len(tree.box), len(found), 0
    worst = np.inf if most else -1.0
    todo, bounds, here = np.empty(_DEEP, np.int64), np.empty(_DEEP), np.empty(LEAF)
    todo[0], bounds[0], depth = 0, 0.0, 1
    while depth:
        depth -= 1
        node = todo[depth]
        if bounds[depth] > worst:
            continue
        if node < inner:
            _inner(tree, node, at, here)
            depth = _push(tree, node, here, worst, todo, bounds, depth)
            continue
        number = node - inner
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
def squared_distance(one: Array, two: Array) -> float:
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
    slots = cells.shape[2]  # no constant: the loops would be unrolled instead
    for place in range(slots):
        out[place] = 0.0
    for column in range(len(at)):
        value = at[column]
        for place in range(slots):
            gap = cells[number, column, place] - value
            out[place] += gap * gap


@njit(cache=True)
def _split(  # noqa: PLR0917
    points: Array, order: Array, left: Array, ends: Array, node: int, parts: int
) -> None:
    """Divide the points of a node among its first ``parts`` children."""
    edges = np.empty(FAN + 1, np.int64)
    edges[0], edges[parts] = ends[node] - left[node], ends[node]
    step = parts
    while step > 1:
        for at in range(0, parts, step):
            first, end = edges[at], edges[at + step]
            half = (first + end) // 2
            widest, width = 0, -1.0
            for column in range(points.shape[1]):
                low, high = np.inf, -np.inf
                for place in range(first, end):
                    low, high = min(low, points[order[place], column]), max(high, points[order[place], column])
                if high - low > width:
                    widest, width = column, high - low
            select(points[:, widest], order, first, end - 1, half)
            edges[at + step // 2] = half
        step //= 2
    for part in range(parts):
        left[FAN * node + 1 + part] = edges[part + 1] - edges[part]
        ends[FAN * node + 1 + part] = edges[part + 1]


@njit(cache=True)
def _above(node: int) -> tuple[int, int]:
    """The parent of a node, and its slot there."""
    return (node - 1) // FAN, (node - 1) % FAN


@njit(cache=True)
def _draw_leaf(tree: Tree, points: Array, number: int) -> None:
    """Draw the box of a leaf around its points."""
    node = number + len(tree.box)
    above, slot = _above(node)
    tree.reach[above, slot] = 0.0
    for place in range(tree.left[node]):
        far = squared_distance(points[tree.ids[number, place]], tree.whole[MIDDLE])
        tree.reach[above, slot] = max(tree.reach[above, slot], far)
    for column in range(points.shape[1]):
        low, high = np.inf, -np.inf
        for place in range(tree.left[node]):
            value = tree.cells[number, column, place]
            low, high = min(low, value), max(high, value)
        tree.box[above, LOW, column, slot], tree.box[above, HIGH, column, slot] = low, high


@njit(cache=True)
def _draw(tree: Tree, node: int) -> bool:
    """Draw the box of an inner node around those of its children; whether it is the same as before."""
    above, slot = _above(node)
    reach = 0.0
    for child in range(FAN):
        reach = max(reach, tree.reach[node, child])
    same = reach == tree.reach[above, slot]
    tree.reach[above, slot] = reach
    for column in range(tree.box.shape[2]):
        low, high = np.inf, -np.inf
        for child in range(FAN):
            low = min(low, tree.box[node, LOW, column, child])
            high = max(high, tree.box[node, HIGH, column, child])
        same &= low == tree.box[above, LOW, column, slot] and high == tree.box[above, HIGH, column, slot]
        tree.box[above, LOW, column, slot], tree.box[above, HIGH, column, slot] = low, high
    return bool(same)


@njit(cache=True)
def _push(  # noqa: PLR0917
    tree: Tree, node: int, costs: Array, worst: float, todo: Array, bounds: Array, depth: int
) -> int:
    """Put the children of a node that may hold what is sought on the stack, the most promising on top; its depth."""
    bottom = depth
    for child in range(FAN):
        cost = costs[child]
        if cost <= worst and tree.left[FAN * node + 1 + child]:
            at = depth
            while at > bottom and bounds[at - 1] < cost:
                todo[at], bounds[at] = todo[at - 1], bounds[at - 1]
                at -= 1
            todo[at], bounds[at] = FAN * node + 1 + child, cost
            depth += 1
    return depth


@njit(cache=True)
def _inner(tree: Tree, node: int, at: Array, out: Array) -> None:
    """For each child: no point of it is nearer than this."""
    children = tree.reach.shape[1]
    for child in range(children):
        out[child] = 0.0
    for column in range(len(at)):
        value = at[column]
        for child in range(children):
            gap = max(tree.box[node, LOW, column, child] - value, value - tree.box[node, HIGH, column, child])
            gap = max(gap, 0.0)
            out[child] += gap * gap


@njit(cache=True)
def _outer(  # noqa: PLR0917
    tree: Tree, node: int, at: Array, own: float, out: Array, along: Array
) -> None:
    """For each child, less than zero: no point of it is farther than this. That is the farthest corner of its box, or
    what the law of cosines leaves of it, seen from the middle, ``own`` away from ``at`` (with room for rounding, since
    that adds up in another way)."""
    children = tree.reach.shape[1]
    for child in range(children):
        out[child] = along[child] = 0.0
    for column in range(len(at)):
        value, middle = at[column], tree.whole[MIDDLE, column]
        way = value - middle
        for child in range(children):
            low, high = tree.box[node, LOW, column, child], tree.box[node, HIGH, column, child]
            gap = max(value - low, high - value)
            out[child] += gap * gap
            along[child] += min((low - middle) * way, (high - middle) * way)
    for child in range(children):
        sizes = tree.reach[node, child] + own
        out[child] = -min(out[child], sizes - 2.0 * along[child] + 1e-12 * (sizes + abs(along[child])))
