"""Columns as Mondrian sees them: where a part of the table can be cut, how wide it is, and what it shows."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Card, Column
from discreet.core.hierarchy.hierarchy import TOP
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.kind import Kind
from discreet.models.classes import Integers, domain_of
from discreet.verbs.publish.tuple_recoding import Labels, as_text
from discreet.verbs.publish.tuples import Tuples

Floats = npt.NDArray[np.float64]

_NUMBERS = (Kind.INTEGER, Kind.REAL, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP)


class Axis(Protocol):
    """One column of the tuples."""

    def width(self, members: Integers) -> float:
        """How much of the column's domain the members cover; 0: they are all the same."""

    def cut(self, members: Integers, rows: Integers, *, strict: bool) -> list[Integers]:
        """The members in two parts or more, as even as they can be; ``rows``: how many rows each member has."""

    def labels(self, of: Integers) -> tuple[pa.Array[Any], Floats]:
        """For each tuple what its class shows, given the class of each, and how much of the domain that covers."""


def axes_of(card: Card, tuples: Tuples) -> list[Axis]:
    """The columns of the tuples."""
    labels = Labels(tuples)
    found: list[Axis] = []
    for place, name in enumerate(tuples.names):
        column = card[name]
        tree = (
            column.hierarchy is not None and column.kind not in _NUMBERS and not isinstance(column.hierarchy, Ordered)
        )
        found.append(Tree(tuples, labels, place) if tree else Line(tuples, column, place))
    return found


class Line:
    """Values in their order; NULL, which is like no value, last.

    Members with and without a value are cut apart before anything else. Where that cannot be, the class shows nothing:
    a range "or missing" would tell those with a value from those without, to whoever knows who has none.
    """

    def __init__(self, tuples: Tuples, column: Column, place: int) -> None:
        values, codes = tuples.values[place], tuples.codes[place]
        self._values = domain_of(column, values)
        ranks = pc.index_in(values, self._values).to_numpy(zero_copy_only=False).astype(np.int64)
        self._ranks = ranks[codes]
        self._missing = len(self._values) - 1 if values.null_count else len(self._values)
        self._ranged = column.kind in _NUMBERS or isinstance(column.hierarchy, Ordered)
        self._widest = max(len(values) - 1, 1)

    def width(self, members: Integers) -> float:
        low, high = self._ranks[members].min(), self._ranks[members].max()
        return 1.0 if low < self._missing <= high else float(high - low) / self._widest

    def cut(self, members: Integers, rows: Integers, *, strict: bool) -> list[Integers]:
        order = np.argsort(self._ranks[members], kind="stable")
        ranks, below = self._ranks[members][order], np.cumsum(rows[order])
        known = int(np.searchsorted(ranks, self._missing))
        ends = np.flatnonzero(ranks[1:] != ranks[:-1]) if strict else np.arange(len(ranks) - 1)
        if 0 < known < len(ranks):
            ends = np.array([known - 1])
        if not len(ends):
            return [members]
        end = ends[np.argmin(np.abs(2 * below[ends] - below[-1]))] + 1
        return [np.sort(members[order[:end]]), np.sort(members[order[end:]])]

    def labels(self, of: Integers) -> tuple[pa.Array[Any], Floats]:
        order = np.lexsort((self._ranks, of))
        numbers, starts, sizes = np.unique(of[order], return_index=True, return_counts=True)
        low, high = self._ranks[order[starts]], self._ranks[order[starts + sizes - 1]]
        mixed = (low < self._missing) & (high >= self._missing)
        place, shares = np.searchsorted(numbers, of), np.where(mixed, 1.0, (high - low) / self._widest)
        if (low == high).all():
            return self._values.take(pa.array(self._ranks)), shares[place]
        texts = as_text(self._values).to_pylist()
        met = (np.unique(self._ranks[order[start : start + size]]) for start, size in zip(starts, sizes, strict=True))
        shown = [self._shown([texts[rank] for rank in ranks]) for ranks in met]
        return pa.array([shown[at] for at in place], pa.string()), shares[place]

    def _shown(self, texts: list[str | None]) -> str | None:
        """What a class with these values, in their order, shows."""
        known = [text for text in texts if text is not None]
        if not known:
            return None
        if len(known) < len(texts):
            return TOP
        if len(known) == 1:
            return known[0]
        if self._ranged:
            return f"[{known[0]}-{known[-1]}]" if self._plain(known) else f"[{known[0]} to {known[-1]}]"
        return "{" + ", ".join(known) + "}"

    def _plain(self, texts: list[str]) -> bool:
        """Whether ends can be joined by a dash."""
        return not any("-" in text or not text[:1].isdigit() for text in texts)


class Tree:
    """Values by their hierarchy."""

    def __init__(self, tuples: Tuples, labels: Labels, place: int) -> None:
        self._labels, self._place = labels, place
        self._levels = tuples.levels[place].codes[:, tuples.codes[place]]
        """Shape (levels, tuples): the label of each."""
        self._shares = tuples.shares[place][:, tuples.codes[place]]

    def width(self, members: Integers) -> float:
        return float(self._shares[self._shared(members), members[0]])

    def cut(self, members: Integers, rows: Integers, *, strict: bool) -> list[Integers]:
        level = self._shared(members)
        if level == 0:
            return [members]
        branches = self._levels[level - 1, members]
        return [members[branches == branch] for branch in np.unique(branches)]

    def labels(self, of: Integers) -> tuple[pa.Array[Any], Floats]:
        levels = self._labels.levels(of)
        cells = self._labels.cells(of, levels)[self._place]
        return cells, self._shares[levels[self._place], np.arange(len(of))]

    def _shared(self, members: Integers) -> int:
        """The finest level at which all members have the same label."""
        labels = self._levels[:, members]
        return int(np.argmax((labels == labels[:, :1]).all(axis=1)))
