"""Rows within limits, compiled. Import this where it is needed only."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit

Array = npt.NDArray[Any]
Number: TypeAlias = Any


def within(  # noqa: PLR0917  # as the compiled code takes them
    shown: Array, low: Array, high: Array, people: Array, rows: Array, truth: Array, lead: int
) -> tuple[Array, Array, Array]:
    """Of each person how many rows lie within all limits, how many of these are nearest, and whether the true one is
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
    found: tuple[Array, Array, Array] = _scan(shown[order], low, high, people, rows[order], where, start, end)
    return found


@njit(cache=True)
def _scan(  # noqa: PLR0917  # Numba takes arguments by position
    shown: Array, low: Array, high: Array, people: Array, rows: Array, truth: Array, start: Array, end: Array
) -> tuple[Array, Array, Array]:
    count = len(people)
    candidates, ties, found = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.bool_)
    for one in range(count):
        least = np.inf
        for other in range(start[one], end[one]):
            if _inside(shown[other], low[one], high[one]):
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
def _inside(row: Array, low: Array, high: Array) -> Number:
    for column in range(len(row)):
        if np.isnan(low[column]) or np.isnan(row[column]):
            if not (np.isnan(low[column]) and np.isnan(row[column])):
                return False
        elif not low[column] <= row[column] <= high[column]:
            return False
    return True
