"""Numbers in intervals of growing width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import exp

from discreet.core import sql
from discreet.core.catalogue import declare, parameter
from discreet.core.families import HIERARCHIES
from discreet.core.hierarchy.hierarchy import (
    Number,
    as_decimal,
    decimals_of,
    listed,
    plain,
    refuse,
    wrong_multiples,
    wrong_other,
)
from discreet.core.kind import NUMBERS, Kind

REACH = 10**15
"""Values are told apart in doubles, which hold whole numbers up to this (and nine times more) exactly."""
DECIMALS = 6
"""More could come out as 1E-7 on some engines."""


@declare(HIERARCHIES, "intervals", example='{ type = "intervals", widths = [5, 10, 20] }')
class Intervals:
    """Half-open intervals: level 1 has the first width, and so on. One border lies on ``anchor``.

    Each width is a multiple of the one before, so that intervals nest. ``bottom`` and ``top`` fold everything
    below and from there on into one group each; both lie on borders of the widest intervals, since a border
    inside a wide interval would tear it apart. Values that are not finite, or beyond 10^15 units of the last
    declared decimal, are unknown.
    """

    widths: Sequence[Number] = parameter("Widths, each a multiple of the one before.")
    anchor: Number = parameter("A border.", default=0)
    bottom: Number | None = parameter("All values below this are one group.", default=None)
    top: Number | None = parameter("All values from this one up are one group.", default=None)
    other: str | None = parameter("Label of unknown values.", default=None)
    _grid: _Grid = field(init=False, repr=False, compare=False)

    type: ClassVar[str]
    kinds: ClassVar[frozenset[Kind]] = NUMBERS

    def __post_init__(self) -> None:
        problems = wrong_other(self.other, r"[<>\[]|-?\d")
        widths = [as_decimal(width) for width in listed(self.widths) or ()]
        usable = [width for width in widths if width is not None and width > 0]
        if not widths or len(usable) < len(widths):
            problems.append(f"widths must be a list of positive numbers, got {self.widths!r}")
        elif any(a >= b for a, b in pairwise(usable)):
            problems.append(f"widths must ascend, got {', '.join(map(str, usable))}")
        else:
            problems += wrong_multiples(usable, "widths")
        points = {
            name: as_decimal(value)
            for name, value in (("anchor", self.anchor), ("bottom", self.bottom), ("top", self.top))
            if value is not None or name == "anchor"
        }
        problems += [f"{name} must be a number, got {getattr(self, name)!r}" for name in points if points[name] is None]
        refuse(self.type, problems)
        declared = {name: point for name, point in points.items() if point is not None}
        refuse(self.type, _misplaced(usable, declared))
        object.__setattr__(self, "widths", tuple(usable))
        for name, point in declared.items():
            object.__setattr__(self, name, point)
        object.__setattr__(self, "_grid", _Grid.over(usable, **declared))

    @property
    def height(self) -> int:
        return len(self.widths) + 1

    def label(self, value: exp.Expr, level: int, kind: Kind) -> exp.Expr:
        grid = self._grid
        finest = grid.index(value, kind)
        width = grid.widths[level - 1]
        index = finest if level == 1 else sql.floor(finest / (width // grid.widths[0]))
        low = sql.as_whole(index) * width + grid.anchor
        between = grid.between(low, width, kind)
        coded = exp.case()
        if grid.bottom is not None:
            coded = coded.when(finest < grid.steps_to(grid.bottom), grid.edge("<", grid.bottom))
        if grid.top is not None:
            coded = coded.when(finest >= grid.steps_to(grid.top), grid.edge(">=", grid.top))
        return coded.else_(between) if coded.args["ifs"] else between

    def knows(self, value: exp.Expr, kind: Kind) -> exp.Expr:
        reach = REACH // 10**self._grid.decimals
        # NaN is above every number on all three engines, so the upper end catches it.
        return sql.as_double(value).between(-reach, reach)

    def fields(self) -> dict[str, Any]:
        found: dict[str, Any] = {"widths": [plain(Decimal(width)) for width in self.widths]}
        if self.anchor:
            found["anchor"] = plain(Decimal(self.anchor))
        for name, point in (("bottom", self.bottom), ("top", self.top)):
            if point is not None:
                found[name] = plain(Decimal(point))
        return found


@dataclass(frozen=True)
class _Grid:
    """The borders as whole numbers of the smallest unit that was declared, 10^-decimals."""

    decimals: int
    widths: tuple[int, ...]
    anchor: int
    bottom: int | None
    top: int | None

    @classmethod
    def over(
        cls, widths: Sequence[Decimal], anchor: Decimal, bottom: Decimal | None = None, top: Decimal | None = None
    ) -> _Grid:
        decimals = max(map(decimals_of, (*widths, anchor)))

        def units(number: Decimal) -> int:
            return int(number.scaleb(decimals))

        whole = tuple(map(units, widths))
        return cls(
            decimals,
            whole,
            units(anchor) % whole[-1],  # the same borders, from a small number
            None if bottom is None else units(bottom),
            None if top is None else units(top),
        )

    def steps_to(self, border: int) -> int:
        return (border - self.anchor) // self.widths[0]

    def index(self, value: exp.Expr, kind: Kind) -> exp.Expr:
        """Which of the finest intervals ``value`` lies in. Coarser ones are counted from it, so they nest."""
        return sql.floor((self._units(value, kind) - self.anchor) / self.widths[0])

    def _units(self, value: exp.Expr, kind: Kind) -> exp.Expr:
        """How many whole units lie below ``value``, exactly.

        Decimal borders such as 0.3 are no doubles, so multiplying may land on the wrong side of one. The
        nearest unit is taken, and compared with ``value`` as the nearest double: the quotient of two whole
        numbers, which every engine rounds correctly.
        """
        number, scale = sql.as_double(value), 10**self.decimals
        if kind is Kind.INTEGER:
            return number * scale if self.decimals else number
        if not self.decimals:
            return sql.floor(number)
        nearest = sql.floor(number * scale + exp.Literal.number("0.5"))
        one, zero = exp.Literal.number(1), exp.Literal.number(0)
        return nearest - exp.case().when(number < nearest / scale, one).else_(zero)

    def between(self, low: exp.Expr, width: int, kind: Kind) -> exp.Expr:
        if kind is not Kind.INTEGER or self.decimals:
            ends = (sql.fixed(end, self.decimals) for end in (low, low + width))
            return sql.joined("[", next(ends), ", ", next(ends), ")")
        if width == 1:
            return sql.as_text(low)
        first, last = sql.as_text(low), sql.as_text(low + (width - 1))
        return exp.case().when(low < 0, sql.joined(first, " to ", last)).else_(sql.joined(first, "-", last))

    def edge(self, sign: str, border: int) -> exp.Expr:
        return exp.Literal.string(f"{sign}{Decimal(border).scaleb(-self.decimals):.{self.decimals}f}")


def _misplaced(widths: Sequence[Decimal], points: dict[str, Decimal]) -> list[str]:
    """What keeps these widths and points from being one grid."""
    anchor, widest = points["anchor"], widths[-1]
    decimals = max(map(decimals_of, (*widths, anchor)))
    problems = []
    if decimals > DECIMALS:
        problems.append(f"widths and anchor may have at most {DECIMALS} decimals, got {decimals}")
    elif max(widest, *map(abs, points.values())).scaleb(decimals) > REACH:
        problems.append(f"numbers may be at most 10^15 units of the last decimal (here 10^-{decimals})")
    for name, point in points.items():
        if (Fraction(point) - Fraction(anchor)) % Fraction(widest) != 0:
            problems.append(
                f"{name} {point} is not a boundary of the widest intervals: it must be {anchor} plus a "
                f"multiple of {widest}"
            )
    if "bottom" in points and "top" in points and points["bottom"] >= points["top"]:
        problems.append(f"bottom {points['bottom']} is not below top {points['top']}")
    return problems
