"""Sums in whole steps: how fine the steps are, where the bounds lie, and what a row adds.

All of this is about accuracy. That a row adds no more than it is charged for is enforced by
``engines/contribution.py``, whatever is worked out here.

Why rounding is small beside noise: a step is at most 2**-28 of what a unit can change the sum by, so noise, which is
as large as that change over epsilon, is 2**28 / epsilon steps or more, and rounding is less than a step a row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.engines.contribution import LARGEST_BOUND, Measure, OwnedRows, summed, summed_on_grid
from discreet.errors import BadQuery
from discreet.verbs.ask.value import Interval, Value, exponent, largest

_FINE = 30  # a unit's rows are 2**30 steps, or few less
_EXTREME = Fraction(2) ** 900


@dataclass(frozen=True)
class Steps:
    """What a row adds to a sum of ``value - centre``."""

    sql: exp.Expr
    """A whole number of steps; of a column of doubles, the double itself less what ``centre`` cannot say exactly."""
    bound: int
    """The most steps a row adds, above or below zero, if all that is known of it is so."""
    step: Fraction
    rounded: bool
    grid: Fraction | None = None
    """Of a column of doubles: what is still to be taken off it. Engines add doubles faster than whole numbers."""


def total(rows: OwnedRows, value: Value, within: Interval, centre: Fraction = Fraction(0)) -> Measure:
    """The sum of ``value - centre`` in whole steps."""
    steps = steps_of(value, within, rows.most, centre)
    if steps.grid is None:
        measure = summed(rows, steps.sql, steps.bound)
    else:
        measure = summed_on_grid(rows, steps.sql, steps.grid, steps.step, steps.bound)
    signed = within[0] < centre < within[1]
    return replace(measure, step=steps.step, rounded=steps.rounded, signed=signed)


def steps_of(value: Value, within: Interval, rows_per_unit: int, centre: Fraction = Fraction(0)) -> Steps:
    """What a row adds, in steps that are fine enough for a unit with that many rows."""
    far = largest((within[0] - centre, within[1] - centre))
    if far and not 1 / _EXTREME <= far <= _EXTREME:
        raise BadQuery("Numbers that may be so large, or are so small, cannot be added.", hint="Declare other bounds.")
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
    """The middle of an interval, as ``steps_of`` can take it exactly."""
    centre = (within[0] + within[1]) / 2
    if kind is Kind.INTEGER and largest(within) <= LARGEST_BOUND // 2:
        return centre
    step = _step(largest(within), rows_per_unit)
    return round(centre / step) * step


def _step(far: Fraction, rows_per_unit: int) -> Fraction:
    """A power of two, so that dividing by it is exact in doubles."""
    return Fraction(2) ** ((exponent(far * rows_per_unit) if far else 0) - _FINE)


def _on_grid(value: Value, centre: Fraction, step: Fraction, bound: int) -> Steps:
    """A column of doubles. A centre too far away to be taken off on the grid is taken off before: it is then near the
    double, and the difference exact but for the last digit."""
    away = 3 * 2**51 * step
    if Fraction(float(away - centre)) == away - centre:
        return Steps(value.sql.copy(), bound, step, True, grid=centre)
    near = exp.paren(value.sql.copy() + sql.literal(float(-centre)))
    return Steps(near, bound, step, True, grid=Fraction(0))
