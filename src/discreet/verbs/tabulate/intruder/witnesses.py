"""Witness tables: possible tables in which a sensitive cell is as far off as its protection level asks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.verbs.attack.intruder.extents import Tick, in_turn, reaching
from discreet.verbs.attack.intruder.unknowns import MergedUnknowns, Simplex, Unknowns, unknowns
from discreet.verbs.tabulate.intruder.boxes import Boxes
from discreet.verbs.tabulate.method import Protection
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import Numbers

_NEARLY = 1 - 1e-7  # of a level: less is rounding


@dataclass(frozen=True)
class Shortfall:
    """A sensitive cell that can be computed too closely."""

    cell: int
    side: int
    """1: it cannot be as much larger as it must; -1: smaller."""
    insider: int | None
    """By whom: a place in ``Protection.insiders``, or by anyone."""


class Witnesses:
    """Looks for witnesses if these cells are hidden: boxes first, which are quick, then flows or linear programs."""

    def __init__(self, cells: Cells, hidden: Numbers, protection: Protection) -> None:
        self._boxes = Boxes(cells)
        self._cost = np.where(hidden, 0.0, np.inf)
        self._nobody = np.zeros(len(cells), bool)
        self._insiders = [np.array(known, np.int64) for known in protection.insiders]
        self._spared, self._owners = protection.spared, protection.owners
        self._parts = unknowns(cells, hidden)
        self._part = np.full(len(cells), -1)
        for number, part in enumerate(self._parts):
            self._part[part.cells] = number
        self._movers: dict[int, _Mover] = {}

    def lacking(self, asked: Numbers, below: Numbers, above: Numbers, progress: Tick) -> list[Shortfall]:
        """The shortfalls of these cells, if they must be able to move by so much."""
        found, left = [], []
        for place, cell in enumerate(asked.tolist()):
            progress(0.5 * place / len(asked))
            support = self._boxes.cheapest(cell, below[cell], above[cell], self._cost, self._nobody)
            if support is None or self._touched(cell, support):
                left += [(cell, -1, float(below[cell])), (cell, 1, float(above[cell]))]
        left = [one for one in left if one[2] > 0]
        crowded = {int(self._part[cell]) for cell in self._owners}
        alone = [one for one in left if self._part[one[0]] not in crowded]
        found += self._from_nobody_inside([one for one in alone if self._part[one[0]] >= 0], lambda _: progress(0.5))
        found += [Shortfall(cell, side, None) for cell, side, _ in alone if self._part[cell] < 0]
        rest = [one for one in left if self._part[one[0]] in crowded]
        for place, (cell, side, level) in enumerate(rest):
            progress(0.5 + 0.5 * place / len(rest))
            found += self._one(cell, side, level)
        progress(1.0)
        return found

    def _one(self, cell: int, side: int, level: float) -> list[Shortfall]:
        """The shortfalls of one side of one cell: of everyone, or of those insiders whose cells a witness needs."""
        support = self._support(cell, side, level, np.empty(0, np.int64))
        if support is None:
            return [Shortfall(cell, side, None)]
        touched = self._touched(cell, support)
        if not touched:
            return []
        together = np.unique(np.concatenate([self._insiders[one] for one in touched]))
        if self._support(cell, side, level, together) is not None:
            return []
        return [
            Shortfall(cell, side, one)
            for one in touched
            if self._support(cell, side, level, self._insiders[one]) is None
        ]

    def _touched(self, cell: int, support: Numbers) -> list[int]:
        """The insiders who see that this is not the true table, but for those from whom the cell need not be kept."""
        if not self._owners:
            return []
        seen = {one for moved in support.tolist() for one in self._owners.get(moved, ())}
        return sorted(seen - self._spared.get(cell, frozenset()))

    def _support(self, cell: int, side: int, level: float, shut: Numbers) -> Numbers | None:
        """The cells that move in a witness in which the ``shut`` ones do not, or none if there is none."""
        closed = self._nobody
        if len(shut):
            closed = closed.copy()
            closed[shut] = True
        below, above = (0.0, level) if side > 0 else (level, 0.0)
        corners = self._boxes.cheapest(cell, below, above, self._cost, closed)
        if corners is not None or self._part[cell] < 0:
            return corners
        number = int(self._part[cell])
        if number not in self._movers:
            self._movers[number] = _Mover(self._parts[number])
        return self._movers[number].support(cell, side, level, shut)

    def _from_nobody_inside(self, asked: list[tuple[int, int, float]], tick: Tick) -> list[Shortfall]:
        """The shortfalls where no insider is: every possible table found counts for all cells of a part."""
        needs: dict[int, tuple[Unknowns, Numbers, Numbers]] = {}
        for cell, side, level in asked:
            part = self._parts[int(self._part[cell])]
            _, below, above = needs.setdefault(int(part.cells[0]), (part, np.zeros(len(part)), np.zeros(len(part))))
            (below if side < 0 else above)[part.column(np.array([cell]))] = level
        return [
            Shortfall(int(part.cells[column]), side, None)
            for part, below, above, _, (fall, rise) in in_turn(reaching, [(*need, tick) for need in needs.values()])
            for side, moved, need in ((-1, fall, below), (1, rise, above))
            for column in np.flatnonzero(moved < need * _NEARLY)
        ]


class _Mover:
    """Moves one cell of a part: along a network if it is one, else by linear programs."""

    def __init__(self, part: Unknowns) -> None:
        from discreet.verbs.attack.intruder.network import Network

        self._part = part
        network = Network.of(part.relations)
        self._network = None if network is None else network.opened(part.rise, part.fall)

    @cached_property
    def _merged(self) -> MergedUnknowns:
        return MergedUnknowns.of(self._part)

    @cached_property
    def _program(self) -> Simplex:
        return Simplex(self._merged.part)

    def support(self, cell: int, side: int, level: float, shut: Numbers) -> Numbers | None:
        """The cells that move if one rises (1) or falls (-1) by a level and the shut ones stay; none if it cannot."""
        column = int(self._part.column(np.array([cell]))[0])
        closed = self._part.column(shut)
        if (self._part.rise if side > 0 else self._part.fall)[column] < level * _NEARLY:
            return None
        if self._network is not None:
            reach = self._network.reach(column, side, level, closed)
            return self._part.cells[np.append(reach.moved, column)] if reach.amount >= level * _NEARLY else None
        there = int(self._merged.column[column])
        closed = np.unique(self._merged.column[closed])
        if there < 0 or there in closed:
            return None
        side = -side if self._merged.turned[column] else side
        amount, moved = self._program.reach(there, side, level, closed[closed >= 0])
        return self._part.cells[np.isin(self._merged.column, moved)] if amount >= level * _NEARLY else None
