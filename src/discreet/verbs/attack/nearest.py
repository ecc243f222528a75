"""The nearest of many points, exactly, by a k-d tree. Import this where it is needed only: compiling takes a moment.

A point has coordinates, whose squared differences count, and codes, which cost their weight where they differ. The tree
bounds the coordinates only. All sums run in the same order, so that rounding is monotone: a box is never
judged farther than a point in it, and equal points are equally far to the last bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit

Array = npt.NDArray[Any]
Number: TypeAlias = Any
"""A number, Python's or NumPy's: compiled code does not tell them apart."""

LEAF = 16


class Points(NamedTuple):
    """Points, and what it costs that a code differs."""

    places: Array
    codes: Array
    costs: Array


class _Tree(NamedTuple):
    """A full binary tree in heap order; a node is the span ``starts`` to ``ends`` of the points, and their box."""

    starts: Array
    ends: Array
    low: Array
    high: Array


def nearest(people: Points, rows: Points, truth: Array) -> tuple[Array, Array, Array]:
    """Of each of ``people``: a nearest row, how many rows are equally near, and whether the true one is among them."""
    order, tree = _plant(rows.places)
    sorted_rows = Points(np.ascontiguousarray(rows.places[order]), np.ascontiguousarray(rows.codes[order]), rows.costs)
    asked = Points(np.ascontiguousarray(people.places), np.ascontiguousarray(people.codes), people.costs)
    place_of = np.empty(len(order), np.int64)
    place_of[order] = np.arange(len(order))
    where = np.where(truth >= 0, place_of[truth], -1)
    best, ties, found = _search(asked, sorted_rows, tree, where)
    return order[best], ties, found


def _plant(places: Array) -> tuple[Array, _Tree]:
    count, columns = places.shape
    depth = max(int(np.ceil(np.log2(max(count, 1) / LEAF))), 0) if columns else 0
    nodes = (1 << (depth + 1)) - 1
    order = np.arange(count)
    starts, ends = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    low, high = np.zeros((nodes, columns)), np.zeros((nodes, columns))
    ends[0] = count
    for node in range(nodes):
        start, end = int(starts[node]), int(ends[node])
        inside = places[order[start:end]]
        low[node], high[node] = inside.min(axis=0), inside.max(axis=0)
        if 2 * node + 2 < nodes:
            half = (end - start) // 2
            widest = int(np.argmax(high[node] - low[node]))
            order[start:end] = order[start:end][np.argpartition(inside[:, widest], half)]
            starts[2 * node + 1], ends[2 * node + 1] = start, start + half
            starts[2 * node + 2], ends[2 * node + 2] = start + half, end
    return order, _Tree(starts, ends, low, high)


@njit(cache=True)
def _search(people: Points, rows: Points, tree: _Tree, truth: Array) -> tuple[Array, Array, Array]:
    count = len(people.places)
    best, ties, found = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.bool_)
    nodes, bounds = np.zeros(128, np.int64), np.zeros(128)
    for one in range(count):
        least, tied, row = np.inf, 0, 0
        nodes[0], bounds[0], waiting = 0, 0.0, 1
        while waiting:
            waiting -= 1
            node = nodes[waiting]
            if bounds[waiting] > least:
                continue
            if 2 * node + 2 < len(tree.starts):
                left, right = (
                    _apart(people.places[one], tree, 2 * node + 1),
                    _apart(people.places[one], tree, 2 * node + 2),
                )
                near = 1 if left <= right else 2
                nodes[waiting], bounds[waiting] = 2 * node + 3 - near, max(left, right)
                nodes[waiting + 1], bounds[waiting + 1] = 2 * node + near, min(left, right)
                waiting += 2
                continue
            for other in range(tree.starts[node], tree.ends[node]):
                distance = _distance(people, one, rows, other, least)
                if distance < least:
                    least, tied, row = distance, 1, other
                elif distance == least:
                    tied += 1
        best[one], ties[one] = row, tied
        found[one] = truth[one] >= 0 and _distance(people, one, rows, truth[one], np.inf) == least
    return best, ties, found


@njit(cache=True, inline="always")
def _apart(place: Array, tree: _Tree, node: Number) -> Number:
    """How far a node's box is: at most as far as any point in it, rounding included."""
    total = 0.0
    for column in range(len(place)):
        short = max(tree.low[node, column] - place[column], place[column] - tree.high[node, column])
        if short > 0.0:
            total += short * short
    return total


@njit(cache=True, inline="always")
def _distance(people: Points, one: Number, rows: Points, other: Number, enough: Number) -> Number:
    """The squared distance; infinite, as soon as it is known to be more than ``enough``."""
    total = 0.0
    for column in range(people.places.shape[1]):
        difference = people.places[one, column] - rows.places[other, column]
        total += difference * difference
        if total > enough:
            return np.inf
    for column in range(people.codes.shape[1]):
        if people.codes[one, column] != rows.codes[other, column]:
            total += people.costs[column]
    return total if total <= enough else np.inf
