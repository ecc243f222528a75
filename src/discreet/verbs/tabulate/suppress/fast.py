"""Hypercube suppression of very large tables: hide boxes around sensitive cells.

Why boxes and not Gaussian elimination: what elimination leaves hidden is only safe from being computed exactly, and it
needs all relations at once, while a box whose corners have room proves that a cell keeps its whole interval, in whole
numbers, and looks at no more than a cell's neighbours. So time grows with the number of sensitive cells and not with
a power of the number of cells.
"""

from __future__ import annotations

import time
from collections.abc import Collection

import numpy as np

from discreet.releases.method import Progress, silent
from discreet.verbs.tabulate.intruder.boxes import Boxes
from discreet.verbs.tabulate.method import Pattern, Protection
from discreet.verbs.tabulate.suppress.completion import completed
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import Numbers

_PASSES = 4
_AGAIN = 0.5  # of the time at most is for giving boxes back


def fast(
    cells: Cells,
    protection: Protection,
    weights: Numbers,
    candidates: Numbers,
    *,
    seconds: float,
    gap: float = 0.0,
    progress: Progress = silent,
) -> Pattern:
    """A pattern that protects, found quickly; how much more than necessary it hides is not known.

    Each sensitive cell takes the cheapest box around it, what is hidden already being free, and another one that
    leaves alone the cells of every insider the first one needs. Then each in turn gives its boxes back and takes the
    cheapest again, now that all others are known. Cells without a box (shared by several tables, or with too little
    room around) are completed by linear programs. ``gap`` is not looked at: there is no bound to compare with.
    """
    start = time.monotonic()
    cost = np.where(candidates, weights, np.inf).astype(np.float64)
    cost[protection.sensitive] = 0.0
    held = _HeldBoxes(cells, protection, cost)
    level = np.where(protection.sensitive, np.maximum(protection.below, protection.above), 0.0)
    order = np.argsort(-level, kind="stable")[: np.count_nonzero(level)]
    weight = np.inf
    for turn in range(_PASSES):
        for place, cell in enumerate(order.tolist()):
            if time.monotonic() > start + seconds * (_AGAIN if turn else 1.0):
                break
            held.take(cell)
            if place % 1000 == 0:
                progress(0.8 * (turn + place / len(order)) / _PASSES, "suppressing hypercubes around sensitive cells")
        if held.weight() > 0.999 * weight:
            break
        weight = held.weight()
    hidden = completed(
        cells,
        protection,
        held.hidden(),
        cost,
        until=start + seconds,
        only=np.array([cell for cell in order.tolist() if cell not in held.boxes], np.int64),
        progress=lambda share, what: progress(0.8 + 0.2 * share, what),
    )
    return Pattern(hidden, float(weights[hidden & ~protection.sensitive].sum()), -np.inf, "fast")


class _HeldBoxes:
    """Which boxes each sensitive cell holds, and so which cells are suppressed."""

    def __init__(self, cells: Cells, protection: Protection, cost: Numbers) -> None:
        self._boxes = Boxes(cells)
        self._protection, self._price, self._cost = protection, cost, cost.copy()
        self._times = np.zeros(len(cost), np.int64)
        self.boxes: dict[int, list[Numbers]] = {}
        """Of each cell for which there are enough."""
        self._shut = np.zeros(len(cost), bool)
        self._insiders = [np.array(known, np.int64) for known in protection.insiders]
        self._without: set[int] = set()

    def hidden(self) -> Numbers:
        return (self._times > 0) | self._protection.sensitive

    def weight(self) -> float:
        """Of the cells that are hidden now."""
        return float(self._price[self._times > 0].sum())

    def take(self, cell: int) -> None:
        """Give back the boxes of a cell and take the cheapest there are now."""
        if cell in self._without:
            return
        self._give_back(cell)
        below, above = float(self._protection.below[cell]), float(self._protection.above[cell])
        if self._taken(cell, below, above):
            return
        self._give_back(cell)
        if not all(self._taken(cell, *need) for need in ((below, 0.0), (0.0, above)) if any(need)):
            self._give_back(cell)
            self._without.add(cell)

    def _taken(self, cell: int, below: float, above: float) -> bool:
        """Take boxes that keep everyone off a cell, if there are such."""
        first = self._take_one(cell, below, above, ())
        if first is None:
            return False
        touched = {one for corner in first.tolist() for one in self._protection.owners.get(corner, ())}
        touched -= self._protection.spared.get(cell, frozenset())
        return (
            not touched
            or self._take_one(cell, below, above, touched) is not None
            or all(self._take_one(cell, below, above, {one}) is not None for one in touched)
        )

    def _take_one(self, cell: int, below: float, above: float, insiders: Collection[int]) -> Numbers | None:
        """Take the cheapest box in which nothing moves that these insiders know."""
        for one in insiders:
            self._shut[self._insiders[one]] = True
        box = self._boxes.cheapest(cell, below, above, self._cost, self._shut)
        for one in insiders:
            self._shut[self._insiders[one]] = False
        if box is not None:
            self._times[box] += 1
            self._cost[box] = 0.0
            self.boxes.setdefault(cell, []).append(box)
        return box

    def _give_back(self, cell: int) -> None:
        for box in self.boxes.pop(cell, []):
            self._times[box] -= 1
            free = box[self._times[box] == 0]
            self._cost[free] = self._price[free]
