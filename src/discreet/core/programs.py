"""Linear and mixed-integer programs, solved by HiGHS: one thread, no log, and a status that can be relied on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from time import thread_time
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from discreet.core.optional import extra
from discreet.errors import EngineError

Numbers: TypeAlias = np.ndarray[Any, Any]
PRIMAL, DUAL = 4, 1
"""HiGHS's numbers of the two simplex methods. Primal: the last solution stays feasible when the costs change."""
INTEGRALITY_TOLERANCE = 1e-6
"""How far off a whole number HiGHS leaves a variable that has to be whole."""
SMALLEST_COEFFICIENT = 1e-8
"""HiGHS drops coefficients below a tenth of this."""
WARM = {
    "presolve": "off",
    "simplex_strategy": PRIMAL,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}
"""Options for a program that is solved again and again, with other costs or bounds."""
_LEAST_SECONDS = 0.01
_LARGEST_WHOLE_COST = 1000
_FEASIBLE = 2
"""HiGHS's number for: a solution was found, be it the best or not."""


class Status(Enum):
    """What became of a program."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    TIMEOUT = "time limit reached"
    FAILED = "not solved"


class Matrix(NamedTuple):
    """Sparse coefficients, row by row or column by column: those of line i are at starts[i] up to starts[i + 1]."""

    starts: Numbers
    places: Numbers
    values: Numbers
    height: int
    """How many rows there are."""
    by_rows: bool = True

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[Any, Any]]) -> Matrix:
        """From the columns and the values of each row."""
        rows = list(rows)
        starts = np.cumsum([0, *(len(places) for places, _ in rows)])
        parts = [np.concatenate([np.empty(0), *(one[part] for one in rows)]) for part in (0, 1)]
        return cls(starts, parts[0], parts[1], len(rows))

    @classmethod
    def of(cls, matrix: Any) -> Matrix:
        """From any matrix: dense, or one of SciPy's."""
        if isinstance(matrix, Matrix):
            return matrix
        if isinstance(matrix, np.ndarray):
            return cls.of_rows((np.flatnonzero(row), row[row != 0]) for row in matrix)
        matrix = matrix if matrix.format in ("csr", "csc") else matrix.tocsc()
        return cls(matrix.indptr, matrix.indices, matrix.data, matrix.shape[0], matrix.format == "csr")


@dataclass(frozen=True, eq=False)
class Solution:
    """The best solution that was found, if any; no solution costs less than ``bound``."""

    status: Status
    x: Numbers | None
    value: float
    bound: float
    duals: Numbers
    """What the optimum rises by for each unit that a row's limits rise by; of linear programs only."""

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that there is no solution."""
        return self.status is Status.INFEASIBLE


@dataclass(frozen=True, eq=False)
class Program:
    """Minimise ``cost @ x`` with ``low <= matrix @ x <= high`` and ``least <= x <= most``.

    What it costs must have a lower end: of a program without one it may be said that there is no solution.
    """

    cost: Numbers
    matrix: Any
    """A row a condition, a column a variable: a ``Matrix``, or whatever one can be made of."""
    low: Any
    high: Any
    least: Any
    most: Any
    integral: Any = False
    """Which variables take whole numbers only. Limits, bounds and this may be one value for all."""

    def solve(
        self,
        seconds: float = np.inf,
        *,
        gap: float = 0.0,
        absolute_gap: float = 1e-9,
        start: Numbers | None = None,
        deadline: float = np.inf,
        **options: Any,
    ) -> Solution:
        """The best solution found in the time, within a relative or absolute gap to the best there is.

        ``start`` is a solution that is known, ``deadline`` that of ``Solver.stop_at``. ``options`` are HiGHS's own.
        HiGHS takes very small costs for nothing, so that they are divided by their geometric mean; small whole numbers
        stay, as it makes use of their being whole.
        """
        if not len(self.cost):
            possible = bool((np.asarray(self.low) <= 0).all() and (np.asarray(self.high) >= 0).all())
            status, value = (Status.OPTIMAL, 0.0) if possible else (Status.INFEASIBLE, np.inf)
            return Solution(status, np.zeros(0) if possible else None, value, value, np.zeros(0))
        costs = np.abs(self.cost[self.cost != 0])
        fine = (costs <= _LARGEST_WHOLE_COST).all() and (costs == np.rint(costs)).all()
        price = 1.0 if fine else float(np.exp(np.log(costs).mean()))
        mixed = bool(np.any(self.integral))
        if mixed:
            options |= {"mip_rel_gap": float(gap), "mip_abs_gap": absolute_gap / price}
        solver = Solver(time_limit=max(float(seconds), _LEAST_SECONDS), **options)
        solver.load(replace(self, cost=self.cost / price))
        if start is not None:
            solver.start(start)
        if deadline < np.inf:
            solver.stop_at(deadline)
        status = solver.run()
        if status is Status.INFEASIBLE:
            return Solution(status, None, np.inf, np.inf, np.zeros(0))
        info = solver.info
        value, bound = info.objective_function_value * price, info.mip_dual_bound * price if mixed else -np.inf
        if status is not Status.OPTIMAL and not (mixed and info.primal_solution_status == _FEASIBLE):
            return Solution(status, None, np.inf, bound, np.zeros(0))
        x, _, duals = solver.solution()
        return Solution(status, x, value, bound if mixed else value, duals * price)

    def solve_whole(self, seconds: float, gap: float = 0.0) -> Solution:
        """As ``solve``, first without asking for whole numbers: of a network they come by themselves."""
        easy = replace(self, integral=False).solve(seconds)
        if easy.x is None or (np.abs(easy.x - np.rint(easy.x)) < INTEGRALITY_TOLERANCE)[self.integral].all():
            return easy
        return self.solve(seconds, gap=gap)


class Point(NamedTuple):
    """The values of the variables, the sums of the rows, and the rows' duals."""

    x: Numbers
    sums: Numbers
    duals: Numbers


class Solver:
    """A program in HiGHS that can be changed and solved again from where it was."""

    def __init__(self, **options: Any) -> None:
        with extra("solver"):
            import highspy
        self._lib: Any = highspy
        self._highs = self._lib.Highs()
        self._strategy = options.get("simplex_strategy", DUAL)
        for name, value in {"output_flag": False, "threads": 1, **options}.items():
            self._highs.setOptionValue(name, value)

    def load(self, program: Program) -> None:
        """Take this program, and forget any other."""
        matrix = Matrix.of(program.matrix)
        rows, size = matrix.height, len(program.cost)
        model = self._lib.HighsLp()
        model.num_row_, model.num_col_ = rows, size
        model.col_cost_ = np.asarray(program.cost, np.float64)
        model.row_lower_, model.row_upper_ = _each(program.low, rows), _each(program.high, rows)
        model.col_lower_, model.col_upper_ = _each(program.least, size), _each(program.most, size)
        formats = self._lib.MatrixFormat
        model.a_matrix_.format_ = formats.kRowwise if matrix.by_rows else formats.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_ = (_ints(one) for one in matrix[:2])
        model.a_matrix_.value_ = matrix.values.astype(np.float64)
        self._highs.passModel(model)
        which = np.flatnonzero(np.broadcast_to(program.integral, size)).astype(np.int32)
        if len(which):
            self._highs.changeColsIntegrality(len(which), which, np.full(len(which), self._lib.HighsVarType.kInteger))

    def add_rows(self, low: float, high: float, matrix: Matrix) -> None:
        """Add conditions, all with these limits."""
        count = matrix.height
        self._highs.addRows(count, _each(low, count), _each(high, count), *_lines(matrix))

    def add_columns(self, cost: Numbers, least: float, most: float, matrix: Matrix) -> None:
        """Add variables, all with these bounds; the lines of the matrix are their columns."""
        count = len(cost)
        self._highs.addCols(count, cost, _each(least, count), _each(most, count), *_lines(matrix))

    def delete_rows(self, rows: Iterable[int]) -> None:
        """Delete conditions."""
        which = np.array(list(rows), np.int32)
        self._highs.deleteRows(len(which), which)

    def set_bounds(self, columns: Numbers, least: Any, most: Any) -> None:
        """Let these variables lie within other bounds."""
        size = len(columns)
        self._highs.changeColsBounds(size, _ints(columns), _each(least, size), _each(most, size))

    def set_costs(self, columns: Numbers, cost: Any) -> None:
        """Let these variables cost something else."""
        done = self._highs.changeColsCost(len(columns), _ints(columns), _each(cost, len(columns)))
        if done == self._lib.HighsStatus.kError:
            raise ValueError("HiGHS needs costs that name each column once, and only existing ones.")

    def start(self, x: Numbers) -> None:
        """Begin with a solution that is known."""
        known = self._lib.HighsSolution()
        known.col_value = x.tolist()
        self._highs.setSolution(known)

    def stop_at(self, deadline: float) -> None:
        """Give up when this thread has worked until then, by ``time.thread_time``; integer programs a little later.

        Unlike HiGHS's own limit, which is one of the clock, this is the same on a busy machine.
        """

        def look(event: Any) -> None:
            if thread_time() > deadline:
                event.interrupt()

        for one in (self._highs.cbSimplexInterrupt, self._highs.cbIpmInterrupt, self._highs.cbMipInterrupt):
            one.subscribe(look)

    def run(self) -> Status:
        """Solve, from the last solution where that helps."""
        self._highs.run()
        return self.status

    def optimum(self) -> Point:
        """The solution of a linear program that is known to have an optimum.

        A warm start may go astray, and so may one method where figures are large: if no optimum was found, it is
        sought again without what is known so far, by the primal simplex and by the dual one.
        """
        status = self.status if self.status is Status.OPTIMAL else self.run()
        for strategy in (PRIMAL, DUAL):
            if status is not Status.OPTIMAL:
                self._highs.clearSolver()
                self._highs.setOptionValue("simplex_strategy", strategy)
                status = self.run()
                self._highs.setOptionValue("simplex_strategy", self._strategy)
        if status is Status.OPTIMAL:
            return self.solution()
        hint = "Give figures of fewer digits."
        raise EngineError(f"HiGHS found no optimum where there is one: {status.value}.", hint=hint)

    def solution(self) -> Point:
        """What was found last."""
        found = self._highs.getSolution()
        return Point(np.array(found.col_value), np.array(found.row_value), np.array(found.row_dual))

    @property
    def status(self) -> Status:
        """What became of the program as it is now."""
        statuses = self._lib.HighsModelStatus
        return {
            statuses.kOptimal: Status.OPTIMAL,
            statuses.kInfeasible: Status.INFEASIBLE,
            statuses.kUnboundedOrInfeasible: Status.INFEASIBLE,
            statuses.kTimeLimit: Status.TIMEOUT,
            statuses.kInterrupt: Status.TIMEOUT,
        }.get(self._highs.getModelStatus(), Status.FAILED)

    @property
    def columns(self) -> int:
        """How many variables there are."""
        return int(self._highs.getNumCol())

    @property
    def info(self) -> Any:
        """HiGHS's own figures of the last run."""
        return self._highs.getInfo()


def _each(value: Any, size: int) -> Numbers:
    """A number for each, if one was given for all."""
    return np.ascontiguousarray(np.broadcast_to(np.asarray(value, np.float64), size))


def _lines(matrix: Matrix) -> tuple[int, Numbers, Numbers, Numbers]:
    return len(matrix.places), _ints(matrix.starts[:-1]), _ints(matrix.places), matrix.values


def _ints(places: Numbers) -> Numbers:
    return places.astype(np.int32, copy=False)
