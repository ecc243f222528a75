"""Numba kernels that form and improve classes: gather, move, split and merge. Import this where it is needed only.

Every step keeps enough rows in a class. A step that is not yet known to be allowed is marked: ``mark`` has, for each
class, the number of the step that touched it (-1: none), and no class is touched twice; so each step can be undone
without the others. With an empty ``mark`` steps follow each other freely.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from discreet.core.compiled import njit
from discreet.verbs.publish.partition import (
    FAR,
    GONE,
    Array,
    Partition,
    Points,
    Whole,
    add,
    cost_with,
    level_without,
    new_class,
    remove,
    widen,
)


class Bounds(NamedTuple):
    """Constraints of every step."""

    smallest: int
    """The least number of rows in a class."""
    limit: int
    """Number of rows that may be suppressed."""


@njit(cache=True)
def gather_classes(points: Points, near: Array, order: Array, smallest: int) -> Array:
    """A first grouping: from each point in ``order`` that is still free, a class grows among the neighbours of its
    members, by who costs least. The class of each point, from 1; -1: it found no company."""
    of = np.full(len(order), -1, np.int32)
    members, levels = np.empty(smallest, np.int64), np.zeros((1, points.codes.shape[1]), np.int32)
    number = 1
    for seed in order:
        if of[seed] >= 0:
            continue
        levels[:] = 0
        members[0], size, rows = seed, 1, points.weights[seed]
        of[seed] = number
        while rows < smallest:
            best, chosen = FAR, -1
            for member in members[:size]:
                for other in near[member]:
                    if other < 0:
                        break
                    if of[other] < 0:
                        crowd = max(rows + points.weights[other], smallest)
                        price = cost_with(points, (levels, 0, seed), other, best // crowd + 1) * crowd
                        if price < best:
                            best, chosen = price, other
            if chosen < 0:
                break
            widen(points, (levels, 0, seed), chosen)
            of[chosen] = number
            members[size] = chosen
            size, rows = size + 1, rows + points.weights[chosen]
        if rows < smallest:
            of[members[:size]] = -1
        else:
            number += 1
    return of


@njit(cache=True)
def place_points(parts: Partition, near: Array, limit: int) -> None:
    """Put every point without a class into the one of its neighbours' classes where that costs least, or of all if
    its neighbours have none; ``limit``: how many rows may be suppressed."""
    classes = np.flatnonzero(parts.first[1:] >= 0) + 1
    for point in range(len(parts.of)):
        if parts.of[point] >= 0:
            continue
        best, chosen = _suppression_cost(parts, point, limit, FAR)
        for other in near[point]:
            if other >= 0 and parts.of[other] > GONE:
                cost = _joining_cost(parts, parts.of[other], point, best)
                if cost < best:
                    best, chosen = cost, parts.of[other]
        if chosen < 0:
            for number in classes:
                cost = _joining_cost(parts, number, point, best)
                if cost < best:
                    best, chosen = cost, number
        add(parts, chosen, point)


@njit(cache=True, inline="always")
def _suppression_cost(parts: Partition, point: Whole, limit: Whole, bound: Whole) -> tuple[Whole, Whole]:
    """Cost of suppressing a point, and the class of what is suppressed; ``bound`` and -1, if it is not below
    that or there is no room."""
    weight = parts.points.weights[point]
    cost = weight * parts.cost[GONE]
    if parts.of[point] != GONE and parts.rows[GONE] + weight <= limit and cost < bound:
        return cost, np.int64(GONE)
    return bound, np.int64(-1)


@njit(cache=True, inline="always")
def _joining_cost(parts: Partition, number: Whole, point: Whole, bound: Whole) -> Whole:
    """Additional loss of a class when a point joins, its own loss included; ``FAR`` if not below ``bound``."""
    rows, now = parts.rows[number] + parts.points.weights[point], parts.rows[number] * parts.cost[number]
    most = (bound + now) // rows + 1
    cost = cost_with(parts.points, (parts.level, number, parts.first[number]), point, most)
    return rows * cost - now if cost < most else FAR


@njit(cache=True)
def _spared_loss(parts: Partition, point: Whole, smallest: Whole) -> Whole:
    """Loss spared when a point leaves its class, its own included; -1 if it cannot leave."""
    number, weight = parts.of[point], parts.points.weights[point]
    if number == GONE:
        return weight * parts.cost[GONE]
    left = parts.rows[number] - weight
    if left < smallest:
        return np.int64(-1)
    cost = np.int64(0)
    for column in range(parts.points.codes.shape[1]):
        cost += level_without(parts, number, point, column)[1]
    return parts.rows[number] * parts.cost[number] - left * cost


@njit(cache=True, inline="always")
def _free(mark: Array, number: Whole) -> Any:
    return len(mark) == 0 or mark[number] < 0


@njit(cache=True)
def move(parts: Partition, near: Array, bounds: Bounds, mark: Array, barred: Array) -> int:
    """Move points to classes of their neighbours, or out, wherever that pays. How many were moved.

    ``barred``: points that stay where they are.
    """
    steps = 0
    for point in range(len(parts.of)):
        own = parts.of[point]
        if barred[point] or not _free(mark, own):
            continue
        best, chosen = _spared_loss(parts, point, bounds.smallest), np.int64(-1)
        if best <= 0:
            continue
        if _free(mark, GONE):
            best, chosen = _suppression_cost(parts, point, bounds.limit, best)
        for other in near[point]:
            if other < 0:
                break
            number = parts.of[other]
            if number > GONE and number != own and _free(mark, number):
                cost = _joining_cost(parts, number, point, best)
                if cost < best:
                    best, chosen = cost, np.int64(number)
        if chosen >= 0:
            if len(mark):
                mark[own] = mark[chosen] = steps
            remove(parts, point)
            add(parts, chosen, point)
            steps += 1
    return steps


@njit(cache=True)
def move_all(parts: Partition, order: Array, starts: Array, bounds: Bounds, changed: Array) -> int:
    """Like ``move``, but with every class there is: when nothing is moved, no move of one point pays.

    Between two classes that are not ``changed`` no move paid when this was last tried.

    Points are taken bucket by bucket (``order``, ``starts``). A class whose coarse labels differ from a bucket's
    loses at least the top label there with any point of it; classes for which that is more than any of these
    points could spare are passed over for all of them at once.
    """
    steps = 0
    spared, classes = np.empty(len(order), np.int64), np.flatnonzero(parts.first[1:] >= 0) + 1
    for bucket in range(len(starts) - 1):
        most = np.int64(0)
        for at in range(starts[bucket], starts[bucket + 1]):
            spared[at] = _spared_loss(parts, order[at], bounds.smallest)
            most = max(most, spared[at])
        if most <= 0:
            continue
        worth = _worthwhile_classes(parts, classes, bucket, most)
        for at in range(starts[bucket], starts[bucket + 1]):
            point = order[at]
            own = parts.of[point]
            if spared[at] <= 0:
                continue
            best, chosen = _suppression_cost(parts, point, bounds.limit, _spared_loss(parts, point, bounds.smallest))
            for number in worth:
                if number != own and (changed[own] or changed[number]):
                    cost = _joining_cost(parts, number, point, best)
                    if cost < best:
                        best, chosen = cost, number
            if chosen >= 0:
                remove(parts, point)
                add(parts, chosen, point)
                steps += 1
    return steps


@njit(cache=True)
def _worthwhile_classes(parts: Partition, classes: Array, bucket: Whole, most: Whole) -> Array:
    """The classes that a point of a bucket may join without their rows losing as much as ``most`` more."""
    points = parts.points
    found, count = np.empty(len(classes), np.int64), 0
    for number in classes:
        member = parts.first[number]
        own, least = points.buckets[member], np.int64(0)
        for column in range(points.codes.shape[1]):
            if points.keys[bucket, column] != points.keys[own, column]:
                now = points.costs[column, parts.level[number, column], points.codes[member, column]]
                least += max(points.tops[column] - now, 0)
        if least * parts.rows[number] < most:
            found[count] = number
            count += 1
    return found[:count]


@njit(cache=True)
def split(parts: Partition, smallest: int, mark: Array, barred: Array, by: Array) -> int:
    """Split off, wherever that pays, the members of a class that share a finer label in one column. How many splits.

    ``barred`` (classes, columns): where not to split; a class that has no split is barred altogether. ``by`` gets the
    column by which a class was split (-1: it was not).
    """
    steps, points = 0, parts.points
    by[:] = -1
    for number in range(1, len(parts.first)):
        member = parts.first[number]
        if member < 0 or barred[number].all() or not _free(mark, number):
            continue
        column, like = _best_split(parts, number, smallest, barred[number])
        new = new_class(parts) if column >= 0 else -1
        if new < 0:
            barred[number, :] = True
            continue
        if len(mark):
            mark[number] = mark[new] = steps
        by[number] = column
        barred[new, :] = False
        labels = points.labels[column, parts.level[number, column] - 1]
        parts.first[number], parts.rows[number] = -1, 0
        while member >= 0:
            following = parts.after[member]
            add(parts, new if labels[points.codes[member, column]] == like else number, member)
            member = following
        steps += 1
    return steps


@njit(cache=True)
def _best_split(parts: Partition, number: Whole, smallest: Whole, barred: Array) -> tuple[Whole, Whole]:
    """The column, none of those ``barred``, and the finer label in it by which a class is best split; -1: none pays."""
    levels = np.zeros((2, parts.points.codes.shape[1]), np.int32)
    best, by, like = parts.rows[number] * parts.cost[number], -1, -1
    for column in range(levels.shape[1]):
        finer = parts.level[number, column] - 1
        if finer < 0 or barred[column] or parts.rows[number] < 2 * smallest:
            continue
        labels = parts.points.labels[column, finer]
        seed = parts.first[number]
        while seed >= 0:
            label = labels[parts.points.codes[seed, column]]
            earlier = parts.before[seed]
            while earlier >= 0 and labels[parts.points.codes[earlier, column]] != label:
                earlier = parts.before[earlier]
            if earlier < 0:  # the first with this label
                rows, loss = _halves(parts, number, column, label, levels)
                if rows >= smallest and parts.rows[number] - rows >= smallest and loss < best:
                    best, by, like = loss, column, label
            seed = parts.after[seed]
    return by, like


@njit(cache=True)
def _halves(parts: Partition, number: Whole, column: Whole, label: Whole, levels: Array) -> tuple[Whole, Whole]:
    """Rows of a class with a label one level finer in a column, and the loss of all when they leave."""
    points, finer = parts.points, parts.level[number, column] - 1
    levels[:] = 0
    one: Whole = -1
    two: Whole = -1
    rows: Whole = np.int64(0)
    inner, outer = rows, rows
    member = parts.first[number]
    while member >= 0:
        if points.labels[column, finer, points.codes[member, column]] == label:
            one = member if one < 0 else one
            inner = widen(points, (levels, 0, one), member)
            rows += points.weights[member]
        else:
            two = member if two < 0 else two
            outer = widen(points, (levels, 1, two), member)
        member = parts.after[member]
    return rows, rows * inner + (parts.rows[number] - rows) * outer


@njit(cache=True)
def merge(parts: Partition, broken: Array, limit: int) -> int:
    """Merge each of some classes with the one where that costs least, or suppress it; how many were merged.

    A class that was merged with another is left alone until it is known whether that was enough.
    """
    steps = 0
    changed = np.zeros(len(parts.first), np.bool_)
    for number in broken:
        if changed[number] or parts.first[number] < 0:
            continue
        rows = parts.rows[number]
        best, chosen = FAR, -1
        if parts.rows[GONE] + rows <= limit:
            best, chosen = rows * parts.cost[GONE], GONE
        for other in range(1, len(parts.first)):
            if parts.first[other] >= 0 and other != number:
                whole, now = rows + parts.rows[other], parts.rows[other] * parts.cost[other]
                cost = whole * _merged_cost(parts, number, other, (best + now) // whole + 1) - now
                if cost < best:
                    best, chosen = cost, other
        if chosen < 0:
            continue
        member = parts.first[number]
        parts.first[number], parts.rows[number], parts.cost[number] = -1, 0, 0
        while member >= 0:
            following = parts.after[member]
            add(parts, chosen, member)
            member = following
        changed[chosen] = chosen != GONE
        steps += 1
    return steps


@njit(cache=True, inline="always")
def _merged_cost(parts: Partition, one: Whole, two: Whole, bound: Whole) -> Whole:
    """Loss of a row by the labels that two classes share; at least ``bound``, if it is not less."""
    points = parts.points
    cost = np.int64(0)
    for column in range(points.codes.shape[1]):
        a, b = points.codes[parts.first[one], column], points.codes[parts.first[two], column]
        level = max(parts.level[one, column], parts.level[two, column])
        while points.labels[column, level, a] != points.labels[column, level, b]:
            level += 1
        cost += points.costs[column, level, a]
        if cost >= bound:
            break
    return cost
