"""Arithmetic of probabilities: exact rational numbers, or reals enclosed by rigorous bounds.

An exponent is kept as a rational multiple of a unit. Rational chances have the unit ln r, so that e to an integer
number of units is a power of r; enclosed ones have the unit 1, and e to anything is a ball of arb, which contains the
true number whatever is computed with it.

With eps the logarithm of a rational number, the chances of a program with integer noise are rational numbers: a
counterexample without any rounding. All the program does with eps is arithmetic, which is exact here or refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from discreet.core.optional import extra
from discreet.verbs.prove import distributions

Exact: TypeAlias = "int | Fraction | Logarithm"
Chance: TypeAlias = Any
"""A ``Fraction``, or a ball of arb; whichever, with the usual arithmetic."""
_BALL_BITS = 320
"""Precision of balls, bits."""
_MIN_EXPONENT_BITS = 4000
"""Bits behind the point of a fraction; smaller numbers are rounded outwards."""
_MAX_EXPONENT_BITS = 100_000
"""Most bits before the point of a fraction."""
_BOUND_BITS = 200
"""Significant bits of a bound."""


class Intractable(Exception):
    """Something that cannot be computed exactly here; the search tries the next event instead."""


@dataclass(frozen=True)
class Logarithm:
    """``factor * ln(base) ** degree``, with a base above 1, a factor that is not 0 and a degree that is not 0.

    ln of a rational number other than 1 is transcendental (Lindemann), so no such number is rational, and two of them
    with different degrees are never equal.
    """

    base: Fraction
    factor: Fraction = Fraction(1)
    degree: int = 1

    def __add__(self, other: Exact) -> Exact:
        if other == 0:
            return self
        if not isinstance(other, Logarithm) or other.degree != self.degree or other.base != self.base:
            raise Intractable("A sum of unlike powers of a logarithm.")
        return power(self.base, self.factor + other.factor, self.degree)

    __radd__ = __add__

    def __neg__(self) -> Logarithm:
        return Logarithm(self.base, -self.factor, self.degree)

    def __sub__(self, other: Exact) -> Exact:
        return self + -other

    def __rsub__(self, other: Exact) -> Exact:
        return -self + other

    def __mul__(self, other: Exact) -> Exact:
        if isinstance(other, Logarithm):
            if other.base != self.base:
                raise Intractable("A product of different logarithms.")
            return power(self.base, self.factor * other.factor, self.degree + other.degree)
        return power(self.base, self.factor * other, self.degree)

    __rmul__ = __mul__

    def __truediv__(self, other: Exact) -> Exact:
        if isinstance(other, Logarithm):
            return self * power(other.base, 1 / other.factor, -other.degree)
        return self * Fraction(1, 1) * (1 / Fraction(other))

    def __rtruediv__(self, other: Exact) -> Exact:
        return power(self.base, 1 / self.factor, -self.degree) * other

    def __lt__(self, other: Exact) -> bool:
        return _negative(self - other)

    def __gt__(self, other: Exact) -> bool:
        return _negative(other - self)

    def __le__(self, other: Exact) -> bool:
        return not self > other

    def __ge__(self, other: Exact) -> bool:
        return not self < other

    def __str__(self) -> str:
        factor = "" if self.factor == 1 else f"{self.factor} "
        return f"{factor}ln({self.base})" + ("" if self.degree == 1 else f"^{self.degree}")


def power(base: Fraction, factor: Fraction, degree: int) -> Exact:
    """``factor * ln(base) ** degree`` in its simplest form."""
    return factor if degree == 0 or factor == 0 else Logarithm(base, factor, degree)


def _negative(number: Exact) -> bool:
    return number.factor < 0 if isinstance(number, Logarithm) else number < 0


class Arithmetic(distributions.Arithmetic, Protocol):
    """Arithmetic of probabilities."""

    continuous: bool

    def units(self, number: Exact) -> Fraction:
        """A number in units."""


@dataclass(frozen=True)
class RationalArithmetic:
    """Chances as fractions, with the unit ln(base)."""

    base: Fraction
    continuous = False

    def of(self, number: Fraction | int) -> Fraction:
        return Fraction(number)

    def exp(self, units: Fraction) -> Fraction:
        if units.denominator != 1:
            raise Intractable("A root of a rational number.")
        if abs(units) * max(self.base.numerator, self.base.denominator).bit_length() > _MAX_EXPONENT_BITS:
            raise Intractable("A power with too many digits.")
        return self.base**units.numerator

    def units(self, number: Exact) -> Fraction:
        if isinstance(number, Logarithm):
            if number.degree != 1 or number.base != self.base:
                raise Intractable("This power of e is not rational.")
            return number.factor
        if number != 0:
            raise Intractable("e to a rational number is not rational.")
        return Fraction(0)


class BallArithmetic:
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
            raise Intractable("Logarithms belong to rational chances.")
        return Fraction(number)


def load_flint() -> Any:
    """The library of ball arithmetic, imported at the first use."""
    with extra("prove"):
        import flint as library
    return library


def ball_precision() -> Any:
    """A context in which balls have the precision of this module."""
    return load_flint().ctx.workprec(_BALL_BITS)


@lru_cache(maxsize=4096)
def ball(number: Fraction) -> Chance:
    """A ball around a rational number."""
    library = load_flint()
    return library.arb(library.fmpq(number.numerator, number.denominator))


def log(number: Fraction) -> Chance:
    """A ball around the logarithm of a rational number above 0."""
    return ball(number).log()


def bounds(chance: Chance) -> tuple[Fraction, Fraction]:
    """Rational numbers below and above a chance, which is not below 0 (the same, if it is exact).

    A ball may be as small as e^(-10^12), which no fraction should be; so the bounds are rounded, and never inwards.
    ``Intractable`` if there are none worth writing down.
    """
    if isinstance(chance, Fraction | int):
        return Fraction(chance), Fraction(chance)
    if not chance.is_finite():
        raise Intractable("This probability is unknown.")
    return max(Fraction(0), _round_outwards(chance.lower(), up=False)), _round_outwards(chance.upper(), up=True)


def _round_outwards(end: Chance, *, up: bool) -> Fraction:
    """A short fraction not below an exact ball, or not above it."""
    digits, power = (int(part) for part in end.man_exp())
    size = digits.bit_length() + power
    if digits and size < -_MIN_EXPONENT_BITS:
        return Fraction((digits > 0) if up else -(digits < 0), 1 << _MIN_EXPONENT_BITS)
    if digits and size > _MAX_EXPONENT_BITS:
        raise Intractable("This is too large to be written out.")
    if (extra := digits.bit_length() - _BOUND_BITS) > 0:
        digits, power = -(-digits >> extra) if up else digits >> extra, power + extra
    return Fraction(digits << power) if power >= 0 else Fraction(digits, 1 << -power)
