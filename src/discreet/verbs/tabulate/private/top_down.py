"""Top-down integer counts: non-negative whole tables that agree exactly, near to real ones that agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import prod

import numpy as np

from discreet.errors import BadInput, NoPromise
from discreet.verbs.tabulate.private.counts import overlaps
from discreet.verbs.tabulate.private.strategy import Columns
from discreet.verbs.tabulate.tables.crosstable import Dimension, Numbers

_ROUNDS = 100
_CLOSE = 1e-2
_LITTLE = 1e-9


def in_whole_numbers(
    sides: Mapping[str, Dimension], tables: Iterable[Columns], real: Callable[[Columns], Numbers]
) -> dict[Columns, Numbers]:
    """For each table and whatever tables share, the counts of its leaves: whole, >= 0, equal wherever tables overlap.

    ``real`` gives the figures to stay near, the axes in the order of ``sides``. No set of tables that ``require_fits``
    admits is refused, whatever the figures.

    Why they agree: what tables share is settled first, from the total of all upwards, and never changed again; a table
    is then filled in level by level, each total divided among its parts so that the sums of what is settled are met
    exactly. There are at most two such sums to meet at once, of each total and of each part, and two always can be
    (``transported``). With three they might contradict each other, so such tables are refused. The idea is that of
    the United States Census of 2020 (Abowd and others 2022).
    """
    total = max(0, round(float(real(frozenset()))))
    settled: dict[Columns, Numbers] = {frozenset(): np.array(total, dtype=np.int64)}
    for columns, shared in _order(tables):
        if columns:
            axes = {name: side for name, side in sides.items() if name in columns}
            table = _Filling(axes, real(columns), {one: settled[one] for one in shared if one}, total)
            settled[columns] = table.filled()
    return settled


def require_fits(tables: Iterable[Columns]) -> None:
    """An error unless whole numbers can always be found that agree exactly."""
    for columns, shared in _order(tables):
        if len(shared) > 2 or (len(shared) == 2 and shared[0] & shared[1]):
            raise BadInput(
                f"The table by {' × '.join(sorted(columns))} overlaps too much with the others for "
                "consistent whole numbers: at most two disjoint parts of it can be fixed by other tables.",
                hint="Use tables of one or two columns, fewer tables, or real numbers.",
            )


def _order(tables: Iterable[Columns]) -> list[tuple[Columns, list[Columns]]]:
    """Every table and whatever tables share, the smallest first, each with the largest of the others within it."""
    wanted = set(tables)
    every = sorted(wanted | set(overlaps(wanted)) | {frozenset()}, key=lambda one: (len(one), sorted(one)))
    found = []
    for columns in every:
        within = [one for one in every if one < columns]
        found.append((columns, [one for one in within if not any(one < other for other in within)]))
    return found


class _Filling:
    """One table that is being filled in: every axis stands at some level of its side."""

    def __init__(
        self, sides: Mapping[str, Dimension], near: Numbers, shared: Mapping[Columns, Numbers], total: int
    ) -> None:
        """``near`` and what is ``shared``, and settled already, have leaves on every axis."""
        self.names = list(sides)
        self.near = near
        self.shared = shared
        self.levels = {name: _levels(side) for name, side in sides.items()}
        self.starts = {name: levels[0] for name, levels in self.levels.items()}
        self.table = np.full([1] * len(sides), total, dtype=np.int64)

    def filled(self) -> Numbers:
        for depth in range(1, max(map(len, self.levels.values()))):
            for name in self.names:
                if depth < len(self.levels[name]):
                    self._refine(name, self.levels[name][depth])
        return self.table

    def _refine(self, name: str, starts: Numbers) -> None:
        """Divide every total on one axis among its parts on the next level."""
        bound = next((one for one in self.shared if name in one), None)
        coarse = self.starts[name]
        self.starts[name] = starts
        near = self._at_level(self.near, self.names)
        beside = [one for one in self.names if bound is not None and one in bound and one != name]
        free = [one for one in self.names if one != name and one not in beside]
        order = [self.names.index(one) for one in (*beside, *free, name)]
        shape = [near.shape[axis] for axis in order]
        across = (prod(shape[: len(beside)]), prod(shape[len(beside) : -1]))
        flat_near = near.transpose(order).reshape(*across, len(starts))
        flat_now = self.table.transpose(order).reshape(*across, len(coarse))
        told = None
        if bound is not None:
            kept = [one for one in self.names if one in bound]
            sums = self._at_level(self.shared[bound], kept)
            told = sums.transpose([kept.index(one) for one in (*beside, name)]).reshape(across[0], len(starts))
        flat = np.empty(flat_near.shape, dtype=np.int64)
        for total, part in enumerate(_parts(coarse, starts)):
            for place in range(across[0]):
                block, rows = flat_near[place, :, part], flat_now[place, :, total]
                flat[place, :, part] = (
                    split(block, rows) if told is None else transported(block, rows, told[place, part])
                )
        self.table = flat.reshape(shape).transpose(np.argsort(order))

    def _at_level(self, leaves: Numbers, names: Sequence[str]) -> Numbers:
        for axis, name in enumerate(names):
            leaves = np.add.reduceat(leaves, self.starts[name], axis=axis)
        return leaves


def _levels(side: Dimension) -> list[Numbers]:
    """For each level, from the total of all downwards, where its groups of leaves start; the last has the leaves."""
    groups = (side.totals_at(depth)[side.leaves] for depth in range(max(side.depths) + 1))
    return [np.flatnonzero(np.diff(group, prepend=-1)) for group in groups]


def _parts(coarse: Numbers, fine: Numbers) -> list[slice]:
    """For each group of the coarse level, where its parts are on the fine one."""
    ends = [*np.searchsorted(fine, coarse).tolist(), len(fine)]
    return [slice(first, last) for first, last in pairwise(ends)]


def split(target: Numbers, rows: Numbers) -> Numbers:
    """Whole numbers >= 0 near ``target`` whose rows have these sums, which are whole and >= 0.

    Why the sums are met: the nearest real table is rounded down, and what each row then lacks, less than its number
    of cells, is given one by one to the largest remainders.
    """
    near = np.maximum(target + _shifts(target, rows)[:, None], 0.0)
    table = np.floor(near).astype(np.int64)
    lacking = rows - table.sum(axis=1)
    if lacking.min(initial=0) < 0 or lacking.max(initial=0) > target.shape[1]:
        raise NoPromise("The figures are too large for floating point.")
    places = np.argsort(np.argsort(table - near, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray(table + (places < lacking[:, None]))


def transported(target: Numbers, rows: Numbers, columns: Numbers) -> Numbers:
    """Whole numbers >= 0 near ``target`` with these sums of rows and columns, which are whole, >= 0 and of one total.

    Why the sums are met: the nearest real table with these sums is found approximately, rounded, and then changed by
    one along shortest paths, each of which settles one unit of what is still missing (successive shortest paths,
    which with convex costs keep what is found nearest: Ahuja, Magnanti, Orlin 1993, section 14.5). A row that lacks
    a unit and a column that does share a cell, so there is always a path.
    """
    if rows.sum() != columns.sum():
        raise NoPromise("The row sums and column sums have different totals, so no table has them.")
    near = _nearest(target, rows, columns)
    table = np.rint(near).astype(np.int64)
    lacking, wanting = rows - table.sum(axis=1), columns - table.sum(axis=0)
    while lacking.any() or wanting.any():
        _settle(table, near, lacking, wanting)
    return table


def _nearest(target: Numbers, rows: Numbers, columns: Numbers) -> Numbers:
    """Nearly the nearest real table >= 0 with these sums.

    It is max(0, target + a + b) for some shift a of each row and b of each column (the conditions of Karush, Kuhn and
    Tucker); each is found while the other is held, in turns, which never moves away (coordinate ascent on the dual).
    """
    down = np.zeros(len(rows))
    across = np.zeros(len(columns))
    for _ in range(_ROUNDS):
        down = _shifts(target + across, rows)
        table = np.maximum(target + down[:, None] + across, 0.0)
        if np.abs(table.sum(axis=0) - columns).max() < _CLOSE:
            break
        across = _shifts((target + down[:, None]).T, columns)
    return np.maximum(target + down[:, None] + across, 0.0)


def _shifts(target: Numbers, sums: Numbers) -> Numbers:
    """For each row the s with Σ max(0, target + s) = its sum: the projection onto a simplex (Held and others 1974)."""
    falling = -np.sort(-target, axis=1)
    over = (np.cumsum(falling, axis=1) - sums[:, None]) / np.arange(1, target.shape[1] + 1)
    last = np.maximum((falling > over).sum(axis=1) - 1, 0)
    return np.asarray(-np.take_along_axis(over, last[:, None], axis=1)[:, 0])


def _settle(table: Numbers, near: Numbers, lacking: Numbers, wanting: Numbers) -> None:
    """Change cells by one along shortest paths, no two of which meet; each settles one unit of what is missing."""
    up = 2 * (table - near) + 1  # what one more adds to the squared distance
    down = np.where(table > 0, 1 - 2 * (table - near), np.inf)
    to_row = np.where(lacking > 0, 0.0, np.inf)
    to_column = np.where(wanting < 0, 0.0, np.inf)
    row_from = np.full(len(lacking), -1)
    column_from = np.full(len(wanting), -1)
    while True:
        changed = _shorter(to_row[:, None] + up, to_column, column_from)
        if not _shorter((to_column + down).T, to_row, row_from) and not changed:
            break
    ends = [(to_row[row], False, row) for row in np.flatnonzero(lacking < 0).tolist()]
    ends += [(to_column[column], True, column) for column in np.flatnonzero(wanting > 0).tolist()]
    used: set[tuple[bool, int]] = set()
    for _, is_column, place in sorted(ends):
        path = [(is_column, place)]
        while (before := int((column_from if path[-1][0] else row_from)[path[-1][1]])) >= 0:
            path.append((not path[-1][0], before))
        if used.isdisjoint(path):
            used.update(path)
            _change(table, lacking, wanting, path)


def _change(table: Numbers, lacking: Numbers, wanting: Numbers, path: list[tuple[bool, int]]) -> None:
    """Follow a path, its end first: one more from a row to a column, one less from a column to a row."""
    for (is_column, place), (_, before) in pairwise(path):
        if is_column:
            table[before, place] += 1
        else:
            table[place, before] -= 1
    for (is_column, place), sign in ((path[0], 1), (path[-1], -1)):
        if is_column:
            wanting[place] -= sign
        else:
            lacking[place] += sign


def _shorter(paths: Numbers, known: Numbers, through: Numbers) -> bool:
    """Whether any of the places across is reached by a shorter path than is known; if so, it is known now."""
    best = paths.argmin(axis=0)
    length = paths[best, np.arange(len(known))]
    shorter = length < known - _LITTLE
    known[shorter] = length[shorter]
    through[shorter] = best[shorter]
    return bool(shorter.any())
