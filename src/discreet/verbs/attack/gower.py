"""Distances of mixed columns (Gower 1971): numbers by their share of the range, all else equal or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_AT_ONCE = 4_000_000
"""So many pairs are held in memory at a time."""


def distances(people: Array, rows: Array, numeric: Array) -> Iterator[Array]:
    """The distances of every person (a row of the result) to all rows, some people at a time.

    NULL (NaN) is at 0 from NULL and at 1 from anything else. Ranges are those of the released rows.
    """
    scales = np.array([_range(rows[:, column]) for column in range(rows.shape[1])])
    step = max(_AT_ONCE // max(len(rows), 1), 1)
    for start in range(0, len(people), step):
        some = people[start : start + step]
        total = np.zeros((len(some), len(rows)))
        for column, number in enumerate(numeric):
            total += _apart(some[:, column], rows[:, column], scales[column] if number else 0.0)
        yield total


def closest(people: Array, rows: Array, numeric: Array) -> Array:
    """How far each person is from the closest row."""
    return np.concatenate([far.min(axis=1) for far in distances(people, rows, numeric)])


def _apart(people: Array, rows: Array, scale: float) -> Array:
    """The distances in one column; without a scale, 1 for unequal values."""
    if scale:
        far = np.minimum(np.abs(people[:, None] - rows[None, :]) / scale, 1.0)
    else:
        far = (people[:, None] != rows[None, :]).astype(float)
    missing = np.isnan(people)[:, None], np.isnan(rows)[None, :]
    if missing[0].any() or missing[1].any():
        far = np.where(missing[0] | missing[1], (missing[0] != missing[1]).astype(float), far)
    return np.asarray(far)


def _range(values: Array) -> float:
    there = values[~np.isnan(values)]
    return float(there.max() - there.min()) if len(there) else 0.0
