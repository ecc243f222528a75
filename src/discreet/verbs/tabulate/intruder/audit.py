"""Suppression audit: feasibility intervals of every suppressed cell. A table that fails it is not released."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from threading import Lock

import numpy as np

from discreet.errors import NoPromise
from discreet.releases.method import Progress, silent
from discreet.verbs.attack.intruder.extents import extent, in_turn, movable
from discreet.verbs.attack.intruder.unknowns import unknowns
from discreet.verbs.tabulate.intruder.witnesses import Shortfall, Witnesses
from discreet.verbs.tabulate.method import Intervals, Protection
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import Numbers

_NAMED = 5
"""Number of cells named in a refusal."""


def intervals(
    cells: Cells,
    hidden: Numbers,
    *,
    only: Numbers | None = None,
    known: Iterable[int] = (),
    progress: Progress = silent,
) -> Intervals:
    """Feasibility interval of each cell: its smallest and largest possible value given all that is printed.

    ``only`` these cells are computed (others that are hidden get what everyone knows of them); ``known`` cells are
    hidden and yet known to this intruder. Ends are exact: found in whole numbers where the hidden cells are a network
    or single relations tell, else by linear programs to within 1e-6 of the figures around. Whether a cell is
    determined is decided apart from its value (see ``recoverable``), and then both ends are its value.
    """
    values = cells.values.astype(np.float64)
    low, high = values.copy(), values.copy()
    wanted = np.zeros(len(cells), bool)
    wanted[np.flatnonzero(hidden) if only is None else only] = True
    parts = []
    for part in unknowns(cells, hidden, known):
        low[part.cells], high[part.cells] = cells.lower[part.cells], cells.upper[part.cells]
        columns = np.flatnonzero(wanted[part.cells])
        if len(columns):
            parts.append((part, columns))
    tally = _Tally([len(columns) for _, columns in parts], progress)
    jobs = [(part, columns, partial(tally.tell, job)) for job, (part, columns) in enumerate(parts)]
    for part, columns, tick, (fall, rise) in in_turn(extent, jobs):
        which = part.cells[columns]
        low[which], high[which] = _tidy(values[which] - fall), _tidy(values[which] + rise)
        tick(1.0)
    return Intervals(low, high)


def recoverable(cells: Cells, hidden: Numbers, known: Iterable[int] = ()) -> Numbers:
    """Suppressed cells that can be computed exactly.

    All possible tables are a convex set around the true one, so a cell can move if it can move a little; and whether
    it can depends only on the relations and on which cells are at a bound, not on the figures. So all figures are
    left out and a program with coefficients and bounds 0, 1 and -1 decides, in which no rounding can mislead.
    """
    known = set(known)
    moving = np.zeros(len(cells), bool)
    for part in unknowns(cells, hidden, known):
        moving[part.cells] = movable(part)
    found = np.flatnonzero(hidden & ~moving)
    return found[~np.isin(found, list(known))]


def short(
    cells: Cells,
    protection: Protection,
    hidden: Numbers,
    *,
    only: Numbers | None = None,
    progress: Progress = silent,
) -> list[Shortfall]:
    """Underprotected sensitive cells (among ``only``, if given) under a suppression pattern.

    Anyone who is not in the list is proved to be kept off: for each cell and side there is a possible table in which
    the cell is as far off as it must be. One such table proves it for everyone whose own cells are the same in it, so
    insiders are looked at only where all tables found so far change theirs.
    """
    asked = np.flatnonzero(protection.sensitive) if only is None else np.asarray(only)
    printed = [Shortfall(int(cell), side, None) for cell in asked[~hidden[asked]] for side in (-1, 1)]
    witnesses = Witnesses(cells, hidden, protection)
    return printed + witnesses.lacking(
        asked[hidden[asked]],
        protection.below,
        protection.above,
        lambda share: progress(share, "checking that sensitive cells are protected"),
    )


def certify(cells: Cells, protection: Protection, hidden: Numbers, *, progress: Progress = silent) -> None:
    """Refuse a suppression pattern unless every sensitive cell is protected against every intruder."""
    lacking = short(cells, protection, hidden, progress=progress)
    if lacking:
        names = sorted({cells.name(one.cell) for one in lacking})
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        raise NoPromise(
            "An intruder could compute these cells too closely from the published table: "
            f"{'; '.join(names[:_NAMED])}{more}.",
            hint="Allow more cells to be suppressed, combine codes, or relax the rule.",
        )


class _Tally:
    """Overall progress of several jobs that run in parallel; it never decreases."""

    def __init__(self, sizes: list[int], progress: Progress) -> None:
        self._sizes, self._done, self._progress, self._lock = sizes, [0.0] * len(sizes), progress, Lock()

    def tell(self, job: int, share: float) -> None:
        with self._lock:
            self._done[job] = max(share * self._sizes[job], self._done[job])
            self._progress(min(sum(self._done) / sum(self._sizes), 1.0), "computing what an intruder can compute")


def _tidy(figures: Numbers) -> Numbers:
    """Round figures that differ from an integer only by the solver's rounding."""
    whole = np.round(figures)
    return np.where(np.isclose(figures, whole, rtol=1e-9, atol=1e-9), whole, figures)
