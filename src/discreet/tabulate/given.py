"""A table that is there already, from a file: a row a cell, read exactly, and checked to add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.card import Card
from discreet.core.words import meant
from discreet.engines.read import open_source
from discreet.errors import BadInput, DataError, NotFound
from discreet.tabulate.additive import require_additive
from discreet.tabulate.cells import Cells
from discreet.tabulate.crosstable import Contributions, CrossTable, require_size, summed
from discreet.tabulate.dimension import TOTAL, Dimension
from discreet.tabulate.figures import codes_of, figures_of, whole_units
from discreet.tabulate.respondents import alone, merged
from discreet.tabulate.tree import Tree, declared, side_of

__all__ = ["read_table", "require_additive"]

_Numbers = np.ndarray[Any, Any]


def read_table(
    source: str | Path | pa.Table,
    by: Sequence[str] | None = None,
    value: str | None = None,
    *,
    count: str | None = None,
    largest: Sequence[str] = (),
    absolute: str | None = None,
    total: str = TOTAL,
    parents: Mapping[str, Tree] | None = None,
    card: Card | None = None,
    rounded: bool = False,
) -> CrossTable:
    """A table of figures from a CSV or Parquet file or an Arrow table that has a row for each cell.

    The columns ``by`` hold codes; ``value`` the figures. ``count`` (how many respondents), ``largest`` (their largest
    contributions, the largest first) and ``absolute`` (the sum of absolute contributions, where some are negative) are
    told, or found by the names ``value``, ``count``, ``largest_1``, ``largest_2``, … and ``absolute``; ``by`` is then
    all the others. Without a value it is a table of counts. Where nothing stands in ``largest`` it is not known, and
    rules on it do not look at that cell.

    ``total`` is the code of the total of all. Totals within it are told by ``parents`` for a column or by its taxonomy
    on the ``card``; without either all other codes are parts of the total. Totals that are not in the file are added
    up (so are respondents, as if each were in one inner cell); an inner cell that is not there is 0.

    A table that does not add up is an error that lists where, and is never mended; with ``rounded`` its figures were
    rounded one by one: inner cells are taken as they are, totals that are off by no more than rounding can make are
    added up anew.
    """
    opened = open_source(source, kinds={})
    rows = opened.engine.fetch(opened.relation)
    named = _columns(rows.column_names, by=by, value=value, count=count, largest=largest, absolute=absolute)
    codes = [codes_of(rows, name) for name in named.by]
    parents = parents or {}
    for name in parents:
        if name not in named.by:
            raise NotFound(f"{name!r} is no side of the table{meant(name, named.by)}; it is by {', '.join(named.by)}.")
    trees = [parents.get(name, declared(card, name)) for name in named.by]
    dimensions = tuple(
        side_of(name, found, tree, total) for name, found, tree in zip(named.by, codes, trees, strict=True)
    )
    require_size(dimensions)
    places = _places(dimensions, codes)
    sums = [name for name in (named.value, *named.largest, named.absolute) if name is not None]
    decimals, units = whole_units({name: figures_of(rows, name, blank=name in named.largest) for name in sums})
    if named.count is not None:
        odd, counts = whole_units({named.count: figures_of(rows, named.count)})
        if odd or counts[named.count].min(initial=0) < 0:
            raise DataError(f"{named.count} counts respondents: it has whole numbers of at least 0.")
        units |= counts
    grid = _Grid(dimensions, places)
    values = grid.filled(units[named.figures])
    require_additive(Cells.of(CrossTable(dimensions, values, decimals=decimals)), grid.there, rounded=rounded)
    if rounded:
        values = summed(dimensions, values[grid.inner])
    what = named.value or ""
    return CrossTable(dimensions, values, what, decimals, _contributions(grid, named, units, values))


@dataclass(frozen=True)
class _Columns:
    """Which column is what."""

    by: tuple[str, ...]
    value: str | None
    count: str | None
    largest: tuple[str, ...]
    absolute: str | None

    @property
    def figures(self) -> str:
        """The column of the figures."""
        return self.value or self.count or ""


@dataclass(frozen=True)
class _Grid:
    """The cells of a table, and which of them the file has: a place for each of its rows."""

    dimensions: tuple[Dimension, ...]
    places: _Numbers

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.dimensions))

    @property
    def inner(self) -> Any:
        """The cells that have no parts."""
        return np.ix_(*(side.leaves for side in self.dimensions))

    @property
    def there(self) -> _Numbers:
        """Whether the file has a cell, flat."""
        found = np.zeros(int(np.prod(self.shape)), bool)
        found[self.places] = True
        return found

    def filled(self, figures: _Numbers, *, ranks: bool = False) -> _Numbers:
        """The figures in their places; inner cells that are not there are 0, totals follow from the inner cells."""
        laid = np.zeros((int(np.prod(self.shape)), *figures.shape[1:]), np.int64)
        laid[self.places] = figures
        laid = laid.reshape(*self.shape, *figures.shape[1:])
        follow = (merged if ranks else summed)(self.dimensions, laid[self.inner])
        there = self.there.reshape(self.shape)
        return np.where(there[..., None] if ranks else there, laid, follow)


def _columns(
    names: Sequence[str],
    *,
    by: Sequence[str] | None,
    value: str | None,
    count: str | None,
    largest: Sequence[str],
    absolute: str | None,
) -> _Columns:
    """Which column is what: as told, or by its name."""
    if isinstance(by, str) or isinstance(largest, str):
        raise BadInput("by and largest are lists of columns.", hint='Such as ["region", "activity"].')
    for name in (*(by or ()), value, count, *largest, absolute):
        if name is not None and name not in names:
            raise NotFound(f"The table has no column {name!r}{meant(name, names)}; it has {', '.join(names)}.")
    free = [name for name in names if name not in (by or ())]

    def found(told: str | None, name: str) -> str | None:
        return told if told is not None else name if name in free else None

    value, count, absolute = found(value, "value"), found(count, "count"), found(absolute, "absolute")
    if not largest:
        ranks = [f"largest_{rank}" for rank in range(1, len(names) + 1)]
        largest = ranks[: next((place for place, name in enumerate(ranks) if name not in free), 0)]
    taken = {value, count, absolute, *largest}
    sides = tuple(name for name in names if name not in taken) if by is None else tuple(by)
    if value is None and count is None:
        raise BadInput("Which column has the figures?", hint=f"Say value=…; there are {', '.join(names)}.")
    if not sides:
        raise BadInput("A table is by one or more columns.", hint="Say by=[…].")
    return _Columns(sides, value, count, tuple(largest), absolute)


def _places(dimensions: Sequence[Dimension], codes: Sequence[Sequence[str]]) -> _Numbers:
    """The cell of each row of the file; an error if one has two."""
    numbers = [[side.places[code] for code in one] for side, one in zip(dimensions, codes, strict=True)]
    shape = tuple(map(len, dimensions))
    places = np.ravel_multi_index([np.array(one, np.int64) for one in numbers], shape)
    cells, first, times = np.unique(places, return_index=True, return_counts=True)
    if len(cells) < len(places):
        where = int(first[np.flatnonzero(times > 1)[0]])
        raise DataError(f"The cell {', '.join(one[where] for one in codes)} is there twice.")
    return places


def _contributions(
    grid: _Grid, named: _Columns, units: Mapping[str, _Numbers], values: _Numbers
) -> Contributions | None:
    if named.count is None:
        if named.largest:
            raise BadInput(
                "Largest contributions are given, and not how many respondents there are.",
                hint="Say which column has their number: count=….",
            )
        return None
    for name in named.largest[:1]:
        if not units[name].any():
            raise DataError(f"{name} says nothing: every row is empty or 0 there.", hint="Fill it, or leave it out.")
    counts = grid.filled(units[named.count])
    largest = np.stack([units[name] for name in named.largest], axis=-1) if named.largest else None
    if largest is not None and (np.diff(largest, axis=-1) > 0).any():
        raise DataError(f"{', '.join(named.largest)} do not fall: the largest contribution comes first.")
    return Contributions(
        counts,
        None if largest is None else grid.filled(largest, ranks=True),
        alone(CrossTable(grid.dimensions, values), counts),
        None if named.absolute is None else grid.filled(units[named.absolute]),
    )
