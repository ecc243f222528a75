"""Pictures of masked columns: released distributions and, for the holder alone, comparisons with the originals.

How the originals were spread is not part of a masked release: a bar with one person in it would tell what the noise
hides. So what is saved shows released values only, in steps that depend on nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import NUMBERS, Kind
from discreet.core.report import Axis, Picture, bars, curves, grouped_bars, shortened
from discreet.core.table import Table

_STEPS = 12
"""Number of intervals of a histogram, and largest number of bars of dates."""
_MOST = 8
"""Largest number of columns drawn, and of values named in each."""
_LONGEST = 22
"""Longest label of a bar, characters."""
_MISSING = "NULL"
_CALENDAR = (("month", 3, ""), ("year", 6, ""), ("decade", 7, "0s"), ("century", 8, "00s"))
"""Precision of a date: characters cut off its ISO form, and their replacement."""


def pictures(after: Table, names: Sequence[str]) -> tuple[Picture, ...]:
    """Distribution of each column in the release."""
    return _draw_columns({"released": after}, names)


def compare_pictures(before: Table, after: Table, names: Sequence[str]) -> tuple[Picture, ...]:
    """Released distributions beside the originals, for the holder alone."""
    return _draw_columns({"before": before, "after": after}, names)


def _draw_columns(tables: Mapping[str, Table], names: Sequence[str]) -> tuple[Picture, ...]:
    card, both = next(iter(tables.values())).card, len(tables) > 1
    found, values = [], "Original and released values" if both else "Released values"
    for name in [name for name in names if card[name].kind is not Kind.TIMESTAMP][:_MOST]:
        if card[name].kind in NUMBERS:
            ends = [end for table in tables.values() for end in _range(table, name) or ()]
            spreads = {when: _Spread.of(table, name, ends) for when, table in tables.items()}
            if lines := {when: spread for when, spread in spreads.items() if spread is not None}:
                found.append(_lines(name, lines, f"{values}, in the same steps." if both else f"{values}."))
        else:
            shares = {when: _shares(table, name) for when, table in tables.items()}
            draw = _date_bars if card[name].kind is Kind.DATE else _category_bars
            found += draw(name, shares, f"{values}.")
    return tuple(found)


@dataclass(frozen=True)
class _Spread:
    """Histogram of a column: per cent of the rows in equal intervals."""

    low: float
    width: float
    shares: tuple[float, ...]

    @classmethod
    def of(cls, table: Table, name: str, ends: Sequence[float]) -> _Spread | None:
        """Histogram counted on the engine; ``None`` without values, or with only one."""
        low, high = min(ends, default=0.0), max(ends, default=0.0)
        if not low < high:
            return None
        width = (high - low) / _STEPS
        value = _real(name)
        from_low = exp.Paren(this=exp.Sub(this=value, expression=sql.literal(low)))
        step = exp.Floor(this=exp.Mul(this=from_low, expression=sql.literal(1 / width)))
        place = exp.Least(this=exp.cast(step, exp.DType.BIGINT), expressions=[sql.literal(_STEPS - 1)])
        inner = table.query(sql.named(place, "step")).where(sql.finite(value))
        counted = exp.select(sql.column("step"), sql.named(sql.count_rows(), "n")).from_(inner.subquery("s"))
        rows = table.engine.fetch(counted.group_by(sql.column("step"))).to_pylist()
        counts = [0] * _STEPS
        for row in rows:
            counts[max(int(row["step"]), 0)] += int(row["n"])
        total = sum(counts)
        return cls(low, width, tuple(100 * count / total for count in counts))

    @property
    def points(self) -> list[tuple[float, float]]:
        """Midpoint and share of each interval."""
        return [(self.low + (step + 0.5) * self.width, share) for step, share in enumerate(self.shares)]


def _lines(name: str, spreads: dict[str, _Spread], caption: str) -> Picture:
    one = next(iter(spreads.values()))
    across = [one.low + part * one.width * _STEPS / 4 for part in range(5)]
    most = max(share for spread in spreads.values() for share in spread.shares)
    top = next((mark for mark in (1, 2, 5, 10, 20, 30, 40, 60, 80, 100) if mark >= most), 100)
    up = [top * part / 4 for part in range(5)]
    lines = {what: spread.points for what, spread in spreads.items()}
    return curves(name, Axis(name, across), Axis("per cent of the rows", up), lines, caption=caption)


def _date_bars(name: str, shares: dict[str, dict[str, float]], caption: str) -> list[Picture]:
    """Bars by month, year, decade or century: the finest with few enough bars."""
    days = {value for found in shares.values() for value in found}
    ways = {what: {day: day if day == _MISSING else day[:-cut] + end for day in days} for what, cut, end in _CALENDAR}
    what = next((what for what, labels in ways.items() if len(set(labels.values())) <= _STEPS), _CALENDAR[-1][0])
    labels = ways[what]
    named = sorted(set(labels.values()) - {_MISSING}) + [_MISSING] * (_MISSING in days)
    if not named:
        return []
    sums = {when: dict.fromkeys(named, 0.0) for when in shares}
    for when, found in shares.items():
        for day, share in found.items():
            sums[when][labels[day]] += share
    shown = {when: [found[label] for label in named] for when, found in sums.items()}
    return [_bars(name, named, shown, f"{caption} By {what}.")]


def _category_bars(name: str, shares: dict[str, dict[str, float]], caption: str) -> list[Picture]:
    """The most frequent values; no picture if there are none."""
    most: dict[str, float] = {}
    for found in shares.values():
        for value, share in found.items():
            most[value] = max(share, most.get(value, 0.0))
    named = sorted(most, key=lambda value: (-most[value], value))[:_MOST]
    if not named:
        return []
    labels = [shortened(value, _LONGEST) for value in named]
    values = {when: [found.get(value, 0.0) for value in named] for when, found in shares.items()}
    left = len(most) - len(named)
    more = f" {left:,} more {'values are' if left > 1 else 'value is'} not shown." if left else ""
    return [_bars(name, labels, values, caption + more)]


def _bars(name: str, labels: Sequence[str], shares: Mapping[str, Sequence[float]], caption: str) -> Picture:
    """A bar per label; for the holder two, the original's and the release's."""
    title = f"{name}, per cent of the rows"
    if len(shares) > 1:
        return grouped_bars(title, labels, shares, caption=caption)
    (values,) = shares.values()
    return bars(title, labels, values, caption=caption)


def _shares(table: Table, name: str) -> dict[str, float]:
    """Share of the rows with each value, per cent."""
    counted = table.histogram(name)
    counts: list[Any] = counted.column(1).to_pylist()
    cells = counted.column(0)
    texts = pc.if_else(cells, "true", "false") if pa.types.is_boolean(cells.type) else cells.cast(pa.string())
    total = sum(counts) or 1
    values = [_MISSING if text is None else text for text in texts.to_pylist()]
    return {value: 100 * count / total for value, count in zip(values, counts, strict=True)}


def _range(table: Table, name: str) -> tuple[float, float] | None:
    """Smallest and largest finite number; ``None`` if there is none."""
    low, high = exp.Min(this=_real(name)), exp.Max(this=_real(name))
    query = table.query(sql.named(low, "low"), sql.named(high, "high")).where(sql.finite(_real(name)))
    (found,) = table.engine.fetch(query).to_pylist()
    return None if found["low"] is None else (float(found["low"]), float(found["high"]))


def _real(name: str) -> exp.Expr:
    return exp.cast(sql.column(name), exp.DType.DOUBLE)
