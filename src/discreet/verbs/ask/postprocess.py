"""Figures from noisy measures (counts, sums, averages, spreads, each with its error bar), and what a question makes of
them.

All of this is post-processing: it sees noisy whole numbers only. An error bar holds with 95 % confidence: a measure is
within its own error with 95.2 %, and what is made of several is within the root of the sum of the squares of what each
of them alone may move it by (``Price.spreads`` says why). An average's bar allows for the noise in its divisor
(Fieller 1954). What is no quotient of two measures (spreads, correlations, regressions) is taken for straight as far as
the noise may reach; where it is not, no bar is shown.

Rows are rounded to steps, each by less than one. An average allows for that. A sum would have to know how many rows
there are; but noise that is within an error with 95.2 % is within it with 95 % wherever less than 0.28 of its scale is
added to it (cosh 0.28 < 5 / 4.8), or 0.13 of the deviation of Gaussian noise. The scale is 2**28 / ε steps or more:
that is room for the rounding of 7 · 10**7 / ε rows, or 3 · 10**7 / √(2ρ), in a group, where ε and ρ are the sum's own
share.

The rest of a question (HAVING, ORDER BY, LIMIT, arithmetic) is worked out by a DuckDB that holds nothing and sees
nothing else. Nothing may fail there: an answer is charged by then. So a question is tried on a table without rows when
it is planned, and refused if that fails; and what only a value can make fail, such as a number that grows too large,
is NULL. So is what is not finite, such as a logarithm of 0.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import CATEGORICAL, NUMBERS, Scalar
from discreet.core.sql import arrow_type, kind_of
from discreet.engines.duckdb import DuckDB, memory_settings
from discreet.engines.limits import memory_allowed, seconds_left
from discreet.errors import BadQuery, DiscreetError
from discreet.verbs.ask.value import Interval

if TYPE_CHECKING:
    from discreet.verbs.ask.plan import Part

NOISY = "discreet_noisy"
ERROR = "_error"
_COMPUTED = NUMBERS | CATEGORICAL
"""Kinds of what is computed from figures."""
Numbers = np.ndarray[Any, Any]
Errors = Mapping[str, int] | Mapping[str, Numbers]
"""How far each measure may be off, in all groups, or group by group."""
Spreads = Mapping[str, float] | Mapping[str, Numbers]
"""How far each may be off where noises add up: the root of the sum of their squares bounds a sum."""


class Figure(Protocol):
    """A figure that is worked out from measures, group by group."""

    barred: ClassVar[bool] = False
    """Whether it has an error bar."""

    @property
    def made_of(self) -> frozenset[str]:
        """The names of what it is worked out from."""

    def worth(self, noisy: Mapping[str, Numbers]) -> Numbers:
        """The figure."""

    def error(self, noisy: Mapping[str, Numbers], errors: Errors, spreads: Spreads | None = None) -> Numbers | None:
        """How far it may be off; ``None``: no bar is known that holds with 95 % confidence and is worth showing.

        ``spreads`` says how measures with independent noise add up; ``None``: the errors are bounds, and just add up.
        """
        return None


@dataclass(frozen=True)
class _MeasuredFigure(Figure):
    """A figure of one measure."""

    measure: str

    @property
    def made_of(self) -> frozenset[str]:
        """The measure."""
        return frozenset({self.measure})


@dataclass(frozen=True)
class Count(_MeasuredFigure):
    """A count is its measure."""

    barred: ClassVar[bool] = True

    def worth(self, noisy: Mapping[str, Numbers]) -> Numbers:
        """The noisy count, which may be negative: cutting it off would bias sums of counts."""
        return noisy[self.measure]

    def error(self, noisy: Mapping[str, Numbers], errors: Errors, spreads: Spreads | None = None) -> Numbers:
        """The noise's own error."""
        return np.broadcast_to(errors[self.measure], noisy[self.measure].shape)


@dataclass(frozen=True)
class Chosen(Figure):
    """A quantile is what was chosen. How far it may be off depends on how dense the data is there: not known."""

    quantile: str

    @property
    def made_of(self) -> frozenset[str]:
        """The choice."""
        return frozenset({self.quantile})

    def worth(self, noisy: Mapping[str, Numbers]) -> Numbers:
        """The chosen value."""
        return noisy[self.quantile]


@dataclass(frozen=True)
class MostFrequent(Figure):
    """A mode is the value that was chosen."""

    choice: str
    values: tuple[Scalar, ...]

    @property
    def made_of(self) -> frozenset[str]:
        """The choice."""
        return frozenset({self.choice})

    def worth(self, noisy: Mapping[str, Numbers]) -> Numbers:
        """The chosen value."""
        days = isinstance(self.values[0], dt.date)
        values = np.array(self.values, dtype="datetime64[D]" if days else None)
        return np.asarray(values[noisy[self.choice].astype(np.int64)])


@dataclass(frozen=True)
class Total(_MeasuredFigure):
    """A sum is its measure times the step; ``centre`` is what was taken off every row before it was added."""

    barred: ClassVar[bool] = True

    step: Fraction
    centre: Fraction = Fraction(0)

    def worth(self, noisy: Mapping[str, Numbers]) -> Numbers:
        """The noisy sum."""
        return noisy[self.measure] * float(self.step)

    def error(self, noisy: Mapping[str, Numbers], errors: Errors, spreads: Spreads | None = None) -> Numbers:
        """The noise's own error, which has room for rounding."""
        return np.broadcast_to(errors[self.measure] * float(self.step), noisy[self.measure].shape)

    def mean(self, noisy: Mapping[str, Numbers], people: Numbers) -> Numbers:
        """The mean of what was added, with the centre put back."""
        return float(self.centre) + self.worth(noisy) / people


@dataclass(frozen=True)
class Mean(Figure):
    """The centre of the bounds plus the mean distance from it: half the noise of a plain sum."""

    barred: ClassVar[bool] = True

    total: str
    step: Fraction
    count: str
    centre: Fraction
    within: Interval
    distance: exp.Expr
    """How far a row is from the centre, as SQL: for what else is measured of it."""
    rounded: bool
    """Whether rows were rounded to steps."""

    @property
    def made_of(self) -> frozenset[str]:
        """The sum and the count."""
        return frozenset({self.total, self.count})

    @property
    def reach(self) -> Interval:
        """Where the distance lies."""
        return self.within[0] - self.centre, self.within[1] - self.centre

    def people(self, noisy: Mapping[str, Numbers]) -> Numbers:
        """How many rows there are, at least one."""
        return np.maximum(noisy[self.count], 1)

    def _distance(self, noisy: Mapping[str, Numbers]) -> Numbers:
        """The noisy mean distance from the centre, wherever it lies."""
        return np.asarray(noisy[self.total] * float(self.step) / self.people(noisy))

    def apart(self, noisy: Mapping[str, Numbers]) -> Numbers:
        """How far the mean is from the centre."""
        return self.worth(noisy) - float(self.centre)

    def worth(self, noisy: Mapping[str, Numbers]) -> Numbers:
        """The noisy mean, never outside the bounds."""
        return np.clip(float(self.centre) + self._distance(noisy), float(self.within[0]), float(self.within[1]))

    def error(self, noisy: Mapping[str, Numbers], errors: Errors, spreads: Spreads | None = None) -> Numbers:
        """|t/n - t'/n'| <= (|t - t'| + |t'/n'| |n - n'|) / n, with n at least what the noisy count allows, for bounds.

        For noise, t' - d n' is that of the sum less d times that of the count, if d is the true distance: so x, how far
        t'/n' is from d, has n'x <= √(a² + d²b²), where |d| <= |t'/n'| + x, and a and b are the spreads of both.
        Rounding moves each row, and so the mean, by less than a step.
        """
        width = float(self.within[1] - self.within[0])
        rounding = float(self.step) if self.rounded else 0.0
        far = np.abs(self._distance(noisy))
        if spreads is None:
            people = noisy[self.count] - errors[self.count]
            off = errors[self.total] * float(self.step) + far * errors[self.count]
            return np.where(people >= 1, np.minimum(off / np.maximum(people, 1) + rounding, width), width)
        off = of_quotient(far, spreads[self.total] * float(self.step), self.people(noisy), spreads[self.count])
        return np.where(np.isnan(off), width, np.minimum(off + rounding, width))


@dataclass(frozen=True)
class MeasuredMean(_MeasuredFigure):
    """A mean that was measured as such: of rows of which there are many enough."""

    barred: ClassVar[bool] = True

    step: Fraction
    centre: Fraction
    within: Interval

    def worth(self, noisy: Mapping[str, Numbers]) -> Numbers:
        """The noisy mean, never outside the bounds."""
        mean = float(self.centre) + noisy[self.measure] * float(self.step)
        return np.clip(mean, float(self.within[0]), float(self.within[1]))

    def error(self, noisy: Mapping[str, Numbers], errors: Errors, spreads: Spreads | None = None) -> Numbers:
        """The noise's own error; each row, and the mean, was rounded by less than a step."""
        far = errors[self.measure] * float(self.step) + 2 * float(self.step)
        return np.broadcast_to(np.minimum(far, float(self.within[1] - self.within[0])), noisy[self.measure].shape)


def of_quotient(quotient: Numbers, above: Numbers | float, divisor: Numbers, below: Numbers | float) -> Numbers:
    """How far a quotient of two independent figures may be off; NaN where the divisor may be 0 (Fieller 1954).

    It is the largest x with divisor · x <= √(above² + (quotient + x)² below²), where ``above`` and ``below`` are the
    spreads of both. The quotient and the divisor are not negative.
    """
    known = divisor > below
    room = np.where(known, np.asarray(divisor, dtype=np.float64) ** 2 - np.square(below), 1.0)
    once = quotient * np.square(below)
    far = (once + np.sqrt(once**2 + room * (np.square(above) + quotient * once))) / room
    return np.where(known, far, np.nan)


_STRAIGHT = 0.25
"""How much of its error a figure may bend by, on the way there and back."""


class Curved(Figure):
    """A figure that is no sum and no quotient of two: its error is known where noise moves it along a line."""

    barred: ClassVar[bool] = True

    def error(self, noisy: Mapping[str, Numbers], errors: Errors, spreads: Spreads | None = None) -> Numbers | None:
        """The root of the sum of squares of what each measure may move it by, either way; NaN where that bends."""
        if spreads is None:
            return None
        here = self.worth(noisy)
        squares, bends = np.zeros(here.shape), np.zeros(here.shape)
        for name in sorted(self.made_of):
            down, up = (self.worth({**noisy, name: noisy[name] + side * spreads[name]}) - here for side in (-1.0, 1.0))
            squares += np.maximum(np.abs(down), np.abs(up)) ** 2
            bends += np.abs(up + down)
        far = np.sqrt(squares)
        return np.where(bends < _STRAIGHT * far, far, np.nan)


@dataclass(frozen=True)
class Spread(Curved):
    """The mean square distance from the centre less the squared mean distance; never below zero."""

    mean: Mean
    squares: Total
    sample: bool
    root: bool

    @property
    def made_of(self) -> frozenset[str]:
        """The mean and the sum of squares."""
        return self.mean.made_of | self.squares.made_of

    def worth(self, noisy: Mapping[str, Numbers]) -> Numbers:
        """The noisy variance, or its root."""
        people = self.mean.people(noisy)
        spread = np.maximum(self.squares.mean(noisy, people) - self.mean.apart(noisy) ** 2, 0.0)
        if self.sample:
            spread = spread * people / np.maximum(people - 1, 1)
        return np.asarray(np.sqrt(spread) if self.root else spread)


@dataclass(frozen=True)
class Association(Curved):
    """The mean product of two distances less the product of their means; divided by both spreads, a correlation."""

    x: Mean
    y: Mean
    products: Total
    squares: tuple[Total, ...]
    """The squares of x and of y, for a correlation; none for a covariance."""
    sample: bool
    squared: bool = False
    """Whether the figure is the square, of a correlation: the share of y's variance that x accounts for."""

    @property
    def made_of(self) -> frozenset[str]:
        """Both means, the sum of products and those of squares."""
        parts: list[Figure] = [self.x, self.y, self.products, *self.squares]
        return frozenset(name for part in parts for name in part.made_of)

    def worth(self, noisy: Mapping[str, Numbers]) -> Numbers:
        """The noisy covariance, or the noisy correlation, which is never outside -1 and 1."""
        people = self.x.people(noisy)
        together = self.products.mean(noisy, people) - self.x.apart(noisy) * self.y.apart(noisy)
        if self.squares:
            spreads = [
                Spread(mean, squares, sample=False, root=True).worth(noisy)
                for mean, squares in zip((self.x, self.y), self.squares, strict=True)
            ]
            both = spreads[0] * spreads[1]
            correlation = np.clip(np.where(both > 0, together / np.where(both > 0, both, 1.0), 0.0), -1.0, 1.0)
            return np.asarray(correlation**2 if self.squared else correlation)
        return np.asarray(together * people / np.maximum(people - 1, 1) if self.sample else together)


@dataclass(frozen=True)
class Regression(Curved):
    """The line that fits y best, given x: its slope is the covariance over the variance of x."""

    y: Mean
    x: Mean
    products: Total
    squares: Total
    """Of x."""
    intercept: bool
    """Whether the figure is where the line meets x = 0, and not its slope."""

    @property
    def made_of(self) -> frozenset[str]:
        """Both means, the sum of products and that of the squares of x."""
        return self.y.made_of | self.x.made_of | self.products.made_of | self.squares.made_of

    def worth(self, noisy: Mapping[str, Numbers]) -> Numbers:
        """The noisy slope, 0 where x seems to be the same for all; or the noisy intercept."""
        together = Association(self.y, self.x, self.products, (), sample=False).worth(noisy)
        spread = Spread(self.x, self.squares, sample=False, root=False).worth(noisy)
        slope = np.where(spread > 0, together / np.where(spread > 0, spread, 1.0), 0.0)
        return np.asarray(self.y.worth(noisy) - slope * self.x.worth(noisy) if self.intercept else slope)


def work_out(after: exp.Select, noisy: Mapping[str, pa.Table]) -> pa.Table:
    """The answer to the rest of a question, given the tables of keys and noisy figures."""
    if all(key in ("expressions", "from_") or not value for key, value in after.args.items()) and all(
        isinstance(one.unalias(), exp.Column) and one.unalias().table in noisy for one in after.expressions
    ):  # it only names them: most questions need no engine, which would cost as much as their noise
        shown = [noisy[one.unalias().table].column(one.unalias().name) for one in after.expressions]
        return pa.table(shown, names=[one.alias for one in after.expressions])
    made = _empty_engine(os.getpid(), memory_allowed()).fetch(after, noisy, seconds=seconds_left())
    for place, one in enumerate(after.expressions):
        if not _is_noisy(one, noisy) and pa.types.is_floating(made.schema.field(place).type):
            finite = pc.if_else(pc.is_finite(made.column(place)), made.column(place), None)
            made = made.set_column(place, made.schema.field(place), finite)
    return made


def _is_noisy(shown: exp.Expr, noisy: Mapping[str, object]) -> bool:
    """Whether a column of the answer is one of the noisy tables as it is."""
    inner = shown.unalias()
    return isinstance(inner, exp.Column) and inner.table in noisy


def require_works(after: exp.Select, parts: Sequence[Part], noisy: Mapping[str, type[np.generic]]) -> pa.Schema:
    """The columns of the answer; an error if the rest of a question could not be worked out, whatever the figures are.

    ``noisy`` says of what type the numbers are that figures are made of.
    """
    nothing = {name: np.zeros(0, dtype=type_) for name, type_ in noisy.items()}
    tables, kinds = {}, set(_COMPUTED)
    for part in parts:
        columns: dict[str, pa.Array[Any]] = {
            name: pa.array([], arrow_type(value.kind, scale=2)) for name, value in part.keys.items()
        }
        columns |= {name: pa.array([], pa.int64()) for name in part.totals}
        for name, figure in part.figures.items():
            columns[name] = pa.array(figure.worth(nothing))
            columns[f"{name}{ERROR}"] = error_column(figure.error(nothing, dict.fromkeys(noisy, 0), nothing), 0)
        tables[part.name] = pa.table(columns)
        kinds |= {value.kind for value in part.keys.values()}
    try:
        made = work_out(after, tables)
    except DiscreetError as error:
        raise BadQuery(f"This cannot be computed from the answer's figures: {error.message}") from None
    for shown, field in zip(after.expressions, made.schema, strict=True):
        computed = (
            _COMPUTED if not isinstance(shown.unalias(), exp.Column) else kinds
        )  # a SELECT inside may pass keys on
        if not _is_noisy(shown, tables) and kind_of(field.type) not in computed:
            raise BadQuery(
                f"{field.name!r} has a type that answers do not have.", hint="Answers have numbers, texts and booleans."
            )
    return made.schema


def error_column(errors: Numbers | None, rows: int) -> pa.Array[Any]:
    """Errors of ``rows`` rows; NULL where none is known."""
    return pa.nulls(rows, pa.float64()) if errors is None else pa.array(errors, mask=np.isnan(errors))


def attempt(computed: exp.Expr) -> exp.Expr:
    """The value of an expression, and NULL where it has none."""
    return computed if isinstance(computed, exp.Column) else sql.attempt(computed)


@lru_cache(maxsize=2)
def _empty_engine(_process: int, memory: int | None) -> DuckDB:
    """One for each process, since connecting costs more than asking; it holds no more than a question may take."""
    return DuckDB(settings=None if memory is None else memory_settings(memory))
