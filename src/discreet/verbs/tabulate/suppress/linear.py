"""Feasibility intervals in any table, by a linear program kept warm in HiGHS."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import EngineError
from discreet.verbs.tabulate.optional_imports import highspy, sparse
from discreet.verbs.tabulate.suppress.interval import Cut, Reach

_Numbers = np.ndarray[Any, Any]
_NEAR = 1e-9
_FAR = 1e3  # a change of one cell by more than this many times what another one needs is not looked for
_TOLL = 1e-5  # on every change, so that a solution leaves at 0 what need not change


class Linear:
    """The relations as a linear program over the changes of all cells. An intruder is taken to know no more than
    that figures are real numbers within their bounds."""

    def __init__(self, relations: Any) -> None:
        self.relations = sparse().csc_array(relations, dtype=np.float64)
        self.down = sparse().csr_array(self.relations.T)
        self.changes: Any = None
        self.column = np.full(self.relations.shape[1], -1, np.int32)

    def hold(self, cells: _Numbers) -> Any:
        """A solver with a column for the rise of each of these cells (and of few others), then one for each fall.

        All are 0 between two questions.
        """
        if (self.column[cells] < 0).any() or self.column.max() > 2 * len(cells):
            self.changes = _solver(self.relations[:, cells])
            self.column[:] = -1
            self.column[cells] = np.arange(len(cells))
        return self.changes

    @cached_property
    def priced(self) -> Any:
        """A solver in which a column is the rise of a cell, and as many more are the falls."""
        return _solver(self.relations)

    def opened(self, rise: _Numbers, fall: _Numbers, share: _Numbers | None = None) -> Opened:
        """The program in which each cell may rise and fall by so much, times its share; see ``Network.opened``."""
        share = np.ones(len(rise)) if share is None else share
        return Opened(self, rise, fall, share, np.flatnonzero(((rise > 0) | (fall > 0)) & (share > 0)))

    def cheapest(  # noqa: PLR0917
        self, cell: int, side: int, enough: float, rise: _Numbers, fall: _Numbers, price: _Numbers, shut: _Numbers
    ) -> _Numbers | None:
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
        solver, every = self.priced, np.arange(2 * count, dtype=np.int32)
        solver.changeColsBounds(2 * count, every, least, room)
        solver.changeColsCost(2 * count, every, cost / most if most > 0 else cost)
        solver.run()
        if solver.getModelStatus() == highspy().HighsModelStatus.kInfeasible:
            return None
        moved = np.flatnonzero(_solved(solver)[0] > _NEAR) % count
        return np.setdiff1d(moved, [cell])


@dataclass(frozen=True, eq=False)
class Opened:
    """A linear program and how much each cell may change; asked for one cell after another."""

    program: Linear
    rise: _Numbers
    fall: _Numbers
    share: _Numbers
    arcs: _Numbers
    """The cells that may change."""

    def reach(self, cell: int, side: int, enough: float, shut: _Numbers | None = None) -> Reach:
        """How far a cell can rise (side 1) or fall (side -1), up to ``enough``; ``shut`` cells stay as they are.

        The program is in units of ``enough``. The cut comes from the values of the relations (the dual): whatever
        they are, they prove it, since they only add relations up.
        """
        solver = self.program.hold(np.union1d(self.arcs, cell))
        which = self.arcs if shut is None else np.setdiff1d(self.arcs, shut)
        which = which[which != cell].astype(np.int32)
        most = 1.0 if (self.share[which] < 1).any() else _FAR
        forth, back = (np.minimum(room[which] / enough, most) * self.share[which] for room in (self.rise, self.fall))
        falls = solver.getNumCol() // 2
        columns = self.program.column[which]
        both = np.concatenate([columns, columns + falls])
        own = int(self.program.column[cell]) + (falls if side < 0 else 0)
        nothing = np.zeros(len(both))
        solver.changeColsBounds(len(both), both, nothing, np.concatenate([forth, back]))
        solver.changeColBounds(own, 0.0, 1.0)
        solver.changeColCost(own, -1.0)
        change, values = _solved(solver)
        if change[own] < 1 - 1e-7:  # perhaps for the toll, which blurs the values of the relations too
            solver.changeColsCost(len(both), both, nothing)
            change, values = _solved(solver)
            solver.changeColsCost(len(both), both, nothing + _TOLL)
        solver.changeColsBounds(len(both), both, nothing, nothing)
        solver.changeColBounds(own, 0.0, 0.0)
        solver.changeColCost(own, _TOLL)
        amount = change[own]
        by = change[columns] - change[columns + falls]
        moved, by = which[np.abs(by) > _NEAR], by[np.abs(by) > _NEAR] * enough
        if amount >= 1 - 1e-7:
            return Reach(enough, moved, by)
        return self._short(cell, side, amount * enough, moved, by, values, shut)

    def _short(  # noqa: PLR0917
        self,
        cell: int,
        side: int,
        amount: float,
        moved: _Numbers,
        by: _Numbers,
        values: _Numbers,
        shut: _Numbers | None,
    ) -> Reach:
        times = self.program.down @ values
        own = times[cell] * side  # -1, but for rounding
        times[cell] = 0.0
        if shut is not None:
            times[shut] = 0.0
        times /= -own if own < -0.5 else 1.0
        times[np.abs(times) < _NEAR] = 0.0
        cut = np.flatnonzero(times)
        return Reach(amount, moved, by, (Cut(cut, np.maximum(times[cut], 0.0), np.maximum(-times[cut], 0.0)),))


def _solved(solver: Any) -> tuple[_Numbers, _Numbers]:
    """The changes, and the values of the relations."""
    solver.run()
    if solver.getModelStatus() != highspy().HighsModelStatus.kOptimal:
        raise EngineError("HiGHS could not compute how far a cell may change.", hint="Print fewer decimals.")
    solution = solver.getSolution()
    return np.array(solution.col_value), np.array(solution.row_dual)


def _solver(relations: Any) -> Any:
    """A program of rises and falls, all 0, that keep the relations."""
    lib = highspy()
    solver = lib.Highs()
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("presolve", "off"),
        ("simplex_strategy", 4),
        ("primal_feasibility_tolerance", _NEAR),
        ("dual_feasibility_tolerance", _NEAR),
    ):
        solver.setOptionValue(option, value)
    matrix = sparse().csc_array(sparse().hstack([relations, -relations]))
    rows, columns = matrix.shape
    empty, none = np.empty(0, np.int32), np.empty(0)
    solver.addRows(rows, np.zeros(rows), np.zeros(rows), 0, empty, empty, none)
    solver.addCols(
        columns,
        np.full(columns, _TOLL),
        np.zeros(columns),
        np.zeros(columns),
        matrix.nnz,
        matrix.indptr[:-1].astype(np.int32),
        matrix.indices.astype(np.int32),
        matrix.data,
    )
    return solver
