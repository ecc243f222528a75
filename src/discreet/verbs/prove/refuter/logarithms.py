"""Numbers that are a rational multiple of a power of one logarithm, such as eps = 2 ln 3.

With eps the logarithm of a rational number, the chances of a program with integer noise are rational numbers: a
certificate without any rounding. All the program does with eps is arithmetic, which is exact here or refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from discreet.verbs.prove.refuter.errors import Intractable

Exact: TypeAlias = "int | Fraction | Logarithm"


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

    def __radd__(self, other: Exact) -> Exact:
        return self + other

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

    def __rmul__(self, other: Exact) -> Exact:
        return self * other

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
