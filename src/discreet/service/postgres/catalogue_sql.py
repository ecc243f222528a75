"""From a client's SELECT about the catalogue to one that the catalogue's DuckDB may run, or a refusal.

The syntax tree is rebuilt of what is allowed: names of relations that exist, functions that are listed, PostgreSQL's
spellings as DuckDB's. The allowed functions make no text longer than what they are given, or are cut (``_LONGEST``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import cast

from sqlglot import exp

from discreet.errors import BadQuery
from discreet.service.postgres import values
from discreet.service.postgres.catalogue import macro_names, relations
from discreet.verbs.ask.syntax import depth

_LONGEST = 10_000
"""Characters of a text that a statement makes."""
_MOST_NODES, _DEEPEST = 5_000, 120
_MOST_GROWTH = 4
"""How many times as long a text may become by a replacement, before it is cut."""
_ALLOWED = (
    exp.Abs, exp.And, exp.Array, exp.ArrayAgg, exp.ArrayAny, exp.ArrayContains, exp.ArrayPosition, exp.ArraySize,
    exp.ArrayToString, exp.Avg, exp.Case, exp.Cast, exp.Ceil, exp.Coalesce, exp.Concat, exp.ConcatWs, exp.Connector,
    exp.Count, exp.CurrentDate, exp.CurrentTimestamp, exp.DPipe, exp.DenseRank, exp.Exists, exp.Explode, exp.Extract,
    exp.Floor, exp.Greatest, exp.GroupConcat, exp.If, exp.Initcap, exp.Least, exp.Left, exp.Length, exp.LogicalAnd,
    exp.LogicalOr, exp.Lower, exp.Max, exp.Min, exp.Nullif, exp.Or, exp.Rank, exp.RegexpILike, exp.RegexpLike,
    exp.Right, exp.Round, exp.RowNumber, exp.SplitPart, exp.StrPosition, exp.Substring, exp.Sum, exp.Trim,
    exp.TryCast, exp.Unnest, exp.Upper,
)  # fmt: skip
_MADE_TEXT = (exp.Concat, exp.ConcatWs, exp.DPipe, exp.GroupConcat, exp.ArrayToString, exp.Replace)
_BY_NAME = frozenset({"generate_subscripts", "array_position", "unnest"})
_ALWAYS = re.compile("pg_[a-z_]+_is_visible|has_[a-z_]+_privilege|pg_relation_is_publishable|pg_has_role")
_OF_SESSION: Mapping[type[exp.Expr], str] = {
    exp.CurrentUser: "current_role_name",
    exp.SessionUser: "current_role_name",
    exp.CurrentCatalog: "current_database",
    exp.CurrentDatabase: "current_database",
    exp.CurrentVersion: "version",
}
_TEXTS = {"name", "text", "char", "cstring", "regproc", "regprocedure", "varchar", "bpchar", "pg_node_tree", "aclitem"}
"""Types that are a text here."""
_NUMBERS = {"int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "float4": "FLOAT", "float8": "DOUBLE"} | {
    "bool": "BOOLEAN"
}
_CASTS = (
    exp.DType.BIGINT, exp.DType.INT, exp.DType.SMALLINT, exp.DType.DOUBLE, exp.DType.FLOAT, exp.DType.DECIMAL,
    exp.DType.BOOLEAN, exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.VARCHAR, exp.DType.TEXT,
    exp.DType.INTERVAL,
)  # fmt: skip
"""Types without any of their parameters: an array of a fixed size could be large."""
_SYSTEM_COLUMNS = {"tableoid": 0, "xmin": 1, "ctid": 0, "cmin": 0}


def rewritten(tree: exp.Expr, tables: Mapping[str, str], setting: Callable[[str], str | None]) -> exp.Query:
    """What DuckDB is asked. ``tables`` has the analyst's own, and ``setting`` what a parameter of the session is."""
    if not isinstance(tree, exp.Query):
        raise BadQuery("Only SELECT is supported.", hint="Nothing can be changed here.")
    if sum(1 for _ in tree.walk()) > _MOST_NODES or depth(tree) > _DEEPEST:
        raise BadQuery("The question about the catalogue is too large.")
    _name_columns(tree)
    whole: exp.Expr = exp.Paren(this=tree)
    with_names = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
    if any(one.args.get("recursive") for one in tree.find_all(exp.With)):
        raise BadQuery("WITH RECURSIVE is not supported in questions about the catalogue.")
    for node in list(whole.walk(bfs=True))[::-1]:  # the inner ones first
        if isinstance(node, exp.Table):
            _resolve(node, with_names, tables)
        elif not _names_table(node):
            made = _rebuilt(node, setting)
            if made is not node:
                node.replace(made)
    query = whole.this
    if not isinstance(query, exp.Query):
        raise BadQuery("Only SELECT is supported.", hint="Nothing can be changed here.")
    return query


def _name_columns(tree: exp.Query) -> None:
    """Name the columns of a result as PostgreSQL does."""
    select = tree
    while isinstance(select, exp.SetOperation | exp.Subquery):
        select = select.this
    if not isinstance(select, exp.Select):
        return
    for one in select.expressions:
        if not isinstance(one, exp.Alias | exp.Star) and not (isinstance(one, exp.Column) and one.is_star):
            one.replace(exp.alias_(one.copy(), _name(one), quoted=True))


def _name(node: exp.Expr) -> str:
    if isinstance(node, exp.Cast):
        inner = _name(node.this)
        return inner if inner != "?column?" else node.to.sql("postgres").lower().rpartition(".")[2]
    if isinstance(node, exp.Dot):
        return _name(node.expression) if not isinstance(node.expression, exp.Identifier) else node.expression.name
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    if isinstance(node, exp.Column):
        return node.name
    if isinstance(node, exp.Case):
        return "case"
    if isinstance(node, exp.Func) and not isinstance(node, exp.Connector | exp.Binary):
        return {"CURRENT_VERSION": "version"}.get(node.sql_name(), node.sql_name()).lower()
    return "?column?"


def _resolve(table: exp.Table, with_names: set[str], own: Mapping[str, str]) -> None:
    """Let a table name what it may, or refuse it."""
    inner = table.this
    if isinstance(inner, exp.Func | exp.Anonymous | exp.Dot):
        name = _function_name(inner)
        called = inner.find(exp.Func)
        given = [] if called is None else list(called.iter_expressions())
        if name == "explodinggenerateseries" and len(given) == 2:
            given, name = [exp.Anonymous(this="short_series", expressions=given)], "unnest"
        if name in ("unnest", "explode"):
            table.replace(exp.Unnest(expressions=[one.copy() for one in given], alias=table.args.get("alias")))
            return
        if f"pg_catalog.{name}" not in relations():
            raise _unknown(name)
        inner = exp.to_identifier(name)
    name, schema = inner.name.casefold(), table.db.casefold()
    if table.args.get("catalog") and len(table.parts) > 3:
        raise _unknown(name)
    table.set("catalog", None)
    if not schema and name in with_names:
        return
    alias = table.alias or name
    if schema in ("", "pg_catalog") and f"pg_catalog.{name}" in relations():
        found = exp.table_(name, db="pg", quoted=True)
    elif schema == "information_schema" and f"information_schema.{name}" in relations():
        found = exp.table_(name, db="info", quoted=True)
    elif schema in ("", "public") and name in own:
        found = exp.table_(own[name], db="main", quoted=True)
    else:
        raise _unknown(inner.name)
    table.set("this", found.this)
    table.set("db", found.args["db"])
    if not table.alias:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))


def _names_table(node: exp.Expr) -> bool:
    """Whether a function stands for rows in FROM, which ``_resolve`` sees to."""
    parent = node.parent
    return isinstance(parent, exp.Table) or (isinstance(parent, exp.Dot) and isinstance(parent.parent, exp.Table))


def _unknown(name: str) -> BadQuery:
    return BadQuery(
        f"There is no relation {name[:60]!r} in the catalogue, or it is not visible to you.",
        hint="A question about people's tables needs FROM, and cannot mention the catalogue.",
    )


def _function_name(node: exp.Expr) -> str:
    if isinstance(node, exp.Dot):
        return _function_name(node.expression)
    return str(node.name if isinstance(node, exp.Anonymous) else node.key).casefold()


def _rebuilt(node: exp.Expr, setting: Callable[[str], str | None]) -> exp.Expr:
    """A node as DuckDB has it; an error if it is not allowed."""
    match node:
        case exp.Dot(this=exp.Identifier() as schema) if not isinstance(node.expression, exp.Identifier):
            if schema.name.casefold() not in ("pg_catalog", "information_schema"):
                raise _no_function(schema.name)
            return cast("exp.Expr", node.expression.copy())
        case exp.Operator():
            return _operator(node)
        case exp.Collate():
            return cast("exp.Expr", node.this.copy())
        case exp.Cast():
            return _cast(node)
        case exp.Column():
            return _column(node)
        case exp.CurrentSchemas():
            return exp.Array(expressions=[exp.Literal.string(one) for one in ("pg_catalog", "public")])
        case exp.CurrentSchema():
            return exp.Literal.string("public")
        case exp.Anonymous():
            return _function(node, setting)
        case exp.Parameter() | exp.Placeholder() | exp.Command() | exp.Into() | exp.Lock():
            raise BadQuery(f"{node.key} is not supported in questions about the catalogue.")
    for kind, name in _OF_SESSION.items():
        if isinstance(node, kind):
            return exp.Anonymous(this=name)
    if isinstance(node, exp.Format):
        return _formatted(node)
    if isinstance(node, exp.Func):
        in_from = isinstance(node, exp.ExplodingGenerateSeries) and isinstance(node.parent, exp.Table)
        if not isinstance(node, _ALLOWED) and not in_from and not _grows_little(node):
            raise _no_function(node.sql_name())
        if isinstance(node, _MADE_TEXT):
            return exp.Left(this=node.copy(), expression=exp.Literal.number(_LONGEST))
    return node


def _grows_little(node: exp.Expr) -> bool:
    """Whether a node replaces parts of a text by others that are not much longer."""
    if not isinstance(node, exp.Replace):
        return False
    old, new = node.expression, node.args["replacement"]
    return bool(old.is_string and new.is_string) and len(new.name) <= _MOST_GROWTH * len(old.name)


def _no_function(name: str) -> BadQuery:
    return BadQuery(f"The function {name[:60]} is not supported in questions about the catalogue.")


def _function(node: exp.Anonymous, setting: Callable[[str], str | None]) -> exp.Expr:
    name = str(node.name).casefold()
    if name == "current_setting" and node.expressions:
        asked = node.expressions[0].find(exp.Literal)
        value = setting("" if asked is None else asked.name)
        return exp.Null() if value is None else exp.Literal.string(value)
    if name == "json_build_object":  # of sequences, of which there are none
        return exp.Null()
    given = [one.copy() for one in node.expressions]
    if name == "all" and len(given) == 1:
        return exp.All(this=exp.Paren(this=given[0]))
    if name in macro_names() or name in _BY_NAME:
        return exp.Anonymous(this=name, expressions=given)
    if _ALWAYS.fullmatch(name):
        return exp.true()
    if name.startswith("pg_"):
        return exp.Literal.number(0) if name.endswith("_size") else exp.Null()
    known = exp.func(name, *given, dialect="postgres")
    if isinstance(known, exp.Anonymous):
        raise _no_function(name)
    return _rebuilt(known, setting)


def _formatted(node: exp.Format) -> exp.Expr:
    """``format`` of texts, as a concatenation."""
    given = [one.copy() for one in node.expressions]
    if not node.this.is_string or len(parts := re.split("%[sIL]", node.this.name)) != len(given) + 1:
        raise _no_function("format")
    pieces: list[exp.Expr] = [exp.Literal.string(parts[0])]
    for value, part in zip(given, parts[1:], strict=True):
        pieces += [exp.cast(value, "VARCHAR"), exp.Literal.string(part)]
    return exp.Left(this=exp.Concat(expressions=pieces), expression=exp.Literal.number(_LONGEST))


def _operator(node: exp.Operator) -> exp.Expr:
    symbol = str(node.args["operator"]).rpartition(".")[2]
    both = {"this": node.this.copy(), "expression": node.expression.copy()}
    match symbol:
        case "~":
            return exp.RegexpLike(**both)
        case "!~":
            return exp.Not(this=exp.RegexpLike(**both))
        case "~*":
            return exp.RegexpILike(**both)
        case "=":
            return exp.EQ(**both)
        case "<>":
            return exp.NEQ(**both)
    raise BadQuery(f"The operator {symbol[:10]} is not supported in questions about the catalogue.")


def _cast(node: exp.Cast) -> exp.Expr:
    written = node.to.sql("postgres").replace('"', "").lower()
    several, plain = written.endswith("[]"), written.removesuffix("[]").removeprefix("pg_catalog.")
    inner = cast("exp.Expr", node.this.copy())
    if several and inner.is_string:
        inner = values.literal_of(inner.name.encode(), values.array_type(values.TEXT).oid, 0)
    match plain:
        case "regclass" if inner.is_string:
            return exp.Anonymous(this="regclass_oid", expressions=[inner])
        case "regclass":
            return exp.Anonymous(this="regclass_name", expressions=[inner])
        case "regtype" if inner.is_string:
            return exp.Anonymous(this="regtype_oid", expressions=[inner])
        case "regtype":
            return exp.Anonymous(this="format_type", expressions=[inner, exp.Null()])
        case "regnamespace" | "regrole":
            return inner
        case "oid" if isinstance(inner, exp.Anonymous) and inner.name == "regclass_name":
            return exp.Anonymous(this="regclass_oid", expressions=inner.expressions)
        case "oid" | "xid":
            made = "BIGINT"
        case "int2vector" | "oidvector":
            made, several = "BIGINT", True
        case _ if plain in _TEXTS and isinstance(inner, exp.Anonymous) and inner.name == "regclass_oid":
            return exp.Anonymous(this="regclass_name", expressions=[inner])
        case _ if plain in _TEXTS:
            made = "VARCHAR"
        case _ if plain in _NUMBERS:
            made = _NUMBERS[plain]
        case _:
            kind = node.to.this if isinstance(node.to, exp.DataType) else None
            if kind is exp.DType.ARRAY and node.to.expressions:
                kind, several = getattr(node.to.expressions[0], "this", None), True
            if kind not in _CASTS:
                raise BadQuery(f"The type {written[:30]} is not supported in questions about the catalogue.")
            made = kind.name
    return exp.cast(inner, f"{made}[]" if several else made)


def _column(node: exp.Column) -> exp.Expr:
    name = node.name.casefold()
    if name in _SYSTEM_COLUMNS:
        return exp.Literal.number(_SYSTEM_COLUMNS[name])
    if name in ("user", "current_role") and not node.table:
        return exp.Anonymous(this="current_role_name")
    if node.args.get("db"):
        return exp.Column(this=node.this.copy(), table=node.args["table"].copy())
    return node
