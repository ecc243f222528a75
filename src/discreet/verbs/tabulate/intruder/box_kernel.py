"""Search for a box (Numba). Import lazily: compilation takes a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit

if TYPE_CHECKING:
    from discreet.verbs.tabulate.intruder.boxes import Sides

Array = npt.NDArray[Any]

_CORNERS = 4096  # at most, of one box
_MOVES = 1000  # looked at along one side


@njit(cache=True)
def cheapest(  # noqa: PLR0915, PLR0917  # Numba takes arguments by position, and calls within a loop cost
    place: int,
    code: Array,
    sides: Sides,
    places: Array,
    cost: Array,
    shut: Array,
    rise: Array,
    fall: Array,
    below: float,
    above: float,
    tries: int,
) -> Array:
    """The corners of the cheapest box around a place that may all move by ``below`` and ``above``; empty if none.
    ``code`` is where the place is along each side.

    Side by side: what is chosen along the first sides alone is a part of the box, so its cost is a bound for all that
    go on from there (branch and bound, the cheapest first). Stops after a given number of tries with the best so far.
    """
    stride, first, last = sides.stride, sides.first, sides.last
    count = len(stride)
    at = np.zeros((count + 1, _CORNERS), np.int64)
    sign = np.zeros((count + 1, _CORNERS), np.int8)
    size = np.zeros(count + 1, np.int64)
    spent = np.zeros(count + 1)
    prices = np.empty((count, _MOVES))
    many = np.zeros(count, np.int64)
    path = np.empty(256, np.int64)
    signs = np.empty(256, np.int8)
    best, found = np.inf, np.empty(0, np.int64)
    start = places[place]
    if rise[start] < above or fall[start] < below or shut[start]:
        return found
    at[0, 0], sign[0, 0], size[0], spent[0] = place, 1, 1, cost[start]
    level, fresh = 0, True
    while level >= 0:
        here = sides.starts[level] + code[level]
        under = last[here] - first[here]
        others = sides.leaf_starts[level + 1] - sides.leaf_starts[level] - under
        if fresh:
            many[level] = min(under * (others + 1), _MOVES)
            for move in range(many[level]):
                length = _path(move, level, code[level], under, others, sides, path, signs)
                price = spent[level]
                corners, ways = at[level, : size[level]], sign[level, : size[level]]
                if size[level] * length > _CORNERS:
                    price = np.inf
                for step in range(length):
                    if price >= best:
                        break
                    shift = (path[step] - code[level]) * stride[level]
                    if shift:
                        up, down = (above, below) if signs[step] > 0 else (below, above)
                        price += _price(corners, ways, shift, places, cost, shut, rise, fall, up, down)
                prices[level, move] = price
            tries -= many[level]
        move, price = -1, best
        for other in range(many[level]):
            if prices[level, other] < price:
                move, price = other, prices[level, other]
        if move < 0 or (tries <= 0 and best < np.inf) or tries < -50 * _MOVES:
            level, fresh = level - 1, False
            continue
        prices[level, move] = np.inf
        length = _path(move, level, code[level], under, others, sides, path, signs)
        size[level + 1] = size[level] * length
        for step in range(length):
            shift, to = (path[step] - code[level]) * stride[level], step * size[level]
            for corner in range(size[level]):
                at[level + 1, to + corner] = at[level, corner] + shift
                sign[level + 1, to + corner] = sign[level, corner] * signs[step]
        spent[level + 1] = price
        if level + 1 == count:
            best, found = price, np.empty(size[count], np.int64)
            for corner in range(size[count]):
                found[corner] = places[at[count, corner]]
            if best <= 0:
                return found
        else:
            level, fresh = level + 1, True
    return found


@njit(cache=True)
def _path(  # noqa: PLR0917  # Numba takes arguments by position
    move: int, level: int, code: int, under: int, others: int, sides: Sides, path: Array, signs: Array
) -> int:
    """Write down the codes of a move along one side with their signs, and say how many they are.

    Moves are numbered: a leaf under the code, the next ones after it first, and another leaf that is not, or none.
    """
    base, root, total = sides.starts[level], sides.leaf_starts[level], under + others
    first, last, parents, leaves = sides.first, sides.last, sides.parents, sides.leaves
    one = first[base + code] + move // (others + 1)
    other = move % (others + 1)
    to = (last[base + code] + other) % total if other < others else -1
    length = 0
    node = leaves[root + one]
    while node >= 0 and not first[base + node] <= to < last[base + node] and length < 250:
        path[length], signs[length] = node, 1
        length += 1
        node = parents[base + node]
    if to < 0:
        return length
    node = leaves[root + to]
    while not first[base + node] <= one < last[base + node] and length < 250:
        path[length], signs[length] = node, -1
        length += 1
        node = parents[base + node]
    return length


@njit(cache=True)
def _price(  # noqa: PLR0917  # Numba takes arguments by position
    corners: Array,
    ways: Array,
    shift: int,
    places: Array,
    cost: Array,
    shut: Array,
    rise: Array,
    fall: Array,
    up: float,
    down: float,
) -> float:
    """What these corners cost, each so much further on; infinite if one of them cannot move up and down so much, or
    the other way round if its way is the other."""
    price = 0.0
    for corner in range(len(corners)):
        cell = places[corners[corner] + shift]
        above, below = (up, down) if ways[corner] > 0 else (down, up)
        if shut[cell] or rise[cell] < above or fall[cell] < below:
            return np.inf
        price += cost[cell]
    return price
