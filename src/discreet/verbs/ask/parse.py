"""From text to a tree of SQL, or an error in plain words: where it cannot be read, or what to ask instead."""

from __future__ import annotations

from decimal import Decimal

import sqlglot
from sqlglot import exp

from discreet.errors import BadQuery

_STARTS = ("SELECT", "WITH", "FROM", "TABLE", "VALUES", "(")


def statements_of(text: str) -> list[exp.Expr | None]:
    """The statements of a text; one that is empty is ``None``."""
    try:
        return list(sqlglot.parse(text, dialect="duckdb"))
    except sqlglot.errors.ParseError as error:
        raise _unreadable(text, error) from None
    except sqlglot.errors.TokenError:
        raise BadQuery(
            "This is not SQL that can be read.", hint="Perhaps a quote or a comment is opened and not closed."
        ) from None
    except RecursionError:
        raise BadQuery("This is not SQL that can be read: it is nested too deeply.") from None
    except ValueError:  # its tokenizer turns numbers into Python's before it looks at them
        raise BadQuery("This is not SQL that can be read.") from None


def require_supported(select: exp.Select) -> None:
    """An error if a question has what no part of one can have: it says what to ask instead."""
    for node in select.walk():
        if isinstance(node, exp.Window) or (isinstance(node, exp.Select) and node.args.get("qualify")):
            raise BadQuery(
                "Window functions (OVER, QUALIFY) cannot be asked: what they say of one row depends on other people's.",
                hint="GROUP BY gives figures of groups, ORDER BY … LIMIT the largest of them; a subquery in FROM that "
                "groups by the unit computes person by person.",
            )
        if isinstance(node, exp.WithinGroup):
            raise _within_group(node)
        if isinstance(node, exp.Query) and not _in_from(node, select):
            raise BadQuery(
                "A SELECT inside another stands in FROM or WITH, not in a condition or among columns.",
                hint="For IN (SELECT …) and EXISTS, list the values, or JOIN the tables: those about people on their "
                "unit. A figure to compare with is asked first, and then written as a number.",
            )


def _unreadable(text: str, error: sqlglot.errors.ParseError) -> BadQuery:
    """Where reading stopped. What the parser says of it names its own classes, and so is not shown."""
    found = error.errors[0] if error.errors else {}
    near, line, column = found.get("highlight") or "", found.get("line"), found.get("col")
    place = f" at line {line}, column {max(1, column - len(near) + 1)}" if line and column else ""
    said = f", near {near[:40]!r}" if near else ""
    first = text.split(maxsplit=1)[0] if text.split() else ""
    odd = not first.upper().startswith(_STARTS)
    hint = f"A question begins with SELECT or WITH, not with {first[:40]!r}." if odd else "Look just before that."
    return BadQuery(f"This is not SQL that can be read{place}{said}.", hint=hint)


def _within_group(node: exp.WithinGroup) -> BadQuery:
    function, order = node.this, node.find(exp.Ordered)
    share = function.this if isinstance(function, exp.PercentileCont | exp.PercentileDisc) else None
    if order is None or not isinstance(share, exp.Literal) or share.is_string:
        return BadQuery("WITHIN GROUP cannot be asked.", hint="QUANTILE_CONT(x, 0.9) and MEDIAN(x) can.")
    wanted = 1 - Decimal(share.name) if order.args.get("desc") else share.name
    hint = f"Write QUANTILE_CONT({order.this.sql('duckdb')}, {wanted})."
    return BadQuery("WITHIN GROUP cannot be asked.", hint=hint)


def _in_from(query: exp.Query, whole: exp.Select) -> bool:
    """Whether a query stands where rows come from."""
    node: exp.Expr | None = query
    while node is not whole and isinstance(node, exp.Query | exp.Paren):
        node = node.parent
    return node is whole or isinstance(node, exp.From | exp.Join | exp.CTE | exp.Lateral | exp.Table)
