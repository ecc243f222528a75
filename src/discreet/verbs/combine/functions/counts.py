"""Histograms and cross-tables: counts of rows in declared cells. A row is in one cell, and changes one count by one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import Any, ClassVar

import numpy as np

from discreet.errors import BadInput
from discreet.noise.parameters import signed
from discreet.verbs.combine.data import VALUE, Data
from discreet.verbs.combine.distributed import Figures
from discreet.verbs.combine.functions.fields import Choice, choices, counted
from discreet.verbs.combine.functions.function import OneSum, as_rows, require_few
from discreet.verbs.combine.numbers import MOST_ROWS, Grid
from discreet.verbs.combine.terms import Terms


class _Cells(OneSum):
    """Counts of cells."""

    def bounds(self, terms: Terms) -> tuple[int, int]:
        """No cell has more rows than there may be."""
        return 0, MOST_ROWS

    def figures(self, terms: Terms) -> tuple[Figures, ...]:
        """A row is in one cell."""
        return (Figures(self._cells(terms), 1),)

    def check(self, terms: Terms) -> None:
        """Cells are declared, and not too many."""
        self._cells(terms)
        super().check(terms)

    def _cells(self, terms: Terms) -> int:
        raise NotImplementedError


@dataclass(frozen=True)
class Histogram(_Cells):
    """How many rows lie between declared edges (the last one included), or have each declared category."""

    of: str = VALUE
    edges: str = ""
    name: ClassVar[str] = "histogram"
    title: ClassVar[str] = "how many rows lie in each declared interval or category"
    example: ClassVar[str] = "histogram of=age edges=0,18,65,110; histogram of=city:ulm|bonn"

    def local(self, data: Data, terms: Terms) -> list[int]:
        """Counts of its own rows."""
        if self._choice(terms) is not None:
            [choice] = choices(self.of, terms)
            found = counted(data, (choice,))
            return [found[value,] for value in choice.values]
        edges = self._edges(terms)
        units, times = data.numbers(self.of, Grid(edges[0], edges[-1], terms.decimals))
        places = np.minimum(np.searchsorted(edges, units, side="right") - 1, len(edges) - 2)
        return [int(n) for n in np.bincount(places, weights=times, minlength=len(edges) - 1)]

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
        """A count for each."""
        return {"counts": dict(zip(self._labels(terms), totals, strict=True))}

    def _cells(self, terms: Terms) -> int:
        return require_few(len(self._labels(terms)))

    def _labels(self, terms: Terms) -> list[str]:
        if (choice := self._choice(terms)) is not None:
            return list(choice.values)
        self._edges(terms)
        shown = self._written()
        *most, last = (f"{low} to below {high}" for low, high in pairwise(shown))
        return [*most, last.replace("to below", "to")]

    def _choice(self, terms: Terms) -> Choice | None:
        return choices(self.of, terms)[0] if "|" in self.of else None

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


@dataclass(frozen=True)
class Table(_Cells):
    """How many rows have each combination of categories (a contingency table)."""

    of: str
    name: ClassVar[str] = "table"
    title: ClassVar[str] = "how many rows have each combination of categories"
    example: ClassVar[str] = "table of=sex:f|m,city:ulm|bonn"

    def local(self, data: Data, terms: Terms) -> list[int]:
        """Counts of its own rows."""
        of = choices(self.of, terms)
        found = counted(data, of)
        return [found[values] for values in product(*(choice.values for choice in of))]

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
        """A row for each combination."""
        of = choices(self.of, terms)
        combinations = product(*(choice.values for choice in of))
        rows = ((*values, n) for values, n in zip(combinations, totals, strict=True))
        return as_rows([*(choice.name for choice in of), "rows"], rows)

    def _cells(self, terms: Terms) -> int:
        return require_few(prod(len(choice.values) for choice in choices(self.of, terms)))
