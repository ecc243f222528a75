"""Histograms, contingency tables, and order statistics by counting: minimum, maximum, median and quantiles.

A row is in one cell of a histogram or table, so the sensitivity is 1.

**Order statistics by a secure binary search over the declared range.** Of each probe everyone learns how many rows lie
at or below it, and nothing else; the probes follow from these counts. The result is an order statistic, one of the
values there are, and exact.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import prod
from typing import Any, ClassVar

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.exact import share_of, signed
from discreet.core.families import COMBINE_FUNCTIONS
from discreet.errors import BadInput
from discreet.verbs.combine.data import VALUE, Data
from discreet.verbs.combine.distributed_noise import FigureSensitivity
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.fixed_point import MAX_PARTY_ROWS, FixedPoint
from discreet.verbs.combine.functions.function import (
    CategoryColumn,
    SingleSumFunction,
    as_rows,
    category_columns,
    count_categories,
    limit_figures,
)
from discreet.verbs.combine.functions.sums import ColumnFunction
from discreet.verbs.combine.secure_sums import SecureSums
from discreet.verbs.combine.terms import Result, Terms


class _CellCounts(SingleSumFunction):
    """Counts of rows in cells."""

    def bounds(self, terms: Terms) -> tuple[int, int]:
        return 0, MAX_PARTY_ROWS

    def sensitivities(self, terms: Terms) -> tuple[FigureSensitivity, ...]:
        """A row is in one cell."""
        return (FigureSensitivity(self._cells(terms), 1),)

    def check(self, terms: Terms) -> None:
        self._cells(terms)
        super().check(terms)

    def _cells(self, terms: Terms) -> int:
        raise NotImplementedError


@declare(COMBINE_FUNCTIONS, "histogram", rank=4)
class Histogram(_CellCounts):
    """Histogram: rows between declared edges (the last one included), or with each declared category."""

    of: str = parameter("Column, with categories unless there are edges: city:ulm|bonn.", default=VALUE)
    edges: str = parameter("Edges of intervals: 0,18,65,110.", default="")
    title: ClassVar[str] = "number of rows in each declared interval or category"
    example: ClassVar[str] = "histogram of=age edges=0,18,65,110; histogram of=city:ulm|bonn"

    def local(self, data: Data, terms: Terms) -> list[int]:
        if self._choice(terms) is not None:
            [choice] = category_columns(self.of, terms)
            counts = count_categories(data, (choice,))
            return [counts[value,] for value in choice.values]
        edges = self._edges(terms)
        units, times = data.numbers(self.of, FixedPoint(edges[0], edges[-1], terms.decimals))
        places = np.minimum(np.searchsorted(edges, units, side="right") - 1, len(edges) - 2)
        return [int(n) for n in np.bincount(places, weights=times, minlength=len(edges) - 1)]

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
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
            raise BadInput("A histogram needs declared edges in order, or categories.", hint=f"Write: {self.example}")
        if any(edge.denominator != 1 for edge in edges):
            raise BadInput(f"An edge has more than {terms.decimals} decimals.", hint="Declare more decimals.")
        return [int(edge) for edge in edges]


@declare(COMBINE_FUNCTIONS, "table", rank=5)
class ContingencyTable(_CellCounts):
    """Contingency table: rows with each combination of categories."""

    of: str = parameter("Columns with categories: sex:f|m,city:ulm|bonn.")
    title: ClassVar[str] = "number of rows with each combination of categories"
    example: ClassVar[str] = "table of=sex:f|m,city:ulm|bonn"

    def local(self, data: Data, terms: Terms) -> list[int]:
        of = category_columns(self.of, terms)
        counts = count_categories(data, of)
        return [counts[values] for values in product(*(choice.values for choice in of))]

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
        of = category_columns(self.of, terms)
        combinations = product(*(choice.values for choice in of))
        rows = ((*values, n) for values, n in zip(combinations, totals, strict=True))
        return as_rows([*(choice.name for choice in of), "rows"], rows)

    def _cells(self, terms: Terms) -> int:
        return limit_figures(prod(len(choice.values) for choice in category_columns(self.of, terms)))


class _OrderStatistic(ColumnFunction):
    """Order statistic: the value at some rank."""

    share: ClassVar[Fraction]
    """Share of the rows that do not exceed it."""

    def play(self, secure_sums: SecureSums, data: Data) -> Play[Result]:
        """Count the rows, then halve the range until one number is left."""
        measure = self.measure(secure_sums.terms)
        units, times = data.numbers(measure.name, measure.encoding)
        counted = yield from secure_sums.total([data.rows], 0, MAX_PARTY_ROWS)
        [n] = counted.values
        if not n:
            return secure_sums.result({self.name: None, "rows": 0}, ("All parties learned that there are no rows.",))
        rank, low, high = self.rank(n), measure.encoding.low, measure.encoding.high
        seen = []
        while low < high:
            middle = (low + high) // 2
            below = yield from secure_sums.total([int(times[units <= middle].sum())], 0, MAX_PARTY_ROWS)
            [count] = below.values
            seen.append(f"{count:,} at or below {measure.encoding.decode(middle)}")
            low, high = (low, middle) if count >= rank else (middle + 1, high)
        probes = (f"All parties saw these counts of rows: {'; '.join(seen)}.",) if seen else ()
        return secure_sums.result(
            {self.name: measure.encoding.decode(low), "rows": n},
            (f"All parties learned that there are {n:,} rows.", *probes),
        )

    def rank(self, n: int) -> int:
        """Rank among n sorted rows, from 1 on: the share of n, rounded up."""
        return max(-(-n * self.share.numerator // self.share.denominator), 1)

    def sums(self, terms: Terms) -> int:
        """One count, and one probe for each bit of the range."""
        return 1 + self.measure(terms).encoding.width.bit_length()

    def reveals(self, terms: Terms) -> tuple[str, ...]:
        return (
            "All parties learn the total number of rows, and the number at or below each of up to "
            f"{self.sums(terms) - 1} intermediate values of the search.",
        )


@declare(COMBINE_FUNCTIONS, "min", rank=6)
class Min(_OrderStatistic):
    """Minimum."""

    of: str = parameter("Column, with bounds: age:0:110.", default=VALUE)
    title: ClassVar[str] = "the smallest value, by a search"
    example: ClassVar[str] = "min; min of=age:0:110"
    share: ClassVar[Fraction] = Fraction(0)


@declare(COMBINE_FUNCTIONS, "max", rank=7)
class Max(_OrderStatistic):
    """Maximum."""

    of: str = parameter("Column, with bounds: age:0:110.", default=VALUE)
    title: ClassVar[str] = "the largest value, by a search"
    example: ClassVar[str] = "max; max of=age:0:110"
    share: ClassVar[Fraction] = Fraction(1)


@declare(COMBINE_FUNCTIONS, "median", rank=8)
class Median(_OrderStatistic):
    """Lower median."""

    of: str = parameter("Column, with bounds: age:0:110.", default=VALUE)
    title: ClassVar[str] = "the (lower) median, by a search"
    example: ClassVar[str] = "median; median of=age:0:110"
    share: ClassVar[Fraction] = Fraction(1, 2)


@declare(COMBINE_FUNCTIONS, "quantile", rank=9)
class QuantileFunction(_OrderStatistic):
    """Quantile: the smallest value that a share of the rows does not exceed."""

    at: str = parameter("Share of the rows: 0.9 or 1/4.")
    of: str = parameter("Column, with bounds: age:0:110.", default=VALUE)
    title: ClassVar[str] = "the quantile at a share of the rows, by a search"
    example: ClassVar[str] = "quantile at=0.9; quantile at=1/4 of=age:0:110"

    def __post_init__(self) -> None:
        if not self.share:
            raise BadInput("A quantile needs a share above 0 and at most 1.", hint=f"Write: {self.example}")

    @property
    def share(self) -> Fraction:  # type: ignore[override]
        """Share of the rows that do not exceed it."""
        return share_of(self.at, "The share of a quantile")
