"""The rows of a FROM clause: tables, joins, UNION ALL, and SELECTs inside others that leave every row its unit's; and
conditions that ask other tables, IN (SELECT …) and EXISTS.

Why this is private is argued, and enforced, in ``engines/contribution.py``: a public table is cut there to as many
rows with equal keys as are counted on. How many that must be for no row to be lost is looked up here, since a
public table is about no one, and whatever it holds may be looked at for nothing. A LEFT JOIN keeps a row that has no
partner, as one row of its unit; so the private side must be the left one: whether a public row has a partner depends on
the rows of several people, and NULLs beside it would come and go with them. (Johnson, Near and Song 2018 bound joins by
the frequency of keys too.) For the same reason EXISTS and IN ask tables about people for rows of the same unit only.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Column, Role
from discreet.core.kind import LISTABLE, NUMBERS, Kind
from discreet.core.table import Table
from discreet.engines.contribution import UNIT, JoinCondition, numbered
from discreet.engines.limits import seconds_left
from discreet.errors import BadQuery
from discreet.verbs.ask.per_unit import distinct, per_unit, windows
from discreet.verbs.ask.rows import Rows, at, free_name, hidden, is_unit, require_same_place, table_rows, together
from discreet.verbs.ask.scalar import scalar
from discreet.verbs.ask.scalar.conditions import comparable
from discreet.verbs.ask.syntax import Size
from discreet.verbs.ask.value import Columns, Known, Value, hull, name_of, said

_MOST_READS = 16
_INSIDE = {"expressions", "from_", "joins", "where", "group", "having", "qualify", "distinct", "kind", "hint"}
_IN_EXISTS = {"expressions", "from_", "joins", "where", "distinct", "kind", "hint"}
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
        rows = self._matched(select, self._from(select))
        where = select.args.get("where")
        return rows if where is None else rows.filtered(where.this, "WHERE")

    def _from(self, select: exp.Select) -> Rows:
        source = select.args.get("from_")
        if source is None:
            raise BadQuery("A question needs a table: SELECT … FROM table.")
        rows = self._source(source.this)
        for join in select.args.get("joins") or ():
            rows = _few_reads(joined(rows, self._source(join.this), join))
        return rows

    def _matched(self, select: exp.Select, rows: Rows) -> Rows:
        """The rows with a column for every IN (SELECT …) and EXISTS of ``select``, which then is that column."""
        clauses = [select.args.get("where"), select.args.get("group"), *select.expressions]
        for node in [one for clause in clauses if clause is not None for one in _asked(clause)]:
            if isinstance(node, exp.Exists):
                rows, condition = self._exists(node, rows)
            else:
                rows, condition = self._among(node, rows)
            node.replace(condition)
        return rows

    def _exists(self, node: exp.Exists, rows: Rows) -> tuple[Rows, exp.Expr]:
        select = node.this.unnest()
        if not isinstance(select, exp.Select) or any(
            value for key, value in select.args.items() if key not in _IN_EXISTS
        ):
            raise BadQuery(
                "EXISTS takes a plain SELECT … FROM … WHERE ….",
                hint="Group by the unit in a subquery of FROM inside it, or use unit IN (SELECT …).",
            )
        inner, equal = self._matched(exp.select(), self._from(select)), []
        where = select.args.get("where")
        for part in () if where is None else sql.conjuncts(where.this):
            mine = {inner.columns.has(column) for column in part.find_all(exp.Column)}
            if mine <= {True}:
                plain = exp.Select(where=exp.Where(this=part.copy()))
                inner = self._matched(plain, inner).filtered(plain.args["where"].this, "WHERE")
                continue
            pair = _pair(part, rows, inner)
            if pair is None:
                raise BadQuery(
                    f"{said(part)}: inside EXISTS, outer columns can only be compared by equality.",
                    hint="JOIN the tables on the unit for other comparisons.",
                )
            equal.append(pair)
        return self._match(node, rows, inner, equal)

    def _among(self, node: exp.In, rows: Rows) -> tuple[Rows, exp.Expr]:
        """``x IN (SELECT y …)``, which is NULL, as in SQL, where x or some y is and no y is equal."""
        inner, value = self.inner(node.args["query"]), scalar(node.this, rows.columns)
        if len(inner.columns.known) != 1:
            raise BadQuery("IN takes a SELECT of one column.")
        other = inner.columns.known[0].value
        if inner.sources:
            if not (is_unit(value) and is_unit(other)):
                unit = rows.unit.name if rows.unit else "unit"
                raise BadQuery(
                    f"{said(node)}: a comparison of people must include their unit.",
                    hint=f"Use EXISTS with an equality on {unit}, or {unit} IN (SELECT {unit} …).",
                )
            return self._match(node, rows, inner, [(value, other)])
        many, present = _how_many(inner, other)
        rows, found = self._match(node, rows, inner, [(value, other)])
        made = exp.case().when(found, exp.true())
        if many and present == many:
            made = made.when(exp.paren(node.this.copy()).is_(exp.null()), exp.null()).else_(exp.false())
        return rows, made if many else exp.false()

    def _match(
        self, node: exp.Expr, rows: Rows, inner: Rows, equal: list[tuple[Value, Value]]
    ) -> tuple[Rows, exp.Expr]:
        require_same_place(rows, inner)
        _require_joinable(equal)
        if inner.sources and not (
            rows.sources and rows.unit is not None and rows.unit == inner.unit and _on_unit(equal)
        ):
            raise _not_on_unit(rows, inner)
        called = free_name(rows.owned.names)
        owned = rows.owned.matched(inner.owned, *_keys(equal), called)
        value = Value(sql.column(called), Kind.BOOLEAN, domain=(False, True), required=True)
        made = replace(rows.with_hidden(called, value), owned=owned, public=rows.public | inner.public)
        return _few_reads(replace(made, reads=rows.reads + inner.reads)), hidden(called, node)

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
        rows = windows(node, self.chosen(node))
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
    how = _how(join)
    require_same_place(left, right)
    if twice := left.columns.tables & right.columns.tables:
        raise BadQuery(f"Two tables have the name {min(twice)!r}.", hint="Rename one with AS.")
    if how != "right":
        return _joined(left, right, join, how)
    made = _joined(right, left, join, "left")
    right_first = len(right.columns.known)
    return replace(made, columns=Columns(made.columns.known[right_first:] + made.columns.known[:right_first]))


def _joined(left: Rows, right: Rows, join: exp.Join, how: str) -> Rows:
    using = [one.name for one in join.args.get("using") or ()]
    equal = [(_only(name, left), _only(name, right)) for name in using]
    conditions: list[JoinCondition] = []
    for part in () if using else sql.conjuncts(join.args["on"]):
        pair = _pair(part, left, right)
        if pair is not None:
            equal.append(pair)
            continue
        left, right, compared = _further(part, left, right, how)
        conditions += compared
    if not equal:
        raise BadQuery(
            f"ON {said(join.args['on'])}: tables are joined on equalities, ON a.x = b.y AND a.z = b.z.",
            hint="Other conditions may stand beside an equality that compares a column of each table.",
        )
    _require_joinable(equal)
    matches = _matches(left, right, equal, how)
    owned = left.owned.join(right.owned, *_keys(equal), how=how, matches=matches, conditions=conditions)
    if owned.most > _MOST_JOINED:
        raise BadQuery(f"One unit could have {owned.most:,} rows in this join; the limit is {_MOST_JOINED:,}.")
    merged = {name.casefold() for name in using}
    taken = [
        (*left.owned.names, *([UNIT] if how == "full" else ())),
        (*right.owned.names, *([UNIT] if how != "inner" else ())),
    ]
    order = [*((0, one) for one in left.owned.names), *((1, one) for one in right.owned.names)]
    order += [(side, UNIT) for side in (0, 1) if UNIT in taken[side]]
    places = dict(zip(order, owned.names, strict=False))
    columns = []
    for side, rows in enumerate((left, right)):
        for one in rows.columns.known:
            called = places.get((side, one.value.sql.name))
            value = one.value if called is None else at(one.value, called)
            if how == "full" or (how == "left" and side):  # it is NULL where there is no partner, whatever is required
                value = replace(value, required=False)
            hide = one.name.casefold() in merged and (side == 1 or how == "full")
            columns.append(replace(one, value=value, bare=one.bare and not hide))
    if how == "full" and merged:
        if len(merged) > 1 or not is_unit(equal[0][0]):
            raise BadQuery("FULL JOIN takes USING (unit).", hint="For other columns use ON a.unit = b.unit AND ….")
        columns.insert(0, Known(using[0], equal[0][0]))
    return together(left, right, owned, columns)


def _keys(equal: Sequence[tuple[Value, Value]]) -> tuple[list[tuple[exp.Expr, exp.Expr]], list[Kind]]:
    """What is equal, and of which kind both are."""
    return [(a.sql, b.sql) for a, b in equal], [a.kind for a, _ in equal]


def _require_joinable(equal: Iterable[tuple[Value, Value]]) -> None:
    for a, b in equal:
        if a.kind is not b.kind or a.kind not in LISTABLE:
            what = f"{a.kind.value} and {b.kind.value}" if a.kind is not b.kind else a.kind.value
            raise BadQuery(
                f"Tables can be joined on whole numbers, texts, dates or booleans of one type, not on {what}."
            )


def _on_unit(equal: Iterable[tuple[Value, Value]]) -> bool:
    return any(is_unit(a) and is_unit(b) for a, b in equal)


def _not_on_unit(left: Rows, right: Rows) -> BadQuery:
    names = " and ".join(sorted(left.sources | right.sources))
    return BadQuery(
        f"{names}: tables about people must be joined on their unit, with the same name and kind in both.",
        hint="ON a.unit = b.unit, and further equalities; or declare tables that are not about people as public.",
    )


def _matches(left: Rows, right: Rows, equal: list[tuple[Value, Value]], how: str) -> int:
    """How many rows of a public side a row has as partners, at the most."""
    if left.sources and right.sources:
        if left.unit is None or left.unit != right.unit or not _on_unit(equal):
            raise _not_on_unit(left, right)
        return 1
    if how == "full":
        raise BadQuery(
            "A FULL JOIN takes two tables about people.", hint="Use LEFT JOIN with the table about people on the left."
        )
    if left.sources:
        return multiplicity(right, [b for _, b in equal])
    if right.sources and how == "left":
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


def _how(join: exp.Join) -> str:
    """Inner, left, right or full; what is none of these is refused."""
    side, kind = (str(join.args.get(key) or "").upper() for key in ("side", "kind"))
    other = [key for key, value in join.args.items() if value and key not in ("this", "on", "using", "side", "kind")]
    if other or side not in ("", "LEFT", "RIGHT", "FULL") or kind not in ("", "OUTER" if side else "INNER"):
        spelled = " ".join(filter(None, (str(join.args.get("method") or ""), side, kind, "JOIN")))
        raise BadQuery(f"{spelled} is not supported.", hint="Use JOIN or LEFT JOIN, ON a.x = b.y or USING (x).")
    if not join.args.get("on") and not join.args.get("using"):
        raise BadQuery("A join needs ON a.x = b.y, or USING (x).")
    return side.lower() or "inner"


def _pair(part: exp.Expr, left: Rows, right: Rows, kind: type[exp.Expr] = exp.EQ) -> tuple[Value, Value] | None:
    """The two sides of a comparison of the left with the right, the left one first; ``None``: it is none."""
    if type(part) is not kind:
        return None
    here, there = (_whose(node, left, right) for node in (part.this, part.expression))
    if (here, there) == ({True}, {False}):
        return scalar(part.this, left.columns), scalar(part.expression, right.columns)
    if (here, there) == ({False}, {True}) and kind is exp.EQ:
        return scalar(part.expression, left.columns), scalar(part.this, right.columns)
    return None


def _further(part: exp.Expr, left: Rows, right: Rows, how: str) -> tuple[Rows, Rows, list[JoinCondition]]:
    """What ON says beside its equalities: about rows of one side, or a comparison of one side with the other."""
    whose = _whose(part, left, right)
    if whose == {False} and how != "full":
        return left, right.filtered(part, "ON"), []
    if whose == {True} and how == "inner":
        return left.filtered(part, "ON"), right, []
    if whose in ({True}, {False}) or not whose:
        side = right if whose == {False} else left
        condition = scalar(part, side.columns)
        if condition.kind is not Kind.BOOLEAN:
            raise BadQuery(f"ON takes conditions; {said(part)} is {condition.kind.value}.")
        sides = (condition.sql, exp.true())
        return left, right, [JoinCondition(exp.EQ, sides if side is left else (sides[1], sides[0]))]
    if isinstance(part, exp.Between) and how != "full":
        low, high = (
            exp.GTE(this=part.this, expression=part.args["low"]),
            exp.LTE(this=part.this, expression=part.args["high"]),
        )
        made: list[JoinCondition] = []
        for one in (low, high):
            left, right, more = _further(one, left, right, how)
            made += more
        return left, right, made
    if isinstance(part, exp.Binary) and type(part) in _TURNED and how != "full":
        if _whose(part.this, left, right) == {False}:
            part = _TURNED[type(part)](this=part.expression, expression=part.this)
        pair = _pair(part, left, right, type(part))
        if pair is not None:
            return left, right, [JoinCondition(type(part), comparable(part, *pair))]
    raise BadQuery(
        f"ON {said(part)}: a condition must be about one of the tables, or compare a column of each.",
        hint="Put other conditions into WHERE.",
    )


_TURNED: dict[type[exp.Binary], type[exp.Binary]] = {
    exp.NEQ: exp.NEQ, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE,
}  # fmt: skip
"""Comparisons, and what they are with their sides exchanged."""


def _whose(node: exp.Expr, left: Rows, right: Rows) -> set[bool]:
    """Whether the columns of an expression are of the left side."""
    both = Columns((*left.columns.known, *right.columns.known))
    columns = list(node.find_all(exp.Column))
    for column in columns:
        both.find(column)
    return {left.columns.has(column) for column in columns}


def _asked(clause: exp.Expr) -> list[exp.Exists | exp.In]:
    """Every IN (SELECT …) and EXISTS of a clause that is not inside another."""
    found: list[exp.Exists | exp.In] = []
    for node in clause.walk(prune=lambda one: isinstance(one, exp.Query) or one in found):
        if isinstance(node, exp.Exists) or (isinstance(node, exp.In) and node.args.get("query")):
            found.append(node)
    return found


def _how_many(rows: Rows, value: Value) -> tuple[int, int]:
    """How many public rows there are, and how many have a value."""
    counted = exp.select(sql.named(sql.count_rows(), "n"), sql.named(exp.Count(this=value.sql.copy()), "v"))
    found = rows.engine.fetch(counted.from_(rows.query.subquery("r")), seconds=seconds_left())
    return found.column(0)[0].as_py(), found.column(1)[0].as_py()


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
