"""Streams: running counts and sums of rows as they arrive, by declared groups, for one price fixed at the start.

A `Stream` says what is counted, over how many steps and for what loss. It is a method that the pipeline charges like
any other; what the pipeline releases is its announcement, which is made of no row. From then on each step takes the
rows that have arrived and gives noisy figures (``curator/streams.py`` makes every step durable before it is told).

Why this is private: a row's unit is known, and of each unit no more than the card's rows per unit are counted in the
whole stream: ``count_rows`` keeps how many of each were, and cuts the rest where rows become numbers. Which rows of a
unit are counted depends on its own rows, on the step they come in and on how many of its own were counted before, so
removing a unit removes its own contributions and changes no other. A row that is counted adds one to the count of one
cell, and a whole number of steps clamped to a bound from the card to a sum of that cell. So a unit changes the values
of all steps and cells of a count by rows per unit at most in absolute sum, and those of a sum by its bound times that:
``noise/continual.py`` says what that loses. Each figure has a share of the loss, and the shares add up to it. Figures
over the last steps only (windows) are differences of what was told. No clock is read: which period a step is of
follows from its number.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Card, Column
from discreet.core.exact import Number, whole
from discreet.core.kind import CATEGORICAL, MOMENTS, Kind, Scalar
from discreet.core.loss import Concentrated, Pure, sequential
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.core.text import number
from discreet.engines.limits import fetch
from discreet.engines.measures import LARGEST_BOUND
from discreet.errors import BadInput, NotDeclared
from discreet.noise.continual import Counter, State, counter_for
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.releases.method import BETA, Bench, Made, Method, kept_rows, loss_of, promised, rows_per_unit
from discreet.verbs.ask.distribution import Bins

MOST_CELLS = 2_000
_LONGEST_NAME = 100
_FINE = 2**20
"""Number of steps into which the bound of a sum of fractions is divided."""
_SECONDS = {"minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_UNIX = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_N = TypeVar("_N", bound=np.generic)
_Integers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Totals: TypeAlias = tuple[tuple[int, ...], ...]
"""The noisy total of every figure in every cell, in units of the figure's counter."""


@dataclass(frozen=True)
class Stream(Method[Mapping[str, Any]]):
    """Running figures of a stream of rows, by groups that the card declares, after each of ``horizon`` steps.

    ``called`` tells it from other streams of the table. Rows are counted (``count``) and columns with declared bounds
    added up (``sums``), for all rows or ``by`` groups: categories, or about ``bins`` equal bins of numbers and dates. A
    row without a value of a group is in no cell.

    Rows count in the step in which they arrive. With a ``time`` column, step 1 is of the period from ``begin`` on that
    lasts ``every`` ("1 day", "6 hours"), step 2 of the next, and so on; then a row counts if its time lies in the
    period of its step, or is ``late`` by as many periods at most. What is later still, of a future period, or without
    a time, is left out.
    """

    name: ClassVar[str] = "stream"
    called: str
    horizon: int
    by: Sequence[str] = ()
    sums: Sequence[str] = ()
    count: bool = True
    bins: int = 16
    time: str | None = None
    begin: dt.date | dt.datetime | str | None = None
    every: str = "1 day"
    late: int = 0
    epsilon: Number | None = None
    rho: Number | None = None

    def __post_init__(self) -> None:
        for name in ("by", "sums"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Everything but the loss."""
        begin = self.begin if self.begin is None or isinstance(self.begin, str) else self.begin.isoformat()
        periods = {"time": self.time, "begin": begin, "every": self.every, "late": self.late} if self.time else {}
        return {
            "called": self.called,
            "horizon": self.horizon,
            "by": list(self.by),
            "sums": list(self.sums),
            "count": self.count,
            "bins": self.bins,
            **periods,
        }

    @classmethod
    def of(cls, parameters: Mapping[str, Any], loss: Pure | Concentrated) -> Stream:
        """The stream with these ``parameters`` and this loss."""
        spent: dict[str, Any] = {"epsilon": loss.epsilon} if isinstance(loss, Pure) else {"rho": loss.rho}
        return cls(**parameters, **spent)

    def promise(self, card: Card) -> Statement:
        """The loss that was asked for; an error if a figure cannot be measured."""
        return promised(sequential(one.loss(rows_per_unit(card)) for one in self._plan(card).figures), card)

    def make(self, table: Table, bench: Bench) -> Made[Mapping[str, Any]]:
        """The announcement, of which no row is looked at."""
        plan = self._plan(table.card)
        said: dict[str, Any] = {
            "stream": self.called,
            "figures": [one.name for one in plan.figures],
            "cells": len(plan.cells),
        }
        return Made(said, steps=self.steps(table.card), title=f"The stream {self.called}")

    def steps(self, card: Card) -> tuple[str, ...]:
        """What is done, in words."""
        late = "or an earlier one" if self.late == 0 else f"or more than {number(self.late, 'period')} ago"
        rule = "every row counted in the step in which it arrived"
        if self.time:
            rule += f"; rows whose {self.time} lay in a later period than the step's, {late}, were left out"
        return (
            f"{kept_rows(card)}, in the whole stream",
            rule,
            f"after each of {number(self.horizon, 'step')} the totals so far were given exact correlated noise; the "
            "error bars hold with 95 % confidence",
        )

    def expected_errors(self, card: Card) -> Mapping[str, float | None]:
        """The error bar of each figure after the last step."""
        return {one.name: one.error(self.horizon, None) for one in self._plan(card).figures}

    def start(self, card: Card) -> StreamState:
        """The state before the first step."""
        plan = self._plan(card)
        return StreamState(0, tuple((one.counter.start(),) * len(plan.cells) for one in plan.figures))

    def arrivals(self, rows: Table | None, step: int) -> Arrivals:
        """The rows of the bounded table of a step, as cells and whole numbers; those left out are in cell -1."""
        if rows is None:
            return Arrivals(None, np.zeros(0, np.int64), ())
        card, plan = rows.card, self._plan(rows.card)
        found = fetch(rows.engine, rows.relation)
        cells = np.zeros(found.num_rows, np.int64)
        for group in plan.groups:
            index = group.index(found.column(group.column.name))
            cells = np.where((cells >= 0) & (index >= 0), cells * len(group.labels) + index, -1)
        if self.time:
            first, length = self._periods(card[self.time])
            period = (_ticks(found.column(self.time), -(2**62)) - first) // length
            cells = np.where((period < step) & (period >= step - 1 - self.late), cells, -1)
        units = None if card.unit is None else [unit_key(one) for one in found.column(card.unit).to_pylist()]
        return Arrivals(units, cells, tuple(one.values(found) for one in plan.figures))

    def advance(
        self, card: Card, state: StreamState, arrivals: Arrivals, counted: Mapping[str, int], entropy: Entropy = SYSTEM
    ) -> tuple[StreamState, dict[str, int]]:
        """The state after one more step, and how many rows of each unit of the step have been counted by now.

        ``counted`` says how many had been before; who is not in it had none.
        """
        plan = self._plan(card)
        kept, now = count_rows(arrivals, counted, rows_per_unit(card), len(plan.cells))
        counters = []
        for place, figure in enumerate(plan.figures):
            values = np.zeros(len(plan.cells), np.int64)
            if len(kept):
                np.add.at(
                    values, arrivals.cells[kept], np.clip(arrivals.values[place][kept], -figure.bound, figure.bound)
                )
            states = zip(state.counters[place], values.tolist(), strict=True)
            counters.append(tuple(figure.counter.advance(one, value, entropy) for one, value in states))
        return StreamState(state.step + 1, tuple(counters)), now

    def figures(
        self, card: Card, totals: Totals, step: int, window: int | None = None, before: Totals | None = None
    ) -> pa.Table:
        """The totals after a step, or the sums over the last ``window`` steps: totals less those ``before``."""
        plan = self._plan(card)
        shown: dict[str, Any] = {}
        for place, group in enumerate(plan.groups):
            shown |= group.shown([cell[place] for cell in plan.cells])
        for place, figure in enumerate(plan.figures):
            worth = figure.counter.unit * figure.step
            less = before[place] if before is not None else [0] * len(plan.cells)
            found = [float((one - other) * worth) for one, other in zip(totals[place], less, strict=True)]
            shown[figure.name] = pa.array(found, pa.float64())
            error = figure.error(step, window)
            shown[f"{figure.name}_error"] = pa.array([error] * len(plan.cells), pa.float64())
        return pa.table(shown)

    def _plan(self, card: Card) -> _Plan:
        return _plan_of(self, card)

    def _periods(self, column: Column) -> tuple[int, int]:
        """When the first period begins and how long each lasts: in days of a date, in microseconds of a timestamp."""
        if column.kind not in MOMENTS:
            raise BadInput(f"{column.name} is {column.kind.value}; the time of a row is a date or a timestamp.")
        seconds = _seconds(self.every)
        try:
            text = self.begin if isinstance(self.begin, str) else "" if self.begin is None else self.begin.isoformat()
            begin = dt.datetime.fromisoformat(text)
        except ValueError:
            raise BadInput(
                f"begin must say when the first period begins, such as 2026-01-01, not {self.begin!r}."
            ) from None
        begin = begin.astimezone(dt.UTC).replace(tzinfo=None) if begin.tzinfo else begin
        first = (begin - _UNIX) // _MICROSECOND
        if column.bounds is not None:
            low, high = (_tick(end) for end in column.bounds)
            if not low <= (first // 86_400_000_000 if column.kind is Kind.DATE else first) <= high:
                raise BadInput(f"The stream begins outside the bounds that the card declares for {column.name}.")
        if column.kind is not Kind.DATE:
            return first, seconds * 10**6
        if seconds % 86_400 or begin.time() != dt.time():
            raise BadInput(f"{column.name} is a date: periods begin with a day, and last whole days.")
        return first // 86_400_000_000, seconds // 86_400


@dataclass(frozen=True)
class StreamState:
    """State of a stream: stored by the holder, and shown to no one."""

    step: int
    counters: tuple[tuple[State, ...], ...]
    """Of every figure and cell."""

    @property
    def totals(self) -> Totals:
        """The noisy totals, which may be told."""
        return tuple(tuple(state[1] for state in one) for one in self.counters)


@dataclass(frozen=True)
class Arrivals:
    """The rows of a step: whose they are, in which cell (-1: in none), and what each adds to every figure."""

    units: Sequence[str] | None
    cells: _Integers
    values: tuple[_Integers, ...]


def count_rows(
    arrivals: Arrivals, counted: Mapping[str, int], most: int, cells: int
) -> tuple[_Integers, dict[str, int]]:
    """Which rows are counted, no more than ``most`` of each unit in all; and how many of each unit are by now.

    Of a unit with too many, those are counted that come first by a hash of what they add, and by what they add where
    hashes are equal: rows that still tie add the same.
    """
    there = np.flatnonzero((arrivals.cells >= 0) & (arrivals.cells < cells))
    if arrivals.units is None:
        return there, {}
    hashes = arrivals.cells.astype(np.uint64)
    for values in arrivals.values:
        hashes = (hashes ^ values.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    order = np.lexsort([one[there] for one in (*arrivals.values, arrivals.cells, hashes)])
    kept: list[int] = []
    now: dict[str, int] = {}
    for row in there[order].tolist():
        unit = arrivals.units[row]
        used = now.get(unit, counted.get(unit, 0))
        if used < most:
            now[unit] = used + 1
            kept.append(row)
    return np.array(kept, np.int64), now


def unit_key(value: Any) -> str:
    """A unit as a text that any database can hold, equal for equal units however a source writes them."""
    if isinstance(value, Decimal):
        return f"{value.normalize() + 0:f}"
    if isinstance(value, float):
        return repr(value + 0.0)
    return json.dumps(value) if isinstance(value, str) else str(value)


# -- what is counted


@dataclass(frozen=True)
class _Figure:
    """A count, or the sum of a column."""

    name: str
    column: str | None
    bound: int
    """The most that a row adds, in steps."""
    step: Fraction
    counter: Counter

    def loss(self, rows: int) -> Pure | Concentrated:
        return self.counter.loss(self.bound * rows)

    def error(self, step: int, window: int | None) -> float:
        """The error bar of the total after a step, or over a window."""
        return self.counter.error(BETA, step, window) * float(self.step)

    def values(self, rows: pa.Table) -> _Integers:
        """What each row adds, in steps; one without a value adds nothing."""
        if self.column is None:
            return np.ones(rows.num_rows, np.int64)
        values = rows.column(self.column)
        if self.step == 1:
            return _filled(pc.cast(values, pa.int64()), 0, np.int64)
        doubles = _filled(pc.cast(values, pa.float64()), 0.0, np.float64)
        steps = np.clip(np.rint(doubles / float(self.step)), -self.bound, self.bound)
        whole_steps: _Integers = np.nan_to_num(steps).astype(np.int64)
        return whole_steps


@dataclass(frozen=True)
class _Group:
    """A column whose values divide rows into cells."""

    column: Column
    labels: tuple[Any, ...]
    bins: Bins | None = None

    @classmethod
    def of(cls, column: Column, bins: int) -> _Group:
        if column.kind is Kind.BOOLEAN:
            return cls(column, (False, True))
        if column.categories is not None:
            return cls(column, tuple(column.categories))
        if column.kind in CATEGORICAL:
            raise NotDeclared(
                f"A stream by {column.name!r} needs its categories, and the card declares none.",
                hint="Declare categories on the card.",
            )
        found = Bins.of(column, bins)
        return cls(column, tuple(range(len(found))), found)

    def index(self, values: pa.ChunkedArray[Any]) -> _Integers:
        """Which label each value has, -1 for none."""
        if self.bins is None:
            found = pc.index_in(values, value_set=pa.array(self.labels).cast(values.type))
            return _filled(found, -1, np.int64)
        starts = [_tick(one) for one in self.bins.starts]
        if self.column.kind in MOMENTS or self.column.kind is Kind.INTEGER:
            there = np.asarray(pc.is_valid(values).to_numpy(), bool)
            return np.where(there, np.searchsorted(starts, _ticks(values, starts[0]), "right") - 1, -1)
        doubles = _filled(pc.cast(values, pa.float64()), np.nan, np.float64)
        return np.where(np.isnan(doubles), -1, np.searchsorted(starts, doubles, "right") - 1)

    def shown(self, labels: Sequence[Any]) -> dict[str, Any]:
        """The columns that say which cell a row of figures is of."""
        name = self.column.name
        if self.bins is None:
            return {name: pa.array(labels)}
        return {
            f"{name}_low": pa.array([self.bins.starts[one] for one in labels]),
            f"{name}_high": pa.array([self.bins.ends[one] for one in labels]),
        }


@dataclass(frozen=True)
class _Plan:
    groups: tuple[_Group, ...]
    cells: tuple[tuple[Any, ...], ...]
    figures: tuple[_Figure, ...]


@lru_cache(maxsize=64)
def _plan_of(stream: Stream, card: Card) -> _Plan:
    """What a stream measures of a table with a card; an error if that makes no sense."""
    if (
        not isinstance(stream.called, str)
        or not 0 < len(stream.called) <= _LONGEST_NAME
        or not stream.called.isprintable()
    ):
        raise BadInput(f"A stream needs a name of 1 to {_LONGEST_NAME} printable characters.")
    if stream.time is not None:
        stream._periods(card[stream.time])
    whole(stream.late, "late", 0)
    loss = loss_of(stream.epsilon, stream.rho)
    groups = tuple(_Group.of(_about_people(card, name), stream.bins) for name in stream.by)
    if prod(len(one.labels) for one in groups) > MOST_CELLS or len({*stream.by}) < len(stream.by):
        raise BadInput(f"A stream has at most {MOST_CELLS:,} cells, by different columns.", hint="Use fewer groups.")
    measured: list[tuple[str, str | None, int, Fraction]] = [("n", None, 1, Fraction(1))] if stream.count else []
    measured += [(f"{name}_sum", name, *_steps(_about_people(card, name))) for name in dict.fromkeys(stream.sums)]
    if not measured:
        raise BadInput("A stream that counts nothing and adds up nothing has no figures.", hint="Name sums, or count.")
    share = Pure(loss.epsilon / len(measured)) if isinstance(loss, Pure) else Concentrated(loss.rho / len(measured))
    rows = rows_per_unit(card)
    figures = tuple(
        _Figure(name, column, bound, step, counter_for(share, stream.horizon, bound * rows))
        for name, column, bound, step in measured
    )
    named = [*(name for one in groups for name in one.shown([])), *(one.name for one in figures)]
    if len({*named, *(f"{one.name}_error" for one in figures)}) < len(named) + len(figures):
        raise BadInput("Two columns of the stream's figures would have the same name.", hint="Rename a column.")
    return _Plan(groups, tuple(product(*(one.labels for one in groups))), figures)


def _about_people(card: Card, name: str) -> Column:
    if name == card.unit:
        raise BadInput(f"{name} says whose row it is; it cannot be shown or added up.")
    return card[name]


def _steps(column: Column) -> tuple[int, Fraction]:
    """The most that a row adds to the sum of a column, in steps, and what a step is worth."""
    if column.kind not in (Kind.INTEGER, Kind.REAL, Kind.DECIMAL):
        raise BadInput(f"{column.name} is {column.kind.value}; only numbers are added up.")
    if column.bounds is None:
        raise NotDeclared(
            f"A sum of {column.name!r} needs its bounds, and the card declares none.",
            hint="Declare bounds on the card, or estimate unknown bounds for a price (Bounds).",
        )
    largest = max(abs(Fraction(end)) for end in column.bounds)  # type: ignore[arg-type]  # bounds of numbers
    if largest == 0:
        raise BadInput(f"{column.name} is always 0 by its bounds: there is nothing to add up.")
    if column.kind is Kind.INTEGER and largest <= LARGEST_BOUND:
        return int(largest), Fraction(1)
    exponent = largest.numerator.bit_length() - largest.denominator.bit_length() + 1  # largest < 2**exponent
    if not -900 < exponent < 900:
        raise BadInput(f"The bounds of {column.name} are too wide or too small to add such numbers.")
    step = Fraction(2) ** exponent / _FINE
    return -(-largest // step), step


def _seconds(every: str) -> int:
    found = re.fullmatch(r"([1-9][0-9]{0,5}) (minute|hour|day|week)s?", every)
    if found is None:
        raise BadInput(f"every must be a length such as '1 day' or '6 hours', not {every!r}.")
    return int(found[1]) * _SECONDS[found[2]]


def _filled(values: Any, absent: Any, type_: type[_N]) -> np.ndarray[Any, np.dtype[_N]]:
    """The values as an array, with ``absent`` where there is none."""
    return np.asarray(pc.fill_null(values, absent).to_numpy(), type_)


def _tick(value: Scalar) -> Any:
    """A date as days, a moment as microseconds; a number as it is."""
    if isinstance(value, dt.datetime):
        plain = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
        return (plain - _UNIX) // _MICROSECOND
    return value.toordinal() - _UNIX.toordinal() if isinstance(value, dt.date) else value


def _ticks(values: pa.ChunkedArray[Any], absent: int) -> _Integers:
    """Dates as days, moments as microseconds, whole numbers as they are."""
    wide = values.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date32(values.type) else values.cast(pa.int64())
    return _filled(wide, absent, np.int64)
