"""Numba kernels of rank swapping. Import this where it is needed only.

Each function returns for every rank the rank whose value it gets. Ranks change places in pairs, each rank once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit

Array = npt.NDArray[Any]
_TRIES = 32


@njit(cache=True)
def swap_within(count: int, width: int, rng: Any) -> Array:
    """Each rank, from the lowest, with one drawn evenly from the free ones among the next ``width``."""
    to = np.arange(count)
    for rank in range(count - 1):
        if to[rank] != rank:
            continue
        last = min(count - 1, rank + width)
        other = -1
        for _ in range(_TRIES):  # most are free, mostly
            drawn = rank + 1 + int(rng.random() * (last - rank))
            if to[drawn] == drawn:
                other = drawn
                break
        if other < 0:
            free = 0
            for drawn in range(rank + 1, last + 1):
                free += to[drawn] == drawn
            if free == 0:
                continue
            pick = int(rng.random() * free)
            for drawn in range(rank + 1, last + 1):
                if to[drawn] == drawn:
                    if pick == 0:
                        other = drawn
                        break
                    pick -= 1
        to[rank], to[other] = other, rank
    return to


@njit(cache=True)
def swap_around(count: int, mean: float, deviation: float, rng: Any) -> Array:
    """Each rank i with the free one nearest to i + r, where r is normal and rounded; the upper one of two."""
    to = np.arange(count)
    up, down = np.arange(count + 1), np.arange(count + 1)  # links to the next free rank; ``down`` is shifted by one
    for rank in range(count):
        if to[rank] != rank:
            continue
        _take(rank, up, down)
        aim = rank + int(np.rint(mean + deviation * rng.standard_normal()))
        aim = min(max(aim, 0), count - 1)
        above, below = _find(up, aim), _find(down, aim + 1) - 1
        if above >= count and below < 0:
            break
        other = above if below < 0 or (above < count and above - aim <= aim - below) else below
        _take(other, up, down)
        to[rank], to[other] = other, rank
    return to


@njit(cache=True)
def swap_buckets(count: int, number: int, rng: Any) -> Array:
    """Each rank, from the lowest, with a free one of a bucket at or above its own, drawn with chance 1/2, 1/4, … ."""
    to = np.arange(count)
    free = np.arange(count)  # free ranks of each bucket, in its own stretch, in any order
    place = np.arange(count)
    starts = np.empty(number + 1, np.int64)
    for bucket in range(number + 1):
        starts[bucket] = bucket * count // number
    left = starts[1:] - starts[:-1]
    own = 0
    for rank in range(count):
        while rank >= starts[own + 1]:
            own += 1
        if to[rank] != rank or place[rank] < 0:
            continue
        left[own] -= 1
        _leave(rank, starts[own] + left[own], free, place)
        weight, total = 0.5, 0.0
        for bucket in range(own, number):
            total += weight * (left[bucket] > 0)
            weight /= 2
        if total == 0.0:
            continue
        pick, weight, drawn = rng.random() * total, 0.5, -1
        for bucket in range(own, number):
            if left[bucket] > 0:
                drawn = bucket
                pick -= weight
                if pick < 0:
                    break
            weight /= 2
        other = free[starts[drawn] + int(rng.random() * left[drawn])]
        left[drawn] -= 1
        _leave(other, starts[drawn] + left[drawn], free, place)
        to[rank], to[other] = other, rank
    return to


@njit(cache=True)
def _leave(rank: int, last: int, free: Array, place: Array) -> None:
    """Take a rank out of its bucket, the last of which takes its place."""
    moved = free[last]
    free[place[rank]] = moved
    place[moved] = place[rank]
    place[rank] = -1


@njit(cache=True)
def _take(rank: int, up: Array, down: Array) -> None:
    up[rank] = rank + 1
    down[rank + 1] = rank


@njit(cache=True)
def _find(links: Array, start: int) -> int:
    """The end of a chain of links, which is shortened on the way (path halving)."""
    at = start
    while links[at] != at:
        links[at] = links[links[at]]
        at = links[at]
    return at
