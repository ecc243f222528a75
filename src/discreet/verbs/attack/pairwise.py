"""Distances in which columns interact by pairs, compiled. Import this where it is needed only."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit

Array = npt.NDArray[Any]
Number: TypeAlias = Any
"""A number, Python's or NumPy's: compiled code does not tell them apart."""


@njit(cache=True)
def differences(people: Array, rows: Array, which: Array, numeric: Array, scales: Array) -> Array:
    """The signed differences of each person and the rows named for them, column by column."""
    made = np.zeros((which.shape[0], which.shape[1], people.shape[1]))
    for one in range(len(which)):
        for place in range(which.shape[1]):
            _compare(people[one], rows[which[one, place]], numeric, scales, made[one, place])
    return made


@njit(cache=True)
def impostors(  # noqa: PLR0917  # Numba takes arguments by position
    people: Array, rows: Array, truth: Array, numeric: Array, scales: Array, weights: Array, pairs: Array, places: Array
) -> Array:
    """Of each person the rows at these ``places``, when those that are not theirs are ordered by distance."""
    found = np.zeros((len(people), len(places)), np.int64)
    far, made = np.zeros(len(rows)), np.zeros(people.shape[1])
    mixed = np.any(pairs != 0.0)
    for one in range(len(people)):
        for other in range(len(rows)):
            _compare(people[one], rows[other], numeric, scales, made)
            far[other] = np.inf if other == truth[one] else _distance(made, weights, pairs, mixed)
        found[one] = np.argsort(far, kind="mergesort")[places]
    return found


@njit(cache=True)
def first(  # noqa: PLR0917  # Numba takes arguments by position
    people: Array, rows: Array, truth: Array, numeric: Array, scales: Array, weights: Array, pairs: Array
) -> tuple[Array, Array]:
    """Of each person how many rows are nearest, and whether the true one is among them."""
    ties, found = np.zeros(len(people), np.int64), np.zeros(len(people), np.bool_)
    made = np.zeros(people.shape[1])
    mixed = np.any(pairs != 0.0)
    for one in range(len(people)):
        least = np.inf
        for other in range(len(rows)):
            _compare(people[one], rows[other], numeric, scales, made)
            distance = _distance(made, weights, pairs, mixed)
            if distance < least:
                least, ties[one], found[one] = distance, 1, other == truth[one]
            elif distance == least:
                ties[one] += 1
                found[one] = found[one] or other == truth[one]
    return ties, found


@njit(cache=True, inline="always")
def _compare(person: Array, row: Array, numeric: Array, scales: Array, made: Array) -> None:
    for column in range(len(person)):
        a, b = person[column], row[column]
        if np.isnan(a) or np.isnan(b):
            made[column] = 0.0 if np.isnan(a) and np.isnan(b) else scales[column]
        elif numeric[column]:
            made[column] = a - b
        else:
            made[column] = 0.0 if a == b else scales[column]


@njit(cache=True, inline="always")
def _distance(made: Array, weights: Array, pairs: Array, mixed: Number) -> Number:
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
