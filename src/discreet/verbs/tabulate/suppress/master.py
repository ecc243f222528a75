"""Master problem of optimal suppression: the cheapest cells that satisfy the inequalities so far (LP in HiGHS)."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.verbs.tabulate.optional_imports import highspy

_Numbers = np.ndarray[Any, Any]
_OFTEN = 20  # rounds an inequality may be slack before it is forgotten
_LASTING = 200  # as many more for one that no share alone made


class Master:
    """Minimise the weight of the hidden cells so that in every inequality the coefficients of these sum to 1 or more.

    Only cells that may pay are columns of the program; the others are priced. Whatever multipliers the solver gives,
    the bound is computed from them here, so it holds however exact the solver is.
    """

    def __init__(self, weights: _Numbers, may: _Numbers, room: _Numbers) -> None:
        self.weights = np.where(may, weights, 0.0)
        self.may = may.copy()
        self.integral = bool((self.weights == np.round(self.weights)).all())
        self.helps = np.argsort(np.argsort(room, kind="stable")) / len(room)
        self.column = np.full(len(weights), -1, np.int32)
        self.cells = np.empty(0, np.int64)
        self.rows: list[tuple[_Numbers, _Numbers]] = []
        self.keys: list[int] = []
        self.known: set[int] = set()
        self.idle: list[int] = []
        self.share = np.zeros(len(weights))
        self.multipliers = np.empty(0)
        self.solver = highspy().Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("presolve", "off"), ("simplex_strategy", 1)):
            self.solver.setOptionValue(option, value)

    def admit(self, cells: _Numbers) -> None:
        """Make columns of these cells."""
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
        starts = np.searchsorted(columns[order], np.arange(len(fresh)))
        self.solver.addCols(
            len(fresh),
            self.weights[fresh],
            np.zeros(len(fresh)),
            np.ones(len(fresh)),
            len(order),
            starts.astype(np.int32),
            rows[order].astype(np.int32),
            values[order],
        )
        self.column[fresh] = len(self.cells) + np.arange(len(fresh))
        self.cells = np.concatenate([self.cells, fresh])

    def require(self, cuts: list[tuple[_Numbers, _Numbers]], lasting: bool = False) -> None:
        """Add inequalities; lasting ones are such that whole choices violate. What is there is not added."""
        keys = [hash((which.tobytes(), by.tobytes())) for which, by in cuts]
        cuts = [cut for cut, key in zip(cuts, keys, strict=True) if key not in self.known]
        keys = [key for key in keys if key not in self.known]
        if not cuts:
            return
        parts = [(self.column[which], by) for which, by in cuts]
        parts = [(columns[columns >= 0], by[columns >= 0]) for columns, by in parts]
        starts = np.cumsum([0, *(len(columns) for columns, _ in parts)])
        self.solver.addRows(
            len(cuts),
            np.ones(len(cuts)),
            np.full(len(cuts), np.inf),
            int(starts[-1]),
            starts[:-1].astype(np.int32),
            np.concatenate([columns for columns, _ in parts]),
            np.maximum(np.concatenate([by for _, by in parts]), 1e-8),  # HiGHS drops what is smaller
        )
        self.rows += cuts
        self.keys += keys
        self.known.update(keys)
        self.idle += [-_LASTING if lasting else 0] * len(cuts)

    def solve(self) -> _Numbers:
        """The best shares of all cells between 0 and 1."""
        self.solver.run()
        solution = self.solver.getSolution()
        share = np.clip(np.array(solution.col_value), 0.0, 1.0)
        share[share < 1e-9] = 0.0
        share[share > 1 - 1e-9] = 1.0
        self.share = np.zeros(len(self.weights))
        self.share[self.cells] = share
        self.multipliers = np.maximum(np.array(solution.row_dual), 0.0)
        slack = np.array(solution.row_value) > 1 + 1e-6
        self.idle = [count + 1 if loose else min(count, 0) for count, loose in zip(self.idle, slack, strict=True)]
        return self.share

    def forget(self) -> None:
        """Forget the inequalities that were slack for long."""
        old = [row for row, count in enumerate(self.idle) if count > _OFTEN]
        if not old:
            return
        self.solver.deleteRows(len(old), np.array(old, np.int32))
        gone = set(old)
        self.known.difference_update(self.keys[row] for row in old)
        self.rows = [one for row, one in enumerate(self.rows) if row not in gone]
        self.keys = [one for row, one in enumerate(self.keys) if row not in gone]
        self.idle = [one for row, one in enumerate(self.idle) if row not in gone]
        self.multipliers = np.delete(self.multipliers, old)

    def reduced(self) -> tuple[float, _Numbers]:
        """The Lagrangian bound of the multipliers, and how much each cell costs more than it helps."""
        costs = self.weights.copy()
        for row in np.flatnonzero(self.multipliers > 0):
            which, by = self.rows[row]
            costs[which] -= self.multipliers[row] * by
        bound = self.multipliers.sum() + np.minimum(costs[self.may], 0.0).sum()
        return float(bound), costs

    def exclude(self, cells: _Numbers) -> None:
        """Never hide these cells: every pattern with one of them is worse than one that is known."""
        self.may[cells] = False
        columns = self.column[cells]
        columns = columns[columns >= 0]
        self.solver.changeColsBounds(len(columns), columns, np.zeros(len(columns)), np.zeros(len(columns)))
