"""A value that a query computes for each row: the SQL for it, and what is known of it without looking."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind, Scalar

NUMBERS = (Kind.INTEGER, Kind.REAL, Kind.DECIMAL)
Interval: TypeAlias = tuple[Fraction, Fraction]
LONGEST_TEXT = 10_000
"""No text that a question makes has more characters."""
WEIGHT = "weight"
"""Where an expression says, among what sqlglot keeps with it, how many nodes it has in the end."""
CHARACTERS = "characters"
"""Where an expression that makes a text says, among what sqlglot keeps with it, how long that can be."""


@dataclass(frozen=True)
class Value:
    """An expression that cannot fail on any row, its kind, and the numbers or categories it stays within."""

    sql: exp.Expr
    kind: Kind
    within: Interval | None = None
    """The smallest and largest number it can be (of dates: of ``date.toordinal``); ``None``: not known."""
    domain: tuple[Scalar, ...] | None = None
    """All values there can be, as declared; ``None``: not known."""
    name: str = ""
    """The column it is, if it is no more than that: for messages."""
    required: bool = False
    """Whether every row has one: it is never NULL."""
    longest: int | None = None
    """The most characters it has, if it is a text; ``None``: those of its domain, or not known."""

    weight: int = 1
    """Nodes of its tree with every column replaced by what that was computed of, as an engine may do."""

    @property
    def number(self) -> bool:
        """Whether it can be added."""
        return self.kind in NUMBERS

    @property
    def characters(self) -> int:
        """The most characters it has, if it is a text; one whose length is not known is as long as any may be."""
        if self.kind is not Kind.TEXT:
            return 0
        if self.longest is not None:
            return self.longest
        return max((len(str(one)) for one in self.domain), default=0) if self.domain is not None else LONGEST_TEXT

    @property
    def as_double(self) -> exp.Expr:
        """The expression as a double."""
        return self.sql.copy() if self.kind is Kind.REAL else exp.cast(self.sql.copy(), exp.DType.DOUBLE)

    @property
    def is_double_column(self) -> bool:
        """Whether it is a column of doubles, which are within their bounds without any rounding."""
        return bool(self.name) and self.kind is Kind.REAL

    @property
    def snapped(self) -> exp.Expr:
        """The expression as a double that is a multiple of about 2**-52 of the largest it can be.

        So it is zero or large enough for a product not to underflow. Adding 3 · 2**e and taking it off again, with
        e such that only so many digits are left for the rest, is rounding without a product.
        """
        far = largest(self.within) if self.within else Fraction(0)
        if self.kind is not Kind.REAL or not far:
            return self.as_double
        away = sql.literal(float(3 * Fraction(2) ** exponent(far)))
        return exp.paren(exp.paren(exp.paren(self.sql.copy()) + away) - away.copy())


def add(one: Interval, other: Interval) -> Interval:
    """Where a sum lies."""
    return one[0] + other[0], one[1] + other[1]


def multiply(one: Interval, other: Interval) -> Interval:
    """Where a product lies."""
    corners = [a * b for a in one for b in other]
    return min(corners), max(corners)


def hull(*intervals: Interval | None) -> Interval | None:
    """The smallest interval around all of them; ``None`` if one is not known."""
    known = [interval for interval in intervals if interval is not None]
    if len(known) < len(intervals) or not known:
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def largest(interval: Interval) -> Fraction:
    """The largest absolute value in it."""
    return max(abs(interval[0]), abs(interval[1]))


def exponent(far: Fraction) -> int:
    """The e of a power of two that is larger, and at most four times as large."""
    return far.numerator.bit_length() - far.denominator.bit_length() + 1


def cut_to(double: exp.Expr, low: Fraction, high: Fraction) -> exp.Expr:
    """A double between two numbers: NULL stays NULL, and NaN becomes the higher one, which every engine says it is."""
    ends = sql.literal(float(low)), sql.literal(float(high))
    below, above = double < ends[0], double > ends[1]
    return exp.case().when(below, ends[0].copy()).when(above, ends[1].copy()).else_(double.copy())
