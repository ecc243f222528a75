"""Naive Bayes by one secure sum: class counts, and by class the category counts or moments of each column.

What one row can change: one count of the classes, one of each column of categories, and of each column of numbers
the sum and the sum of squares of one class. These share the loss evenly.
"""

from __future__ import annotations

from itertools import product
from typing import Any, ClassVar

from discreet.core.catalogue import declare, parameter
from discreet.core.families import COMBINE_FUNCTIONS
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.distributed_noise import FigureSensitivity
from discreet.verbs.combine.functions.function import (
    CategoryColumn,
    DeclaredColumn,
    NumberColumn,
    SingleSumFunction,
    as_rows,
    bounds_over_rows,
    count_categories,
    limit_figures,
    parse_columns,
    target_column,
)
from discreet.verbs.combine.functions.sums import mean_and_variance, moments
from discreet.verbs.combine.terms import Terms


@declare(COMBINE_FUNCTIONS, "bayes", rank=12)
class Bayes(SingleSumFunction):
    """Naive Bayes classifier: class counts, and the distribution of each column by class.

    Probabilities of categories are (count + 1) / (rows + categories), so that none is zero.
    """

    y: str = parameter("Column to explain, with categories.")
    x: str = parameter("Columns that explain it, with bounds or categories.")
    title: ClassVar[str] = "naive Bayes: counts, means and variances by class"
    example: ClassVar[str] = "bayes y=ill:no|yes x=smoker:no|yes,age:0:110"

    def bounds(self, terms: Terms) -> tuple[list[int], list[int]]:
        """Bounds of counts, sums and squares, class by class."""
        target, inputs = self._fields(terms)
        least, most = [0] * len(target.values), [1] * len(target.values)
        for field in inputs:
            width = field.encoding.width if isinstance(field, NumberColumn) else 0
            for low, high in [(-width, width), (0, width * width)] if isinstance(field, NumberColumn) else [(0, 1)]:
                each = len(target.values) * (len(field.values) if isinstance(field, CategoryColumn) else 1)
                least, most = [*least, *[low] * each], [*most, *[high] * each]
        return bounds_over_rows(least, most)

    def local(self, data: Data, terms: Terms) -> list[int]:
        """Counts by the engine, and moments class by class."""
        target, inputs = self._fields(terms)
        classes = count_categories(data, (target,))
        figures = [classes[value,] for value in target.values]
        codes = target.codes(data) if any(isinstance(field, NumberColumn) for field in inputs) else None
        for field in inputs:
            if isinstance(field, CategoryColumn):
                cells = count_categories(data, (target, field))
                figures += [cells[pair] for pair in product(target.values, field.values)]
                continue
            units = field.units(data)
            assert codes is not None  # noqa: S101  # there is a measure
            parts = [units[codes == place] for place in range(len(target.values))]
            _, first, second = zip(*(moments(part, part * 0 + 1, field, 2) for part in parts), strict=True)
            figures += [*first, *second]
        return figures

    def sensitivities(self, terms: Terms) -> tuple[FigureSensitivity, ...]:
        """A row is in one class, and in one category of each column."""
        target, inputs = self._fields(terms)
        size = len(target.values)
        sensitivities = [FigureSensitivity(size, 1)]
        for field in inputs:
            if isinstance(field, CategoryColumn):
                sensitivities.append(FigureSensitivity(size * len(field.values), 1))
            else:
                width = max(field.encoding.width, 1)
                sensitivities += [FigureSensitivity(size, width), FigureSensitivity(size, width**2)]
        return tuple(sensitivities)

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
        """Class counts, and a small table for each column."""
        target, inputs = self._fields(terms)
        given: dict[str, Any] = {}
        left = iter(totals)
        classes = {value: next(left) for value in target.values}
        for field in inputs:
            if isinstance(field, CategoryColumn):
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
                (one, *mean_and_variance([classes[one], a, b], field, noisy=noisy))
                for one, a, b in zip(target.values, first, second, strict=True)
            )
            given[field.name] = as_rows([target.name, "mean", "variance"], told)
        return {"classes": classes, "given": given}

    def check(self, terms: Terms) -> None:
        """Require bounds and categories."""
        target, inputs = self._fields(terms)
        limit_figures(len(target.values) * sum(len(f.values) if isinstance(f, CategoryColumn) else 2 for f in inputs))
        super().check(terms)

    def _fields(self, terms: Terms) -> tuple[CategoryColumn, tuple[DeclaredColumn, ...]]:
        inputs = parse_columns(self.x, terms)
        return target_column(self.y, inputs, terms, self.example), inputs
