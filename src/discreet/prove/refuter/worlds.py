"""Two kinds of chances: exact rational numbers, and real numbers enclosed by rigorous bounds.

An exponent is kept as a rational multiple of a unit. Rational chances have the unit ln r, so that e to an integer
number of units is a power of r; enclosed ones have the unit 1, and e to anything is a ball of arb, which contains the
true number whatever is computed with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from discreet.errors import MissingPart
from discreet.prove.refuter.logarithms import Exact, Logarithm
from discreet.prove.refuter.outside import Outside

Chance: TypeAlias = Any
"""A ``Fraction``, or a ball of arb; whichever, with the usual arithmetic."""

PRECISION = 320
"""Bits of a ball: products of a dozen small chances lose some to cancellation."""


class World(Protocol):
    """How to compute with chances."""

    continuous: bool

    def of(self, number: Fraction | int) -> Chance:
        """A rational number as a chance."""
        ...

    def exp(self, units: Fraction) -> Chance:
        """e to the power of so many units."""
        ...

    def units(self, number: Exact) -> Fraction:
        """A number in units."""
        ...


@dataclass(frozen=True)
class Rational:
    """Chances as fractions, with the unit ln(base)."""

    base: Fraction
    continuous = False

    def of(self, number: Fraction | int) -> Fraction:
        return Fraction(number)

    def exp(self, units: Fraction) -> Fraction:
        if units.denominator != 1:
            raise Outside("A root of a rational number.")
        return self.base**units.numerator

    def units(self, number: Exact) -> Fraction:
        if isinstance(number, Logarithm):
            if number.degree != 1 or number.base != self.base:
                raise Outside("This power of e is not rational.")
            return number.factor
        if number != 0:
            raise Outside("e to a rational number is not rational.")
        return Fraction(0)


class Enclosed:
    """Chances as balls, with the unit 1."""

    continuous = True

    def __init__(self) -> None:
        self.exp = lru_cache(maxsize=4096)(self._exp)

    def of(self, number: Fraction | int) -> Chance:
        return ball(Fraction(number))

    def _exp(self, units: Fraction) -> Chance:
        return ball(units).exp() if units else ball(Fraction(1))

    def units(self, number: Exact) -> Fraction:
        if isinstance(number, Logarithm):
            raise Outside("Logarithms belong to rational chances.")
        return Fraction(number)


def flint() -> Any:
    """The library of balls."""
    try:
        import flint as library
    except ImportError:
        raise MissingPart("python-flint", "prove") from None
    return library


@lru_cache(maxsize=4096)
def ball(number: Fraction) -> Chance:
    """A ball around a rational number."""
    library = flint()
    return library.arb(library.fmpq(number.numerator, number.denominator))


def log(number: Fraction) -> Chance:
    """A ball around the logarithm of a rational number above 0."""
    return ball(number).log()


def bounds(chance: Chance) -> tuple[Fraction, Fraction]:
    """Rational numbers below and above a chance (the same, if it is exact)."""
    if isinstance(chance, Fraction | int):
        return Fraction(chance), Fraction(chance)
    low, high = chance.lower().fmpq(), chance.upper().fmpq()
    return Fraction(int(low.p), int(low.q)), Fraction(int(high.p), int(high.q))
