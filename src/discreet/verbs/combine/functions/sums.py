"""Sums: of one number a party, of several side by side, or of a column's rows; counts; and parities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.errors import BadInput, DataError
from discreet.verbs.combine.data import VALUE, Data
from discreet.verbs.combine.distributed import Figures
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.functions.fields import Measure, measures
from discreet.verbs.combine.functions.function import Answer, Function, OneSum, over_rows, require_few
from discreet.verbs.combine.numbers import MOST_ROWS, Grid, Units, product
from discreet.verbs.combine.summing import Summer
from discreet.verbs.combine.terms import Terms


@dataclass(frozen=True)
class Sum(OneSum):
    """The sum of what the parties have: their salaries, or, with ``of``, the rows of a column.

    What one unit can change: a party's number moves by the distance of the bounds, in each of ``length`` places; a
    row that comes or goes moves the sum by the bound that is farther from zero.
    """

    of: str = ""
    length: int = 1
    name: ClassVar[str] = "sum"
    title: ClassVar[str] = "the sum of one number a party, of several side by side, or of a column"
    example: ClassVar[str] = "sum; sum length=12; sum of=income:0:100000"

    def __post_init__(self) -> None:
        if self.length < 1 or (self.of and self.length > 1):
            raise BadInput("A sum has a length of 1 or more, and of a column it is one number.")
        require_few(self.length)

    @property
    def replaces(self) -> bool:  # type: ignore[override]
        """Without a column it is the parties' own numbers that are hidden, and everybody knows who takes part."""
        return not self.of

    def bounds(self, terms: Terms) -> tuple[int | list[int], int | list[int]]:
        """Those of the numbers, or so many times as there may be rows."""
        grid = self._grid(terms)
        return over_rows([grid.low], [grid.high]) if self.of else (grid.low, grid.high)

    def local(self, data: Data, terms: Terms) -> Units | list[int]:
        """The numbers as they are, or the sum of the column."""
        grid = self._grid(terms)
        if self.of:
            return [product(*data.numbers(one_measure(self.of, terms).name, grid))]
        [values] = data.columns([VALUE])
        if values.size != self.length:
            raise DataError(
                f"Each party brings {self.length:,} number{'s' * (self.length > 1)} for this sum, not {values.size:,}.",
                hint=f"Write sum length={values.size} to add place by place, or sum of=value to add up all lines.",
            )
        return grid.units(values, "The input")

    def answer(self, totals: list[int], terms: Terms) -> Any:
        """One number, or a list of them."""
        grid = self._grid(terms)
        found = [grid.plain(total) for total in totals] if grid.decimals else totals
        return found[0] if self.length == 1 else found

    def figures(self, terms: Terms) -> tuple[Figures, ...]:
        """All places together."""
        grid = self._grid(terms)
        if self.of:
            return (Figures(1, max(grid.farthest, 1)),)
        wide = max(grid.wide, 1)
        return (Figures(self.length, self.length * wide, self.length * wide**2),)

    def check(self, terms: Terms) -> None:
        """Bounds are needed."""
        self._grid(terms)
        super().check(terms)

    def _grid(self, terms: Terms) -> Grid:
        return one_measure(self.of, terms).grid if self.of else Grid.of(terms)


@dataclass(frozen=True)
class Count(OneSum):
    """How many rows all parties have together. One row more or less changes it by one."""

    name: ClassVar[str] = "count"
    title: ClassVar[str] = "how many rows all have together"
    example: ClassVar[str] = "count"

    def bounds(self, terms: Terms) -> tuple[int, int]:
        """No party has more than the most rows."""
        return 0, MOST_ROWS

    def local(self, data: Data, terms: Terms) -> list[int]:
        """The number of rows."""
        return [data.rows]

    def answer(self, totals: list[int], terms: Terms) -> int:
        """The number."""
        return totals[0]

    def figures(self, terms: Terms) -> tuple[Figures, ...]:
        """One row, one more."""
        return (Figures(1, 1),)


@dataclass(frozen=True)
class Parity(Function):
    """Of zeros and ones, whether an odd number of parties has a one: what the dining cryptographers ask."""

    length: int = 1
    name: ClassVar[str] = "parity"
    title: ClassVar[str] = "whether an odd number of parties has a one (for dining)"
    example: ClassVar[str] = "parity; parity length=8"

    def play(self, summer: Summer, data: Data) -> Play[Answer]:
        """One sum modulo two."""
        [values] = data.columns([VALUE])
        if values.size != self.length:
            raise DataError(f"Each party brings {self.length:,} zeros and ones, not {values.size:,}.")
        summed = yield from summer.parity(Grid(0, 1).units(values, "The input").tolist())
        return Answer(summed.values[0] if self.length == 1 else summed.values)


class OfColumn(Function):
    """A function of one column of numbers, which ``of`` names."""

    of: str

    def check(self, terms: Terms) -> None:
        """Bounds are needed."""
        self.measure(terms)
        super().check(terms)

    def measure(self, terms: Terms) -> Measure:
        """The column."""
        return one_measure(self.of, terms)


def one_measure(text: str, terms: Terms) -> Measure:
    """The one column of numbers that a text declares."""
    found = measures(text, terms)
    if len(found) > 1:
        raise BadInput(f"{text!r} is more than one column.", hint="Name one.")
    return found[0]
