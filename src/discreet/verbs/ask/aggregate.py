"""SQL aggregates: the integer sums measured for each, and the figure computed from the noisy sums.

How fine the steps of a sum are, where its bounds lie and what a row adds is about accuracy. That a row adds no more
than it is charged for is enforced by ``engines/measures.py``, whatever is worked out here.

Why rounding is small beside noise: a step is at most 2**-28 of what a unit can change the sum by, so noise, which is
as large as that change over epsilon, is 2**28 / epsilon steps or more, and rounding is less than a step a row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.engines.contribution import OwnedRows
from discreet.engines.measures import (
    LARGEST_BOUND,
    Measure,
    averaged,
    counted,
    summed,
    summed_on_grid,
    units_counted,
    values_counted,
)
from discreet.errors import BadQuery, NotDeclared
from discreet.verbs.ask.mode import mode
from discreet.verbs.ask.postprocess import (
    Association,
    Chosen,
    Count,
    Figure,
    Mean,
    MeasuredMean,
    MostFrequent,
    Regression,
    Spread,
    Total,
)
from discreet.verbs.ask.quantile import Choice, quantile
from discreet.verbs.ask.rows import Rows, is_unit
from discreet.verbs.ask.scalar import scalar
from discreet.verbs.ask.value import Columns, Interval, Value, exponent, largest, multiply

_T = TypeVar("_T")
_SHARE = re.compile("[0-9]{0,20}[.]?[0-9]{0,20}")
_FINEST = 1000
"""Largest denominator of a quantile."""
_LARGEST_SPREAD = Fraction(2) ** 400
"""Largest squared distance in a variance or covariance; its inverse is the smallest."""
_SPREADS: dict[type[exp.Expr], tuple[bool, bool]] = {  # of a sample, and its root
    exp.Variance: (True, False),
    exp.VariancePop: (False, False),
    exp.Stddev: (True, True),
    exp.StddevSamp: (True, True),
    exp.StddevPop: (False, True),
}
_PAIRS: dict[type[exp.Expr], tuple[bool, bool]] = {  # of a sample, and divided by both spreads
    exp.CovarSamp: (True, False),
    exp.CovarPop: (False, False),
    exp.Corr: (False, True),
    exp.RegrR2: (False, True),
}
_LINES: dict[type[exp.Expr], bool] = {exp.RegrSlope: False, exp.RegrIntercept: True}
"""Whether the figure is the intercept."""
_OF_PAIRS = (exp.RegrCount, exp.RegrAvgy, exp.RegrAvgx)
"""What is counted or averaged over the rows that have both values."""
_FINE = 30  # a unit's rows are 2**30 steps, or few less
_LARGEST_SUMMAND = Fraction(2) ** 900
"""Largest absolute value that can be summed; its inverse is the smallest."""


def is_aggregate(node: exp.Expr) -> bool:
    """Whether ``node`` is an aggregate, with or without FILTER."""
    return isinstance(_inner(node), exp.AggFunc)


def quantiles_apart(node: exp.Expr) -> list[tuple[str, exp.Expr]]:
    """QUANTILE_CONT(x, [0.25, 0.5]) as the two quantiles, each with its percentage; nothing else is taken apart."""
    only = node if isinstance(node, exp.Filter) else None
    inner = node.this if only is not None else node
    if not isinstance(inner, exp.PercentileCont | exp.PercentileDisc | exp.Quantile):
        return []
    at = next((key for key in ("expression", "quantile") if isinstance(inner.args.get(key), exp.Array)), None)
    several = inner.args[at].expressions if at else []
    if not all(isinstance(one, exp.Literal) and not one.is_string and _SHARE.fullmatch(one.name) for one in several):
        return []
    found = []
    for one in several:
        apart = node.copy()
        array = next(apart.find_all(exp.Array))
        array.replace(one.copy())
        found.append((f"{float(100 * Fraction(one.name)):g}", apart))
    return found


def aggregate_parts(node: exp.Expr) -> tuple[exp.Expr, exp.Expr | None]:
    """An aggregate function, and the condition of its FILTER if it has one."""
    inner = _inner(node)
    if inner.args.get("order") or inner.args.get("expressions") or inner.this is None:
        raise BadQuery(f"{node.sql()} is not supported.")
    return inner, node.expression.this if isinstance(node, exp.Filter) else None


def filter_condition(only: exp.Expr, columns: Columns) -> Value:
    """The condition of a FILTER."""
    condition = scalar(only, columns)
    if condition.kind is not Kind.BOOLEAN:
        raise BadQuery(f"FILTER takes a condition; {only.sql()} is {condition.kind.value}.")
    return condition


def summand_bounds(node: exp.Expr, argument: exp.Expr, value: Value) -> Interval:
    """Declared bounds of the values that an aggregate sums; an error without them."""
    if not value.number:
        raise BadQuery(f"{node.sql()}: {value.kind.value} cannot be added.")
    if value.within is None:
        raise NotDeclared(
            f"{node.sql()} needs the bounds of {value.name or argument.sql()}, and the card declares none.",
            hint=f"Set them in the question, LEAST(GREATEST({argument.sql()}, LOWEST), HIGHEST), or let the data "
            "steward declare them on the card, bounds = [LOWEST, HIGHEST] (discreet workspace revise). "
            "discreet does not take them from the data.",
        )
    return value.within


def name_once(named: dict[str, _T], wanted: _T, letter: str) -> str:
    """Name of a computed quantity, one per distinct quantity: ``m0``, ``m1`` and so on."""
    found = next((name for name, one in named.items() if one == wanted), f"{letter}{len(named)}")
    named.setdefault(found, wanted)
    return found


class Aggregates:
    """Collects the measures that a question's aggregates need; equal measures are taken once."""

    def __init__(self, rows: Rows, *, grouped: bool, prefix: str = "") -> None:
        self._rows = rows
        self._grouped = grouped
        self._prefix = prefix
        self.measures: dict[str, Measure] = {}
        self.quantiles: dict[str, Choice] = {}
        self.figures: dict[str, Figure] = {}

    def share(self, other: Aggregates) -> None:
        """Collect into what another one collects, for the same groups of the same rows."""
        self._prefix, self.measures = other._prefix, other.measures
        self.quantiles, self.figures = other.quantiles, other.figures

    def figure(self, node: exp.Expr) -> str:
        """Name of the figure that answers an aggregate."""
        return name_once(self.figures, self._made(node), f"{self._prefix}f")

    def _made(self, node: exp.Expr) -> Figure:
        inner, only = aggregate_parts(node)
        if isinstance(inner, exp.Count):
            return Count(self._count(inner, only))
        if isinstance(inner, exp.ApproxDistinct):
            return Count(self._measured(self._distinct(inner, [inner.this], only)))
        if isinstance(inner, exp.CountIf):
            both = inner.this if only is None else exp.and_(only, inner.this)
            return Count(self._counted(self._present(None, both)))
        if isinstance(inner, exp.Sum):
            value, within = self._argument(inner, inner.this)
            measure = total(self._rows.owned, self._conditional(value, only), within)
            return Total(self._measured(measure), measure.step)
        if isinstance(inner, exp.Avg):
            return self._measured_mean(inner, only) or self._average(inner, only)
        if type(inner) in _SPREADS:
            mean = self._average(inner, only)
            return Spread(mean, self._product(mean, mean), *_SPREADS[type(inner)])
        if type(inner) in _PAIRS or type(inner) in _LINES or isinstance(inner, _OF_PAIRS):
            return self._association(inner, only)
        if isinstance(inner, exp.Mode):
            value = scalar(inner.this, self._rows.columns)
            common = mode(self._conditional(value, only), inner.this.sql(), self._rows.owned)
            return MostFrequent(name_once(self.quantiles, common, f"{self._prefix}q"), common.values)
        share = _share(inner)
        if share is not None:
            value, within = self._argument(inner, inner.this)
            chosen = quantile(self._conditional(value, only), within, share, self._rows.owned)
            return Chosen(name_once(self.quantiles, chosen, f"{self._prefix}q"))
        raise BadQuery(
            f"{inner.sql()} is not supported.",
            hint="Use COUNT, COUNT(DISTINCT unit), COUNT_IF, SUM, AVG, VARIANCE, STDDEV, COVAR_POP, CORR, REGR_SLOPE, "
            "MEDIAN, QUANTILE_CONT, MODE, MIN or MAX.",
        )

    def _count(self, node: exp.Count, only: exp.Expr | None) -> str:
        if isinstance(node.this, exp.Distinct):
            return self._measured(self._distinct(node, node.this.expressions, only))
        value = None if isinstance(node.this, exp.Star) else scalar(node.this, self._rows.columns)
        return self._counted(self._present(value, only))

    def _distinct(self, node: exp.Expr, wanted: list[exp.Expr], only: exp.Expr | None) -> Measure:
        """How many units, or how many values, are among the rows."""
        owned = self._rows.owned
        if len(wanted) != 1 or isinstance(wanted[0], exp.Tuple):
            raise BadQuery(f"{node.sql()} is not supported.", hint="Use COUNT(DISTINCT x) of one expression.")
        value = scalar(wanted[0], self._rows.columns)
        if is_unit(value):
            return units_counted(owned, self._present(None, only), grouped=self._grouped)
        chosen = self._conditional(value, only)
        if value.kind is Kind.REAL:  # 0 and -0 are one value
            chosen = replace(chosen, sql=exp.paren(chosen.sql.copy() + sql.literal(0.0)))
        domain = value.domain if value.domain is not None and len(value.domain) < owned.most else None
        listed = None if domain is None else [sql.literal(one) for one in domain]
        return values_counted(owned, chosen.sql, listed, grouped=self._grouped)

    def _present(self, value: Value | None, only: exp.Expr | None) -> exp.Expr | None:
        """Expression that is not NULL in the rows to be counted; ``None``: all rows are counted."""
        if value is None or value.required or isinstance(value.sql, exp.Literal):
            return None if only is None else sql.one_if(self._condition(only))
        return self._conditional(value, only).sql

    def _counted(self, present: exp.Expr | None) -> str:
        return self._measured(counted(self._rows.owned, present))

    def _argument(self, node: exp.Expr, argument: exp.Expr) -> tuple[Value, Interval]:
        if isinstance(argument, exp.Distinct):
            raise BadQuery(f"{node.sql()}: DISTINCT is not supported here.")
        value = scalar(argument, self._rows.columns)
        if argument.find(exp.Column) is None and not isinstance(node, exp.Sum | exp.Avg):
            raise BadQuery(f"{node.sql('duckdb')} is about a constant.", hint="Its value does not depend on the data.")
        return value, summand_bounds(node, argument, value)

    def _conditional(self, value: Value, only: exp.Expr | None) -> Value:
        if only is None:
            return value
        chosen = exp.case().when(self._condition(only), value.sql.copy())
        return Value(chosen, value.kind, value.within, value.domain)

    def _condition(self, only: exp.Expr) -> exp.Expr:
        return filter_condition(only, self._rows.columns).sql.copy()

    def _measured_mean(self, node: exp.Avg, only: exp.Expr | None) -> MeasuredMean | None:
        """The mean of a column of all rows of a table, if its card says how many there are at least."""
        fewest = self._rows.at_least
        if fewest is None or self._grouped or only is not None:
            return None
        value, within = self._argument(node, node.this)
        if not value.required:  # how many rows have a value is not said
            return None
        centre = middle(within, value.kind, self._rows.most)
        steps = steps_of(replace(value, name=""), within, self._rows.most, centre)
        measure = averaged(self._rows.owned, steps.sql, steps.bound, fewest)
        return MeasuredMean(self._measured(replace(measure, step=steps.step)), steps.step, centre, within)

    def _average(self, node: exp.Expr, only: exp.Expr | None) -> Mean:
        value, within = self._argument(node, node.this)
        return self._mean(self._conditional(value, only), within, self._present(value, only))

    def _mean(self, value: Value, within: Interval, present: exp.Expr | None) -> Mean:
        centre = middle(within, value.kind, self._rows.most)
        added = total(self._rows.owned, value, within, centre)
        distance = exp.paren(value.snapped - sql.literal(float(centre)))
        measured, count = self._measured(added), self._counted(present)
        return Mean(measured, added.step, count, centre, within, distance, added.rounded)

    def _product(self, one: Mean, other: Mean) -> Total:
        """Sum of the products of two centred values, less the middle of the product's range."""
        within = multiply(one.reach, other.reach)
        if not 1 / _LARGEST_SPREAD <= largest(within) <= _LARGEST_SPREAD:
            raise BadQuery("The declared bounds are too wide or too small to compute a spread.")
        value = Value(exp.paren(one.distance.copy() * other.distance.copy()), Kind.REAL, within)
        centre = middle(within, Kind.REAL, self._rows.most)
        measure = total(self._rows.owned, value, within, centre)
        return Total(self._measured(measure), measure.step, centre)

    def _association(self, node: exp.Expr, only: exp.Expr | None) -> Figure:
        """Covariance, correlation or regression of two columns; rows in which either is missing are left out."""
        pair = [self._argument(node, one) for one in (node.this, node.expression)]
        needed: list[exp.Expr] = [value.sql.copy().is_(exp.null()).not_() for value, _ in pair if not value.required]
        needed += [] if only is None else [self._condition(only)]
        both = exp.and_(*needed) if needed else None
        present = None if both is None else sql.one_if(both)
        if isinstance(node, exp.RegrCount):
            return Count(self._counted(present))
        means = []
        for value, within in (pair[place] for place in _wanted_of(node)):
            chosen = None if both is None else exp.case().when(both.copy(), value.sql.copy())
            one = value if chosen is None else Value(chosen, value.kind, within)
            means.append(self._mean(one, within, present))
        if len(means) == 1:
            return means[0]
        if type(node) in _LINES:
            squares = self._product(means[1], means[1])
            return Regression(means[0], means[1], self._product(*means), squares, _LINES[type(node)])
        sample, divided = _PAIRS[type(node)]
        own = tuple(self._product(mean, mean) for mean in means) if divided else ()
        return Association(means[0], means[1], self._product(*means), own, sample, isinstance(node, exp.RegrR2))

    def _measured(self, measure: Measure) -> str:
        return name_once(self.measures, measure, f"{self._prefix}m")


def _wanted_of(node: exp.Expr) -> tuple[int, ...]:
    """Which of two columns an aggregate of both measures by itself."""
    if isinstance(node, exp.RegrAvgy | exp.RegrAvgx):
        return (int(isinstance(node, exp.RegrAvgx)),)
    return 0, 1


def _inner(node: exp.Expr) -> exp.Expr:
    """The aggregate of a FILTER."""
    return node.this if isinstance(node, exp.Filter) else node


def _share(node: exp.Expr) -> Fraction | None:
    """Quantile of an aggregate. MIN and MAX are the 1st and 99th percentile, so no one's own value is released."""
    fixed: dict[type[exp.Expr], Fraction] = {
        exp.Median: Fraction(1, 2),
        exp.Min: Fraction(1, 100),
        exp.Max: Fraction(99, 100),
    }
    if type(node) in fixed:
        return fixed[type(node)]
    if not isinstance(node, exp.PercentileCont | exp.PercentileDisc | exp.Quantile | exp.ApproxQuantile):
        return None
    said = node.args.get("expression") or node.args.get("quantile")
    plain = isinstance(said, exp.Literal) and not said.is_string and _SHARE.fullmatch(said.name)
    share = Fraction(said.name) if plain and said else None
    if share is None or not 0 < share < 1:
        raise BadQuery(
            f"{node.sql('duckdb')}: the quantile must be a number between 0 and 1.",
            hint="For example QUANTILE_CONT(x, 0.9).",
        )
    if share.denominator > _FINEST:
        raise BadQuery(
            f"{node.sql('duckdb')}: a quantile may have at most three decimals.",
            hint=f"For example {float(round(share, 3)) or 0.001}.",
        )
    return share


@dataclass(frozen=True)
class Steps:
    """Contribution of a row to a sum of ``value - centre``, in integer steps."""

    sql: exp.Expr
    """Integer number of steps; for a column of doubles, the double less what ``centre`` cannot represent exactly."""
    bound: int
    """Largest absolute contribution of a row, in steps."""
    step: Fraction
    rounded: bool
    grid: Fraction | None = None
    """For a column of doubles: centre still to be subtracted. Engines sum doubles faster than integers."""


def total(rows: OwnedRows, value: Value, within: Interval, centre: Fraction = Fraction(0)) -> Measure:
    """Sum of ``value - centre`` in integer steps."""
    steps = steps_of(value, within, rows.most, centre)
    if steps.grid is None:
        measure = summed(rows, steps.sql, steps.bound)
    else:
        measure = summed_on_grid(rows, steps.sql, steps.grid, steps.step, steps.bound)
    signed = within[0] < centre < within[1]
    return replace(measure, step=steps.step, rounded=steps.rounded, signed=signed)


def steps_of(value: Value, within: Interval, rows_per_unit: int, centre: Fraction = Fraction(0)) -> Steps:
    """Contribution of a row, in steps fine enough for a unit with ``rows_per_unit`` rows."""
    far = largest((within[0] - centre, within[1] - centre))
    if far and not 1 / _LARGEST_SUMMAND <= far <= _LARGEST_SUMMAND:
        raise BadQuery(
            "The declared bounds are too wide or too small to add such numbers.", hint="Declare other bounds."
        )
    if value.kind is Kind.INTEGER and (2 * centre).denominator == 1 and far <= LARGEST_BOUND // 2:
        twice = centre.denominator == 2
        shifted = value.sql.copy() * 2 if twice else value.sql.copy()
        shift = int(2 * centre) if twice else int(centre)
        step = Fraction(1, 2) if twice else Fraction(1)
        return Steps(exp.paren(shifted) - shift if shift else shifted, max(1, int(far / step)), step, False)
    step = _step(far, rows_per_unit)
    centre = round(centre / step) * step
    bound = int(-(-largest((within[0] - centre, within[1] - centre)) // step) + 1)
    if value.is_double_column:
        return _on_grid(value, centre, step, bound)
    # Half a step is added before the product: no double is then so small that the product would underflow.
    moved = exp.paren(value.as_double + sql.literal(float(step / 2 - centre)))
    return Steps(exp.Floor(this=moved * sql.literal(float(1 / step))), bound, step, True)


def middle(within: Interval, kind: Kind, rows_per_unit: int) -> Fraction:
    """Midpoint of an interval, rounded to what ``steps_of`` represents exactly."""
    centre = (within[0] + within[1]) / 2
    if kind is Kind.INTEGER and largest(within) <= LARGEST_BOUND // 2:
        return centre
    step = _step(largest(within), rows_per_unit)
    return round(centre / step) * step


def _step(far: Fraction, rows_per_unit: int) -> Fraction:
    """Step size: a power of two, so that dividing by it is exact in doubles."""
    return Fraction(2) ** ((exponent(far * rows_per_unit) if far else 0) - _FINE)


def _on_grid(value: Value, centre: Fraction, step: Fraction, bound: int) -> Steps:
    """Steps of a column of doubles, summed on a grid.

    A centre too far away to be subtracted on the grid is subtracted before: it is then near the double, and the
    difference exact but for the last digit.
    """
    away = 3 * 2**51 * step
    if Fraction(float(away - centre)) == away - centre:
        return Steps(value.sql.copy(), bound, step, True, grid=centre)
    near = exp.paren(value.sql.copy() + sql.literal(float(-centre)))
    return Steps(near, bound, step, True, grid=Fraction(0))
