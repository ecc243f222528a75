"""The agreement of all pairs of people and rows, compiled. Import this where it is needed only.

A column's level of agreement is the number of its limits that the difference exceeds; NULL on either side says nothing.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit

Array = npt.NDArray[Any]
Number: TypeAlias = Any
"""A number, Python's or NumPy's: compiled code does not tell them apart."""


@njit(cache=True)
def sweep(people: Array, rows: Array, limits: Array, table: Array) -> Array:
    """How often each level of each column is seen, where each person counts once, shared among the rows by their odds:
    two to the power of the sum of their levels' weights in ``table``."""
    sums, odds = np.zeros(table.shape), np.zeros(len(rows))
    for one in range(len(people)):
        total = 0.0
        for other in range(len(rows)):
            odds[other] = 2.0 ** _weight(people[one], rows[other], limits, table)
            total += odds[other]
        for other in range(len(rows)):
            part = odds[other] / total
            if part > 1e-12:
                for column in range(len(table)):
                    level = _level(abs(people[one, column] - rows[other, column]), limits[column])
                    if level >= 0:
                        sums[column, level] += part
    return sums


@njit(cache=True)
def best(people: Array, rows: Array, limits: Array, table: Array, truth: Array) -> tuple[Array, Array]:
    """Of each person how many rows share the highest weight, and whether the true one is among them."""
    ties, found = np.zeros(len(people), np.int64), np.zeros(len(people), np.bool_)
    for one in range(len(people)):
        highest, tied = -np.inf, 0
        for other in range(len(rows)):
            weight = _weight(people[one], rows[other], limits, table)
            if weight > highest:
                highest, tied = weight, 1
            elif weight == highest:
                tied += 1
        ties[one] = tied
        if truth[one] >= 0:
            found[one] = _weight(people[one], rows[truth[one]], limits, table) == highest
    return ties, found


@njit(cache=True, inline="always")
def _weight(person: Array, row: Array, limits: Array, table: Array) -> Number:
    total = 0.0
    for column in range(len(table)):
        level = _level(abs(person[column] - row[column]), limits[column])
        if level >= 0:
            total += table[column, level]
    return total


@njit(cache=True, inline="always")
def _level(apart: Number, limits: Array) -> Number:
    if np.isnan(apart):
        return -1
    level = 0
    while level < len(limits) and apart > limits[level]:
        level += 1
    return level
