"""The bounded table, cut once from a table: what its card promises of every unit, made true.

Why this is private. An answer's noise is measured by how much one unit can change, so the table that is asked must
keep its card's promises whatever the data is: at most ``rows_per_unit`` rows of a unit, and every value within its
declared bounds. Each step here works on one unit at a time and looks at no other:

* a row without a unit, or with one that cannot be, or without a value that is required, is dropped by itself;
* of a unit's rows those are kept that come first by a hash of the row, and by the row itself where hashes are
  equal. Rows that tie in both are the same, so the choice depends on the unit's rows alone: not on their order, and
  on no one else's. ``Cut`` finds the same rows faster;
* a value of a row that is kept is clamped, cut off or becomes NULL, by itself. What no answer could show or compute
  with (NaN, days outside the years 1 to 9999, decimals of more than 38 digits) is NULL, so that no one's value is an
  error later; and -0.0 is 0.0, so that no one's sign shows in a group of equal values.

So adding or removing a unit adds or removes its own rows in the bounded table, and changes no other: what is private
for units of the bounded table is private for units of the table, at the same loss (a transformation of stability 1;
McSherry 2009). Cutting once, and not in every question, changes nothing in this argument: the bounded table is never
shown.

Numbers become 64 bits wide: sums of narrow ones could overflow on someone's row. Moments become microseconds.

Why the fast way keeps the same rows. With h the hash of a row, and ``last`` the n-th smallest h of a unit, the first
n rows all have h <= last. If the (n+1)-th smallest is larger than ``last``, no other row has: so h <= last is the
choice itself. If it is equal (a row is there twice, or two hashes collide), the unit is tied, and its rows with
h <= last are put in order as the definition says. A unit with fewer than n rows has no ``last`` and keeps all.
Finding the smallest h takes no sorting, and ordering nearly no rows: that is what makes it fast.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.errors import DataError, EngineError, NotDeclared

_WIDE = (Kind.INTEGER, Kind.REAL)
_DIGITS = 38
_NARROW = {"BIGINT", "INTEGER", "SMALLINT", "TINYINT", "UINTEGER", "USMALLINT", "UTINYINT"}
"""DuckDB's types of whole numbers that fit 64 bits with a sign."""


def bounded_card(card: Card) -> Card:
    """The card of the bounded table: without identifiers (but the unit) and hierarchies, and with all it needs."""
    if card.from_data:
        raise NotDeclared(
            f"The card of {card.name} has fields taken from the data: {', '.join(card.from_data)}.",
            hint="Declare them from public knowledge, and remove from_data from the card.",
        )
    if card.unit is not None and card.rows_per_unit is None:
        raise NotDeclared(
            f"The card of {card.name} does not declare how many rows one {card.unit} may have.",
            hint="Declare rows_per_unit; at most that many rows of each unit are kept.",
        )
    if card.unit is not None and card[card.unit].kind is Kind.TIMESTAMP:
        raise NotDeclared(f"The unit {card.unit} of {card.name} is a timestamp, which two people can share.")
    kept = [c for c in card.columns if c.role is not Role.IDENTIFIER or c.name == card.unit]
    if not [c for c in kept if c.name != card.unit]:
        raise NotDeclared(f"Every column of {card.name} is an identifier: there is nothing to ask about.")
    return replace(card, columns=tuple(replace(column, hierarchy=None) for column in kept))


def bounded(table: Table) -> Table:
    """The rows of the bounded table, as a query on the table's own engine."""
    table = _in_plain_text(table)
    card, source = bounded_card(table.card), _Source(table.schema, table.engine.dialect)
    names = [column.name for column in card.columns]
    whole = table.query(*map(sql.column, names))
    for column in card.columns:
        if column.name == card.unit:
            whole = whole.where(_possible(column, source, within=True))
        elif column.required:
            whole = whole.where(_possible(column, source, within=False))
    rows: exp.Query = whole
    if card.unit is not None and card.rows_per_unit is not None:
        rows = Cut(whole, names, card.unit, card.rows_per_unit).first_rows(table.engine)
    kept = [sql.named(source.wide(column, _kept(column, card, source)), column.name) for column in card.columns]
    return Table(card, table.engine, exp.select(*kept).from_(rows.subquery("w")))


def _in_plain_text(table: Table) -> Table:
    """The rows with every text as it is printed, so that texts are equal only if they are the same.

    A database may hold different texts for equal (a collation that knows no capitals, an interval, JSON). Which of them
    stands for all in a group, and whose rows are cut together, would follow from someone else's row. Nothing of that
    kind comes out of a file.
    """
    if isinstance(table.engine, DuckDB):
        return table
    shown: list[exp.Expr] = []
    for column in table.card.columns:
        value: exp.Expr = sql.column(column.name)
        shown.append(
            sql.named(sql.plain_text(value, table.engine.dialect) if column.kind is Kind.TEXT else value, column.name)
        )
    return replace(table, relation=table.query(*shown))


def write_parquet(table: Table, path: Path) -> None:
    """Write the rows of a table on DuckDB to a new file, in any order.

    Columns with many values are not tried as dictionaries for long: it takes time, and saves no room.
    """
    assert isinstance(table.engine, DuckDB)  # noqa: S101  # the only engine that opens files
    rows, place = table.relation.sql("duckdb"), sql.text(str(path), "duckdb")
    table.engine.run(f"{ANY_ORDER}; COPY ({rows}) TO {place} (FORMAT parquet, DICTIONARY_SIZE_LIMIT 4096)")


def require_narrow(table: Table) -> None:
    """An error if a column of a table on DuckDB has whole numbers of more than 64 bits that nothing moves to a bound.

    They would be NULL elsewhere; here they are mostly someone's number, and two people would become one.
    """
    for column in bounded_card(table.card).columns:
        if column.kind is Kind.INTEGER and column.bounds is None and column.categories is None:
            value = sql.column(column.name)
            type_ = table.query(sql.named(exp.Anonymous(this="typeof", expressions=[value.copy()]), "type")).limit(1)
            if set(table.engine.fetch(type_).column(0).to_pylist()) <= _NARROW:
                continue
            narrow = exp.TryCast(this=value.copy(), to=sql.sql_type(Kind.INTEGER))
            wide = exp.and_(value.is_(exp.null()).not_(), narrow.is_(exp.null()))
            found = table.engine.fetch(table.query(sql.named(sql.count_if(wide), "n"))).column(0)[0].as_py()
            if found:
                raise DataError(
                    f"{found:,} values of {column.name} are whole numbers that do not fit 64 bits with a sign.",
                    hint="Read the column as text if it is a code; otherwise declare its bounds.",
                )


@dataclass(frozen=True)
class _Source:
    """What the engine says of the columns."""

    schema: pa.Schema
    dialect: str

    def zoned(self, column: Column) -> bool:
        """Whether moments have a time zone."""
        return getattr(self.schema.field(column.name).type, "tz", None) is not None

    def value(self, column: Column) -> exp.Expr:
        """The column; moments in microseconds, since finer ones cannot be compared with every bound."""
        value = sql.column(column.name)
        if column.kind is not Kind.TIMESTAMP:
            return value
        return exp.cast(value, sql.sql_type(column.kind, zoned=self.zoned(column)))

    def wide(self, column: Column, value: exp.Expr) -> exp.Expr:
        """A value that is kept, in the one type that its kind has; PostgreSQL knows decimals of any length."""
        if column.kind in _WIDE:
            return exp.cast(value, sql.sql_type(column.kind))
        if column.kind is Kind.DECIMAL and self.dialect == "postgres":
            return exp.cast(value, sql.sql_type(column.kind, scale=self.schema.field(column.name).type.scale))
        return value


def _kept(column: Column, card: Card, source: _Source) -> exp.Expr:
    """A value of the column as far as the card allows it; that of a unit is allowed, or its row is not here."""
    value = source.value(column)
    if column.name == card.unit:
        return value
    shown = value
    if column.kind is Kind.REAL:  # 0.0 and -0.0 are equal: which of them a group shows would follow from one row
        shown = exp.paren(value.copy() + sql.literal(0.0))
    kept = exp.case()
    if not column.required and (nowhere := _nowhere(column, source)):
        kept = kept.when(nowhere, exp.null())
    if column.bounds is not None:
        low, high = map(sql.literal, column.bounds)
        kept = kept.when(exp.LT(this=value.copy(), expression=low), low.copy())
        kept = kept.when(exp.GT(this=value.copy(), expression=high), high.copy())
    elif column.categories is not None:
        return shown if column.required else kept.when(_among(column), shown)
    elif column.kind is Kind.TEXT:
        return exp.Substring(this=value, start=sql.literal(1), length=sql.literal(column.characters))
    return kept.else_(shown) if kept.args.get("ifs") else shown


def _possible(column: Column, source: _Source, *, within: bool) -> exp.Expr:
    """Whether a row has a value, and one that can be. A unit (``within`` its bounds) is never clamped, cut off or
    rounded: that would make two of them one."""
    value = source.value(column)
    said: list[exp.Expr] = [value.is_(exp.null()).not_()]
    if nowhere := _nowhere(column, source):
        said.append(exp.not_(nowhere))
    if column.kind is Kind.TEXT and column.categories is None and within:
        said.append(exp.LTE(this=exp.Length(this=value.copy()), expression=sql.literal(column.characters)))
    if column.bounds is not None and within:
        low, high = map(sql.literal, column.bounds)
        said.append(exp.Between(this=value.copy(), low=low, high=high))
    if column.kind is Kind.DECIMAL and source.dialect == "postgres" and within:  # more digits would be rounded off
        digits = sql.literal(source.schema.field(column.name).type.scale)
        said.append(exp.EQ(this=value.copy(), expression=exp.Round(this=value.copy(), decimals=digits)))
    if column.categories is not None:
        said.append(_among(column))
    if within and column.kind is Kind.DECIMAL:  # one with more digits than are kept would become another
        said.append(exp.EQ(this=value.copy(), expression=source.wide(column, value.copy())))
    return exp.and_(*said)


def _among(column: Column) -> exp.Expr:
    return exp.In(this=sql.column(column.name), expressions=[sql.literal(one) for one in column.categories or ()])


def _nowhere(column: Column, source: _Source) -> exp.Expr | None:
    """Whether a value can be shown by no answer; NaN is equal to itself and above everything else on every engine."""
    value = source.value(column)
    if column.kind is Kind.REAL:
        return exp.EQ(this=value, expression=exp.cast(sql.literal("NaN"), exp.DType.DOUBLE))
    if column.kind is Kind.DECIMAL and source.dialect == "postgres" and column.bounds is not None:
        return exp.EQ(this=value, expression=exp.cast(sql.literal("NaN"), "DECIMAL"))
    if column.bounds is not None:
        return None  # what lies beyond them is moved to them
    if column.kind is Kind.DECIMAL and source.dialect == "postgres":
        most = 10 ** (_DIGITS - source.schema.field(column.name).type.scale) - 1
        low, high = (sql.literal(Decimal(end)) for end in (-most, most))
        return exp.not_(exp.Between(this=value, low=low, high=high))
    if column.kind is Kind.DATE:
        return _outside(value, dt.date.min, dt.date.max)
    if column.kind is Kind.TIMESTAMP:
        zone = dt.UTC if source.zoned(column) else None
        return _outside(value, dt.datetime.min.replace(tzinfo=zone), dt.datetime.max.replace(tzinfo=zone))
    return None


def _outside(value: exp.Expr, first: dt.date, last: dt.date) -> exp.Expr:
    return exp.not_(exp.Between(this=value, low=sql.literal(first), high=sql.literal(last)))


# -- which rows of a unit are kept

ANY_ORDER = "SET preserve_insertion_order = false"
"""For a statement of DuckDB's after it: rows need not come out in the order they are read in."""
_PLACE, _HASH, _UNIT = "discreet_place", "discreet_hash", "discreet_unit"
_SMALLEST, _LAST, _TIED = "discreet_smallest", "discreet_last", "discreet_tied"
_NO_LAST = 2**63 - 1  # no hash is larger
_MOST = 16  # the smallest hashes of all units are in memory at once
_DENSE = "SET perfect_ht_threshold = 20"  # units that are numbered up to a million are found by their number


@dataclass(frozen=True)
class Cut:
    """At most this number of rows of every unit, with these columns."""

    rows: exp.Select
    names: list[str]
    unit: str
    most: int

    def first_rows(self, engine: Engine) -> exp.Query:
        """The rows that are kept, as a query for the named columns.

        Inside they are numbered: a table may have a column that is called like one of those that are worked out here.
        """
        inside = {name: f"c{place}" for place, name in enumerate(self.names)}
        rows = exp.select(*(sql.named(sql.column(name), called) for name, called in inside.items()))
        numbered = Cut(rows.from_(self.rows.subquery("n")), list(inside.values()), inside[self.unit], self.most)
        kept = exp.select(*(sql.named(sql.column(called), name) for name, called in inside.items()))
        return kept.from_(numbered._first_rows(engine).subquery("k"))

    def _first_rows(self, engine: Engine) -> exp.Query:
        hashed = sql.scrambled(self._columns, engine.dialect)
        if isinstance(engine, DuckDB):
            half = exp.BitwiseRightShift(this=hashed, expression=sql.literal(1))  # 63 bits are compared faster
            hashed = exp.cast(exp.paren(half), exp.DType.BIGINT)
            if self.most <= _MOST:
                try:
                    return self._found(hashed, engine)
                except EngineError:  # there are too many units for its memory; sorting can do with less
                    pass
        return self._ordered(self.rows, hashed)

    def _ordered(self, rows: exp.Query, hashed: exp.Expr) -> exp.Select:
        """By the definition."""
        others = [sql.column(name) for name in self.names if name != self.unit]
        place = exp.Window(
            this=exp.RowNumber(),
            partition_by=[sql.column(self.unit)],
            order=exp.Order(expressions=[exp.Ordered(this=by) for by in (hashed, *others)]),
        )
        placed = exp.select(*self._columns, sql.named(place, _PLACE)).from_(rows.subquery("r"))
        return exp.select(*self._columns).from_(placed.subquery("p")).where(sql.column(_PLACE) <= self.most)

    def _found(self, signed: exp.Expr, engine: DuckDB) -> exp.Query:
        """Without sorting. The smallest hashes are found here and now, the rows when the query is run."""
        least = sql.table(engine.new_name("discreet least"))
        found = self._least(signed)
        engine.run(f"{ANY_ORDER}; {_DENSE}; CREATE TABLE {least.sql('duckdb')} AS {found.sql('duckdb')}")
        with_hash = exp.select(*self._columns, sql.named(signed, _HASH)).from_(self.rows.subquery("r"))
        first = (
            exp.select(*self._columns, sql.column(_HASH))
            .from_(with_hash.subquery("h"))
            .join(least.copy(), on=sql.column(self.unit).eq(sql.column(_UNIT)))
            .where(sql.column(_HASH) <= sql.column(_LAST))
        )
        tied = exp.select(sql.count_rows()).from_(least).where(sql.column(_TIED))
        if not engine.fetch(tied).column(0)[0].as_py():
            return exp.select(*self._columns).from_(first.subquery("f"))
        settled = exp.select(*self._columns).from_(first.where(exp.not_(sql.column(_TIED))).subquery("f"))
        ordered = self._ordered(first.where(sql.column(_TIED)), sql.column(_HASH))
        return exp.union(settled, ordered, distinct=False)

    def _least(self, signed: exp.Expr) -> exp.Select:
        """For every unit the last hash that is kept, and whether another row has the same."""
        smallest = exp.Anonymous(this="min", expressions=[signed, sql.literal(self.most + 1)])
        whose = sql.column(self.unit)
        found = exp.select(sql.named(whose, _UNIT), sql.named(smallest, _SMALLEST)).from_(self.rows.subquery("r"))
        last, next_ = (
            exp.Anonymous(this="list_extract", expressions=[sql.column(_SMALLEST), sql.literal(place)])
            for place in (self.most, self.most + 1)
        )
        return exp.select(
            sql.column(_UNIT),
            sql.named(exp.Coalesce(this=last, expressions=[sql.literal(_NO_LAST)]), _LAST),
            sql.named(exp.Coalesce(this=last.eq(next_), expressions=[exp.false()]), _TIED),
        ).from_(found.group_by(whose.copy()).subquery("g"))

    @property
    def _columns(self) -> list[exp.Expr]:
        return [sql.column(name) for name in self.names]
