"""Secondary suppression: complete a suppression pattern until every sensitive cell is protected."""

from __future__ import annotations

import time

import numpy as np

from discreet.core.programs import Numbers, Program, Status
from discreet.errors import NoPromise
from discreet.releases.method import Progress, silent
from discreet.verbs.attack.intruder.sparse import sparse
from discreet.verbs.tabulate.intruder.audit import short
from discreet.verbs.tabulate.intruder.witnesses import Shortfall
from discreet.verbs.tabulate.method import Protection
from discreet.verbs.tabulate.tables.cells import Cells


def completed(
    cells: Cells,
    protection: Protection,
    hidden: Numbers,
    cost: Numbers,
    *,
    until: float,
    only: Numbers | None = None,
    progress: Progress = silent,
) -> Numbers:
    """The suppressed cells, with complementary suppressions of low cost that protect every sensitive cell.

    ``cost`` is infinite for cells that must be printed; ``only`` are the sensitive cells not yet known to be safe.
    Each underprotected cell gets the cheapest cells found (a linear program with the cost of a cell spread over what
    it can take: Kelly, Golden & Assad 1992). Hiding more never shows more, so what is safe stays safe, and
    the audit has the last word. Refuses if a cell cannot be protected, or not by ``until`` (monotonic time).
    """

    def timed(share: float, what: str) -> None:
        if time.monotonic() > until:
            raise _out_of_time()
        progress(share, what)

    hidden = hidden.copy()
    asked = np.flatnonzero(protection.sensitive) if only is None else only
    around = _Around(cells, protection, cost, until)
    while len(asked):
        lacking = short(cells, protection, hidden, only=asked, progress=timed)
        if not lacking:
            break
        before = int(hidden.sum())
        for place, one in enumerate(sorted(lacking, key=lambda one: -_level(protection, one))):
            timed(place / len(lacking), "protecting what is left")
            hidden[around.cheapest(hidden, one)] = True
        if int(hidden.sum()) == before:
            raise unprotectable(cells, lacking[0].cell)
        asked = np.unique([one.cell for one in lacking])
    return hidden


def unprotectable(cells: Cells, cell: int, whom: str = "an intruder") -> NoPromise:
    """Error for a cell that no suppression pattern can protect."""
    return NoPromise(
        f"The cell {cells.name(cell)} cannot be protected: even if all permitted cells are suppressed, "
        f"{whom} computes it too closely.",
        hint="Combine codes, allow zero cells or totals to be suppressed, or relax the rule.",
    )


class _Around:
    """Searches for complementary suppressions near an underprotected cell."""

    def __init__(self, cells: Cells, protection: Protection, cost: Numbers, until: float) -> None:
        self._cells, self._protection, self._cost, self._until = cells, protection, cost, until
        self._links = abs(cells.relations).astype(np.float32)
        self._sides = max(len(table.shape) for table in cells.tables)

    def cheapest(self, hidden: Numbers, one: Shortfall) -> Numbers:
        """Cells to suppress for one shortfall: nearby ones first, then further away, then among all."""
        may = np.isfinite(self._cost) | hidden
        if one.insider is not None:
            may[list(self._protection.insiders[one.insider])] = False
        price = np.where(hidden, 0.0, self._cost)
        near = np.zeros(len(hidden), bool)
        near[one.cell] = True
        for steps in (self._sides + 1, self._sides + 1, len(hidden)):
            wider = self._wider(near, may, steps)
            if wider.sum() == near.sum():
                break
            near = wider
            found = self._program(one, price, np.flatnonzero(near))
            if found is not None:
                return found
        raise unprotectable(self._cells, one.cell)

    def _wider(self, near: Numbers, may: Numbers, steps: int) -> Numbers:
        """These cells and the suppressible ones at most ``steps`` relations away."""
        for _ in range(steps):
            touched = (self._links @ near.astype(np.float32)) > 0
            wider = near | (may & (self._links.T @ touched.astype(np.float32) > 0))
            if wider.sum() == near.sum():
                break
            near = wider
        return near

    def _program(self, one: Shortfall, price: Numbers, which: Numbers) -> Numbers | None:
        """Linear program: the cheapest cells whose changes move a cell by its protection level; None if infeasible."""
        cells, count, place = self._cells, len(which), int(np.searchsorted(which, one.cell))
        relations = cells.relations[:, which]
        relations = relations[np.diff(relations.indptr) > 0]
        rise, fall = cells.upper[which] - cells.values[which], cells.values[which] - cells.lower[which]
        room = np.concatenate([rise, fall]) / _level(self._protection, one)
        least = np.zeros(2 * count)
        own, other = (place, place + count) if one.side > 0 else (place + count, place)
        if room[own] < 1 - 1e-7:  # rounding
            return None
        least[own] = room[own] = min(room[own], 1.0)
        room[other] = 0.0
        spread = np.tile(price[which], 2) / np.clip(room, 1e-6, 1.0)
        both = sparse().hstack([relations, -relations], format="csc")
        found = Program(spread, both, 0.0, 0.0, least, room).solve(self._until - time.monotonic())
        if found.status is Status.TIMEOUT:
            raise _out_of_time()
        return None if found.x is None else np.unique(which[np.flatnonzero(found.x > 1e-9) % count])


def _level(protection: Protection, one: Shortfall) -> float:
    return float((protection.above if one.side > 0 else protection.below)[one.cell])


def _out_of_time() -> NoPromise:
    return NoPromise(
        "The table could not be fully protected within the time limit. Nothing was released.",
        hint="Allow more seconds, or combine codes so that there are fewer cells.",
    )
