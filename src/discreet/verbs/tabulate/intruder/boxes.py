"""Boxes: the simplest change of hidden cells that leaves every printed figure as it is.

Take a code and another along every side; move the corners of that box by the same amount, alternately up and down.
No total changes. This is what the hypercube method hides (Repsilber 1994), and a box whose corners all have room is by
itself a proof, in whole numbers, that an intruder cannot narrow its corners down any further. Totals of a nested side
take part in the same way: what moves from one leaf to another moves the totals above them up to the first they
share, and what comes from outside moves all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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
        self._sides = [_Sides.of(table) for table in cells.tables]
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
            place // sides.stride % sides.shape,
            sides.stride,
            sides.starts,
            sides.parents,
            sides.first,
            sides.last,
            sides.leaf_starts,
            sides.leaves,
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


@dataclass(frozen=True, eq=False)
class _Sides:
    """The sides of a table one behind the other: where each starts, and for each code its total and its leaves."""

    shape: Numbers
    parents: Numbers
    first: Numbers
    last: Numbers
    """The leaves under a code are those from first to last, in an order in which they stand together."""
    leaves: Numbers

    @classmethod
    def of(cls, table: CrossTable) -> _Sides:
        spans = [_spans(side) for side in table.dimensions]
        return cls(
            np.array(table.shape, np.int64),
            np.concatenate([np.array(side.parents, np.int64) for side in table.dimensions]),
            np.concatenate([first for first, _, _ in spans]),
            np.concatenate([last for _, last, _ in spans]),
            np.concatenate([leaves for _, _, leaves in spans]),
        )

    @cached_property
    def stride(self) -> Numbers:
        return np.append(np.cumprod(self.shape[:0:-1])[::-1], 1).astype(np.int64)

    @cached_property
    def starts(self) -> Numbers:
        return np.concatenate([[0], np.cumsum(self.shape)])

    @cached_property
    def leaf_starts(self) -> Numbers:
        counts = [int(self.last[start]) for start in self.starts[:-1]]
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _spans(side: Dimension) -> tuple[Numbers, Numbers, Numbers]:
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
