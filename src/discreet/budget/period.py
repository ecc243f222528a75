"""Periods of budgets that renew: days, weeks, months, quarters and years, at fixed boundaries in UTC.

Periods are numbered, so that later ones have larger numbers. Which one an account is in is the ledger's word: the
largest number of the times of its lines so far (``entries.py``). A clock that runs backwards therefore opens no period
again, and one that ran ahead leaves the account in the period that it opened until that is over.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

_DAYS_A_WEEK, _MONTHS_A_QUARTER, _MONTHS_A_YEAR = 7, 3, 12


def _month(day: dt.date) -> int:
    return day.year * _MONTHS_A_YEAR + day.month - 1


def _first_of_month(number: int) -> dt.date:
    return dt.date(number // _MONTHS_A_YEAR, number % _MONTHS_A_YEAR + 1, 1)


_NUMBER: dict[str, Callable[[dt.date], int]] = {
    "day": dt.date.toordinal,
    "week": lambda day: (day.toordinal() - 1) // _DAYS_A_WEEK,  # from Monday on
    "month": _month,
    "quarter": lambda day: _month(day) // _MONTHS_A_QUARTER,
    "year": lambda day: day.year,
}
_FIRST: dict[str, Callable[[int], dt.date]] = {
    "day": dt.date.fromordinal,
    "week": lambda number: dt.date.fromordinal(number * _DAYS_A_WEEK + 1),
    "month": _first_of_month,
    "quarter": lambda number: _first_of_month(number * _MONTHS_A_QUARTER),
    "year": lambda number: dt.date(number, 1, 1),
}
PERIODS = tuple(_NUMBER)
"""After what a budget may renew."""


def period_number(period: str, at: dt.datetime) -> int:
    """The number of the period that a time is in."""
    return _NUMBER[period](at.astimezone(dt.UTC).date())


def first_day(period: str, number: int) -> dt.date | None:
    """The first day of a period, in UTC; ``None`` after the year 9999, with which the calendar ends."""
    try:
        return _FIRST[period](number)
    except ValueError:
        return None
