"""Feasibility intervals in tables that are networks, by maximum flow through the hidden cells.

If every cell is in at most two relations, with opposite signs after some relations are turned round, then relations
are the nodes of a network and cells its arcs (Fischetti & Salazar 1999): tables with one side, with two, and with
two of which one is nested. A cell can rise by as much as can flow back from the end of its arc to its beginning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.programs import Numbers
from discreet.verbs.attack.intruder.sparse import signed_components, sparse

if TYPE_CHECKING:
    from discreet.verbs.attack.intruder.flow import Graph


def nothing() -> Numbers:
    """No cells."""
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Cut:
    """Why a cell can do no more: it cannot change by more than the sum over these cells of ``rises`` times how much
    they may rise and ``falls`` times how much they may fall, whatever those are."""

    cells: Numbers
    rises: Numbers
    falls: Numbers


@dataclass(frozen=True, eq=False)
class Reach:
    """How far a cell can rise (or fall) if others change too.

    The changes that let it do so are the witness: the pattern protects as long as these cells are hidden.
    """

    amount: float
    moved: Numbers = field(default_factory=nothing)
    """The other cells that change."""
    by: Numbers = field(default_factory=nothing)
    """By how much."""
    cuts: tuple[Cut, ...] = ()
    """None if the cell reaches enough."""


@dataclass(frozen=True, eq=False)
class Network:
    """For each cell the relation it comes from and the one it goes to; the last node stands for the world outside."""

    tails: Numbers
    heads: Numbers
    nodes: int

    @classmethod
    def of(cls, relations: Any) -> Network | None:
        """The network of these relations, or none if they are not one.

        Relations that follow from others are left out where a cell would be in more than two.
        """
        relations = sparse().csr_array(relations)
        kept = _kept(relations)
        if kept is None:
            return None
        kept = relations[kept]
        signs = _signs(kept)
        if signs is None:
            return None
        outside = kept.shape[0]
        tails, heads = np.full(kept.shape[1], outside, np.int32), np.full(kept.shape[1], outside, np.int32)
        rows = np.repeat(np.arange(outside), np.diff(kept.indptr))
        out = kept.data * signs[rows] > 0
        tails[kept.indices[out]] = rows[out]
        heads[kept.indices[~out]] = rows[~out]
        return cls(tails, heads, outside + 1)

    def opened(self, rise: Numbers, fall: Numbers, share: Numbers | None = None) -> OpenNetwork:
        """The network in which each cell may rise and fall by so much (float64, 0 for a printed cell).

        With ``share``, what a cell may take of a flow is its rise or fall, at most the flow, times its share.
        """
        from discreet.verbs.attack.intruder.flow import graph  # Numba: a moment to load

        share = np.ones(len(rise)) if share is None else share
        arcs = np.flatnonzero(((rise > 0) | (fall > 0)) & (share > 0))
        places = np.full(len(rise), -1)
        places[arcs] = np.arange(len(arcs))
        opened = graph(self.tails[arcs], self.heads[arcs], self.nodes)
        return OpenNetwork(self, arcs, places, opened, rise[arcs], fall[arcs], share[arcs])

    @cached_property
    def _graph(self) -> Graph:
        from discreet.verbs.attack.intruder.flow import graph

        return graph(self.tails, self.heads, self.nodes)

    def cheapest(  # noqa: PLR0917
        self, cell: int, side: int, enough: float, rise: Numbers, fall: Numbers, price: Numbers, shut: Numbers
    ) -> Numbers | None:
        """Cells that let one change by ``enough``, of small price together; none if there are none.

        What must be printed has no room to rise or fall.
        """
        from discreet.verbs.attack.intruder.flow import cheap_flow

        first, last = self.heads[cell], self.tails[cell]
        if side < 0:
            first, last = last, first
        closed = np.append(shut, cell)
        amount, moved = cheap_flow(self._graph, rise, fall, price, first, last, closed, enough)
        return np.asarray(moved) if amount >= enough * (1 - 1e-7) else None


@dataclass(frozen=True, eq=False)
class OpenNetwork:
    """A network and how much each cell may change; asked for one cell after another."""

    network: Network
    arcs: Numbers
    """The cells that may change; what follows the next is of these."""
    places: Numbers
    """Where among them each cell is, or -1."""
    graph: Graph
    rise: Numbers
    fall: Numbers
    share: Numbers

    def reach(self, cell: int, side: int, enough: float = np.inf, shut: Numbers | None = None) -> Reach:
        """How far a cell can rise (side 1) or fall (side -1), up to ``enough``; ``shut`` cells stay as they are.

        The cell's own bounds do not count. The cuts are the smallest sets of nodes around where the flow starts and
        where it ends that it cannot leave in a larger amount (max-flow min-cut).
        """
        from discreet.verbs.attack.intruder.flow import max_flow

        first, last = self.network.heads[cell], self.network.tails[cell]
        if side < 0:
            first, last = last, first
        if first == last:
            return Reach(float(enough))
        still = np.array([cell] if shut is None else [cell, *shut])
        closed = self.places[still]
        amount, moved, by, near, far = max_flow(
            self.graph, self.rise, self.fall, self.share, first, last, closed, enough
        )
        if amount >= enough:
            return Reach(float(amount), self.arcs[moved], by)
        return Reach(float(amount), self.arcs[moved], by, (self._cut(near, still), self._cut(~far, still)))

    def _cut(self, inside: Numbers, still: Numbers) -> Cut:
        """The cells by which something could leave a set of nodes."""
        rises, falls = inside[self.network.tails], inside[self.network.heads]
        crossing = rises != falls
        crossing[still] = False
        cells = np.flatnonzero(crossing)
        return Cut(cells, rises[cells].astype(float), falls[cells].astype(float))


def _kept(relations: Any) -> Numbers | None:
    """Relations that say the same as all of them with no cell in more than two, or none if none are found.

    In a table with one nested side, a relation across a total follows from those across its parts. A relation may go
    if it is seen to follow from others; it goes if a cell in too many has no other that may.
    """
    count = relations.shape[0]
    rows = np.repeat(np.arange(count), np.diff(relations.indptr))
    degrees = np.bincount(relations.indices, minlength=relations.shape[1])
    if degrees.max(initial=0) <= 2:
        return np.arange(count)
    total = relations.data > 0
    elsewhere = np.bincount(relations.indices[total], minlength=relations.shape[1])[relations.indices] - total
    may = np.bincount(rows[elsewhere < 1], minlength=count) == 0
    candidates = np.bincount(relations.indices[may[rows]], minlength=relations.shape[1])
    if (candidates < degrees - 2).any():
        return None
    by_cell = relations.tocsc()
    kept = np.ones(count, bool)
    may &= np.array([may[row] and _follows(row, relations, by_cell, kept) for row in range(count)])
    candidates = np.bincount(relations.indices[may[rows]], minlength=relations.shape[1])
    forced = (degrees > 2) & (candidates == degrees - 2)
    must = may & (np.bincount(rows[forced[relations.indices]], minlength=count) > 0)
    for row in np.flatnonzero(must):
        kept[row] = not _follows(int(row), relations, by_cell, kept)
    left = np.flatnonzero(kept)
    return left if np.diff(relations[left].tocsc().indptr).max() <= 2 else None


def _follows(row: int, relations: Any, by_cell: Any, kept: Numbers) -> bool:
    """Whether a relation is seen to be a sum of kept others: its cells split into parts, these gathered again."""
    left: dict[int, int] = {}

    def add(which: int, times: int) -> None:
        for place in range(relations.indptr[which], relations.indptr[which + 1]):
            cell = int(relations.indices[place])
            left[cell] = left.get(cell, 0) + times * int(relations.data[place])
            if not left[cell]:
                del left[cell]

    def splits(cell: int) -> list[int]:
        places = range(by_cell.indptr[cell], by_cell.indptr[cell + 1])
        others = [int(by_cell.indices[place]) for place in places if by_cell.data[place] > 0]
        return [other for other in others if other != row and kept[other]]

    def fits(which: int, times: int) -> bool:
        span = slice(relations.indptr[which], relations.indptr[which + 1])
        pairs = zip(relations.indices[span], relations.data[span], strict=True)
        return all(left.get(int(cell), 0) == times * int(sign) for cell, sign in pairs)

    add(row, 1)
    for cell, times in list(left.items()):
        ways = splits(cell)
        if not ways:
            return False
        add(ways[0], -times)
    for cell in list(left):
        if times := left.get(cell, 0):
            whole = [other for other in splits(cell) if fits(other, times)]
            if whole:
                add(whole[0], -times)
    return not left


def _signs(relations: Any) -> Numbers | None:
    """1 or -1 for each relation so that a cell in two has 1 in one and -1 in the other; none if there is no such."""
    by_cell = relations.tocsc()
    pairs = by_cell.indptr[:-1][np.diff(by_cell.indptr) == 2]
    same_sign = by_cell.data[pairs] == by_cell.data[pairs + 1]
    _, turned, torn = signed_components(
        by_cell.indices[pairs], by_cell.indices[pairs + 1], same_sign, relations.shape[0]
    )
    return None if torn.any() else np.where(turned, -1, 1)
