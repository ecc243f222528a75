"""Functions of vertically partitioned data, and their syntax.

    covariance key=id of=north/age:0:120,north/pay:0:100000:2,south/visits:0:50
    correlation key=id of=…
    regression key=id y=south/visits:0:50 x=north/age:0:120,north/pay:0:100000:2
    overlap key=id between=north,south

``key`` is the column by which people are found, under one name at all holders. ``most`` is how many keys a holder may
bring, and so how many people it can guess at. ``least`` is how many people must be shared: ten for every column unless
said otherwise. Anyone who knows as many columns as there are people could solve the products for another's values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import sqrt
from typing import Any, ClassVar

from numpy.typing import NDArray

from discreet.core.catalogue import declare, parameter
from discreet.core.families import VERTICAL_FUNCTIONS
from discreet.errors import BadInput, NoPromise
from discreet.verbs.combine.fixed_point import FixedPoint, Units
from discreet.verbs.combine.functions.function import as_rows, number_columns
from discreet.verbs.combine.functions.regression import Regression as Pooled
from discreet.verbs.combine.terms import Terms

_MAX_KEYS = 10_000_000
"""Largest number of keys that ``most`` may allow one holder."""
_MIN_PEOPLE_PER_COLUMN = 10
"""Minimum number of shared people per column."""


@dataclass(frozen=True)
class HeldColumn:
    """A column of one holder, with its encoding as integers."""

    party: str
    name: str
    encoding: FixedPoint

    def __str__(self) -> str:
        return f"{self.party}/{self.name}"

    def integers(self, values: Sequence[Any] | NDArray[Any]) -> Units:
        """Values as integers from 0 to ``encoding.width``."""
        return self.encoding.encode(values, f"Column {self.name!r}") - self.encoding.low


def held_columns(text: str, terms: Terms) -> tuple[HeldColumn, ...]:
    """Parse a comma-separated list of columns; each belongs to a party of the session."""
    columns = []
    for measure in number_columns(text, terms):
        party, _, name = measure.name.partition("/")
        if party not in terms.parties or not name:
            raise BadInput(
                f"{measure.name!r} is not a column of a party.",
                hint=f"Write {terms.parties[0]}/age:0:110: who has it, and its name.",
            )
        columns.append(HeldColumn(party, name, measure.encoding))
    return tuple(columns)


@dataclass(frozen=True)
class Moments:
    """Moments of columns: number of people, sums, and sums of products of every two, in units."""

    people: int
    columns: tuple[HeldColumn, ...]
    sums: tuple[int, ...]
    products: tuple[tuple[int, ...], ...]

    @classmethod
    def from_offsets(
        cls, people: int, columns: tuple[HeldColumn, ...], sums: list[int], products: list[list[int]]
    ) -> Moments:
        """Moments of the values, from the moments of their offsets from the lower bounds."""
        low = [column.encoding.low for column in columns]
        every = range(len(columns))
        return cls(
            people,
            columns,
            tuple(sums[i] + people * low[i] for i in every),
            tuple(
                tuple(products[i][j] + low[i] * sums[j] + low[j] * sums[i] + people * low[i] * low[j] for j in every)
                for i in every
            ),
        )

    def mean(self, i: int) -> Fraction:
        return self.columns[i].encoding.fraction(Fraction(self.sums[i], self.people))

    def covariance(self, i: int, j: int) -> Fraction:
        """Sample covariance of two columns."""
        whole = self.people * self.products[i][j] - self.sums[i] * self.sums[j]
        unit = self.columns[i].encoding.fraction(1) * self.columns[j].encoding.fraction(1)
        return Fraction(whole, self.people * (self.people - 1)) * unit


@dataclass(frozen=True, kw_only=True)
class VerticalFunction(ABC):
    """A function of columns that different parties hold, parsed from the manifest's text."""

    key: str = parameter("Column by which people are found, under one name at all holders.")
    most: int = parameter("Keys that a holder may bring.", default=100_000)
    least: int = parameter("People that must be shared; 0: ten for every column.", default=0)
    name: ClassVar[str]
    title: ClassVar[str]
    """Short description for users."""
    example: ClassVar[str]
    """Example of the syntax."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The columns as text."""

    def columns(self, terms: Terms) -> tuple[HeldColumn, ...]:
        """The columns of the function."""
        return held_columns(self.text, terms)

    def holders(self, terms: Terms) -> tuple[str, ...]:
        """Parties that contribute columns, in the manifest's order."""
        named = {column.party for column in self.columns(terms)}
        return tuple(party for party in terms.parties if party in named)

    def held(self, party: str, terms: Terms) -> tuple[HeldColumn, ...]:
        """The columns of one party."""
        return tuple(column for column in self.columns(terms) if column.party == party)

    def min_people(self, terms: Terms) -> int:
        """Minimum number of people the holders must share."""
        return self.least or _MIN_PEOPLE_PER_COLUMN * len(self.columns(terms))

    def check(self, terms: Terms) -> None:
        """Raise an error if the terms are invalid, before any data are read."""
        if not 1 <= self.most <= _MAX_KEYS:
            raise BadInput(f"most= must be from 1 to {_MAX_KEYS:,}, not {self.most}.")
        named = self.columns(terms)
        if len(self.holders(terms)) < 2:
            raise BadInput(f"{self.name} needs columns of at least two parties.", hint=f"Write: {self.example}")
        if any(column.name == self.key for column in named):
            raise BadInput("The key cannot be one of the columns.")
        if self.min_people(terms) < len(named) + 2:
            raise BadInput(f"least= is {len(named) + 2} or more for {len(named)} columns, not {self.least}.")

    @abstractmethod
    def answer(self, moments: Moments, terms: Terms) -> Any:
        """The result, as plain data."""

    def reveals(self) -> tuple[str, ...]:
        """What every party sees besides the result, as full sentences."""
        return ("All parties learn the mean of every column and the covariance of every two, of the people shared.",)


@declare(VERTICAL_FUNCTIONS, "covariance", rank=0, kw_only=True)
class Covariance(VerticalFunction):
    """Means, and the sample covariance of every two columns."""

    of: str = parameter("Columns of parties, with bounds: north/age:0:120.")
    title: ClassVar[str] = "covariances of columns that different parties hold"
    example: ClassVar[str] = "covariance key=id of=north/age:0:120,south/visits:0:50"

    @property
    def text(self) -> str:
        return self.of

    def answer(self, moments: Moments, terms: Terms) -> dict[str, Any]:
        names, every = [str(column) for column in moments.columns], range(len(moments.columns))
        rows = [[names[i], float(moments.mean(i)), *(float(moments.covariance(i, j)) for j in every)] for i in every]
        return {**as_rows(["column", "mean", *names], rows), "number of people": moments.people}

    def reveals(self) -> tuple[str, ...]:
        return ()


@declare(VERTICAL_FUNCTIONS, "correlation", rank=1, kw_only=True)
class Correlation(Covariance):
    """Means, standard deviations, and Pearson's correlation of every two columns."""

    title: ClassVar[str] = "correlations of columns that different parties hold"
    example: ClassVar[str] = "correlation key=id of=north/age:0:120,south/visits:0:50"

    def answer(self, moments: Moments, terms: Terms) -> dict[str, Any]:
        names, every = [str(column) for column in moments.columns], range(len(moments.columns))
        deviations = [sqrt(moments.covariance(i, i)) for i in every]
        rows = [
            [names[i], float(moments.mean(i)), deviations[i], *(_correlation(moments, i, j) for j in every)]
            for i in every
        ]
        return {**as_rows(["column", "mean", "deviation", *names], rows), "number of people": moments.people}

    def reveals(self) -> tuple[str, ...]:
        return VerticalFunction.reveals(self)


@declare(VERTICAL_FUNCTIONS, "regression", rank=2, kw_only=True)
class VerticalRegression(VerticalFunction):
    """Linear regression of one column on others, with a constant."""

    y: str = parameter("Column to explain, with bounds: south/visits:0:50.")
    x: str = parameter("Columns that explain it, with bounds.")
    title: ClassVar[str] = "linear regression on columns that different parties hold"
    example: ClassVar[str] = "regression key=id y=south/visits:0:50 x=north/age:0:120,north/pay:0:100000:2"

    @property
    def text(self) -> str:
        return f"{self.x},{self.y}"

    def check(self, terms: Terms) -> None:
        if "," in self.y:
            raise BadInput("A regression explains one column.", hint=f"Write: {self.example}")
        super().check(terms)

    def answer(self, moments: Moments, terms: Terms) -> dict[str, Any]:
        ones = [moments.people, *moments.sums]
        whole = [ones, *([total, *row] for total, row in zip(moments.sums, moments.products, strict=True))]
        pairs = combinations_with_replacement(range(len(whole)), 2)
        return Pooled(self.y, self.x).answer([whole[i][j] for i, j in pairs], terms)


def _correlation(moments: Moments, i: int, j: int) -> float | None:
    """Pearson's correlation; None with a constant column."""
    both, product = moments.covariance(i, j), moments.covariance(i, i) * moments.covariance(j, j)
    return sqrt(both * both / product) * (-1 if both < 0 else 1) if product else None


@declare(VERTICAL_FUNCTIONS, "overlap", rank=3, kw_only=True)
class Overlap(VerticalFunction):
    """Number of people two parties share, without revealing whom."""

    between: str = parameter("The two parties, with a comma between them.")
    title: ClassVar[str] = "how many people two parties share, and not whom"
    example: ClassVar[str] = "overlap key=id between=north,south"

    @property
    def text(self) -> str:
        return ""

    def columns(self, terms: Terms) -> tuple[HeldColumn, ...]:
        return ()

    def holders(self, terms: Terms) -> tuple[str, ...]:
        return tuple(party for party in terms.parties if party in self.between.split(","))

    def min_people(self, terms: Terms) -> int:
        """The overlap may be empty."""
        return 2

    def check(self, terms: Terms) -> None:
        named = self.between.split(",")
        if len(named) > 2:
            raise NoPromise(
                "Only two holders can learn how many people they share without learning whom.",
                hint="Ask for the overlap of two at a time.",
            )
        if unknown := [name for name in named if name not in terms.parties]:
            raise BadInput(f"{unknown[0]!r} is not a party of the session.", hint=f"Write: {self.example}")
        super().check(terms)

    def answer(self, moments: Moments, terms: Terms) -> dict[str, Any]:
        return {"number of people": moments.people}

    def reveals(self) -> tuple[str, ...]:
        return ()
