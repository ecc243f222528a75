"""The rows of a FROM clause: tables, joins, UNION ALL, and SELECTs inside others that leave every row its unit's.

Why this is private is argued, and enforced, in ``engines/contribution.py``: a public table is cut there to as many
rows with equal keys as are counted on. How many that must be for no row to be lost is looked up here, since a
public table is about no one, and whatever it holds may be looked at for nothing. A LEFT JOIN keeps a row that has no
partner, as one row of its unit; so the private side must be the left one: whether a public row has a partner depends on
the rows of several people, and NULLs beside it would come and go with them. (Johnson, Near and Song 2018 bound joins by
the frequency of keys too.)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Column, Role
from discreet.core.kind import LISTABLE, NUMBERS, Kind
from discreet.core.table import Table
from discreet.engines.contribution import UNIT, numbered
from discreet.engines.limits import seconds_left
from discreet.errors import BadQuery
from discreet.verbs.ask.per_unit import distinct, per_unit
from discreet.verbs.ask.rows import Rows, at, is_unit, require_same_place, table_rows, together
from discreet.verbs.ask.scalar import scalar
from discreet.verbs.ask.syntax import Size
from discreet.verbs.ask.value import Columns, Known, Value, hull, name_of

_MOST_READS = 16
_INSIDE = {"expressions", "from_", "joins", "where", "group", "having", "distinct", "kind", "hint"}
_MOST_JOINED = 1_000_000
"""Rows of one unit in a join, at most."""
_FEW = 1000
"""Values of a public column that are listed, at most."""
_LARGEST = sys.float_info.max
_BOUNDED = NUMBERS | {Kind.DATE}
"""Kinds of public columns whose bounds are looked up."""


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
            raise BadQuery("A question needs a table: SELECT … FROM table.")
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
                    "Subqueries in FROM can be combined by plain UNION ALL only.",
                    hint="UNION would drop equal rows of different people.",
                )
            return _few_reads(united(self.inner(node.this), self.inner(node.expression)))
        if not isinstance(node, exp.Select):
            raise BadQuery("A subquery must be a plain SELECT, or several with UNION ALL.")
        return self._select(node)

    def _select(self, node: exp.Select) -> Rows:
        if node.args.get("with_"):
            raise BadQuery("WITH can only stand at the beginning of a question.")
        extra = [key for key, value in node.args.items() if value and key not in _INSIDE]
        if extra:
            what = extra[0].rstrip("_").upper().replace("_", " ")
            raise BadQuery(
                f"A subquery must work row by row, or per unit; this one has {what}.",
                hint="Move it to the outer SELECT.",
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
            raise BadQuery(f"{expression.sql()} is not supported.", hint="Name the columns.")
        return rows.columns.starred(expression.table if isinstance(expression, exp.Column) else "")
    return [(name_of(expression), scalar(expression.unalias(), rows.columns))]


def _aggregates(select: exp.Select) -> bool:
    return any(expression.find(exp.AggFunc) for expression in select.expressions)


def _few_reads(rows: Rows) -> Rows:
    if rows.reads > _MOST_READS:
        raise BadQuery(f"The question reads more than {_MOST_READS} tables, counting those of WITH at each use.")
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


def joined(left: Rows, right: Rows, join: exp.Join) -> Rows:
    """The rows of ``left JOIN right``."""
    outer = _outer(join)
    require_same_place(left, right)
    if twice := left.columns.tables & right.columns.tables:
        raise BadQuery(f"Two tables have the name {min(twice)!r}.", hint="Rename one with AS.")
    using = [one.name for one in join.args.get("using") or ()]
    equal = [(_only(name, left), _only(name, right)) for name in using] or list(_equalities(join, left, right))
    for a, b in equal:
        if a.kind is not b.kind or a.kind not in LISTABLE:
            what = f"{a.kind.value} and {b.kind.value}" if a.kind is not b.kind else a.kind.value
            raise BadQuery(
                f"Tables can be joined on whole numbers, texts, dates or booleans of one type, not on {what}."
            )
    matches = _matches(left, right, equal, outer=outer)
    owned = left.owned.join(right.owned, [(a.sql, b.sql) for a, b in equal], outer=outer, matches=matches)
    if owned.most > _MOST_JOINED:
        raise BadQuery(f"One unit could have {owned.most:,} rows in this join; the limit is {_MOST_JOINED:,}.")
    merged = {name.casefold() for name in using}
    places = (
        dict(zip(left.owned.names, owned.names, strict=False)),
        dict(zip((*right.owned.names, *([UNIT] if outer else ())), owned.names[len(left.owned.names) :], strict=False)),
    )
    columns = []
    for side, names in zip((left, right), places, strict=True):
        for one in side.columns.known:
            called = names.get(one.value.sql.name)
            value = one.value if called is None else at(one.value, called)
            if outer and side is right:  # it is NULL where there is no partner, whatever the card requires
                value = replace(value, required=False)
            hidden = side is right and one.name.casefold() in merged
            columns.append(replace(one, value=value, bare=one.bare and not hidden))
    return together(left, right, owned, columns)


def _matches(left: Rows, right: Rows, equal: list[tuple[Value, Value]], *, outer: bool) -> int:
    """How many rows of a public side a row has as partners, at the most."""
    if left.sources and right.sources:
        if left.unit is None or left.unit != right.unit or not any(is_unit(a) and is_unit(b) for a, b in equal):
            names = " and ".join(sorted(left.sources | right.sources))
            raise BadQuery(
                f"{names}: tables about people must be joined on their unit, with the same name and kind in both.",
                hint="ON a.unit = b.unit, and further equalities; or declare tables that are not about "
                "people as public.",
            )
        return 1
    if left.sources:
        return multiplicity(right, [b for _, b in equal])
    if right.sources and outer:
        raise BadQuery(
            "A LEFT JOIN must have the table about people on the left.", hint="Swap the tables, or use a plain JOIN."
        )
    if right.sources:
        return multiplicity(left, [a for a, _ in equal])
    if multiplicity(right, [b for _, b in equal]) > 1:  # else every question could make them grow, for nothing
        raise BadQuery(
            "Public tables can be joined only on a unique key of the second.",
            hint="Swap them, or join each with the table about people.",
        )
    return 1


def _outer(join: exp.Join) -> bool:
    """Whether it is a LEFT JOIN; what is neither that nor a plain JOIN is refused."""
    side, kind = (str(join.args.get(key) or "").upper() for key in ("side", "kind"))
    other = [key for key, value in join.args.items() if value and key not in ("this", "on", "using", "side", "kind")]
    if other or (side, kind) not in (("", ""), ("", "INNER"), ("LEFT", ""), ("LEFT", "OUTER")):
        said = " ".join(filter(None, (str(join.args.get("method") or ""), side, kind, "JOIN")))
        raise BadQuery(f"{said} is not supported.", hint="Use JOIN or LEFT JOIN, ON a.x = b.y or USING (x).")
    if not join.args.get("on") and not join.args.get("using"):
        raise BadQuery("A join needs ON a.x = b.y, or USING (x).")
    return side == "LEFT"


def _equalities(join: exp.Join, left: Rows, right: Rows) -> Iterator[tuple[Value, Value]]:
    """What ON holds equal, the left one first."""
    both = Columns((*left.columns.known, *right.columns.known))
    for said in _parts(join.args["on"]):
        if not isinstance(said, exp.EQ):
            raise BadQuery(
                f"ON {said.sql()}: tables are joined on equalities, ON a.x = b.y AND a.z = b.z.",
                hint="Put other conditions into WHERE, or into a SELECT inside FROM.",
            )
        here, there = (_whose(node, both, left) for node in (said.this, said.expression))
        if {True} not in (here, there) or {False} not in (here, there):
            raise BadQuery(f"ON {said.sql()}: an equality must compare a column of each table.")
        a, b = (said.this, said.expression) if here == {True} else (said.expression, said.this)
        yield scalar(a, left.columns), scalar(b, right.columns)


def _parts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """What AND puts together."""
    plain = condition.unnest()
    if isinstance(plain, exp.And):
        yield from _parts(plain.this)
        yield from _parts(plain.expression)
    else:
        yield plain


def _whose(node: exp.Expr, both: Columns, left: Rows) -> set[bool]:
    """Whether the columns of an expression are of the left side."""
    columns = list(node.find_all(exp.Column))
    for column in columns:
        both.find(column)
    return {left.columns.has(column) for column in columns}


def _only(name: str, rows: Rows) -> Value:
    return rows.columns.find(exp.column(name, quoted=True))


def united(one: Rows, other: Rows) -> Rows:
    """The rows of both, with the names of the first."""
    require_same_place(one, other)
    if one.unit != other.unit or bool(one.sources) != bool(other.sources):
        raise BadQuery(
            "UNION ALL needs tables about the same people, whose units have the same name and kind.",
            hint="Ask each on its own.",
        )
    if one.unit is not None and one.unit.kind is Kind.DECIMAL:
        raise BadQuery("Units that are decimals may have no common type.", hint="Ask each table on its own.")
    if len(one.columns.known) != len(other.columns.known):
        raise BadQuery("The SELECTs of UNION ALL have different numbers of columns.")
    shown: list[tuple[exp.Expr, exp.Expr]] = []
    columns = []
    for a, b in zip(one.columns.known, other.columns.known, strict=True):
        whole = _alike(a, b, numbered(len(shown)))
        columns.append(Known(a.name, whole))
        if not is_unit(whole):
            first, second = (v.as_double if v.kind is Kind.DECIMAL else v.sql for v in (a.value, b.value))
            shown.append((first, second))
    return together(one, other, one.owned.union(other.owned, shown), columns)


def _alike(one: Known, other: Known, called: str) -> Value:
    a, b = one.value, other.value
    if a.kind is not b.kind:
        raise BadQuery(f"UNION ALL: {one.name} is {a.kind.value} here and {b.kind.value} there.")
    domain = None
    if a.domain is not None and b.domain is not None:
        domain = tuple(dict.fromkeys((*a.domain, *b.domain)))
    within, required = hull(a.within, b.within), a.required and b.required
    whose = is_unit(a) and is_unit(b)
    if a.kind is Kind.DECIMAL and not whose:  # two decimals may have no common type that holds both
        return Value(sql.column(called), Kind.REAL, within, required=required)
    place = sql.column(UNIT if whose else called)
    longest = max(a.characters, b.characters)
    return Value(
        place, a.kind, within, domain, a.name if a.name and b.name else "", required, longest, max(a.weight, b.weight)
    )


def multiplicity(rows: Rows, keys: Sequence[Value]) -> int:
    """How many public rows have the same keys, at the most, and at least 1. NULL is equal to nothing."""
    there = [value.sql.copy().is_(exp.null()).not_() for value in keys]
    counted = exp.select(sql.named(sql.count_rows(), "n")).from_(rows.query.subquery("r")).where(*there)
    counted = counted.group_by(*(value.sql.copy() for value in keys))
    largest = exp.select(sql.named(exp.Max(this=sql.column("n")), "n")).from_(counted.subquery("k"))
    return max(1, rows.engine.fetch(largest, seconds=seconds_left()).column(0)[0].as_py() or 0)


def described(table: Table) -> Table:
    """A public table whose card says what values each column has: what no one declared is looked up."""
    columns = []
    for column in table.card.columns:
        known = column.bounds or column.categories or column.role is Role.IDENTIFIER
        columns.append(replace(column, from_data=()) if known else _looked_up(table, column))
    return replace(table, card=replace(table.card, columns=tuple(columns)))


def _looked_up(table: Table, column: Column) -> Column:
    """The column with its values, if they are few and can be listed, else with the least and the largest of them."""
    value: exp.Expr = sql.column(column.name)
    if column.kind in LISTABLE:
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
