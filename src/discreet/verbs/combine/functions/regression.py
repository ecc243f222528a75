"""Linear and logistic regression on pooled rows.

**Linear regression**, exactly: the parties sum XᵀX, Xᵀy and yᵀy as integers and solve the normal equations in
rationals.

**Logistic regression by Newton's method: each round sums the gradient and the Hessian.** Numbers are scaled to between
-1 and 1 by the declared bounds, so that a row adds at most 1 to any figure; figures are added in units of 2**-40. All
parties solve the same integers in rationals, so that they take the same step and stop in the same round, whatever their
machines. The last step is below 2**-30; the estimate is then within 1e-6 of the pooled one (in standard errors), which
the tests compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core.catalogue import declare, parameter
from discreet.core.families import COMBINE_FUNCTIONS
from discreet.errors import Aborted, BadInput
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.fixed_point import MAX_PARTY_ROWS, FixedPoint, Units, exact_dot, exact_sum
from discreet.verbs.combine.functions.function import (
    CategoryColumn,
    Function,
    NumberColumn,
    SingleSumFunction,
    as_rows,
    bounds_over_rows,
    category_columns,
    limit_figures,
    number_columns,
)
from discreet.verbs.combine.secure_sums import SecureSums
from discreet.verbs.combine.terms import Result, Terms

_FRACTION_BITS = 40
"""Bits after the binary point of gradients and Hessians."""
_CONVERGED_STEP = Fraction(1, 2**30)
"""Step size below which the iteration has converged."""
_MAX_COEFFICIENT = 64
"""Largest absolute coefficient, of columns scaled to -1 to 1."""


@declare(COMBINE_FUNCTIONS, "regression", rank=10)
class Regression(SingleSumFunction):
    """Ordinary least squares with a constant: coefficients, standard errors, R², number of rows."""

    y: str = parameter("Column to explain, with bounds.")
    x: str = parameter("Columns that explain it, with bounds.")
    title: ClassVar[str] = "linear regression, the same as on the pooled rows"
    example: ClassVar[str] = "regression y=income:0:100000 x=age:0:110,years:0:60"

    def bounds(self, terms: Terms) -> tuple[list[int], list[int]]:
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
        return (
            "All parties learn the number of rows, and for every two columns the sum of their products: "
            "all means, variances and covariances of the pooled rows.",
        )

    def check(self, terms: Terms) -> None:
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
                "The coefficients are not identifiable: a column follows from the others, or there are too few rows.",
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


@declare(COMBINE_FUNCTIONS, "logistic", rank=11)
class Logistic(Function):
    """Logistic regression of the second of two categories: log-odds coefficients with standard errors."""

    y: str = parameter("Column to explain, with two categories.")
    x: str = parameter("Columns that explain it, with bounds.")
    rounds: int = parameter("Rounds at most.", default=25)
    title: ClassVar[str] = "logistic regression, in rounds"
    example: ClassVar[str] = "logistic y=ill:no|yes x=age:0:110,dose:0:50"

    def play(self, secure_sums: SecureSums, data: Data) -> Play[Result]:
        """Iterate until the step is small; the result says whether it converged."""
        target, inputs = self._fields(secure_sums.terms)
        x = [np.ones(data.rows), *(measure.scaled(measure.units(data)) for measure in inputs)]
        y = target.codes(data).astype(np.float64)
        size = len(inputs) + 1
        at = [Fraction(0)] * size
        spread = [[Fraction(0)] * size] * size
        converged, done, most = False, 0, MAX_PARTY_ROWS << _FRACTION_BITS
        while done < self.rounds and not converged and max(map(abs, at)) < _MAX_COEFFICIENT:
            done += 1
            totals = (yield from secure_sums.total(_derivatives(x, y, at), -most, most)).values
            entries = iter(totals[size:])
            bends = [[0] * size for _ in range(size)]
            for row, column in combinations_with_replacement(range(size), 2):
                bends[row][column] = bends[column][row] = next(entries)
            if done > 1 and not any(map(any, bends)):
                break  # every row is told apart, and the coefficients grow without end
            spread = inverse(bends)
            step = matrix_times(spread, totals[:size])
            at = [Fraction(float(old + new)) for old, new in zip(at, step, strict=True)]
            converged = max(map(abs, step)) < _CONVERGED_STEP
        return secure_sums.result(_coefficients(at, spread, inputs, converged, done), self.reveals(secure_sums.terms))

    def sums(self, terms: Terms) -> int:
        return self.rounds

    def reveals(self, terms: Terms) -> tuple[str, ...]:
        return (
            f"All parties learn, in each of up to {self.rounds} rounds, the coefficients so far, and the "
            "gradient and "
            "the Hessian of the likelihood over all rows.",
        )

    def check(self, terms: Terms) -> None:
        self._fields(terms)
        if self.rounds < 1:
            raise BadInput("At least one round is needed.")
        super().check(terms)

    def _fields(self, terms: Terms) -> tuple[CategoryColumn, tuple[NumberColumn, ...]]:
        [target, *more] = category_columns(self.y, terms)
        if more or len(target.values) != 2:
            raise BadInput("y is one column with two categories.", hint=f"Write: {self.example}")
        return target, number_columns(self.x, terms)


def _derivatives(x: list[NDArray[np.float64]], y: NDArray[np.float64], at: list[Fraction]) -> list[int]:
    """Gradient and upper half of the Hessian, in units of 2**-40.

    Each row is rounded to units and these are added as integers, so that neither the order of the rows nor the number
    of threads changes what is sent: a party that resumes sends the same again.
    """
    odds = np.zeros(y.size)
    for column, value in zip(x, at, strict=True):
        odds += float(value) * column
    chance = (1 + np.tanh(odds / 2)) / 2  # never overflows, as e**-x would
    bend = chance * (1 - chance)
    gradient = [column * (y - chance) for column in x]
    hessian = [left * right * bend for left, right in combinations_with_replacement(x, 2)]
    return [exact_sum(np.rint(np.ldexp(figure, _FRACTION_BITS)).astype(np.int64)) for figure in (*gradient, *hessian)]


def _coefficients(
    at: list[Fraction], spread: list[list[Fraction]], inputs: tuple[NumberColumn, ...], converged: bool, rounds: int
) -> dict[str, Any]:
    """Coefficients in the columns' own units: b of z = (2x - m) / w is 2b / w of x, -bm / w of the constant."""
    size = len(at)
    wides = [max(one.encoding.width, 1) for one in inputs]
    back = [[Fraction(1), *(Fraction(-one.middle, width) for one, width in zip(inputs, wides, strict=True))]]
    for place, (one, width) in enumerate(zip(inputs, wides, strict=True), 1):
        back.append([Fraction(2 * 10**one.encoding.decimals, width) * (i == place) for i in range(size)])
    rows = []
    for name, row in zip(["constant", *(one.name for one in inputs)], back, strict=True):
        variance = (
            sum((a * b for a, b in zip(row, matrix_times(spread, row), strict=True)), Fraction(0)) * 2**_FRACTION_BITS
        )
        estimate = sum((a * b for a, b in zip(row, at, strict=True)), Fraction(0))
        rows.append((name, float(estimate), math.sqrt(max(variance, 0))))
    table = as_rows(["coefficient", "estimate", "standard error"], rows)
    return {**table, "converged": converged, "rounds": rounds}
