"""Top and bottom coding: the extremes, which single people out, become one group each."""

from __future__ import annotations

import datetime as dt
from typing import Any, ClassVar

from sqlglot import exp

from discreet.core import sql
from discreet.core.catalogue import declare, parameter
from discreet.core.families import HIERARCHIES
from discreet.core.hierarchy.dates import day_text, in_calendar
from discreet.core.hierarchy.hierarchy import refuse, wrong_other
from discreet.core.kind import Kind


@declare(HIERARCHIES, "coding", example='{ type = "coding", top = 90 }')
class Coding:
    """Values below ``bottom`` and from ``top`` on are grouped; those between keep their text.

    For whole numbers and dates: no other kind of number has the same text on every engine (``Intervals``
    has a bottom and a top too).
    """

    bottom: int | dt.date | None = parameter("All values below this are one group.", default=None)
    top: int | dt.date | None = parameter("All values from this one up are one group.", default=None)
    other: str | None = parameter("Label of unknown values.", default=None)

    type: ClassVar[str]
    height: ClassVar[int] = 2

    def __post_init__(self) -> None:
        problems = wrong_other(self.other, r"[<>]|-?\d")
        ends = {"bottom": self.bottom, "top": self.top}
        given = {name: end for name, end in ends.items() if end is not None}
        if not given:
            problems.append("bottom, top or both must be declared")
        for name, end in given.items():
            if isinstance(end, bool | dt.datetime) or not isinstance(end, int | dt.date):
                problems.append(f"{name} must be a whole number or a date, got {end!r}")
        refuse(self.type, problems)
        if len({type(end) for end in given.values()}) > 1:
            refuse(self.type, ["bottom and top must both be whole numbers or both dates"])
        if len(given) == 2 and self.bottom >= self.top:  # type: ignore[operator]  # both of one type
            refuse(self.type, [f"bottom {self.bottom} is not below top {self.top}"])

    @property
    def kinds(self) -> frozenset[Kind]:
        whole = isinstance(self.bottom if self.top is None else self.top, int)
        return frozenset({Kind.INTEGER if whole else Kind.DATE})

    def label(self, value: exp.Expr, level: int, kind: Kind) -> exp.Expr:
        coded = exp.case()
        if self.bottom is not None:
            coded = coded.when(value < sql.literal(self.bottom), sql.literal(f"<{self.bottom}"))
        if self.top is not None:
            coded = coded.when(value >= sql.literal(self.top), sql.literal(f">={self.top}"))
        return coded.else_(day_text(value) if kind is Kind.DATE else sql.as_text(value))

    def knows(self, value: exp.Expr, kind: Kind) -> exp.Expr | None:
        return in_calendar(value, kind) if kind is Kind.DATE else None

    def fields(self) -> dict[str, Any]:
        ends = {"bottom": self.bottom, "top": self.top}
        return {name: end for name, end in ends.items() if end is not None}
