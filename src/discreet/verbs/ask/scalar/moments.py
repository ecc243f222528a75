"""Dates and timestamps as SQL, on no row outside the calendar.

Bounds of a date are days, counted as Python does (the first of January of the year 1 is day 1); those of a
timestamp are the days it lies in. Engines know dates that Python does not, and some know infinite ones: what lies
outside the years 1 to 9999 is NULL wherever something is computed of it.
"""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.errors import BadQuery
from discreet.verbs.ask.scalar.reader import Reader, said
from discreet.verbs.ask.value import Interval, Value

MOMENTS = (Kind.DATE, Kind.TIMESTAMP)
CALENDAR = (Fraction(dt.date.min.toordinal()), Fraction(dt.date.max.toordinal()))
MONTHS = {"month": 1, "quarter": 3, "year": 12}


def moment(reader: Reader, node: exp.Expr, part: exp.Expr | None) -> Value:
    """A part of ``node`` that must be a date or a timestamp."""
    value = reader.of(part)
    if value.kind not in MOMENTS:
        raise BadQuery(f"{said(node)} is asked of dates and timestamps, not of {value.kind.value}.")
    return value


def as_moment(value: Value, kind: Kind) -> Value:
    """A text in quotes, a date or a timestamp as a date or a timestamp; a date's is its midnight."""
    if quoted(value):
        return _read(value.sql.name, kind)
    if value.kind is kind:
        return value
    if kind is Kind.DATE:
        return Value(day(value), kind, value.within)
    return Value(where(value, CALENDAR, exp.cast(value.sql.copy(), exp.DType.TIMESTAMPNTZ)), kind, value.within)


def as_moment_beside(value: Value, other: Value) -> Value:
    """A text in quotes beside a date or a timestamp is one too, as in SQL."""
    return as_moment(value, other.kind) if quoted(value) and other.kind in MOMENTS else value


def quoted(value: Value) -> bool:
    """Whether it is a text as it is written in the question."""
    return isinstance(value.sql, exp.Literal) and value.kind is Kind.TEXT


def where(value: Value, kept: Interval, made: exp.Expr) -> exp.Expr:
    """``made`` of dates that lie there; NULL of others, which are looked for only if there can be any."""
    if value.within is not None and kept[0] <= value.within[0] and value.within[1] <= kept[1]:
        return made
    low, high = (sql.literal(date(end)) for end in kept)
    return exp.case().when(exp.Between(this=day(value), low=low, high=high), made)


def unit(node: exp.Expr) -> str:
    """The unit of time that is named there."""
    return node.text("unit").lower().removesuffix("s")


def part(name: str, value: Value, to: exp.DType = exp.DType.BIGINT) -> exp.Expr:
    """A part of a date or a timestamp that is in the calendar, as a whole number."""
    return exp.cast(exp.Extract(this=exp.var(name.upper()), expression=value.sql.copy()), to)


def day(value: Value) -> exp.Expr:
    """The day a date is, or a timestamp is on."""
    return value.sql.copy() if value.kind is Kind.DATE else exp.cast(value.sql.copy(), exp.DType.DATE)


def days(earlier: exp.Expr, later: exp.Expr) -> exp.Expr:
    """How many days lie between two dates."""
    return exp.cast(exp.DateDiff(this=later, expression=earlier, unit=exp.var("DAY")), exp.DType.BIGINT)


def date(number: Fraction) -> dt.date:
    """The day of that number."""
    return dt.date.fromordinal(int(number))


def number(day: dt.date) -> Fraction:
    """The number of a day."""
    return Fraction(day.toordinal())


def _read(text: str, kind: Kind) -> Value:
    try:
        found = dt.date.fromisoformat(text) if kind is Kind.DATE else dt.datetime.fromisoformat(text)
    except ValueError:
        raise BadQuery(f"{text!r} is no date or time.", hint="Write it like 2001-12-31, or 2001-12-31 23:59.") from None
    if isinstance(found, dt.datetime) and found.tzinfo is not None:
        raise BadQuery(f"{text!r} has a time zone.", hint="Write it in UTC, without one.")
    return Value(sql.literal(found), kind, (number(found), number(found)))
