"""Mondrian: the table is cut in two, and the parts again, as long as all parts satisfy the models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.core.catalogue import declare, parameter
from discreet.core.families import RECODERS
from discreet.core.table import Table
from discreet.models.classes import Integers
from discreet.models.model import Model
from discreet.utility.quality import ClassSize, Discernibility
from discreet.verbs.publish import tuple_recoding
from discreet.verbs.publish.axes import Axis, axes_of
from discreet.verbs.publish.model_pruning import Rules
from discreet.verbs.publish.recoding import Progress, Recoding
from discreet.verbs.publish.tuples import Tuples, tuples_of

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
    end where somebody's value is: they are read off the data.
    """

    own_labels: ClassVar[bool] = True
    strict: bool = parameter("Whether values on both sides of a cut differ.", default=True)

    def recode(self, table: Table, require: Sequence[Model], progress: Progress | None = None) -> Recoding:
        """The parts of the table for which all models hold; an error if they do not even hold for the whole."""
        models = tuple_recoding.local_models(require, table.quasi())
        tuples = tuples_of(table, sorted({name for model in models for name in model.sensitive}))
        axes = axes_of(table.card, tuples)
        parts = _Parts(tuples, axes, models, strict=self.strict)
        if tuples.rows and parts.broken().any():
            raise tuple_recoding.refusal(tuples, models)
        parts.cut(progress or (lambda share, what: None))
        return self._result(tuples, axes, parts.of, models)

    def _result(self, tuples: Tuples, axes: Sequence[Axis], of: Integers, models: Sequence[Model]) -> Recoding:
        shown = [axis.labels(of) for axis in axes]
        groups = np.zeros(len(of), dtype=np.int64)
        for cells, _ in shown:
            encoded = tuple_recoding.as_text(cells).dictionary_encode(null_encoding="encode")
            codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
            groups = np.unique(groups * max(len(encoded.dictionary), 1) + codes, return_inverse=True)[1]
        classes = tuples.classes(groups.astype(np.int64))
        if tuple_recoding.breaking(
            classes, models
        ).any():  # classes that look alike are one, and no model must mind that
            raise tuple_recoding.refusal(tuples, models)
        rows = max(tuples.rows, 1)
        lost = {name: float(share @ tuples.counts) / rows for name, (_, share) in zip(tuples.names, shown, strict=True)}
        loss = sum(lost.values()) / max(len(lost), 1)
        kept = np.ones(len(classes.sizes), dtype=np.bool_)
        return Recoding(
            levels=None,
            dropped=None,
            mapping=tuple_recoding.mapping(tuples, [cells for cells, _ in shown], np.ones(len(of), dtype=np.bool_)),
            suppressed=0,
            loss=loss,
            quality=_figures(tuples, groups, kept, loss, lost),
            parameters={"strict": self.strict},
            steps=(
                f"The table was cut into {len(classes.sizes):,} classes, in the widest column first and at the median.",
                "Each class shows the range, the set or the common label of its members; ranges end where a value is.",
            ),
            optimal=False,
            gap=None,
            caveats=("Ranges end at values that people have: the lowest and the highest of each class are shown.",),
        )


def _figures(tuples: Tuples, groups: Integers, kept: Flags, loss: float, lost: Mapping[str, float]) -> dict[str, float]:
    levels = np.zeros(len(tuples.names), dtype=np.int64)
    measures = (Discernibility(), ClassSize())
    found = {"granularity": loss} | {one.name: one.loss(tuples, levels, groups, kept) for one in measures}
    return found | {f"loss of {name}": share for name, share in lost.items()}


class _Parts:
    """The parts of a table while it is cut: several at once, so that models look at all of them together."""

    def __init__(self, tuples: Tuples, axes: Sequence[Axis], models: Sequence[Model], *, strict: bool) -> None:
        self._tuples, self._axes, self._models, self._strict = tuples, axes, models, strict
        self._smallest = Rules(models, 0).smallest
        self.of = np.ones(len(tuples.counts), dtype=np.int64)

    def broken(self) -> Flags:
        """Which parts, by number, break a model."""
        numbers, groups = np.unique(self.of, return_inverse=True)
        found = np.zeros(int(self.of.max(initial=0)) + 1, dtype=np.bool_)
        found[numbers] = tuple_recoding.breaking(self._tuples.classes(groups.astype(np.int64)), self._models)
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
            waiting = self._judged(tried, before)

    def _judged(
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
