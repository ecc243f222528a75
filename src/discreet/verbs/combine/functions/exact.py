"""Linear equations over the rationals, solved exactly: the same answer on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.errors import Aborted


def inverse(matrix: Sequence[Sequence[int]]) -> list[list[Fraction]]:
    """The inverse of a matrix of integers; Aborted if it has none (Bareiss 1968: no fractions on the way)."""
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


def times(matrix: Sequence[Sequence[Fraction]], vector: Sequence[Fraction | int]) -> list[Fraction]:
    """A matrix times a vector."""
    return [sum((a * b for a, b in zip(row, vector, strict=True)), Fraction(0)) for row in matrix]
