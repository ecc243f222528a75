"""Integer master problem of optimal suppression, under the inequalities found so far (MILP in HiGHS)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from discreet.core.programs import Program
from discreet.verbs.tabulate.suppress.master import Master, covering

_Numbers = np.ndarray[Any, Any]


def whole(master: Master, best: _Numbers, weight: float, gap: float, until: float) -> tuple[_Numbers | None, float]:
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
