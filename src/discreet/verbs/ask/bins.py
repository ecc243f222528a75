"""The bins of a column: equal slices of its declared bounds, the same on every engine."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Column
from discreet.core.kind import Kind, Scalar
from discreet.errors import BadInput, NotDeclared

MOST_BINS = 1024
_WHOLE = (Kind.INTEGER, Kind.DATE)


@dataclass(frozen=True)
class Bins:
    """Where each bin of a column begins, and where the last one ends.

    Whole numbers and dates are in bins of as many values each (the last may have fewer), so that every value has
    one bin that says which it is.
    """

    column: Column
    starts: tuple[Scalar, ...]
    ends: tuple[Scalar, ...]
    """The last value of a bin where values can be counted; else where the next bin begins."""

    @classmethod
    def of(cls, column: Column, wanted: int) -> Bins:
        """About ``wanted`` bins of a column, and not more."""
        if isinstance(wanted, bool) or not isinstance(wanted, int) or not 1 <= wanted <= MOST_BINS:
            raise BadInput(f"There are 1 to {MOST_BINS:,} bins, not {wanted!r}.")
        if column.kind in (Kind.TEXT, Kind.BOOLEAN):
            raise BadInput(
                f"{column.name} is {column.kind.value}; a distribution is over numbers or dates.",
                hint="Ask for its marginal.",
            )
        if column.bounds is None:
            raise NotDeclared(
                f"A distribution of {column.name!r} needs its bounds, and the card declares none.",
                hint="Declare bounds on the card; what nobody knows can be searched for, at a price (Bounds).",
            )
        low, high = column.bounds
        if column.kind in _WHOLE:
            first, last = _number(low), _number(high)
            width = -((first - last - 1) // wanted)  # rounded up
            starts = range(first, last + 1, width)
            ends = [min(start + width - 1, last) for start in starts]
            return cls(column, *(tuple(_like(low, one) for one in some) for some in (starts, ends)))
        edges = [_between(low, high, Fraction(i, wanted)) for i in range(wanted + 1)]
        if any(a >= b for a, b in pairwise(edges)):  # type: ignore[operator]  # all are of one kind
            raise BadInput(f"There are not {wanted:,} different values between the bounds of {column.name!r}.")
        return cls(column, tuple(edges[:-1]), tuple(edges[1:]))

    def __len__(self) -> int:
        return len(self.starts)

    def place(self) -> exp.Expr:
        """Which bin a row is in, by halving: comparisons are exact on every engine, arithmetic is not."""
        value: exp.Expr = sql.column(self.column.name)
        if self.column.kind is Kind.DECIMAL:
            value = exp.cast(value, exp.DType.DOUBLE)
        return _place(value, self.starts[1:], 0)

    def range(self, low: Scalar, high: Scalar) -> tuple[int, int]:
        """The bins from the one that begins at ``low`` to the one that ends at ``high``."""
        if low not in self.starts or high not in self.ends or low > high:  # type: ignore[operator]
            raise BadInput(
                f"No bins go from {low} to {high}.",
                hint=f"A range begins with a bin and ends with one, such as {self.starts[0]} to {self.ends[-1]}.",
            )
        return self.starts.index(low), self.ends.index(high) + 1


def _place(value: exp.Expr, ends: Sequence[Scalar], first: int) -> exp.Expr:
    if not ends:
        return sql.literal(first)
    middle = len(ends) // 2
    lower, upper = _place(value, ends[:middle], first), _place(value, ends[middle + 1 :], first + middle + 1)
    return exp.case().when(exp.LT(this=value.copy(), expression=sql.literal(ends[middle])), lower).else_(upper)


def _number(value: Any) -> int:
    return value.toordinal() if isinstance(value, dt.date) else int(value)


def _like(example: Scalar, number: int) -> Scalar:
    return dt.date.fromordinal(number) if isinstance(example, dt.date) else number


def _between(low: Any, high: Any, share: Fraction) -> Scalar:
    """A value between two others; numbers as doubles."""
    if isinstance(low, dt.datetime):
        whole = (high - low) // dt.timedelta(microseconds=1)
        return low + dt.timedelta(microseconds=int(whole * share))
    return float(Fraction(low) + (Fraction(high) - Fraction(low)) * share)
