"""Compiled kernels of the record-linkage attacks (Numba). Import this where it is needed only: loading takes a moment.

``truth`` is the place of each person's own row, or -1. The kernels report, for each person, how many rows are equally
good (ties), and whether the true one is among them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit

Array = npt.NDArray[Any]
Number: TypeAlias = Any
"""A number, Python's or NumPy's: compiled code does not tell them apart."""

_LEAF_ROWS = 16
"""Rows of a leaf of the k-d tree."""

# -- distance linkage: the nearest rows, exactly, by a k-d tree --------------------------------------------------------


class Points(NamedTuple):
    """Points with coordinates, whose squared differences count, and codes, with the cost of a difference in each."""

    places: Array
    codes: Array
    costs: Array


class _Tree(NamedTuple):
    """A full binary tree in heap order; a node is the span ``starts`` to ``ends`` of the points, and their box."""

    starts: Array
    ends: Array
    low: Array
    high: Array


def nearest_rows(people: Points, rows: Points, truth: Array) -> tuple[Array, Array, Array]:
    """A nearest row of each person, the number of ties, and whether the true row is among them.

    The tree bounds the coordinates only. All sums run in the same order, so that rounding is monotone: a box is never
    judged farther than a point in it, and equal points are equally far to the last bit.
    """
    order, tree = _build_tree(rows.places)
    sorted_rows = Points(np.ascontiguousarray(rows.places[order]), np.ascontiguousarray(rows.codes[order]), rows.costs)
    targets = Points(np.ascontiguousarray(people.places), np.ascontiguousarray(people.codes), people.costs)
    place_of = np.empty(len(order), np.int64)
    place_of[order] = np.arange(len(order))
    where = np.where(truth >= 0, place_of[truth], -1)
    best, ties, found = _search_tree(targets, sorted_rows, tree, where)
    return order[best], ties, found


def _build_tree(places: Array) -> tuple[Array, _Tree]:
    count, columns = places.shape
    depth = max(int(np.ceil(np.log2(max(count, 1) / _LEAF_ROWS))), 0) if columns else 0
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
def _search_tree(people: Points, rows: Points, tree: _Tree, truth: Array) -> tuple[Array, Array, Array]:
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
                    _box_distance(people.places[one], tree, 2 * node + 1),
                    _box_distance(people.places[one], tree, 2 * node + 2),
                )
                near = 1 if left <= right else 2
                nodes[waiting], bounds[waiting] = 2 * node + 3 - near, max(left, right)
                nodes[waiting + 1], bounds[waiting + 1] = 2 * node + near, min(left, right)
                waiting += 2
                continue
            for other in range(tree.starts[node], tree.ends[node]):
                distance = _point_distance(people, one, rows, other, least)
                if distance < least:
                    least, tied, row = distance, 1, other
                elif distance == least:
                    tied += 1
        best[one], ties[one] = row, tied
        found[one] = truth[one] >= 0 and _point_distance(people, one, rows, truth[one], np.inf) == least
    return best, ties, found


@njit(cache=True, inline="always")
def _box_distance(place: Array, tree: _Tree, node: Number) -> Number:
    """Squared distance to a node's box: at most that to any point in it, rounding included."""
    total = 0.0
    for column in range(len(place)):
        short = max(tree.low[node, column] - place[column], place[column] - tree.high[node, column])
        if short > 0.0:
            total += short * short
    return total


@njit(cache=True, inline="always")
def _point_distance(people: Points, one: Number, rows: Points, other: Number, enough: Number) -> Number:
    """Squared distance to a point; infinite as soon as it is known to be more than ``enough``."""
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


# -- probabilistic linkage: levels of agreement of all pairs -----------------------------------------------------------

_ROUNDING = 1e-9
"""Slack for sums of match weights, far above their rounding errors."""


@njit(cache=True)
def agreement_patterns(person: Array, rows: Array, limits: Array) -> Array:
    """A number for each row: the agreement levels of all columns as its digits, one more than the level.

    A column's level is the number of its limits that the difference exceeds; NULL on either side is a level of its own,
    which says nothing.
    """
    patterns = np.zeros(len(rows), np.int64)
    for other in range(len(rows)):
        for column in range(len(limits)):
            level = _agreement_level(abs(person[column] - rows[other, column]), limits[column])
            patterns[other] = patterns[other] * (limits.shape[1] + 2) + level + 1
    return patterns


@njit(cache=True)
def highest_weights(  # noqa: PLR0917 (Numba takes no keyword-only arguments)
    people: Array, rows: Array, limits: Array, table: Array, truth: Array, first_new: Array, next_row: Array
) -> tuple[Array, Array]:
    """Number of rows with the highest match weight, and whether the true one is among them, for each person.

    Rows are in lexical order, and ``truth`` is a row number of that order; ``prefix_tree`` gives ``first_new`` and
    ``next_row``. Rows that begin alike share the weight of their first columns, and are left together as soon as the
    remaining columns cannot bring them to the highest weight so far. The true row is only looked at first to have a
    high weight to start from: the result does not depend on where the search begins.
    """
    ties, found = np.zeros(len(people), np.int64), np.zeros(len(people), np.bool_)
    columns = len(table)
    reach = np.full(columns + 1, _ROUNDING)
    for column in range(columns - 1, -1, -1):
        reach[column] = reach[column + 1] + max(table[column].max(), 0.0)
    sums = np.zeros(columns + 1)
    for one in range(len(people)):
        own = -np.inf
        if truth[one] >= 0:
            own = _match_weight(people[one], rows[truth[one]], limits, table, reach, own)
        highest, tied, other = own, 0, 0
        while other < len(rows):
            column = first_new[other]
            while column < columns and sums[column] + reach[column] >= highest:
                level = _agreement_level(abs(people[one, column] - rows[other, column]), limits[column])
                sums[column + 1] = sums[column] + (table[column, level] if level >= 0 else 0.0)
                column += 1
            following = next_row[max(column, 1) - 1, other]
            if column == columns:
                if sums[columns] > highest:
                    highest, tied = sums[columns], following - other
                elif sums[columns] == highest:
                    tied += following - other
            other = following
        ties[one] = tied
        found[one] = truth[one] >= 0 and own == highest
    return ties, found


@njit(cache=True)
def prefix_tree(rows: Array) -> tuple[Array, Array]:
    """The tree of rows in lexical order, by what they begin with.

    For each row, the first column in which it differs from the row before; and for each column and row, the next row
    that differs in that column or one before it. NULL equals NULL.
    """
    count, columns = rows.shape
    first_new, next_row = np.zeros(count, np.int64), np.full((columns, count), count, np.int64)
    for other in range(1, count):
        column = 0
        while column < columns and _alike(rows[other, column], rows[other - 1, column]):
            column += 1
        first_new[other] = column
    for other in range(count - 2, -1, -1):
        for column in range(columns):
            alike = first_new[other + 1] > column
            next_row[column, other] = next_row[column, other + 1] if alike else other + 1
    return first_new, next_row


@njit(cache=True, inline="always")
def _alike(one: Number, other: Number) -> Number:
    return one == other or (np.isnan(one) and np.isnan(other))


@njit(cache=True, inline="always")
def _match_weight(  # noqa: PLR0917 (Numba takes no keyword-only arguments)
    person: Array, row: Array, limits: Array, table: Array, reach: Array, enough: Number
) -> Number:
    """Match weight of a pair; NaN as soon as it is known to be less than ``enough``. ``reach`` is the most that a
    column and those after it add."""
    total = 0.0
    for column in range(len(table)):
        if total + reach[column] < enough:
            return np.nan
        level = _agreement_level(abs(person[column] - row[column]), limits[column])
        if level >= 0:
            total += table[column, level]
    return total


@njit(cache=True, inline="always")
def _agreement_level(apart: Number, limits: Array) -> Number:
    if np.isnan(apart):
        return -1
    level = 0
    while level < len(limits) and apart > limits[level]:
        level += 1
    return level


# -- linkage under normal noise ----------------------------------------------------------------------------------------


@njit(cache=True)
def likeliest_rows(people: Array, rows: Array, same: Array, others: Array, truth: Array) -> tuple[Array, Array]:
    """Number of rows that are most probably each person's, by Bayes' rule, and whether the true one is among them.

    Noise has unit variance in every column; ``same`` and ``others`` hold what noise does not change. The
    evidence for a row is the logarithm of its likelihood given the person, less that given anyone.
    """
    anybody = np.full(len(rows), -np.inf)
    for other in range(len(rows)):
        highest, total = -np.inf, 0.0
        for one in range(len(people)):
            fit = _log_likelihood(people[one], rows[other], same[one], others[other])
            if fit > highest:
                total = total * np.exp(highest - fit) + 1.0 if total > 0.0 else 1.0
                highest = fit
            elif fit > -np.inf:
                total += np.exp(fit - highest)
        if total > 0.0:
            anybody[other] = highest + np.log(total)
    ties, found = np.zeros(len(people), np.int64), np.zeros(len(people), np.bool_)
    for one in range(len(people)):
        best = -np.inf
        for other in range(len(rows)):
            fit = _log_likelihood(people[one], rows[other], same[one], others[other])
            if fit > -np.inf:
                evidence = fit - anybody[other]
                if evidence > best:
                    best, ties[one], found[one] = evidence, 1, other == truth[one]
                elif evidence == best:
                    ties[one] += 1
                    found[one] = found[one] or other == truth[one]
    return ties, found


@njit(cache=True, inline="always")
def _log_likelihood(person: Array, row: Array, same: Array, other: Array) -> Number:
    for column in range(len(same)):
        if same[column] != other[column]:
            return -np.inf
    total = 0.0
    for column in range(len(person)):
        difference = person[column] - row[column]
        total += difference * difference
    return -0.5 * total


# -- intersection of intervals -----------------------------------------------------------------------------------------


def rows_within(  # noqa: PLR0917  # as the compiled code takes them
    shown: Array, low: Array, high: Array, people: Array, rows: Array, truth: Array, lead: int
) -> tuple[Array, Array, Array]:
    """Number of rows within all limits of each person, number of nearest ones among them, and whether the true row is
    among the nearest.

    NaN limits hold for NaN only. Rows are tried in the order of column ``lead``, so that only those within its
    limits are looked at.
    """
    order = np.argsort(shown[:, lead], kind="stable")  # NaN last
    line = shown[order, lead]
    count = int(np.count_nonzero(~np.isnan(line)))
    null = np.isnan(low[:, lead])
    start = np.where(null, count, np.searchsorted(line[:count], low[:, lead], "left"))
    end = np.where(null, len(line), np.searchsorted(line[:count], high[:, lead], "right"))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    where = np.where(truth >= 0, place[truth], -1)
    found: tuple[Array, Array, Array] = _scan_rows(shown[order], low, high, people, rows[order], where, start, end)
    return found


@njit(cache=True)
def _scan_rows(  # noqa: PLR0917  # Numba takes arguments by position
    shown: Array, low: Array, high: Array, people: Array, rows: Array, truth: Array, start: Array, end: Array
) -> tuple[Array, Array, Array]:
    count = len(people)
    candidates, ties, found = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.bool_)
    for one in range(count):
        least = np.inf
        for other in range(start[one], end[one]):
            if _is_inside(shown[other], low[one], high[one]):
                candidates[one] += 1
                distance = 0.0
                for column in range(people.shape[1]):
                    distance += (people[one, column] - rows[other, column]) ** 2
                if distance < least:
                    least, ties[one], found[one] = distance, 1, other == truth[one]
                elif distance == least:
                    ties[one] += 1
                    found[one] = found[one] or other == truth[one]
    return candidates, ties, found


@njit(cache=True, inline="always")
def _is_inside(row: Array, low: Array, high: Array) -> Number:
    for column in range(len(row)):
        if np.isnan(low[column]) or np.isnan(row[column]):
            if not (np.isnan(low[column]) and np.isnan(row[column])):
                return False
        elif not low[column] <= row[column] <= high[column]:
            return False
    return True


# -- supervised linkage: distances in which columns interact by pairs --------------------------------------------------


@njit(cache=True)
def differences(people: Array, rows: Array, which: Array, numeric: Array, scales: Array) -> Array:
    """Signed differences of each person and the rows named for them, column by column."""
    made = np.zeros((which.shape[0], which.shape[1], people.shape[1]))
    for one in range(len(which)):
        for place in range(which.shape[1]):
            _column_differences(people[one], rows[which[one, place]], numeric, scales, made[one, place])
    return made


@njit(cache=True)
def impostors(  # noqa: PLR0917  # Numba takes arguments by position
    people: Array, rows: Array, truth: Array, numeric: Array, scales: Array, weights: Array, pairs: Array, places: Array
) -> Array:
    """Rows that are not each person's, at these ``places`` in the order of their distances."""
    found = np.zeros((len(people), len(places)), np.int64)
    far, made = np.zeros(len(rows)), np.zeros(people.shape[1])
    mixed = np.any(pairs != 0.0)
    for one in range(len(people)):
        for other in range(len(rows)):
            _column_differences(people[one], rows[other], numeric, scales, made)
            far[other] = np.inf if other == truth[one] else _rule_distance(made, weights, pairs, mixed)
        found[one] = np.argsort(far, kind="mergesort")[places]
    return found


@njit(cache=True)
def closest_by_rule(  # noqa: PLR0917  # Numba takes arguments by position
    people: Array, rows: Array, truth: Array, numeric: Array, scales: Array, weights: Array, pairs: Array
) -> tuple[Array, Array]:
    """Number of nearest rows by a learnt rule, and whether the true one is among them, for each person."""
    ties, found = np.zeros(len(people), np.int64), np.zeros(len(people), np.bool_)
    made = np.zeros(people.shape[1])
    mixed = np.any(pairs != 0.0)
    for one in range(len(people)):
        least = np.inf
        for other in range(len(rows)):
            _column_differences(people[one], rows[other], numeric, scales, made)
            distance = _rule_distance(made, weights, pairs, mixed)
            if distance < least:
                least, ties[one], found[one] = distance, 1, other == truth[one]
            elif distance == least:
                ties[one] += 1
                found[one] = found[one] or other == truth[one]
    return ties, found


@njit(cache=True, inline="always")
def _column_differences(person: Array, row: Array, numeric: Array, scales: Array, made: Array) -> None:
    for column in range(len(person)):
        a, b = person[column], row[column]
        if np.isnan(a) or np.isnan(b):
            made[column] = 0.0 if np.isnan(a) and np.isnan(b) else scales[column]
        elif numeric[column]:
            made[column] = a - b
        else:
            made[column] = 0.0 if a == b else scales[column]


@njit(cache=True, inline="always")
def _rule_distance(made: Array, weights: Array, pairs: Array, mixed: Number) -> Number:
    total = 0.0
    for one in range(len(made)):
        square = made[one] * made[one]
        total += weights[one] * square
        if mixed:
            for two in range(one + 1, len(made)):
                other = made[two] * made[two]
                total += pairs[0, one, two] * made[one] * made[two]
                total += pairs[1, one, two] * min(square, other) + pairs[2, one, two] * max(square, other)
    return total
