"""Attempts on PostgreSQL, which has no expression that is NULL where another fails.

Most questions fail on no row, so they are run as they are. Where one fails on some value, it is run again with every
attempt as a call of a function that catches the error, row by row: rows on which nothing fails get the same value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.core import sql

if TYPE_CHECKING:
    import psycopg


def with_functions(connection: psycopg.Connection[Any], query: exp.Query) -> exp.Query:
    """The query with its attempts as calls of functions, which are gone with the connection."""
    made: dict[str, exp.Expr] = {}
    guarded = query.copy()
    for node in reversed(sql.attempts(guarded)):  # what a source computes is known before what is made of it
        select = node.parent_select
        assert isinstance(select, exp.Select)  # noqa: S101  # an attempt is a part of a query
        source, computed = select.args["from_"].this, node.expressions[0]
        key = f"{computed.sql('postgres')} of {source.sql('postgres')}"
        if key not in made:
            made[key] = _function(connection, f"pg_temp.discreet_attempt_{len(made)}", computed, source)
        node.replace(made[key].copy())
    return guarded


def _function(connection: psycopg.Connection[Any], name: str, computed: exp.Expr, source: exp.Expr) -> exp.Expr:
    columns = sorted({column.name for column in computed.find_all(exp.Column)})
    shown = exp.select(computed.copy(), *map(sql.column, columns), copy=False).from_(source.copy(), copy=False)
    found = connection.execute(shown.limit(0).sql("postgres")).description or ()
    types = [
        row[0]
        for one in found
        for row in connection.execute("SELECT pg_catalog.format_type(%s, NULL)", [one.type_code]).fetchall()
    ]
    takes = [f"{sql.column(column).sql('postgres')} {type_}" for column, type_ in zip(columns, types[1:], strict=True)]
    body = f"BEGIN RETURN {computed.sql('postgres')}; EXCEPTION WHEN OTHERS THEN RETURN NULL; END"
    connection.execute(
        f"CREATE FUNCTION {name}({', '.join(takes)}) RETURNS {types[0]} LANGUAGE plpgsql IMMUTABLE "
        f"AS {sql.text(body, 'postgres')}"
    )
    return exp.Anonymous(this=name, expressions=[sql.column(column) for column in columns])
