"""Tables of figures from a file, with who contributed to each cell: read exactly and checked to add up."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.card import Card
from discreet.core.sql import scale_of
from discreet.core.text import meant
from discreet.engines.read import open_source
from discreet.errors import BadInput, DataError, NotFound
from discreet.verbs.tabulate.tables.cells import Cells, require_additive
from discreet.verbs.tabulate.tables.crosstable import (
    TOTAL,
    Contributions,
    CrossTable,
    Dimension,
    Numbers,
    require_names,
    require_size,
    summed,
)
from discreet.verbs.tabulate.tables.respondents import alone, merged, surely
from discreet.verbs.tabulate.tables.tree import Tree, declared, require_no_other_total, side_of, totals_of

_WRITTEN = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?\s*", re.ASCII)
_MOST = 2**62


def read_table(
    source: str | Path | pa.Table,
    by: Sequence[str] | None = None,
    value: str | None = None,
    *,
    count: str | None = None,
    largest: Sequence[str] = (),
    absolute: str | None = None,
    total: str | Mapping[str, str] = TOTAL,
    parents: Mapping[str, Tree] | None = None,
    card: Card | None = None,
    rounded: bool = False,
) -> CrossTable:
    """A table of figures from a CSV or Parquet file or an Arrow table that has a row for each cell.

    The columns ``by`` hold codes; ``value`` the figures. ``count`` (how many respondents), ``largest`` (their largest
    contributions, the largest first) and ``absolute`` (the sum of absolute contributions, where some are negative) are
    told, or found by the names ``value``, ``count``, ``largest_1``, ``largest_2``, … and ``absolute``; ``by`` is then
    all the others. Without a value it is a table of counts. Where nothing stands in ``largest`` it is not known, and
    rules that need it refuse the table, unless there is a single respondent, whose contribution the value is. Figures
    have as many decimals as the values need; contributions are rounded up to that.

    ``total`` is the code of the total of all, of every side or for each by its name. A code that looks like it and is
    called otherwise is an error, unless ``parents`` tell what it is. Totals within it are told by ``parents`` for a
    column or by its taxonomy on the ``card``; without either all other codes are parts of the total. Totals that are
    not in the file are added up (so are respondents, as if each were in one inner cell); an inner cell that is not
    there is 0.

    A table that does not add up is an error that lists where, and is never mended; with ``rounded`` its figures were
    rounded one by one: inner cells are taken as they are, totals that are off by no more than rounding can make are
    added up anew.
    """
    opened = open_source(source, kinds={})
    rows = opened.engine.fetch(opened.relation)
    named = _columns(rows.column_names, by=by, value=value, count=count, largest=largest, absolute=absolute)
    codes = [codes_of(rows, name) for name in named.by]
    if by is None and named.value is None:
        _require_no_figures(named.by, codes)
    parents = parents or {}
    for name in parents:
        if name not in named.by:
            raise NotFound(
                f"{name!r} is not a dimension of the table{meant(name, named.by)}; it is by {', '.join(named.by)}."
            )
    trees = [parents.get(name, declared(card, name)) for name in named.by]
    tops = totals_of(named.by, total)
    figures = figures_of(rows, named.figures)
    decimals = 0 if named.value is None else decimals_of(figures)
    units = units_of(figures, decimals, named.figures)
    for place, (name, tree) in enumerate(zip(named.by, trees, strict=True)):
        if tree is None:
            require_no_other_total(name, codes, place, tops[name], units, rounded=rounded)
    dimensions = tuple(
        side_of(name, found, tree, tops[name]) for name, found, tree in zip(named.by, codes, trees, strict=True)
    )
    require_size(dimensions)
    require_names(named.by, named.value or "")
    grid = Grid(dimensions, _places(dimensions, codes))
    values = grid.filled(units)
    require_additive(Cells.of(CrossTable(dimensions, values, decimals=decimals)), grid.there, rounded=rounded)
    if rounded:
        values = summed(dimensions, values[grid.inner])
    told = _told(rows, named, figures, decimals, rounded=rounded)
    known = None if told is None else told.contributions(grid, values)
    return CrossTable(dimensions, values, named.value or "", decimals, known)


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
        return self.value or self.count or ""


def _require_no_figures(sides: Sequence[str], codes: Sequence[Sequence[str]]) -> None:
    """An error if what no one called a side may be the figures: their values would be printed as codes."""
    for name, found in zip(sides, codes, strict=True):
        if found and all(re.fullmatch(r"[-+]?[\d.,]*\d[\d.,]*", code) for code in found):
            raise BadInput(
                f"{name} could be the values or a dimension: it has numbers only, and there is no column value.",
                hint="Name it as value if it has the figures, or name all dimensions (by).",
            )


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
        raise BadInput("by and largest must be lists of columns.", hint='Such as ["region", "activity"].')
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
        raise BadInput(
            "It is unclear which column has the figures.", hint=f"Name it with value=…; there are {', '.join(names)}."
        )
    if not sides:
        raise BadInput("A table needs one or more columns.", hint="Say by=[…].")
    return _Columns(sides, value, count, tuple(largest), absolute)


def _places(dimensions: Sequence[Dimension], codes: Sequence[Sequence[str]]) -> Numbers:
    """The cell of each row of the file; an error if one has two."""
    numbers = [[side.places[code] for code in one] for side, one in zip(dimensions, codes, strict=True)]
    shape = tuple(map(len, dimensions))
    places = np.ravel_multi_index([np.array(one, np.int64) for one in numbers], shape)
    cells, first, times = np.unique(places, return_index=True, return_counts=True)
    if len(cells) < len(places):
        where = int(first[np.flatnonzero(times > 1)[0]])
        raise DataError(f"The cell {', '.join(one[where] for one in codes)} occurs twice.")
    return places


def _told(
    rows: pa.Table, named: _Columns, figures: Sequence[Decimal], decimals: int, *, rounded: bool
) -> ContributorRows | None:
    """What the file says of who is in its cells."""
    if named.count is None:
        if named.largest:
            raise BadInput(
                "Largest contributions are given without the number of respondents.",
                hint="Name the column with their number: count=….",
            )
        return None
    counts = figures_of(rows, named.count)
    if decimals_of(counts) or min(counts, default=0) < 0:
        raise DataError(f"{named.count} must have whole numbers of at least 0, the numbers of respondents.")
    return ContributorRows(
        [", ".join(codes) for codes in zip(*(codes_of(rows, name) for name in named.by), strict=True)],
        figures,
        decimals,
        units_of(counts, 0, named.count),
        {name: figures_or_blanks(rows, name) for name in named.largest},
        None if named.absolute is None else figures_of(rows, named.absolute),
        rounded,
    )


@dataclass(frozen=True)
class Grid:
    """The cells of a table, and which of them the file has: a place for each of its rows."""

    dimensions: tuple[Dimension, ...]
    places: Numbers

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.dimensions))

    @property
    def inner(self) -> Any:
        """The cells that have no parts."""
        return np.ix_(*(side.leaves for side in self.dimensions))

    @property
    def there(self) -> Numbers:
        """Whether the file has a cell, flat."""
        found = np.zeros(int(np.prod(self.shape)), bool)
        found[self.places] = True
        return found

    def laid(self, figures: Numbers) -> Numbers:
        """The figures in their places, 0 where there are none."""
        found = np.zeros((int(np.prod(self.shape)), *figures.shape[1:]), np.int64)
        found[self.places] = figures
        return found.reshape(*self.shape, *figures.shape[1:])

    def filled(self, figures: Numbers) -> Numbers:
        """The figures in their places; inner cells that are not there are 0, totals follow from the inner cells."""
        laid = self.laid(figures)
        return np.where(self.there.reshape(self.shape), laid, summed(self.dimensions, laid[self.inner]))


@dataclass(frozen=True)
class ContributorRows:
    """The rows of a file: how many respondents are in a cell, and what they contributed."""

    names: Sequence[str]
    """Of the cells."""
    figures: Sequence[Decimal]
    decimals: int
    counts: Numbers
    largest: Mapping[str, Sequence[Decimal | None]]
    absolute: Sequence[Decimal] | None
    rounded: bool

    def contributions(self, grid: Grid, values: Numbers) -> Contributions:
        """Who is in each cell of the table with these ``values``; an error if that cannot be."""
        counts = grid.filled(self.counts)
        sole = alone(CrossTable(grid.dimensions, values), counts)
        absolute = None
        if self.absolute is not None:
            absolute = grid.filled(units_of(self.absolute, self.decimals, "absolute"))
        if not self.largest:
            self._require_possible([[] for _ in self.names])
            return Contributions(counts, None, sole, absolute)
        ranks = self._ranks()
        self._require_possible(ranks)
        most = len(self.largest)
        known = np.array([len(one) for one in ranks], np.int64)
        columns = [[one[rank] if rank < len(one) else Decimal(0) for one in ranks] for rank in range(most)]
        units = [units_of(column, self.decimals, name) for name, column in zip(self.largest, columns, strict=True)]
        largest = grid.laid(np.stack(units, axis=-1))
        sure = np.where(grid.laid(known) < np.minimum(counts, most), grid.laid(known), most)
        follow, follows = (
            merged(grid.dimensions, largest[grid.inner]),
            surely(grid.dimensions, sure[grid.inner], most),
        )
        better = ~grid.there.reshape(grid.shape) | (follows > sure)
        largest = np.where(better[..., None], follow, largest)
        return Contributions(counts, largest, sole, absolute, np.where(better, follows, sure))

    def _ranks(self) -> list[list[Decimal]]:
        """The largest contributions of each row as far as they are known; of a single respondent it is the figure."""
        found = []
        whole = self.figures if self.absolute is None else [abs(figure) for figure in self.figures]
        for row, ranks in enumerate(zip(*self.largest.values(), strict=True)):
            known = [rank for rank in ranks if rank is not None]
            if known != list(ranks[: len(known)]):
                self._refuse(row, f"{', '.join(self.largest)} have a gap")
            if any(after > before for before, after in pairwise(known)):
                self._refuse(row, f"{', '.join(self.largest)} do not fall: the largest contribution comes first")
            found.append([whole[row]] if self.counts[row] == 1 and not known else known)
        return found

    def _require_possible(self, ranks: Sequence[Sequence[Decimal]]) -> None:
        """Each figure is a sum of as many contributions as there are respondents, none above those that are told."""
        unit = Fraction(1, 10**self.decimals)
        wholes = list(map(Fraction, self.figures if self.absolute is None else self.absolute))
        signed = self.absolute is None and min(self.figures, default=Decimal(0)) < 0
        for row, (whole, count, known) in enumerate(zip(wholes, self.counts.tolist(), ranks, strict=True)):
            slack = unit * (count + len(known) + 1) / 2 if self.rounded else Fraction(0)
            figure, own = Fraction(self.figures[row]), list(map(Fraction, known))
            if count == 0 and (figure or whole):
                self._refuse(row, "it has no respondents, but a figure")
            if self.absolute is not None and whole + slack < abs(figure):
                self._refuse(row, "the sum of absolute contributions is below its figure")
            if any(own[count:]):
                self._refuse(row, f"it has more contributions than respondents, of which there are {count:,}")
            if signed:
                continue
            own = own[:count]
            if any(one < 0 for one in own) or sum(own) > whole + slack:
                self._refuse(row, "the largest contributions are more than its figure")
            if own and sum(own) + (count - len(own)) * own[-1] < whole - slack:
                self._refuse(row, "the given contributions are too small for its figure")

    def _refuse(self, row: int, why: str) -> None:
        raise DataError(f"{self.names[row]} is inconsistent: {why}.", hint="Correct the row.")


def codes_of(rows: pa.Table, name: str) -> list[str]:
    """The codes in a column; each row has one."""
    codes = rows.column(name).to_pylist()
    for line, code in enumerate(codes, 1):
        if code is None:
            raise DataError(
                f"Row {line:,} has no code in {name}.", hint="Every row must have a code in each dimension."
            )
    return [code if isinstance(code, str) else str(code) for code in codes]


def figures_of(rows: pa.Table, name: str) -> list[Decimal]:
    """The figures in a column, as they are written: 0.1 is one tenth."""
    return [_figure(figure, line, name) for line, figure in enumerate(rows.column(name).to_pylist(), 1)]


def figures_or_blanks(rows: pa.Table, name: str) -> list[Decimal | None]:
    """The same, where nothing may stand."""
    found = enumerate(rows.column(name).to_pylist(), 1)
    return [None if figure is None else _figure(figure, line, name) for line, figure in found]


def decimals_of(figures: Sequence[Decimal]) -> int:
    """How many decimals are needed to write all of these, zeros at their end left out."""
    return max(map(_decimals, figures), default=0)


def units_of(figures: Sequence[Decimal], decimals: int, name: str) -> Numbers:
    """The figures in whole units of 10 to the power of minus ``decimals``; what is between two is rounded up."""
    whole = [ceil(Fraction(figure) * 10**decimals) for figure in figures]
    if sum(map(abs, whole)) >= _MOST:
        raise DataError(
            f"{name} with {decimals} decimals has more digits than 64 bits hold.",
            hint="Round it to fewer decimals.",
        )
    return np.array(whole, np.int64)


def _figure(figure: Any, line: int, name: str) -> Decimal:
    text = str(figure)
    if not _WRITTEN.fullmatch(text):
        shown = "nothing" if figure is None else repr(text)
        raise DataError(
            f"Row {line:,} has {shown} in {name}, where a number is expected.",
            hint="Write numbers like 1234.5, without separators.",
        )
    return Decimal(text.strip())


def _decimals(figure: Decimal) -> int:
    """How many a figure needs, zeros at its end left out."""
    digits, scale = figure.as_tuple().digits, scale_of(figure)
    if not figure:
        return 0
    while scale and not digits[-1]:
        digits, scale = digits[:-1], scale - 1
    return scale
