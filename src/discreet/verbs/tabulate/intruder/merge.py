"""Hidden cells that can only move together, merged into one unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.optional import extra
from discreet.verbs.tabulate.intruder.unknowns import Unknowns, open_sides
from discreet.verbs.tabulate.optional_imports import sparse

_Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Merged:
    """A part with fewer unknowns that says the same."""

    part: Unknowns
    """Its coefficients need not be 1 and -1; its cells are one of each group."""
    column: _Numbers
    """For each unknown of the original part its column here, or -1 if it cannot move."""
    turned: _Numbers
    """Whether it moves the other way."""

    @classmethod
    def of(cls, part: Unknowns) -> Merged:
        """The same part with unknowns put together until every relation is between three or more, and said once."""
        merged = cls(part, np.arange(len(part)), np.zeros(len(part), bool))
        while True:
            step = _step(merged.part)
            if step is None:
                return merged
            there = step.column[merged.column]
            turned = merged.turned ^ step.turned[merged.column]
            merged = cls(step.part, np.where(merged.column < 0, -1, there), turned)

    def back(self, fall: _Numbers, rise: _Numbers) -> tuple[_Numbers, _Numbers]:
        """How far the original unknowns fall and rise if these do so."""
        fall, rise = np.append(fall, 0.0), np.append(rise, 0.0)  # the last is for those that cannot move
        falls, rises = fall[self.column], rise[self.column]
        return np.where(self.turned, rises, falls), np.where(self.turned, falls, rises)


def _step(part: Unknowns) -> Merged | None:
    """Put together what single relations between two say is the same, or none if there is nothing to do."""
    falls, rises = open_sides(part.relations, part.fall > 0, part.rise > 0)
    stuck = ~(falls | rises)
    relations = part.relations
    firsts = relations.indptr[:-1][np.diff(relations.indptr) == 2]
    firsts = firsts[np.abs(relations.data[firsts]) == np.abs(relations.data[firsts + 1])]
    if not len(firsts) and not stuck.any():
        return None
    label, turned, torn = _together(
        len(part),
        relations.indices[firsts],
        relations.indices[firsts + 1],
        relations.data[firsts] == relations.data[firsts + 1],
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
    return Merged(Unknowns(cells, _once(smaller), fall[moving], rise[moving]), column, turned)


def _together(count: int, one: _Numbers, two: _Numbers, opposite: _Numbers) -> tuple[_Numbers, _Numbers, _Numbers]:
    """Groups of unknowns that are the same or, where said, opposite: the group of each, whether it is turned round in
    it, and whether it is its own opposite and so cannot move.

    Every unknown is there twice, as it is and turned round.
    """
    with extra("tabulate"):
        import scipy.sparse.csgraph as graphs

    shift = np.where(opposite, count, 0)
    edges = sparse().coo_array(
        (
            np.ones(2 * len(one), np.int8),
            (np.concatenate([one, one + count]), np.concatenate([two + shift, two + count - shift])),
        ),
        shape=(2 * count, 2 * count),
    )
    _, labels = graphs.connected_components(edges, directed=False)
    plain, other = labels[:count], labels[count:]
    turned = other < plain
    _, group = np.unique(np.minimum(plain, other), return_inverse=True)
    return group, turned, plain == other


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
