"""Public tables: about nobody, so that whatever they hold may be looked at, and costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Column, Role
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.limits import seconds_left
from discreet.verbs.ask.rows import Rows
from discreet.verbs.ask.value import Value

_FEW = 1000
_LARGEST = 1.7976931348623157e308
_LISTED = (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN, Kind.DATE)
_BOUNDED = (Kind.INTEGER, Kind.REAL, Kind.DECIMAL, Kind.DATE)


def multiplicity(rows: Rows, keys: Sequence[Value]) -> int:
    """How many public rows have the same keys, at the most, and at least 1. NULL is equal to nothing."""
    there = [value.sql.copy().is_(exp.null()).not_() for value in keys]
    counted = exp.select(sql.named(sql.count_rows(), "n")).from_(rows.query.subquery("r")).where(*there)
    counted = counted.group_by(*(value.sql.copy() for value in keys))
    largest = exp.select(sql.named(exp.Max(this=sql.column("n")), "n")).from_(counted.subquery("k"))
    return max(1, rows.engine.fetch(largest, seconds=seconds_left()).column(0)[0].as_py() or 0)


def described(table: Table) -> Table:
    """A public table whose card says what values each column has: what nobody declared is looked up."""
    columns = []
    for column in table.card.columns:
        known = column.bounds or column.categories or column.role is Role.IDENTIFIER
        columns.append(replace(column, from_data=()) if known else _looked_up(table, column))
    return replace(table, card=replace(table.card, columns=tuple(columns)))


def _looked_up(table: Table, column: Column) -> Column:
    """The column with its values, if they are few and can be listed, else with the least and the largest of them."""
    value: exp.Expr = sql.column(column.name)
    if column.kind in _LISTED:
        known = table.query(sql.named(value.copy(), "v")).where(value.copy().is_(exp.null()).not_())
        values: list[Any] = table.engine.fetch(known.distinct().limit(_FEW + 1)).column(0).to_pylist()
        if 0 < len(values) <= _FEW:
            return replace(column, categories=tuple(sorted(values)))
    if column.kind not in _BOUNDED:
        return column
    if column.kind is Kind.REAL:
        ends = {"low": sql.literal(-_LARGEST), "high": sql.literal(_LARGEST)}
        value = exp.case().when(exp.Between(this=value.copy(), **ends), value)
    extremes = [sql.named(exp.Min(this=value), "low"), sql.named(exp.Max(this=value.copy()), "high")]
    low, high = table.engine.fetch(table.query(*extremes)).to_pylist()[0].values()
    if low is None:
        return column
    return replace(column, bounds=(low, high)) if low < high else replace(column, categories=(low,))
