"""What a full-domain search moves in: the levels worth trying, packed so that the label of a tuple is a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import log, prod
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.models.classes import Classes, Integers
from discreet.verbs.publish.tuples import Tuples, merged

Node: TypeAlias = tuple[int, ...]
"""For each column the place of its level among those worth trying."""
Members: TypeAlias = npt.NDArray[np.uint32]
Floats: TypeAlias = npt.NDArray[np.float64]
Booleans: TypeAlias = npt.NDArray[np.bool_]


class Lump(NamedTuple):
    """Classes at a node, of all rows or some."""

    node: Node
    members: Members
    """The place of one tuple of each."""
    keys: npt.NDArray[np.uint64]
    """Shape (words, classes): the labels of each."""
    classes: Classes


class Space:
    """The lattice of levels over the tuples of a table.

    A level that tells the same values apart as the one below it is left out: it would cost more and bring nothing.
    """

    def __init__(self, tuples: Tuples, ranges: Mapping[str, Sequence[int]]) -> None:
        """``ranges``: the levels that may be tried, ascending, where not all may."""
        from discreet.verbs.publish import kernels

        self.tuples = tuples
        self._kernels = kernels
        every = (ranges.get(name, range(top + 1)) for name, top in zip(tuples.names, tuples.heights, strict=True))
        self.choices = tuple(_telling(one.codes, levels) for one, levels in zip(tuples.levels, every, strict=True))
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
    def nodes(self) -> int:
        """How many combinations of levels there are."""
        return prod(map(len, self.choices))

    def apart(self, fine: Node, coarse: Node) -> float:
        """By what factor labels are fewer at the coarser of two nodes, as a logarithm."""
        return sum(labels[a] - labels[b] for labels, a, b in zip(self.labels, fine, coarse, strict=True))

    def levels(self, node: Node) -> tuple[int, ...]:
        """The level of each column."""
        return tuple(levels[place] for levels, place in zip(self.choices, node, strict=True))

    def whole(self, sensitive: Sequence[str]) -> Lump:
        """All tuples at the bottom, each by itself, with the spreads of some columns."""
        spreads = {name: self.tuples.spreads[name] for name in sensitive}
        members = np.arange(len(self.tuples.counts), dtype=np.uint32)
        return Lump(
            self.bottom, members, self._keys, Classes(self.tuples.counts, spreads, None, self.tuples.population)
        )

    def coarsen(self, lump: Lump, node: Node) -> tuple[Lump, Members]:
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
            return Lump(node, first, keys, Classes(sizes)), numbers
        wide = numbers.astype(np.int64)
        spreads = {name: merged(spread, wide, len(sizes)) for name, spread in old.spreads.items()}
        people = None
        if old.population is not None:
            people = np.zeros(len(sizes), dtype=np.int64)
            np.add.at(people, wide, old.population)
        return Lump(node, first, keys, Classes(sizes, spreads, None, people, old.outside)), numbers

    def part(self, lump: Lump, numbers: Members, kept: Booleans) -> Lump:
        """Those that go into a class that is kept, when ``numbers`` says into which each goes."""
        old = lump.classes
        keys, members, sizes = self._kernels.part(lump.keys, lump.members, old.sizes, numbers, kept)
        plain = not old.spreads and old.population is None
        return Lump(lump.node, members, keys, Classes(sizes) if plain else old.keeping(kept[numbers]))

    def tally(self, lump: Lump, numbers: Members | None, kept: Booleans) -> tuple[Floats, int]:
        """Of those that go into a class that is not kept (``None``: are one): how many rows have each value, the values
        of all columns in one line (see ``offsets``); and how many there are."""
        into = self._each[: len(lump.members)] if numbers is None else numbers
        found: tuple[Floats, int] = self._kernels.tally(
            self._codes, self.offsets, lump.members, lump.classes.sizes, into, kept
        )
        return found

    def lost(self, classes: Classes, kept: Booleans) -> int:
        """How many rows are in classes that are not kept."""
        found: int = self._kernels.lost(classes.sizes, kept)
        return found

    def weigh(self, tally: Floats, weights: Floats, starts: Integers, base: Floats) -> Floats:
        """For each column and level ``base`` plus the sum over values of rows × weight, which begin at ``starts``."""
        found: Floats = self._kernels.weigh(tally, self.offsets, weights, starts, base)
        return found

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


def _telling(codes: npt.NDArray[np.int32], levels: Sequence[int]) -> tuple[int, ...]:
    """The levels that tell fewer values apart than the one before: they nest, so counting labels is enough."""
    found: list[int] = []
    labels = -1
    for level in levels:
        count = int(codes[level].max(initial=-1)) + 1
        if count != labels:
            found.append(level)
            labels = count
    return tuple(found)
