"""The bounded twin of a table, cut once: what a card promises of every unit, made true.

Why this is private. An answer's noise is measured by how much one unit can change, so the table that is asked must
keep its card's promises whatever the data is: at most ``rows_per_unit`` rows of a unit, and every value within its
declared bounds. Each step here works on one unit at a time and looks at no other:

* a value is clamped, or becomes NULL, by itself;
* a row without a unit, or with one that cannot be, is dropped by itself;
* of a unit's rows those are kept that come first by a hash of the row, and by the row itself where hashes are
  equal. Rows that tie in both are the same, so the choice hangs on the unit's rows alone: not on their order, and
  on nobody else's.

So adding or removing a unit adds or removes its own rows in the twin, and changes no other: what is private for
units of the twin is private for units of the table, at the same loss (a transformation of stability 1; McSherry
2009). Cutting once, and not in every question, changes nothing in this argument: the twin is never shown.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.errors import NotDeclared

_PLACE = "discreet_place"


def bounded_card(card: Card) -> Card:
    """The card of the twin: without identifiers (but the unit) and hierarchies. What it needs must be declared."""
    if card.from_data:
        raise NotDeclared(
            f"The card of {card.name} has what was read off the data: {', '.join(card.from_data)}.",
            hint="Declare it from what is known without looking, and take from_data off the card.",
        )
    if card.unit is not None and card.rows_per_unit is None:
        raise NotDeclared(
            f"The card of {card.name} does not say how many rows a {card.unit} may have.",
            hint="Declare rows_per_unit; of a unit with more rows, only so many count.",
        )
    kept = [c for c in card.columns if c.role is not Role.IDENTIFIER or c.name == card.unit]
    if not [c for c in kept if c.name != card.unit]:
        raise NotDeclared(f"Every column of {card.name} is an identifier: there is nothing to ask about.")
    return replace(card, columns=tuple(replace(column, hierarchy=None) for column in kept))


def bounded(table: Table) -> Table:
    """The rows of the twin, as a query on the table's own engine."""
    card, dialect = bounded_card(table.card), table.engine.dialect
    kept = [sql.named(_kept(column, dialect), column.name) for column in card.columns if column.name != card.unit]
    if card.unit is None:
        return Table(card, table.engine, table.query(*kept))
    whose = _possible(card[card.unit], dialect)
    within = table.query(sql.column(card.unit), *kept).where(whose)
    names = [column.name for column in card.columns]
    others = [sql.column(name) for name in names if name != card.unit]
    place = exp.Window(
        this=exp.RowNumber(),
        partition_by=[sql.column(card.unit)],
        order=exp.Order(expressions=[exp.Ordered(this=by) for by in (_hash(names, dialect), *others)]),
    )
    placed = exp.select(*map(sql.column, names), sql.named(place, _PLACE)).from_(within.subquery("w"))
    few = exp.select(*map(sql.column, names)).from_(placed.subquery("p"))
    return Table(card, table.engine, few.where(sql.column(_PLACE) <= card.rows_per_unit))


def write_parquet(table: Table, path: Path) -> None:
    """Write the rows of a table on DuckDB to a new file."""
    assert isinstance(table.engine, DuckDB)  # noqa: S101  # the only engine that opens files
    rows, place = table.relation.sql("duckdb"), sql.text(str(path), "duckdb")
    table.engine.run(f"COPY ({rows}) TO {place} (FORMAT parquet)")


def _kept(column: Column, dialect: str) -> exp.Expr:
    """A value of the column as far as the card allows it."""
    value = sql.column(column.name)
    kept = exp.case()
    if nowhere := _not_a_number(column, dialect):
        kept = kept.when(nowhere, exp.null())
    if column.bounds is not None:
        low, high = map(sql.literal, column.bounds)
        kept = kept.when(exp.LT(this=value.copy(), expression=low), low.copy())
        kept = kept.when(exp.GT(this=value.copy(), expression=high), high.copy())
    elif column.categories is not None:
        return kept.when(_among(column), value)
    return kept.else_(value) if kept.args.get("ifs") else value


def _possible(unit: Column, dialect: str) -> exp.Expr:
    """Whether a row has a unit, and one that can be. A unit is never clamped: that would make two of them one."""
    value = sql.column(unit.name)
    said: list[exp.Expr] = [value.is_(exp.null()).not_()]
    if nowhere := _not_a_number(unit, dialect):
        said.append(exp.not_(nowhere))
    if unit.bounds is not None:
        low, high = map(sql.literal, unit.bounds)
        said.append(exp.Between(this=value.copy(), low=low, high=high))
    if unit.categories is not None:
        said.append(_among(unit))
    return exp.and_(*said)


def _among(column: Column) -> exp.Expr:
    return exp.In(this=sql.column(column.name), expressions=[sql.literal(one) for one in column.categories or ()])


def _not_a_number(column: Column, dialect: str) -> exp.Expr | None:
    """Whether a value is NaN, which all three engines hold equal to itself and above everything else."""
    if column.kind is Kind.REAL:
        to = exp.DataType.build("DOUBLE")
    elif column.kind is Kind.DECIMAL and dialect == "postgres":
        to = exp.DataType.build("DECIMAL")
    else:
        return None
    return exp.EQ(this=sql.column(column.name), expression=exp.cast(sql.literal("NaN"), to))


def _hash(names: list[str], dialect: str) -> exp.Expr:
    """A number or text that looks unlike the row. DuckDB's own hash is the fastest there; MD5 is everywhere."""
    columns = [sql.column(name) for name in names]
    if dialect == "duckdb":
        return exp.Anonymous(this="hash", expressions=columns)
    text: exp.Expr = sql.literal("")
    for column in columns:
        shown = exp.Coalesce(this=exp.cast(column, exp.DType.TEXT), expressions=[sql.literal("")])
        text = exp.DPipe(
            this=exp.DPipe(this=text, expression=sql.literal("|"), safe=False), expression=shown, safe=False
        )
    return exp.MD5(this=text)
