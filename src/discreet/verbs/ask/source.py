"""From FROM to rows: tables, joins, UNION ALL, and SELECTs inside others that leave every row its unit's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.core.table import Table
from discreet.errors import BadQuery
from discreet.verbs.ask.columns import name_of
from discreet.verbs.ask.join import joined
from discreet.verbs.ask.per_unit import distinct, per_unit
from discreet.verbs.ask.rows import Rows, table_rows
from discreet.verbs.ask.scalar import scalar
from discreet.verbs.ask.size import Size
from discreet.verbs.ask.union import united
from discreet.verbs.ask.value import Value

_MOST_READS = 16
_INSIDE = {"expressions", "from_", "joins", "where", "group", "having", "distinct", "kind", "hint"}


def rows_of(select: exp.Select, tables: Mapping[str, Table]) -> Rows:
    """The rows in the FROM and WHERE of ``select``; names of WITH are resolved first."""
    reader = _Reader(tables)
    for cte in (select.args.get("with_") or exp.With(expressions=[])).expressions:
        _require_plain(cte)
        reader.known[cte.alias.casefold()] = reader.inner(cte.this)
    return reader.chosen(select)


@dataclass
class _Reader:
    tables: Mapping[str, Table]
    known: dict[str, Rows] = field(default_factory=dict)
    """What WITH has named so far."""

    def chosen(self, select: exp.Select) -> Rows:
        """The rows of FROM for which WHERE holds."""
        source = select.args.get("from_")
        if source is None:
            raise BadQuery("A question needs a table to ask: SELECT … FROM table.")
        rows = self._source(source.this)
        for join in select.args.get("joins") or ():
            rows = _few_reads(joined(rows, self._source(join.this), join))
        where = select.args.get("where")
        return rows if where is None else rows.filtered(where.this, "WHERE")

    def inner(self, node: exp.Expr) -> Rows:
        """The rows of a SELECT inside another, or of several."""
        if isinstance(node, exp.Subquery):
            _require_plain(node)
            return self.inner(node.this)
        if isinstance(node, exp.Union):
            if any(value for key, value in node.args.items() if key not in ("this", "expression")):
                raise BadQuery(
                    "SELECTs inside FROM are put together by plain UNION ALL only.",
                    hint="UNION alone would drop rows that are equal, whoever's they are.",
                )
            return _few_reads(united(self.inner(node.this), self.inner(node.expression)))
        if not isinstance(node, exp.Select):
            raise BadQuery("Only a plain SELECT, or several with UNION ALL, can stand inside another.")
        return self._select(node)

    def _select(self, node: exp.Select) -> Rows:
        if node.args.get("with_"):
            raise BadQuery("WITH can only stand at the beginning of a question.")
        extra = [key for key, value in node.args.items() if value and key not in _INSIDE]
        if extra:
            what = extra[0].rstrip("_").upper().replace("_", " ")
            raise BadQuery(
                f"A SELECT inside another works row by row, or unit by unit; it has {what}.",
                hint="Put that into the outer SELECT.",
            )
        rows = self.chosen(node)
        grouped = node.args.get("group") or node.args.get("having") or _aggregates(node)
        shown = per_unit(node, rows) if grouped else rows.showing(_columns(node, rows))
        Size().add(shown.query)
        return distinct(shown, node.args["distinct"]) if node.args.get("distinct") else shown

    def _source(self, node: exp.Expr) -> Rows:
        _require_plain(node)
        if isinstance(node, exp.Subquery):
            rows = self.inner(node.this)
            return replace(rows, columns=rows.columns.called(node.alias))
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise BadQuery("FROM takes the name of a table, or a SELECT in parentheses.", hint=_there_are(self.tables))
        called = node.alias or node.name
        if node.name.casefold() in self.known:
            rows = self.known[node.name.casefold()]
            return replace(rows, columns=rows.columns.called(called))
        found = next((name for name in self.tables if name.casefold() == node.name.casefold()), None)
        if found is None:
            raise BadQuery(f"There is no table {node.name!r}.", hint=_there_are(self.tables))
        return table_rows(self.tables[found], called)


def _columns(select: exp.Select, rows: Rows) -> list[tuple[str, Value]]:
    return [one for expression in select.expressions for one in _named(expression, rows)]


def _named(expression: exp.Expr, rows: Rows) -> list[tuple[str, Value]]:
    star = expression.this if isinstance(expression, exp.Column) else expression
    if isinstance(star, exp.Star):
        if any(star.args.values()):
            raise BadQuery(f"{expression.sql()} cannot be asked.", hint="Name the columns.")
        return rows.columns.starred(expression.table if isinstance(expression, exp.Column) else "")
    return [(name_of(expression), scalar(expression.unalias(), rows.columns))]


def _aggregates(select: exp.Select) -> bool:
    return any(expression.find(exp.AggFunc) for expression in select.expressions)


def _few_reads(rows: Rows) -> Rows:
    if rows.reads > _MOST_READS:
        raise BadQuery(f"The question reads more than {_MOST_READS} tables, those of WITH each time they are named.")
    return rows


def _require_plain(node: exp.Expr) -> None:
    """No sampling, no pivoting, no other names for the columns: only what is read here may be in the tree."""
    if isinstance(node, exp.Table) and (node.args.get("db") or not isinstance(node.this, exp.Identifier)):
        raise BadQuery("FROM takes the name of a table, or a SELECT in parentheses.")
    alias = node.args.get("alias")
    if (isinstance(alias, exp.TableAlias) and alias.columns) or any(
        value for key, value in node.args.items() if key not in ("this", "alias", "materialized")
    ):
        raise BadQuery("FROM takes a table as it is, without sampling, pivoting or new names for its columns.")


def _there_are(tables: Mapping[str, Table]) -> str:
    return f"There are: {', '.join(tables)}." if tables else "There is none."
