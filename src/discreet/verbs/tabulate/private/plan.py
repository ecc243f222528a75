"""Plan of a macro-table, from declarations alone: its dimensions, what is counted, what is printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.budget.dp_statement import BETA
from discreet.core.card import Card
from discreet.core.hierarchy.hierarchy import codes
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind, Scalar
from discreet.core.loss import Concentrated, Pure
from discreet.core.sql import arrow_type, scale_of
from discreet.errors import BadInput, NoPromise, NotDeclared
from discreet.verbs.tabulate.private.counts import NoisyCounts
from discreet.verbs.tabulate.private.strategy import MOST_CELLS, choose
from discreet.verbs.tabulate.private.top_down import in_whole_numbers
from discreet.verbs.tabulate.private.workload import Columns, Workload
from discreet.verbs.tabulate.tables.crosstable import CrossTable, summed
from discreet.verbs.tabulate.tables.dimension import TOTAL, Dimension

_MOST_TABLES = 100
_MOST_COLUMNS = 8
_FIGURES = ("n", "n_error")
_ROUNDING = 1e-6  # no whole number is left out for what floating point makes of it
_WIDEST = 1000
_Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Plan:
    """What is counted and what is printed of it."""

    sides: Mapping[str, DeclaredSide]
    by: tuple[tuple[str, ...], ...]
    workload: Workload
    counts: NoisyCounts

    @classmethod
    def of(cls, card: Card, by: Sequence[Sequence[str]], loss: Pure | Concentrated, *, levels: bool) -> Plan:
        """The tables by these sets of columns, for this loss in all."""
        tables = tuple(map(frozenset, by))
        if not tables or not all(tables) or len(set(tables)) < len(tables):
            raise BadInput("Tables are by one or more different sets of columns.")
        if any(len(table) < len(columns) for table, columns in zip(tables, by, strict=True)):
            raise BadInput("A table has a column once.")
        if len(tables) > _MOST_TABLES:
            raise BadInput(f"These are {len(tables):,} tables; at most {_MOST_TABLES} are made at once.")
        if max(map(len, tables)) > _MOST_COLUMNS:
            raise BadInput(f"A table is by at most {_MOST_COLUMNS} columns.")
        names = tuple(dict.fromkeys(name for columns in by for name in columns))
        taken = set(_FIGURES) & {name.lower() for name in names}
        if taken:
            raise BadInput(f"A column called {min(taken)} would be taken for a count.", hint="Ask by SQL instead.")
        sides = {name: DeclaredSide.of(card, name, levels=levels) for name in names}
        groups = tuple(side.leaves_below for side in sides.values())
        workload = Workload(names, tuple(map(len, sides.values())), groups, tables)
        cells = max(workload.cells, sum(map(workload.size, tables)))
        if cells > MOST_CELLS:
            raise BadInput(f"These tables have {cells:,} cells; at most {MOST_CELLS:,} are counted.")
        strategy = choose(workload, pure=isinstance(loss, Pure))
        counts = NoisyCounts.for_loss(loss, card, {name: side.values for name, side in sides.items()}, strategy)
        return cls(sides, tuple(map(tuple, by)), workload, counts)

    def whole(self, near: Mapping[Columns, _Numbers]) -> dict[Columns, _Numbers]:
        """The leaves of everything printed in whole numbers >= 0 near these, checked to agree exactly."""
        dimensions = {name: side.dimension for name, side in self.sides.items()}
        settled = in_whole_numbers(dimensions, self.workload.tables, near.__getitem__)
        found: dict[Columns, _Numbers] = {}
        for table in self.workload.tables:
            axes = [name for name in self.sides if name in table]
            for columns in self.workload.printed:
                if columns <= table:
                    drops = tuple(axis for axis, name in enumerate(axes) if name not in columns)
                    part = np.asarray(settled[table].sum(axis=drops))
                    if part.dtype != np.int64 or part.min() < 0 or (part != found.setdefault(columns, part)).any():
                        raise NoPromise("The tables do not agree in whole numbers, so they are not printed.")
        return found

    def shown(self, columns: Columns, near: _Numbers, leaves: _Numbers) -> pa.Table:
        """The printed cells of one set of columns, totals left out: codes, counts and error bars.

        Why the bars hold: with 95 % confidence the true count is within e of the figure of least squares, and it is a
        whole number and not below zero. The bar of a count that is another reaches as far as that from it.
        """
        axes = [name for name in self.sides if name in columns]
        figures, counts = (self._codes(axes, table) for table in (near, leaves))
        errors = self.errors(columns)
        if leaves.dtype == np.int64:
            low, high = np.ceil(figures - errors - _ROUNDING), np.floor(figures + errors + _ROUNDING)
            low = np.maximum(low, 0)
            errors = np.maximum(np.maximum(high - counts, counts - low), 0).astype(np.int64)
        shape = counts.shape
        told: dict[str, pa.Array[Any]] = {}
        for name, side in self.sides.items():
            if name in columns:
                place = np.arange(shape[axes.index(name)])
                spread = place.reshape([-1 if one == name else 1 for one in axes])
                told[name] = pa.array(side.printed, side.type).take(pa.array(np.broadcast_to(spread, shape).ravel()))
            else:
                told[name] = pa.array([None] * counts.size, side.type)
        return pa.table({**told, "n": pa.array(counts.ravel()), "n_error": pa.array(errors.ravel())})

    def tables(self, counts: _Numbers) -> tuple[CrossTable, ...]:
        """The printed counts, in their order, as one table for each set of columns."""
        ends = np.cumsum([prod(len(self.sides[name].printed) for name in one) for one in self.workload.printed])
        parts = dict(zip(self.workload.printed, np.split(counts, ends[:-1]), strict=True))
        found = []
        for by in self.by:
            axes = [name for name in self.sides if name in by]
            values = np.zeros([len(self.sides[name].dimension) for name in axes], dtype=np.int64)
            for columns, part in parts.items():
                if columns <= set(by):
                    place = tuple(slice(1, None) if name in columns else 0 for name in axes)
                    values[place] = part.reshape(values[place].shape)
            order = [axes.index(name) for name in by]
            sides = tuple(self.sides[name].dimension for name in by)
            found.append(CrossTable(sides, np.ascontiguousarray(values.transpose(order))))
        return tuple(found)

    def _codes(self, axes: Sequence[str], leaves: _Numbers) -> _Numbers:
        """The figures of all codes but the totals of all, from those of the leaves."""
        table = summed([self.sides[name].dimension for name in axes], leaves)
        return table[(slice(1, None),) * len(axes)]

    def errors(self, columns: Columns) -> _Numbers:
        """The error bars of all codes but the totals of all: the same for cells of as many leaves on each side."""
        axes, precision = [name for name in self.sides if name in columns], self.counts.precision
        sizes = [np.unique(self.sides[name].leaves_below, return_inverse=True) for name in axes]
        each = np.zeros([len(size) for size, _ in sizes])
        for place in product(*map(range, each.shape)):
            cell = {name: int(size[i]) for name, (size, _), i in zip(axes, sizes, place, strict=True)}
            each[place] = precision.error(cell, BETA)
        return np.asarray(each[np.ix_(*(which for _, which in sizes))] if axes else each)


@dataclass(frozen=True)
class DeclaredSide:
    """A column's declared values, in the order of its dimension's leaves, and the totals above them."""

    dimension: Dimension
    values: tuple[Scalar, ...]
    type: pa.DataType
    """Of what is printed: text if there are totals within totals, else the column's own."""

    @classmethod
    def of(cls, card: Card, name: str, *, levels: bool) -> DeclaredSide:
        """The side of a column; with ``levels``, its hierarchy's labels are totals within the total of all."""
        column, values = card[name], declared_values(card, name)
        own = _type(card, name)
        paths = [[_spelled(value)] for value in values]
        if levels and column.hierarchy is not None:
            found = codes(column.hierarchy, column.kind, pa.array(values, own))
            for labels, places in list(zip(found.labels, found.codes, strict=True))[1:-1]:
                for path, place in zip(paths, places, strict=True):
                    path.append(str(labels[int(place)].as_py()))
        taken = {label for path in paths for label in path}
        total = next(label for label in (TOTAL, f"{TOTAL} of {name}", "*") if label not in taken)
        side = Dimension.from_paths(name, paths, total)
        known = {path[0]: value for path, value in zip(paths, values, strict=True)}
        leaves = tuple(known[side.codes[int(place)]] for place in side.leaves)
        return cls(side, leaves, pa.string() if side.nested else own)

    @property
    def printed(self) -> tuple[Scalar, ...]:
        """What stands for each code but the total of all: itself, as text where there are totals within it."""
        if self.dimension.nested:
            return self.dimension.codes[1:]
        return self.values if len(self.dimension) > 1 else ()

    def __len__(self) -> int:
        return len(self.values)

    @property
    def leaves_below(self) -> tuple[int, ...]:
        """For each code but the total of all, how many leaves it is the total of."""
        found = [0] * len(self.dimension)
        for leaf in self.dimension.leaves.tolist():
            place = leaf
            while place >= 0:
                found[place] += 1
                place = self.dimension.parents[place]
        return tuple(found[1:])


def declared_values(card: Card, name: str) -> tuple[Scalar, ...]:
    """The declared values of a column: categories, a taxonomy's leaves, both truths, whole numbers between bounds."""
    column = card[name]
    if column.categories is not None:
        return column.categories
    if isinstance(column.hierarchy, Taxonomy) and column.kind is Kind.TEXT:
        return column.hierarchy.leaves
    if column.kind is Kind.BOOLEAN:
        return False, True
    if column.kind is Kind.INTEGER and column.bounds is not None:
        low, high = (int(end) for end in column.bounds)  # type: ignore[arg-type]  # the card saw to it
        if high - low < _WIDEST:
            return tuple(range(low, high + 1))
    raise NotDeclared(
        f"A table by {name!r} needs its values, and the card declares none.",
        hint=f"Declare categories, a taxonomy, or bounds of a whole number with {_WIDEST:,} values at most.",
    )


def _spelled(value: Scalar) -> str:
    """A value as a code, the same as in tables that are counted without noise."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _type(card: Card, name: str) -> pa.DataType:
    column = card[name]
    if column.kind is Kind.DECIMAL:
        return arrow_type(column.kind, scale=max(scale_of(value) for value in column.categories or ()))  # type: ignore[arg-type]
    zoned = any(getattr(value, "tzinfo", None) is not None for value in column.categories or ())
    return arrow_type(column.kind, zoned=zoned)
