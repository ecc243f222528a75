"""Ruin-and-recreate local search over equivalence classes (Numba): take a few apart, form them anew, keep better ones.

Schrimpf and others 2000. Import this where it is needed only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.core.compiled import njit
from discreet.verbs.publish.partition import FAR, GONE, Array, Partition, Whole, add, cost_with, new_class, widen

CLASSES = 4
"""Largest number of classes taken apart at a time."""


class _Pool(NamedTuple):
    """Points that are taken out of their classes, and the new classes they go into."""

    members: Array
    into: Array
    """The new class of each member."""
    old: Array
    """Numbers of the classes that are taken apart."""
    levels: Array
    """Shape (new classes, columns)."""
    seeds: Array
    """A member of each new class."""
    rows: Array
    costs: Array
    """Loss of each row of a new class."""


@njit(cache=True)
def words_needed(room: int) -> int:
    """Largest number of random words of a try, when ``room`` points may be taken at once."""
    return 1 + 3 * CLASSES + room


@njit(cache=True)
def regroup(parts: Partition, near: Array, bounds: tuple[int, int], words: Array, mark: Array) -> tuple[int, int]:
    """Try as often as random ``words`` last. How many tries there were, and how many were kept.

    ``bounds``: the least number of rows in a class, and how many points may be taken at once. See ``regroup.py`` for
    ``mark``.
    """
    smallest, room = bounds
    whole = np.empty((5, room), np.int64)
    levels, old = np.zeros((room, parts.points.codes.shape[1]), np.int32), np.empty(CLASSES, np.int64)
    pool = _Pool(whole[0], whole[1], old, levels, whole[2], whole[3], whole[4])
    at, tries, steps = 0, 0, 0
    while at + words_needed(room) <= len(words):
        tries += 1
        number = parts.of[np.int64(words[at] % np.uint64(len(parts.of)))]
        at += 1
        if parts.cost[number] == 0:
            continue
        taken, size, at = _take_classes(parts, near, pool, (number, at), (words, mark))
        worth, rows = np.int64(0), np.int64(0)
        for one in pool.old[:taken]:
            worth += parts.rows[one] * parts.cost[one]
            rows += parts.rows[one]
        if taken == 0:
            continue
        new, cost, at = _form_classes(parts, pool, (smallest, size, rows, worth), words, at)
        if cost > worth or (len(mark) and cost == worth) or new > taken + parts.spare[-1]:
            continue
        _put(parts, pool, (taken, new, size), mark, steps)
        steps += 1
    return tries, steps


@njit(cache=True)
def _take_classes(
    parts: Partition, near: Array, pool: _Pool, begin: tuple[Whole, Whole], given: tuple[Array, Array]
) -> tuple[Whole, Whole, Whole]:
    """Put a class and a few that are near into the pool: how many classes, how many points, and the next word."""
    (number, at), (words, mark) = begin, given
    taken, size = 0, 0
    for _ in range(3 * CLASSES):
        if number != GONE and (len(mark) == 0 or mark[number] < 0) and not _contains(pool.old[:taken], number):
            end, point = size, parts.first[number]
            while point >= 0 and end < len(pool.members):
                pool.members[end] = point
                end += 1
                point = parts.after[point]
            if point < 0:
                pool.old[taken] = number
                taken, size = taken + 1, end
        if taken in (0, CLASSES):
            break
        word = words[at]
        at += 1
        near_by = near[
            pool.members[np.int64(word % np.uint64(size))], _skewed_position(word >> np.uint64(24), near.shape[1])
        ]
        number = parts.of[near_by] if near_by >= 0 else GONE
    return taken, size, at


@njit(cache=True)
def _form_classes(
    parts: Partition, pool: _Pool, given: tuple[Whole, Whole, Whole, Whole], words: Array, at: Whole
) -> tuple[Whole, Whole, Whole]:
    """Form new classes of the pool as long as that is not worse than before: how many, what they lose, the next word.

    Random members begin them; who costs least comes next. Members that are left over join where that costs least.
    Those that have a class lie at the end of the pool.
    """
    smallest, free, left, worth = given
    weights = parts.points.weights
    chosen: Whole
    new, cost = 0, np.int64(0)
    while left >= smallest and cost <= worth:
        chosen = np.int64(words[at] % np.uint64(free))
        at += 1
        seed = pool.members[chosen]
        pool.seeds[new], pool.rows[new], pool.costs[new] = seed, 0, 0
        pool.levels[new, :] = 0
        while True:
            point = pool.members[chosen]
            free -= 1
            pool.members[chosen], pool.members[free], pool.into[free] = pool.members[free], point, new
            pool.costs[new] = widen(parts.points, (pool.levels, new, seed), point)
            pool.rows[new] += weights[point]
            if pool.rows[new] >= smallest:
                break
            best, bound, chosen = FAR, FAR, -1
            for other in range(free):
                crowd = max(pool.rows[new] + weights[pool.members[other]], smallest)
                price = cost_with(parts.points, (pool.levels, new, seed), pool.members[other], bound) * crowd
                if price < best:
                    best, bound, chosen = price, price // smallest + 1, other
        cost += pool.rows[new] * pool.costs[new]
        left -= pool.rows[new]
        new += 1
    while free > 0 and cost <= worth:
        free -= 1
        point = pool.members[free]
        best, chosen = FAR, -1
        for one in range(new):
            rows = pool.rows[one] + weights[point]
            loss = cost_with(parts.points, (pool.levels, one, pool.seeds[one]), point, FAR)
            if rows * loss - pool.rows[one] * pool.costs[one] < best:
                best, chosen = rows * loss - pool.rows[one] * pool.costs[one], one
        pool.into[free] = chosen
        pool.costs[chosen] = widen(parts.points, (pool.levels, chosen, pool.seeds[chosen]), point)
        pool.rows[chosen] += weights[point]
        cost += best
    return new, cost, at


@njit(cache=True)
def _put(parts: Partition, pool: _Pool, counts: tuple[Whole, Whole, Whole], mark: Array, step: Whole) -> None:
    """Put the new classes in the place of the old ones."""
    taken, new, size = counts
    numbers = np.empty(new, np.int64)
    for one in range(new):
        numbers[one] = pool.old[one] if one < taken else new_class(parts)
    for one in pool.old[:taken]:
        parts.first[one], parts.rows[one], parts.cost[one] = -1, 0, 0
    if len(mark):
        mark[pool.old[:taken]] = step
        mark[numbers] = step
    for place in range(size):
        add(parts, numbers[pool.into[place]], pool.members[place])


@njit(cache=True)
def _contains(numbers: Array, number: Whole) -> bool:
    return bool((numbers == number).any())


@njit(cache=True, inline="always")
def _skewed_position(word: Whole, count: Whole) -> Whole:
    """A place below ``count``, the first ones most likely: near neighbours matter most."""
    one, two = word % np.uint64(count), (word >> np.uint64(20)) % np.uint64(count)
    return np.int64(one * two) // count
