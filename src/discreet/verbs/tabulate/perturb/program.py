"""A linear programme, some of its variables whole, given to HiGHS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.verbs.tabulate.optional_imports import highspy, sparse

_Numbers = np.ndarray[Any, Any]
_NEAR = 1e-6
"""How far off a whole number HiGHS leaves a variable that has to be whole."""


@dataclass(frozen=True, eq=False)
class Program:
    """Minimise ``cost @ x`` with ``low <= matrix @ x <= high`` and ``least <= x <= most``."""

    cost: _Numbers
    matrix: Any
    """Sparse: a row a condition, a column a variable."""
    low: _Numbers
    high: _Numbers
    least: _Numbers
    most: _Numbers
    whole: _Numbers
    """bool: which variables take whole numbers only."""

    def solve(self, seconds: float, gap: float = 0.0) -> Solution:
        """The best answer found in the time, or that there is none."""
        if not len(self.cost):
            empty = bool((self.low <= 0).all() and (self.high >= 0).all())
            return Solution(np.zeros(0), 0.0, 0.0) if empty else Solution(None, np.inf, np.inf, impossible=True)
        lib = highspy()
        solver = lib.Highs()
        solver.silent()
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("time_limit", max(float(seconds), 0.01))
        solver.setOptionValue("mip_rel_gap", float(gap))
        price = self._price()
        solver.passModel(self._model(lib, price))
        solver.run()
        status, info = solver.getModelStatus(), solver.getInfo()
        if status in (lib.HighsModelStatus.kInfeasible, lib.HighsModelStatus.kUnboundedOrInfeasible):
            return Solution(None, np.inf, np.inf, impossible=True)
        mixed = bool(self.whole.any())
        best = status == lib.HighsModelStatus.kOptimal
        bound = float(info.mip_dual_bound) * price if mixed else -np.inf
        if not best and not (mixed and info.primal_solution_status == lib.SolutionStatus.kSolutionStatusFeasible):
            return Solution(None, np.inf, bound)
        x = np.asarray(solver.getSolution().col_value, np.float64)
        value = float(info.objective_function_value) * price
        return Solution(x, value, bound if mixed else value)

    def solve_whole(self, seconds: float, gap: float = 0.0) -> Solution:
        """As ``solve``, first without asking for whole numbers: of a network they come by themselves."""
        easy = replace(self, whole=np.zeros_like(self.whole)).solve(seconds)
        if easy.x is None or (np.abs(easy.x - np.rint(easy.x))[self.whole] < _NEAR).all():
            return easy
        return self.solve(seconds, gap)

    def _price(self) -> float:
        """What the costs are divided by to be around 1: HiGHS takes very small ones for nothing."""
        costs = np.abs(self.cost[self.cost != 0])
        return float(np.exp(np.log(costs).mean())) if len(costs) else 1.0

    def _model(self, lib: Any, price: float) -> Any:
        matrix = sparse().csc_array(self.matrix, dtype=np.float64)
        model = lib.HighsLp()
        model.num_row_, model.num_col_ = matrix.shape
        model.col_cost_ = np.asarray(self.cost, np.float64) / price
        model.row_lower_, model.row_upper_ = (np.asarray(side, np.float64) for side in (self.low, self.high))
        model.col_lower_, model.col_upper_ = (np.asarray(side, np.float64) for side in (self.least, self.most))
        model.a_matrix_.format_ = lib.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
        model.a_matrix_.value_ = matrix.data
        if self.whole.any():
            kinds = (lib.HighsVarType.kContinuous, lib.HighsVarType.kInteger)
            model.integrality_ = [kinds[int(one)] for one in self.whole]
        return model


@dataclass(frozen=True, eq=False)
class Solution:
    """An answer, if one was found; ``bound``: no answer costs less."""

    x: _Numbers | None
    value: float
    bound: float
    impossible: bool = False
    """Whether it is proven that there is no answer."""
