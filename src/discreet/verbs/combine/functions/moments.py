"""Exact mean and variance, from the number of rows, their sum and their sum of squares.

What is summed is twice the distance from the middle of the bounds, a whole number of units. So one row changes the
sum by at most the distance of the bounds, and the sum of squares by its square, which is less than without it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

from discreet.core.catalogue import declare, parameter
from discreet.core.families import COMBINE_FUNCTIONS
from discreet.verbs.combine.data import VALUE, Data
from discreet.verbs.combine.distributed_noise import FigureSensitivity
from discreet.verbs.combine.fixed_point import Units, exact_dot, exact_sum
from discreet.verbs.combine.functions.columns import NumberColumn
from discreet.verbs.combine.functions.function import SingleSumFunction, bounds_over_rows
from discreet.verbs.combine.functions.sums import ColumnFunction
from discreet.verbs.combine.terms import Terms


@declare(COMBINE_FUNCTIONS, "mean", rank=2)
class Mean(ColumnFunction, SingleSumFunction):
    """Mean of a column, with the number of rows and their sum.

    With noise, a third or a half of the loss goes to each figure; the mean is then cut to the bounds.
    """

    of: str = parameter("Column, with bounds: age:0:110.", default=VALUE)
    title: ClassVar[str] = "the mean of all rows"
    example: ClassVar[str] = "mean; mean of=income:0:100000"
    powers: ClassVar[int] = 1

    def bounds(self, terms: Terms) -> tuple[list[int], list[int]]:
        """Bounds: a row adds one, a distance, and its square."""
        width = self.measure(terms).encoding.width
        size = self.powers + 1
        return bounds_over_rows([0, -width, 0][:size], [1, width, width * width][:size])

    def local(self, data: Data, terms: Terms) -> list[int]:
        """Number of rows, sum of distances, sum of squares."""
        measure = self.measure(terms)
        return moments(*data.numbers(measure.name, measure.encoding), measure, self.powers)

    def sensitivities(self, terms: Terms) -> tuple[FigureSensitivity, ...]:
        """One sensitivity for each moment."""
        width = max(self.measure(terms).encoding.width, 1)
        return tuple(FigureSensitivity(1, width**power) for power in range(self.powers + 1))

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
        """Mean, number of rows, and (without noise) their sum."""
        measure = self.measure(terms)
        n, first = totals[:2]
        mean, _ = mean_and_variance(totals, measure, noisy=terms.epsilon is not None)
        told: dict[str, Any] = {"mean": mean, "rows": n}
        if terms.epsilon is None:
            told["sum"] = measure.encoding.decode((first + n * measure.middle) // 2)
        return told

    def reveals(self, terms: Terms) -> tuple[str, ...]:
        """Every party sees the moments."""
        also = ", and the sum of their squares" if self.powers > 1 else ""
        noisy = ", each with noise" if terms.epsilon is not None else ""
        return (f"Everybody learns how many rows there are in all, and their sum{also}{noisy}.",)


@declare(COMBINE_FUNCTIONS, "variance", rank=3)
class Variance(Mean):
    """Variance of a column (over n - 1), with mean and number of rows."""

    title: ClassVar[str] = "variance and mean of all rows"
    example: ClassVar[str] = "variance; variance of=income:0:100000"
    powers: ClassVar[int] = 2

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
        """Mean, variance and standard deviation."""
        told = super().answer(totals, terms)
        _, variance = mean_and_variance(totals, self.measure(terms), noisy=terms.epsilon is not None)
        deviation = None if variance is None else math.sqrt(variance)
        return {"mean": told.pop("mean"), "variance": variance, "deviation": deviation, **told}


def moments(units: Units, times: Units, measure: NumberColumn, powers: int) -> list[int]:
    """Number of rows; sum of twice their distances from the middle of the bounds; sum of the squares of these."""
    off = (
        2 * units - measure.middle if measure.encoding.magnitude < 2**60 else 2 * units.astype(object) - measure.middle
    )
    weighted = off * times if measure.encoding.width < 2**30 else off.astype(object) * times
    found = [exact_sum(times), int(weighted.sum()) if weighted.dtype == object else exact_sum(weighted)]
    return [*found, exact_dot(off, weighted)][: powers + 1]


def mean_and_variance(totals: list[int], measure: NumberColumn, *, noisy: bool) -> tuple[float | None, float | None]:
    """Mean and variance (over n - 1), clamped to the bounds with noise; None where undefined."""
    n, first, *second = totals
    if n < 1:
        return None, None
    off = Fraction(first, n)
    if noisy:
        off = max(Fraction(-measure.encoding.width), min(off, Fraction(measure.encoding.width)))
    mean = float(measure.encoding.fraction((off + measure.middle) / 2))
    if not second or n < 2:
        return mean, None
    spread = max((second[0] - n * off * off) / (4 * (n - 1)), Fraction(0))
    return mean, float(spread / 100**measure.encoding.decimals)
