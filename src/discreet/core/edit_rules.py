"""Conditions that no row can meet, as a card declares them: ``age < 15 AND status = 'married'``."""

from __future__ import annotations

from collections.abc import Iterable

import sqlglot
from sqlglot import exp

from discreet.core import sql
from discreet.errors import BadInput

_ALLOWED = (
    exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In,
    exp.Is, exp.Null, exp.Boolean, exp.Literal, exp.Column, exp.Identifier, exp.Neg, exp.Add, exp.Sub, exp.Mul,
    exp.Cast, exp.DataType,
)  # fmt: skip
_TRUTHS = (exp.And, exp.Or, exp.Not, exp.Predicate, exp.Between, exp.In, exp.Is, exp.Column, exp.Boolean)


def condition(text: str) -> exp.Expr:
    """The condition that ``text`` says: comparisons of columns and values, with AND, OR and NOT; nothing else."""
    try:
        found = sqlglot.parse_one(text, dialect="duckdb")
    except sqlglot.errors.SqlglotError as error:
        raise BadInput(f"{text!r} is not an SQL condition: {str(error).splitlines()[0]}") from None
    strange = next((one for one in found.walk() if not isinstance(one, _ALLOWED)), None)
    while isinstance(found, exp.Paren):
        found = found.this
    if strange is not None or not isinstance(found, _TRUTHS):
        what = type(strange or found).__name__.upper()
        raise BadInput(f"{text!r} is not a simple condition: {what} is not allowed.")
    return found


def named(text: str) -> tuple[str, ...]:
    """The columns that a condition names, as it writes them."""
    return tuple(dict.fromkeys(one.name for one in condition(text).find_all(exp.Column)))


def known(text: str, columns: Iterable[str]) -> exp.Expr | None:
    """The condition with the columns as a table spells them; ``None`` if it names one that is not there."""
    spelled = {name.casefold(): name for name in columns}
    if not all(name.casefold() in spelled for name in named(text)):
        return None
    return condition(text).transform(
        lambda one: sql.column(spelled[one.name.casefold()]) if isinstance(one, exp.Column) else one
    )
