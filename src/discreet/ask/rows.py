"""The rows a query is about, and what is known of them without looking. Every row stays its unit's.

Inside, columns are called ``c0``, ``c1`` and so on, whatever the card and the question call them: a name of the
question's choosing, ``AGE`` beside ``age`` or one like the unit's, could make an engine take one column for another,
and then the bounds of the one would be believed of the other.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from discreet.ask.columns import Columns, Known
from discreet.ask.scalar import scalar
from discreet.ask.value import NUMBERS, Interval, Value
from discreet.core import sql
from discreet.core.card import Column, Scalar
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.errors import BadQuery, NotDeclared

UNIT = "discreet_unit"
_FEW = 1000  # fewer whole numbers between bounds than this are categories


@dataclass(frozen=True)
class Unit:
    """Whose rows they are. Tables whose units have the same name and kind are about the same people."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class Rows:
    """A query for rows, what is known of its columns, and how many rows one unit may have in it."""

    query: exp.Query
    columns: Columns
    most: int
    """The most rows of one unit: the promise that the bounded table keeps."""
    unit: Unit | None
    """If there is one, the query has a column `UNIT` that says whose row it is."""
    sources: frozenset[str]
    """The private tables the rows come from; none: they are public."""
    engine: Engine
    public: frozenset[str] = frozenset()
    """The public tables the rows come from."""
    groups_per_unit: int | None = None
    """In how many groups a unit is to count, by the cards."""
    cut: int | None = None
    """In how many groups of the question a unit's rows are, if they were cut down to so many."""
    reads: int = 1
    """How many tables are read for them, each as often as it is read."""

    @property
    def groups(self) -> int:
        """The most groups that a unit can have rows in."""
        return self.most if self.cut is None else min(self.cut, self.most)

    @property
    def units(self) -> exp.Expr:
        """How many units there are among rows; without a unit all rows are counted, those of the same person too."""
        if self.unit is None:
            return sql.count_rows()
        return exp.Count(this=exp.Distinct(expressions=[sql.column(UNIT)]))

    @property
    def alone(self) -> int:
        """The most that ``units`` can count in a group of one unit's rows."""
        return self.most if self.unit is None else 1

    def filtered(self, condition: exp.Expr, clause: str) -> Rows:
        """The rows for which a condition of the question holds."""
        value = scalar(condition, self.columns)
        if value.kind is not Kind.BOOLEAN:
            raise BadQuery(f"{clause} takes a condition; {condition.sql()} is {value.kind.value}.")
        all_ = exp.select(exp.Star(), copy=False).from_(self.query.subquery("r"), copy=False)
        return replace(self, query=all_.where(value.sql.copy(), copy=False))

    def showing(self, shown: Iterable[tuple[str, Value]]) -> Rows:
        """The same rows with these columns; the unit stays, named or not."""
        projected: list[exp.Expr] = []
        columns: list[Known] = []
        for name, value in shown:
            if name.casefold() in {one.name.casefold() for one in columns}:
                raise BadQuery(f"Two columns are called {name!r}.")
            kept = value
            if not is_unit(value):
                projected.append(sql.named(value.sql.copy(), inside(len(projected))))
                kept = at(value, inside(len(projected) - 1))
            columns.append(Known(name, kept))
        if self.unit is not None:
            projected.append(sql.column(UNIT))
        query = exp.select(*projected, copy=False).from_(self.query.subquery("r"), copy=False)
        return replace(self, query=query, columns=Columns(columns))


def table_rows(table: Table, name: str = "") -> Rows:
    """The rows of a table that keeps to its card; ``name`` is what a question calls it."""
    card = table.card
    if card.unit is not None and card.rows_per_unit is None:
        raise NotDeclared(
            f"The card of {card.name} does not say how many rows a unit may have.", hint="Declare rows_per_unit."
        )
    shown: list[exp.Expr] = []
    columns: list[Known] = []
    for place, column in enumerate(card.columns):
        called = UNIT if column.name == card.unit else inside(place)
        shown.append(sql.named(sql.column(column.name), called))
        columns.append(Known(column.name, _declared(column, called), name or card.name))
    source = frozenset({card.name})
    return Rows(
        table.query(*shown),
        Columns(columns),
        card.rows_per_unit or 1,
        None if card.unit is None else Unit(card.unit.casefold(), card[card.unit].kind),
        frozenset() if card.public else source,
        table.engine,
        source if card.public else frozenset(),
        card.groups_per_unit,
    )


def together(one: Rows, other: Rows, query: exp.Query, columns: Iterable[Known], most: int) -> Rows:
    """Rows made of the rows of both, by a query on the place where both are."""
    owner = one if one.sources else other
    declared = [rows.groups_per_unit for rows in (one, other) if rows.groups_per_unit is not None]
    return Rows(
        query,
        Columns(columns),
        most,
        owner.unit,
        one.sources | other.sources,
        one.engine,
        one.public | other.public,
        min(declared, default=None),
        reads=one.reads + other.reads,
    )


def require_same_place(one: Rows, other: Rows) -> None:
    """An error if no engine has both."""
    if one.engine is not other.engine:
        names = sorted(one.sources | other.sources | one.public | other.public)
        raise BadQuery(
            f"{' and '.join(names)} lie in different places, and no query can see both.",
            hint="Register them all from files, or all from one database.",
        )


def is_unit(value: Value) -> bool:
    """Whether a value is the unit itself, and not only a column of that name."""
    return bool(value.sql == sql.column(UNIT))


def at(value: Value, name: str) -> Value:
    """What is known of a value, of the column it was put into."""
    return replace(value, sql=sql.column(name))


def inside(place: int) -> str:
    """What a column is called inside."""
    return f"c{place}"


def whole_domain(within: Interval) -> tuple[Scalar, ...] | None:
    """All whole numbers between two, if they are few."""
    return tuple(range(int(within[0]), int(within[1]) + 1)) if within[1] - within[0] < _FEW else None


def _declared(column: Column, called: str) -> Value:
    within = None
    declared = column.bounds or column.categories
    if declared is not None and column.kind in NUMBERS:
        numbers = [Fraction(float(end)) if column.kind is Kind.REAL else Fraction(end) for end in declared]  # type: ignore[arg-type]
        within = (min(numbers), max(numbers))
    if declared is not None and column.kind in (Kind.DATE, Kind.TIMESTAMP):
        days = [_day(end) for end in declared]
        within = (min(days), max(days))
    domain = column.categories
    if domain is None and column.kind is Kind.BOOLEAN:
        domain = (False, True)
    if domain is None and within is not None and column.kind is Kind.INTEGER:
        domain = whole_domain(within)
    return Value(sql.column(called), column.kind, within, domain, column.name, column.required, column.characters)


def _day(moment: Scalar) -> Fraction:
    assert isinstance(moment, dt.date)  # noqa: S101  # the card allows no other end
    zoned = isinstance(moment, dt.datetime) and moment.tzinfo is not None
    return Fraction((moment.astimezone(dt.UTC) if zoned else moment).toordinal())  # type: ignore[attr-defined]
