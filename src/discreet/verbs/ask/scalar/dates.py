"""Parts of dates, and the calendar units they lie in. With declared bounds, all there can be are known."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.errors import BadQuery
from discreet.verbs.ask.scalar import spans
from discreet.verbs.ask.scalar.moments import CALENDAR, MONTHS, date, day, days, moment, number, part, unit, where
from discreet.verbs.ask.scalar.reader import Reader, Rule, said
from discreet.verbs.ask.value import Value

_FEW = 1000  # fewer calendar units between bounds than this are categories
_PARTS = {"quarter": (1, 4), "month": (1, 12), "day": (1, 31), "isodow": (1, 7), "dow": (0, 6)}
_TIMES = {"hour": (0, 23), "minute": (0, 59)}


def extract(reader: Reader, node: exp.Extract) -> Value:
    """A part of a date or a timestamp as a whole number; the years of an AGE."""
    name = node.name.lower()
    if isinstance(node.expression, exp.Anonymous) and node.expression.name.upper() == "AGE" and name == "year":
        return spans.age(reader, node.expression)
    value = moment(reader, node, node.expression)
    parts = _PARTS | _TIMES if value.kind is Kind.TIMESTAMP else _PARTS
    if name == "year":
        low, high = (date(end).year for end in value.within or CALENDAR)
        made = part("year", value)
    elif name in parts:
        low, high = parts[name]
        made = _weekday(value, sunday=low) if name in ("dow", "isodow") else part(name, value)
    else:
        known = ", ".join(["year", *_PARTS, *_TIMES])
        raise BadQuery(f"{said(node)}: {known} can be extracted, the last two from timestamps.")
    domain = tuple(range(low, high + 1)) if high - low < _FEW else None
    return Value(where(value, CALENDAR, exp.paren(made)), Kind.INTEGER, (Fraction(low), Fraction(high)), domain)


def named_part(reader: Reader, node: exp.Year | exp.Month | exp.Day | exp.Quarter) -> Value:
    """YEAR(x) and the like."""
    return extract(reader, exp.Extract(this=exp.var(type(node).__name__), expression=node.this.copy()))


def truncated(reader: Reader, node: exp.TimestampTrunc | exp.DateTrunc) -> Value:
    """The first day of the month, quarter or year, or the day itself; always a date."""
    value, to = moment(reader, node, node.this), unit(node)
    if to != "day" and to not in MONTHS:
        raise BadQuery(
            f"{said(node)}: dates are cut to day, month, quarter or year.",
            hint="A week is FLOOR(DATE_DIFF('day', DATE '2024-01-01', x) / 7), counted from a Monday.",
        )
    within = value.within and (number(_first(date(value.within[0]), to)), number(_first(date(value.within[1]), to)))
    return Value(where(value, CALENDAR, _begin(value, to)), Kind.DATE, within, _firsts(value, to))


def _begin(value: Value, to: str) -> exp.Expr:
    if to == "day":
        return day(value)
    year, month, quarter = (part(name, value, exp.DType.INT) for name in ("year", "month", "quarter"))
    if to == "quarter":
        month = exp.paren(quarter * sql.literal(3)) - sql.literal(2)
    if to == "year":
        month = sql.literal(1)
    return exp.cast(exp.Anonymous(this="MAKE_DATE", expressions=[year, month, sql.literal(1)]), exp.DType.DATE)


def _firsts(value: Value, to: str) -> tuple[dt.date, ...] | None:
    """All there can be between known bounds, if they are few."""
    if value.within is None:
        return None
    first, last = date(value.within[0]), date(value.within[1])
    if to == "day":
        every = [date(Fraction(one)) for one in range(first.toordinal(), last.toordinal() + 1)[:_FEW]]
    else:
        step = MONTHS[to]
        places = range((12 * first.year + first.month - 1) // step, (12 * last.year + last.month - 1) // step + 1)
        every = [dt.date(one * step // 12, one * step % 12 + 1, 1) for one in places[:_FEW]]
    return tuple(every) if len(every) < _FEW else None


def _first(day: dt.date, to: str) -> dt.date:
    return day if to == "day" else day.replace(month=day.month - (day.month - 1) % MONTHS[to], day=1)


def _weekday(value: Value, *, sunday: int) -> exp.Expr:
    """0 to 6 from Sunday, or 1 to 7 from Monday: the calendar begins on a Monday."""
    since = days(sql.literal(dt.date.min), day(value))
    if sunday == 0:
        return exp.Mod(this=exp.paren(since + sql.literal(1)), expression=sql.literal(7))
    return exp.paren(exp.Mod(this=since, expression=sql.literal(7))) + sql.literal(1)


RULES: dict[type[exp.Expr], Rule] = {
    exp.Extract: extract,
    exp.Year: named_part,
    exp.Quarter: named_part,
    exp.Month: named_part,
    exp.Day: named_part,
    exp.TimestampTrunc: truncated,
    exp.DateTrunc: truncated,
}
