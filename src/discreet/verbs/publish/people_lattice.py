"""The lattice of generalisation levels where people have several rows: its classes are people who share all their rows.

The search sees the distinct multisets of tuples (``models/row_sets.py``) and how many people have each; never rows.

Why the search of ``generalize.py`` is right here, too. Generalisation from a finer node to a coarser one is a function
of tuples. Applied to every row of two people whose multisets are equal at the finer node, it gives equal multisets at
the coarser one. So a class of people at a coarser node is a union of classes at the finer one, as classes of rows are:
what was proved of models and losses by merging classes holds for classes of people. In particular, that every multiset
is shared by k people is monotone: at the coarser node, a class has at least the people of each class it was made of.
What is suppressed are people, each with all rows; a person has at least one, so that bounds by the number of people
suppressed are bounds by rows as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.models.classes import Classes, Integers
from discreet.models.row_sets import RowSets, number_sequences, sequences
from discreet.utility.quality import figures
from discreet.verbs.publish.lattice import Booleans, Floats, Lattice, Members, Node, NodeClasses
from discreet.verbs.publish.tuples import Tuples, merge_spread


class PeopleLattice(Lattice):
    """The lattice over the multisets of people; ``tuples`` are the distinct ones in them, with their rows."""

    def __init__(self, tuples: Tuples, ranges: Mapping[str, Sequence[int]], sets: RowSets) -> None:
        super().__init__(tuples, ranges)
        self._sets = sets

    @property
    def members(self) -> tuple[int, str]:
        return int(self._sets.people.sum()), "people"

    def whole(self, sensitive: Sequence[str]) -> NodeClasses:
        """All multisets at the bottom, each by itself."""
        spreads = {name: self._sets.spreads[name] for name in sensitive}
        members = np.arange(len(self._sets.people), dtype=np.uint32)
        return self._lump(self.bottom, members, Classes(self._sets.people, spreads, several=True))

    def coarsen(self, lump: NodeClasses, node: Node) -> tuple[NodeClasses, Members]:
        """The classes at ``node``, put together from finer ones by one multiset of each."""
        starts, tuples = self._rows_of(lump.members)
        labels = self.tuples.groups(self.levels(node))[tuples]
        owner = np.repeat(np.arange(len(lump.members)), np.diff(starts))
        numbers = number_sequences(starts, labels[np.lexsort((labels, owner))])
        _, first = np.unique(numbers, return_index=True)
        sizes = np.bincount(numbers, lump.classes.sizes, len(first)).astype(np.int64)
        spreads = {name: merge_spread(one, numbers, len(first)) for name, one in lump.classes.spreads.items()}
        merged = self._lump(node, lump.members[first], Classes(sizes, spreads, several=True))
        return merged, numbers.astype(np.uint32)

    def part(self, lump: NodeClasses, numbers: Members, kept: Booleans) -> NodeClasses:
        stays = kept[numbers]
        return self._lump(lump.node, lump.members[stays], lump.classes.keeping(stays))

    def tally(self, lump: NodeClasses, numbers: Members | None, kept: Booleans) -> tuple[Floats, int]:
        gone = np.flatnonzero(~(kept if numbers is None else kept[numbers]))
        starts, tuples = self._rows_of(lump.members[gone])
        people = np.repeat(lump.classes.sizes[gone], np.diff(starts))
        found = np.zeros(self.offsets[-1])
        for codes, offset in zip(self.tuples.codes, self.offsets, strict=False):
            np.add.at(found, offset + codes[tuples], people)
        return found, len(gone)

    def recoded(self, node: Node, lump: NodeClasses, groups: Members, kept: Booleans) -> dict[str, Any]:
        """``dropped`` are the units of those who are suppressed; figures are those of the rows that are left."""
        sets, levels, stays = self._sets, self.levels(node), kept[groups]
        rows = [
            np.bincount(sets.tuples[some], sets.people[sets.owners[some]], sets.labels.num_rows).astype(np.int64)
            for some in (stays[sets.owners], ~stays[sets.owners])
        ]
        places = [np.flatnonzero(some) for some in rows]
        both = np.concatenate(places)
        parted = Tuples(
            self.tuples.names,
            self.tuples.values,
            self.tuples.codes[:, both],
            np.concatenate([some[where] for some, where in zip(rows, places, strict=True)]),
            self.tuples.levels,
            self.tuples.shares,
        )
        classes = self.tuples.groups(levels)[both]
        count = int(classes.max(initial=-1)) + 1
        gone = np.arange(len(both)) >= len(places[0])
        numbers = np.unique(classes + count * gone, return_inverse=True)[1].astype(np.int64)
        left = np.ones(int(numbers.max(initial=-1)) + 1, dtype=np.bool_)
        left[numbers[gone]] = False
        out = sets.units.filter(pa.array(~stays[sets.set_of]))
        return {
            "dropped": out if out.num_rows else None,
            "suppressed": int(rows[1].sum()),
            "quality": figures(parted, np.asarray(levels), numbers, left),
        }

    def _rows_of(self, members: Members) -> tuple[Integers, Integers]:
        return sequences(self._sets.starts, self._sets.tuples, members)

    @staticmethod
    def _lump(node: Node, members: Members, classes: Classes) -> NodeClasses:
        return NodeClasses(node, members, np.zeros((0, len(members)), np.uint64), classes)
