"""Dates and timestamps by the calendar."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from sqlglot import exp

from discreet.core import sql
from discreet.core.catalogue import declare, parameter
from discreet.core.families import HIERARCHIES
from discreet.core.hierarchy.hierarchy import listed, refuse, wrong_other
from discreet.core.kind import MOMENTS, Kind

CalendarUnit: TypeAlias = Literal["hour", "day", "month", "quarter", "year", "decade"]
LEVELS: tuple[str, ...] = get_args(CalendarUnit)


@declare(HIERARCHIES, "dates", example='{ type = "dates", levels = ["month", "year"] }')
class Dates:
    """Calendar units, finest first: hour and day (timestamps only), month, quarter, year, decade.

    Timestamps with a zone are taken in UTC, the time zone of every engine's session. The years 1 to 9999
    are known.
    """

    levels: Sequence[CalendarUnit] = parameter("Units, finest first.", default=("month", "quarter", "year", "decade"))
    other: str | None = parameter("Label of unknown values.", default=None)

    type: ClassVar[str]

    def __post_init__(self) -> None:
        problems = wrong_other(self.other, r"\d")
        levels = listed(self.levels)
        if not levels or not all(level in LEVELS for level in levels):
            problems.append(f"levels must be a list of some of {', '.join(LEVELS)}, got {self.levels!r}")
        elif list(levels) != [level for level in LEVELS if level in levels]:
            problems.append(f"levels must go from fine to coarse, each once: {', '.join(LEVELS)}")
        refuse(self.type, problems)
        object.__setattr__(self, "levels", levels)

    @property
    def kinds(self) -> frozenset[Kind]:
        timed = "hour" in self.levels or "day" in self.levels
        return frozenset({Kind.TIMESTAMP}) if timed else MOMENTS

    @property
    def height(self) -> int:
        return len(self.levels) + 1

    def label(self, value: exp.Expr, level: int, kind: Kind) -> exp.Expr:
        unit = self.levels[level - 1]
        if unit == "hour":
            return sql.joined(day_text(value), " ", _digits("hour", value, 2), "h")
        if unit == "day":
            return day_text(value)
        if unit == "month":
            return _month_text(value)
        year = _part("year", value)
        if unit == "quarter":
            return sql.joined(sql.padded(year, 4), "-Q", sql.as_text(_part("quarter", value)))
        if unit == "year":
            return sql.padded(year, 4)
        return sql.joined(sql.padded(year - year % 10, 4), "s")

    def knows(self, value: exp.Expr, kind: Kind) -> exp.Expr:
        return in_calendar(value, kind)

    def fields(self) -> dict[str, Any]:
        return {"levels": list(self.levels)}


def day_text(value: exp.Expr) -> exp.Expr:
    """The day as 2001-05-05, whatever date style the engine's session has."""
    return sql.joined(_month_text(value), "-", _digits("day", value, 2))


def in_calendar(value: exp.Expr, kind: Kind) -> exp.Expr:
    """Whether a date has a year of four digits: no infinity, nothing before the year 1."""
    if kind is Kind.TIMESTAMP:
        first, last = sql.literal(dt.datetime.min), sql.literal(dt.datetime.max)
    else:
        first, last = sql.literal(dt.date.min), sql.literal(dt.date.max)
    return value.between(first, last)


def _month_text(value: exp.Expr) -> exp.Expr:
    return sql.joined(_digits("year", value, 4), "-", _digits("month", value, 2))


def _digits(unit: str, value: exp.Expr, digits: int) -> exp.Expr:
    return sql.padded(_part(unit, value), digits)


def _part(unit: str, value: exp.Expr) -> exp.Expr:
    return exp.cast(exp.Extract(this=exp.var(unit), expression=value.copy()), exp.DType.INT)
