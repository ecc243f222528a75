"""Naive Bayes by one sum: rows by class, and by class the categories of each column, or its mean and variance.

What one row can change: one count of the classes, one of each column of categories, and of each column of numbers
the sum and the sum of squares of one class. These share the loss evenly.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

from discreet.errors import BadInput
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.distributed import Figures
from discreet.verbs.combine.functions.fields import Choice, Field, Measure, choices, counted, fields
from discreet.verbs.combine.functions.function import OneSum, as_rows, over_rows, require_few
from discreet.verbs.combine.functions.moments import described, moments
from discreet.verbs.combine.terms import Terms


@dataclass(frozen=True)
class Bayes(OneSum):
    """A naive Bayes classifier: shares of the classes, and for each column what it is like in each class.

    Chances of categories are (count + 1) / (rows + categories), so that none is zero.
    """

    y: str
    x: str
    name: ClassVar[str] = "bayes"
    title: ClassVar[str] = "naive Bayes: counts, means and variances by class"
    example: ClassVar[str] = "bayes y=ill:no|yes x=smoker:no|yes,age:0:110"

    def bounds(self, terms: Terms) -> tuple[list[int], list[int]]:
        """Counts, sums and squares, class by class."""
        target, inputs = self._fields(terms)
        least, most = [0] * len(target.values), [1] * len(target.values)
        for field in inputs:
            wide = field.grid.wide if isinstance(field, Measure) else 0
            for low, high in [(-wide, wide), (0, wide * wide)] if isinstance(field, Measure) else [(0, 1)]:
                each = len(target.values) * (len(field.values) if isinstance(field, Choice) else 1)
                least, most = [*least, *[low] * each], [*most, *[high] * each]
        return over_rows(least, most)

    def local(self, data: Data, terms: Terms) -> list[int]:
        """Counts by the engine; sums of numbers class by class."""
        target, inputs = self._fields(terms)
        classes = counted(data, (target,))
        found = [classes[value,] for value in target.values]
        codes = target.codes(data) if any(isinstance(field, Measure) for field in inputs) else None
        for field in inputs:
            if isinstance(field, Choice):
                cells = counted(data, (target, field))
                found += [cells[pair] for pair in product(target.values, field.values)]
                continue
            units = field.units(data)
            assert codes is not None  # noqa: S101  # there is a measure
            parts = [units[codes == place] for place in range(len(target.values))]
            _, first, second = zip(*(moments(part, part * 0 + 1, field, 2) for part in parts), strict=True)
            found += [*first, *second]
        return found

    def figures(self, terms: Terms) -> tuple[Figures, ...]:
        """A row is in one class, and in one category of each column."""
        target, inputs = self._fields(terms)
        size = len(target.values)
        found = [Figures(size, 1)]
        for field in inputs:
            if isinstance(field, Choice):
                found.append(Figures(size * len(field.values), 1))
            else:
                wide = max(field.grid.wide, 1)
                found += [Figures(size, wide), Figures(size, wide**2)]
        return tuple(found)

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
        """The classes, and a small table for each column."""
        target, inputs = self._fields(terms)
        given: dict[str, Any] = {}
        left = iter(totals)
        classes = {value: next(left) for value in target.values}
        for field in inputs:
            if isinstance(field, Choice):
                rows = []
                for one, value in product(target.values, field.values):
                    n = next(left)
                    among = max(classes[one], 0) + len(field.values)
                    rows.append((one, value, n, min((max(n, 0) + 1) / among, 1.0)))
                given[field.name] = as_rows([target.name, field.name, "rows", "chance"], rows)
                continue
            first = [next(left) for _ in target.values]
            second = [next(left) for _ in target.values]
            noisy = terms.epsilon is not None
            told = (
                (one, *described([classes[one], a, b], field, noisy=noisy))
                for one, a, b in zip(target.values, first, second, strict=True)
            )
            given[field.name] = as_rows([target.name, "mean", "variance"], told)
        return {"classes": classes, "given": given}

    def check(self, terms: Terms) -> None:
        """Bounds and categories are needed."""
        target, inputs = self._fields(terms)
        require_few(len(target.values) * sum(len(f.values) if isinstance(f, Choice) else 2 for f in inputs))
        super().check(terms)

    def _fields(self, terms: Terms) -> tuple[Choice, tuple[Field, ...]]:
        [target, *more] = choices(self.y, terms)
        inputs = fields(self.x, terms)
        if more or target.name in {field.name for field in inputs}:
            raise BadInput("y is one column, and none of x.", hint=f"Write: {self.example}")
        return target, inputs
