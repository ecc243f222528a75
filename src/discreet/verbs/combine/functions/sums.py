"""Sums of one number a party, of several side by side, or of a column; counts of rows; parities."""

from __future__ import annotations

from typing import Any, ClassVar

from discreet.core.catalogue import declare, parameter
from discreet.core.families import COMBINE_FUNCTIONS
from discreet.errors import BadInput, DataError
from discreet.verbs.combine.data import VALUE, Data
from discreet.verbs.combine.distributed_noise import FigureSensitivity
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.fixed_point import MAX_PARTY_ROWS, FixedPoint, Units, exact_dot
from discreet.verbs.combine.functions.columns import NumberColumn, number_columns
from discreet.verbs.combine.functions.function import (
    Function,
    FunctionAnswer,
    SingleSumFunction,
    bounds_over_rows,
    limit_figures,
)
from discreet.verbs.combine.secure_sums import SecureSums
from discreet.verbs.combine.terms import Terms


@declare(COMBINE_FUNCTIONS, "sum", rank=0)
class Sum(SingleSumFunction):
    """Sum of the parties' numbers, such as salaries, or, with ``of``, of a column.

    Sensitivity: a party's number moves by the distance of the bounds, in each of ``length`` places; a
    row that comes or goes moves the sum by the bound that is farther from zero.
    """

    of: str = parameter("Column, with bounds: income:0:100000; none: one number a party.", default="")
    length: int = parameter("Numbers that each party brings.", default=1)
    title: ClassVar[str] = "the sum of one number a party, of several side by side, or of a column"
    example: ClassVar[str] = "sum; sum length=12; sum of=income:0:100000"

    def __post_init__(self) -> None:
        if self.length < 1 or (self.of and self.length > 1):
            raise BadInput("A sum has a length of 1 or more, and of a column it is one number.")
        limit_figures(self.length)

    @property
    def replaces(self) -> bool:  # type: ignore[override]
        """Without a column, noise hides the parties' own numbers, and who takes part is known."""
        return not self.of

    def bounds(self, terms: Terms) -> tuple[int | list[int], int | list[int]]:
        """Bounds of the numbers, or of a column's sum."""
        encoding = self._grid(terms)
        return bounds_over_rows([encoding.low], [encoding.high]) if self.of else (encoding.low, encoding.high)

    def local(self, data: Data, terms: Terms) -> Units | list[int]:
        """The party's numbers, or the sum of its column."""
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
        """One number, or a list of them."""
        encoding = self._grid(terms)
        found = [encoding.decode(total) for total in totals] if encoding.decimals else totals
        return found[0] if self.length == 1 else found

    def sensitivities(self, terms: Terms) -> tuple[FigureSensitivity, ...]:
        """Sensitivity of all places together."""
        encoding = self._grid(terms)
        if self.of:
            return (FigureSensitivity(1, max(encoding.magnitude, 1)),)
        width = max(encoding.width, 1)
        return (FigureSensitivity(self.length, self.length * width, self.length * width**2),)

    def check(self, terms: Terms) -> None:
        """Require bounds."""
        self._grid(terms)
        super().check(terms)

    def _grid(self, terms: Terms) -> FixedPoint:
        return one_number_column(self.of, terms).encoding if self.of else FixedPoint.from_terms(terms)


@declare(COMBINE_FUNCTIONS, "count", rank=1)
class Count(SingleSumFunction):
    """Number of rows of all parties together; its sensitivity is 1."""

    title: ClassVar[str] = "how many rows all have together"
    example: ClassVar[str] = "count"

    def bounds(self, terms: Terms) -> tuple[int, int]:
        """Bounds: up to the row limit."""
        return 0, MAX_PARTY_ROWS

    def local(self, data: Data, terms: Terms) -> list[int]:
        """The number of rows."""
        return [data.rows]

    def answer(self, totals: list[int], terms: Terms) -> int:
        """The number."""
        return totals[0]

    def sensitivities(self, terms: Terms) -> tuple[FigureSensitivity, ...]:
        """A row changes it by one."""
        return (FigureSensitivity(1, 1),)


@declare(COMBINE_FUNCTIONS, "parity", rank=15)
class Parity(Function):
    """Parity: whether an odd number of parties has a one, as the dining cryptographers ask."""

    length: int = parameter("Bits that each party brings.", default=1)
    title: ClassVar[str] = "whether an odd number of parties has a one (for dining)"
    example: ClassVar[str] = "parity; parity length=8"

    def play(self, secure_sums: SecureSums, data: Data) -> Play[FunctionAnswer]:
        """One sum modulo two."""
        [values] = data.columns([VALUE])
        if values.size != self.length:
            raise DataError(f"Each party brings {self.length:,} zeros and ones, not {values.size:,}.")
        summed = yield from secure_sums.parity(FixedPoint(0, 1).encode(values, "The input").tolist())
        return FunctionAnswer(summed.values[0] if self.length == 1 else summed.values)


class ColumnFunction(Function):
    """A function of the one column of numbers that ``of`` names."""

    of: str

    def check(self, terms: Terms) -> None:
        """Require bounds."""
        self.measure(terms)
        super().check(terms)

    def measure(self, terms: Terms) -> NumberColumn:
        """The column."""
        return one_number_column(self.of, terms)


def one_number_column(text: str, terms: Terms) -> NumberColumn:
    """Parse the one column of numbers that a text declares."""
    found = number_columns(text, terms)
    if len(found) > 1:
        raise BadInput(f"{text!r} is more than one column.", hint="Name one.")
    return found[0]
