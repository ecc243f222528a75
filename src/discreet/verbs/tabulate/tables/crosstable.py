"""Cross table: figures with totals at every level, and what is known of the contributors to each cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import prod
from typing import Any

import numpy as np

from discreet.errors import BadInput
from discreet.verbs.tabulate.tables.dimension import Dimension

_Numbers = np.ndarray[Any, Any]

MOST_CELLS = 50_000_000
"""Largest table, cells."""

MOST_KEPT = 100
"""Largest contributions kept for each cell."""

HIDDEN = "hidden"
COUNT = "n"
"""What the columns of a table that leaves are called beside its sides: whether a figure is hidden, and counts."""


@dataclass(frozen=True)
class Contributions:
    """Who is in each cell; every array has the table's shape first."""

    counts: _Numbers
    """How many respondents; with sampling weights those who answered, whatever they stand for."""
    largest: _Numbers | None = None
    """Their largest contributions, the largest first, one axis more than the table; 0 where there are fewer."""
    sole: _Numbers | None = None
    """Where there is a single respondent, a number that stands for them, the same in every cell; elsewhere -1."""
    absolute: _Numbers | None = None
    """Only where some contributions are negative: the sum of the absolute ones. ``largest`` are absolute then too."""
    known: _Numbers | None = None
    """How many of ``largest`` are known; ``None`` if all are."""


@dataclass(frozen=True)
class CrossTable:
    """Figures by one or more dimensions, in whole units of 10 to the power of minus ``decimals``, totals included."""

    dimensions: tuple[Dimension, ...]
    values: _Numbers
    what: str = ""
    """What was added up; empty for a table of counts."""
    decimals: int = 0
    contributions: Contributions | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        names = [side.name for side in self.dimensions]
        if not names or len(set(names)) < len(names):
            raise BadInput("A table has one or more sides, each over another column.")
        if self.values.shape != self.shape or self.values.dtype != np.int64:
            raise BadInput(f"A table of {' × '.join(map(str, self.shape))} cells needs as many whole numbers.")

    @property
    def shape(self) -> tuple[int, ...]:
        """How many codes each side has."""
        return tuple(map(len, self.dimensions))

    @property
    def size(self) -> int:
        """How many cells there are."""
        return prod(self.shape)

    def codes(self, cell: int) -> tuple[str, ...]:
        """The codes of a cell, given by its place in the flattened table."""
        where = np.unravel_index(cell, self.shape)
        return tuple(side.codes[int(place)] for side, place in zip(self.dimensions, where, strict=True))

    def cell(self, *codes: str) -> int:
        """The place in the flattened table of the cell with these codes."""
        if len(codes) != len(self.dimensions):
            raise BadInput(f"A cell of this table has {len(self.dimensions)} codes, got {len(codes)}.")
        for side, code in zip(self.dimensions, codes, strict=True):
            if code not in side.places:
                raise BadInput(f"{side.name} has no code {code!r}.")
        places = [side.places[code] for side, code in zip(self.dimensions, codes, strict=True)]
        return int(np.ravel_multi_index(places, self.shape))

    def written(self, value: float) -> str:
        """A figure in whole units as people write it."""
        return written(value, self.decimals)


def require_size(dimensions: Sequence[Dimension]) -> None:
    """Raise an error if a table with these sides would have too many cells."""
    sizes = [len(side) for side in dimensions]
    if prod(sizes) > MOST_CELLS:
        raise BadInput(
            f"The table would have {' × '.join(f'{size:,}' for size in sizes)} = {prod(sizes):,} cells; at most "
            f"{MOST_CELLS:,} are made.",
            hint="Begin at a coarser level (column@level), or leave a column out.",
        )


def require_names(sides: Sequence[str], what: str) -> None:
    """Raise an error if the columns of a table, which has one for each side and for its figures, share a name."""
    figure = what or COUNT
    if what == HIDDEN or HIDDEN in sides or figure in sides:
        name = figure if figure in sides else HIDDEN
        has = "figures" if name == figure else "what is hidden"
        raise BadInput(
            f"No side or value of a table is called {name!r}: this is the name of its column of {has}.",
            hint="Give the column another name.",
        )


def written(value: float, decimals: int) -> str:
    """A figure in whole units of 10 to the power of minus ``decimals`` as people write it."""
    if not np.isfinite(value):
        return "∞" if value > 0 else "-∞"
    if float(value).is_integer():
        return f"{Decimal(int(value)).scaleb(-decimals):,.{decimals}f}"
    return f"{value / 10**decimals:,.{decimals + 1}f}"


def summed(dimensions: Sequence[Dimension], inner: _Numbers) -> _Numbers:
    """The whole table of these ``inner`` figures, which are those of the leaves of every side, in their order."""
    table = inner
    for axis, side in enumerate(dimensions):
        whole = np.zeros((len(side), *np.delete(table.shape, axis)), dtype=table.dtype)
        whole[side.leaves] = np.moveaxis(table, axis, 0)
        for place in range(len(side) - 1, 0, -1):
            whole[side.parents[place]] += whole[place]
        table = np.moveaxis(whole, 0, axis)
    return np.ascontiguousarray(table)
