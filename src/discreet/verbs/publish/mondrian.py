"""Mondrian multidimensional partitioning: cut the table at medians as long as all parts satisfy the models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Card, Column
from discreet.core.catalogue import declare, parameter
from discreet.core.families import RECODERS
from discreet.core.hierarchy.hierarchy import TOP
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.kind import ORDERED
from discreet.core.table import Table
from discreet.models.classes import Integers, domain_of
from discreet.models.model import Model
from discreet.releases.method import Progress, silent
from discreet.utility.quality import ClassSize, Discernibility
from discreet.verbs.publish.recoding import Recoding
from discreet.verbs.publish.tuples import (
    Labels,
    PruningRules,
    Tuples,
    breaking,
    local_models,
    mapping,
    refusal,
    text_labels,
    tuples_of,
)

Flags = npt.NDArray[np.bool_]


@declare(RECODERS, "mondrian", rank=2, paper="LeFevre, DeWitt and Ramakrishnan 2006")
class Mondrian:
    """Multidimensional partitioning (LeFevre, DeWitt and Ramakrishnan 2006).

    Each part is cut in the column in which it is widest, at the median; if a part of the cut would break a model, the
    next widest column is tried, and a part that no column can cut is a class. Numbers, dates and categories with a
    declared order are cut in their order, and a class shows the range of its members, such as ``[20-29]``. Text with a
    hierarchy is cut into the branches of its tree, and a class shows their common label. Other text is cut in
    alphabetical order, and a class shows the set, such as ``{cold, flu}``. NULL comes after all values.

    ``strict``: values on both sides of a cut differ, so ranges of different classes do not overlap. Otherwise
    combinations with the median itself are shared out to make both sides equal, which mostly gives more and smaller
    classes. Rows with equal values stay together in both.

    Why this is private: as its models are; nothing else is promised. A cut depends on all rows of a part, and ranges
    end where someone's value is: they are taken from the data.
    """

    own_labels: ClassVar[bool] = True
    strict: bool = parameter("Whether a cut must separate different values (strict).", default=True)

    def recode(self, table: Table, require: Sequence[Model], progress: Progress | None = None) -> Recoding:
        """The parts of the table for which all models hold; an error if they do not even hold for the whole."""
        models = local_models(require, table.quasi())
        tuples = tuples_of(table, sorted({name for model in models for name in model.sensitive}))
        axes = axes_of(table.card, tuples)
        parts = _Parts(tuples, axes, models, strict=self.strict)
        if tuples.rows and parts.broken().any():
            raise refusal(tuples, models)
        parts.cut(progress or silent)
        return self._result(tuples, axes, parts.of, models)

    def _result(self, tuples: Tuples, axes: Sequence[Axis], of: Integers, models: Sequence[Model]) -> Recoding:
        shown = [axis.labels(of) for axis in axes]
        groups = np.zeros(len(of), dtype=np.int64)
        for cells, _ in shown:
            encoded = text_labels(cells).dictionary_encode(null_encoding="encode")
            codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
            groups = np.unique(groups * max(len(encoded.dictionary), 1) + codes, return_inverse=True)[1]
        classes = tuples.classes(groups.astype(np.int64))
        if breaking(classes, models).any():  # classes that look alike are one, and may break a model
            raise refusal(tuples, models)
        rows = max(tuples.rows, 1)
        lost = {name: float(share @ tuples.counts) / rows for name, (_, share) in zip(tuples.names, shown, strict=True)}
        loss = sum(lost.values()) / max(len(lost), 1)
        same, kept = np.zeros(len(tuples.names), dtype=np.int64), np.ones(len(classes.sizes), dtype=np.bool_)
        sizes = {one.name: one.loss(tuples, same, groups, kept) for one in (Discernibility(), ClassSize())}
        return Recoding(
            mapping=mapping(tuples, [cells for cells, _ in shown], np.ones(len(of), dtype=np.bool_)),
            loss=loss,
            quality={"granularity": loss, **sizes, **{f"loss of {name}": share for name, share in lost.items()}},
            parameters={"strict": self.strict},
            steps=(
                f"The table was cut into {len(classes.sizes):,} classes, in the widest column first and at the median.",
                "Each class shows the range, the set or the common label of its members; ranges end where a value is.",
            ),
            caveats=("Ranges end at values that people have: the lowest and the highest of each class are shown.",),
        )


class _Parts:
    """The parts of a table while it is cut: several at once, so that models look at all of them together."""

    def __init__(self, tuples: Tuples, axes: Sequence[Axis], models: Sequence[Model], *, strict: bool) -> None:
        self._tuples, self._axes, self._models, self._strict = tuples, axes, models, strict
        self._smallest = PruningRules(models, 0).smallest
        self.of = np.ones(len(tuples.counts), dtype=np.int64)

    def broken(self) -> Flags:
        """Which parts, by number, break a model."""
        numbers, groups = np.unique(self.of, return_inverse=True)
        found = np.zeros(int(self.of.max(initial=0)) + 1, dtype=np.bool_)
        found[numbers] = breaking(self._tuples.classes(groups.astype(np.int64)), self._models)
        return found

    def cut(self, say: Progress) -> None:
        """Cut until no part can be cut any more."""
        every = np.arange(len(self.of), dtype=np.int64)
        waiting = [(every, self._order(every))] if len(every) else []
        total, number = max(len(every), 1), 1
        while waiting:
            say(1 - sum(len(members) for members, _ in waiting) / total, "cutting")
            tried, before = [], self.of.copy()
            for members, columns in waiting:
                while columns:
                    pieces = self._pieces(members, columns.pop(0))
                    if pieces:
                        tried.append((members, columns, pieces))
                        break
            for _, _, pieces in tried:
                for piece in pieces:
                    number += 1
                    self.of[piece] = number
            waiting = self._undo_breaking_cuts(tried, before)

    def _undo_breaking_cuts(
        self, tried: list[tuple[Integers, list[int], list[Integers]]], before: Integers
    ) -> list[tuple[Integers, list[int]]]:
        """Undo cuts that break a model; what is to be cut next, and in which columns."""
        broken = self.broken()
        undone = [any(broken[self.of[piece[0]]] for piece in pieces) for _, _, pieces in tried]
        for (members, _, _), back in zip(tried, undone, strict=True):
            if back:
                self.of[members] = before[members]
        if broken.any() and self.broken().any():  # a model that looks at all parts together
            self.of = before
            undone = [True] * len(tried)
        waiting = []
        for (members, columns, pieces), back in zip(tried, undone, strict=True):
            waiting += [(members, columns)] if back else [(piece, self._order(piece)) for piece in pieces]
        return waiting

    def _order(self, members: Integers) -> list[int]:
        """The columns in which members differ, the widest first."""
        widths = [axis.width(members) for axis in self._axes]
        return [column for column in np.argsort([-width for width in widths], kind="stable") if widths[column] > 0]

    def _pieces(self, members: Integers, column: int) -> list[Integers]:
        """The pieces of a cut in a column; none, if one of them would have too few rows."""
        pieces = self._axes[column].cut(members, self._tuples.counts[members], strict=self._strict)
        enough = all(int(self._tuples.counts[piece].sum()) >= self._smallest for piece in pieces)
        return pieces if enough and len(pieces) > 1 else []


Floats = npt.NDArray[np.float64]


class Axis(Protocol):
    """One column of the tuples: where a part can be cut, how wide it is, and which label it shows."""

    def width(self, members: Integers) -> float:
        """Share of the column's domain that the members cover; 0 if they are all the same."""

    def cut(self, members: Integers, rows: Integers, *, strict: bool) -> list[Integers]:
        """The members in two parts or more, as even as they can be; ``rows``: how many rows each member has."""

    def labels(self, of: Integers) -> tuple[pa.Array[Any], Floats]:
        """Label of each tuple, given the class of each, and the share of the domain that it covers."""


def axes_of(card: Card, tuples: Tuples) -> list[Axis]:
    """An axis for each column of the tuples."""
    labels = Labels(tuples)
    found: list[Axis] = []
    for place, name in enumerate(tuples.names):
        column = card[name]
        tree = column.hierarchy is not None and column.kind not in ORDERED and not isinstance(column.hierarchy, Ordered)
        found.append(Tree(tuples, labels, place) if tree else Line(tuples, column, place))
    return found


class Line:
    """Values in their order; NULL, which is like no value, last.

    Members with and without a value are cut apart before anything else. Where that cannot be, the class shows nothing:
    a range "or missing" would tell those with a value from those without, to anyone who knows who has none.
    """

    def __init__(self, tuples: Tuples, column: Column, place: int) -> None:
        values, codes = tuples.values[place], tuples.codes[place]
        self._values = domain_of(column, values)
        ranks = pc.index_in(values, self._values).to_numpy(zero_copy_only=False).astype(np.int64)
        self._ranks = ranks[codes]
        self._missing = len(self._values) - 1 if values.null_count else len(self._values)
        self._ranged = column.kind in ORDERED or isinstance(column.hierarchy, Ordered)
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
        texts = text_labels(self._values).to_pylist()
        met = (np.unique(self._ranks[order[start : start + size]]) for start, size in zip(starts, sizes, strict=True))
        shown = [self._class_label([texts[rank] for rank in ranks]) for ranks in met]
        return pa.array([shown[at] for at in place], pa.string()), shares[place]

    def _class_label(self, texts: list[str | None]) -> str | None:
        """Label of a class with these values, in their order."""
        known = [text for text in texts if text is not None]
        if not known:
            return None
        if len(known) < len(texts):
            return TOP
        if len(known) == 1:
            return known[0]
        if self._ranged:
            plain = not any("-" in text or not text[:1].isdigit() for text in known)  # then a dash is clear
            return f"[{known[0]}-{known[-1]}]" if plain else f"[{known[0]} to {known[-1]}]"
        return "{" + ", ".join(known) + "}"


class Tree:
    """Values by their hierarchy."""

    def __init__(self, tuples: Tuples, labels: Labels, place: int) -> None:
        self._labels, self._place = labels, place
        self._levels = tuples.levels[place].codes[:, tuples.codes[place]]
        """Shape (levels, tuples): the label of each."""
        self._shares = tuples.shares[place][:, tuples.codes[place]]

    def width(self, members: Integers) -> float:
        return float(self._shares[self._common_level(members), members[0]])

    def cut(self, members: Integers, rows: Integers, *, strict: bool) -> list[Integers]:
        level = self._common_level(members)
        if level == 0:
            return [members]
        branches = self._levels[level - 1, members]
        return [members[branches == branch] for branch in np.unique(branches)]

    def labels(self, of: Integers) -> tuple[pa.Array[Any], Floats]:
        levels = self._labels.levels(of)
        cells = self._labels.cells(of, levels)[self._place]
        return cells, self._shares[levels[self._place], np.arange(len(of))]

    def _common_level(self, members: Integers) -> int:
        """The finest level at which all members have the same label."""
        labels = self._levels[:, members]
        return int(np.argmax((labels == labels[:, :1]).all(axis=1)))
