"""Groups of k records that lie together: MDAV, V-MDAV, CBFS, and the best groups of one column (Numba).

The first three take a record at the edge of what is left and group it with those nearest to it: MDAV (Domingo-Ferrer
and Mateo-Sanz 2002, Domingo-Ferrer and Torra 2005) at two opposite ends at a time, CBFS (Laszlo and Mukherjee 2005) at
one end, V-MDAV (Solanas and Martínez-Ballesté 2006) with groups that grow up to 2k - 1 where a neighbour is close.

With a rule a group takes, after its k, the nearest records that bring it closer to being diverse enough, and then gives
back the farthest of the k that it can spare.

One column is grouped optimally (Hansen and Mukherjee 2003): in the best grouping groups are runs of the sorted values,
of k to 2k - 1 each, so the best is a shortest path over the places where a run may end. Which start is best for an end
never moves back as the end moves on, since the cost of a run obeys the quadrangle inequality; so the ends are done in
blocks of k, whose starts are all known before, and in a block by bisection: k log k steps for k ends, n log k in all.
Sums are taken anew in each block, from its own first value: over the whole column they would drown small differences.

Import this where it is needed only: compiling takes a moment.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit
from discreet.verbs.publish.mask.micro.diverse import ANY, Rule, helps, satisfied, tally
from discreet.verbs.publish.mask.micro.tree import (
    LEAF,
    NUMBER,
    SUM,
    Tree,
    farthest,
    nearest,
    plant,
    remove,
    restore,
    select,
    squared_distance,
)

Array = npt.NDArray[Any]

Whole: TypeAlias = Any
"""A whole number, Python's or NumPy's."""

LEFT = -1
"""The group of a record that found none."""
NOBODY: Whole = np.int64(-1)  # no literal: Numba would compile everything twice
_EDGE = 512
"""Number of outermost records watched at a time."""


class Edge(NamedTuple):
    """The outermost records seen from ``centre``; no one else lies farther from it than ``limit``."""

    centre: Array
    who: Array
    limit: float


@njit(cache=True)
def mdav(points: Array, k: int, both: bool, codes: Array, rule: Rule) -> tuple[Array, Whole]:
    """MDAV, or CBFS unless ``both``. The group of each record, and how many there are.

    ``LEFT`` are only records whose groups would not be diverse enough, or all if they are fewer than k.
    """
    of, groups, room = np.full(len(points), LEFT), NOBODY + 1, np.empty(len(points), np.int64)
    tree = plant(points, np.arange(len(points)))
    edge = _edge(points, tree)
    while tree.left[0] >= 2 * k:
        tree = _replant_if_sparse(points, tree)
        twice = both and tree.left[0] >= 3 * k
        edge, one = _outermost(points, tree, edge)
        remove(tree, points, one)
        two = one
        if twice:
            guess, far = _farthest_of_edge(points, tree, edge, points[one])
            two = farthest(tree, points[one], far, guess)
            remove(tree, points, two)
        groups += _form(points, tree, of, groups, one, k, room, codes, rule) > 0
        if twice:
            groups += _form(points, tree, of, groups, two, k, room, codes, rule) > 0
    rest = _rest(tree)
    if len(rest) >= k and satisfied(tally(rest, codes, rule), rule):
        for point in rest:
            of[point] = groups
        groups += 1
    return of, groups


@njit(cache=True)
def v_mdav(  # noqa: PLR0917  # Numba takes arguments by position
    points: Array, order: Array, k: int, gamma: float, codes: Array, rule: Rule
) -> tuple[Array, Whole]:
    """V-MDAV. A group takes one more if that is nearer to one of its members than ``gamma`` times to anyone who is
    left; ``order``: the records by their distance from the centre, the farthest first.

    The group of each record, or ``LEFT`` of the last ones, fewer than k; how many groups there are.
    """
    of, groups, room = np.full(len(points), LEFT), NOBODY + 1, np.empty(len(points), np.int64)
    tree = plant(points, np.arange(len(points)))
    for one in order:
        if tree.left[0] < k:
            break
        if tree.home[one, NUMBER] >= 0:
            tree = _replant_if_sparse(points, tree)
            remove(tree, points, one)
            size = _form(points, tree, of, groups, one, k, room, codes, rule)
            if size:
                _extend(points, tree, of, room[: max(size, 2 * k - 1)], size, gamma, codes, rule)
                groups += 1
    return of, groups


@njit(cache=True)
def nearest_points(points: Array, places: Array, count: int) -> Array:
    """For each of some places the ``count`` points nearest to it, nearest first; -1 where there are no more."""
    tree = plant(points, np.arange(len(points)))
    found, costs = np.full((len(places), count), -1), np.empty(count)
    for place in range(len(places)):
        nearest(tree, places[place], found[place], costs, np.zeros(0, np.bool_), found[0])
    return found


@njit(cache=True)
def _replant_if_sparse(points: Array, tree: Tree) -> Tree:
    """The tree, planted anew if fewer leaves are enough."""
    if len(tree.ids) > 1 and 2 * tree.left[0] <= len(tree.ids) * LEAF:
        return plant(points, _rest(tree))
    return tree


@njit(cache=True)
def _rest(tree: Tree) -> Array:
    """Records that are still in the tree."""
    found, have = np.empty(tree.left[0], np.int64), 0
    for point in range(len(tree.home)):
        if tree.home[point, NUMBER] >= 0:
            found[have] = point
            have += 1
    return found


@njit(cache=True)
def _form(  # noqa: PLR0917
    points: Array, tree: Tree, of: Array, group: Whole, seed: Whole, k: int, room: Array, codes: Array, rule: Rule
) -> int:
    """Group a record that was taken out with its nearest, k in all; ``room`` gets the members. How many there are; 0,
    if there is no such group: those who were tried stay out."""
    first = room[:k]
    first[0] = seed
    size = 1 + nearest(tree, points[seed], first[1:], np.empty(k), np.zeros(0, np.bool_), codes)
    for point in first[1:size]:
        remove(tree, points, point)
    if size < k:
        return 0
    if rule.kind != ANY:
        size = _diversify(points, tree, k, room, codes, rule)
    for point in room[:size]:
        of[point] = group
    return size


@njit(cache=True)
def _diversify(  # noqa: PLR0917
    points: Array, tree: Tree, k: int, room: Array, codes: Array, rule: Rule
) -> int:
    """Let a group of k, formed around the first of them, take others that make it diverse enough, and give back the
    farthest that it can spare. How many members there are; 0, if no one helps."""
    counts, size, one = tally(room[:k], codes, rule), k, np.empty(1)
    while not satisfied(counts, rule):
        if not nearest(tree, points[room[0]], room[size : size + 1], one, helps(counts, rule), codes):
            return 0
        remove(tree, points, room[size])
        counts[codes[room[size]]] += 1
        size += 1
    for at in range(k - 1, 0, -1):
        point = room[at]
        if size > k:
            counts[codes[point]] -= 1
            if satisfied(counts, rule):
                restore(tree, points, point)
                size -= 1
                room[at] = room[size]
            else:
                counts[codes[point]] += 1
    return size


@njit(cache=True)
def _extend(  # noqa: PLR0917
    points: Array, tree: Tree, of: Array, room: Array, size: int, gamma: float, codes: Array, rule: Rule
) -> None:
    """Let a new group take neighbours, as far as there is ``room``, that are much nearer to it than to the rest."""
    group, counts, anybody = of[room[0]], tally(room[:size], codes, rule), np.zeros(0, np.bool_)
    beside, cost = np.full(len(room), -1), np.empty(len(room))
    pair, gaps = np.empty(2, np.int64), np.empty(2)
    while size < len(room) and tree.left[0] >= 2:
        close, chosen = np.inf, NOBODY
        for at in range(size):
            if beside[at] < 0 or tree.home[beside[at], NUMBER] < 0:
                nearest(tree, points[room[at]], beside[at : at + 1], cost[at : at + 1], anybody, codes)
            if cost[at] < close or (cost[at] == close and beside[at] < chosen):
                close, chosen = cost[at], beside[at]
        nearest(tree, points[chosen], pair, gaps, anybody, codes)
        other = gaps[1] if pair[0] == chosen else gaps[0]
        if rule.kind != ANY:
            counts[codes[chosen]] += 1
        if not close < gamma * gamma * other or not satisfied(counts, rule):
            return
        remove(tree, points, chosen)
        of[chosen] = group
        room[size] = chosen
        size += 1


@njit(cache=True)
def _edge(points: Array, tree: Tree) -> Edge:
    """The outermost records, seen from the centre of what is left."""
    centre, rest = tree.whole[SUM] / max(tree.left[0], 1), _rest(tree)
    place = len(rest) - _EDGE
    if place <= 0:
        return Edge(centre, rest, -1.0)
    column, order = np.empty((len(points), 1)), rest.copy()
    away = column[:, 0]  # as columns of points come: Numba would compile for another layout
    for point in rest:
        away[point] = squared_distance(points[point], centre)
    select(away, order, 0, len(rest) - 1, place)
    limit = away[order[place]]
    return Edge(centre, rest[away[rest] >= limit], np.sqrt(limit))


@njit(cache=True)
def _outermost(points: Array, tree: Tree, edge: Edge) -> tuple[Edge, int]:
    """The edge, recomputed if need be, and the record farthest from the centre of what is left.

    By the triangle inequality no one beyond the edge is farther from the centre than its limit and the way that the
    centre has gone since; as long as someone on it is, no one else need be looked at.
    """
    centre = tree.whole[SUM] / tree.left[0]
    found, best = _farthest_of_edge(points, tree, edge, centre)
    if best < 0 or np.sqrt(best) * (1 - 1e-12) <= edge.limit + np.sqrt(squared_distance(centre, edge.centre)):
        edge = _edge(points, tree)
        found, best = _farthest_of_edge(points, tree, edge, centre)
    return edge, found


@njit(cache=True)
def _farthest_of_edge(points: Array, tree: Tree, edge: Edge, at: Array) -> tuple[int, float]:
    """The remaining record of the edge farthest from ``at``, and its squared distance; -1 if none remains."""
    found, best = -1, -1.0
    for point in edge.who:
        if tree.home[point, NUMBER] >= 0:
            far = squared_distance(points[point], at)
            if far > best:
                found, best = point, far
    return found, best


def optimal(values: Array, k: int) -> Array:
    """For each value its group, from 0 in the order of the values; at least ``k`` values, finite."""
    order = np.argsort(values, kind="stable")
    of = np.empty(len(values), np.int64)
    of[order] = _number_runs(_starts(values[order], k))
    return of


@njit(cache=True)
def _starts(values: Array, k: int) -> Array:
    """For each end from k on where its last run starts; ends are exclusive."""
    count = len(values)
    cost, start = np.full(count + 1, np.inf), np.zeros(count + 1, np.int64)
    cost[0] = 0.0
    sums, squares = np.zeros(3 * k + 1), np.zeros(3 * k + 1)
    for first in range(k, count + 1, k):
        base, last = max(first - 2 * k + 1, 0), min(first + k, count + 1) - 1
        for place in range(base, last):
            value = values[place] - values[base]
            sums[place - base + 1] = sums[place - base] + value
            squares[place - base + 1] = squares[place - base] + value * value
        stride = 1
        while stride <= last - first:
            stride *= 2
        while stride > 0:
            for end in range(first + stride - 1, last + 1, 2 * stride):
                low = start[end - stride] if end - stride >= first else base
                high = start[end + stride] if end + stride <= last else end - k
                for one in range(max(low, end - 2 * k + 1), min(high, end - k) + 1):
                    part = sums[end - base] - sums[one - base]
                    total = cost[one] + squares[end - base] - squares[one - base] - part * part / (end - one)
                    if total < cost[end]:
                        cost[end], start[end] = total, one
            stride //= 2
    return start


@njit(cache=True)
def _number_runs(start: Array) -> Array:
    """The run of each place, numbered from the first."""
    of, end, groups = np.empty(len(start) - 1, np.int64), len(start) - 1, 0
    while end > 0:
        groups += 1
        for place in range(start[end], end):
            of[place] = -groups
        end = start[end]
    for place in range(len(of)):
        of[place] += groups
    return of
