"""Mean and variance, exactly, of the number of rows, the sum and the sum of squares.

What is summed is twice the distance from the middle of the bounds, a whole number of units. So one row changes the
sum by at most the distance of the bounds, and the sum of squares by its square, which is less than without it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from discreet.verbs.combine.data import VALUE, Data
from discreet.verbs.combine.distributed import Figures
from discreet.verbs.combine.functions.fields import Measure
from discreet.verbs.combine.functions.function import OneSum, over_rows
from discreet.verbs.combine.functions.sums import OfColumn
from discreet.verbs.combine.numbers import Units, product, summed
from discreet.verbs.combine.terms import Terms


@dataclass(frozen=True)
class Mean(OfColumn, OneSum):
    """The mean of a column, with the number of rows and their sum.

    With noise, a third or a half of the loss goes to each figure; the mean is then cut to the bounds.
    """

    of: str = VALUE
    name: ClassVar[str] = "mean"
    title: ClassVar[str] = "the mean of all rows"
    example: ClassVar[str] = "mean; mean of=income:0:100000"
    powers: ClassVar[int] = 1

    def bounds(self, terms: Terms) -> tuple[list[int], list[int]]:
        """A row adds one, a distance, and its square."""
        wide = self.measure(terms).grid.wide
        size = self.powers + 1
        return over_rows([0, -wide, 0][:size], [1, wide, wide * wide][:size])

    def local(self, data: Data, terms: Terms) -> list[int]:
        """How many rows, their distances and the squares."""
        measure = self.measure(terms)
        return moments(*data.numbers(measure.name, measure.grid), measure, self.powers)

    def figures(self, terms: Terms) -> tuple[Figures, ...]:
        """Each by itself."""
        wide = max(self.measure(terms).grid.wide, 1)
        return tuple(Figures(1, wide**power) for power in range(self.powers + 1))

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
        """The mean, how many rows it is of, and (without noise) their sum."""
        measure = self.measure(terms)
        n, first = totals[:2]
        mean, _ = described(totals, measure, noisy=terms.epsilon is not None)
        told: dict[str, Any] = {"mean": mean, "rows": n}
        if terms.epsilon is None:
            told["sum"] = measure.grid.plain((first + n * measure.middle) // 2)
        return told

    def reveals(self, terms: Terms) -> tuple[str, ...]:
        """The figures that it is made of."""
        also = ", and the sum of their squares" if self.powers > 1 else ""
        noisy = ", each with noise" if terms.epsilon is not None else ""
        return (f"Everybody learns how many rows there are in all, and their sum{also}{noisy}.",)


@dataclass(frozen=True)
class Variance(Mean):
    """The variance of a column (over n - 1), with mean and number of rows."""

    name: ClassVar[str] = "variance"
    title: ClassVar[str] = "variance and mean of all rows"
    example: ClassVar[str] = "variance; variance of=income:0:100000"
    powers: ClassVar[int] = 2

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
        """Mean, variance and standard deviation."""
        told = super().answer(totals, terms)
        _, variance = described(totals, self.measure(terms), noisy=terms.epsilon is not None)
        deviation = None if variance is None else math.sqrt(variance)
        return {"mean": told.pop("mean"), "variance": variance, "deviation": deviation, **told}


def moments(units: Units, times: Units, measure: Measure, powers: int) -> list[int]:
    """How many rows; twice their distances from the middle of the bounds, summed; the squares of these, summed."""
    off = 2 * units - measure.middle if measure.grid.farthest < 2**60 else 2 * units.astype(object) - measure.middle
    weighted = off * times if measure.grid.wide < 2**30 else off.astype(object) * times
    found = [summed(times), int(weighted.sum()) if weighted.dtype == object else summed(weighted)]
    return [*found, product(off, weighted)][: powers + 1]


def described(totals: list[int], measure: Measure, *, noisy: bool) -> tuple[float | None, float | None]:
    """Mean and variance (over n - 1); with noise they are cut to what the bounds allow. Nothing where there is none."""
    n, first, *second = totals
    if n < 1:
        return None, None
    off = Fraction(first, n)
    if noisy:
        off = max(Fraction(-measure.grid.wide), min(off, Fraction(measure.grid.wide)))
    mean = float(measure.grid.fraction((off + measure.middle) / 2))
    if not second or n < 2:
        return mean, None
    spread = max((second[0] - n * off * off) / (4 * (n - 1)), Fraction(0))
    return mean, float(spread / 100**measure.grid.decimals)
