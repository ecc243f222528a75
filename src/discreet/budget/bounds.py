"""Logarithms and roots of rationals, as rationals on the side that is asked for."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

_BITS = 192
_ONE = 1 << _BITS
_TERMS = 62  # a third to the power of 2 * 62 is below 2**-192


def ln_upper(x: Fraction) -> Fraction:
    """A rational not below ln x for x > 0, and above it by less than 2**-170 while 2**-4096 < x < 2**4096."""
    return _ln(x, up=True)


def ln_lower(x: Fraction) -> Fraction:
    """A rational not above ln x for x > 0, as near as ``ln_upper``."""
    return _ln(x, up=False)


def sqrt_lower(x: Fraction) -> Fraction:
    """A rational not above the square root of x >= 0, with at least 64 significant bits."""
    shift = max(0, 128 - x.numerator.bit_length() + x.denominator.bit_length())
    shift += shift % 2
    return Fraction(isqrt((x.numerator << shift) // x.denominator), 1 << shift // 2)


def round_down(value: Fraction, bits: int = 64) -> Fraction:
    """A number of about ``bits`` significant bits that is not above ``value``, which is not negative."""
    if value == 0:
        return value
    scale = Fraction(2) ** (bits - value.numerator.bit_length() + value.denominator.bit_length())
    return Fraction(value * scale // 1) / scale


def _ln(x: Fraction, *, up: bool) -> Fraction:
    """ln x = k ln 2 + 2 artanh((m - 1) / (m + 1)) with x = m 2**k and m in [1, 2)."""
    k = x.numerator.bit_length() - x.denominator.bit_length()
    if x < Fraction(2) ** k:
        k -= 1
    m = x / Fraction(2) ** k
    ln2 = _artanh(Fraction(1, 3), up=up == (k >= 0))
    return Fraction(2 * (k * ln2 + _artanh((m - 1) / (m + 1), up=up)), _ONE)


def _artanh(z: Fraction, *, up: bool) -> int:
    """artanh z for 0 <= z <= 1/3, in units of 2**-192, rounded up or down.

    Why this is right: the series z + z³/3 + z⁵/5 + … has no negative term, and every step (a product, a
    quotient, a sum) grows with its inputs, so steps rounded one way give a bound on that side. Cut off, it
    is a lower bound; what was cut off is below z^n (1 + z² + z⁴ + …) <= z^n * 9/8, which is added for the
    upper one.
    """

    def divided(a: int, b: int) -> int:
        return -(-a // b) if up else a // b

    power = divided(z.numerator << _BITS, z.denominator)
    square = divided(power * power, _ONE)
    total = 0
    for n in range(1, 2 * _TERMS, 2):
        total += divided(power, n)
        power = divided(power * square, _ONE)
    return total + divided(9 * power, 8) if up else total
