"""What a file says of who is in the cells of a table: laid out, filled in where it follows, and held against itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.errors import DataError
from discreet.verbs.tabulate.tables.crosstable import Contributions, CrossTable, summed
from discreet.verbs.tabulate.tables.dimension import Dimension
from discreet.verbs.tabulate.tables.figures import units_of
from discreet.verbs.tabulate.tables.respondents import alone, merged, surely

_Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Grid:
    """The cells of a table, and which of them the file has: a place for each of its rows."""

    dimensions: tuple[Dimension, ...]
    places: _Numbers

    @property
    def shape(self) -> tuple[int, ...]:
        """How many codes each side has."""
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

    def laid(self, figures: _Numbers) -> _Numbers:
        """The figures in their places, 0 where there are none."""
        found = np.zeros((int(np.prod(self.shape)), *figures.shape[1:]), np.int64)
        found[self.places] = figures
        return found.reshape(*self.shape, *figures.shape[1:])

    def filled(self, figures: _Numbers) -> _Numbers:
        """The figures in their places; inner cells that are not there are 0, totals follow from the inner cells."""
        laid = self.laid(figures)
        return np.where(self.there.reshape(self.shape), laid, summed(self.dimensions, laid[self.inner]))


@dataclass(frozen=True)
class Told:
    """The rows of a file: how many respondents are in a cell, and what they contributed."""

    names: Sequence[str]
    """Of the cells."""
    figures: Sequence[Decimal]
    decimals: int
    counts: _Numbers
    largest: Mapping[str, Sequence[Decimal | None]]
    absolute: Sequence[Decimal] | None
    rounded: bool

    def contributions(self, grid: Grid, values: _Numbers) -> Contributions:
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
                self._refuse(row, "nobody is there, and it has a figure")
            if self.absolute is not None and whole + slack < abs(figure):
                self._refuse(row, "the sum of absolute contributions is below its figure")
            if any(own[count:]):
                self._refuse(row, f"it has more contributions than respondents, of which it has {count:,}")
            if signed:
                continue
            own = own[:count]
            if any(one < 0 for one in own) or sum(own) > whole + slack:
                self._refuse(row, "the largest contributions are more than its figure")
            if own and sum(own) + (count - len(own)) * own[-1] < whole - slack:
                self._refuse(row, "respondents who contributed no more than is told do not make up its figure")

    def _refuse(self, row: int, why: str) -> None:
        raise DataError(f"{self.names[row]} cannot be: {why}.", hint="Correct the row; nothing is repaired.")
