"""The rows a query is about: a bounded table, or a row-wise SELECT of one. Every row stays its unit's.

Inside, columns are called ``c0``, ``c1`` and so on, whatever the card and the question call them: a name of the
question's choosing, ``AGE`` beside ``age`` or one like the unit's, could make an engine take one column for another,
and then the bounds of the one would be believed of the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.ask.scalar import scalar
from discreet.ask.value import NUMBERS, Value
from discreet.core import sql
from discreet.core.card import Column
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.errors import BadQuery, NotDeclared

UNIT = "discreet_unit"
_FEW = 1000  # fewer whole numbers between bounds than this are categories
_ROWWISE = {"expressions", "from_", "where", "with_", "kind", "hint"}


@dataclass(frozen=True)
class Rows:
    """A query for rows, what is known of its columns, and how many rows one unit may have in it."""

    query: exp.Query
    columns: Mapping[str, Value]
    most: int
    """The most rows of one unit: the promise that the bounded table keeps."""
    has_unit: bool
    """Whether the query has a column `UNIT` that says whose row it is; without, every row is a person's."""
    sources: frozenset[str]
    """The tables the rows come from."""

    @property
    def units(self) -> exp.Expr:
        """How many units there are among rows."""
        return exp.Count(this=exp.Distinct(expressions=[sql.column(UNIT)])) if self.has_unit else sql.count_rows()


def rows_of(select: exp.Select, tables: Mapping[str, Table]) -> Rows:
    """The rows in the FROM and WHERE of ``select``; names of WITH are resolved first."""
    known: dict[str, Rows] = {}
    for cte in (select.args.get("with_") or exp.With(expressions=[])).expressions:
        _require_plain(cte)
        known[cte.alias.lower()] = _rowwise(cte.this, tables, known)
    return _chosen(select, tables, known)


def _chosen(select: exp.Select, tables: Mapping[str, Table], known: Mapping[str, Rows]) -> Rows:
    source = select.args.get("from_")
    if source is None:
        raise BadQuery("A question needs a table to ask: SELECT … FROM table.")
    if select.args.get("joins"):
        raise BadQuery("Joins cannot be asked yet.", hint="Ask each table on its own.")
    return _filtered(_source(source.this, tables, known), select.args.get("where"))


def _source(node: exp.Expr, tables: Mapping[str, Table], known: Mapping[str, Rows]) -> Rows:
    if isinstance(node, exp.Subquery):
        _require_plain(node)
        return _rowwise(node.this, tables, known)
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier) or node.args.get("db"):
        raise BadQuery("FROM takes the name of a table, or a SELECT in parentheses.", hint=_there_are(tables))
    _require_plain(node)
    name = node.name.lower()
    if name in known:
        return known[name]
    found = next((table for key, table in tables.items() if key.lower() == name), None)
    if found is None:
        raise BadQuery(f"There is no table {node.name!r}.", hint=_there_are(tables))
    return _table(found)


def _table(table: Table) -> Rows:
    card = table.card
    if card.unit is not None and card.rows_per_unit is None:
        raise NotDeclared(
            f"The card of {card.name} does not say how many rows a unit may have.", hint="Declare rows_per_unit."
        )
    shown = [sql.named(sql.column(column.name), _inside(place)) for place, column in enumerate(card.columns)]
    if card.unit is not None:
        shown.append(sql.named(sql.column(card.unit), UNIT))
    columns = {column.name: _declared(column, _inside(place)) for place, column in enumerate(card.columns)}
    return Rows(table.query(*shown), columns, card.rows_per_unit or 1, card.unit is not None, frozenset({card.name}))


def _declared(column: Column, inside: str) -> Value:
    within = None
    declared = column.bounds or column.categories
    if declared is not None and column.kind in NUMBERS:
        numbers = [Fraction(float(end)) if column.kind is Kind.REAL else Fraction(end) for end in declared]  # type: ignore[arg-type]
        within = (min(numbers), max(numbers))
    domain = column.categories
    if domain is None and column.kind is Kind.BOOLEAN:
        domain = (False, True)
    if domain is None and within is not None and column.kind is Kind.INTEGER and within[1] - within[0] < _FEW:
        domain = tuple(range(int(within[0]), int(within[1]) + 1))
    return Value(sql.column(inside), column.kind, within, domain, column.name)


def _rowwise(node: exp.Expr, tables: Mapping[str, Table], known: Mapping[str, Rows]) -> Rows:
    """A SELECT inside another: it may choose rows and compute columns, and no more."""
    if not isinstance(node, exp.Select):
        raise BadQuery("Only a plain SELECT can stand inside another.")
    extra = [key for key, value in node.args.items() if value and key not in _ROWWISE]
    if extra or any(expression.find(exp.AggFunc, exp.Window) for expression in node.expressions):
        what = extra[0].rstrip("_").upper().replace("_", " ") if extra else "an aggregate"
        raise BadQuery(
            f"A SELECT inside another works row by row; it has {what}.", hint="Put that into the outer SELECT."
        )
    if node.args.get("with_"):
        raise BadQuery("WITH can only stand at the beginning of a question.")
    inner = _chosen(node, tables, known)
    shown: list[exp.Expr] = []
    columns: dict[str, Value] = {}
    for expression in node.expressions:
        for name, value in _named(expression, inner):
            if name.lower() in {other.lower() for other in columns}:
                raise BadQuery(f"Two columns are called {name!r}.")
            inside = _inside(len(shown))
            shown.append(sql.named(value.sql.copy(), inside))
            columns[name] = Value(sql.column(inside), value.kind, value.within, value.domain, value.name)
    if inner.has_unit:
        shown.append(sql.column(UNIT))
    query = exp.select(*shown).from_(inner.query.subquery("r"))
    return Rows(query, columns, inner.most, inner.has_unit, inner.sources)


def _named(expression: exp.Expr, inner: Rows) -> list[tuple[str, Value]]:
    if isinstance(expression, exp.Star):
        if any(expression.args.values()):
            raise BadQuery(f"{expression.sql()} cannot be asked.", hint="Name the columns.")
        return list(inner.columns.items())
    value = scalar(expression.unalias(), inner.columns)
    name = expression.alias_or_name
    if not name:
        raise BadQuery(f"{expression.sql()} needs a name: … AS name.")
    return [(name, value)]


def _filtered(rows: Rows, where: exp.Where | None) -> Rows:
    if where is None:
        return rows
    condition = scalar(where.this, rows.columns)
    if condition.kind.value != "boolean":
        raise BadQuery(f"WHERE takes a condition; {where.this.sql()} is {condition.kind.value}.")
    query = exp.select("*").from_(rows.query.subquery("r")).where(condition.sql.copy())
    return Rows(query, rows.columns, rows.most, rows.has_unit, rows.sources)


def _require_plain(node: exp.Expr) -> None:
    """No sampling, no pivoting, no other names for the columns: only what is read here may be in the tree."""
    alias = node.args.get("alias")
    if (isinstance(alias, exp.TableAlias) and alias.columns) or any(
        value for key, value in node.args.items() if key not in ("this", "alias", "materialized")
    ):
        raise BadQuery("FROM takes a table as it is, without sampling, pivoting or new names for its columns.")


def _inside(place: int) -> str:
    return f"c{place}"


def _there_are(tables: Mapping[str, Table]) -> str:
    return f"There are: {', '.join(tables)}." if tables else "There is none."
