"""From real tables that agree to whole ones, none below zero, that agree exactly: totals first, their parts after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from discreet.errors import BadInput
from discreet.verbs.tabulate.private.counts import overlaps
from discreet.verbs.tabulate.private.transport import split, transported
from discreet.verbs.tabulate.private.workload import Columns
from discreet.verbs.tabulate.tables.dimension import Dimension

_Numbers = np.ndarray[Any, Any]


def in_whole_numbers(
    sides: Mapping[str, Dimension], tables: Iterable[Columns], real: Callable[[Columns], _Numbers]
) -> dict[Columns, _Numbers]:
    """For each table and whatever tables share, the counts of its leaves: whole, >= 0, equal wherever tables overlap.

    ``real`` gives the figures to stay near, the axes in the order of ``sides``. No set of tables that ``require_fits``
    admits is refused, whatever the figures.

    Why they agree: what tables share is settled first, from the total of all upwards, and never changed again; a table
    is then filled in level by level, each total divided among its parts so that the sums of what is settled are met
    exactly. There are at most two such sums to meet at once, of each total and of each part, and two always can be
    (``transport.py``). With three they might contradict each other, so such tables are refused. The idea is that of
    the United States Census of 2020 (Abowd and others 2022).
    """
    total = max(0, round(float(real(frozenset()))))
    settled: dict[Columns, _Numbers] = {frozenset(): np.array(total, dtype=np.int64)}
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
                f"The table by {' × '.join(sorted(columns))} shares too much with the others for whole numbers that "
                "agree: at most two parts, with no column in common, can be settled before it.",
                hint="Ask for tables of one or two columns, for fewer at once, or for figures that are not whole.",
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
        self, sides: Mapping[str, Dimension], near: _Numbers, shared: Mapping[Columns, _Numbers], total: int
    ) -> None:
        """``near`` and what is ``shared``, and settled already, have leaves on every axis."""
        self.names = list(sides)
        self.near = near
        self.shared = shared
        self.levels = {name: _levels(side) for name, side in sides.items()}
        self.starts = {name: levels[0] for name, levels in self.levels.items()}
        self.table = np.full([1] * len(sides), total, dtype=np.int64)

    def filled(self) -> _Numbers:
        """The leaves."""
        for depth in range(1, max(map(len, self.levels.values()))):
            for name in self.names:
                if depth < len(self.levels[name]):
                    self._refine(name, self.levels[name][depth])
        return self.table

    def _refine(self, name: str, starts: _Numbers) -> None:
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

    def _at_level(self, leaves: _Numbers, names: Sequence[str]) -> _Numbers:
        for axis, name in enumerate(names):
            leaves = np.add.reduceat(leaves, self.starts[name], axis=axis)
        return leaves


def _levels(side: Dimension) -> list[_Numbers]:
    """For each level, from the total of all downwards, where its groups of leaves start; the last has the leaves."""
    leaves = side.leaves.tolist()
    found = []
    for depth in range(max(side.depths) + 1):
        group = []
        for leaf in leaves:
            place = leaf
            while side.depths[place] > depth:
                place = side.parents[place]
            group.append(place)
        found.append(np.flatnonzero(np.diff(group, prepend=-1)))
    return found


def _parts(coarse: _Numbers, fine: _Numbers) -> list[slice]:
    """For each group of the coarse level, where its parts are on the fine one."""
    ends = [*np.searchsorted(fine, coarse).tolist(), len(fine)]
    return [slice(first, last) for first, last in pairwise(ends)]
