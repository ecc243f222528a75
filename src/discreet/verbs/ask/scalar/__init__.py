"""Row-wise expressions, rewritten so that no row can make them fail.

An error that one person's row causes and another's does not would tell something about that person, so there
are none: numbers are bounded before they are computed with, a divisor cannot be zero, casts cannot fail. What is
not listed here is refused by name, never passed on.

Whole numbers are exactly within their bounds. Doubles are so up to rounding, which a difference and a division
after it can make large; so they are cut to their bounds where they are divided by, put into a root or a logarithm,
or become whole numbers again. Dates are within their bounds, as days; what has none lies in the years 1 to 9999,
and is NULL where it does not.

Whatever engines do differently (halves, missing texts in CONCAT, months, LIKE's escapes) is written out in what they
do alike, so that an answer does not depend on where the rows live.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import LISTABLE, MOMENTS, Kind
from discreet.errors import BadQuery
from discreet.verbs.ask.scalar import conditions, dates, numbers, patterns, texts
from discreet.verbs.ask.value import SAFE, WEIGHT, Columns, Reader, Rule, Value, said

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_LONGEST_NUMBER = 20  # of 64 bits with its sign; a date is shorter
_TEXTS = LISTABLE - {Kind.BOOLEAN}
"""Kinds that have one text each, the same on every engine."""
_HEAVIEST = 5_000
"""Nodes of an expression, with those of the SELECTs inside that it is computed of."""


def literal(_: Reader, node: exp.Literal) -> Value:
    """A text or a number. A number that is not whole is the nearest double."""
    if node.is_string:
        return Value(sql.literal(node.name), Kind.TEXT, domain=(node.name,))
    try:
        decimal = Decimal(node.name)
    except InvalidOperation:
        raise BadQuery(f"{said(node)} is not a number.") from None
    if decimal and abs(decimal.adjusted()) > 50:  # before it is written out
        raise BadQuery(f"{said(node)} is too {'large' if decimal.adjusted() > 0 else 'small'} to compute with.")
    exact = Fraction(decimal)
    if abs(exact) > SAFE:
        raise BadQuery(f"{said(node)} is too large to compute.")
    if exact.denominator == 1:
        return Value(sql.literal(int(exact)), Kind.INTEGER, (exact, exact), (int(exact),))
    double = Fraction(float(exact))
    return Value(sql.literal(float(exact)), Kind.REAL, (double, double))


def boolean(_: Reader, node: exp.Boolean) -> Value:
    """TRUE or FALSE."""
    return Value(exp.Boolean(this=bool(node.this)), Kind.BOOLEAN, domain=(bool(node.this),))


def null(_: Reader, __: exp.Null) -> Value:
    """NULL has no kind, so it stands only where another value gives it one."""
    raise BadQuery("NULL is only supported after IS, and in IN, CASE, COALESCE and NULLIF with other values.")


def cast(reader: Reader, node: exp.Cast) -> Value:
    """Numbers to DOUBLE; numbers to the nearest INTEGER; TRUE to 1; integers and dates to TEXT; days and moments."""
    value, to = reader.of(node.this), node.to
    moment = Kind.DATE if to.is_type("date") else Kind.TIMESTAMP if to.is_type("timestamp", "timestampntz") else None
    if moment is not None and (dates.quoted(value) or value.kind in MOMENTS):
        return dates.as_moment(value, moment)
    if to.is_type("double", "float") and value.number:
        return Value(value.as_double, Kind.REAL, value.within)
    if to.is_type(*_WHOLE) and value.number:
        return numbers.nearest(node, value)
    if to.is_type(*_WHOLE) and value.kind is Kind.BOOLEAN:
        holds = exp.paren(value.sql.copy())
        made = exp.case().when(holds, sql.literal(1)).when(exp.not_(holds.copy()), sql.literal(0))
        return Value(made, Kind.INTEGER, (Fraction(0), Fraction(1)), (0, 1))
    if to.is_type("text", "varchar") and value.kind in _TEXTS:
        longest = value.characters if value.kind is Kind.TEXT else _LONGEST_NUMBER
        return texts.made_text(node, exp.cast(value.sql.copy(), exp.DType.TEXT), longest)
    raise BadQuery(
        f"CAST from {value.kind.value} to {to.sql(dialect='duckdb')} could fail on some row.",
        hint="Supported: numbers to DOUBLE or INTEGER, conditions to INTEGER, integers and dates to TEXT.",
    )


def date(reader: Reader, node: exp.Date) -> Value:
    """``DATE(x)``."""
    return cast(reader, exp.cast(node.this.copy(), exp.DType.DATE, copy=False))


_RULES: dict[type[exp.Expr], Rule] = {
    exp.Column: Reader.column,
    exp.Paren: lambda reader, node: reader.of(node.this),
    exp.Literal: literal,
    exp.Boolean: boolean,
    exp.Null: null,
    exp.Cast: cast,
    exp.Date: date,
    **numbers.RULES,
    **conditions.RULES,
    **texts.RULES,
    **patterns.RULES,
    **dates.RULES,
}


def scalar(node: exp.Expr, columns: Columns) -> Value:
    """What ``node`` computes for a row with these columns.

    Engines replace a column of a SELECT inside by what it was computed of, wherever it is used: a few SELECTs that use
    what is inside twice would make trees without end. So how many nodes there are then is known beforehand.
    """
    value = Reader(columns, _RULES).of(node)
    weights = {one.value.sql.name: one.value.weight for one in columns.known}
    parts = value.sql.walk()
    weight = sum(weights.get(one.name, 1) if isinstance(one, exp.Column) else 1 for one in parts)
    if weight > _HEAVIEST:
        raise BadQuery(
            f"{said(node)} is too long, including the subqueries it uses.",
            hint="Use the columns of subqueries less often.",
        )
    if not isinstance(value.sql, exp.Column):
        value.sql.meta[WEIGHT] = weight
    return replace(value, weight=weight)
