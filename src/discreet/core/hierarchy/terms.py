"""Pieces of SQL that give the same text on DuckDB, PostgreSQL and Spark.

Engines print floats in their own ways and disagree on integer division, so labels are made of whole numbers
and fixed decimals only, and every division is one of doubles that hold whole numbers exactly.
"""

from __future__ import annotations

from sqlglot import exp


def as_text(value: exp.Expr) -> exp.Expr:
    """A whole number, fixed decimal, boolean or text as text."""
    return exp.cast(value.copy(), exp.DType.TEXT)


def as_double(value: exp.Expr) -> exp.Expr:
    """A number as a double."""
    return exp.cast(value.copy(), exp.DType.DOUBLE)


def as_whole(value: exp.Expr) -> exp.Expr:
    """A double without fraction as a 64-bit integer."""
    return exp.cast(value.copy(), exp.DType.BIGINT)


def floor(value: exp.Expr) -> exp.Expr:
    """The next whole number below."""
    return exp.Floor(this=value.copy())


def fixed(units: exp.Expr, decimals: int) -> exp.Expr:
    """A whole number of units of 10^-decimals as text: 25 with one decimal is ``2.5``."""
    if decimals == 0:
        return as_text(units)
    unit = exp.Literal.number("0." + "1".rjust(decimals, "0"))
    return as_text(exp.cast(units.copy(), "DECIMAL(18, 0)") * unit)


def padded(value: exp.Expr, digits: int) -> exp.Expr:
    """A whole number as text with leading zeros."""
    zero = exp.Literal.string("0")
    return exp.Pad(this=as_text(value), expression=exp.Literal.number(digits), fill_pattern=zero, is_left=True)


def joined(*parts: exp.Expr | str) -> exp.Expr:
    """Texts one after the other."""
    trees = [exp.Literal.string(part) if isinstance(part, str) else part.copy() for part in parts]
    whole = trees[0]
    for part in trees[1:]:
        whole = exp.DPipe(this=whole, expression=part)
    return whole
