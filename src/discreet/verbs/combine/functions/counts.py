"""Histograms and contingency tables: counts of rows in declared cells. A row is in one cell, so sensitivity is 1."""

from __future__ import annotations

from itertools import pairwise, product
from math import prod
from typing import Any, ClassVar

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import COMBINE_FUNCTIONS
from discreet.errors import BadInput
from discreet.noise.parameters import signed
from discreet.verbs.combine.data import VALUE, Data
from discreet.verbs.combine.distributed_noise import FigureSensitivity
from discreet.verbs.combine.fixed_point import MAX_PARTY_ROWS, FixedPoint
from discreet.verbs.combine.functions.function import (
    CategoryColumn,
    SingleSumFunction,
    as_rows,
    category_columns,
    count_categories,
    limit_figures,
)
from discreet.verbs.combine.terms import Terms


class _CellCounts(SingleSumFunction):
    """Counts of rows in cells."""

    def bounds(self, terms: Terms) -> tuple[int, int]:
        """Bounds of a cell: up to the row limit."""
        return 0, MAX_PARTY_ROWS

    def sensitivities(self, terms: Terms) -> tuple[FigureSensitivity, ...]:
        """A row is in one cell."""
        return (FigureSensitivity(self._cells(terms), 1),)

    def check(self, terms: Terms) -> None:
        """Require declared cells, within the limit."""
        self._cells(terms)
        super().check(terms)

    def _cells(self, terms: Terms) -> int:
        raise NotImplementedError


@declare(COMBINE_FUNCTIONS, "histogram", rank=4)
class Histogram(_CellCounts):
    """Histogram: rows between declared edges (the last one included), or with each declared category."""

    of: str = parameter("Column, with categories unless there are edges: city:ulm|bonn.", default=VALUE)
    edges: str = parameter("Edges of intervals: 0,18,65,110.", default="")
    title: ClassVar[str] = "how many rows lie in each declared interval or category"
    example: ClassVar[str] = "histogram of=age edges=0,18,65,110; histogram of=city:ulm|bonn"

    def local(self, data: Data, terms: Terms) -> list[int]:
        """Counts of the party's own rows."""
        if self._choice(terms) is not None:
            [choice] = category_columns(self.of, terms)
            found = count_categories(data, (choice,))
            return [found[value,] for value in choice.values]
        edges = self._edges(terms)
        units, times = data.numbers(self.of, FixedPoint(edges[0], edges[-1], terms.decimals))
        places = np.minimum(np.searchsorted(edges, units, side="right") - 1, len(edges) - 2)
        return [int(n) for n in np.bincount(places, weights=times, minlength=len(edges) - 1)]

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
        """Count of each interval or category."""
        return {"counts": dict(zip(self._labels(terms), totals, strict=True))}

    def _cells(self, terms: Terms) -> int:
        return limit_figures(len(self._labels(terms)))

    def _labels(self, terms: Terms) -> list[str]:
        if (choice := self._choice(terms)) is not None:
            return list(choice.values)
        self._edges(terms)
        shown = self._written()
        *most, last = (f"{low} to below {high}" for low, high in pairwise(shown))
        return [*most, last.replace("to below", "to")]

    def _choice(self, terms: Terms) -> CategoryColumn | None:
        return category_columns(self.of, terms)[0] if "|" in self.of else None

    def _written(self) -> list[str]:
        return [edge.strip() for edge in self.edges.split(",") if edge.strip()]

    def _edges(self, terms: Terms) -> list[int]:
        edges = [signed(edge, "an edge") * 10**terms.decimals for edge in self._written()]
        if len(edges) < 2 or any(low >= high for low, high in pairwise(edges)):
            raise BadInput(
                "A histogram needs declared edges in their order, or categories.", hint=f"Write: {self.example}"
            )
        if any(edge.denominator != 1 for edge in edges):
            raise BadInput(f"An edge has more than {terms.decimals} decimals.", hint="Declare more decimals.")
        return [int(edge) for edge in edges]


@declare(COMBINE_FUNCTIONS, "table", rank=5)
class ContingencyTable(_CellCounts):
    """Contingency table: rows with each combination of categories."""

    of: str = parameter("Columns with categories: sex:f|m,city:ulm|bonn.")
    title: ClassVar[str] = "how many rows have each combination of categories"
    example: ClassVar[str] = "table of=sex:f|m,city:ulm|bonn"

    def local(self, data: Data, terms: Terms) -> list[int]:
        """Counts of the party's own rows."""
        of = category_columns(self.of, terms)
        found = count_categories(data, of)
        return [found[values] for values in product(*(choice.values for choice in of))]

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
        """One row for each combination of categories."""
        of = category_columns(self.of, terms)
        combinations = product(*(choice.values for choice in of))
        rows = ((*values, n) for values, n in zip(combinations, totals, strict=True))
        return as_rows([*(choice.name for choice in of), "rows"], rows)

    def _cells(self, terms: Terms) -> int:
        return limit_figures(prod(len(choice.values) for choice in category_columns(self.of, terms)))
