"""Several questions, each with its values, that one person answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import pyarrow as pa

from discreet.errors import BadInput, DataError
from discreet.verbs.collect.domain import Codes, Domain, Values


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
