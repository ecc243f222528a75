"""Integer master problem of optimal suppression, under the inequalities found so far (MILP in HiGHS)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from discreet.verbs.tabulate.optional_imports import highspy
from discreet.verbs.tabulate.suppress.master import Master

_Numbers = np.ndarray[Any, Any]


def whole(master: Master, best: _Numbers, weight: float, gap: float, until: float) -> tuple[_Numbers | None, float]:
    """Shares of 0 or 1 (none if there was no time for any), and a weight that nothing better than the best is below."""
    lib = highspy()
    cells = np.flatnonzero(master.may)
    place = np.full(len(master.may), -1, np.int32)
    place[cells] = np.arange(len(cells))
    parts = [(place[which], by) for which, by in master.rows]
    parts = [(columns[columns >= 0], by[columns >= 0]) for columns, by in parts]
    starts = np.cumsum([0, *(len(columns) for columns, _ in parts)])
    scale = weight if weight > 0 else 1.0
    cost = master.weights[cells]
    if master.integral:
        # of choices of equal weight rather that with much room: it changes no order, as fewer than ``most`` are chosen
        most = min(len(cells), int(weight / max(cost.min(), 1.0)) + 1)
        cost = cost - 0.9 / most * master.helps[cells]
    solver = lib.Highs()
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("time_limit", max(0.1, until - time.monotonic())),
        ("mip_rel_gap", max(gap / 2, 1e-9)),
        ("mip_abs_gap", 1e-9),
        ("mip_feasibility_tolerance", 1e-7),
    ):
        solver.setOptionValue(option, value)
    empty = np.empty(0, np.int32)
    solver.addCols(
        len(cells),
        cost / scale,
        np.zeros(len(cells)),
        np.ones(len(cells)),
        0,
        empty,
        empty,
        np.empty(0),
    )
    solver.changeColsIntegrality(
        len(cells), np.arange(len(cells), dtype=np.int32), np.full(len(cells), lib.HighsVarType.kInteger)
    )
    solver.addRows(
        len(parts),
        np.ones(len(parts)),
        np.full(len(parts), np.inf),
        int(starts[-1]),
        starts[:-1].astype(np.int32),
        np.concatenate([columns for columns, _ in parts]),
        np.maximum(np.concatenate([by for _, by in parts]), 1e-8),
    )
    start = lib.HighsSolution()
    start.col_value = best[cells].astype(float).tolist()
    solver.setSolution(start)
    solver.run()
    info = solver.getInfo()
    bound = info.mip_dual_bound * scale
    values = np.array(solver.getSolution().col_value)
    if len(values) != len(cells) or not np.isfinite(info.objective_function_value):
        return None, bound
    share = np.zeros(len(master.may))
    share[cells] = np.round(values)
    return share, bound
