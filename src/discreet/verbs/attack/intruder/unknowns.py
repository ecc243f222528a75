"""Intruder's linear system: the hidden cells, their relations, and a solver for them.

Everything is said in changes: a cell may fall by ``fall`` and rise by ``rise`` from its true value, and the changes of
all cells must keep every relation. No change at all is always possible. An intruder reckons with real numbers, so an
interval is one over the reals; someone who also knows that figures are whole numbers may know a little more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from discreet.core.programs import WARM, Numbers, Program, Solver
from discreet.verbs.attack.intruder.sparse import components, signed_components, sparse

_LARGEST = 1e9  # beyond this a solver's tolerance of 1e-9 is below what doubles can tell apart


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Suppressed cells connected by relations, each of which has at least two unknown cells."""

    cells: Numbers
    """Which cells, ascending; all else here is of these."""
    relations: Any
    """``scipy.sparse.csr_array`` with a column for each of the cells."""
    fall: Numbers
    rise: Numbers
    """float64, infinite where nothing is known; never negative."""

    def __len__(self) -> int:
        return len(self.cells)

    def column(self, cells: Any) -> Numbers:
        """The columns of these cells; those that are not here are left out."""
        places = np.searchsorted(self.cells, cells)
        places = np.minimum(places, len(self.cells) - 1)
        return np.asarray(places[self.cells[places] == cells])


class Figures(Protocol):
    """Cells with their true values, their bounds, and relations between them: ``relations @ values == 0``."""

    @property
    def values(self) -> Numbers:
        """The true value of each cell."""

    @property
    def relations(self) -> Any:
        """A ``scipy.sparse.csr_array`` with a row for each relation and a column for each cell."""

    @property
    def lower(self) -> Numbers:
        """The least that everyone knows each cell to be."""

    @property
    def upper(self) -> Numbers:
        """The most that everyone knows each cell to be."""


def unknowns(cells: Figures, hidden: Numbers, known: Iterable[int] = ()) -> list[Unknowns]:
    """The parts into which the hidden cells fall, if an intruder also knows some; whatever is in none is determined.

    In a relation a cell can move one way only if another can make up for it. Where none can, that side is closed, and
    so on until nothing changes: exact, and it finds what a single relation gives away, such as its only hidden cell or
    the parts of a total that is zero.
    """
    open_cells = hidden.copy()
    open_cells[list(known)] = False
    which = np.flatnonzero(open_cells)
    relations = cells.relations[:, which]
    relations = sparse().csr_array(relations[np.diff(relations.indptr) > 0])
    fall = cells.values[which] - cells.lower[which]
    rise = cells.upper[which] - cells.values[which]
    falls, rises = open_sides(relations, fall > 0, rise > 0)
    fall, rise = np.where(falls, fall, 0.0), np.where(rises, rise, 0.0)
    left = np.flatnonzero(falls | rises)
    if not len(left):
        return []
    relations = relations[:, left]
    relations = sparse().csr_array(relations[np.diff(relations.indptr) > 0])
    return _parts(Unknowns(which[left], relations, fall[left], rise[left]))


def open_sides(relations: Any, falls: Numbers, rises: Numbers) -> tuple[Numbers, Numbers]:
    """Which cells can fall and rise at all, as far as single relations show."""
    rows = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    columns, plus = relations.indices, relations.data > 0
    falls, rises = falls.copy(), rises.copy()
    while True:
        up, down = np.where(plus, rises[columns], falls[columns]), np.where(plus, falls[columns], rises[columns])
        stays_up = up & (np.bincount(rows, down, len(relations.indptr) - 1)[rows] - down < 0.5)
        stays_down = down & (np.bincount(rows, up, len(relations.indptr) - 1)[rows] - up < 0.5)
        if not (stays_up.any() or stays_down.any()):
            return falls, rises
        rises[columns[np.where(plus, stays_up, stays_down)]] = False
        falls[columns[np.where(plus, stays_down, stays_up)]] = False


def outer_bounds(part: Unknowns, rounds: int = 30) -> tuple[Numbers, Numbers]:
    """How far each cell can fall and rise at most, by looking at one relation at a time, again and again.

    With whole numbers this is exact. Often it is all that can be said, which a single possible table then proves.
    """
    fall, rise = part.fall.copy(), part.rise.copy()
    rows = np.repeat(np.arange(part.relations.shape[0]), np.diff(part.relations.indptr))
    columns, plus, times = part.relations.indices, part.relations.data > 0, np.abs(part.relations.data)
    for _ in range(rounds):
        before = fall.copy(), rise.copy()
        down, up = np.where(plus, fall[columns], rise[columns]), np.where(plus, rise[columns], fall[columns])
        can_rise, can_fall = _others(rows, down * times) / times, _others(rows, up * times) / times
        np.minimum.at(rise, columns, np.where(plus, can_rise, can_fall))
        np.minimum.at(fall, columns, np.where(plus, can_fall, can_rise))
        if (before[0] == fall).all() and (before[1] == rise).all():
            break
    return fall, rise


class Simplex:
    """One linear program over a part, kept warm: only the goal changes, so the last table is the start of the next."""

    def __init__(self, part: Unknowns) -> None:
        ends = np.concatenate([part.fall, part.rise])
        largest = float(np.max(ends, where=np.isfinite(ends), initial=1.0))
        self._scale = max(1.0, 2.0 ** np.ceil(np.log2(largest / _LARGEST)))
        self._fall, self._rise = part.fall / self._scale, part.rise / self._scale
        self._solver = Solver(**WARM, solver="simplex", simplex_scale_strategy=0)  # nearly all coefficients are ±1
        self._solver.load(Program(np.zeros(len(part)), part.relations, 0.0, 0.0, -self._fall, self._rise))
        self._goal = np.empty(0, np.int32)

    def furthest(self, columns: Numbers, weights: Numbers) -> Numbers:
        """The changes for which the weighted sum over these columns is largest, which must not be without end."""
        self._solver.set_costs(self._goal, 0.0)
        self._goal = columns
        self._solver.set_costs(self._goal, -weights)
        return self._solver.optimum().x * float(self._scale)

    def reach(self, column: int, side: int, enough: float, shut: Numbers) -> tuple[float, Numbers]:
        """How far a cell can rise (1) or fall (-1), up to ``enough``, and which columns move; ``shut`` ones do not."""
        limited = np.append(shut, column).astype(np.int32)
        limits = np.append(np.zeros(len(shut)), enough / self._scale)
        fall, rise = self._fall[limited], self._rise[limited]
        self._solver.set_bounds(limited, -np.minimum(fall, limits), np.minimum(rise, limits))
        changes = self.furthest(np.array([column]), np.array([float(side)]))
        self._solver.set_bounds(limited, -fall, rise)
        return float(changes[column] * side), np.flatnonzero(np.abs(changes) > 1e-9 * self._scale)


def _others(rows: Numbers, terms: Numbers) -> Numbers:
    """For each entry the sum of the other terms of its row, infinite ones counted apart."""
    count = int(rows[-1]) + 1 if len(rows) else 0
    infinite = np.isinf(terms)
    finite = np.where(infinite, 0.0, terms)
    many = np.bincount(rows, infinite, count)[rows] - infinite
    return np.where(many > 0.5, np.inf, np.bincount(rows, finite, count)[rows] - finite)


def _parts(whole: Unknowns) -> list[Unknowns]:
    """One for each set of connected cells."""
    count, width = whole.relations.shape
    entries = whole.relations.tocoo()
    labels = components(entries.row, count + entries.col, count + width)
    rows, columns = labels[:count], labels[count:]
    by_row, by_column = np.argsort(rows, kind="stable"), np.argsort(columns, kind="stable")
    relations = sparse().csr_array(whole.relations[by_row][:, by_column])
    names, firsts = np.unique(columns[by_column], return_index=True)
    row_firsts = np.searchsorted(rows[by_row], [*names, count + width])
    found = []
    for place, (first, last) in enumerate(zip(firsts, [*firsts[1:], width], strict=True)):
        starts = relations.indptr[row_firsts[place] : row_firsts[place + 1] + 1]
        span = slice(starts[0], starts[-1])
        block = sparse().csr_array(
            (relations.data[span], relations.indices[span] - first, starts - starts[0]),
            shape=(len(starts) - 1, last - first),
        )
        some = by_column[first:last]
        found.append(Unknowns(whole.cells[some], block, whole.fall[some], whole.rise[some]))
    return found


@dataclass(frozen=True, eq=False)
class MergedUnknowns:
    """A part with fewer unknowns that says the same."""

    part: Unknowns
    """Its coefficients need not be 1 and -1; its cells are one of each group."""
    column: Numbers
    """For each unknown of the original part its column here, or -1 if it cannot move."""
    turned: Numbers
    """Whether it moves the other way."""

    @classmethod
    def of(cls, part: Unknowns) -> MergedUnknowns:
        """The same part with unknowns put together until every relation is between three or more, and said once."""
        merged = cls(part, np.arange(len(part)), np.zeros(len(part), bool))
        while True:
            step = _step(merged.part)
            if step is None:
                return merged
            there = step.column[merged.column]
            turned = merged.turned ^ step.turned[merged.column]
            merged = cls(step.part, np.where(merged.column < 0, -1, there), turned)

    def back(self, fall: Numbers, rise: Numbers) -> tuple[Numbers, Numbers]:
        """How far the original unknowns fall and rise if these do so."""
        fall, rise = np.append(fall, 0.0), np.append(rise, 0.0)  # the last is for those that cannot move
        falls, rises = fall[self.column], rise[self.column]
        return np.where(self.turned, rises, falls), np.where(self.turned, falls, rises)


def _step(part: Unknowns) -> MergedUnknowns | None:
    """Put together what single relations between two say is the same, or none if there is nothing to do."""
    falls, rises = open_sides(part.relations, part.fall > 0, part.rise > 0)
    stuck = ~(falls | rises)
    relations = part.relations
    firsts = relations.indptr[:-1][np.diff(relations.indptr) == 2]
    firsts = firsts[np.abs(relations.data[firsts]) == np.abs(relations.data[firsts + 1])]
    if not len(firsts) and not stuck.any():
        return None
    label, turned, torn = signed_components(
        relations.indices[firsts],
        relations.indices[firsts + 1],
        relations.data[firsts] == relations.data[firsts + 1],
        len(part),
    )
    count = int(label.max(initial=-1)) + 1
    fall, rise = np.full(count, np.inf), np.full(count, np.inf)
    own_fall, own_rise = np.where(falls, part.fall, 0.0), np.where(rises, part.rise, 0.0)
    np.minimum.at(fall, label, np.where(turned, own_rise, own_fall))
    np.minimum.at(rise, label, np.where(turned, own_fall, own_rise))
    fall[label[torn]] = rise[label[torn]] = 0.0
    moving = (fall > 0) | (rise > 0)
    new = np.where(moving, np.cumsum(moving) - 1, -1)
    column = new[label]
    stays = column >= 0
    into = sparse().csr_array(
        (np.where(turned, -1, 1)[stays], (np.flatnonzero(stays), column[stays])), shape=(len(part), int(moving.sum()))
    )
    smaller = sparse().csr_array(relations.astype(np.int64) @ into.astype(np.int64))
    smaller.eliminate_zeros()
    cells = np.empty(int(moving.sum()), np.int64)
    cells[column[stays]] = part.cells[stays]
    return MergedUnknowns(Unknowns(cells, _once(smaller), fall[moving], rise[moving]), column, turned)


def _once(relations: Any) -> Any:
    """Each relation once, whatever its sign; none without unknowns."""
    relations.sort_indices()
    seen: dict[tuple[bytes, bytes], int] = {}
    for row in range(relations.shape[0]):
        first, last = relations.indptr[row], relations.indptr[row + 1]
        if first < last:
            entries = relations.data[first:last]
            entries = entries // np.gcd.reduce(entries) * np.sign(entries[0])
            seen.setdefault((relations.indices[first:last].tobytes(), entries.tobytes()), row)
    return sparse().csr_array(relations[list(seen.values())])
