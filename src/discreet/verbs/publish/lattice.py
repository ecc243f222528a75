"""The lattice of generalisation levels: its nodes, the classes of tuples at a node, and scores that bound a search.

A node has a level for each column; a box is all nodes between a finer and a coarser one. Rows that are sure to be
suppressed in all of a box, and what its finer end loses with all other rows, bound it from below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import inf, log, prod
from operator import getitem
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.errors import BadInput
from discreet.models.classes import Classes, Integers
from discreet.utility.quality import ByClass, ByColumn, Quality, figures
from discreet.verbs.publish.tuples import Tuples, merge_spread

Node: TypeAlias = tuple[int, ...]
"""For each column the position of its level among those worth trying."""
Members: TypeAlias = npt.NDArray[np.uint32]
Floats: TypeAlias = npt.NDArray[np.float64]
Booleans: TypeAlias = npt.NDArray[np.bool_]


class NodeClasses(NamedTuple):
    """The classes at a node, of all rows or some."""

    node: Node
    members: Members
    """The place of one tuple of each."""
    keys: npt.NDArray[np.uint64]
    """Shape (words, classes): the labels of each."""
    classes: Classes


class Lattice:
    """The lattice of levels over the tuples of a table.

    A level that tells the same values apart as the one below it is left out: it would cost more and bring nothing.
    """

    def __init__(self, tuples: Tuples, ranges: Mapping[str, Sequence[int]]) -> None:
        """``ranges``: the levels that may be tried, ascending, where not all may."""
        from discreet.verbs.publish import lattice_kernels

        self.tuples = tuples
        self._kernels = lattice_kernels
        every = (ranges.get(name, range(top + 1)) for name, top in zip(tuples.names, tuples.heights, strict=True))
        self.choices = tuple(
            _distinct_levels(one.codes, levels) for one, levels in zip(tuples.levels, every, strict=True)
        )
        self.bottom: Node = (0,) * len(self.choices)
        self.top: Node = tuple(len(levels) - 1 for levels in self.choices)
        self.labels = [
            [log(int(one.codes[level].max(initial=0)) + 1) for level in levels]
            for one, levels in zip(tuples.levels, self.choices, strict=True)
        ]
        """For each column and level worth trying the logarithm of the number of labels."""
        sizes = [len(values) for values in tuples.values]
        self.offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
        self._codes = np.ascontiguousarray(tuples.codes.T).view(np.uint32)
        self._each = np.arange(len(tuples.counts), dtype=np.uint32)
        self._pack()

    @property
    def members(self) -> tuple[int, str]:
        """How many members all classes have together, and what they are."""
        return self.tuples.rows, "rows"

    def recoded(self, node: Node, lump: NodeClasses, groups: Members, kept: Booleans) -> dict[str, Any]:
        """What a recoding says of the classes at a node of which some are kept; ``groups``: the class of each tuple."""
        levels, sizes = self.levels(node), lump.classes.sizes
        gone = ~kept & (sizes > 0)
        return {
            "dropped": self.tuples.labels(lump.members[gone], levels) if gone.any() else None,
            "suppressed": int(sizes[gone].sum()),
            "quality": figures(self.tuples, np.asarray(levels), groups.astype(np.int64), kept),
        }

    @property
    def nodes(self) -> int:
        """Number of combinations of levels."""
        return prod(map(len, self.choices))

    def apart(self, fine: Node, coarse: Node) -> float:
        """Log of the factor by which labels are fewer at the coarser of two nodes."""
        return sum(labels[a] - labels[b] for labels, a, b in zip(self.labels, fine, coarse, strict=True))

    def levels(self, node: Node) -> tuple[int, ...]:
        """The level of each column."""
        return tuple(levels[place] for levels, place in zip(self.choices, node, strict=True))

    def whole(self, sensitive: Sequence[str]) -> NodeClasses:
        """All tuples at the bottom, each by itself, with the spreads of some columns."""
        spreads = {name: self.tuples.spreads[name] for name in sensitive}
        members = np.arange(len(self.tuples.counts), dtype=np.uint32)
        return NodeClasses(
            self.bottom, members, self._keys, Classes(self.tuples.counts, spreads, None, self.tuples.population)
        )

    def coarsen(self, lump: NodeClasses, node: Node) -> tuple[NodeClasses, Members]:
        """The classes at ``node``, put together from finer ones, and in which of them each of those is."""
        old = lump.classes
        numbers, first, keys, sizes = self._kernels.coarsen(
            lump.keys,
            lump.members,
            old.sizes,
            np.array(lump.node),
            np.array(node),
            self._fields,
            self._starts,
            self._up,
        )
        if not old.spreads and old.population is None:
            return NodeClasses(node, first, keys, Classes(sizes)), numbers
        wide = numbers.astype(np.int64)
        spreads = {name: merge_spread(spread, wide, len(sizes)) for name, spread in old.spreads.items()}
        people = None
        if old.population is not None:
            people = np.zeros(len(sizes), dtype=np.int64)
            np.add.at(people, wide, old.population)
        return NodeClasses(node, first, keys, Classes(sizes, spreads, None, people, old.outside)), numbers

    def part(self, lump: NodeClasses, numbers: Members, kept: Booleans) -> NodeClasses:
        """The classes that are merged into one that is kept; ``numbers`` says into which each is merged."""
        old = lump.classes
        keys, members, sizes = self._kernels.part(lump.keys, lump.members, old.sizes, numbers, kept)
        plain = not old.spreads and old.population is None
        return NodeClasses(lump.node, members, keys, Classes(sizes) if plain else old.keeping(kept[numbers]))

    def tally(self, lump: NodeClasses, numbers: Members | None, kept: Booleans) -> tuple[Floats, int]:
        """Rows of each value that are in classes merged into one that is not kept (``None``: in such classes), the
        values of all columns in one line (see ``offsets``); and the number of these classes."""
        into = self._each[: len(lump.members)] if numbers is None else numbers
        found: tuple[Floats, int] = self._kernels.tally(
            self._codes, self.offsets, lump.members, lump.classes.sizes, into, kept
        )
        return found

    def lost(self, classes: Classes, kept: Booleans) -> int:
        """Number of rows in classes that are not kept."""
        found: int = self._kernels.lost(classes.sizes, kept)
        return found

    def weigh(self, tally: Floats, weights: Floats, starts: Integers, base: Floats) -> Floats:
        """For each column and level ``base`` plus the sum over values of rows × weight, which begin at ``starts``."""
        return np.asarray(self._kernels.weigh(tally, self.offsets, weights, starts, base))

    def _pack(self) -> None:
        """Give each column a field of bits, and prepare the steps from each level to each coarser one."""
        columns, widest = len(self.choices), max(map(len, self.choices), default=0)
        self._fields = np.zeros((columns, 3), dtype=np.uint64)
        self._starts = np.full((columns, widest, widest), -1, dtype=np.int64)
        labels = [one.codes[list(levels)] for one, levels in zip(self.tuples.levels, self.choices, strict=True)]
        word = used = begin = 0
        up: list[npt.NDArray[np.uint64]] = [np.zeros(0, dtype=np.uint64)]
        for column, codes in enumerate(labels):
            need = int(codes.max(initial=0)).bit_length()
            if used + need > 64:
                word, used = word + 1, 0
            self._fields[column] = word, used, (1 << need) - 1
            for fine, coarse in combinations(range(len(codes)), 2):
                if codes[coarse].max(initial=0) > 0:
                    step = np.zeros(int(codes[fine].max()) + 1, dtype=np.uint64)
                    step[codes[fine]] = codes[coarse]
                    self._starts[column, fine, coarse] = begin
                    up.append(step << np.uint64(used))
                    begin += len(step)
            used += need
        self._up = np.concatenate(up)
        self._keys = np.zeros((word + 1, len(self.tuples.counts)), dtype=np.uint64)
        for place, (codes, field) in enumerate(zip(labels, self._fields, strict=True)):
            self._keys[int(field[0])] |= codes[0][self.tuples.codes[place]].astype(np.uint64) << field[1]


def _distinct_levels(codes: npt.NDArray[np.int32], levels: Sequence[int]) -> tuple[int, ...]:
    """The levels that tell fewer values apart than the one before: they nest, so counting labels is enough."""
    found: list[int] = []
    labels = -1
    for level in levels:
        count = int(codes[level].max(initial=-1)) + 1
        if count != labels:
            found.append(level)
            labels = count
    return tuple(found)


class Suppressed(NamedTuple):
    """Suppressed rows: how many have each value, and what each column loses at each level with them: the total over
    all cells, and its score."""

    rows: int
    tally: Floats
    totals: list[list[float]]
    scores: list[list[float]]


class Score(Protocol):
    """Figures that order nodes as their losses do; bounds that say nothing, unless a subclass knows better."""

    exact: bool = False
    """Whether bounds are much better when all that is sure to be suppressed is set aside."""
    nothing: Suppressed
    """No suppressed rows."""

    def more(self, gone: Suppressed, tally: Floats, rows: int) -> Suppressed:
        """``gone`` and further suppressed rows."""

    def worth(self, node: Node, gone: Suppressed, classes: Classes, kept: Booleans) -> float:
        """Score of a node where ``gone`` are suppressed and those ``classes`` are kept that are."""
        return self.floor(node, gone)

    def least(self, node: Node, gone: Suppressed, rows: int) -> float:
        """Lower bound for a node where ``gone`` and any other ``rows``, this many, are suppressed."""
        return self.floor(node, gone)

    def floor(self, low: Node, gone: Suppressed) -> float:
        """Lower bound for every node no finer than ``low`` in any column, when ``gone`` are suppressed in all."""
        return -inf

    def beyond(self, low: Node, high: Node, gone: Suppressed) -> float:
        """Lower bound for every node between two but ``low`` itself."""
        return inf if low == high else -inf

    def between(self, high: Node, gone: Suppressed, lump: NodeClasses) -> float:
        """Lower bound between two nodes, when ``lump`` are the classes of the finer one without ``gone``."""
        return -inf

    def clip(self, low: Node, high: Node, gone: Suppressed, best: float) -> Node:
        """The coarser end of what is left between two nodes without those that are surely no better than ``best``."""
        return high

    def widest(self, low: Node, high: Node, gone: Suppressed) -> int:
        """The column to cut between two nodes: where they differ most in labels, and in what these cost."""

    def loss(self, score: float) -> float:
        """The loss for a score."""
        return score


def score_of(lattice: Lattice, quality: Quality, smallest: int) -> Score:
    """The score of a quality measure; ``smallest``: the least number of rows in a class that may be kept."""
    if isinstance(quality, ByColumn):
        return ColumnScore(lattice, quality)
    if isinstance(quality, ByClass):
        return ClassScore(lattice, quality, smallest)
    raise BadInput(f"{type(quality).__name__} is not a quality measure for a search.")


class ColumnScore(Score):
    """The sum over columns of a figure that depends on the column's level and on who is suppressed."""

    def __init__(self, lattice: Lattice, quality: ByColumn) -> None:
        self._lattice, self._quality, self._rows = lattice, quality, lattice.tuples.rows
        whole = lattice.whole(())
        rows, _ = lattice.tally(whole, None, np.zeros(len(whole.members), dtype=np.bool_))
        shape = (len(lattice.choices), max(map(len, lattice.choices), default=0))
        self._base = np.full(shape, np.inf)
        self._starts = np.full(shape, -1, dtype=np.int64)
        self._labels, self._cells = [], []
        begin = 0
        for column, levels in enumerate(lattice.choices):
            cells = quality.cells(lattice.tuples, column)[list(levels)]
            self._base[column, : len(cells)] = cells @ self._part(rows, column)
            self._starts[column, : len(cells)] = begin + np.arange(len(cells)) * cells.shape[1]
            self._labels.append(lattice.tuples.levels[column].codes[list(levels)])
            self._cells.append(cells)
            begin += cells.size
        self._weights = 1 - np.concatenate([cells.ravel() for cells in self._cells]) if begin else np.zeros(0)
        self._most = [[1 - float(level.max(initial=0)) for level in cells] for cells in self._cells]
        self.nothing = self._gone(0, np.zeros(lattice.offsets[-1]), self._base)

    def more(self, gone: Suppressed, tally: Floats, rows: int) -> Suppressed:
        tally = gone.tally + tally
        return self._gone(gone.rows + rows, tally, self._totals_without(tally))

    def least(self, node: Node, gone: Suppressed, rows: int) -> float:
        if not self._quality.linear:
            return self.floor(node, gone)
        totals = [
            here[place] + most[place] * rows for here, most, place in zip(gone.totals, self._most, node, strict=True)
        ]
        return float(sum(self._scores(np.array(totals)).tolist()))

    def floor(self, low: Node, gone: Suppressed) -> float:
        return sum(map(getitem, gone.scores, low))

    def beyond(self, low: Node, high: Node, gone: Suppressed) -> float:
        steps = [scores[a + 1] - scores[a] for scores, a, b in zip(gone.scores, low, high, strict=True) if a < b]
        return self.floor(low, gone) + min(steps, default=inf)

    def clip(self, low: Node, high: Node, gone: Suppressed, best: float) -> Node:
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

    def widest(self, low: Node, high: Node, gone: Suppressed) -> int:
        spans = [
            (scores[b] - scores[a]) * (labels[(a + b) // 2] - labels[b]) if a < b else -1.0
            for scores, labels, a, b in zip(gone.scores, self._lattice.labels, low, high, strict=True)
        ]
        return spans.index(max(spans))

    def loss(self, score: float) -> float:
        return self._quality.total(score, len(self._cells))

    def _gone(self, rows: int, tally: Floats, totals: Floats) -> Suppressed:
        return Suppressed(rows, tally, totals.tolist(), self._scores(totals).tolist())

    def _scores(self, totals: Floats) -> Floats:
        return self._quality.score(self._quality.column(totals, self._rows))

    def _part(self, tally: Floats, column: int) -> Floats:
        return tally[self._lattice.offsets[column] : self._lattice.offsets[column + 1]]

    def _totals_without(self, tally: Floats) -> Floats:
        if self._quality.linear:
            return self._lattice.weigh(tally, self._weights, self._starts, self._base)
        totals = self._base.copy()
        for column, (labels, cells) in enumerate(zip(self._labels, self._cells, strict=True)):
            rows = self._part(tally, column)
            for level in range(len(cells)):
                totals[column, level] += self._quality.gone(labels[level], rows, cells[level])
        return totals


class ClassScore(Score):
    """A figure of the classes, such as discernibility."""

    exact: bool = True

    def __init__(self, lattice: Lattice, quality: ByClass, smallest: int) -> None:
        self._lattice, self._quality, self._smallest = lattice, quality, smallest
        self._rows = lattice.tuples.rows
        self.nothing = Suppressed(0, np.zeros(0), [], [])

    def more(self, gone: Suppressed, tally: Floats, rows: int) -> Suppressed:
        return Suppressed(gone.rows + rows, tally, [], [])

    def worth(self, node: Node, gone: Suppressed, classes: Classes, kept: Booleans) -> float:
        return self._quality.worth(classes.keeping(kept), self._rows, gone.rows)

    def between(self, high: Node, gone: Suppressed, lump: NodeClasses) -> float:
        into = self._lattice.coarsen(lump, high)[1]
        return self._quality.bound(lump.classes, into, self._smallest, self._rows, gone.rows)

    def widest(self, low: Node, high: Node, gone: Suppressed) -> int:
        spans = [labels[a] - labels[b] for labels, a, b in zip(self._lattice.labels, low, high, strict=True)]
        return spans.index(max(spans))
