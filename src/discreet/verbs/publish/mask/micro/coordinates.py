"""Columns of any kind as coordinates of points, and the cells that stand for a group of records.

Numbers, dates, times and ordered categories (by their place) are standardised. A category without an order is one of
the corners of a simplex, each at distance 1 from every other: two records differ by 1 if their categories do.

All coordinates are multiples of one power of two, small enough not to matter and large enough that sums of any of the
records are exact: so a centre does not depend on the order in which records were added up, and neither do ties.

A group becomes the mean of numbers, the median of ordered values, or the most frequent of categories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Card, Column
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.kind import ORDERED
from discreet.errors import BadInput
from discreet.models.classes import domain_of
from discreet.verbs.publish.mask.values import Array, Cells, numbers, whole_units, write_numbers

_MOST = 256
"""Largest number of categories without an order, in all columns together."""
_BITS = 51


@dataclass(frozen=True)
class Coordinate:
    """One column as numbers: values, or places in its domain."""

    column: Column
    cells: Cells
    values: Array
    """For each row its number; 0 where there is none."""
    there: Array
    """For each row whether it has one."""
    domain: pa.Array[Any] | None
    """Values that the places stand for; ``None``: the values are numbers themselves."""

    @property
    def nominal(self) -> bool:
        """Whether it is a category without an order."""
        return self.domain is not None and not isinstance(self.column.hierarchy, Ordered)


def coordinates(card: Card, rows: pa.Table, names: Sequence[str]) -> list[Coordinate]:
    """Each column as numbers. What is not finite is missing."""
    return [_coordinate(card[name], rows.column(name)) for name in names]


def embed(parts: Sequence[Coordinate], rows: Array, standardise: bool) -> Array:
    """Some rows, by number, as points; every part must be there in all of them."""
    nominal = [part for part in parts if part.nominal]
    codes = [np.unique(part.values[rows], return_inverse=True)[1] for part in nominal]
    if sum(int(one.max(initial=-1)) + 1 for one in codes) > _MOST:
        named = ", ".join(part.column.name for part in nominal)
        raise BadInput(
            f"There are more than {_MOST} categories without an order in {named}.",
            hint='Generalise them first, give them an order (hierarchy type "ordered"), or leave them out.',
        )
    made = [_standardise(part.values[rows], standardise)[:, None] for part in parts if not part.nominal]
    made += [np.eye(int(one.max(initial=-1)) + 1)[one] * np.sqrt(0.5) for one in codes]
    return _on_grid(np.hstack(made)) if made else np.zeros((len(rows), 0))


def _coordinate(column: Column, cells: Cells) -> Coordinate:
    if column.kind in ORDERED:
        found = numbers(cells)
        values = np.zeros(len(cells))
        values[found.there] = found.values
        return Coordinate(column, cells, values, found.there, None)
    whole: pa.Array[Any] = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    domain = domain_of(column, pc.drop_null(whole))
    places = np.asarray(pc.index_in(whole, domain).to_numpy(zero_copy_only=False), dtype=np.float64)
    there = ~np.isnan(places)
    return Coordinate(column, cells, np.where(there, places, 0.0), there, domain)


def _standardise(values: Array, standardise: bool) -> Array:
    """Values around 0; with deviation 1, if they are standardised and differ at all."""
    most = np.abs(values).max(initial=0.0) or 1.0
    around = values / most
    around = around - around.mean() if len(around) else around
    if not standardise:
        return np.asarray(around * most)
    spread = around.std(ddof=1) if len(around) > 1 else 0.0
    return np.asarray(around / spread if spread > 1e-14 else np.zeros(len(around)))


def _on_grid(points: Array) -> Array:
    """The points, row by row, rounded so that all sums are exact."""
    with np.errstate(over="ignore"):
        largest = np.abs(points).sum(axis=0).max(initial=0.0)
    if not largest < 1e150:
        raise BadInput("Values are too large to be compared as they are.", hint="Leave as_is out.")
    step = 2.0 ** (np.ceil(np.log2(largest)) - _BITS) if largest else 1.0
    return np.ascontiguousarray(np.rint(points / step) * step)


def aggregate(part: Coordinate, of: Array, kept: Array, median: bool) -> Cells:
    """The cells of a column with what stands for the group of each; missing where they are not ``kept``.

    All members of a group get one and the same value. Whole numbers stay whole, so their means are rounded.
    """
    found, groups = part.values[kept], of[kept]
    if len(groups):
        stands = {"mode": _modes, "median": _medians, "mean": _means}[aggregate_name(part, median)]
        found = stands(found, groups)[groups]
    if part.domain is not None:
        places = np.zeros(len(of), np.int64)
        places[kept] = found
        return part.domain.take(pa.array(places, pa.int64(), mask=~kept))
    if pa.types.is_floating(part.cells.type):
        full = np.zeros(len(of))
        full[kept] = found
        return pa.array(full, part.cells.type, mask=~kept)
    return write_numbers(whole_units(found, part.cells.type), part.cells, kept)


def aggregate_name(part: Coordinate, median: bool) -> str:
    """Name of the aggregate that ``aggregate`` uses."""
    if part.nominal:
        return "mode"
    return "median" if median or part.domain is not None else "mean"


def _means(values: Array, of: Array) -> Array:
    """Taken from one member of each group, so that equal values stay as they are to the last digit."""
    base = np.zeros(of.max() + 1)
    base[of] = values
    return np.asarray(base + np.bincount(of, values - base[of]) / np.maximum(np.bincount(of), 1))


def _medians(values: Array, of: Array) -> Array:
    """Lower medians, which are values of a member."""
    order = np.lexsort((values, of))
    sizes = np.bincount(of)
    starts = np.cumsum(sizes) - sizes
    return np.asarray(values[order[starts + (sizes - 1) // 2]])


def _modes(values: Array, of: Array) -> Array:
    """Modes; of equally frequent values the first in the order of the domain."""
    lines, counts = np.unique(np.stack([of, values.astype(np.int64)], axis=1), axis=0, return_counts=True)
    order = np.lexsort((lines[:, 1], -counts, lines[:, 0]))
    first = np.searchsorted(lines[order, 0], np.arange(of.max() + 1))
    return np.asarray(lines[order[first], 1], dtype=np.float64)
