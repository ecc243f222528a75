"""The bounded twin of a table, cut once: what a card promises of every unit, made true.

Why this is private. An answer's noise is measured by how much one unit can change, so the table that is asked must
keep its card's promises whatever the data is: at most ``rows_per_unit`` rows of a unit, and every value within its
declared bounds. Each step here works on one unit at a time and looks at no other:

* a row without a unit, or with one that cannot be, or without a value that is required, is dropped by itself;
* of a unit's rows those are kept that come first by a hash of the row, and by the row itself where hashes are
  equal. Rows that tie in both are the same, so the choice hangs on the unit's rows alone: not on their order, and
  on nobody else's. ``fewest.py`` finds the same rows faster;
* a value of a row that is kept is clamped, or becomes NULL, by itself.

So adding or removing a unit adds or removes its own rows in the twin, and changes no other: what is private for
units of the twin is private for units of the table, at the same loss (a transformation of stability 1; McSherry
2009). Cutting once, and not in every question, changes nothing in this argument: the twin is never shown.

Numbers become 64 bits wide: sums of narrow ones could overflow on somebody's row.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.curator.fewest import ANY_ORDER, Cut
from discreet.engines.duckdb import DuckDB
from discreet.errors import NotDeclared

_WIDE = (Kind.INTEGER, Kind.REAL)


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
    names = [column.name for column in card.columns]
    whole = table.query(*map(sql.column, names))
    for column in card.columns:
        if column.name == card.unit:
            whole = whole.where(_possible(column, dialect, within=True))
        elif column.required:
            whole = whole.where(_possible(column, dialect, within=False))
    rows: exp.Query = whole
    if card.unit is not None and card.rows_per_unit is not None:
        rows = Cut(whole, names, card.unit, card.rows_per_unit).first_rows(table.engine)
    kept = [sql.named(_wide(column, _kept(column, card, dialect)), column.name) for column in card.columns]
    return Table(card, table.engine, exp.select(*kept).from_(rows.subquery("w")))


def write_parquet(table: Table, path: Path) -> None:
    """Write the rows of a table on DuckDB to a new file, in any order.

    Columns with many values are not tried as dictionaries for long: it takes time, and saves no room.
    """
    assert isinstance(table.engine, DuckDB)  # noqa: S101  # the only engine that opens files
    rows, place = table.relation.sql("duckdb"), sql.text(str(path), "duckdb")
    table.engine.run(f"{ANY_ORDER}; COPY ({rows}) TO {place} (FORMAT parquet, DICTIONARY_SIZE_LIMIT 4096)")


def _kept(column: Column, card: Card, dialect: str) -> exp.Expr:
    """A value of the column as far as the card allows it; that of a unit is allowed, or its row is not here."""
    value = sql.column(column.name)
    if column.name == card.unit:
        return value
    kept = exp.case()
    if not column.required and (nowhere := _not_a_number(column, dialect)):
        kept = kept.when(nowhere, exp.null())
    if column.bounds is not None:
        low, high = map(sql.literal, column.bounds)
        kept = kept.when(exp.LT(this=value.copy(), expression=low), low.copy())
        kept = kept.when(exp.GT(this=value.copy(), expression=high), high.copy())
    elif column.categories is not None and not column.required:
        return kept.when(_among(column), value)
    return kept.else_(value) if kept.args.get("ifs") else value


def _wide(column: Column, value: exp.Expr) -> exp.Expr:
    return exp.cast(value, sql.sql_type(column.kind)) if column.kind in _WIDE else value


def _possible(column: Column, dialect: str, *, within: bool) -> exp.Expr:
    """Whether a row has a value, and one that can be. A unit is never clamped: that would make two of them one."""
    value = sql.column(column.name)
    said: list[exp.Expr] = [value.is_(exp.null()).not_()]
    if nowhere := _not_a_number(column, dialect):
        said.append(exp.not_(nowhere))
    if column.bounds is not None and within:
        low, high = map(sql.literal, column.bounds)
        said.append(exp.Between(this=value.copy(), low=low, high=high))
    if column.categories is not None:
        said.append(_among(column))
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
