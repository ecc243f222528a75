"""Sums and sums of products of columns, as integers, and what follows from them exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.verbs.combine.vertical.columns import Column


@dataclass(frozen=True)
class Moments:
    """How many people; the sums of all columns and of the products of any two, of values counted in units."""

    people: int
    columns: tuple[Column, ...]
    sums: tuple[int, ...]
    products: tuple[tuple[int, ...], ...]

    @classmethod
    def above(cls, people: int, columns: tuple[Column, ...], sums: list[int], products: list[list[int]]) -> Moments:
        """From the moments of how far each value lies above its column's least."""
        low = [column.grid.low for column in columns]
        every = range(len(columns))
        return cls(
            people,
            columns,
            tuple(sums[i] + people * low[i] for i in every),
            tuple(
                tuple(products[i][j] + low[i] * sums[j] + low[j] * sums[i] + people * low[i] * low[j] for j in every)
                for i in every
            ),
        )

    def mean(self, i: int) -> Fraction:
        """A column's mean."""
        return self.columns[i].grid.fraction(Fraction(self.sums[i], self.people))

    def covariance(self, i: int, j: int) -> Fraction:
        """The covariance of two columns, divided by one less than the number of people."""
        whole = self.people * self.products[i][j] - self.sums[i] * self.sums[j]
        unit = self.columns[i].grid.fraction(1) * self.columns[j].grid.fraction(1)
        return Fraction(whole, self.people * (self.people - 1)) * unit
