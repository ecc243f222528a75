"""Attributes: columns as codes from 0 up, and back to values.

Which codes there are follows from the card alone. The last code stands for a missing value, where one can be missing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from math import floor, inf, log10, nextafter
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Column
from discreet.core.kind import MOMENTS, Kind, Scalar
from discreet.core.sql import arrow_type
from discreet.errors import BadInput
from discreet.noise.masking import Generator

Codes: TypeAlias = NDArray[np.int64]
NOWHERE = -1
"""The code of a row that no code is for: it is counted nowhere."""
_CENTS = 2
_DIGITS = 5
"""Digits of a real number within its interval."""
_FINEST = 15
_EPOCH = dt.date(1970, 1, 1)
_LARGEST = 2**62


class Attribute(Protocol):
    """Interface of a column whose values are codes."""

    column: Column

    @property
    def size(self) -> int:
        """Number of codes, that for a missing value among them."""

    @property
    def type(self) -> pa.DataType:
        """Arrow type that codes are decoded to."""

    def key(self) -> exp.Expr:
        """Expression that the engine groups rows by."""

    def codes(self, keys: pa.ChunkedArray[Any]) -> Codes:
        """The codes of keys that the engine found; ``NOWHERE`` for what has none."""

    def refined(self, codes: Codes, rng: Generator) -> Codes:
        """The codes as they were before any were merged: of those that became one, one at random."""
        return codes

    def decoded(self, codes: Codes, rng: Generator) -> pa.Array[Any]:
        """A value for each code. Where a code stands for several values, one of them at random."""


@dataclass(frozen=True)
class Listed(Attribute):
    """A column with declared values, a code each."""

    column: Column
    values: tuple[Scalar, ...]

    @property
    def size(self) -> int:
        """A code a value, and one for missing ones."""
        return len(self.values) + (not self.column.required)

    @property
    def type(self) -> pa.DataType:
        scale = max((sql.scale_of(one) for one in self.values if isinstance(one, Decimal)), default=0)
        return arrow_type(self.column.kind, scale=scale, zoned=_zone(self.values[0]) is not None)

    def key(self) -> exp.Expr:
        """The value itself: there are no more of them than codes."""
        return sql.column(self.column.name)

    def codes(self, keys: pa.ChunkedArray[Any]) -> Codes:
        """Codes of the declared values; others, which a bounded table has not, count as missing."""
        other = NOWHERE if self.column.required else len(self.values)
        found = keys.combine_chunks().dictionary_encode()
        values: list[Any] = found.dictionary.to_pylist()
        places = np.array([*(self._places.get(value, other) for value in values), other], np.int64)
        at = found.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
        return np.asarray(places[at], np.int64)

    def decoded(self, codes: Codes, rng: Generator) -> pa.Array[Any]:
        """The value of each code."""
        values = [*self.values, None]
        return pa.array(values, self.type).take(codes)

    @cached_property
    def _places(self) -> dict[Scalar, int]:
        return {value: place for place, value in enumerate(self.values)}


@dataclass(frozen=True)
class Binned(Attribute):
    """A column with bounds: a code for each of some intervals.

    Both bounds are intervals of their own, and so is zero: what lies beyond a bound was moved to it, and many columns
    of amounts are zero for most people. ``firsts`` and ``lasts`` are in units: whole numbers, days, microseconds or
    the last decimal place; of real numbers an interval of several begins with its first and ends before its last.
    """

    column: Column
    firsts: tuple[float, ...]
    lasts: tuple[float, ...]

    @classmethod
    def of(cls, column: Column, bins: int) -> Binned:
        """About ``bins`` intervals of equal width between the declared bounds; where there are no more values than
        that, one for each."""
        assert column.bounds is not None  # noqa: S101  # anyone who makes one has looked
        low, high = (_units(end, column) for end in column.bounds)
        if max(abs(low), abs(high)) > _LARGEST:
            raise BadInput(f"The bounds of {column.name} are too far apart to draw values between them.")
        cells: Sequence[tuple[float, float]]
        ends = [low, high] if column.kind in MOMENTS or not low < 0 < high else [low, 0, high]
        if column.kind is Kind.REAL:
            edges = [low + (high - low) * place / bins for place in range(bins)] + [high]
            cells = _carved_real(edges, ends)
        else:
            width = -((int(low) - int(high) - 1) // bins)  # rounded up
            starts = range(int(low), int(high) + 1, width)
            cells = _carved_whole(
                [(one, min(one + width - 1, int(high))) for one in starts], [int(end) for end in ends]
            )
        return cls(column, tuple(first for first, _ in cells), tuple(last for _, last in cells))

    @property
    def size(self) -> int:
        """A code an interval, and one for missing values."""
        return len(self.firsts) + (not self.column.required)

    @property
    def type(self) -> pa.DataType:
        """The column's own; decimals have the places that their bounds are written with, and two at least."""
        zoned = _zone(cast("tuple[Scalar, Scalar]", self.column.bounds)[0]) is not None
        return arrow_type(self.column.kind, scale=_scale(self.column), zoned=zoned)

    def key(self) -> exp.Expr:
        """Which interval a value is in."""
        return self.key_of(range(len(self.firsts)), len(self.firsts))

    def key_of(self, groups: Sequence[int], missing: int) -> exp.Expr:
        """Which group of intervals a value is in, by halving: comparisons are exact on every engine, arithmetic not."""
        value = sql.column(self.column.name)
        borders = [(place, group) for place, (before, group) in enumerate(pairwise(groups), 1) if group != before]
        placed = self._interval_search(value, borders, groups[0])
        other: exp.Expr = exp.null() if self.column.required else sql.literal(missing)
        return _case_when(value.copy().is_(exp.null()), other, placed)

    def codes(self, keys: pa.ChunkedArray[Any]) -> Codes:
        """The engine has found them."""
        return np.asarray(keys.combine_chunks().fill_null(NOWHERE).to_numpy(zero_copy_only=False), np.int64)

    def decoded(self, codes: Codes, rng: Generator) -> pa.Array[Any]:
        """Uniform within the interval."""
        missing = codes >= len(self.firsts)
        at = np.where(missing, 0, codes)
        if self.column.kind is Kind.REAL:
            first, last = np.array(self.firsts)[at], np.array(self.lasts)[at]
            low, high = (np.array(ends)[at] for ends in self._closed)
            drawn = np.clip(first + rng.random(len(at)) * (last - first), low, high)
            short = np.round(drawn, self._places)
            values: pa.Array[Any] = pa.array(np.where((low <= short) & (short <= high), short, drawn))
        else:
            first, last = np.array(self.firsts, np.int64)[at], np.array(self.lasts, np.int64)[at]
            values = _arrow_values(rng.integers(first, last, endpoint=True), self.type)
        if not missing.any():
            return values
        return cast("pa.Array[Any]", pc.if_else(pa.array(missing), pa.scalar(None, values.type), values))

    def ends(self) -> tuple[list[Scalar], list[Scalar]]:
        """The first and the last value of each interval."""
        lows, highs = self._closed
        return [self._value(one) for one in lows], [self._value(one) for one in highs]

    @cached_property
    def _closed(self) -> tuple[Sequence[float], Sequence[float]]:
        """The least and the greatest number of each interval. A real one of several ends before its last, and begins
        behind its first where that is an interval of its own."""
        if self.column.kind is not Kind.REAL:
            return self.firsts, self.lasts
        cells = list(zip(self.firsts, self.lasts, strict=True))
        lows = [nextafter(a, b) if a < b and cell == (a, a) else a for cell, (a, b) in pairwise([(inf, inf), *cells])]
        return lows, [nextafter(b, a) for a, b in cells]

    @cached_property
    def _places(self) -> int:
        """The decimals that a real number is drawn with: no more than tell it from others in its interval."""
        widest = max(last - first for first, last in zip(self.firsts, self.lasts, strict=True))
        return min(_DIGITS - floor(log10(widest)), _FINEST) if widest > 0 else 0

    def _interval_search(self, value: exp.Expr, borders: Sequence[tuple[int, int]], before: int) -> exp.Expr:
        if not borders:
            return sql.literal(before)
        middle = len(borders) // 2
        border, group = borders[middle]
        lower = self._interval_search(value, borders[:middle], before)
        upper = self._interval_search(value, borders[middle + 1 :], group)
        return _case_when(self._below(value, border), lower, upper)

    def _below(self, value: exp.Expr, border: int) -> exp.Expr:
        """Whether a value lies before an interval. Behind a single real number the next one begins at once."""
        single = self.column.kind is Kind.REAL and self.firsts[border - 1] == self.lasts[border - 1]
        kind = exp.LTE if single else exp.LT
        edge = self.firsts[border - 1] if single else self.firsts[border]
        return kind(this=value.copy(), expression=sql.literal(self._value(edge)))

    def _value(self, units: float) -> Scalar:
        return _value(units, self.column)


@dataclass(frozen=True, eq=False)
class Merged(Attribute):
    """A column some of whose codes are merged in the model, and drawn apart again.

    Which are merged, and how often each of them is drawn, was worked out from counts that had their noise already.
    """

    fine: Listed | Binned
    groups: tuple[int, ...]
    """For each code of ``fine`` the code that it has here: of intervals only neighbours are one."""
    weights: tuple[float, ...]
    """Weight of each code of ``fine`` when one of its group is drawn; none is below zero."""

    @property
    def column(self) -> Column:  # type: ignore[override]
        return self.fine.column

    @property
    def size(self) -> int:
        """Number of codes after merging."""
        return max(self.groups) + 1

    @property
    def type(self) -> pa.DataType:
        return self.fine.type

    def key(self) -> exp.Expr:
        if isinstance(self.fine, Binned):
            return self.fine.key_of(self.groups[: len(self.fine.firsts)], self.groups[-1])
        return self.fine.key()

    def codes(self, keys: pa.ChunkedArray[Any]) -> Codes:
        """The codes of the groups."""
        if isinstance(self.fine, Binned):
            return self.fine.codes(keys)
        return np.array([*self.groups, NOWHERE])[self.fine.codes(keys)]

    def refined(self, codes: Codes, rng: Generator) -> Codes:
        """A code of the group at random, by weight."""
        order = np.argsort(self.groups, kind="stable")
        weights = np.array(self.weights)[order]
        groups = np.array(self.groups)[order]
        sums = np.bincount(groups, weights, self.size)
        weights = np.where(sums[groups] > 0, weights, 1.0)  # a group of nothing but zeros is drawn from evenly
        up_to = np.cumsum(weights)
        last = np.searchsorted(groups, np.arange(self.size), side="right") - 1
        below = np.concatenate([[0.0], up_to[last[:-1]]])
        point = below[codes] + rng.random(len(codes)) * (up_to[last] - below)[codes]
        drawn = np.minimum(np.searchsorted(up_to, point, side="right"), last[codes])
        return np.asarray(order[drawn], np.int64)

    def decoded(self, codes: Codes, rng: Generator) -> pa.Array[Any]:
        """The value of a code of the group."""
        return self.fine.decoded(self.refined(codes, rng), rng)


def _case_when(condition: exp.Expr, yes: exp.Expr, no: exp.Expr) -> exp.Expr:
    """CASE WHEN. The builder of sqlglot copies what it is given, and trees of hundreds of intervals again and again."""
    return exp.Case(ifs=[exp.If(this=condition, true=yes)], default=no)


def _carved_whole(cells: Sequence[tuple[int, int]], single: Sequence[int]) -> list[tuple[int, int]]:
    """Intervals of whole numbers, out of which single ones are cut to stand for themselves."""
    found = []
    for first, last in cells:
        start = first
        for one in sorted(set(single)):
            if start <= one <= last:
                found += [(start, one - 1)] * (start < one) + [(one, one)]
                start = one + 1
        found += [(start, last)] * (start <= last)
    return found


def _carved_real(edges: Sequence[float], single: Sequence[float]) -> list[tuple[float, float]]:
    """Intervals of real numbers between edges, with single numbers cut out; the last one is the last edge."""
    points = sorted({*edges, *map(float, single)})
    found = []
    for first, last in pairwise(points):
        found += [(first, first)] * (first in single) + [(first, last)]
    return [*found, (points[-1], points[-1])]


def _units(value: Any, column: Column) -> Any:
    """A bound in the units of its column."""
    if column.kind is Kind.REAL:
        return float(value)
    if isinstance(value, dt.datetime):
        start = dt.datetime(1970, 1, 1, tzinfo=None if value.tzinfo is None else dt.UTC)
        return (value - start) // dt.timedelta(microseconds=1)
    if isinstance(value, dt.date):
        return (value - _EPOCH).days
    return int(Decimal(value).scaleb(_scale(column))) if column.kind is Kind.DECIMAL else int(value)


def _value(units: float, column: Column) -> Scalar:
    """The value of a number of ``_units``."""
    if column.kind is Kind.REAL:
        return float(units)
    if column.kind is Kind.TIMESTAMP:
        zone = _zone(cast("tuple[Scalar, Scalar]", column.bounds)[0])
        return dt.datetime(1970, 1, 1, tzinfo=zone) + dt.timedelta(microseconds=int(units))
    if column.kind is Kind.DATE:
        return _EPOCH + dt.timedelta(days=int(units))
    return Decimal(int(units)).scaleb(-_scale(column)) if column.kind is Kind.DECIMAL else int(units)


def _arrow_values(units: Codes, type_: pa.DataType) -> pa.Array[Any]:
    if pa.types.is_decimal(type_):
        wide = np.stack([units, units >> 63], axis=1)  # the lower and the upper half of 128 bits
        return pa.Array.from_buffers(type_, len(units), [None, pa.py_buffer(wide.tobytes())])
    if pa.types.is_date(type_):
        return pa.array(units.astype(np.int32)).cast(type_)
    return pa.array(units).cast(type_)


def _scale(column: Column) -> int:
    """The places of a decimal that is drawn between bounds."""
    return max(_CENTS, *(sql.scale_of(end) for end in column.bounds or () if isinstance(end, Decimal)), _CENTS)


def _zone(value: Scalar) -> dt.timezone | None:
    return dt.UTC if isinstance(value, dt.datetime) and value.tzinfo is not None else None
