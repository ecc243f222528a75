"""What is measured on the engine: whole numbers whose change by one unit is known without looking.

Why a sum of rounded numbers is exact here: every value is turned into whole steps on the engine, row by row,
and whole numbers are added in any order to the same sum. No float is ever summed, so no rounding depends on
who else is in the table.

Why a sum is within its bounds: a whole number is one exactly; a column of doubles is put into steps with an error
below one step, which ``most`` allows for; and whatever was computed, or turned into a double, is cut to its bounds.
A row has at most 2**31 steps, so a sum of 2**32 rows fits 64 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.ask.value import Interval, Value, clamped, exponent, largest
from discreet.core import sql
from discreet.core.kind import Kind
from discreet.errors import BadQuery

_FINE = 24  # steps are 2**-24 of the largest value, or finer
_WHOLE = 2**31  # larger whole numbers are counted in larger steps
_EXTREME = Fraction(2) ** 900


@dataclass(frozen=True)
class Measure:
    """An aggregate that is a whole number for each group."""

    sql: exp.Expr
    most: int
    """What one unit can change it by, added up over all groups."""
    step: Fraction = Fraction(1)
    """What one is worth."""


def counted(what: exp.Expr, rows_per_unit: int) -> Measure:
    """A count, which every row of a unit changes by one."""
    return Measure(what, rows_per_unit)


def summed(value: Value, within: Interval, rows_per_unit: int, centre: Fraction = Fraction(0)) -> Measure:
    """The sum of ``value - centre`` in whole steps."""
    far = largest((within[0] - centre, within[1] - centre))
    if far and not 1 / _EXTREME <= far <= _EXTREME:
        raise BadQuery("Numbers that may be so large, or are so small, cannot be added.", hint="Declare other bounds.")
    if value.kind is Kind.INTEGER and (2 * centre).denominator == 1 and far <= _WHOLE:
        twice = centre.denominator == 2
        shifted = value.sql.copy() * 2 if twice else value.sql.copy()
        shift = int(2 * centre) if twice else int(centre)
        whole = exp.paren(shifted) - shift if shift else shifted
        step = Fraction(1, 2) if twice else Fraction(1)
        return Measure(_sum(whole), max(1, int(far / step)) * rows_per_unit, step)
    step = _step(far)
    centre = round(centre / step) * step
    # Half a step is added before the product: no double is then so small that the product would underflow.
    moved = exp.paren(value.as_double + sql.literal(float(step / 2 - centre)))
    steps: exp.Expr = exp.Floor(this=moved * sql.literal(float(1 / step)))
    most = -(-largest((within[0] - centre, within[1] - centre)) // step) + 1
    if not value.is_double_column:
        steps = clamped(steps, Fraction(-most), Fraction(most))
    return Measure(_sum(exp.cast(steps, exp.DType.BIGINT)), most * rows_per_unit, step)


def middle(within: Interval, kind: Kind) -> Fraction:
    """The middle of an interval, as ``summed`` can take it exactly."""
    centre = (within[0] + within[1]) / 2
    if kind is Kind.INTEGER and largest(within) <= _WHOLE:
        return centre
    step = _step(largest(within))
    return round(centre / step) * step


def _step(far: Fraction) -> Fraction:
    """A power of two, so that dividing by it is exact in doubles."""
    return Fraction(2) ** ((exponent(far) if far else 0) - _FINE)


def _sum(whole: exp.Expr) -> exp.Expr:
    return exp.cast(exp.Coalesce(this=exp.Sum(this=whole), expressions=[sql.literal(0)]), exp.DType.BIGINT)
