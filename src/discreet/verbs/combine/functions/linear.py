"""Linear regression, exactly: the parties add up XᵀX, Xᵀy and yᵀy as integers, and all solve the normal equations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np

from discreet.verbs.combine.data import Data
from discreet.verbs.combine.functions.exact import inverse, times
from discreet.verbs.combine.functions.fields import Measure, measures
from discreet.verbs.combine.functions.function import OneSum, as_rows, over_rows, require_few
from discreet.verbs.combine.numbers import Grid, Units, product
from discreet.verbs.combine.terms import Terms


@dataclass(frozen=True)
class Regression(OneSum):
    """Ordinary least squares with a constant: coefficients, standard errors, R², number of rows."""

    y: str
    x: str
    name: ClassVar[str] = "regression"
    title: ClassVar[str] = "linear regression, exactly that of the pooled rows"
    example: ClassVar[str] = "regression y=income:0:100000 x=age:0:110,years:0:60"

    def bounds(self, terms: Terms) -> tuple[list[int], list[int]]:
        """Products of the bounds."""
        pairs = list(combinations_with_replacement(self._grids(terms), 2))
        ends = [[a * b for a in (one.low, one.high) for b in (other.low, other.high)] for one, other in pairs]
        same = [one is other for one, other in pairs]
        return over_rows([0 if square else min(end) for end, square in zip(ends, same, strict=True)], map(max, ends))

    def local(self, data: Data, terms: Terms) -> list[int]:
        """Sums of products of every two columns, the constant 1 and y among them."""
        columns: list[Units] = [np.ones(data.rows, dtype=np.int64)]
        columns += [measure.units(data) for measure in self._measures(terms)]
        return [product(left, right) for left, right in combinations_with_replacement(columns, 2)]

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
        """Solved in rationals; floats at the very end."""
        *inputs, target = self._measures(terms)
        size = len(inputs) + 1
        found = iter(totals)
        whole = [[0] * (size + 1) for _ in range(size + 1)]
        for row, column in combinations_with_replacement(range(size + 1), 2):
            whole[row][column] = whole[column][row] = next(found)
        n, squares = whole[0][0], whole[size][size]
        moments = [whole[row][size] for row in range(size)]
        spread = inverse([row[:size] for row in whole[:size]])
        fitted = times(spread, moments)
        left = squares - sum(a * b for a, b in zip(fitted, moments, strict=True))
        noise = left / (n - size) if n > size else None
        scales = [target.grid.fraction(1), *(target.grid.fraction(1) / one.grid.fraction(1) for one in inputs)]
        rows = []
        for place, name in enumerate(["constant", *(one.name for one in inputs)]):
            error = None if noise is None else math.sqrt(noise * spread[place][place]) * float(scales[place])
            rows.append((name, float(fitted[place] * scales[place]), error))
        total = squares - Fraction(moments[0] ** 2, n)
        return {
            **as_rows(["coefficient", "estimate", "standard error"], rows),
            "r squared": float(1 - left / total) if total else None,
            "number of rows": n,
        }

    def reveals(self, terms: Terms) -> tuple[str, ...]:
        """The normal equations."""
        return (
            "Everybody learns the number of rows, and of every two columns the sum of their products: "
            "all means, variances and covariances of the pooled rows.",
        )

    def check(self, terms: Terms) -> None:
        """Bounds are needed."""
        size = len(self._measures(terms)) + 1
        require_few(size * (size + 1) // 2)
        super().check(terms)

    def _measures(self, terms: Terms) -> tuple[Measure, ...]:
        return measures(f"{self.x},{self.y}", terms)

    def _grids(self, terms: Terms) -> list[Grid]:
        return [Grid(1, 1), *(measure.grid for measure in self._measures(terms))]
