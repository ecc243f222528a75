"""What is measured on the engine: whole numbers whose change by one unit is known without looking.

Why a sum of rounded numbers is exact here: every value is turned into whole steps on the engine, row by row,
and whole numbers are added in any order to the same sum. Engines add doubles faster than whole numbers they have to
be turned into, and doubles that are multiples of one step are added as exactly, while no sum on the way can reach
2**53 steps: that is so in groups of few enough rows. In larger ones such a measure is NULL, and ``large`` gives the
same number by whole numbers. So no rounding depends on who else is in the table.

Why a sum is within its bounds: a whole number is one exactly; a column of doubles is put into steps with an error
below one step, which ``most`` allows for; and whatever was computed, or turned into a double, is cut to its bounds.
A row has at most 2**31 steps, so a sum of 2**32 rows fits 64 bits.

Why rounding is small beside noise: a step is at most 2**-28 of what a unit can change the sum by, so noise, which is
as large as that change over epsilon, is 2**28 / epsilon steps or more, and rounding is less than a step a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.ask.value import Interval, Value, clamped, exponent, largest
from discreet.core import sql
from discreet.core.kind import Kind
from discreet.errors import BadQuery

_FINE = 30  # a unit's rows are 2**30 steps, or few less
_WHOLE = 2**31  # larger whole numbers are counted in larger steps
_EXTREME = Fraction(2) ** 900
_EXACT = 2**53


@dataclass(frozen=True)
class Measure:
    """An aggregate that is a whole number for each group."""

    sql: exp.Expr
    most: int
    """What one unit can change it by, added up over all groups."""
    each: int
    """What one unit can change it by in a single group."""
    step: Fraction = Fraction(1)
    """What one is worth."""
    rounded: bool = False
    """Whether rows were rounded to steps, each by less than one."""
    large: exp.Expr | None = None
    """The same for groups of any size, if ``sql`` is NULL in large ones."""
    signed: bool = False
    """Whether what rows add may be above 0 for some and below it for others."""

    @property
    def squares(self) -> int:
        """What one unit can change it by, squared and added up over all groups: Σ c² <= max c · Σ c."""
        return self.each * self.most


def counted(what: exp.Expr, most: int, each: int | None = None) -> Measure:
    """A count that a unit changes by ``most`` in all, and by ``each`` in a single group (default: by as much)."""
    return Measure(what, most, most if each is None else each)


def summed(value: Value, within: Interval, rows_per_unit: int, centre: Fraction = Fraction(0)) -> Measure:
    """The sum of ``value - centre`` in whole steps."""
    far = largest((within[0] - centre, within[1] - centre))
    if far and not 1 / _EXTREME <= far <= _EXTREME:
        raise BadQuery("Numbers that may be so large, or are so small, cannot be added.", hint="Declare other bounds.")
    signed = within[0] < centre < within[1]
    if value.kind is Kind.INTEGER and (2 * centre).denominator == 1 and far <= _WHOLE:
        twice = centre.denominator == 2
        shifted = value.sql.copy() * 2 if twice else value.sql.copy()
        shift = int(2 * centre) if twice else int(centre)
        whole = exp.paren(shifted) - shift if shift else shifted
        step = Fraction(1, 2) if twice else Fraction(1)
        most = max(1, int(far / step)) * rows_per_unit
        return Measure(_whole_sum(whole), most, most, step, signed=signed)
    step = _step(far, rows_per_unit)
    centre = round(centre / step) * step
    most = int(-(-largest((within[0] - centre, within[1] - centre)) // step) + 1)
    if value.is_double_column:
        grid, scale = _on_grid(value.sql.copy(), centre, step), sql.literal(float(1 / step))
        some = exp.Coalesce(this=exp.Sum(this=grid), expressions=[sql.literal(0.0)])
        quick = exp.case().when(sql.count_rows() <= _EXACT // most, exp.cast(some * scale, exp.DType.BIGINT))
        large = _whole_sum(exp.cast(grid.copy() * scale.copy(), exp.DType.BIGINT))
        return Measure(quick, most * rows_per_unit, most * rows_per_unit, step, True, large, signed)
    # Half a step is added before the product: no double is then so small that the product would underflow.
    moved = exp.paren(value.as_double + sql.literal(float(step / 2 - centre)))
    steps = clamped(exp.Floor(this=moved * sql.literal(float(1 / step))), Fraction(-most), Fraction(most))
    total = _whole_sum(exp.cast(steps, exp.DType.BIGINT))
    return Measure(total, most * rows_per_unit, most * rows_per_unit, step, True, signed=signed)


def middle(within: Interval, kind: Kind, rows_per_unit: int) -> Fraction:
    """The middle of an interval, as ``summed`` can take it exactly."""
    centre = (within[0] + within[1]) / 2
    if kind is Kind.INTEGER and largest(within) <= _WHOLE:
        return centre
    step = _step(largest(within), rows_per_unit)
    return round(centre / step) * step


def _step(far: Fraction, rows_per_unit: int) -> Fraction:
    """A power of two, so that dividing by it is exact in doubles."""
    return Fraction(2) ** ((exponent(far * rows_per_unit) if far else 0) - _FINE)


def _on_grid(double: exp.Expr, centre: Fraction, step: Fraction) -> exp.Expr:
    """A double less the centre, rounded to a multiple of the step.

    Doubles near 3 · 2**51 steps are a step apart, so adding that and taking it off again is rounding. The centre is
    taken off on the way where that makes no difference, and before where it is too far away for that; then it is near
    the double, and the difference exact but for the last digit.
    """
    away = 3 * 2**51 * step
    if Fraction(float(away - centre)) != away - centre:
        double, centre = exp.paren(double + sql.literal(float(-centre))), Fraction(0)
    return exp.paren(exp.paren(double + sql.literal(float(away - centre))) - sql.literal(float(away)))


def _whole_sum(whole: exp.Expr) -> exp.Expr:
    return exp.cast(exp.Coalesce(this=exp.Sum(this=whole), expressions=[sql.literal(0)]), exp.DType.BIGINT)
