"""Several questions, each with its values, that one person answers.

Which share of people has each value, with error bars, of whatever number of reports that tell of it.

A share is made of how many reports support a value, by a straight line. That is a number of heads out of n coins, whose
chance is known to lie in a score interval (Wilson 1927; exact where few reports decide); the line sends its ends to a
share's. It holds for
all people of whom those who told are a fair sample, as those are whom a device's coin chose.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput, DataError
from discreet.verbs.collect.domain import Codes, Domain, Values
from discreet.verbs.collect.integer_reports import require
from discreet.verbs.collect.numbers.grid import Floats
from discreet.verbs.collect.score_intervals import reach_of_share


@dataclass(frozen=True, init=False)
class Questions:
    """Names, and what may be answered to each."""

    domains: tuple[tuple[str, Domain], ...]

    def __init__(self, domains: Mapping[str, Domain | int | Iterable[Any]]) -> None:
        given = ((name, each if isinstance(each, Domain) else Domain(each)) for name, each in domains.items())
        object.__setattr__(self, "domains", tuple(given))
        if not self.domains:
            raise BadInput("There are no questions.")

    def __len__(self) -> int:
        return len(self.domains)

    @property
    def names(self) -> tuple[str, ...]:
        """The questions' names, in their order."""
        return tuple(name for name, _ in self.domains)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each has."""
        return tuple(len(domain) for _, domain in self.domains)

    @property
    def parameters(self) -> dict[str, Any]:
        """This as plain data."""
        return {name: list(domain.values) for name, domain in self.domains}

    @cached_property
    def answers(self) -> tuple[tuple[int, ...], ...]:
        """Everything that a person can answer to all of them, by places: what laws are given for."""
        return tuple(product(*map(range, self.sizes)))

    def to(self, question: int) -> tuple[int, ...]:
        """What each answer to all of them says to one."""
        return tuple(answer[question] for answer in self.answers)

    def codes(self, table: pa.Table | Mapping[str, Values]) -> list[Codes]:
        """The places of the answers to each question: a column of the table has the question's name."""
        known = set(table.column_names if isinstance(table, pa.Table) else table)
        if missing := [name for name in self.names if name not in known]:
            raise DataError(f"There are no answers to {missing[0]!r}.", hint=f"Questions are {', '.join(self.names)}.")
        columns = [domain.codes(table[name]) for name, domain in self.domains]
        if len({len(column) for column in columns}) > 1:
            raise DataError("Questions have different numbers of answers.", hint="A row is a person.")
        return columns


@dataclass(frozen=True, eq=False)
class Shares:
    """The share of people with each value: unbiased, so it may be below 0 or above 1."""

    domain: Domain
    n: int
    """How many reports tell of it."""
    supported: Floats
    """The share of these that support each value."""
    level: Floats
    """The share that would if nobody had it."""
    rise: float
    """How much more do if all have it."""
    confidence: float

    def __post_init__(self) -> None:
        require(self.n, self.confidence)

    @property
    def shares(self) -> Floats:
        """The share of people with each value."""
        return (self.supported - self.level) / self.rise

    @property
    def deviations(self) -> Floats:
        """Standard deviations."""
        return np.sqrt(self.supported * (1 - self.supported) / self.n) / self.rise

    @property
    def bars(self) -> Floats:
        """How far each share is off at most, each by itself with the stated confidence."""
        return self._bars(1 - self.confidence)

    @property
    def together(self) -> Floats:
        """How far each share is off at most, all of them at once with the stated confidence."""
        return self._bars((1 - self.confidence) / len(self.domain))

    def table(self) -> pa.Table:
        """Values, shares and both kinds of error bars."""
        figures: dict[str, Any] = {"value": list(self.domain.values), "share": self.shares}
        return pa.table(figures | {"share_error": self.bars, "share_error_together": self.together})

    def __str__(self) -> str:
        lines = [
            f"{value!s:<12} {share:>8.2%} ± {bar:.2%}"
            for value, share, bar in zip(self.domain.values, self.shares, self.bars, strict=True)
        ]
        return "\n".join([f"{self.n:,} reports (each ± holds with {self.confidence:.4g})", *lines])

    def _bars(self, error: float) -> Floats:
        return reach_of_share(error, self.supported, self.n) / self.rise
