"""Dates and timestamps: their parts, calendar units, differences and intervals, on no row outside the calendar.

Bounds of a date are days, counted as Python does (the first of January of the year 1 is day 1); those of a
timestamp are the days it lies in. Engines know dates that Python does not, and some know infinite ones: what lies
outside the years 1 to 9999 is NULL wherever something is computed of it.

Why the bounds of differences and of moved dates hold: a difference grows with the later date and falls with the earlier
one, and a date that is moved grows with what it was. So what comes of the bounds lies around what comes of any date
between them. With declared bounds, all parts and calendar units there can be are known.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import MOMENTS, Kind
from discreet.errors import BadQuery
from discreet.verbs.ask.value import CHARACTERS, Interval, Reader, Rule, Value, computed, given, said

CALENDAR = (Fraction(dt.date.min.toordinal()), Fraction(dt.date.max.toordinal()))
MONTHS = {"month": 1, "quarter": 3, "year": 12}
_FEW = 1000  # fewer calendar units between bounds than this are categories
_PARTS = {
    "quarter": (1, 4), "month": (1, 12), "week": (1, 53), "doy": (1, 366), "day": (1, 31), "isodow": (1, 7),
    "dow": (0, 6),
}  # fmt: skip
_OTHER_NAMES = {"dayofweek": "dow", "dayofweekiso": "isodow", "dayofyear": "doy", "weekofyear": "week"}
_CODES = {"Y": ("year", 4), "m": ("month", 2), "d": ("day", 2), "H": ("hour", 2), "M": ("minute", 2)}
"""Codes of STRFTIME: the part they stand for, and how many digits it has."""
_TIMES = {"hour": (0, 23), "minute": (0, 59)}
_DAYS = {"day": 1, "week": 7}
_UNITS = _DAYS | MONTHS


def moment(reader: Reader, node: exp.Expr, part: exp.Expr | None) -> Value:
    """A part of ``node`` that must be a date or a timestamp."""
    value = reader.of(part)
    if value.kind not in MOMENTS:
        raise BadQuery(f"{said(node)} applies to dates and timestamps, not to {value.kind.value}.")
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
        what, example = ("date", "2001-12-31") if kind is Kind.DATE else ("date or time", "2001-12-31 23:59")
        raise BadQuery(f"{text!r} is not a {what}.", hint=f"Write it like {example}.") from None
    if isinstance(found, dt.datetime) and found.tzinfo is not None:
        raise BadQuery(f"{text!r} has a time zone.", hint="Write it in UTC, without one.")
    return Value(sql.literal(found), kind, (number(found), number(found)))


def extract(reader: Reader, node: exp.Extract) -> Value:
    """A part of a date or a timestamp as a whole number; the years of an AGE."""
    name = _OTHER_NAMES.get(node.name.lower(), node.name.lower())
    if isinstance(node.expression, exp.Anonymous) and node.expression.name.upper() == "AGE" and name == "year":
        return age(reader, node.expression)
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
    """The first day of the week (a Monday), month, quarter or year, or the day itself; always a date."""
    value, to = moment(reader, node, node.this), unit(node)
    if to not in _UNITS:
        raise BadQuery(f"{said(node)}: dates can be truncated to day, week, month, quarter or year.")
    within = value.within and (number(_first(date(value.within[0]), to)), number(_first(date(value.within[1]), to)))
    return Value(where(value, CALENDAR, _begin(value, to)), Kind.DATE, within, _firsts(value, to))


def _begin(value: Value, to: str) -> exp.Expr:
    if to == "day":
        return day(value)
    if to == "week":
        return exp.cast(exp.TimestampTrunc(this=day(value), unit=exp.var("WEEK")), exp.DType.DATE)
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
    if to in _DAYS:
        start, end = _first(first, to).toordinal(), last.toordinal() + 1
        every = [date(Fraction(one)) for one in range(start, end, _DAYS[to])[:_FEW]]
    else:
        step = MONTHS[to]
        places = range((12 * first.year + first.month - 1) // step, (12 * last.year + last.month - 1) // step + 1)
        every = [dt.date(one * step // 12, one * step % 12 + 1, 1) for one in places[:_FEW]]
    return tuple(every) if len(every) < _FEW else None


def _first(day: dt.date, to: str) -> dt.date:
    if to in _DAYS:
        return dt.date.fromordinal(day.toordinal() - (day.weekday() if to == "week" else 0))
    return day.replace(month=day.month - (day.month - 1) % MONTHS[to], day=1)


def formatted(reader: Reader, node: exp.TimeToStr) -> Value:
    """STRFTIME: a date as a text, such as 2024-07, of its parts and what stands between them."""
    value, form = moment(reader, node, node.this), node.args.get("format")
    text = form.name if isinstance(form, exp.Literal) and form.is_string else ""
    known = "".join(f"%{code}, " for code in _CODES).removesuffix(", ")
    codes = [code for code, between in re.findall("%(.)|([^%A-Za-z]+)", text) if code]
    if not codes or re.sub("%.|[^%A-Za-z]+", "", text) or not set(codes) <= set(_CODES):
        raise BadQuery(f"{said(node)}: the format of a date may use {known}, and no other letters.")
    if value.kind is Kind.DATE and {"H", "M"} & set(codes):
        raise BadQuery(f"{said(node)}: a date has no hours and minutes; a timestamp does.")
    pieces = [
        _padded(part(_CODES[code][0], value), _CODES[code][1]) if code else sql.literal(between)
        for code, between in re.findall("%(.)|([^%]+)", text)
    ]
    made = pieces[0]
    for one in pieces[1:]:
        made = exp.DPipe(this=made, expression=one, safe=False)
    made.meta[CHARACTERS] = longest = len(text) + 2 * len(codes)
    to = "day" if "d" in codes else "month" if "m" in codes else "year"
    every = None if {"H", "M"} & set(codes) else _firsts(value, to)
    domain = None if every is None else tuple(dict.fromkeys(_written(text, one) for one in every))
    return Value(where(value, CALENDAR, made), Kind.TEXT, domain=domain, longest=longest)


def _padded(number: exp.Expr, digits: int) -> exp.Expr:
    """A whole number with zeros before it."""
    long = exp.cast(exp.paren(number + sql.literal(10**digits)), exp.DType.TEXT)
    return exp.Substring(this=long, start=sql.literal(2), length=sql.literal(digits))


def _written(text: str, one: dt.date) -> str:
    """Python's own %Y has no zeros before a short year everywhere."""
    return text.replace("%Y", f"{one.year:04}").replace("%m", f"{one.month:02}").replace("%d", f"{one.day:02}")


def _weekday(value: Value, *, sunday: int) -> exp.Expr:
    """0 to 6 from Sunday, or 1 to 7 from Monday: the calendar begins on a Monday."""
    since = days(sql.literal(dt.date.min), day(value))
    if sunday == 0:
        return exp.Mod(this=exp.paren(since + sql.literal(1)), expression=sql.literal(7))
    return exp.paren(exp.Mod(this=since, expression=sql.literal(7))) + sql.literal(1)


def difference(reader: Reader, node: exp.DateDiff) -> Value:
    """How many days, or beginnings of months, quarters or years, lie between two dates."""
    to, earlier, later = unit(node), moment(reader, node, node.expression), moment(reader, node, node.this)
    if to == "day":
        return days_between(node, earlier, later)
    if to not in MONTHS:
        raise BadQuery(f"{said(node)}: differences can be counted in day, month, quarter or year.")
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
        raise BadQuery(
            f"{said(node)}: AGE needs a day and a date of birth.", hint="Write AGE(DATE '2024-12-31', born)."
        )
    later, earlier = (moment(reader, node, one) for one in node.expressions)
    made = exp.case().when(exp.GTE(this=day(later), expression=day(earlier)), _full_years(earlier, later))
    return _apart(node, earlier, later, made.else_(exp.Neg(this=exp.paren(_full_years(later, earlier)))), _years)


def later(reader: Reader, node: exp.Add | exp.Sub | exp.DateAdd) -> Value:
    """A date or a timestamp some days or months later, or earlier; the last day of a month that is too short."""
    value = moment(reader, node, node.this)
    if not isinstance(node.expression, exp.Interval):
        raise BadQuery(f"{said(node)}: only an INTERVAL can be added, such as INTERVAL 3 MONTH.")
    to, count = _interval(reader, node.expression)
    return _moved(node, value, to, -count if isinstance(node, exp.Sub) else count)


def days_later(node: exp.Expr, value: Value, count: Value, way: int) -> Value:
    """A date a given whole number of days later, or earlier."""
    whole = given(count)
    if whole is None:
        raise BadQuery(f"{said(node)}: only a constant number of days, or an INTERVAL, can be added to a date.")
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
        raise BadQuery(f"{said(node)}: an INTERVAL must be a whole number of days, weeks, months, quarters or years.")
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
    exp.Extract: extract,
    exp.Year: named_part,
    exp.Quarter: named_part,
    exp.Month: named_part,
    exp.Day: named_part,
    exp.TimestampTrunc: truncated,
    exp.DateTrunc: truncated,
    exp.TimeToStr: formatted,
    exp.DateDiff: difference,
    exp.DateAdd: later,
    exp.Interval: interval,
}
