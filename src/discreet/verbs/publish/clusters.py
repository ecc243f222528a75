"""Search for equivalence classes of points that lose little, each with enough rows: the core of local recoding.

Points are first gathered into classes with their neighbours. Then classes that lie near each other are taken apart and
put together anew, many times, and what is better is kept; between, points move to other classes and classes are split
wherever that pays. At the end every point is tried in every class, until no move and no split pays any more.

Which classes are taken apart, and who begins a new one, is drawn at random: of the many groupings that are about as
good, no one can tell from the data which one comes out. Import this where it is needed only: compiling takes a moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.noise.entropy import Entropy
from discreet.releases.method import Progress, silent
from discreet.verbs.publish import regroup, ruin_recreate
from discreet.verbs.publish.partition import BLOCK, GONE, Points, nearest, partition

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Check = Callable[[Integers], Flags]
"""Says which classes break a model, given the class of each point (0: suppressed)."""

_NEIGHBOURS = 16
_CHUNK = 1 << 18
"""Random words for one round of taking classes apart."""
_MANY = 50
"""Classes of more rows than that are found by splitting the whole, not by gathering neighbours."""
_USUAL, _ROOM = 64, 256
"""Points taken out of their classes at once, usually and at most; with more there are fewer tries."""
_PAIRS = 4 * 10**9
"""Point–class pairs above which not every point is tried in every class."""
_ROUNDS = 12
"""Rounds of moving points and splitting classes before other classes are taken apart."""


@dataclass(frozen=True)
class Terms:
    """Constraints and effort of a search."""

    smallest: int
    """The least number of rows in a class."""
    limit: int
    """Number of rows that may be suppressed."""
    check: Check | None = None
    """Which classes break a model; ``None``: none does."""
    tries: int = 16
    """Times that a few classes near each other are put together anew, for each class."""
    until: float | None = None
    """The time (of ``time.monotonic``) to stop at; what has been found by then counts."""

    def over(self) -> bool:
        """Whether it is time to stop."""
        return self.until is not None and time.monotonic() >= self.until


@dataclass(frozen=True)
class Found:
    """The class of each point, numbered from 1 without order (0: suppressed), and what is known of it."""

    of: Integers
    settled: bool
    """Whether no move of one point, no suppression of one and no split of a class pays: every one was tried."""
    bound: int | None
    """Lower bound on the loss of all rows, however they are grouped; ``None``: not known."""


class Search:
    """One search for classes."""

    def __init__(self, points: Points, terms: Terms, entropy: Entropy) -> None:
        self._points, self._terms, self._entropy = points, terms, entropy

    def run(self, progress: Progress | None = None) -> Found | None:
        """The best classes found; ``None`` if not even all rows as one class are allowed."""
        say = progress or silent
        points, smallest = self._points, self._terms.smallest
        if int(points.weights.sum()) < smallest:
            return None
        say(0.0, "finding nearest neighbours")
        self._near, costs = nearest(points, min(_NEIGHBOURS, max(len(points.weights) - 1, 1)))
        reach = _reach(points.weights, self._near, costs, smallest)
        say(0.1, "gathering classes")
        if not (smallest > _MANY and self._descend()):
            self._gather(reach)
            if self._terms.check is not None and not self._mend(self._terms.check):
                return None
        self._better(say)
        say(0.9, "moving records between classes")
        settled = self._settle()
        bound = None
        if len(points.weights) <= BLOCK:
            bound = int((points.weights * np.minimum(reach, points.full)).sum())
        return Found(self._parts.of.astype(np.int64), settled, bound)

    def _gather(self, reach: Integers) -> None:
        order = np.lexsort((self._entropy.words(len(reach)), reach))
        of = regroup.gather_classes(self._points, self._near, order, self._terms.smallest)
        if of.max(initial=-1) < 0:
            of[:] = 1
        self._parts = partition(self._points, of)
        regroup.place_points(self._parts, self._near, self._terms.limit)

    def _descend(self) -> bool:
        """Split the whole table again and again; whether the table as one class is allowed."""
        self._parts = partition(self._points, np.ones(len(self._points.weights), dtype=np.int32))
        if self._terms.check is not None and self._terms.check(self._parts.of).any():
            return False
        splits = _Splits.of(self._points)
        while self._halve(splits) and not self._terms.over():
            pass
        return True

    def _mend(self, check: Check) -> bool:
        """Make classes satisfy all models; whether that can be.

        Those that do not are merged with others next to them until all do. Where that takes large classes, or leads
        nowhere, splitting the whole table may come out better.
        """
        while (broken := np.flatnonzero(check(self._parts.of))).size:
            if not regroup.merge(self._parts, broken, self._terms.limit):
                return self._descend()
        merged = self._parts
        if not (merged.of > 0).any():
            return self._descend()
        if not self._descend() or (merged.rows @ merged.cost) < (self._parts.rows @ self._parts.cost):
            self._parts = merged
        return True

    def _better(self, say: Progress) -> None:
        """Take classes apart and put them together anew.

        That makes classes of hardly more rows than they must have: where models ask for far larger ones, it is no use.
        """
        classes = len(np.unique(self._parts.of))
        count = len(self._points.weights)
        room = min(count, 24 + 8 * -(-count // classes), _ROOM)
        chunk = _CHUNK if self._terms.check is None else 8 * classes
        crowded = self._points.weights.sum() > 4 * classes * self._terms.smallest
        most = 0 if crowded else self._terms.tries * classes * _USUAL // max(room, _USUAL)
        left = most

        def anew(mark: Integers) -> int:
            words = self._entropy.words(chunk + ruin_recreate.words_needed(room))
            return ruin_recreate.regroup(self._parts, self._near, (self._terms.smallest, room), words, mark)[0]

        self._step()
        while left > 0 and not self._terms.over():
            left -= self._try(anew)[0]
            self._step()
            say(0.9 - 0.8 * max(left, 0) / most, "rebuilding classes (ruin and recreate)")

    def _step(self) -> None:
        """Move points to classes of their neighbours and split classes, as long as that pays."""
        bounds = regroup.Bounds(self._terms.smallest, self._terms.limit)
        fixed, splits = np.zeros(len(self._points.weights), dtype=np.bool_), _Splits.of(self._points)
        for _ in range(_ROUNDS):
            moved, undone = self._try(lambda mark: regroup.move(self._parts, self._near, bounds, mark, fixed))
            fixed[undone] = True
            splits.barred[:] &= self._terms.check is not None
            if not self._halve(splits) + moved or self._terms.over():
                return

    def _halve(self, splits: _Splits) -> int:
        """Split classes where that pays; how often that was tried."""
        barred, by = splits
        done, undone = self._try(lambda mark: regroup.split(self._parts, self._terms.smallest, mark, barred, by))
        back = np.unique(self._parts.of[undone])
        columns = by[back]
        by[back] = -1
        barred[by >= 0] = False
        barred[back, columns] = True
        return done

    def _settle(self) -> bool:
        """Move and split until nothing pays; whether everything was tried."""
        points = self._points
        classes = len(np.unique(self._parts.of))
        if self._terms.check is not None or len(points.weights) * classes > _PAIRS:
            return False
        order = np.argsort(points.buckets, kind="stable")
        starts = np.searchsorted(points.buckets[order], np.arange(len(points.keys) + 1))
        bounds, nothing = regroup.Bounds(self._terms.smallest, self._terms.limit), np.zeros(0, dtype=np.int64)
        before = np.full(len(order), -1, dtype=np.int32)
        while not self._terms.over():
            fused = self._fuse()
            steps = regroup.split(self._parts, bounds.smallest, nothing, *_Splits.of(points))
            of, changed = self._parts.of, np.zeros(len(order) + 1, dtype=np.bool_)
            moved = of != before
            changed[of[moved]] = changed[before[moved]] = True
            before = of.copy()
            steps += regroup.move_all(self._parts, order, starts, bounds, changed)
            if not fused and not steps:
                return True
        return False

    def _fuse(self) -> bool:
        """Make one class of those with the same labels, since they are one in what is released; whether any were."""
        points, parts = self._points, self._parts
        numbers = np.unique(parts.of)
        numbers = numbers[numbers != GONE]
        members, levels = parts.first[numbers], parts.level[numbers]
        columns = np.arange(points.codes.shape[1])
        boxes = np.stack([levels, points.labels[columns, levels, points.codes[members]]], axis=2).reshape(
            len(numbers), -1
        )
        _, first, same = np.unique(boxes, axis=0, return_index=True, return_inverse=True)
        if len(first) == len(numbers):
            return False
        into = np.arange(len(parts.first), dtype=np.int32)
        into[numbers] = numbers[first[same]]
        self._parts = partition(points, into[parts.of])
        return True

    def _try(self, step: Callable[[Integers], int]) -> tuple[int, Integers]:
        """Do what ``step`` does, and undo what breaks a model. What it returned, and the points put back.

        No class is touched by two steps, so one can be undone without another. If what is left still breaks a model,
        which looks at all classes together then, everything is undone.
        """
        check, before = self._terms.check, self._parts.of.copy()
        mark = np.full(0 if check is None else len(before) + 1, -1, dtype=np.int64)
        done = step(mark)
        of, undone = self._parts.of, np.zeros(0, dtype=np.int64)
        if check is not None and (of != before).any():
            blamed = mark[np.flatnonzero(check(of))]
            if len(blamed):
                bad = np.isin(mark[before], blamed) if (blamed >= 0).all() else np.ones(len(of), dtype=np.bool_)
                tried = np.where(bad, before, of)
                if check(tried).any():
                    tried = before
                undone = np.flatnonzero((tried != of) & (of != before))
                of = tried
        if check is not None or not np.array_equal(of, before):
            self._parts = partition(self._points, of)
        return done, undone


class _Splits(NamedTuple):
    """Splits that were tried."""

    barred: Flags
    """Shape (classes, columns): a split by that column breaks a model, or does not pay."""
    by: Integers
    """The column by which a class was split last; -1: it was not."""

    @classmethod
    def of(cls, points: Points) -> _Splits:
        count, columns = points.codes.shape
        return cls(np.zeros((count + 1, columns), dtype=np.bool_), np.full(count + 1, -1, dtype=np.int64))


def _reach(weights: Integers, near: Integers, costs: Integers, smallest: int) -> Integers:
    """Lower bound on what a row of each point loses: the cost of enough neighbours for a class."""
    have, reach = weights.copy(), np.zeros(len(weights), dtype=np.int64)
    for place in range(near.shape[1]):
        short = (have < smallest) & (near[:, place] >= 0)
        reach[short] = costs[short, place]
        have[short] += weights[near[short, place]]
    return reach
