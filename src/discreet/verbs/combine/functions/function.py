"""What every function is: what each party computes of its own rows, what is added up, and what comes out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.errors import BadInput, NoPromise
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.distributed import Figures, require_drawable
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.numbers import MOST_ROWS
from discreet.verbs.combine.summing import Summer
from discreet.verbs.combine.terms import Terms

MOST_FIGURES = 1 << 24
"""No sum is of more figures: looked at before any list is made."""


@dataclass(frozen=True)
class Answer:
    """What comes out, as plain data, and what else everybody saw on the way."""

    value: Any
    revealed: tuple[str, ...] = ()


class Function(ABC):
    """A function of all parties' rows. Small, frozen, made of the manifest's text, and the same for all."""

    name: ClassVar[str]
    title: ClassVar[str]
    """In a few words, for people who choose one."""
    example: ClassVar[str]
    """How it is written."""
    replaces: ClassVar[bool] = False
    """Whether noise hides which value a party has, and not whether a person is there."""

    @abstractmethod
    def play(self, summer: Summer, data: Data) -> Play[Answer]:
        """What one party does, who brings ``data``."""

    def sums(self, terms: Terms) -> int:
        """How many secure sums it takes at most."""
        return 1

    def reveals(self, terms: Terms) -> tuple[str, ...]:
        """Which totals everybody sees besides the result, as full sentences."""
        return ()

    def check(self, terms: Terms) -> None:
        """Whatever can be wrong with the terms, before any data."""
        if terms.epsilon is not None:
            require_drawable(terms, self.figures(terms))

    def figures(self, terms: Terms) -> tuple[Figures, ...]:
        """What one unit can change in what is summed, for the noise inside."""
        raise NoPromise(
            f"{self.name} takes totals that steer what is asked next, or that noise would make useless: "
            "no noise inside is offered.",
            hint="Leave epsilon out, or use sum, count, mean, variance, histogram, table or bayes.",
        )


class OneSum(Function):
    """A function that takes a single sum."""

    def play(self, summer: Summer, data: Data) -> Play[Answer]:
        """One sum, with noise if the terms ask for it."""
        terms = summer.terms
        low, high = self.bounds(terms)
        figures = self.figures(terms) if terms.epsilon is not None else ()
        summed = yield from summer.total(self.local(data, terms), low, high, figures)
        return Answer(self.answer(summed.values, terms), self.reveals(terms))

    @abstractmethod
    def bounds(self, terms: Terms) -> tuple[int | list[int], int | list[int]]:
        """What each figure of a party lies between, whatever its data."""

    @abstractmethod
    def local(self, data: Data, terms: Terms) -> Any:
        """What a party computes of its own rows."""

    @abstractmethod
    def answer(self, totals: list[int], terms: Terms) -> Any:
        """The result, of the totals."""


def over_rows(lowest: Iterable[int], highest: Iterable[int]) -> tuple[list[int], list[int]]:
    """Between what a party's sums lie, when each of its rows adds something between ``lowest`` and ``highest``."""
    return [MOST_ROWS * min(low, 0) for low in lowest], [MOST_ROWS * max(high, 0) for high in highest]


def require_few(figures: int) -> int:
    """As many figures as one sum may have."""
    if figures > MOST_FIGURES:
        raise BadInput(f"This would take {figures:,} figures in one sum; {MOST_FIGURES:,} are the most.")
    return figures


def as_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """A small table as plain data."""
    return {"columns": list(columns), "rows": [list(row) for row in rows]}
