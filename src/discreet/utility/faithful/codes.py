"""Columns of an original and of synthetic rows as the same codes, and how often codes occur together.

Codes are SQL: the engine groups the rows by them, where they are, and only groups come out, a batch at a time. So the
memory this takes does not grow with the rows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Column
from discreet.core.kind import Kind
from discreet.core.report import shortened
from discreet.core.table import Table
from discreet.core.text import bound

Array: TypeAlias = npt.NDArray[Any]
Columns: TypeAlias = tuple[int, ...]
"""Columns that are counted together, by their places."""

PARTS = 10
"""Numbers, dates and times are cut into so many parts, each with as many of the original rows."""
_CATEGORIES = 30
"""So many of the commonest values of the original stand for themselves; the rest are all else."""
_LARGEST = 1.7976931348623157e308
_LABEL = 24
CUT = frozenset({Kind.INTEGER, Kind.REAL, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP})
NUMBERS = frozenset({Kind.INTEGER, Kind.REAL, Kind.DECIMAL})


@dataclass(frozen=True)
class Coded:
    """A column as codes from 0, which is NULL; ``labels`` says what each stands for."""

    name: str
    labels: tuple[str, ...]
    code: exp.Expr
    number: bool
    """Whether it is a number, so that it has correlations."""

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.labels)


def coded(table: Table, name: str) -> Coded:
    """A column's codes, which the original ``table`` settles: parts of numbers end at its quantiles.

    Equal parts of the declared bounds would be public, and useless here: of costs from 0 to a million nearly all lie in
    the first of ten.
    """
    column = table.card[name]
    if column.kind in CUT and column.categories is None:
        return _parted(table, column)
    return _listed(table, column)


def number(name: str, kind: Kind) -> exp.Expr:
    """A column's values as they are, but NULL for what is no finite number."""
    value = sql.column(name)
    return exp.Case().when(finite(value), value) if kind is Kind.REAL else value


def finite(value: exp.Expr) -> exp.Expr:
    """Whether a real number is neither NaN nor infinite."""
    return value.copy().between(sql.literal(-_LARGEST), sql.literal(_LARGEST))


def counts(table: Table, columns: Sequence[Coded], sets: Sequence[Columns]) -> Mapping[Columns, Array]:
    """For each of ``sets`` how many rows have each combination of codes, in one pass over the rows."""
    names = [f"c{place}" for place in range(len(columns))]
    codes = table.query(*(sql.named(one.code.copy(), name) for one, name in zip(columns, names, strict=True)))
    keys = [sql.column(name) for name in names]
    grouped = (
        exp.select(*keys, sql.named(sql.count_rows(), "n"))
        .from_(codes.subquery("codes"))
        .group_by(*(key.copy() for key in keys))
    )
    sizes = [one.size for one in columns]
    found = {some: np.zeros(prod(sizes[place] for place in some)) for some in sets}
    for batch in table.engine.stream(grouped):
        rows = [batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64) for name in names]
        weight = batch.column("n").to_numpy(zero_copy_only=False).astype(np.float64)
        for some in sets:
            key = np.zeros(len(weight), np.int64)
            for place in some:
                key = key * sizes[place] + rows[place]
            found[some] += np.bincount(key, weight, minlength=len(found[some]))
    return {some: total.reshape([sizes[place] for place in some]) for some, total in found.items()}


def _parted(table: Table, column: Column) -> Coded:
    value = number(column.name, column.kind)
    values = table.query(sql.named(value.copy(), "v"))
    tile = exp.Window(
        this=exp.Anonymous(this="NTILE", expressions=[sql.literal(PARTS)]),
        order=exp.Order(expressions=[exp.Ordered(this=sql.column("v"))]),
    )
    tiles = (
        exp.select(sql.column("v"), sql.named(tile, "part"))
        .from_(values.subquery("vs"))
        .where(sql.column("v").is_(exp.null()).not_())
    )
    ends = (
        exp.select(sql.column("part"), sql.named(exp.Max(this=sql.column("v")), "last"))
        .from_(tiles.subquery("ts"))
        .group_by(sql.column("part"))
    )
    found: set[Any] = set(table.engine.fetch(ends)["last"].to_pylist())
    borders = sorted(found)[:-1]
    case = exp.Case().when(value.copy().is_(exp.null()), sql.literal(0))
    for place, border in enumerate(borders, 1):
        case = case.when(exp.LTE(this=value.copy(), expression=sql.literal(border)), sql.literal(place))
    said = [bound(border, dt.time.min) for border in borders]
    between = [f"over {low} to {high}" for low, high in pairwise(said)]
    labels = [f"up to {said[0]}", *between, f"over {said[-1]}"] if said else ["any"]
    return Coded(column.name, ("NULL", *labels), case.else_(sql.literal(len(labels))), column.kind in NUMBERS)


def _listed(table: Table, column: Column) -> Coded:
    value = number(column.name, column.kind)
    many = sql.named(sql.count_rows(), "n")
    values = table.query(sql.named(value.copy(), "v")).subquery("vs")
    grouped = exp.select(sql.column("v"), many).from_(values).group_by(sql.column("v"))
    there = grouped.where(sql.column("v").is_(exp.null()).not_())
    common = there.order_by(
        exp.Ordered(this=sql.column("n"), desc=True), exp.Ordered(this=sql.column("v"), desc=False)
    ).limit(_CATEGORIES)
    kept: list[Any] = table.engine.fetch(common)["v"].to_pylist()
    if column.categories is not None:
        order = {one: place for place, one in enumerate(column.categories)}
        kept.sort(key=lambda one: order.get(one, len(order)))
    case = exp.Case().when(value.copy().is_(exp.null()), sql.literal(0))
    for place, one in enumerate(kept, 1):
        case = case.when(exp.EQ(this=value.copy(), expression=sql.literal(one)), sql.literal(place))
    labels = ("NULL", *(shortened(str(one), _LABEL) for one in kept), "all else")
    return Coded(column.name, labels, case.else_(sql.literal(len(kept) + 1)), number=False)
