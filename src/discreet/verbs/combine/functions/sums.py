"""Sums, counts, parities, means and variances of numbers that parties or their rows have.

**Mean and variance, exactly.** What is summed is twice the distance from the middle of the bounds, a whole number of
units. So one row changes the sum by at most the distance of the bounds, and the sum of squares by its square, which is
less than without it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

from discreet.core.catalogue import declare, parameter
from discreet.core.families import COMBINE_FUNCTIONS
from discreet.errors import BadInput, DataError
from discreet.verbs.combine.data import VALUE, Data
from discreet.verbs.combine.distributed_noise import FigureSensitivity
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.fixed_point import MAX_PARTY_ROWS, FixedPoint, Units, exact_dot, exact_sum
from discreet.verbs.combine.functions.function import (
    Function,
    NumberColumn,
    SingleSumFunction,
    bounds_over_rows,
    limit_figures,
    number_columns,
)
from discreet.verbs.combine.secure_sums import SecureSums
from discreet.verbs.combine.terms import Result, Terms


@declare(COMBINE_FUNCTIONS, "sum", rank=0)
class Sum(SingleSumFunction):
    """Sum of the parties' numbers, such as salaries, or, with ``of``, of a column.

    Sensitivity: a party's number moves by the distance of the bounds, in each of ``length`` places; a
    row that comes or goes moves the sum by the bound that is farther from zero.
    """

    of: str = parameter("Column, with bounds: income:0:100000; none: one number a party.", default="")
    length: int = parameter("Numbers that each party brings.", default=1)
    title: ClassVar[str] = "the sum of one number per party, of several in parallel, or of a column"
    example: ClassVar[str] = "sum; sum length=12; sum of=income:0:100000"

    def __post_init__(self) -> None:
        if self.length < 1 or (self.of and self.length > 1):
            raise BadInput("A sum needs a length of at least 1; the sum of a column is a single number.")
        limit_figures(self.length)

    @property
    def replaces(self) -> bool:  # type: ignore[override]
        """Without a column, noise hides the parties' own numbers, and who takes part is known."""
        return not self.of

    def bounds(self, terms: Terms) -> tuple[int | list[int], int | list[int]]:
        encoding = self._grid(terms)
        return bounds_over_rows([encoding.low], [encoding.high]) if self.of else (encoding.low, encoding.high)

    def local(self, data: Data, terms: Terms) -> Units | list[int]:
        encoding = self._grid(terms)
        if self.of:
            return [exact_dot(*data.numbers(one_number_column(self.of, terms).name, encoding))]
        [values] = data.columns([VALUE])
        if values.size != self.length:
            raise DataError(
                f"Each party brings {self.length:,} number{'s' * (self.length > 1)} for this sum, not {values.size:,}.",
                hint=f"Write sum length={values.size} to add place by place, or sum of=value to add up all lines.",
            )
        return encoding.encode(values, "The input")

    def answer(self, totals: list[int], terms: Terms) -> Any:
        encoding = self._grid(terms)
        values = [encoding.decode(total) for total in totals] if encoding.decimals else totals
        return values[0] if self.length == 1 else values

    def sensitivities(self, terms: Terms) -> tuple[FigureSensitivity, ...]:
        """Sensitivity of all places together."""
        encoding = self._grid(terms)
        if self.of:
            return (FigureSensitivity(1, max(encoding.magnitude, 1)),)
        width = max(encoding.width, 1)
        return (FigureSensitivity(self.length, self.length * width, self.length * width**2),)

    def check(self, terms: Terms) -> None:
        self._grid(terms)
        super().check(terms)

    def _grid(self, terms: Terms) -> FixedPoint:
        return one_number_column(self.of, terms).encoding if self.of else FixedPoint.from_terms(terms)


@declare(COMBINE_FUNCTIONS, "count", rank=1)
class Count(SingleSumFunction):
    """Number of rows of all parties together; its sensitivity is 1."""

    title: ClassVar[str] = "total number of rows"
    example: ClassVar[str] = "count"

    def bounds(self, terms: Terms) -> tuple[int, int]:
        return 0, MAX_PARTY_ROWS

    def local(self, data: Data, terms: Terms) -> list[int]:
        return [data.rows]

    def answer(self, totals: list[int], terms: Terms) -> int:
        return totals[0]

    def sensitivities(self, terms: Terms) -> tuple[FigureSensitivity, ...]:
        return (FigureSensitivity(1, 1),)


@declare(COMBINE_FUNCTIONS, "parity", rank=15)
class Parity(Function):
    """Parity: whether an odd number of parties has a one, as the dining cryptographers ask."""

    length: int = parameter("Bits that each party brings.", default=1)
    title: ClassVar[str] = "whether an odd number of parties has a one (for dining)"
    example: ClassVar[str] = "parity; parity length=8"

    def play(self, secure_sums: SecureSums, data: Data) -> Play[Result]:
        [values] = data.columns([VALUE])
        if values.size != self.length:
            raise DataError(f"Each party brings {self.length:,} zeros and ones, not {values.size:,}.")
        summed = yield from secure_sums.parity(FixedPoint(0, 1).encode(values, "The input").tolist())
        return secure_sums.result(summed.values[0] if self.length == 1 else summed.values)


class ColumnFunction(Function):
    """A function of the one column of numbers that ``of`` names."""

    of: str

    def check(self, terms: Terms) -> None:
        self.measure(terms)
        super().check(terms)

    def measure(self, terms: Terms) -> NumberColumn:
        return one_number_column(self.of, terms)


def one_number_column(text: str, terms: Terms) -> NumberColumn:
    """Parse the one column of numbers that a text declares."""
    columns = number_columns(text, terms)
    if len(columns) > 1:
        raise BadInput(f"{text!r} is more than one column.", hint="Name one.")
    return columns[0]


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
        measure = self.measure(terms)
        return moments(*data.numbers(measure.name, measure.encoding), measure, self.powers)

    def sensitivities(self, terms: Terms) -> tuple[FigureSensitivity, ...]:
        width = max(self.measure(terms).encoding.width, 1)
        return tuple(FigureSensitivity(1, width**power) for power in range(self.powers + 1))

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
        measure = self.measure(terms)
        n, first = totals[:2]
        mean, _ = mean_and_variance(totals, measure, noisy=terms.epsilon is not None)
        figures: dict[str, Any] = {"mean": mean, "rows": n}
        if terms.epsilon is None:
            figures["sum"] = measure.encoding.decode((first + n * measure.middle) // 2)
        return figures

    def reveals(self, terms: Terms) -> tuple[str, ...]:
        also = ", and the sum of their squares" if self.powers > 1 else ""
        noisy = ", each with noise" if terms.epsilon is not None else ""
        return (f"All parties learn the total number of rows, and their sum{also}{noisy}.",)


@declare(COMBINE_FUNCTIONS, "variance", rank=3)
class Variance(Mean):
    """Variance of a column (over n - 1), with mean and number of rows."""

    title: ClassVar[str] = "variance and mean of all rows"
    example: ClassVar[str] = "variance; variance of=income:0:100000"
    powers: ClassVar[int] = 2

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
        figures = super().answer(totals, terms)
        _, variance = mean_and_variance(totals, self.measure(terms), noisy=terms.epsilon is not None)
        deviation = None if variance is None else math.sqrt(variance)
        return {"mean": figures.pop("mean"), "variance": variance, "deviation": deviation, **figures}


def moments(units: Units, times: Units, measure: NumberColumn, powers: int) -> list[int]:
    """Number of rows; sum of twice their distances from the middle of the bounds; sum of the squares of these."""
    off = (
        2 * units - measure.middle if measure.encoding.magnitude < 2**60 else 2 * units.astype(object) - measure.middle
    )
    weighted = off * times if measure.encoding.width < 2**30 else off.astype(object) * times
    sums = [exact_sum(times), int(weighted.sum()) if weighted.dtype == object else exact_sum(weighted)]
    return [*sums, exact_dot(off, weighted)][: powers + 1]


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
