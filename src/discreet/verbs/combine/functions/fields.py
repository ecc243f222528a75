"""Columns as a function's text declares them: ``age:0:110`` is a number with bounds, ``sex:f|m`` one of some values.

A number may say its decimals as well (``height:1.00:2.50:2``). One without bounds has those of the terms.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadInput, DataError
from discreet.verbs.combine.data import Data, as_text
from discreet.verbs.combine.numbers import Grid, Units
from discreet.verbs.combine.terms import Terms


@dataclass(frozen=True)
class Measure:
    """A column of numbers."""

    name: str
    grid: Grid

    @property
    def middle(self) -> int:
        """Twice the middle of the bounds."""
        return self.grid.low + self.grid.high

    def units(self, data: Data) -> Units:
        """The numbers of all rows, in units."""
        [values] = data.columns([self.name])
        return self.grid.units(values, f"Column {self.name!r}")

    def scaled(self, units: Units) -> NDArray[np.float64]:
        """Units as numbers between -1 and 1."""
        return (2.0 * units - self.middle) / max(self.grid.wide, 1)


@dataclass(frozen=True)
class Choice:
    """A column of categories."""

    name: str
    values: tuple[str, ...]

    def codes(self, data: Data) -> Units:
        """Which of the categories each row has."""
        [values] = data.columns([self.name])
        places = {value: place for place, value in enumerate(self.values)}
        return np.array([places[known(as_text(value), self)] for value in values.tolist()], dtype=np.int64)


Field: TypeAlias = Measure | Choice


def fields(text: str, terms: Terms) -> tuple[Field, ...]:
    """Columns, with commas between them."""
    found = tuple(_field(part.strip(), terms) for part in text.split(","))
    if len({field.name for field in found}) < len(found):
        raise BadInput(f"A column comes twice in {text!r}.")
    return found


def measures(text: str, terms: Terms) -> tuple[Measure, ...]:
    """Columns of numbers."""
    found = fields(text, terms)
    if wrong := [field.name for field in found if isinstance(field, Choice)]:
        raise BadInput(f"{wrong[0]!r} must be a number.", hint=f"Declare its bounds: {wrong[0]}:0:100")
    return tuple(field for field in found if isinstance(field, Measure))


def choices(text: str, terms: Terms) -> tuple[Choice, ...]:
    """Columns of categories."""
    found = []
    for part in text.split(","):
        if "|" not in part:
            name = part.partition(":")[0]
            raise BadInput(f"The categories of {name!r} are not declared.", hint=f"Write {name}:yes|no")
        field = _field(part.strip(), terms)
        assert isinstance(field, Choice)  # noqa: S101  # there is a bar in it
        found.append(field)
    return tuple(found)


def counted(data: Data, of: tuple[Choice, ...]) -> Counter[tuple[str, ...]]:
    """How many rows have each combination of categories; DataError if one was not declared."""
    found = data.counts([choice.name for choice in of])
    for values in found:
        for value, choice in zip(values, of, strict=True):
            known(value, choice)
    return found


def known(value: str, choice: Choice) -> str:
    """The value, if it was declared."""
    if value not in choice.values:
        raise DataError(
            f"Column {choice.name!r} has {value!r}, which is none of {', '.join(choice.values)}.",
            hint="All parties agreed on the categories: mend the value, or agree on others.",
        )
    return value


def _field(text: str, terms: Terms) -> Field:
    name, _, rest = text.partition(":")
    if not name:
        raise BadInput(f"{text!r} names no column.", hint="Write age, age:0:110 or sex:f|m")
    if "|" in rest:
        values = tuple(value.strip() for value in rest.split("|"))
        if len(set(values)) < len(values) or not all(values):
            raise BadInput(f"The categories of {name!r} are different and not empty.", hint="Write sex:f|m")
        return Choice(name, values)
    if not rest:
        return Measure(name, Grid.of(terms))
    parts = rest.split(":")
    if len(parts) not in (2, 3) or (len(parts) == 3 and not parts[2].isdigit()):
        raise BadInput(f"{text!r} is no column.", hint="Write age:0:110, height:1.00:2.50:2 or sex:f|m")
    return Measure(name, Grid.between(parts[0], parts[1], int(parts[2]) if len(parts) == 3 else terms.decimals))
