"""Ranges written out one by one, on numbers, dates or timestamps."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

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
    wrong_label,
    wrong_other,
)
from discreet.core.kind import MOMENTS, NUMBERS, Kind

Point: TypeAlias = Number | dt.date | dt.datetime

_LARGEST = 1.7976931348623157e308


@dataclass(frozen=True)
class Range:
    """From ``start`` on, and below ``end``; a missing end is open. Without a label it is called by its ends."""

    start: Any = None
    end: Any = None
    label: str | None = None

    def __str__(self) -> str:
        if self.start is None:
            return "everything" if self.end is None else f"<{self.end}"
        return f">={self.start}" if self.end is None else f"[{self.start}, {self.end})"


@declare(HIERARCHIES, "ranges", example='{ type = "ranges", levels = [[{ to = 18 }, { from = 18 }]] }')
class Ranges:
    """Half-open ranges, a list for each level; each range lies in one of the level above.

    A value is known when level 1 covers it. Gaps are errors, unless ``other`` says what to call the values
    in them. Dates can be laid over timestamps too; timestamps with a zone are meant in UTC.
    """

    levels: Sequence[Sequence[Range | Mapping[str, object]]] = parameter("One list of ranges per level.")
    other: str | None = parameter("Label of unknown values.", default=None)

    type: ClassVar[str]

    def __post_init__(self) -> None:
        problems = wrong_other(self.other)
        levels = listed(self.levels)
        if not levels or not all(listed(level) for level in levels):
            problems.append(f"levels must be a list of lists of ranges, got {self.levels!r}")
            levels = ()
        ranges = [[_range(item, problems) for item in listed(level) or ()] for level in levels]
        refuse(self.type, problems)
        refuse(self.type, _wrong_ends(ranges))
        ordered = tuple(tuple(sorted(level, key=_start_order)) for level in ranges)
        object.__setattr__(self, "levels", ordered)
        refuse(self.type, _torn(ordered, self.other) + self._repeated())

    @property
    def kinds(self) -> frozenset[Kind]:
        point = next(point for level in self._ranges for point in _points(level))
        if isinstance(point, dt.datetime):
            return frozenset({Kind.TIMESTAMP})
        return MOMENTS if isinstance(point, dt.date) else NUMBERS

    @property
    def height(self) -> int:
        return len(self.levels) + 1

    def label(self, value: exp.Expr, level: int, kind: Kind) -> exp.Expr:
        # Known values lie in some range, so the first one they are not beyond is theirs.
        *below, last = self._ranges[level - 1]
        value = _comparable(value, kind)
        chosen = exp.case()
        for item in below:
            chosen = chosen.when(value < _literal(item.end, kind), sql.literal(self._label(item, kind)))
        final = sql.literal(self._label(last, kind))
        return chosen.else_(final) if below else final

    def knows(self, value: exp.Expr, kind: Kind) -> exp.Expr | None:
        value = _comparable(value, kind)
        stretches: list[exp.Expr] = []
        for start, end in _stretches(self._ranges[0]):
            ends: list[exp.Expr] = []
            if start is not None:
                ends.append(value >= _literal(start, kind))
            if end is not None:
                ends.append(value < _literal(end, kind))
            if not ends:
                stretches = []
                break
            stretches.append(exp.and_(*ends))
        conditions = [exp.or_(*stretches)] if stretches else []
        if kind in (Kind.REAL, Kind.DECIMAL):
            # NaN is above every number on all three engines and would end up in the last range.
            finite = sql.as_double(value).between(sql.literal(-_LARGEST), sql.literal(_LARGEST))
            conditions.append(finite)
        return exp.and_(*conditions) if conditions else None

    def fields(self) -> dict[str, Any]:
        return {"levels": [[_fields(item) for item in level] for level in self._ranges]}

    @property
    def _ranges(self) -> tuple[tuple[Range, ...], ...]:
        return self.levels  # type: ignore[return-value]  # made so in __post_init__

    def _label(self, item: Range, kind: Kind) -> str:
        if item.label is not None:
            return item.label
        numbers = [point for level in self._ranges for point in _points(level) if isinstance(point, Decimal)]
        decimals = max(map(decimals_of, numbers), default=0)
        if kind is Kind.INTEGER and not decimals and item.start is not None and item.end is not None:
            first, last = int(item.start), int(item.end) - 1
            if first == last:
                return str(first)
            return f"{first} to {last}" if first < 0 else f"{first}-{last}"
        return str(Range(_text(item.start, decimals), _text(item.end, decimals)))

    def _repeated(self) -> list[str]:
        """Labels that would merge two ranges of a level, or a range and the unknown values."""
        problems = []
        for kind in self.kinds:
            for number, level in enumerate(self._ranges, start=1):
                seen = {self.other}
                for label in (self._label(item, kind) for item in level):
                    if label in seen:
                        problems.append(f"level {number}: two groups are called {label!r}")
                    seen.add(label)
        return problems


def _range(item: object, problems: list[str]) -> Range:
    """A range from what was declared; what is wrong with it is added to ``problems``."""
    if isinstance(item, Range):
        start, end, label = item.start, item.end, item.label
    elif isinstance(item, Mapping):
        start, end, label = item.get("from"), item.get("to"), item.get("label")
        if unknown := [str(name) for name in item if name not in ("from", "to", "label")]:
            problems.append(f"a range has from, to and label, not {', '.join(unknown)}")
    else:
        problems.append(f"a range must be a table with from, to and label, got {item!r}")
        return Range()
    for name, end_point in (("from", start), ("to", end)):
        if end_point is not None and _point(end_point) is None:
            problems.append(f"{name} must be a number, a date or a timestamp, got {end_point!r}")
    if label is not None:
        problems += wrong_label(label, "a range's label")
    return Range(_point(start), _point(end), label)


def _point(value: object) -> Point | None:
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
    return value if isinstance(value, dt.date) else as_decimal(value)


def _points(level: Sequence[Range]) -> list[Point]:
    return [point for item in level for point in (item.start, item.end) if point is not None]


def _wrong_ends(levels: Sequence[Sequence[Range]]) -> list[str]:
    sorts = {type(point).__name__ for level in levels for point in _points(level)}
    if len(sorts) > 1:
        return [f"all ends must be of one kind, got {' and '.join(sorted(sorts))}"]
    problems = []
    for number, level in enumerate(levels, start=1):
        for item in level:
            if item.start is None and item.end is None:
                problems.append(f"level {number}: a range needs from, to or both")
            elif item.start is not None and item.end is not None and item.start >= item.end:
                problems.append(f"level {number}: {item} is empty: from must be below to")
    return problems


def _start_order(item: Range) -> Any:
    return (item.start is not None, item.start)


def _torn(levels: Sequence[Sequence[Range]], other: str | None) -> list[str]:
    """Overlaps, gaps, and ranges that no range above takes in whole."""
    problems = []
    for number, level in enumerate(levels, start=1):
        for left, right in pairwise(level):
            if left.end is None or right.start is None or left.end > right.start:
                problems.append(f"level {number}: {left} and {right} overlap")
            elif left.end < right.start and other is None:
                problems.append(f"level {number}: there is a gap between {left} and {right}; close it or declare other")
    for number, (level, above) in enumerate(pairwise(levels), start=1):
        for item in level:
            if not any(_inside(item, coarse) for coarse in above):
                problems.append(f"level {number}: {item} lies in no single range of level {number + 1}")
    return problems


def _inside(item: Range, coarse: Range) -> bool:
    after = coarse.start is None or (item.start is not None and item.start >= coarse.start)
    before = coarse.end is None or (item.end is not None and item.end <= coarse.end)
    return after and before


def _stretches(level: Sequence[Range]) -> list[tuple[Any, Any]]:
    """What the ranges of a level cover together, adjacent ones joined."""
    found: list[tuple[Any, Any]] = []
    for item in level:
        if found and found[-1][1] == item.start:
            found[-1] = (found[-1][0], item.end)
        else:
            found.append((item.start, item.end))
    return found


def _comparable(value: exp.Expr, kind: Kind) -> exp.Expr:
    # Single-precision columns would be compared in single precision by one engine and not by the others.
    return sql.as_double(value) if kind is Kind.REAL else value.copy()


def _literal(point: Any, kind: Kind) -> exp.Expr:
    if kind is Kind.REAL:
        return sql.literal(float(point))
    if isinstance(point, Decimal):
        return exp.Literal.number(f"{point:f}")
    if kind is Kind.TIMESTAMP and not isinstance(point, dt.datetime):
        point = dt.datetime.combine(point, dt.time())
    return sql.literal(point)


def _text(point: Any, decimals: int) -> str | None:
    if isinstance(point, Decimal):
        return f"{point:.{decimals}f}"
    if isinstance(point, dt.datetime):
        return point.isoformat(sep=" ")
    return None if point is None else str(point)


def _fields(item: Range) -> dict[str, Any]:
    ends = {"from": item.start, "to": item.end, "label": item.label}
    return {
        name: plain(value) if isinstance(value, Decimal) else value for name, value in ends.items() if value is not None
    }
