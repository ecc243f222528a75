"""The best node of a lattice of levels, by branch and bound over boxes.

A box is all nodes between a finer one (``low``) and a coarser one (``high``). Rows whose class breaks an absorbing
model at ``high`` break it at every node of the box, since their class is nowhere larger; so they are set aside once,
and the box is bounded by what they lose together with what all others lose at ``low``. Boxes are taken up in the order
of their bounds. Its ends are tried; levels that alone would cost too much are cut off the coarser end, or else the box
is cut in two where its ends differ most. When the least bound is no less than the best node found, that node is the
optimum. Classes of a coarser node are put together from those of a finer one, not from the tuples again. Nothing is
ever computed for the lattice as a whole, so it may be as large as it likes.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass
from math import inf, isfinite
from typing import NamedTuple

from discreet.verbs.publish.model_pruning import Rules
from discreet.verbs.publish.recoding import Progress
from discreet.verbs.publish.score import Gone, Score
from discreet.verbs.publish.space import Lump, Node, Space

_LARGE = 10**7
"""A lattice of more nodes is not searched to the end, if that takes long."""
_ENOUGH = 50_000
"""So many boxes are opened in such a lattice."""
_FAR = 3.0
"""Classes of a coarser node are formed when its labels are fewer by this factor, as a logarithm."""
_MANY = 8
"""Classes are set aside when one of so many is suppressed for sure."""
_ROOM = 30_000_000
"""Classes that waiting boxes may hold on to; those of others are formed again when they are needed."""


@dataclass(frozen=True)
class Found:
    """The best node, its score, and the least score any other node may have."""

    node: Node
    score: float
    bound: float

    @property
    def optimal(self) -> bool:
        """Whether no node can be better."""
        return self.bound >= self.score


class _Rows(NamedTuple):
    """Rows as classes, and those that were set aside."""

    lump: Lump
    gone: Gone


class _Box(NamedTuple):
    """All nodes between ``low`` and ``high``, waiting."""

    low: Node
    high: Node
    gone: Gone
    """Rows that are suppressed in all of it."""
    rows: _Rows | None
    """All rows, of which some that are gone were set aside; ``None``: to be formed again."""
    formed: Node
    """Whose classes these are: those of ``low``, or of a finer node."""
    tried: bool
    """Whether ``low`` was tried; then these are its classes."""


class Search:
    """One search for the best node."""

    def __init__(self, space: Space, rules: Rules, score: Score, limit: int) -> None:
        """``limit``: how many rows may be suppressed."""
        self._space, self._rules, self._score, self._limit = space, rules, score, limit
        self._tuples = space.whole(rules.watched)
        self._judged = space.whole(rules.sensitive) if rules.others and limit else None
        self._best: float = inf
        self._node: Node | None = None
        self._queue: list[tuple[float, int, _Box]] = []
        self._pushed = self._held = 0
        self.tried = 0
        """How many nodes were tried."""
        self.bound: float = inf
        """The least score a node may have that was not tried; infinite if there is none better."""

    def run(self, time_limit: float | None = None, progress: Progress | None = None) -> Found | None:
        """The best node; ``None`` if none that will do was found."""
        began, large = time.monotonic(), self._space.nodes > _LARGE
        most = _ENOUGH if large and time_limit is None else inf
        if self._rules.others:
            self._value(self._space.top)
        rows = _Rows(self._tuples, self._score.nothing)
        bottom, top = self._space.bottom, self._space.top
        self._narrow(-inf, _Box(bottom, top, self._score.nothing, rows, bottom, tried=False), rows)
        if large and self._queue:
            self._descend()
        first, opened = -inf, 0
        while self._queue:
            self.bound, _, box = heapq.heappop(self._queue)
            if self.bound >= self._best:
                break
            if opened >= most or (time_limit is not None and time.monotonic() - began >= time_limit):
                break
            first = self.bound if opened == 0 else first
            if progress is not None and opened % 64 == 0:
                progress(_closed(first, self.bound, self._best), f"{self.tried:,} combinations of levels tried")
            opened += 1
            self._open(self.bound, box)
        else:
            self.bound = inf
        return None if self._node is None else Found(self._node, self._best, self.bound)

    def _open(self, bound: float, box: _Box) -> None:
        """Try the finer end of a box, and cut in two what is left."""
        if box.rows is None:
            rows = self._again(box)
        else:
            rows = box.rows
            self._held -= len(rows.lump.members)
        if not box.tried and self._worthwhile(box):
            rows = _Rows(self._space.coarsen(rows.lump, box.low)[0], rows.gone)
            bound = max(bound, self._score.between(box.high, rows.gone, rows.lump))
            if bound >= self._best or self._try(box.low, rows) <= bound:
                return
            box = _Box(box.low, box.high, box.gone, rows, box.low, tried=True)
            bound = max(bound, self._score.beyond(box.low, box.high, box.gone))
            if self._queue and bound > self._queue[0][0]:
                self._push(bound, box)
                return
        if box.low != box.high:
            self._cut(bound, box, rows)

    def _worthwhile(self, box: _Box) -> bool:
        """Whether to form the classes of the finer end: if they may be far fewer, or are all that is left to try."""
        return box.low == box.high or self._score.exact or self._space.apart(box.formed, box.low) >= _FAR

    def _cut(self, bound: float, box: _Box, rows: _Rows) -> None:
        low, high, gone, _, formed, tried = box
        clipped = self._score.clip(low, high, gone, self._best)
        if clipped != high:  # what is left may well have a better bound
            self._narrow(bound, _Box(low, clipped, gone, rows, formed, tried), rows)
            return
        column = self._score.widest(low, high, gone)
        middle = (low[column] + high[column]) // 2
        self._narrow(bound, _Box(low, _with(high, column, middle), gone, rows, formed, tried), rows)
        self._push(bound, _Box(_with(low, column, middle + 1), high, gone, rows, formed, tried=False))

    def _push(self, bound: float, box: _Box) -> None:
        if box.tried:
            bound = max(bound, self._score.beyond(box.low, box.high, box.gone))
        else:
            bound = max(bound, self._score.floor(box.low, box.gone))
        if bound >= self._best:
            return
        held = 0 if box.rows is None else len(box.rows.lump.members)
        if self._held + held > _ROOM:
            box = box._replace(rows=None)
        else:
            self._held += held
        self._pushed += 1
        heapq.heappush(self._queue, (bound, self._pushed, box))

    def _narrow(self, bound: float, box: _Box, rows: _Rows) -> None:
        """Find out what the coarser end of a box suppresses, and let the box wait; it is dropped if nothing in it will
        do. The coarser end is tried in passing."""
        merged, numbers = self._space.coarsen(rows.lump, box.high)
        kept = self._rules.absorbed(merged.classes)
        gone = rows.gone
        if not kept.all():
            out = self._space.lost(merged.classes, kept)
            if gone.rows + out > self._limit or self._score.least(box.low, gone, out) >= self._best:
                return
            tally, members = self._space.tally(rows.lump, numbers, kept)
            gone = self._score.more(gone, tally, out)
            if self._score.exact or members * _MANY > len(numbers):
                rows = _Rows(self._space.part(rows.lump, numbers, kept), gone)
        if self._rules.hopeless(merged.classes, kept):
            return
        if not self._rules.others:
            self.tried += 1
            self._record(box.high, self._score.worth(box.high, gone, merged.classes, kept))
            if box.low == box.high:
                return
        bound = max(bound, self._score.between(box.high, rows.gone, rows.lump))
        self._push(bound, _Box(box.low, box.high, gone, rows, box.formed, box.tried))

    def _again(self, box: _Box) -> _Rows:
        """The classes of a box that holds none any more."""
        coarse, numbers = self._space.coarsen(self._tuples, box.high)
        lump = self._space.part(self._tuples, numbers, self._rules.absorbed(coarse.classes))
        return _Rows(self._space.coarsen(lump, box.formed)[0], box.gone)

    def _try(self, node: Node, rows: _Rows) -> float:
        """What a node is worth whose classes are given; infinite if it will not do."""
        self.tried += 1
        lump, gone = rows
        kept = self._rules.absorbed(lump.classes)
        out = self._space.lost(lump.classes, kept)
        if gone.rows + out > self._limit or self._score.least(node, gone, out) >= self._best:
            return inf
        if out:
            gone = self._score.more(gone, self._space.tally(lump, None, kept)[0], out)
        worth = self._score.worth(node, gone, lump.classes, kept)
        if self._rules.others and worth < self._best:
            worth = self._settle(node, lump)
        return self._record(node, worth)

    def _settle(self, node: Node, lump: Lump) -> float:
        """What a node is worth when models that do not absorb have their say, which may depend on all rows."""
        if self._judged is not None:
            lump = self._space.coarsen(self._judged, node)[0]
        kept = self._rules.settled(lump.classes)
        out = self._space.lost(lump.classes, kept)
        if out > self._limit:
            return inf
        gone = self._score.more(self._score.nothing, self._space.tally(lump, None, kept)[0], out)
        return self._score.worth(node, gone, lump.classes, kept)

    def _record(self, node: Node, worth: float) -> float:
        if worth < self._best:
            self._best, self._node = worth, node
        return worth

    def _value(self, node: Node) -> float:
        """What a node is worth, from the tuples."""
        return self._try(node, _Rows(self._space.coarsen(self._tuples, node)[0], self._score.nothing))

    def _descend(self) -> None:
        """Go down from the top as long as that pays, to have something good to begin with."""
        here = self._space.top
        while self._node == here:  # else not even the top will do
            for column, place in enumerate(here):
                if place:
                    self._value(_with(here, column, place - 1))
            if self._node == here:
                return
            here = self._node


def _with(node: Node, column: int, place: int) -> Node:
    return (*node[:column], place, *node[column + 1 :])


def _closed(first: float, bound: float, best: float) -> float:
    """How much of the way from the first bound to the best node is done."""
    return 0.0 if not isfinite(best - first) or best <= first else min((bound - first) / (best - first), 1.0)
