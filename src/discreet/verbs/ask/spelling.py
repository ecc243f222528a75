"""Spellings of one thing: functions of other databases, shortcuts of clauses, and the day that CURRENT_DATE is.

A question is read as DuckDB reads it, and means what it means there. A function that DuckDB does not have is taken for
what the one database that has it means by it. So each text has one meaning, whatever database its tables are in, and
what is left after these rules is compared, planned and kept like any other question.

CURRENT_DATE is the day, in UTC, on which the question is asked. It is put into the question as a date before anything
else is done, so it stands in the recipe of the answer; asked again on another day, it is another question.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal

from sqlglot import exp

from discreet.core import sql
from discreet.errors import BadQuery

_DEFAULT_SCHEMAS = frozenset({"public", "dbo", "main", "default"})
_CODES = {
    "TO_CHAR": (("YYYY", "%Y"), ("HH24", "%H"), ("MM", "%m"), ("DD", "%d"), ("MI", "%M")),
    "DATE_FORMAT": (("yyyy", "%Y"), ("MM", "%m"), ("dd", "%d"), ("HH", "%H"), ("mm", "%M")),
}
"""What PostgreSQL, and Spark and T-SQL, write for parts of a date, and what ``strftime`` does."""
_CONVERTED = {"date": "DATE", "datetime": "TIMESTAMP", "datetime2": "TIMESTAMP", "int": "INT", "float": "DOUBLE"}
"""Types of T-SQL, and what they are called elsewhere."""


def today() -> dt.date:
    """The day on which questions are asked."""
    return dt.datetime.now(dt.UTC).date()


def one_spelling(statement: exp.Expr) -> exp.Expr:
    """A statement without what only other databases have, and with the day for CURRENT_DATE."""
    for node in reversed(list(statement.walk())):  # the innermost first
        made = _respelled(node)
        if made is not node:
            if node is statement:
                return made
            node.replace(made)
    return statement


def _respelled(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.CurrentDate) and node.this is None:
        return sql.literal(today())
    if isinstance(node, exp.ToChar) and node.args.get("format"):
        return _formatted("TO_CHAR", [node.this, node.args["format"]])
    if isinstance(node, exp.Format) and len(node.expressions) == 1 and not isinstance(node.this, exp.Literal):
        return _formatted("DATE_FORMAT", [node.this, node.expressions[0]])
    if isinstance(node, exp.WithinGroup):
        return _within_group(node)
    if isinstance(node, exp.Cast) and node.to.this is exp.DType.USERDEFINED:
        return _converted(node)
    if not isinstance(node, exp.Anonymous):
        return node
    respell = _FUNCTIONS.get(node.name.upper())
    return node if respell is None else respell(node)


def _formatted(name: str, arguments: list[exp.Expr]) -> exp.Expr:
    """A date as a text, in the codes of ``strftime``. MySQL's DATE_FORMAT has those already."""
    value, form = arguments
    text = form.name if isinstance(form, exp.Literal) and form.is_string else ""
    if "%" not in text:
        for code, ours in _CODES[name]:
            text = text.replace(code, ours)
    return exp.TimeToStr(this=value.copy(), format=sql.literal(text))


def _within_group(node: exp.WithinGroup) -> exp.Expr:
    """PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x) is QUANTILE_CONT(x, 0.9); from the top it is that of 0.1."""
    function, order = node.this, node.expression.expressions
    if len(order) != 1 or not isinstance(function, exp.PercentileCont | exp.PercentileDisc | exp.Mode):
        return node
    value = order[0].this.copy()
    if isinstance(function, exp.Mode):
        return node if function.this is not None else exp.Mode(this=value)
    shares = function.this.copy()
    for one in list(shares.find_all(exp.Literal)) if order[0].args.get("desc") else ():
        if one.is_string or not re.fullmatch("0?[.][0-9]{1,20}", one.name):
            return node
        turned = exp.Literal.number(str(1 - Decimal(one.name)))
        if one is shares:
            shares = turned
        else:
            one.replace(turned)
    return type(function)(this=value, expression=shares)


def _converted(node: exp.Cast) -> exp.Expr:
    """T-SQL's CONVERT(date, x), which is read as the cast of a column ``date`` to a type ``x``."""
    of, to = node.args["to"].args.get("kind"), node.this
    name = to.name.lower() if isinstance(to, exp.Column) and not to.table else ""
    if name not in _CONVERTED or not isinstance(of, exp.Identifier | str):
        return node
    return exp.cast(exp.column(of if isinstance(of, str) else of.copy()), _CONVERTED[name])


def _date_add(node: exp.Anonymous) -> exp.Expr:
    """T-SQL's DATEADD(unit, number, date); around a DATEDIFF from day 0 it cuts a date to the unit."""
    if len(node.expressions) != 3:
        return node
    unit, number, value = node.expressions
    name, since = unit.name.lower(), number.unnest()
    cut = isinstance(since, exp.DateDiff) and all(_is_zero(one) for one in (since.expression, value))
    if cut and since.text("unit").lower() == name:
        return exp.TimestampTrunc(this=since.this.copy(), unit=exp.var(name.upper()))
    return exp.paren(value.copy()) + exp.Interval(this=number.copy(), unit=exp.var(name.upper()))


def _is_zero(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name == "0"


def _part_of_date(node: exp.Anonymous) -> exp.Expr:
    """DATE_PART('year', x) and T-SQL's DATEPART(year, x)."""
    if len(node.expressions) != 2:
        return node
    part, value = node.expressions
    return exp.Extract(this=exp.var(part.name.upper()), expression=value.copy())


def _age(node: exp.Anonymous) -> exp.Expr:
    """The age today, if no other day is given."""
    if len(node.expressions) != 1:
        return node
    return exp.Anonymous(this="AGE", expressions=[sql.literal(today()), node.expressions[0].copy()])


def _called(kind: type[exp.Expr]) -> Callable[[exp.Anonymous], exp.Expr]:
    return lambda node: kind(this=node.expressions[0].copy()) if len(node.expressions) == 1 else node


def _percentile(node: exp.Anonymous) -> exp.Expr:
    """Spark's PERCENTILE(x, 0.5) and its like, exact or within a number of places, which is not needed here."""
    if len(node.expressions) not in (2, 3):
        return node
    return exp.PercentileCont(this=node.expressions[0].copy(), expression=node.expressions[1].copy())


def _or_else(node: exp.Anonymous) -> exp.Expr:
    first, *others = (one.copy() for one in node.expressions)
    return exp.Coalesce(this=first, expressions=others)


_FUNCTIONS: dict[str, Callable[[exp.Anonymous], exp.Expr]] = {
    "VAR": _called(exp.Variance),
    "VARP": _called(exp.VariancePop),
    "STDEV": _called(exp.Stddev),
    "STDEVP": _called(exp.StddevPop),
    "AGE": _age,
    "DATE_PART": _part_of_date,
    "DATEPART": _part_of_date,
    "DATEADD": _date_add,
    "DATE_FORMAT": lambda node: _formatted("DATE_FORMAT", node.expressions) if len(node.expressions) == 2 else node,
    **dict.fromkeys(("PERCENTILE", "PERCENTILE_APPROX", "APPROX_PERCENTILE"), _percentile),
    "ISNULL": lambda node: _or_else(node) if len(node.expressions) == 2 else node,
}


def written_out(question: exp.Query) -> exp.Query:
    """The question with its shortcuts written out: GROUP BY ALL, ORDER BY ALL, SEMI JOIN, and default schemas."""
    for inner in list(question.find_all(exp.Select)):
        _write_out_joins(inner)
        group = inner.args.get("group")
        if group is not None and group.args.get("all") and not group.expressions:
            places = [place for place, one in enumerate(inner.expressions, 1) if _is_key(one)]
            inner.set("group", _by_place(places) if places else None)
    order = question.args.get("order")
    if order is not None and len(order.expressions) == 1:
        one = order.expressions[0]
        if isinstance(one.this, exp.Var) and one.this.name.upper() == "ALL":
            every = [
                exp.Ordered(this=sql.literal(place), **{key: one.args.get(key) for key in ("desc", "nulls_first")})
                for place in range(1, len(question.selects) + 1)
            ]
            question.set("order", exp.Order(expressions=every))
    for table in question.find_all(exp.Table):
        _without_schema(table)
    for column in question.find_all(exp.Column):
        if _is_default(column.args.get("db"), column.table) and not column.args.get("catalog"):
            column.set("db", None)
    return question


def _write_out_joins(select: exp.Select) -> None:
    """``a SEMI JOIN b ON …`` as EXISTS, and an ANTI JOIN as NOT EXISTS, unless another join adds rows."""
    joins = select.args.get("joins") or []
    for join in [] if any(one.side in ("RIGHT", "FULL") for one in joins) else list(joins):
        kind, source = join.args.get("kind"), select.args.get("from_")
        if kind not in ("SEMI", "ANTI") or source is None:
            continue
        here, there = source.this.alias_or_name, join.this.alias_or_name
        equal = [
            exp.column(one.copy(), table=here, quoted=False).eq(exp.column(one.copy(), table=there, quoted=False))
            for one in join.args.get("using") or ()
        ]
        asked = exp.select("1").from_(join.this.copy()).where(join.args.get("on") or exp.and_(*equal))
        found: exp.Expr = exp.Exists(this=asked)
        joins.remove(join)
        select.where(found if kind == "SEMI" else exp.not_(found), copy=False)
    select.set("joins", joins or None)


def _is_key(node: exp.Expr) -> bool:
    """Whether GROUP BY ALL groups by it: it has a column, and is no figure."""
    return node.find(exp.Column) is not None and node.find(exp.AggFunc, exp.Window, exp.Query) is None


def _by_place(places: list[int]) -> exp.Group:
    return exp.Group(expressions=[sql.literal(place) for place in places])


def _without_schema(table: exp.Table) -> None:
    schema = table.args.get("db")
    if schema is None or table.args.get("catalog"):
        return
    if not _is_default(schema, table.name):
        raise BadQuery(
            f"There is no schema {schema.name!r}: FROM takes the name of a table.",
            hint=f"Tables have no schema here: write {table.name}.",
        )
    table.set("db", None)


def _is_default(schema: exp.Expr | None, table: str) -> bool:
    """Whether a schema says nothing: it is the one that a database has by itself, or is called like the table."""
    return schema is not None and schema.name.casefold() in {*_DEFAULT_SCHEMAS, table.casefold()}
