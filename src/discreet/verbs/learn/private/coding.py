"""Rows as codes: each column one whole number a row, by what the card declares and by nothing else.

A coding works on one row at a time, so a person's rows change no one else's codes. The same coding is used to learn
and to predict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core import sql
from discreet.core.card import Card
from discreet.core.kind import LISTABLE
from discreet.core.table import Table
from discreet.engines.contribution import owned_rows
from discreet.engines.limits import fetch
from discreet.errors import BadInput
from discreet.verbs.learn.frame import CategoryFeature, Feature, Figures, NumberFeature, feature_of

Codes: TypeAlias = NDArray[np.int64]
FINE = 1024
"""Steps between the bounds of a column whose numbers are used as numbers."""
MOST_CODES = 2**15
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Coding:
    """A column as codes: a code for each value or interval, and behind them one for a missing value."""

    feature: Feature
    edges: tuple[float, ...] = ()
    """Where the second interval and each later one begins; for numbers in intervals."""
    fine: bool = False
    """Whether the code of a number is its place on a grid of ``FINE`` steps between the bounds."""
    required: bool = False

    @classmethod
    def of(cls, feature: Feature, card: Card, bins: int | None) -> Coding:
        """The coding of a feature: numbers in about ``bins`` intervals of equal width, or on the fine grid.

        The lower bound is an interval of its own: many amounts are zero for most people.
        """
        required = card[feature.name].required
        if isinstance(feature, CategoryFeature):
            if len(feature.values) > MOST_CODES:
                raise BadInput(
                    f"{feature.name!r} has {len(feature.values):,} values, which are too many to learn from.",
                    hint="Leave it out: name the other columns (columns=[…], or on COLUMNS).",
                )
            return cls(feature, required=required)
        if bins is None:
            return cls(feature, fine=True, required=required)
        second = feature.low + 1 if feature.kind in LISTABLE else float(np.nextafter(feature.low, inf))
        edges = sorted({second, *map(float, feature.edges(bins))})
        return cls(feature, tuple(edges), required=required)

    @property
    def values(self) -> int:
        """Number of codes of known values."""
        if isinstance(self.feature, CategoryFeature):
            return len(self.feature.values)
        return FINE + 1 if self.fine else len(self.edges) + 1

    @property
    def size(self) -> int:
        """Number of codes."""
        return self.values + (not self.required)

    def codes(self, cells: Any) -> Codes:
        """The code of each cell; -1 for one without a value where one is required."""
        figures = self.feature.figures(cells)
        missing = np.isnan(figures)
        figures = np.where(missing, 0.0, figures)
        if isinstance(self.feature, CategoryFeature):
            found = figures.astype(np.int64)
        elif self.fine:
            found = np.rint(np.clip(self.feature.scaled(figures), 0.0, 1.0) * FINE).astype(np.int64)
        else:
            found = np.searchsorted(np.array(self.edges), figures, side="right").astype(np.int64)
        return np.where(missing, -1 if self.required else self.values, found)

    def label(self, code: int) -> str:
        """What a code stands for, in words."""
        if code >= self.values:
            return "missing"
        if isinstance(self.feature, CategoryFeature):
            return str(self.feature.values[code])
        if self.fine:
            return str(self.feature.shown(self.feature.unscaled(code / FINE)))
        shown = [str(self.feature.shown(one)) for one in (self.feature.low, *self.edges)]
        return f"{shown[code]} or more" if code == self.values - 1 else f"{shown[code]} to below {shown[code + 1]}"

    def numbers(self) -> Figures:
        """For each code of the fine grid its number from -1, at the lower bound, to 1; 0 for a missing value."""
        known: Figures = np.arange(FINE + 1, dtype=np.float64) * (2 / FINE) - 1
        return known if self.required else np.append(known, 0.0)


@dataclass(frozen=True)
class CodedRows:
    """The rows of a bounded table as codes, a column for each coding."""

    columns: tuple[NDArray[np.uint16], ...]
    target: Codes
    """Code of the target in each row; all 0 where nothing is predicted."""

    def __len__(self) -> int:
        return len(self.target)

    def parts(self) -> list[slice]:
        """The rows in parts of a size that fits the processor's cache."""
        return [slice(first, first + _CHUNK) for first in range(0, max(len(self), 1), _CHUNK)]


def coded_rows(
    table: Table, codings: Sequence[Coding], target: Coding | None, progress: Callable[[str], None] = lambda what: None
) -> CodedRows:
    """The rows of a bounded table that have a value of the target and of each column that requires one.

    Codes are worked out batch by batch, as rows come from the engine: all rows are never in memory with their values.
    """
    progress("reading")
    every = [*codings, *([] if target is None else [target])]

    def coded(batch: pa.Table) -> pa.Table:
        found = [one.codes(batch.column(one.feature.name)) for one in every]
        there = np.ones(batch.num_rows, np.bool_)
        for codes in found:
            there &= codes >= 0
        return pa.table({f"k{place}": pa.array(codes[there].astype(np.uint16)) for place, codes in enumerate(found)})

    names = dict.fromkeys(one.feature.name for one in every)
    rows = owned_rows(table, rename=False).select({name: sql.column(name) for name in names})
    found = fetch(table.engine, rows.query, each=coded)
    columns = [found.column(place).combine_chunks().to_numpy(zero_copy_only=False) for place in range(len(every))]
    whose = np.zeros(found.num_rows, np.int64) if target is None else columns.pop().astype(np.int64)
    return CodedRows(tuple(columns), whose)


def target_coding(card: Card, target: str, *, classes: bool) -> Coding:
    """The coding of the target, of which rows without a value are left out; ``classes``: it must have few values."""
    if card[target] not in (released := [one for one in card.columns if one.name != card.unit]):
        raise BadInput(f"{target!r} cannot be learnt: choose one of {', '.join(one.name for one in released)}.")
    feature = feature_of(card[target])
    if classes and not isinstance(feature, CategoryFeature):
        raise BadInput(
            f"{target!r} is a number, and this learner predicts one of a few values.",
            hint="Use ridge, or declare categories on the card.",
        )
    if isinstance(feature, CategoryFeature) and classes and not 2 <= len(feature.values) <= MOST_CLASSES:
        raise BadInput(f"A target has 2 to {MOST_CLASSES} values; {target!r} has {len(feature.values)}.")
    if not classes and (not isinstance(feature, NumberFeature)):
        raise BadInput(
            f"{target!r} is not a number, and this learner predicts numbers.",
            hint="Use logistic, additive or naive-bayes.",
        )
    return Coding(feature, fine=not classes, required=True)


MOST_CLASSES = 50
"""Values of a target, at most."""
