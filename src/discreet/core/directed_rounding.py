"""Directed rounding: exponentials, logarithms and roots of rationals, bounded by rationals on the side asked for."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

EXP_ERROR = 1 + Fraction(1, 2**150)
"""The factor by which ``exp_upper`` and ``exp_lower`` are apart at most."""
_BITS = 192
_ONE = 1 << _BITS
_LN_TERMS = 62  # a third to the power of 2 * 62 is below 2**-192
_EXP_TERMS = 40
_LARGEST_EXPONENT = 2**14


def round_up(value: Fraction, bits: int = 64) -> Fraction:
    """A number of about ``bits`` significant bits that is not below ``value``, which is not negative."""
    return _rounded(value, bits, up=True)


def round_down(value: Fraction, bits: int = 64) -> Fraction:
    """A number of about ``bits`` significant bits that is not above ``value``, which is not negative."""
    return _rounded(value, bits, up=False)


def sqrt_lower(x: Fraction) -> Fraction:
    """A rational not above the square root of x >= 0, with at least 64 significant bits."""
    return _sqrt(x, up=False)


def sqrt_upper(x: Fraction) -> Fraction:
    """A rational not below the square root of x >= 0, as near as ``sqrt_lower``."""
    return _sqrt(x, up=True)


def ln_upper(x: Fraction) -> Fraction:
    """A rational not below ln x for x > 0, and above it by less than 2**-170 while 2**-4096 < x < 2**4096."""
    return _ln(x, up=True)


def ln_lower(x: Fraction) -> Fraction:
    """A rational not above ln x for x > 0, as near as ``ln_upper``."""
    return _ln(x, up=False)


def exp_upper(x: Fraction) -> Fraction:
    """A rational not below e**x, and above it by less than one part in 2**150 while -2**16 < x < 2**16.

    Why this is right: for x > 0, e**x = (e**y)**(2**h) with y = x / 2**h <= 1/2. The Taylor series of e**y has
    positive terms, each less than half the one before, so all terms after the last one added are together less than
    that one, which is therefore added twice. Every rounding is upwards, of positive numbers, under operations that grow
    with them. For x < 0 it is one over a number that is not above e**-x.
    """
    if x <= 0:
        return 1 / exp_lower(-x) if x else Fraction(1)
    halvings = int(x).bit_length() + 1
    y = x / 2**halvings
    term = total = Fraction(1)
    for n in range(1, _EXP_TERMS + 1):
        term = round_up(Fraction(term.numerator * y.numerator, term.denominator * y.denominator * n), _BITS)
        total += term
    total += term
    for _ in range(halvings):
        total = round_up(total * total, _BITS)
    return total


def exp_lower(x: Fraction) -> Fraction:
    """A rational not above e**x, and below it by less than one part in 2**150 while -2**16 < x < 2**16."""
    if x <= 0:
        return 1 / exp_upper(-x) if x else Fraction(1)
    return exp_upper(x) / EXP_ERROR


def exp_minus(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers low and high with ``low <= e**-x * 2**bits <= high``, for x >= 0; they differ by one or two.

    Why this is right: e**-x = (e**-y)**(2**h) with y = x / 2**h <= 1/2, in units of 2**-p. Cutting y down to a
    whole number of units moves e**-y by less than one. Every Taylor term is cut down twice, by less than one
    each time, and carries less than half of the error before it: it is off by less than 3 units. The terms
    shrink and alternate, so what is left out is less than the first of them. Squares are rounded outwards;
    each doubles the error at most, since nothing exceeds 1, and p has bits to spare for that.
    """
    if x == 0:
        return 1 << bits, 1 << bits
    if x > bits:
        return 0, 1
    halvings = int(x).bit_length() + 1
    p = bits + halvings + 24
    y = ((x.numerator << p) // x.denominator) >> halvings
    term = total = 1 << p
    n = 0
    while term:
        n += 1
        term = (term * y >> p) // n
        total += -term if n % 2 else term
    error = 3 * (n + 1) + 1
    low, high = max(total - error, 0), total + error
    for _ in range(halvings):
        low, high = low * low >> p, -(-high * high >> p)
    return low >> (p - bits), min(-(-high >> (p - bits)), 1 << bits)


def exp_minus_between(x: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals around e**-x, for x >= 0; some 64 of their bits agree, unless both are below 2**-16384.

    So do those of 1 - e**-x: of a small x as many bits more are worked out as that difference loses.
    """
    if x > _LARGEST_EXPONENT:
        return Fraction(0), Fraction(1, 1 << _LARGEST_EXPONENT)
    bits = 3 * int(x) // 2 + 80 + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    low, high = exp_minus(x, bits)
    return Fraction(low, 1 << bits), Fraction(high, 1 << bits)


def _rounded(value: Fraction, bits: int, *, up: bool) -> Fraction:
    whole, of = value.numerator, value.denominator
    shift = bits - whole.bit_length() + of.bit_length()
    if shift < 0:
        return Fraction(_divided(whole, of << -shift, up=up) << -shift)
    return Fraction(_divided(whole << shift, of, up=up), 1 << shift)


def _divided(a: int, b: int, *, up: bool) -> int:
    return -(-a // b) if up else a // b


def _sqrt(x: Fraction, *, up: bool) -> Fraction:
    shift = max(0, 128 - x.numerator.bit_length() + x.denominator.bit_length())
    shift += shift % 2
    square = _divided(x.numerator << shift, x.denominator, up=up)
    root = isqrt(square)
    return Fraction(root + (up and root * root < square), 1 << shift // 2)


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
    power = _divided(z.numerator << _BITS, z.denominator, up=up)
    square = _divided(power * power, _ONE, up=up)
    total = 0
    for n in range(1, 2 * _LN_TERMS, 2):
        total += _divided(power, n, up=up)
        power = _divided(power * square, _ONE, up=up)
    return total + _divided(9 * power, 8, up=up) if up else total
