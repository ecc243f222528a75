"""Interface of the functions that parties compute, and the columns that a function's text declares.

``age:0:110`` is a number with bounds, ``sex:f|m`` has categories. A number may say its decimals as well
(``height:1.00:2.50:2``). One without bounds has those of the terms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadInput, DataError, NoPromise
from discreet.verbs.combine.data import Data, as_text
from discreet.verbs.combine.distributed_noise import FigureSensitivity, require_drawable
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.fixed_point import MAX_PARTY_ROWS, FixedPoint, Units
from discreet.verbs.combine.secure_sums import SecureSums
from discreet.verbs.combine.terms import Result, Terms

MAX_SUM_FIGURES = 1 << 24
"""Maximum number of figures in one sum: checked before any list is made."""


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
    def play(self, secure_sums: SecureSums, data: Data) -> Play[Result]:
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
            f"{self.name} is adaptive or too sensitive to noise: noise is not supported.",
            hint="Leave epsilon out, or use sum, count, mean, variance, histogram, table or bayes.",
        )


class SingleSumFunction(Function):
    """A function of one secure sum."""

    def play(self, secure_sums: SecureSums, data: Data) -> Play[Result]:
        """One sum, with noise if the terms ask for it."""
        terms = secure_sums.terms
        low, high = self.bounds(terms)
        figures = self.sensitivities(terms) if terms.epsilon is not None else ()
        summed = yield from secure_sums.total(self.local(data, terms), low, high, figures)
        return secure_sums.result(self.answer(summed.values, terms), self.reveals(terms))

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
    """The number of figures; an error if one sum may not have that many."""
    if figures > MAX_SUM_FIGURES:
        raise BadInput(f"This would take {figures:,} figures in one sum; {MAX_SUM_FIGURES:,} are the most.")
    return figures


def as_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """A small table as plain data."""
    return {"columns": list(columns), "rows": [list(row) for row in rows]}


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers, with their encoding."""

    name: str
    encoding: FixedPoint

    @property
    def middle(self) -> int:
        """Twice the middle of the bounds."""
        return self.encoding.low + self.encoding.high

    def units(self, data: Data) -> Units:
        """Values of all rows, in units."""
        [values] = data.columns([self.name])
        return self.encoding.encode(values, f"Column {self.name!r}")

    def scaled(self, units: Units) -> NDArray[np.float64]:
        """Units scaled to between -1 and 1."""
        return (2.0 * units - self.middle) / max(self.encoding.width, 1)


@dataclass(frozen=True)
class CategoryColumn:
    """A column of categories."""

    name: str
    values: tuple[str, ...]

    def codes(self, data: Data) -> Units:
        """Position of each row's category."""
        [values] = data.columns([self.name])
        places = {value: place for place, value in enumerate(self.values)}
        return np.array([places[require_declared(as_text(value), self)] for value in values.tolist()], dtype=np.int64)


DeclaredColumn: TypeAlias = NumberColumn | CategoryColumn


def parse_columns(text: str, terms: Terms) -> tuple[DeclaredColumn, ...]:
    """Parse columns, separated by commas."""
    columns = tuple(_parse_column(part.strip(), terms) for part in text.split(","))
    if len({field.name for field in columns}) < len(columns):
        raise BadInput(f"A column occurs twice in {text!r}.")
    return columns


def number_columns(text: str, terms: Terms) -> tuple[NumberColumn, ...]:
    """Parse columns of numbers."""
    columns = parse_columns(text, terms)
    if wrong := [field.name for field in columns if isinstance(field, CategoryColumn)]:
        raise BadInput(f"{wrong[0]!r} must be a number.", hint=f"Declare its bounds: {wrong[0]}:0:100")
    return tuple(field for field in columns if isinstance(field, NumberColumn))


def category_columns(text: str, terms: Terms) -> tuple[CategoryColumn, ...]:
    """Parse columns of categories."""
    columns = []
    for part in text.split(","):
        if "|" not in part:
            name = part.partition(":")[0]
            raise BadInput(f"The categories of {name!r} are not declared.", hint=f"Write {name}:yes|no")
        field = _parse_column(part.strip(), terms)
        assert isinstance(field, CategoryColumn)  # noqa: S101  # there is a bar in it
        columns.append(field)
    return tuple(columns)


def target_column(y: str, inputs: Sequence[DeclaredColumn], terms: Terms, example: str) -> CategoryColumn:
    """Parse the one column of categories that a classifier predicts from ``inputs``."""
    [target, *more] = category_columns(y, terms)
    if more or target.name in {column.name for column in inputs}:
        raise BadInput("y must be one column that is not in x.", hint=f"Write: {example}")
    return target


def count_categories(data: Data, of: tuple[CategoryColumn, ...]) -> Counter[tuple[str, ...]]:
    """Number of rows with each combination of categories; DataError for one that was not declared."""
    counts = data.counts([choice.name for choice in of])
    for values in counts:
        for value, choice in zip(values, of, strict=True):
            require_declared(value, choice)
    return counts


def require_declared(value: str, choice: CategoryColumn) -> str:
    """The value, if it was declared."""
    if value not in choice.values:
        raise DataError(
            f"Column {choice.name!r} has {value!r}, which is none of {', '.join(choice.values)}.",
            hint="All parties agreed on the categories: correct the value, or agree on others.",
        )
    return value


def _parse_column(text: str, terms: Terms) -> DeclaredColumn:
    name, _, rest = text.partition(":")
    if not name:
        raise BadInput(f"{text!r} does not name a column.", hint="Write age, age:0:110 or sex:f|m")
    if "|" in rest:
        values = tuple(value.strip() for value in rest.split("|"))
        if len(set(values)) < len(values) or not all(values):
            raise BadInput(f"The categories of {name!r} are different and not empty.", hint="Write sex:f|m")
        return CategoryColumn(name, values)
    if not rest:
        return NumberColumn(name, FixedPoint.from_terms(terms))
    parts = rest.split(":")
    if len(parts) not in (2, 3) or (len(parts) == 3 and not parts[2].isdigit()):
        raise BadInput(f"{text!r} is not a column.", hint="Write age:0:110, height:1.00:2.50:2 or sex:f|m")
    return NumberColumn(
        name, FixedPoint.between(parts[0], parts[1], int(parts[2]) if len(parts) == 3 else terms.decimals)
    )
