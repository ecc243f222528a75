"""Exact linear regression: the parties sum XᵀX, Xᵀy and yᵀy as integers and solve the normal equations in rationals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import COMBINE_FUNCTIONS
from discreet.errors import Aborted
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.fixed_point import FixedPoint, Units, exact_dot
from discreet.verbs.combine.functions.columns import NumberColumn, number_columns
from discreet.verbs.combine.functions.function import SingleSumFunction, as_rows, bounds_over_rows, limit_figures
from discreet.verbs.combine.terms import Terms


@declare(COMBINE_FUNCTIONS, "regression", rank=10)
class Regression(SingleSumFunction):
    """Ordinary least squares with a constant: coefficients, standard errors, R², number of rows."""

    y: str = parameter("Column to explain, with bounds.")
    x: str = parameter("Columns that explain it, with bounds.")
    title: ClassVar[str] = "linear regression, exactly that of the pooled rows"
    example: ClassVar[str] = "regression y=income:0:100000 x=age:0:110,years:0:60"

    def bounds(self, terms: Terms) -> tuple[list[int], list[int]]:
        """Bounds of sums of products."""
        pairs = list(combinations_with_replacement(self._grids(terms), 2))
        ends = [[a * b for a in (one.low, one.high) for b in (other.low, other.high)] for one, other in pairs]
        same = [one is other for one, other in pairs]
        return bounds_over_rows(
            [0 if square else min(end) for end, square in zip(ends, same, strict=True)], map(max, ends)
        )

    def local(self, data: Data, terms: Terms) -> list[int]:
        """Sums of products of every two columns, the constant 1 and y among them."""
        columns: list[Units] = [np.ones(data.rows, dtype=np.int64)]
        columns += [measure.units(data) for measure in self._measures(terms)]
        return [exact_dot(left, right) for left, right in combinations_with_replacement(columns, 2)]

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
        """Solve the normal equations in rationals, with floats at the very end."""
        *inputs, target = self._measures(terms)
        size = len(inputs) + 1
        remaining = iter(totals)
        whole = [[0] * (size + 1) for _ in range(size + 1)]
        for row, column in combinations_with_replacement(range(size + 1), 2):
            whole[row][column] = whole[column][row] = next(remaining)
        n, squares = whole[0][0], whole[size][size]
        moments = [whole[row][size] for row in range(size)]
        spread = inverse([row[:size] for row in whole[:size]])
        fitted = matrix_times(spread, moments)
        left = squares - sum(a * b for a, b in zip(fitted, moments, strict=True))
        noise = left / (n - size) if n > size else None
        scales = [
            target.encoding.fraction(1),
            *(target.encoding.fraction(1) / one.encoding.fraction(1) for one in inputs),
        ]
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
        """Every party sees the normal equations."""
        return (
            "Everybody learns the number of rows, and of every two columns the sum of their products: "
            "all means, variances and covariances of the pooled rows.",
        )

    def check(self, terms: Terms) -> None:
        """Require bounds."""
        size = len(self._measures(terms)) + 1
        limit_figures(size * (size + 1) // 2)
        super().check(terms)

    def _measures(self, terms: Terms) -> tuple[NumberColumn, ...]:
        return number_columns(f"{self.x},{self.y}", terms)

    def _grids(self, terms: Terms) -> list[FixedPoint]:
        return [FixedPoint(1, 1), *(measure.encoding for measure in self._measures(terms))]


def inverse(matrix: Sequence[Sequence[int]]) -> list[list[Fraction]]:
    """Exact inverse of an integer matrix (Bareiss 1968); Aborted if it is singular."""
    size = len(matrix)
    work = [[*row, *(int(i == place) for i in range(size))] for place, row in enumerate(matrix)]
    before = 1
    for place in range(size):
        pivot = next((row for row in range(place, size) if work[row][place]), None)
        if pivot is None:
            raise Aborted(
                "The coefficients cannot be told apart: a column follows from the others, or there are too few rows.",
                hint="Leave a column out.",
            )
        work[place], work[pivot] = work[pivot], work[place]
        head = work[place]
        for row in range(size):
            if row != place:
                factor = work[row][place]
                work[row] = [
                    (head[place] * old - factor * new) // before for old, new in zip(work[row], head, strict=True)
                ]
        before = head[place]
    return [[Fraction(value, work[row][row]) for value in work[row][size:]] for row in range(size)]


def matrix_times(matrix: Sequence[Sequence[Fraction]], vector: Sequence[Fraction | int]) -> list[Fraction]:
    """A matrix times a vector."""
    return [sum((a * b for a, b in zip(row, vector, strict=True)), Fraction(0)) for row in matrix]
