"""Modular suppression of hierarchical and linked tables, the top first (HiTaS: de Wolf 2002)."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from discreet.errors import DiscreetError, NoPromise
from discreet.releases.method import Progress, silent
from discreet.verbs.tabulate.method import Pattern, Protection
from discreet.verbs.tabulate.suppress.completion import completed
from discreet.verbs.tabulate.suppress.fast import fast
from discreet.verbs.tabulate.suppress.optimal import optimal
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, Numbers

_PIECES_SHARE = 0.6
"""Share of the time for the pieces; the rest is for the whole."""
_PIECE_SHARE = 0.01
"""Largest share of the time for one of several pieces."""
_REOPENED_COST = 10.0
"""Cost factor of hiding a cell that a piece above has decided to print."""
_PIECE_VISITS = 3
"""Times that one piece is solved at most."""


def modular(
    cells: Cells,
    protection: Protection,
    weights: Numbers,
    candidates: Numbers,
    *,
    seconds: float,
    gap: float = 0.0,
    progress: Progress = silent,
) -> Pattern:
    """A pattern that protects, each piece of which is about as good as it can be.

    A piece is a total along every side with its parts. Pieces are protected one by one, from the top down; what one
    hides is sensitive in those below, what it prints they have to print. A piece that cannot be protected in this way
    may hide what was to be printed, and then the pieces that share it are looked at again. Protected pieces do not
    always make a protected whole, so in the end the whole is audited, completed where something is short, and what
    turns out not to be needed is printed. Never worse than ``fast``, which is there first.
    """
    start = time.monotonic()
    weights = np.asarray(weights, np.float64)
    quick = fast(cells, protection, weights, candidates, seconds=seconds, progress=_between(progress, 0.0, 0.1))
    pieces = _Pieces(cells, protection, weights, candidates)
    hidden = pieces.protect_all(start, seconds, gap, _between(progress, 0.1, 0.7))
    found = [quick]
    try:
        hidden = completed(
            cells,
            protection,
            hidden,
            np.where(candidates, weights, np.inf),
            until=start + seconds,
            progress=_between(progress, 0.7, 0.9),
        )
        secondary = hidden & ~protection.sensitive
        found.append(Pattern(hidden, float(weights[secondary].sum()), -np.inf, "modular"))
        left = max(start + seconds - time.monotonic(), 0.0)
        found.append(fast(cells, protection, weights, secondary, seconds=left, progress=_between(progress, 0.9, 1.0)))
    except NoPromise:  # no time left: that it can be protected is known
        pass
    return replace(min(found, key=lambda pattern: pattern.weight), method="modular")


def _between(progress: Progress, first: float, last: float) -> Progress:
    """Progress of a part of the work as that of the whole."""
    return lambda share, what: progress(first + (last - first) * share, what)


@dataclass(frozen=True, eq=False)
class _Piece:
    """A total along every side, and its parts."""

    table: CrossTable
    which: Numbers
    """The cells, in the order of the piece's own."""
    depth: int


class _Pieces:
    """All pieces of the tables, and what has been decided of their cells so far."""

    def __init__(self, cells: Cells, protection: Protection, weights: Numbers, candidates: Numbers) -> None:
        self.pieces = [
            piece for table, places in zip(cells.tables, cells.places, strict=True) for piece in _pieces(table, places)
        ]
        self.hidden = protection.sensitive.copy()
        self._cells, self._protection, self._weights, self._candidates = cells, protection, weights, candidates
        self._decided = np.zeros(len(cells), bool)
        self._below, self._above = protection.below.copy(), protection.above.copy()
        self._pieces_of: dict[int, list[int]] = {}
        for number, piece in enumerate(self.pieces):
            for cell in piece.which.tolist():
                self._pieces_of.setdefault(cell, []).append(number)

    def protect_all(self, start: float, seconds: float, gap: float, progress: Progress) -> Numbers:
        """What is hidden when every piece has been looked at, or the time for them is over."""
        waiting = [(piece.depth, number) for number, piece in enumerate(self.pieces)]
        heapq.heapify(waiting)
        visits = dict.fromkeys(range(len(waiting)), 0)
        while waiting:
            _, number = heapq.heappop(waiting)
            left = start + _PIECES_SHARE * seconds - time.monotonic()
            if left <= 0:
                break
            visits[number] += 1
            share = min(2 * left / (len(waiting) + 2), _PIECE_SHARE * seconds if len(visits) > 1 else left)
            for other in self.protect(self.pieces[number], share, gap):
                again = (self.pieces[other].depth, other)
                if other != number and 0 < visits[other] < _PIECE_VISITS and again not in waiting:
                    heapq.heappush(waiting, again)
            progress(1 - len(waiting) / len(visits), "protecting pieces of the table")
        return self.hidden

    def protect(self, piece: _Piece, seconds: float, gap: float) -> set[int]:
        """Hide what one piece needs; the pieces that have to be looked at again."""
        which = piece.which
        printed = self._decided[which] & ~self.hidden[which]
        self._decided[which] = True
        if not self.hidden[which].any():
            return set()
        cells = Cells.of(piece.table)
        cells = cells.knowing(self._cells.lower[which], self._cells.upper[which])
        may = self._candidates[which] & ~self.hidden[which]
        dear = np.where(printed, _REOPENED_COST, 1.0) * self._weights[which]
        all_hidden, sensitive = self._inside(which, self.hidden), self._inside(which, self._protection.sensitive)
        tries = ((all_hidden, may & ~printed), (sensitive, may & ~printed), (sensitive, may))
        for protection, allowed in tries:
            try:
                pattern = optimal(cells, protection, dear, allowed, seconds=seconds, gap=gap)
            except DiscreetError:  # not by this piece alone, or not by this solver; the whole has the last word
                continue
            new = pattern.hidden & ~self.hidden[which]
            self.hidden[which] |= pattern.hidden
            self._spread(cells, which)
            again = which[new & printed].tolist()
            return {number for cell in again for number in self._pieces_of[cell]}
        return set()

    def _inside(self, which: Numbers, kept_off: Numbers) -> Protection:
        """What has to be kept from an intruder within a piece: all that is hidden, some of it kept off."""
        hidden, kept_off = self.hidden[which], kept_off[which]
        fall = (self._cells.values - self._cells.lower)[which]
        rise = (self._cells.upper - self._cells.values)[which]
        place = {int(cell): number for number, cell in enumerate(which)}
        known = (
            tuple(tuple(place[cell] for cell in some if cell in place) for some in both)
            for both in itertools.zip_longest(self._protection.insiders, self._protection.within, fillvalue=())
        )
        insiders = [both for both in known if both[0]]
        return Protection(
            hidden,
            np.where(kept_off, np.minimum(self._below[which], fall), 0.0),
            np.where(kept_off, np.minimum(self._above[which], rise), 0.0),
            insiders=tuple(own for own, _ in insiders),
            within=tuple(over for _, over in insiders),
        )

    def _spread(self, cells: Cells, which: Numbers) -> None:
        """A cell hidden for others must be able to move as far as those next to it."""
        hidden = self.hidden[which]
        links = abs(cells.relations).astype(np.float64)
        for levels in (self._below, self._above):
            for _ in range(len(cells.tables[0].shape)):
                here = np.where(hidden, levels[which], 0.0)
                most = (links.multiply(here[None, :])).max(axis=1).toarray().ravel()
                around = (links.T.multiply(most[None, :])).max(axis=1).toarray().ravel()
                new = hidden & ~self._protection.sensitive[which] & (here == 0)
                levels[which] = np.where(new, around, levels[which])


def _pieces(table: CrossTable, places: Numbers) -> Iterator[_Piece]:
    """Every combination of a total along each side, with their parts."""
    numbers = places.reshape(table.shape)
    choices = [[node for node, parts in enumerate(side.parts) if parts] or [0] for side in table.dimensions]
    for nodes in itertools.product(*choices):
        codes = [[node, *side.parts[node]] for node, side in zip(nodes, table.dimensions, strict=True)]
        sides = tuple(_one_level(side, some) for side, some in zip(table.dimensions, codes, strict=True))
        grid = np.ix_(*codes)
        piece = CrossTable(sides, np.ascontiguousarray(table.values[grid]), table.what, table.decimals)
        depth = sum(side.depths[node] for node, side in zip(nodes, table.dimensions, strict=True))
        yield _Piece(piece, numbers[grid].ravel(), depth)


def _one_level(side: Dimension, codes: list[int]) -> Dimension:
    return Dimension(side.name, tuple(side.codes[code] for code in codes), (-1, *(0 for _ in codes[1:])))
