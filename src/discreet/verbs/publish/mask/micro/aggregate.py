"""What stands for a group: the mean of numbers, the median of ordered values, the most frequent of categories."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet.verbs.publish.mask.micro.embed import Coordinate
from discreet.verbs.publish.mask.values import Array, Cells, whole_units, written


def aggregated(part: Coordinate, of: Array, kept: Array, median: bool) -> Cells:
    """The cells of a column with what stands for the group of each; missing where they are not ``kept``.

    All members of a group get one and the same value. Whole numbers stay whole, so their means are rounded.
    """
    found, groups = part.values[kept], of[kept]
    if len(groups):
        stands = {"mode": _modes, "median": _medians, "mean": _means}[chosen_for(part, median)]
        found = stands(found, groups)[groups]
    if part.domain is not None:
        places = np.zeros(len(of), np.int64)
        places[kept] = found
        return part.domain.take(pa.array(places, pa.int64(), mask=~kept))
    if pa.types.is_floating(part.cells.type):
        full = np.zeros(len(of))
        full[kept] = found
        return pa.array(full, part.cells.type, mask=~kept)
    return written(whole_units(found, part.cells.type), part.cells, kept)


def chosen_for(part: Coordinate, median: bool) -> str:
    """What ``aggregated`` takes, in a word."""
    if part.nominal:
        return "mode"
    return "median" if median or part.domain is not None else "mean"


def _means(values: Array, of: Array) -> Array:
    """Taken from one member of each group, so that equal values stay as they are to the last digit."""
    base = np.zeros(of.max() + 1)
    base[of] = values
    return np.asarray(base + np.bincount(of, values - base[of]) / np.maximum(np.bincount(of), 1))


def _medians(values: Array, of: Array) -> Array:
    """The lower one, which is always somebody's value."""
    order = np.lexsort((values, of))
    sizes = np.bincount(of)
    starts = np.cumsum(sizes) - sizes
    return np.asarray(values[order[starts + (sizes - 1) // 2]])


def _modes(values: Array, of: Array) -> Array:
    """Of equally frequent ones the first in the order of the domain."""
    lines, counts = np.unique(np.stack([of, values.astype(np.int64)], axis=1), axis=0, return_counts=True)
    order = np.lexsort((lines[:, 1], -counts, lines[:, 0]))
    first = np.searchsorted(lines[order, 0], np.arange(of.max() + 1))
    return np.asarray(lines[order[first], 1], dtype=np.float64)
