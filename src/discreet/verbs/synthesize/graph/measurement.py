"""Noisy marginals and structural zeros: what is known about a table before a model is fitted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadInput


@dataclass(frozen=True)
class Measurement:
    """Counts over some columns with noise of a known standard deviation, the same in every cell."""

    columns: tuple[int, ...]
    counts: NDArray[np.float64]
    deviation: float


@dataclass(frozen=True)
class Zeros:
    """Which cells over some columns a row can be in. The others are zero in the population: structural zeros."""

    columns: tuple[int, ...]
    possible: NDArray[np.bool_]


def combine_measurements(sizes: Sequence[int], measurements: Iterable[Measurement]) -> list[Measurement]:
    """The measurements checked and, of each set of columns, averaged by precision; fewest columns first.

    For independent noise this mean is all that a least-squares fit uses of them.
    """
    found: dict[tuple[int, ...], tuple[NDArray[np.float64], float]] = {}
    for one in measurements:
        check(sizes, one.columns, one.counts)
        if not (math.isfinite(one.deviation) and one.deviation > 0):
            raise BadInput(f"A measurement's standard deviation is a positive number, got {one.deviation!r}.")
        if not np.isfinite(one.counts).all():
            raise BadInput(f"The counts measured over columns {one.columns} are not all finite.")
        precision = one.deviation**-2
        counts, before = found.get(one.columns, (np.zeros(one.counts.shape), 0.0))
        found[one.columns] = counts + precision * one.counts, before + precision
    return [
        Measurement(columns, counts / precision, precision**-0.5)
        for columns, (counts, precision) in sorted(found.items(), key=lambda item: (len(item[0]), item[0]))
    ]


def check(sizes: Sequence[int], columns: tuple[int, ...], array: NDArray[np.generic]) -> None:
    """Refuse columns that are not rising positions, and an array of another shape than theirs."""
    if not columns or list(columns) != sorted(set(columns)) or columns[0] < 0 or columns[-1] >= len(sizes):
        raise BadInput(f"Columns are given as rising positions below {len(sizes)}, got {columns!r}.")
    expected = tuple(sizes[column] for column in columns)
    if array.shape != expected:
        raise BadInput(f"An array over columns {columns} has the shape {expected}, got {array.shape}.")
