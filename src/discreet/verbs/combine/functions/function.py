"""Interface of functions: figures of a party's own rows, secure sums of them, and the result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.errors import BadInput, NoPromise
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.distributed_noise import FigureSensitivity, require_drawable
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.fixed_point import MAX_PARTY_ROWS
from discreet.verbs.combine.secure_sums import SecureSums
from discreet.verbs.combine.terms import Terms

MAX_SUM_FIGURES = 1 << 24
"""Maximum number of figures in one sum: checked before any list is made."""


@dataclass(frozen=True)
class FunctionAnswer:
    """Result of a function as plain data, and what every party saw besides."""

    value: Any
    revealed: tuple[str, ...] = ()


class Function(ABC):
    """A function of all parties' rows, parsed from the manifest's text and the same for all."""

    name: ClassVar[str]
    title: ClassVar[str]
    """Short description, for people who choose one."""
    example: ClassVar[str]
    """Examples of how it is written."""
    replaces: ClassVar[bool] = False
    """Whether noise hides which value a party has, rather than whether a person is there."""

    @abstractmethod
    def play(self, secure_sums: SecureSums, data: Data) -> Play[FunctionAnswer]:
        """Compute the function as a party who brings ``data``."""

    def sums(self, terms: Terms) -> int:
        """Maximum number of secure sums."""
        return 1

    def reveals(self, terms: Terms) -> tuple[str, ...]:
        """Totals that every party sees besides the result, as full sentences."""
        return ()

    def check(self, terms: Terms) -> None:
        """Raise an error for whatever is wrong with the terms, before any data are read."""
        if terms.epsilon is not None:
            require_drawable(terms, self.sensitivities(terms))

    def sensitivities(self, terms: Terms) -> tuple[FigureSensitivity, ...]:
        """Sensitivity of the figures: what one unit can change in them."""
        raise NoPromise(
            f"{self.name} takes totals that steer what is asked next, or that noise would make useless: "
            "no noise inside is offered.",
            hint="Leave epsilon out, or use sum, count, mean, variance, histogram, table or bayes.",
        )


class SingleSumFunction(Function):
    """A function of one secure sum."""

    def play(self, secure_sums: SecureSums, data: Data) -> Play[FunctionAnswer]:
        """One sum, with noise if the terms ask for it."""
        terms = secure_sums.terms
        low, high = self.bounds(terms)
        figures = self.sensitivities(terms) if terms.epsilon is not None else ()
        summed = yield from secure_sums.total(self.local(data, terms), low, high, figures)
        return FunctionAnswer(self.answer(summed.values, terms), self.reveals(terms))

    @abstractmethod
    def bounds(self, terms: Terms) -> tuple[int | list[int], int | list[int]]:
        """Bounds of a party's figures, whatever its data."""

    @abstractmethod
    def local(self, data: Data, terms: Terms) -> Any:
        """Figures of a party's own rows."""

    @abstractmethod
    def answer(self, totals: list[int], terms: Terms) -> Any:
        """The result, computed from the totals."""


def bounds_over_rows(lowest: Iterable[int], highest: Iterable[int]) -> tuple[list[int], list[int]]:
    """Bounds of a party's sums, when each row adds between ``lowest`` and ``highest``."""
    return [MAX_PARTY_ROWS * min(low, 0) for low in lowest], [MAX_PARTY_ROWS * max(high, 0) for high in highest]


def limit_figures(figures: int) -> int:
    """The number of figures, if one sum may have so many."""
    if figures > MAX_SUM_FIGURES:
        raise BadInput(f"This would take {figures:,} figures in one sum; {MAX_SUM_FIGURES:,} are the most.")
    return figures


def as_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """A small table as plain data."""
    return {"columns": list(columns), "rows": [list(row) for row in rows]}
