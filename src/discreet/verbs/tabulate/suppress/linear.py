"""Feasibility intervals in any table, by a linear program kept warm in HiGHS."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.programs import WARM, Numbers, Program, Solver, Status
from discreet.verbs.attack.intruder.network import Cut, Reach
from discreet.verbs.attack.intruder.sparse import sparse

_NEAR = 1e-9
_FAR = 1e3  # a change of one cell by more than this many times what another one needs is not looked for
_TOLL = 1e-5  # on every change, so that a solution leaves at 0 what need not change


class Linear:
    """The relations as a linear program over the changes of all cells. An intruder is taken to know no more than
    that figures are real numbers within their bounds."""

    def __init__(self, relations: Any) -> None:
        self.relations = sparse().csc_array(relations, dtype=np.float64)
        self.down = sparse().csr_array(self.relations.T)
        self.changes = Solver()
        self.column = np.full(self.relations.shape[1], -1, np.int32)

    def hold(self, cells: Numbers) -> Solver:
        """A solver with a column for the rise of each of these cells (and of few others), then one for each fall.

        All are 0 between two questions.
        """
        if (self.column[cells] < 0).any() or self.column.max() > 2 * len(cells):
            self.changes = _solver(self.relations[:, cells])
            self.column[:] = -1
            self.column[cells] = np.arange(len(cells))
        return self.changes

    @cached_property
    def priced(self) -> Solver:
        """A solver in which a column is the rise of a cell, and as many more are the falls."""
        return _solver(self.relations)

    def opened(self, rise: Numbers, fall: Numbers, share: Numbers | None = None) -> OpenProgram:
        """The program in which each cell may rise and fall by so much, times its share; see ``Network.opened``."""
        share = np.ones(len(rise)) if share is None else share
        return OpenProgram(self, rise, fall, share, np.flatnonzero(((rise > 0) | (fall > 0)) & (share > 0)))

    def cheapest(  # noqa: PLR0917
        self, cell: int, side: int, enough: float, rise: Numbers, fall: Numbers, price: Numbers, shut: Numbers
    ) -> Numbers | None:
        """Cells that let one change by ``enough``, of small price together; what cannot be hidden has no rise or fall.

        The price of a cell is spread over what it can take, which makes a linear program of it (Kelly, Golden &
        Assad 1992). None if there are no such cells.
        """
        count = len(rise)
        room = np.concatenate([rise, fall]) / enough
        cost = np.concatenate([price, price])
        cost = np.where(room > 0, cost / np.clip(room, _NEAR, 1.0), 0.0)
        room = np.minimum(room, _FAR)
        room[np.concatenate([shut, shut + count])] = 0.0
        most = cost.max(initial=0.0)
        least = np.zeros(2 * count)
        least[cell if side > 0 else cell + count] = 1.0
        room[[cell, cell + count]] = [1.0, 0.0] if side > 0 else [0.0, 1.0]
        solver, every = self.priced, np.arange(2 * count)
        solver.set_bounds(every, least, room)
        solver.set_costs(every, cost / most if most > 0 else cost)
        if solver.run() is Status.INFEASIBLE:
            return None
        return np.setdiff1d(np.flatnonzero(solver.optimum().x > _NEAR) % count, [cell])


@dataclass(frozen=True, eq=False)
class OpenProgram:
    """A linear program and how much each cell may change; asked for one cell after another."""

    program: Linear
    rise: Numbers
    fall: Numbers
    share: Numbers
    arcs: Numbers
    """The cells that may change."""

    def reach(self, cell: int, side: int, enough: float, shut: Numbers | None = None) -> Reach:
        """How far a cell can rise (side 1) or fall (side -1), up to ``enough``; ``shut`` cells stay as they are.

        The program is in units of ``enough``. The cut comes from the values of the relations (the dual): whatever
        they are, they prove it, since they only add relations up.
        """
        solver = self.program.hold(np.union1d(self.arcs, cell))
        which = self.arcs if shut is None else np.setdiff1d(self.arcs, shut)
        which = which[which != cell].astype(np.int32)
        most = 1.0 if (self.share[which] < 1).any() else _FAR
        forth, back = (np.minimum(room[which] / enough, most) * self.share[which] for room in (self.rise, self.fall))
        falls = solver.columns // 2
        columns = self.program.column[which]
        both = np.concatenate([columns, columns + falls])
        own = self.program.column[[cell]] + (falls if side < 0 else 0)
        solver.set_bounds(both, 0.0, np.concatenate([forth, back]))
        solver.set_bounds(own, 0.0, 1.0)
        solver.set_costs(own, -1.0)
        change, _, values = solver.optimum()
        if change[own[0]] < 1 - 1e-7:  # perhaps for the toll, which blurs the values of the relations too
            solver.set_costs(both, 0.0)
            change, _, values = solver.optimum()
            solver.set_costs(both, _TOLL)
        solver.set_bounds(both, 0.0, 0.0)
        solver.set_bounds(own, 0.0, 0.0)
        solver.set_costs(own, _TOLL)
        amount = change[own[0]]
        by = change[columns] - change[columns + falls]
        moved, by = which[np.abs(by) > _NEAR], by[np.abs(by) > _NEAR] * enough
        if amount >= 1 - 1e-7:
            return Reach(enough, moved, by)
        times = self.program.down @ values
        value = times[cell] * side  # -1, but for rounding
        times[[cell] if shut is None else [cell, *shut]] = 0.0
        times /= -value if value < -0.5 else 1.0
        times[np.abs(times) < _NEAR] = 0.0
        cut = np.flatnonzero(times)
        cuts = (Cut(cut, np.maximum(times[cut], 0.0), np.maximum(-times[cut], 0.0)),)
        return Reach(amount * enough, moved, by, cuts)


def _solver(relations: Any) -> Solver:
    """A program of rises and falls, all 0, that keep the relations."""
    solver = Solver(**WARM)
    cost = np.full(2 * relations.shape[1], _TOLL)
    solver.load(Program(cost, sparse().hstack([relations, -relations], format="csc"), 0.0, 0.0, 0.0, 0.0))
    return solver
