"""Tables of counts or sums from rows, by GROUP BY on their engine, with the contributors to each cell.

What is promised, and why it holds on every engine:

- Each contribution is a whole number of units of 10 to the power of minus ``decimals`` before it is added, so that sums
  are exact, in any order, and engines agree. Halves are rounded up.
- A respondent is the card's unit, or a row if it has none. What a respondent has in several rows of a cell is added up
  first, and again for every total: someone with three shops in three cities is one contributor to their country. So
  counts and largest contributions of totals are asked for at every combination of levels, unless no respondent has two
  rows; then they follow from those of the inner cells.
- Rows without a value to add up contribute nothing, and are not counted as respondents.
- With sampling weights a respondent of weight w stands for w respondents of the same size, as statistical offices
  take it: the value is the sum of w·x, rounded in every inner cell; the n largest contributions are those of the n
  largest of them, with parts of a respondent where weights are not whole (x = 10 with w = 1.6 and x = 5 with w = 3 make
  10 and 0.6·10 + 0.4·5 = 8), rounded. Weights count in millionths. ``counts`` are those who answered, without their
  weights, and so is who is alone: a weight hides no one, since it may be known, and anyone who answered knows what they
  said. So rules on contributions take cells with one or two respondents as if all of it were of one (see ``protect``).
- Where contributions are negative, the largest are the largest in absolute value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.verbs.tabulate.tables.crosstable import (
    MOST_KEPT,
    Contributions,
    CrossTable,
    Numbers,
    require_names,
    require_size,
    summed,
)
from discreet.verbs.tabulate.tables.gather import LevelFigures, Measure, gather, measure
from discreet.verbs.tabulate.tables.respondents import alone, merged
from discreet.verbs.tabulate.tables.sides import Side, side


def build(
    table: Table,
    by: Sequence[str],
    value: str | None = None,
    *,
    weight: str | None = None,
    decimals: int | None = None,
    keep_largest: int = 2,
    declared: bool = False,
) -> CrossTable:
    """Count the rows of ``table`` by the columns ``by``, or add up their ``value``, with totals at every level.

    An entry of ``by`` is a column, or ``column@level`` to begin at a level of its hierarchy. ``decimals`` are those
    of the figures; by default none for counts and whole numbers, those of the column for decimals, 2 for reals.
    ``keep_largest`` of the contributions to each cell are kept, for rules on them. With ``declared`` the
    table also has the declared codes that no one has, for rules on empty cells.
    """
    if isinstance(by, str) or not by:
        raise BadInput("A table needs one or more columns.", hint='Name them in a list: ["region", "activity"].')
    if not 0 <= keep_largest <= MOST_KEPT:
        raise BadInput(f"keep_largest must be 0 to {MOST_KEPT}, not {keep_largest}.")
    what = measure(table, value, weight, decimals)
    sides = [side(what.rows, asked, declared=declared) for asked in by]
    dimensions = tuple(one.dimension for one in sides)
    require_size(dimensions)
    require_names([one.name for one in dimensions], value or "")
    keep = 0 if value is None and what.apart else keep_largest
    found = _Filling(sides, keep, what)
    found.add(gather(what, sides, [one.levels[0] for one in sides], keep))
    inner = np.ix_(*(one.leaves for one in dimensions))
    values = summed(dimensions, found.values[inner])
    if what.apart and what.weight is None:
        return CrossTable(dimensions, values, value or "", what.decimals, found.from_inner(values, inner))
    found.every_level()
    return CrossTable(dimensions, values, value or "", what.decimals, found.contributions())


class _Filling:
    """The figures of a table while they come in, a combination of levels at a time."""

    def __init__(self, sides: Sequence[Side], keep: int, what: Measure) -> None:
        self.sides, self.keep, self.what = sides, keep, what
        self.dimensions = tuple(one.dimension for one in sides)
        shape = tuple(map(len, self.dimensions))
        self.values = np.zeros(shape, np.int64)
        self.counts = np.zeros(shape, np.int64)
        self.sole = np.full(shape, -1, np.int64)
        self.absolute = np.zeros(shape, np.int64) if what.negative else None
        self.largest = np.zeros((*shape, keep), np.int64) if keep else None

    def add(self, found: LevelFigures) -> None:
        """Put the figures of some cells in their places."""
        at = found.places
        self.values[at] = found.values
        self.counts[at] = found.counts
        self.sole[at] = found.sole
        if self.absolute is not None:
            self.absolute[at] = found.absolute
        if self.largest is not None:
            self.largest[at] = found.largest

    def every_level(self) -> None:
        """Ask for the totals, each combination of levels by itself."""
        combinations: list[list[int | None]] = [[]]
        for one in self.sides:
            combinations = [[*before, level] for before in combinations for level in one.levels]
        for levels in combinations[1:]:
            self.add(gather(self.what, self.sides, levels, self.keep))

    def contributions(self) -> Contributions:
        """Who is in each cell, when all are filled."""
        sole = self.sole
        if not self.what.unit:
            ones = (self.sole >= 0).astype(np.int64)
            sole = alone(CrossTable(self.dimensions, self.values), ones)
        return Contributions(self.counts, self.largest, sole, self.absolute)

    def from_inner(self, values: Numbers, inner: Any) -> Contributions:
        """Who is in each cell, if no one is in two inner ones."""
        counts = summed(self.dimensions, self.counts[inner])
        numbers = summed(self.dimensions, np.where(self.counts[inner] == 1, self.sole[inner], 0))
        if self.what.unit:
            sole = np.where(counts == 1, numbers, -1)
        else:
            sole = alone(CrossTable(self.dimensions, values), counts)
        return Contributions(
            counts,
            None if self.largest is None else merged(self.dimensions, self.largest[inner]),
            sole,
            None if self.absolute is None else summed(self.dimensions, self.absolute[inner]),
        )
