"""What stands for a group: the mean of numbers, the median of ordered values, the most frequent of categories."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet.publish.mask.micro.embed import Coordinate
from discreet.publish.mask.values import Array, Cells, whole_units, written


def aggregated(part: Coordinate, of: Array, kept: Array, median: bool) -> Cells:
    """The cells of a column with what stands for the group of each; missing where they are not ``kept``.

    All members of a group get one and the same value. Whole numbers stay whole, so their means are rounded.
    """
    values, groups = part.values[kept], of[kept]
    numbers, dense = np.unique(groups, return_inverse=True)
    if part.nominal:
        shared = _modes(values, dense, len(numbers))
    elif median or part.domain is not None:
        shared = _medians(values, dense)
    else:
        shared = _means(values, dense)
    found = shared[dense] if len(shared) else values
    if part.domain is not None:
        places = np.zeros(len(of), np.int64)
        places[kept] = found
        return part.domain.take(pa.array(places, mask=~kept))
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
    """Taken from the first member of each group, so that equal values stay as they are to the last digit."""
    _, first = np.unique(of, return_index=True)
    base = values[first]
    return np.asarray(base + np.bincount(of, values - base[of]) / np.bincount(of))


def _medians(values: Array, of: Array) -> Array:
    """The lower one, which is always somebody's value."""
    order = np.lexsort((values, of))
    sizes = np.bincount(of)
    starts = np.cumsum(sizes) - sizes
    return np.asarray(values[order[starts + (sizes - 1) // 2]])


def _modes(values: Array, of: Array, groups: int) -> Array:
    """Of equally frequent ones the first in the order of the domain."""
    lines, counts = np.unique(np.stack([of, values.astype(np.int64)], axis=1), axis=0, return_counts=True)
    order = np.lexsort((lines[:, 1], -counts, lines[:, 0]))
    first = np.searchsorted(lines[order, 0], np.arange(groups))
    return np.asarray(lines[order[first], 1], dtype=np.float64)
