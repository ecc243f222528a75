"""Measures: whole numbers for groups of rows that one unit can change by a known amount, whatever it holds.

It is the third part of contribution bounding (``contribution.py`` has the others): like that, it believes nothing of
what is said about an expression.

Why this is private. A unit has at most ``rows.most`` rows, and GROUP BY puts each row into one group. A row adds 0 or 1
to a count. To a sum it adds a whole number of steps that was clamped, in the type it is added in, to ``bound`` in
absolute value, whatever was computed for it; NULL, which includes whatever failed, adds 0. To the number of units of a
group a unit adds 0 or 1. To the number of distinct values of a group the rows of a unit add as many as there are values
that no other row of the group has: at most one a row, and no more than the count is cut to, which are as many as there
are listed. So a unit changes a count by at most ``rows.most`` over all groups together, and a sum by at most
``bound`` times that. Removing a unit changes no other row, so nothing else changes.

Whole numbers are added in any order to the same sum. Doubles that are multiples of one step are as well while no sum on
the way can reach 2**53 steps, which is so in groups of few enough rows; in larger ones such a measure is NULL and
``large`` gives the same number by whole numbers. A double is clamped, and then put on the grid of steps by adding 3 ·
2**51 steps and taking them off again: between 2**52 and 2**53 steps doubles are one step apart, so what is left is a
multiple of a step. Rounding is monotone, so it lies between what both ends of the clamp become, which is worked out
here in the same doubles, and is within ±``bound``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from sqlglot import exp

from discreet.core import sql
from discreet.engines.contribution import UNIT, VALUE, OwnedRows, UnitAggregate, attempts_as_columns
from discreet.errors import BadQuery

LARGEST_BOUND = 2**32
"""The most steps a row can add: the sum of 2**31 rows fits 64 bits."""
_EXACT = 2**53
COUNT = "discreet_count"


@dataclass(frozen=True)
class Measure:
    """An aggregate that is a whole number for each group."""

    sql: exp.Expr
    most: int
    """What one unit can change it by, added up over all groups."""
    each: int
    """What one unit can change it by in a single group."""
    large: exp.Expr | None = None
    """The same for groups of any size, if ``sql`` is NULL in large ones."""
    quick_rows: int = 0
    """The most rows of a group in which ``sql`` is exact, if ``large`` is there for others."""
    step: Fraction = Fraction(1)
    """What one is worth: for anyone who reads the figure, as are ``rounded`` and ``signed``."""
    rounded: bool = False
    """Whether rows were rounded to steps, each by less than one."""
    signed: bool = False
    """Whether what rows add may be above 0 for some and below it for others."""

    @property
    def squares(self) -> int:
        """What one unit can change it by, squared and added up over all groups: Σ c² <= max c · Σ c."""
        return self.each * self.most


def counted(rows: OwnedRows, present: exp.Expr | None = None) -> Measure:
    """How many rows there are, or how many of them have a value of ``present``."""
    return Measure(_count(rows, present), rows.most, rows.most)


def units_counted(rows: OwnedRows, present: exp.Expr | None = None, *, grouped: bool) -> Measure:
    """How many units there are among rows, or among those that have a value of ``present``.

    Without a unit all rows are counted, those of the same person too.
    """
    if rows.unit is None:
        return counted(rows, present)
    unit: exp.Expr = sql.column(UNIT)
    if present is not None:
        unit = exp.case().when(rows.of(present).is_(exp.null()).not_(), unit)
    return Measure(exp.Count(this=exp.Distinct(expressions=[unit])), rows.groups if grouped else 1, 1)


def values_counted(
    rows: OwnedRows, value: exp.Expr, listed: Sequence[exp.Expr] | None = None, *, grouped: bool
) -> Measure:
    """How many distinct values there are among rows; if they are ``listed``, how many of those."""
    if listed is None:
        return Measure(exp.Count(this=exp.Distinct(expressions=[rows.of(value)])), rows.most, rows.most)
    known = rows.of(exp.case().when(exp.In(this=exp.paren(value.copy()), expressions=list(listed)), value.copy()))
    many, each = sql.literal(len(listed)), max(1, min(rows.most, len(listed)))
    few = exp.Least(this=exp.Count(this=exp.Distinct(expressions=[known])), expressions=[many], ignore_nulls=True)
    return Measure(few, rows.most if grouped else each, each)


def summed(rows: OwnedRows, steps: exp.Expr, bound: int) -> Measure:
    """The sum of a whole number of steps, each clamped to ±``bound``."""
    most = _bound(bound) * rows.most
    return Measure(_sum(rows, steps, bound), most, most)


def summed_on_grid(rows: OwnedRows, double: exp.Expr, centre: Fraction, step: Fraction, bound: int) -> Measure:
    """The sum of a double less ``centre``, in steps (a power of two), each clamped to ±``bound``; the fast way."""
    most = _bound(bound) * rows.most
    shift, back = float(3 * 2**51 * step - centre), float(3 * 2**51 * step)
    low, high = float(centre - bound * step), float(centre + bound * step)
    exact = all(part & (part - 1) == 0 for part in step.as_integer_ratio())
    for end in (low, high):
        if not (exact and 2**52 * step <= end + shift <= 2**53 * step and abs(end + shift - back) <= bound * step):
            raise BadQuery("These numbers are too large for the precision needed, and cannot be added.")
    inside = exp.paren(clamped(rows.of(double), sql.literal(low), sql.literal(high)))
    grid = exp.paren(exp.paren(inside + sql.literal(shift)) - sql.literal(back))
    scale = sql.literal(float(1 / step))
    some = exp.Coalesce(this=exp.Sum(this=grid), expressions=[sql.literal(0.0)])
    quick_ = exp.case().when(sql.count_rows() <= _EXACT // bound, exp.cast(some * scale, exp.DType.BIGINT))
    large = _whole_sum(exp.cast(exp.paren(grid.copy()) * scale.copy(), exp.DType.BIGINT))
    return Measure(quick_, most, most, large, _EXACT // bound)


def averaged(rows: OwnedRows, steps: exp.Expr, bound: int, at_least: int) -> Measure:
    """The sum of a whole number of steps, each clamped to ±``bound``, over the number of rows, or over ``at_least`` if
    there are fewer, to the nearest step.

    Why a row changes it by 2 · ``bound`` / ``at_least`` at most, however many rows there are. With n rows it is
    T / max(n, S). A row that adds t, taken from n > S rows, changes it by (t - T / n) / (n - 1), where t and the mean
    are within ±``bound``; taken from n <= S rows, by t / S. A unit's rows do so one after the other. It is a double of
    53 bits and less than 2**32: what it is off, and rounded to a step, is less than one step more between neighbours.
    """
    far = Fraction(2 * _bound(bound) * rows.most, at_least)
    many = exp.Greatest(this=sql.count_rows(), expressions=[sql.literal(at_least)], ignore_nulls=True)
    mean = exp.cast(_sum(rows, steps, bound), exp.DType.DOUBLE) / exp.cast(many, exp.DType.DOUBLE)
    nearest = exp.Floor(this=exp.paren(mean) + sql.literal(0.5))
    most = ceil(far) + 1
    return Measure(exp.cast(nearest, exp.DType.BIGINT), most, most)


def quick(measure: Measure, rows: int) -> exp.Expr:
    """The aggregate, NULL in groups of more rows than that, if there is another way to measure those."""
    limited = measure.sql.copy()
    if measure.large is not None:
        limited.args["ifs"][0].this.set("expression", sql.literal(rows))
    return limited


def measured_query(rows: OwnedRows, keys: Mapping[str, exp.Expr], measures: Mapping[str, exp.Expr]) -> exp.Select:
    """The measures of every group that has rows: each row is in one. What is computed of a row is computed once."""
    if rows.cut is not None and tuple(keys.values()) != rows.cut_by:
        raise BadQuery("Rows bounded to a number of groups must be grouped by the same keys.")
    return _grouped_query(rows, keys, measures)


def _grouped_query(rows: OwnedRows, keys: Mapping[str, exp.Expr], measures: Mapping[str, exp.Expr]) -> exp.Select:
    if keys.keys() & measures.keys():  # a count would be taken for the key it is of, and move with one row
        raise BadQuery(f"A column cannot be called {min(keys.keys() & measures.keys())!r} here.")
    value = VALUE
    while any(name.casefold().startswith(value) for name in rows.names):  # a column must not be taken for another
        value += "_"
    computed: dict[str, exp.Expr] = {}
    grouped = {name: attempts_as_columns(rows.of(key), computed, value) for name, key in keys.items()}
    shown = grouped | {name: attempts_as_columns(one.copy(), computed, value) for name, one in measures.items()}
    source = rows.query
    if computed:
        each = [sql.named(attempt, f"{value}{place}") for place, attempt in enumerate(computed.values())]
        source = exp.select(exp.Star(), *each, copy=False).from_(source.subquery("r"), copy=False)
    query = exp.select(*(sql.named(one, name) for name, one in shown.items()), copy=False)
    query = query.from_(source.subquery("m"), copy=False)
    apart = [key.copy() for key in grouped.values() if not isinstance(key, exp.Literal)]  # a number would be a position
    return query.group_by(*apart, copy=False)


def cell_counts(rows: OwnedRows, keys: Mapping[str, exp.Expr]) -> exp.Select:
    """How many rows are in every cell that has any: each row is in one."""
    return _grouped_query(rows, keys, {COUNT: sql.count_rows()})


# -- aggregates of one unit's rows: they need no bound, since whatever is measured of them gets one


def unit_count(rows: OwnedRows, present: exp.Expr | None = None, *, distinct: bool = False) -> UnitAggregate:
    """How many rows of a unit there are, or have a value, or how many values they have."""
    if distinct and present is not None:
        return UnitAggregate(exp.Count(this=exp.Distinct(expressions=[rows.of(present)])))
    return UnitAggregate(_count(rows, present))


def unit_sum(rows: OwnedRows, steps: exp.Expr, bound: int) -> UnitAggregate:
    """The sum of a whole number of steps over a unit's rows, each clamped to ±``bound``."""
    if bound * rows.most >= 2**62:
        raise BadQuery("The sum of a unit's rows could overflow.")
    return UnitAggregate(_sum(rows, steps, bound))


def unit_extreme(rows: OwnedRows, which: type[exp.Min] | type[exp.Max], value: exp.Expr) -> UnitAggregate:
    """The least or the largest value of a unit's rows."""
    return UnitAggregate(which(this=rows.of(value)))


def clamped(number: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    """A number between two others. NULL stays NULL; NaN becomes ``high`` or NULL, whatever an engine holds of it."""
    inside = exp.Between(this=number.copy(), low=low.copy(), high=high.copy())
    below, above = exp.LT(this=number.copy(), expression=low), exp.GT(this=number.copy(), expression=high)
    cases = ((inside, number), (below, low), (above, high))  # of most rows nothing but the first is asked
    return exp.Case(ifs=[exp.If(this=condition, true=then.copy()) for condition, then in cases])


def _bound(bound: int) -> int:
    if not 1 <= bound <= LARGEST_BOUND:
        raise BadQuery(
            "The declared bounds are too wide or too small to add such numbers.", hint="Declare other bounds."
        )
    return bound


def _count(rows: OwnedRows, present: exp.Expr | None) -> exp.Expr:
    return sql.count_rows() if present is None else exp.Count(this=rows.of(present))


def _sum(rows: OwnedRows, steps: exp.Expr, bound: int) -> exp.Expr:
    whole = rows.of(exp.cast(steps.copy(), exp.DType.BIGINT, copy=False))
    return _whole_sum(clamped(whole, sql.literal(-bound), sql.literal(bound)))


def _whole_sum(whole: exp.Expr) -> exp.Expr:
    some = exp.Coalesce(this=exp.Sum(this=whole), expressions=[sql.literal(0)])
    return exp.cast(some, exp.DType.BIGINT, copy=False)
