"""The columns that holders bring, with their declared bounds.

A column is written as elsewhere, with its holder in front: ``north/age:0:120``, ``north/pay:0:100000:2``. The integer
that stands for a value is how many units it lies above the least one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from discreet.errors import BadInput
from discreet.verbs.combine.functions.fields import measures
from discreet.verbs.combine.numbers import Grid, Units
from discreet.verbs.combine.terms import Terms


@dataclass(frozen=True)
class Column:
    """A column of one holder, and which numbers may be in it."""

    party: str
    name: str
    grid: Grid

    def __str__(self) -> str:
        return f"{self.party}/{self.name}"

    def integers(self, values: Sequence[Any] | NDArray[Any]) -> Units:
        """Values as integers from 0 to ``grid.wide``."""
        return self.grid.units(values, f"Column {self.name!r}") - self.grid.low


def columns(text: str, terms: Terms) -> tuple[Column, ...]:
    """Columns, with commas between them; each of a party of the session."""
    found = []
    for measure in measures(text, terms):
        party, _, name = measure.name.partition("/")
        if party not in terms.parties or not name:
            raise BadInput(
                f"{measure.name!r} is not a column of a party.",
                hint=f"Write {terms.parties[0]}/age:0:110: who has it, and its name.",
            )
        found.append(Column(party, name, measure.grid))
    return tuple(found)
