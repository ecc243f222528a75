"""Master problem of optimal suppression: the cheapest cells that satisfy the inequalities so far (LP in HiGHS)."""

from __future__ import annotations

import time

import numpy as np

from discreet.core.programs import DUAL, SMALLEST_COEFFICIENT, Matrix, Numbers, Program, Solver

_OFTEN = 20  # rounds an inequality may be slack before it is forgotten
_LASTING = 200  # as many more for one that no share alone made


class Master:
    """Minimise the weight of the hidden cells so that in every inequality the coefficients of these sum to 1 or more.

    Only cells that may pay are columns of the program; the others are priced. Whatever multipliers the solver gives,
    the bound is computed from them here, so it holds however exact the solver is.
    """

    def __init__(self, weights: Numbers, may: Numbers, room: Numbers) -> None:
        self.weights = np.where(may, weights, 0.0)
        self.may = may.copy()
        self.integral = bool((self.weights == np.round(self.weights)).all())
        self.helps = np.argsort(np.argsort(room, kind="stable")) / len(room)
        self.column = np.full(len(weights), -1, np.int32)
        self.cells = np.empty(0, np.int64)
        self.rows: list[tuple[Numbers, Numbers]] = []
        self.keys: list[int] = []
        self.known: set[int] = set()
        self.idle: list[int] = []
        self.share = np.zeros(len(weights))
        self.multipliers = np.empty(0)
        self.solver = Solver(presolve="off", simplex_strategy=DUAL)

    def admit(self, cells: Numbers) -> None:
        fresh = cells[(self.column[cells] < 0) & self.may[cells]]
        if not len(fresh):
            return
        place = np.full(len(self.column), -1, np.int64)
        place[fresh] = np.arange(len(fresh))
        parts = [
            (np.full(int(inside.sum()), row), place[which[inside]], by[inside])
            for row, (which, by) in enumerate(self.rows)
            if (inside := place[which] >= 0).any()
        ]
        rows, columns, values = (
            (np.concatenate(part) for part in zip(*parts, strict=True)) if parts else [np.empty(0)] * 3
        )
        order = np.argsort(columns, kind="stable")
        starts = np.searchsorted(columns[order], np.arange(len(fresh) + 1))
        matrix = Matrix(starts, rows[order], values[order], len(self.rows), by_rows=False)
        self.solver.add_columns(self.weights[fresh], 0.0, 1.0, matrix)
        self.column[fresh] = len(self.cells) + np.arange(len(fresh))
        self.cells = np.concatenate([self.cells, fresh])

    def require(self, cuts: list[tuple[Numbers, Numbers]], lasting: bool = False) -> None:
        """Add inequalities; lasting ones are such that whole choices violate. What is there is not added."""
        keys = [hash((which.tobytes(), by.tobytes())) for which, by in cuts]
        cuts = [cut for cut, key in zip(cuts, keys, strict=True) if key not in self.known]
        keys = [key for key in keys if key not in self.known]
        if not cuts:
            return
        self.solver.add_rows(1.0, np.inf, covering(cuts, self.column))
        self.rows += cuts
        self.keys += keys
        self.known.update(keys)
        self.idle += [-_LASTING if lasting else 0] * len(cuts)

    def solve(self) -> Numbers:
        """The best shares of all cells between 0 and 1."""
        self.solver.run()
        share, sums, duals = self.solver.solution()
        share = np.clip(share, 0.0, 1.0)
        share[share < 1e-9] = 0.0
        share[share > 1 - 1e-9] = 1.0
        self.share = np.zeros(len(self.weights))
        self.share[self.cells] = share
        self.multipliers = np.maximum(duals, 0.0)
        slack = sums > 1 + 1e-6
        self.idle = [count + 1 if loose else min(count, 0) for count, loose in zip(self.idle, slack, strict=True)]
        return self.share

    def forget(self) -> None:
        """Forget the inequalities that were slack for long."""
        old = [row for row, count in enumerate(self.idle) if count > _OFTEN]
        if not old:
            return
        self.solver.delete_rows(old)
        gone = set(old)
        self.known.difference_update(self.keys[row] for row in old)
        self.rows = [one for row, one in enumerate(self.rows) if row not in gone]
        self.keys = [one for row, one in enumerate(self.keys) if row not in gone]
        self.idle = [one for row, one in enumerate(self.idle) if row not in gone]
        self.multipliers = np.delete(self.multipliers, old)

    def reduced(self) -> tuple[float, Numbers]:
        """The Lagrangian bound of the multipliers, and how much each cell costs more than it helps."""
        costs = self.weights.copy()
        for row in np.flatnonzero(self.multipliers > 0):
            which, by = self.rows[row]
            costs[which] -= self.multipliers[row] * by
        bound = self.multipliers.sum() + np.minimum(costs[self.may], 0.0).sum()
        return float(bound), costs

    def exclude(self, cells: Numbers) -> None:
        """Never hide these cells: every pattern with one of them is worse than one that is known."""
        self.may[cells] = False
        columns = self.column[cells]
        self.solver.set_bounds(columns[columns >= 0], 0.0, 0.0)


def covering(cuts: list[tuple[Numbers, Numbers]], column: Numbers) -> Matrix:
    """The rows of these inequalities over the cells that have a column."""
    parts = [(column[which], by) for which, by in cuts]
    return Matrix.of_rows((own[own >= 0], np.maximum(by[own >= 0], SMALLEST_COEFFICIENT)) for own, by in parts)


def whole(master: Master, best: Numbers, weight: float, gap: float, until: float) -> tuple[Numbers | None, float]:
    """Shares of 0 or 1 (none if there was no time for any), and a weight that nothing better than the best is below."""
    cells = np.flatnonzero(master.may)
    place = np.full(len(master.may), -1, np.int32)
    place[cells] = np.arange(len(cells))
    cost = master.weights[cells]
    if master.integral:
        # of choices of equal weight rather that with much room: it changes no order, as fewer than ``most`` are chosen
        most = min(len(cells), int(weight / max(cost.min(), 1.0)) + 1)
        cost = cost - 0.9 / most * master.helps[cells]
    found = Program(cost, covering(master.rows, place), 1.0, np.inf, 0.0, 1.0, integral=True).solve(
        until - time.monotonic(), gap=max(gap / 2, 1e-9), start=best[cells], mip_feasibility_tolerance=1e-7
    )
    if found.x is None:
        return None, found.bound
    share = np.zeros(len(master.may))
    share[cells] = np.round(found.x)
    return share, found.bound
