"""Macro-tables: counts by declared columns, all at once, under one privacy loss."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import prod
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.core.card import Card
from discreet.core.exact import Number
from discreet.core.exact import whole as whole_number
from discreet.core.hierarchy.hierarchy import codes
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind, Scalar
from discreet.core.loss import Concentrated, Pure
from discreet.core.report import Picture, bars
from discreet.core.sql import arrow_type, scale_of
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.errors import BadInput, NoPromise, NotDeclared
from discreet.noise.deviation import Weighted, weighted_error
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.releases.method import BETA, Method, kept_rows, loss_of, promised, rows_per_unit
from discreet.verbs.tabulate.private.counts import NoisyCounts, noise_of
from discreet.verbs.tabulate.private.strategy import MOST_CELLS, Columns, Workload, choose
from discreet.verbs.tabulate.private.top_down import in_whole_numbers, require_fits
from discreet.verbs.tabulate.tables.crosstable import TOTAL, CrossTable, Dimension, Numbers, summed
from discreet.verbs.tabulate.tables.sides import code_of

_BARS = 24
_LARGEST_DEVIATION = 2.0**30
"""Of noise in whole counts: sums of a million cells are still told apart to small parts of one."""
_MOST_TABLES = 100
_MOST_COLUMNS = 8
_FIGURES = ("n", "n_error")
_ROUNDING = 1e-6  # no whole number is left out for what floating point makes of it
_MOST_VALUES = 1000


@dataclass(frozen=True)
class MacroTable(Method[pa.Table]):
    """Counts by every set of columns in ``by``, with totals over each column and, with ``levels``, within each.

    Why this is private: the counts get their noise from ``NoisyCounts``, where it is argued; the rest is made of
    noisy counts and declarations.

    The result has a row a cell: a code of each column, NULL where the cell is over all of its values, the count ``n``
    and its error bar ``n_error``. A cell that several tables share is there once. With ``whole``, counts are whole
    numbers, none is below zero, and every total is exactly the sum of its parts; without, they are the figures of
    least squares, which are right on average and add up as far as floating point goes.
    """

    name: ClassVar[str] = "macro-table"
    by: Sequence[Sequence[str]]
    epsilon: Number | None = None
    rho: Number | None = None
    levels: bool = True
    whole: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.by, str) or any(isinstance(columns, str) for columns in self.by):
            raise BadInput("A macro-table needs lists of columns.", hint=f"Such as [{list(self.by)!r}].")
        object.__setattr__(self, "by", tuple(tuple(columns) for columns in self.by))

    @classmethod
    def every(
        cls,
        columns: Sequence[str],
        ways: int = 2,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        levels: bool = True,
        whole: bool = True,
    ) -> MacroTable:
        """The tables by every ``ways`` of the columns."""
        if isinstance(columns, str):
            raise BadInput("Tables need a list of columns.", hint=f"Such as [{columns!r}].")
        if whole_number(ways, "ways") > len(columns):
            raise BadInput(f"There are no tables by {ways} of {len(columns)} columns.")
        return cls(list(combinations(columns, ways)), epsilon, rho, levels, whole)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The columns of each table, and what is printed of them."""
        return {"by": [list(columns) for columns in self.by], "levels": self.levels, "whole": self.whole}

    def steps(self, card: Card) -> tuple[str, ...]:
        """What is done, in words."""
        plan = self.plan(card)
        counted = ", ".join(called(columns) or "all rows" for columns in plan.counts.sets)
        done = [
            kept_rows(card),
            "rows without a declared value in one of the columns were left out; counted with exact noise: "
            f"{counted}; the counts were made consistent by weighted least squares",
        ]
        if not self.whole:
            return (*done, "the error bars hold with 95 % confidence, each for its own cell")
        return (
            *done,
            "counts were made non-negative whole numbers from the top down: the total first, then shared "
            "marginals, then the rest; that every total is exactly the sum of its parts was checked; counts "
            "near zero are too large on average",
            "the error bars hold with 95 % confidence, each for its own cell: that of least squares, cut at "
            "zero, plus the distance of the published count",
        )

    def promise(self, card: Card) -> Statement:
        """The loss that was asked for; an error if the error bars cannot be worked out."""
        plan = self.plan(card)
        counts = plan.counts
        for noise in counts.noises:
            noise.require_drawable()
            if self.whole and noise.variance > _LARGEST_DEVIATION**2:
                raise BadInput("This loss gives too much noise for whole numbers. Spend more, or ask for real numbers.")
        for columns in plan.workload.printed:
            plan.errors(columns)
        return promised(counts.loss(rows_per_unit(card)), card)

    def expected_errors(self, card: Card) -> Mapping[str, float | None]:
        """The error bar of a cell without totals, for each table, before it is made whole."""
        precision = self.plan(card).counts.precision
        return {called(columns): precision.error(dict.fromkeys(columns, 1), BETA) for columns in self.by}

    def run(self, table: Table, entropy: Entropy = SYSTEM) -> pa.Table:
        """Count on the engine, add noise, make everything agree, and print it."""
        plan = self.plan(table.card)
        agreed = plan.counts.agreed(plan.counts.measure(table, entropy))
        near = {columns: plan.counts.table(agreed, columns) for columns in plan.workload.printed}
        leaves = plan.whole(near) if self.whole else near
        return pa.concat_tables([plan.shown(one, near[one], leaves[one]) for one in plan.workload.printed])

    def pictures(self, payload: pa.Table) -> tuple[Picture, ...]:
        """The counts as bars, if there are few enough to be read."""
        rows = payload.to_pylist()
        if len(rows) > _BARS:
            return ()
        names = [name for name in payload.column_names if name not in ("n", "n_error")]
        labels = [called(str(row[name]) for name in names if row[name] is not None) or "all" for row in rows]
        return (bars(f"Counts by {', '.join(map(called, self.by))}", labels, [round(row["n"]) for row in rows]),)

    def tables(self, card: Card, payload: pa.Table) -> tuple[CrossTable, ...]:
        """The result as one table for each set of columns, to be laid out or worked on; it must be in whole numbers."""
        plan = self.plan(card)
        if not self.whole or payload.num_rows != plan.workload.cells:
            raise BadInput("This is not a result of this macro-table in whole numbers.")
        return plan.tables(payload.column("n").to_numpy())

    def plan(self, card: Card) -> Plan:
        """What will be counted and printed of a table with this card; an error if it cannot be made."""
        plan = Plan.of(card, self.by, loss_of(self.epsilon, self.rho), levels=self.levels)
        if self.whole:
            require_fits(plan.workload.tables)
        return plan


def called(columns: Iterable[str]) -> str:
    """What a table by these columns is called."""
    return " × ".join(columns)


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
            raise BadInput("Tables need one or more different sets of columns.")
        if any(len(table) < len(columns) for table, columns in zip(tables, by, strict=True)):
            raise BadInput("A table may use a column once.")
        if len(tables) > _MOST_TABLES:
            raise BadInput(f"These are {len(tables):,} tables; the limit is {_MOST_TABLES}.")
        if max(map(len, tables)) > _MOST_COLUMNS:
            raise BadInput(f"A table may have at most {_MOST_COLUMNS} columns.")
        names = tuple(dict.fromkeys(name for columns in by for name in columns))
        taken = set(_FIGURES) & {name.lower() for name in names}
        if taken:
            raise BadInput(f"A column called {min(taken)} would be confused with a count.", hint="Ask by SQL instead.")
        sides = {name: DeclaredSide.of(card, name, levels=levels) for name in names}
        groups = tuple(side.leaves_below for side in sides.values())
        workload = Workload(names, tuple(map(len, sides.values())), groups, tables)
        cells = max(workload.cells, sum(map(workload.size, tables)))
        if cells > MOST_CELLS:
            raise BadInput(f"These tables have {cells:,} cells; the limit is {MOST_CELLS:,}.")
        strategy = choose(workload, pure=isinstance(loss, Pure))
        counts = NoisyCounts.for_loss(loss, card, {name: side.values for name, side in sides.items()}, strategy)
        return cls(sides, tuple(map(tuple, by)), workload, counts)

    def whole(self, near: Mapping[Columns, Numbers]) -> dict[Columns, Numbers]:
        """The leaves of everything printed in whole numbers >= 0 near these, checked to agree exactly."""
        dimensions = {name: side.dimension for name, side in self.sides.items()}
        settled = in_whole_numbers(dimensions, self.workload.tables, near.__getitem__)
        found: dict[Columns, Numbers] = {}
        for table in self.workload.tables:
            axes = [name for name in self.sides if name in table]
            for columns in self.workload.printed:
                if columns <= table:
                    drops = tuple(axis for axis, name in enumerate(axes) if name not in columns)
                    part = np.asarray(settled[table].sum(axis=drops))
                    if part.dtype != np.int64 or part.min() < 0 or (part != found.setdefault(columns, part)).any():
                        raise NoPromise("The tables are not consistent in whole numbers, so they are not released.")
        return found

    def shown(self, columns: Columns, near: Numbers, leaves: Numbers) -> pa.Table:
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

    def tables(self, counts: Numbers) -> tuple[CrossTable, ...]:
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

    def _codes(self, axes: Sequence[str], leaves: Numbers) -> Numbers:
        """The figures of all codes but the totals of all, from those of the leaves."""
        table = summed([self.sides[name].dimension for name in axes], leaves)
        return table[(slice(1, None),) * len(axes)]

    def errors(self, columns: Columns) -> Numbers:
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
        paths = [[code_of(value)] for value in values]
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
        return tuple(summed([self.dimension], np.ones(len(self), np.int64))[1:].tolist())


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
        if high - low < _MOST_VALUES:
            return tuple(range(low, high + 1))
    raise NotDeclared(
        f"A table by {name!r} needs its values, and the card declares none.",
        hint=f"Declare categories, a taxonomy, or bounds of a whole number with {_MOST_VALUES:,} values at most.",
    )


def _type(card: Card, name: str) -> pa.DataType:
    column = card[name]
    if column.kind is Kind.DECIMAL:
        return arrow_type(column.kind, scale=max(scale_of(value) for value in column.categories or ()))  # type: ignore[arg-type]
    zoned = any(getattr(value, "tzinfo", None) is not None for value in column.categories or ())
    return arrow_type(column.kind, zoned=zoned)


def compared(macro: MacroTable, card: Card) -> pa.Table:
    """For each table and each of its totals, the error of a cell if asked and if made, for the same loss in all.

    Asked: every table by a question of its own (``SELECT …, COUNT(*) … GROUP BY …``) for an equal part of the loss, and
    totals added up from the answer that has the fewest cells to add. Made: by ``macro``, before it is made whole.
    Deviations are root mean squares, to compare by. Error bars hold with 95 % confidence or more: that of a sum of
    noises is a bound, and longer than it need be, that of a single one is not. All of it follows from the card alone.
    """
    plan = macro.plan(card)
    precision = plan.counts.precision
    noise = noise_of(loss_of(macro.epsilon, macro.rho), Fraction(1, len(plan.by)), rows_per_unit(card))
    rows = []
    for columns in plan.workload.printed:
        cell = dict.fromkeys(columns, 1)
        summed = min(plan.workload.size(table - columns) for table in plan.workload.tables if columns <= table)
        rows.append(
            {
                "table": called(name for name in plan.sides if name in columns) or "all rows",
                "cells": plan.workload.size(columns),
                "asked_deviation": math.sqrt(summed * noise.variance),
                "made_deviation": math.sqrt(precision.variance(cell)),
                "asked_error": weighted_error([Weighted(noise, np.ones(1), np.full(1, summed))], BETA),
                "made_error": precision.error(cell, BETA),
            }
        )
    return pa.Table.from_pylist(rows)
