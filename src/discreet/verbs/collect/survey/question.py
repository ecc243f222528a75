"""A question of a survey, with its possible answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from discreet.errors import BadInput
from discreet.verbs.collect.domain import Domain
from discreet.verbs.collect.numbers.grid import NumberGrid

Kind: TypeAlias = Literal["yes/no", "choice", "number"]
Wants: TypeAlias = Literal["distribution", "mean"]

MAX_VALUES = 1000
"""Largest number of values of a question, which a page lists and a browser draws bits for."""
MAX_STEPS = 256
"""Largest number of steps of a mean, whose audit takes a moment."""


@dataclass(frozen=True)
class Question:
    """A question, its possible answers and, if it was chosen by hand, its protocol."""

    name: str
    text: str
    kind: Kind
    values: tuple[str, ...] = ()
    """Possible values of a choice."""
    grid: NumberGrid | None = None
    """Grid that numbers are rounded to."""
    wants: Wants = "distribution"
    """Figures wanted of numbers: the distribution, or the mean alone, which takes fewer people."""
    protocol: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise BadInput(f"A question is of the kind {', '.join(get_args(Kind))}, not {self.kind!r}.")
        if self.wants not in get_args(Wants):
            raise BadInput(f"What is wanted of numbers is {' or '.join(get_args(Wants))}, not {self.wants!r}.")
        if (self.kind == "number") != (self.grid is not None) or (self.kind == "choice") != bool(self.values):
            raise BadInput("A choice has values and a number has bounds and steps; yes/no has neither.")
        if self.wants == "mean" and self.grid is None:
            raise BadInput("Only numbers have a mean.")
        if self.wants == "mean" and self.grid is not None and self.grid.steps > MAX_STEPS:
            raise BadInput(
                f"A mean takes {MAX_STEPS} steps at most, got {self.grid.steps}.",
                hint="Numbers are rounded at random, so that the mean is right with fewer steps, too.",
            )
        if self.wants == "distribution" and not 2 <= len(self.domain) <= MAX_VALUES:
            raise BadInput(
                f"A question has 2 to {MAX_VALUES} answers, not {len(self.domain)}.",
                hint="Join values, take fewer steps, or ask for the mean alone.",
            )

    @cached_property
    def domain(self) -> Domain:
        """Possible answers: values, or the points of the grid."""
        if self.grid is None:
            return Domain(self.values or ("no", "yes"))
        points = [self.grid.low + index * self.grid.step for index in range(self.grid.steps + 1)]
        whole = all(point.denominator == 1 for point in points)
        return Domain([int(point) if whole else float(point) for point in points])

    @property
    def whole(self) -> bool:
        """Whether answers are whole numbers with steps of one, so that nothing is rounded."""
        return self.grid is not None and self.grid.step == 1 and self.grid.low.denominator == 1

    @property
    def points(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Answers as floating-point numbers."""
        return np.array(self.domain.values, dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """The question as plain data."""
        about: dict[str, Any] = {"name": self.name, "text": self.text, "kind": self.kind}
        if self.grid is not None:
            return about | {"grid": self.grid.parameters, "wants": self.wants}
        return about | {"values": list(self.domain.values)}
