"""Quality measures as a search uses them: what a node is worth, and what no node of a box can stay below.

A box is all nodes between a finer and a coarser one. Rows that are sure to be suppressed in all of it, and what the
finer end loses with all other rows, bound it from below.
"""

from __future__ import annotations

from math import inf
from operator import getitem
from typing import NamedTuple, Protocol

import numpy as np

from discreet.errors import BadInput
from discreet.models.classes import Classes
from discreet.utility.quality import ByClass, ByColumn, Quality
from discreet.verbs.publish.space import Booleans, Floats, Lump, Node, Space


class Gone(NamedTuple):
    """Suppressed rows: how many have each value, and what each column loses at each level with them: the total over
    all cells, and its score."""

    rows: int
    tally: Floats
    totals: list[list[float]]
    scores: list[list[float]]


class Score(Protocol):
    """Figures that order nodes as their losses do."""

    nothing: Gone
    """When nothing is suppressed."""
    exact: bool
    """Whether bounds are much better when all that is sure to be suppressed is set aside."""

    def more(self, gone: Gone, tally: Floats, rows: int) -> Gone:
        """When others are suppressed, too."""

    def worth(self, node: Node, gone: Gone, classes: Classes, kept: Booleans) -> float:
        """Of a node where ``gone`` are suppressed and those ``classes`` are kept that are."""

    def least(self, node: Node, gone: Gone, rows: int) -> float:
        """Of a node where ``gone`` and so many other ``rows`` are suppressed, whichever these are."""

    def floor(self, low: Node, gone: Gone) -> float:
        """Of every node that is not finer than ``low`` in any column, when ``gone`` are suppressed in all of them."""

    def beyond(self, low: Node, high: Node, gone: Gone) -> float:
        """Of every node between two but ``low`` itself."""

    def between(self, high: Node, gone: Gone, lump: Lump) -> float:
        """Of every node between two, when ``lump`` are the classes of the finer one without ``gone``."""

    def clip(self, low: Node, high: Node, gone: Gone, best: float) -> Node:
        """The coarser end of what is left between two nodes without those that are surely no better than ``best``."""

    def widest(self, low: Node, high: Node, gone: Gone) -> int:
        """The column to cut between two nodes: where they differ most in labels, and in what these cost."""

    def loss(self, score: float) -> float:
        """The loss for a score."""


def score_of(space: Space, quality: Quality, smallest: int) -> Score:
    """The score of a quality measure; ``smallest``: the least number of rows in a class that may be kept."""
    if isinstance(quality, ByColumn):
        return ColumnScore(space, quality)
    if isinstance(quality, ByClass):
        return ClassScore(space, quality, smallest)
    raise BadInput(f"{type(quality).__name__} is no quality measure that can be searched by.")


class ColumnScore:
    """The sum over columns of a figure that depends on the column's level and on who is suppressed."""

    exact = False

    def __init__(self, space: Space, quality: ByColumn) -> None:
        self._space, self._quality, self._rows = space, quality, space.tuples.rows
        whole = space.whole(())
        rows, _ = space.tally(whole, None, np.zeros(len(whole.members), dtype=np.bool_))
        shape = (len(space.choices), max(map(len, space.choices), default=0))
        self._base = np.full(shape, np.inf)
        self._starts = np.full(shape, -1, dtype=np.int64)
        self._labels, self._cells = [], []
        begin = 0
        for column, levels in enumerate(space.choices):
            cells = quality.cells(space.tuples, column)[list(levels)]
            self._base[column, : len(cells)] = cells @ self._part(rows, column)
            self._starts[column, : len(cells)] = begin + np.arange(len(cells)) * cells.shape[1]
            self._labels.append(space.tuples.levels[column].codes[list(levels)])
            self._cells.append(cells)
            begin += cells.size
        self._weights = 1 - np.concatenate([cells.ravel() for cells in self._cells]) if begin else np.zeros(0)
        self._most = [[1 - float(level.max(initial=0)) for level in cells] for cells in self._cells]
        self.nothing = self._gone(0, np.zeros(space.offsets[-1]), self._base)

    def more(self, gone: Gone, tally: Floats, rows: int) -> Gone:
        tally = gone.tally + tally
        return self._gone(gone.rows + rows, tally, self._suppressing(tally))

    def worth(self, node: Node, gone: Gone, classes: Classes, kept: Booleans) -> float:
        return self.floor(node, gone)

    def least(self, node: Node, gone: Gone, rows: int) -> float:
        if not self._quality.linear:
            return self.floor(node, gone)
        totals = [
            here[place] + most[place] * rows for here, most, place in zip(gone.totals, self._most, node, strict=True)
        ]
        return float(sum(self._scores(np.array(totals)).tolist()))

    def floor(self, low: Node, gone: Gone) -> float:
        return sum(map(getitem, gone.scores, low))

    def beyond(self, low: Node, high: Node, gone: Gone) -> float:
        steps = [scores[a + 1] - scores[a] for scores, a, b in zip(gone.scores, low, high, strict=True) if a < b]
        return self.floor(low, gone) + min(steps, default=inf)

    def between(self, high: Node, gone: Gone, lump: Lump) -> float:
        return -inf

    def clip(self, low: Node, high: Node, gone: Gone, best: float) -> Node:
        room = best - self.floor(low, gone)
        if room == inf:
            return high
        found = []
        for scores, a, b in zip(gone.scores, low, high, strict=True):
            most = b
            while most > a and scores[most] - scores[a] >= room:
                most -= 1
            found.append(most)
        return tuple(found)

    def widest(self, low: Node, high: Node, gone: Gone) -> int:
        spans = [
            (scores[b] - scores[a]) * (labels[(a + b) // 2] - labels[b]) if a < b else -1.0
            for scores, labels, a, b in zip(gone.scores, self._space.labels, low, high, strict=True)
        ]
        return spans.index(max(spans))

    def loss(self, score: float) -> float:
        return self._quality.total(score, len(self._cells))

    def _gone(self, rows: int, tally: Floats, totals: Floats) -> Gone:
        return Gone(rows, tally, totals.tolist(), self._scores(totals).tolist())

    def _scores(self, totals: Floats) -> Floats:
        return self._quality.score(self._quality.column(totals, self._rows))

    def _part(self, tally: Floats, column: int) -> Floats:
        return tally[self._space.offsets[column] : self._space.offsets[column + 1]]

    def _suppressing(self, tally: Floats) -> Floats:
        if self._quality.linear:
            return self._space.weigh(tally, self._weights, self._starts, self._base)
        totals = self._base.copy()
        for column, (labels, cells) in enumerate(zip(self._labels, self._cells, strict=True)):
            rows = self._part(tally, column)
            for level in range(len(cells)):
                totals[column, level] += self._quality.gone(labels[level], rows, cells[level])
        return totals


class ClassScore:
    """A figure of the classes."""

    exact = True

    def __init__(self, space: Space, quality: ByClass, smallest: int) -> None:
        self._space, self._quality, self._smallest = space, quality, smallest
        self._rows = space.tuples.rows
        self.nothing = Gone(0, np.zeros(0), [], [])

    def more(self, gone: Gone, tally: Floats, rows: int) -> Gone:
        return Gone(gone.rows + rows, tally, [], [])

    def worth(self, node: Node, gone: Gone, classes: Classes, kept: Booleans) -> float:
        return self._quality.worth(classes.keeping(kept), self._rows, gone.rows)

    def least(self, node: Node, gone: Gone, rows: int) -> float:
        return -inf

    def floor(self, low: Node, gone: Gone) -> float:
        return -inf

    def beyond(self, low: Node, high: Node, gone: Gone) -> float:
        return inf if low == high else -inf

    def between(self, high: Node, gone: Gone, lump: Lump) -> float:
        into = self._space.coarsen(lump, high)[1]
        return self._quality.bound(lump.classes, into, self._smallest, self._rows, gone.rows)

    def clip(self, low: Node, high: Node, gone: Gone, best: float) -> Node:
        return high

    def widest(self, low: Node, high: Node, gone: Gone) -> int:
        spans = [labels[a] - labels[b] for labels, a, b in zip(self._space.labels, low, high, strict=True)]
        return spans.index(max(spans))

    def loss(self, score: float) -> float:
        return score
