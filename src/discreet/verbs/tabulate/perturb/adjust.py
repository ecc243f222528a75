"""Controlled tabular adjustment: sensitive cells are printed far enough off, all others as little off as adds up.

Dandekar and Cox (2002); Castro (2006). A complete table is printed and every total is the sum of its parts. What it
promises: no sensitive cell is printed nearer to its value than its rule asks for. What it does not promise: that
no one finds out which cells were moved, or which way. The other cells change so little that anyone who guesses which
cells are sensitive, and by which rule, has two values left for each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import TABLE_METHODS
from discreet.core.optional import extra
from discreet.core.programs import Numbers, Program
from discreet.core.statement import Claim
from discreet.errors import BadInput, EngineError, NoPromise
from discreet.releases.method import Progress, silent
from discreet.verbs.attack.intruder.sparse import sparse
from discreet.verbs.tabulate.method import ProtectedTable, Protection, ProtectionProblem
from discreet.verbs.tabulate.perturb.integer_rounding import WholeNumberProblem
from discreet.verbs.tabulate.tables.cells import Cells

_FAR = 4
"""A sensitive cell without an upper bound goes up by at most its own rise and this many times what all sensitive cells
need. In a network a best table never needs more than once that: its changes are a sum of cycles, each sensitive cell
keeps as many as it needs, and without the others everything is still far enough off and nothing is further off."""
_NEAR = 1e-6
_SHARE = 0.8
"""Of the time is for choosing which sensitive cells go up."""
_NEWTON_ROUNDS = 500
_RELATIONS_HOLD = 1e-7
_STIFF = 1e-6
"""How much a number at its bound counts as free: enough for prices to be found when all are at their bounds."""


@declare(TABLE_METHODS, "adjust", paper="Dandekar and Cox 2002; Castro 2006", extra="tabulate")
class Adjust:
    """Move sensitive figures far enough from the truth, and others as little as the table needs to add up."""

    name: ClassVar[str]
    needs_sensitivity_rules: ClassVar[bool] = True
    norm: str = parameter("Norm of the changes.", default="l1", choices=("l1", "l2"))
    weight: str = parameter("Whether changes are relative or absolute.", default="value", choices=("value", "cells"))
    keep_totals: bool = parameter("Whether the grand total is unchanged.", default=False)
    seconds: float = parameter("Time limit of the search, seconds.", default=60.0, above=0)
    gap: float = parameter("Relative gap to the optimum at which the search stops.", default=0.0, least=0, below=1)

    def __post_init__(self) -> None:
        check_parameters(self)

    def apply(self, problem: ProtectionProblem) -> ProtectedTable:
        cells, protection = problem.cells, problem.protection
        size = np.maximum(np.abs(cells.values).astype(np.float64), 1.0)
        weights = (
            problem.weights if problem.weights is not None else (1 / size if self.weight == "value" else size / size)
        )
        limits = np.full(len(cells), np.inf)
        if self.keep_totals:
            limits[[place[0] for place in cells.places]] = 0
        made = adjust(
            cells,
            protection,
            weights,
            norm="l2" if self.norm == "l2" else "l1",
            limits=limits,
            seconds=self.seconds,
            gap=self.gap,
            progress=problem.progress,
        )
        off = np.abs(made.values - cells.values)
        far = np.where(made.up, protection.above, protection.below)
        near = protection.sensitive & (off < far - _NEAR)
        if near.any() or (cells.relations.astype(np.int64) @ made.values).any():
            raise NoPromise("The adjusted table is not far enough from the original. Nothing was released.")
        claim = Claim(
            "far-enough-off",
            "adjusted: every sensitive figure differs from the true one by at least what its rule requires, "
            "and all add up",
        )
        return ProtectedTable(
            made.values,
            np.zeros(len(cells), bool),
            (claim,),
            (
                "Which figures were sensitive, and the direction of their change, is not published; an "
                "intruder who guesses both has few values left.",
            ),
            ("sensitive figures were moved up or down, and others as little as needed to keep the table additive",),
            {"norm": self.norm},
        )


@dataclass(frozen=True, eq=False)
class AdjustedTable:
    """What is printed instead of the cells, and how far off it is."""

    values: Numbers
    """int64; every relation holds."""
    up: Numbers
    """bool: which of the sensitive cells were raised; the others were lowered."""
    distance: float
    """The sum of weight · |change|, or of weight · change² for ``l2``."""
    bound: float
    """No table that meets all conditions is less far off; for ``l2``, none in which the same cells are raised."""


def adjust(
    cells: Cells,
    protection: Protection,
    weights: Numbers,
    *,
    norm: Literal["l1", "l2"] = "l1",
    up: Numbers | None = None,
    limits: Numbers | None = None,
    seconds: float = 60.0,
    gap: float = 0.0,
    progress: Progress = silent,
) -> AdjustedTable:
    """The table nearest to ``cells``, weighted, in which every sensitive cell is ``above`` higher or ``below`` lower.

    ``up`` says which sensitive cells are to be raised; if it is not given, the best choice is searched for, for ``l1``.
    ``limits`` is by how much each cell may change at most, 0 for one that must not, such as a total. What everyone
    knows of a cell stays true of it.

    Why the answer is whole and adds up: the best change in real numbers is rounded to whole units, all cells together.
    Levels, limits and bounds are whole, so they still hold. In a network nothing is lost by that with ``l1``; else a
    cell ends less than a unit off (or a few, if there is no such table), and ``distance`` says the truth.
    """
    if len(cells.broken()):
        raise BadInput("Adjustment needs a table that adds up.")
    if norm not in ("l1", "l2"):
        raise BadInput(f"norm must be l1 or l2, not {norm!r}.")
    deadline = monotonic() + seconds
    limit = np.full(len(cells), np.inf) if limits is None else np.floor(limits)
    known = _Room(np.floor(cells.values - cells.lower), np.floor(cells.upper - cells.values))
    task = _Task(
        cells,
        np.flatnonzero(protection.sensitive),
        weights,
        _Room(np.ceil(protection.below), np.ceil(protection.above)),
        _Room(np.minimum(known.fall, limit), np.minimum(known.rise, limit)),
    )
    progress(0.0, "which sensitive cells go up")
    if up is None:
        chosen, bound = task.senses(_SHARE * seconds, gap)
    else:
        chosen, bound = np.asarray(up, np.bool_)[task.sensitive], -np.inf
    change = None if chosen is None else task.least_change(chosen, deadline - monotonic())
    if chosen is None or change is None:
        raise _impossible(replace(task, room=known, weights=1 / (1 + limit)), chosen, limit, seconds)
    bound = bound if up is None else float(weights @ np.abs(change))
    least, most = task.ends(chosen)
    if norm == "l2":
        change = least_squares(cells.relations, weights, least, most)
        bound = float(weights @ change**2)
    progress(_SHARE, "whole units")
    values = cells.values + _whole(task, change, (least, most), deadline - monotonic(), gap)
    off = np.abs(values - cells.values).astype(np.float64)
    raised = np.zeros(len(cells), np.bool_)
    raised[task.sensitive] = chosen
    distance = float(weights @ (off if norm == "l1" else off**2))
    progress(1.0, "adjusted")
    return AdjustedTable(values, raised, distance, min(bound, distance))


@dataclass(frozen=True, eq=False)
class _Room:
    """How far each cell may, or must, fall and rise: whole units, infinite where nothing limits it."""

    fall: Numbers
    rise: Numbers


@dataclass(frozen=True, eq=False)
class _Task:
    """What has to move how far, and how far everything may."""

    cells: Cells
    sensitive: Numbers
    """The places of the sensitive cells."""
    weights: Numbers
    levels: _Room
    room: _Room

    def senses(self, seconds: float, gap: float) -> tuple[Numbers | None, float]:
        """Which sensitive cells go up in a nearest table, and how near one can be; no choice at all if there is none.

        The variables are the rise and the fall of every cell and, of a sensitive one, whether it goes up:
        above · up <= rise <= room · up, and below · (1 - up) <= fall <= room · (1 - up).
        """
        at, lib = self.sensitive, sparse()
        n, s, relations = len(self.cells), len(at), self.cells.relations
        below, above = self.levels.fall[at], self.levels.rise[at]
        can_fall, can_rise = self.room.fall[at] >= below, self.room.rise[at] >= above
        if not (can_fall | can_rise).all():
            return None, np.inf
        need = np.maximum(below, above)
        unit = max(float(np.median(need)), 1.0) if s else 1.0  # numbers near to 1 are what HiGHS is made for
        fall, rise = self.room.fall / unit, self.room.rise / unit
        below, above, need = below / unit, above / unit, need / unit
        for side in (fall, rise):
            side[at] = np.minimum(side[at], need + _FAR * need.sum())
        pick, none = lib.eye_array(n, format="csr")[at], lib.csr_array((s, n))

        def switch(amounts: Numbers) -> Any:
            return lib.csr_array((amounts, (np.arange(s), np.arange(s))), shape=(s, s))

        matrix = lib.vstack(
            [
                lib.hstack([relations, -relations, lib.csr_array((relations.shape[0], s))]),
                lib.hstack([pick, none, -switch(above)]),
                lib.hstack([pick, none, -switch(rise[at])]),
                lib.hstack([none, pick, switch(below)]),
                lib.hstack([none, pick, switch(fall[at])]),
            ]
        )
        hold, zero, endless = np.zeros(relations.shape[0]), np.zeros(s), np.full(s, np.inf)
        found = Program(
            np.concatenate([self.weights * unit, self.weights * unit, zero]),
            matrix,
            np.concatenate([hold, zero, -endless, below, -endless]),
            np.concatenate([hold, endless, zero, endless, fall[at]]),
            np.concatenate([np.zeros(2 * n), np.where(can_fall, 0.0, 1.0)]),
            np.concatenate([rise, fall, np.where(can_rise, 1.0, 0.0)]),
            np.concatenate([np.zeros(2 * n, np.bool_), np.ones(s, np.bool_)]),
        ).solve(seconds, gap=gap)
        if found.x is None and not found.infeasible:
            raise _out_of_time()
        return (None, np.inf) if found.x is None else (found.x[2 * n :] > 0.5, found.bound)

    def ends(self, up: Numbers) -> tuple[Numbers, Numbers]:
        """The least and the most each cell may change by, once it is settled which sensitive cells go up."""
        least, most = -self.room.fall, self.room.rise.copy()
        raised, lowered = self.sensitive[up], self.sensitive[~up]
        least[raised], most[lowered] = self.levels.rise[raised], -self.levels.fall[lowered]
        return least, most

    def least_change(self, up: Numbers, seconds: float) -> Numbers | None:
        """The real change with these senses that is least by weighted absolute value, if there is one."""
        least, most = self.ends(up)
        if (least > most).any():
            return None
        n, relations = len(self.cells), self.cells.relations
        found = Program(
            np.concatenate([self.weights, self.weights]),
            sparse().hstack([relations, -relations]),
            0.0,
            0.0,
            np.concatenate([np.maximum(least, 0), np.maximum(-most, 0)]),
            np.concatenate([np.maximum(most, 0), np.maximum(-least, 0)]),
        ).solve(seconds)
        if found.x is None and not found.infeasible:
            raise _out_of_time()
        return None if found.x is None else found.x[:n] - found.x[n:]


def _whole(task: _Task, change: Numbers, ends: tuple[Numbers, Numbers], seconds: float, gap: float) -> Numbers:
    """The change in whole units between these ends."""
    near = np.rint(change)
    change = np.clip(np.where(np.abs(change - near) < _NEAR, near, change), *ends)
    floors = np.floor(change)
    wanted = WholeNumberProblem(task.cells.relations, floors.astype(np.int64), change - floors, task.weights, *ends)
    found = wanted.nearest(seconds, gap, silent).values
    if ((found < ends[0]) | (found > ends[1])).any():
        raise EngineError("HiGHS returned a solution outside its bounds.")
    return found


def _impossible(free: _Task, up: Numbers | None, limit: Numbers, seconds: float) -> NoPromise:
    """Why there is no table: the cells whose limits would have to give way (``free`` has none), or other conditions."""
    if up is None:
        up = free.senses(seconds, 0.01)[0]
    change = None if up is None else free.least_change(up, seconds)
    if change is None:
        return NoPromise(
            "Some sensitive cells cannot be moved as far as their rule requires.",
            hint="Relax the public bounds of the cells, leave open which of them go up, or relax the rule.",
        )
    over = np.flatnonzero(np.abs(change) > limit + _NEAR)
    names = "; ".join(f"({free.cells.name(int(cell))})" for cell in over[:3])
    more = f" and {len(over) - 3} more" if len(over) > 3 else ""
    return NoPromise(
        f"No table satisfies the limits: {names}{more} would have to change by more than allowed.",
        hint="Let these cells change more, combine codes, or relax the rule.",
    )


def _out_of_time() -> NoPromise:
    return NoPromise("No adjusted table was found within the time limit.", hint="Allow more seconds, or a larger gap.")


def least_squares(relations: Any, weights: Numbers, least: Numbers, most: Numbers) -> Numbers:
    """The real x with ``relations @ x == 0`` and ``least <= x <= most`` of least ``weights @ x**2``.

    There must be such an x. It is found by Newton's method on the dual problem (Qi and Sun 2006): for given prices of
    the relations each x is a clipped quotient, and the prices are right when the relations hold. The dual value goes
    up in every round, so the rounds cannot cycle. A weight of 0 counts as one very small.
    """
    with extra("tabulate"):
        from scipy.sparse.linalg import splu

    lib = sparse()
    matrix = relations.astype(np.float64).tocsr()
    weights = np.maximum(weights, 1e-9 * max(float(weights.max(initial=0.0)), 1e-300))
    weights = weights / np.median(weights)

    def at(prices: Numbers) -> tuple[Numbers, float]:
        x = np.clip(-(matrix.T @ prices) / (2 * weights), least, most)
        return x, float(weights @ x**2 + prices @ (matrix @ x))

    prices = np.zeros(matrix.shape[0])
    x, value = at(prices)
    for _ in range(_NEWTON_ROUNDS):
        off = matrix @ x
        if _far(off) <= _RELATIONS_HOLD * (1 + _far(x)):
            return x
        free = np.where((x > least) & (x < most), 1.0, _STIFF) / (2 * weights)
        curve = (matrix @ lib.diags_array(free) @ matrix.T).tocsc()
        slack = _STIFF**2 * lib.diags_array(curve.diagonal() + _STIFF, format="csc")
        step = splu(curve + slack).solve(off)
        length = 1.0
        while True:
            moved, found = at(prices + length * step)
            if found >= value + 1e-4 * length * float(step @ off) or _far(matrix @ moved) < _far(off) / 2:
                break
            length /= 2
        prices, x, value = prices + length * step, moved, found
    raise EngineError("The least-squares problem was not solved.")


def _far(numbers: Numbers) -> float:
    return float(np.abs(numbers).max(initial=0.0))
