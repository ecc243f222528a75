"""Boxes: the simplest change of hidden cells that leaves every printed figure as it is.

Take a code and another along every side; move the corners of that box by the same amount, alternately up and down.
No total changes. This is what the hypercube method hides (Repsilber 1994), and a box whose corners all have room is by
itself a proof, in whole numbers, that an intruder cannot narrow its corners down any further. Totals of a nested side
take part in the same way: what moves from one leaf to another moves the totals above them up to the first they
share, and what comes from outside moves all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, Numbers

_TRIES = 4_000  # boxes looked at for one cell before the best so far is taken


class Boxes:
    """The boxes of all tables of these cells. A cell of several tables at once is in none of them."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        times = np.zeros(len(cells), np.int64)
        for places in cells.places:
            times[np.unique(places)] += 1
        self.shared = times > 1
        self._linked = bool(self.shared.any())
        self._sides = [Sides.of(table) for table in cells.tables]
        self._fall = cells.values - cells.lower
        self._rise = cells.upper - cells.values

    def cheapest(self, cell: int, below: float, above: float, cost: Numbers, shut: Numbers) -> Numbers | None:
        """The corners of the cheapest box found around a cell, all of which may fall and rise with it by so much.

        ``cost`` (float64) is of the cells, infinite for those that must not be corners; ``shut`` (bool) cells must
        not either.
        """
        from discreet.verbs.tabulate.intruder.box_kernel import cheapest  # Numba: a moment to load

        if self.shared[cell]:
            return None
        table, place = (int(of[cell]) for of in self._cells.homes)
        sides = self._sides[table]
        corners = cheapest(
            place,
            place // sides.stride % np.array(self._cells.tables[table].shape),
            sides,
            self._cells.places[table],
            cost,
            shut | self.shared if self._linked else shut,
            self._rise,
            self._fall,
            float(below),
            float(above),
            _TRIES,
        )
        return corners if len(corners) else None


class Sides(NamedTuple):
    """The sides of a table one behind the other, each side from its ``starts`` on."""

    stride: Numbers
    """How far apart two codes of a side are in the flattened table."""
    starts: Numbers
    parents: Numbers
    """For each code its total."""
    first: Numbers
    last: Numbers
    """The leaves under a code are those from first to last, in an order in which they stand together."""
    leaf_starts: Numbers
    leaves: Numbers

    @classmethod
    def of(cls, table: CrossTable) -> Sides:
        """Those of a table."""
        firsts, lasts, leaves = zip(*map(_spans, table.dimensions), strict=True)
        return cls(
            np.append(np.cumprod(table.shape[:0:-1])[::-1], 1).astype(np.int64),
            np.cumsum([0, *table.shape]),
            np.concatenate([np.array(side.parents, np.int64) for side in table.dimensions]),
            np.concatenate(firsts),
            np.concatenate(lasts),
            np.cumsum([0, *map(len, leaves)]),
            np.concatenate(leaves),
        )


def _spans(side: Dimension) -> tuple[Numbers, Numbers, Numbers]:
    """Of each code the first and the last of the leaves under it, and these leaves in an order of their own."""
    first, last = np.zeros(len(side), np.int64), np.zeros(len(side), np.int64)
    leaves: list[int] = []
    waiting = [(0, False)]
    while waiting:
        code, left = waiting.pop()
        if left:
            last[code] = len(leaves)
            continue
        first[code] = len(leaves)
        if not side.parts[code]:
            leaves.append(code)
        waiting.append((code, True))
        waiting += [(part, False) for part in reversed(side.parts[code])]
    return first, last, np.array(leaves, np.int64)
