"""The rows a query is about, what is known of them without looking, and the keys they are grouped by.

What is known is a proposal: privacy rests on ``engines/contribution``, which makes the queries.

Inside, columns are called ``c0``, ``c1`` and so on, whatever the card and the question call them: a name of the
question's choosing, ``AGE`` beside ``age`` or one like the unit's, could make an engine take one column for another,
and then the bounds of the one would be believed of the other.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count

from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Column
from discreet.core.engine import Engine
from discreet.core.kind import MOMENTS, NUMBERS, Kind, Scalar
from discreet.core.table import Table
from discreet.engines.contribution import UNIT, OwnedRows, Unit, numbered, owned_rows
from discreet.errors import BadQuery
from discreet.verbs.ask.scalar import scalar
from discreet.verbs.ask.value import SPELLED, Columns, Interval, Known, Value

_HIDDEN = "discreet_computed"
_FEW = 1000  # fewer whole numbers between bounds than this are categories


@dataclass(frozen=True)
class Rows:
    """Rows that each belong to one unit, and what is known of their columns."""

    owned: OwnedRows
    columns: Columns
    engine: Engine
    public: frozenset[str] = frozenset()
    """The public tables the rows come from."""
    groups_per_unit: int | None = None
    """In how many groups a unit is to count, by the cards."""
    reads: int = 1
    """How many tables are read for them, each as often as it is read."""
    table: tuple[OwnedRows, int] | None = None
    """All rows of a table, if its card says how many there are at least."""

    @property
    def at_least(self) -> int | None:
        """How many rows there are at least, if these are all of a table that says so."""
        return self.table[1] if self.table is not None and self.table[0] is self.owned else None

    @property
    def query(self) -> exp.Query:
        """The query for the rows."""
        return self.owned.query

    @property
    def most(self) -> int:
        """The most rows of one unit."""
        return self.owned.most

    @property
    def unit(self) -> Unit | None:
        """Whose rows they are; ``None``: each row is a person's own."""
        return self.owned.unit

    @property
    def sources(self) -> frozenset[str]:
        """The private tables the rows come from; none: they are public."""
        return self.owned.sources

    def filtered(self, condition: exp.Expr, clause: str) -> Rows:
        """The rows for which a condition of the question holds."""
        value = scalar(condition, self.columns)
        if value.kind is not Kind.BOOLEAN:
            raise BadQuery(f"{clause} takes a condition; {condition.sql()} is {value.kind.value}.")
        return replace(self, owned=self.owned.where(value.sql))

    def with_hidden(self, called: str, value: Value) -> Rows:
        """The rows with a column that a question names only by ``hidden``."""
        return replace(self, columns=Columns((*self.columns.known, Known(called, value, _HIDDEN, bare=False))))

    def showing(self, shown: Iterable[tuple[str, Value]]) -> Rows:
        """The same rows with these columns; the unit stays, named or not."""
        projected: dict[str, exp.Expr] = {}
        columns: list[Known] = []
        for name, value in shown:
            if name.casefold() in {one.name.casefold() for one in columns}:
                raise BadQuery(f"Two columns are called {name!r}.")
            kept = value
            if not is_unit(value):
                called = numbered(len(projected))
                projected[called] = value.sql
                kept = at(value, called)
            columns.append(Known(name, kept))
        return replace(self, owned=self.owned.select(projected), columns=Columns(columns))


def hidden(called: str, node: exp.Expr) -> exp.Column:
    """A column that stands in a question for ``node``, which was worked out before, such as a window."""
    column = exp.column(called, table=_HIDDEN, quoted=True)
    column.meta[SPELLED] = node.sql(dialect="duckdb")
    return column


def free_name(names: Sequence[str]) -> str:
    """A name for one more column."""
    return next(name for name in map(numbered, count(len(names))) if name not in names)


def table_rows(table: Table, name: str = "") -> Rows:
    """The rows of a table that keeps to its card; ``name`` is what a question calls it."""
    card = table.card
    columns = []
    for place, column in enumerate(card.columns):
        called = UNIT if column.name == card.unit else numbered(place)
        columns.append(Known(column.name, _declared(column, called), name or card.name))
    public = frozenset({card.name}) if card.public else frozenset()
    owned = owned_rows(table)
    all_ = None if card.at_least is None else (owned, card.at_least)
    return Rows(owned, Columns(columns), table.engine, public, card.groups_per_unit, table=all_)


def together(one: Rows, other: Rows, owned: OwnedRows, columns: Iterable[Known]) -> Rows:
    """Rows made of the rows of both, on the place where both are."""
    declared = [rows.groups_per_unit for rows in (one, other) if rows.groups_per_unit is not None]
    return Rows(
        owned,
        Columns(columns),
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
            f"{' and '.join(names)} are in different databases, and no query can read both.",
            hint="Register them all from files, or all from one database.",
        )


def is_unit(value: Value) -> bool:
    """Whether a value is the unit itself, and not only a column of that name."""
    return bool(value.sql == sql.column(UNIT))


def at(value: Value, name: str) -> Value:
    """What is known of a value, of the column it was put into."""
    return replace(value, sql=sql.column(name))


def whole_domain(within: Interval) -> tuple[Scalar, ...] | None:
    """All whole numbers between two, if they are few."""
    return tuple(range(int(within[0]), int(within[1]) + 1)) if within[1] - within[0] < _FEW else None


def _declared(column: Column, called: str) -> Value:
    within = None
    declared = column.bounds or column.categories
    if declared is not None and column.kind in NUMBERS:
        numbers = [Fraction(float(end)) if column.kind is Kind.REAL else Fraction(end) for end in declared]  # type: ignore[arg-type]
        within = (min(numbers), max(numbers))
    if declared is not None and column.kind in MOMENTS:
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


def keys_of(select: exp.Select, columns: Columns) -> list[tuple[exp.Expr, Value]]:
    """The expressions of GROUP BY and their values; a number or a name may stand for a column of the answer."""
    group = select.args.get("group")
    if group is None:
        return []
    if group.args.get("all"):
        raise BadQuery("GROUP BY ALL is not supported.", hint="Name the columns: GROUP BY city, sex.")
    if any(value for key, value in group.args.items() if key != "expressions") or any(
        isinstance(one, exp.Rollup | exp.Cube | exp.GroupingSets) for one in group.expressions
    ):
        raise BadQuery(
            "A SELECT of rows is grouped by columns and expressions: ROLLUP, CUBE and GROUPING SETS are not supported.",
            hint="Use them in the outer SELECT, or write UNION ALL of several.",
        )
    aliases = {one.alias.casefold(): one.this for one in select.expressions if isinstance(one, exp.Alias)}
    found = []
    for given in group.expressions:
        node = given
        if isinstance(node, exp.Literal) and not node.is_string:
            place = position(node, len(select.expressions), "GROUP BY")
            node = select.expressions[place].unalias()
        elif isinstance(node, exp.Column) and not node.table and node.name not in columns:
            node = aliases.get(node.name.casefold(), node)
        value = scalar(node, columns)
        if node.find(exp.Column) is None:  # engines would take a number for the place of a column
            raise BadQuery(f"GROUP BY {node.sql()} makes one group only.", hint="Group by a column, or leave it out.")
        found.append((node, value))
    return found


def position(node: exp.Literal, columns: int, clause: str) -> int:
    """The column of the answer that a number stands for, counted from 0."""
    place = int(node.name) - 1 if node.name.isdigit() and len(node.name) < 9 else -1
    if not 0 <= place < columns:
        raise BadQuery(f"{clause} {node.name}: there is no such column in the answer.")
    return place
