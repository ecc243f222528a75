"""What can be computed across columns, as people write it.

    covariance key=id of=north/age:0:120,north/pay:0:100000:2,south/visits:0:50
    correlation key=id of=…
    regression key=id y=south/visits:0:50 x=north/age:0:120,north/pay:0:100000:2
    overlap key=id between=north,south

``key`` is the column by which people are found, under one name at all holders. ``most`` is how many keys a holder may
bring, and so how many people it can guess at. ``least`` is how many people must be shared: ten for every column unless
said otherwise. Whoever knows as many columns as there are people could solve the products for another's values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import sqrt
from types import MappingProxyType
from typing import Any, ClassVar

from discreet.errors import BadInput, NoPromise
from discreet.verbs.combine.functions.function import as_rows
from discreet.verbs.combine.functions.linear import Regression as Pooled
from discreet.verbs.combine.functions.parse import made
from discreet.verbs.combine.terms import Terms
from discreet.verbs.combine.vertical.columns import Column, columns
from discreet.verbs.combine.vertical.moments import Moments

_LIMIT = 10_000_000
_PEOPLE_A_COLUMN = 10


@dataclass(frozen=True, kw_only=True)
class Function(ABC):
    """A function of columns that different parties hold. Small, frozen, and made of the manifest's text."""

    key: str
    most: int = 100_000
    least: int = 0
    name: ClassVar[str]
    title: ClassVar[str]
    """In a few words, for people who choose one."""
    example: ClassVar[str]
    """How it is written."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The columns that it is about, as they are written."""

    def columns(self, terms: Terms) -> tuple[Column, ...]:
        """The columns that it is about."""
        return columns(self.text, terms)

    def holders(self, terms: Terms) -> tuple[str, ...]:
        """Who brings columns, in the manifest's order."""
        named = {column.party for column in self.columns(terms)}
        return tuple(party for party in terms.parties if party in named)

    def held(self, party: str, terms: Terms) -> tuple[Column, ...]:
        """The columns of one party."""
        return tuple(column for column in self.columns(terms) if column.party == party)

    def enough(self, terms: Terms) -> int:
        """How many people must be shared."""
        return self.least or _PEOPLE_A_COLUMN * len(self.columns(terms))

    def check(self, terms: Terms) -> None:
        """Whatever can be wrong, before any data."""
        if not 1 <= self.most <= _LIMIT:
            raise BadInput(f"most= is from 1 to {_LIMIT:,}, not {self.most}.")
        named = self.columns(terms)
        if len(self.holders(terms)) < 2:
            raise BadInput(f"{self.name} is of columns that two parties or more hold.", hint=f"Write: {self.example}")
        if any(column.name == self.key for column in named):
            raise BadInput("The key cannot be one of the columns.")
        if self.enough(terms) < len(named) + 2:
            raise BadInput(f"least= is {len(named) + 2} or more for {len(named)} columns, not {self.least}.")

    @abstractmethod
    def answer(self, found: Moments, terms: Terms) -> Any:
        """The result, as plain data."""

    def reveals(self) -> tuple[str, ...]:
        """What everybody sees besides the result, as full sentences."""
        return ("Everybody learns the mean of every column and the covariance of every two, of the people shared.",)


@dataclass(frozen=True, kw_only=True)
class _EveryTwo(Function):
    """Means, and something of every two columns."""

    of: str
    heads: ClassVar[tuple[str, ...]] = ()
    """What else is told of each column."""

    @property
    def text(self) -> str:
        """All columns."""
        return self.of

    def answer(self, found: Moments, terms: Terms) -> dict[str, Any]:
        """A row for each column."""
        names, every = [str(column) for column in found.columns], range(len(found.columns))
        rows = [
            [names[i], float(found.mean(i)), *self.alone(found, i), *(self.together(found, i, j) for j in every)]
            for i in every
        ]
        return {**as_rows(["column", "mean", *self.heads, *names], rows), "number of people": found.people}

    def alone(self, found: Moments, i: int) -> tuple[float, ...]:
        """What is told of a column, besides its mean."""
        return ()

    @abstractmethod
    def together(self, found: Moments, i: int, j: int) -> float | None:
        """What is told of two columns."""


@dataclass(frozen=True, kw_only=True)
class Covariance(_EveryTwo):
    """Means, and the sample covariance of every two columns."""

    name: ClassVar[str] = "covariance"
    title: ClassVar[str] = "covariances of columns that different parties hold"
    example: ClassVar[str] = "covariance key=id of=north/age:0:120,south/visits:0:50"

    def together(self, found: Moments, i: int, j: int) -> float:
        """The covariance."""
        return float(found.covariance(i, j))

    def reveals(self) -> tuple[str, ...]:
        """Nothing else."""
        return ()


@dataclass(frozen=True, kw_only=True)
class Correlation(_EveryTwo):
    """Means, standard deviations, and Pearson's correlation of every two columns."""

    name: ClassVar[str] = "correlation"
    title: ClassVar[str] = "correlations of columns that different parties hold"
    example: ClassVar[str] = "correlation key=id of=north/age:0:120,south/visits:0:50"

    heads: ClassVar[tuple[str, ...]] = ("deviation",)

    def alone(self, found: Moments, i: int) -> tuple[float, ...]:
        """The standard deviation."""
        return (sqrt(found.covariance(i, i)),)

    def together(self, found: Moments, i: int, j: int) -> float | None:
        """Rounded last; none with a column that is the same for everybody."""
        both, product = found.covariance(i, j), found.covariance(i, i) * found.covariance(j, j)
        if not product:
            return None
        return sqrt(both * both / product) * (-1 if both < 0 else 1)


@dataclass(frozen=True, kw_only=True)
class Regression(Function):
    """One column explained by others, by least squares with a constant."""

    y: str
    x: str
    name: ClassVar[str] = "regression"
    title: ClassVar[str] = "linear regression on columns that different parties hold"
    example: ClassVar[str] = "regression key=id y=south/visits:0:50 x=north/age:0:120,north/pay:0:100000:2"

    @property
    def text(self) -> str:
        """The column to be explained comes last."""
        return f"{self.x},{self.y}"

    def check(self, terms: Terms) -> None:
        """One column is explained."""
        if "," in self.y:
            raise BadInput("A regression explains one column.", hint=f"Write: {self.example}")
        super().check(terms)

    def answer(self, found: Moments, terms: Terms) -> dict[str, Any]:
        """That of the pooled rows, had one party all columns."""
        ones = [found.people, *found.sums]
        whole = [ones, *([total, *row] for total, row in zip(found.sums, found.products, strict=True))]
        pairs = combinations_with_replacement(range(len(whole)), 2)
        return Pooled(self.y, self.x).answer([whole[i][j] for i, j in pairs], terms)


@dataclass(frozen=True, kw_only=True)
class Overlap(Function):
    """How many people two parties share; nobody learns whom."""

    between: str
    name: ClassVar[str] = "overlap"
    title: ClassVar[str] = "how many people two parties share, and not whom"
    example: ClassVar[str] = "overlap key=id between=north,south"

    @property
    def text(self) -> str:
        """None."""
        return ""

    def columns(self, terms: Terms) -> tuple[Column, ...]:
        """None."""
        return ()

    def holders(self, terms: Terms) -> tuple[str, ...]:
        """The two."""
        return tuple(party for party in terms.parties if party in self.between.split(","))

    def enough(self, terms: Terms) -> int:
        """There may be nobody."""
        return 2

    def check(self, terms: Terms) -> None:
        """There are two."""
        named = self.between.split(",")
        if len(named) > 2:
            raise NoPromise(
                "Only two holders can learn how many people they share without learning whom.",
                hint="Ask for the overlap of two at a time.",
            )
        if unknown := [name for name in named if name not in terms.parties]:
            raise BadInput(f"{unknown[0]!r} is no party of the session.", hint=f"Write: {self.example}")
        super().check(terms)

    def answer(self, found: Moments, terms: Terms) -> dict[str, Any]:
        """How many."""
        return {"number of people": found.people}

    def reveals(self) -> tuple[str, ...]:
        """Nothing else."""
        return ()


_ALL: tuple[type[Function], ...] = (Covariance, Correlation, Regression, Overlap)
FUNCTIONS: Mapping[str, type[Function]] = MappingProxyType({kind.name: kind for kind in _ALL})
"""By name."""


def function(text: str) -> Function:
    """The function that a text names, with its parameters."""
    return made(text, FUNCTIONS, "is not computed across columns")
