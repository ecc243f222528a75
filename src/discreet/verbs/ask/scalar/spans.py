"""Spans of time: between two dates, and days or months later.

Why the bounds hold: a difference grows with the later date and falls with the earlier one, and a date that is moved
grows with what it was. So what comes of the bounds lies around what comes of any date between them.
"""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.errors import BadQuery
from discreet.verbs.ask.scalar.moments import CALENDAR, MONTHS, date, day, days, moment, number, part, unit, where
from discreet.verbs.ask.scalar.reader import Reader, Rule, computed, given, said
from discreet.verbs.ask.value import Interval, Value

_DAYS = {"day": 1, "week": 7}
_UNITS = _DAYS | MONTHS


def difference(reader: Reader, node: exp.DateDiff) -> Value:
    """How many days, or beginnings of months, quarters or years, lie between two dates."""
    to, earlier, later = unit(node), moment(reader, node, node.expression), moment(reader, node, node.this)
    if to == "day":
        return days_between(node, earlier, later)
    if to not in MONTHS:
        raise BadQuery(f"{said(node)}: differences are counted in day, month, quarter or year.")
    made = exp.Sub(this=_place(later, to), expression=_place(earlier, to))

    def place(one: dt.date) -> int:
        return (12 * one.year + one.month - 1) // MONTHS[to]

    return _apart(node, earlier, later, made, lambda a, b: place(b) - place(a))


def days_between(node: exp.Expr, earlier: Value, later: Value) -> Value:
    """How many midnights lie between two dates."""
    return _apart(node, earlier, later, days(day(earlier), day(later)), lambda a, b: (b - a).days)


def age(reader: Reader, node: exp.Anonymous) -> Value:
    """Full years from the second date to the first; who is born on 29 February has a birthday on 1 March."""
    if len(node.expressions) != 2:
        raise BadQuery(f"{said(node)}: an age is that on a given day.", hint="Write AGE(DATE '2024-12-31', born).")
    later, earlier = (moment(reader, node, one) for one in node.expressions)
    made = exp.case().when(exp.GTE(this=day(later), expression=day(earlier)), _full_years(earlier, later))
    return _apart(node, earlier, later, made.else_(exp.Neg(this=exp.paren(_full_years(later, earlier)))), _years)


def later(reader: Reader, node: exp.Add | exp.Sub | exp.DateAdd) -> Value:
    """A date or a timestamp some days or months later, or earlier; the last day of a month that is too short."""
    value = moment(reader, node, node.this)
    if not isinstance(node.expression, exp.Interval):
        raise BadQuery(f"{said(node)}: what is added is an INTERVAL, like INTERVAL 3 MONTH.")
    to, count = _interval(reader, node.expression)
    return _moved(node, value, to, -count if isinstance(node, exp.Sub) else count)


def days_later(node: exp.Expr, value: Value, count: Value, way: int) -> Value:
    """A date a given whole number of days later, or earlier."""
    whole = given(count)
    if whole is None:
        raise BadQuery(f"{said(node)}: a given number of days, or an INTERVAL, is added to a date.")
    return _moved(node, value, "day", way * int(whole))


def interval(_: Reader, node: exp.Interval) -> Value:
    """An interval on its own is no value."""
    raise BadQuery(f"{said(node)}: an INTERVAL is added to a date or taken from it.", hint="Like x + INTERVAL 3 MONTH.")


def _apart(
    node: exp.Expr, earlier: Value, later: Value, made: exp.Expr, apart: Callable[[dt.date, dt.date], int]
) -> Value:
    (a, b), (c, d) = (map(date, value.within or CALENDAR) for value in (earlier, later))
    inside = where(earlier, CALENDAR, where(later, CALENDAR, made))
    return computed(node, inside, (Fraction(apart(b, c)), Fraction(apart(a, d))), Kind.INTEGER)


def _place(value: Value, to: str) -> exp.Expr:
    """The number of the month, quarter or year a date lies in, up to a constant."""
    year = part("year", value)
    return year if to == "year" else exp.paren(year * sql.literal(12 // MONTHS[to]) + part(to, value))


def _full_years(earlier: Value, later: Value) -> exp.Expr:
    def in_year(value: Value) -> exp.Expr:
        return exp.paren(part("month", value) * sql.literal(32) + part("day", value))

    before = exp.case().when(in_year(later) < in_year(earlier), sql.literal(1)).else_(sql.literal(0))
    return exp.paren(part("year", later) - part("year", earlier)) - before


def _years(earlier: dt.date, later: dt.date) -> int:
    if later < earlier:
        return -_years(later, earlier)
    return later.year - earlier.year - ((later.month, later.day) < (earlier.month, earlier.day))


def _interval(reader: Reader, node: exp.Interval) -> tuple[str, int]:
    """Days or months, and how many."""
    to, count = unit(node), node.this
    if isinstance(count, exp.Literal) and count.is_string:
        digits = count.name.removeprefix("-")
        whole = Fraction(count.name) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else None
    else:
        whole = given(reader.of(count))
    if whole is None or to not in _UNITS:
        raise BadQuery(f"{said(node)}: an INTERVAL is a whole number of days, weeks, months, quarters or years.")
    return ("day" if to in _DAYS else "month"), int(whole) * _UNITS[to]


def _moved(node: exp.Expr, value: Value, to: str, count: int) -> Value:
    kept = _movable(to, count)
    if kept is None or (value.within and (value.within[1] < kept[0] or kept[1] < value.within[0])):
        raise BadQuery(f"{said(node)} is never in the years 1 to 9999.")
    step = exp.Interval(this=sql.literal(str(count)), unit=exp.var(to.upper()))
    type_ = exp.DType.DATE if value.kind is Kind.DATE else exp.DType.TIMESTAMPNTZ
    made = where(value, kept, exp.cast(exp.Add(this=exp.paren(value.sql.copy()), expression=step), type_))
    if value.within is None:
        return Value(made, value.kind)
    low, high = max(value.within[0], kept[0]), min(value.within[1], kept[1])
    return Value(made, value.kind, (number(_move(date(low), to, count)), number(_move(date(high), to, count))))


def _movable(to: str, count: int) -> Interval | None:
    """The days that stay in the calendar."""
    if to == "day":
        low, high = CALENDAR[0] - min(count, 0), CALENDAR[1] - max(count, 0)
        return (low, high) if low <= high else None
    first, last = 12 - min(count, 0), 12 * 10_000 - 1 - max(count, 0)  # months from that of the year 0
    return (number(_month(first)), number(_month(last, 31))) if first <= last else None


def _move(one: dt.date, to: str, count: int) -> dt.date:
    if to == "day":
        return one + dt.timedelta(days=count)
    return _month(12 * one.year + one.month - 1 + count, one.day)


def _month(place: int, day: int = 1) -> dt.date:
    """A day of a month, or its last day if it has fewer."""
    year, month = place // 12, place % 12 + 1
    return dt.date(year, month, min(day, calendar.monthrange(year, month)[1]))


RULES: dict[type[exp.Expr], Rule] = {
    exp.DateDiff: difference,
    exp.DateAdd: later,
    exp.Interval: interval,
}
