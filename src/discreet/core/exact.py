"""Numbers that privacy depends on: exact rationals, as people write them and as they are shown; rigorous bounds."""

from __future__ import annotations

import re
import reprlib
from decimal import ROUND_CEILING, Context, Decimal, Inexact
from fractions import Fraction
from math import isqrt
from numbers import Integral
from typing import TypeAlias

from discreet.errors import BadInput

Number: TypeAlias = int | str | Decimal | Fraction | float

_WRITTEN = re.compile(r"[+-]?([0-9]+/[0-9]+|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?)")
_MOST_BITS = 4096


def exact(number: Number, what: str) -> Fraction:
    """``number`` as the rational a person meant: the float 0.1 is one tenth, and so is the text "1/10".

    Refuses what is negative, not finite, or too long to be written down again.
    """
    value = None if isinstance(number, bool) else _rational(number)
    if value is None:
        raise BadInput(
            f"{what} must be a number, got {reprlib.repr(number)}.", hint='Write it like 0.5, "1/3" or "1e-6".'
        )
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MOST_BITS:
        raise BadInput(f"{what} has more than a thousand digits.", hint="Round it up.")
    if value < 0:
        raise BadInput(f"{what} must not be negative, got {number}.")
    return value


def positive(number: Number, what: str) -> Fraction:
    """``number`` as an exact rational above zero."""
    value = exact(number, what)
    if value == 0:
        raise BadInput(f"{what} must be above 0.", hint=f"{what} = 0 would mean no noise, or no data.")
    return value


def width(number: Number, what: str, most: int) -> Fraction:
    """``number`` as an exact rational above zero and not above ``most``."""
    value = positive(number, what)
    if value > most:
        raise BadInput(
            f"{what} must not be above 2**{most.bit_length() - 1}.",
            hint="That much noise leaves no information: spend more, or count in larger units.",
        )
    return value


def probability(number: Number, what: str) -> Fraction:
    """``number`` as an exact rational strictly between 0 and 1."""
    value = positive(number, what)
    if value >= 1:
        raise BadInput(f"{what} must be below 1, got {number}.", hint="Write it like 0.05.")
    return value


def whole(number: object, what: str, least: int = 1) -> int:
    """``number`` as an integer not below ``least``."""
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise BadInput(f"{what} must be a whole number from {least} up, got {number!r}.")
    return number


def signed(number: Number, what: str) -> Fraction:
    """``number`` as an exact rational of either sign."""
    if isinstance(number, Integral | Fraction):
        return -exact(-number, what) if number < 0 else exact(number, what)
    text = str(number).strip()  # what is no number cannot be compared with 0
    return -exact(text[1:], what) if text.startswith("-") else exact(number, what)


def share_of(text: str, what: str) -> Fraction:
    """A share as people write it: 5%, 0.05 or 1/20."""
    written = text.strip()
    share = exact(written.removesuffix("%"), what) / (100 if written.endswith("%") else 1)
    if share > 1:
        raise BadInput(f"{what} must be at most 100 %, got {text}.", hint="Write it like 5%, 0.05 or 1/20.")
    return share


def equation(symbol: str, value: Fraction) -> str:
    """``value`` for a person: "ε = 0.5", "ε = 1/3", or "δ ≤ 2.719e-6" when it takes too many digits."""
    context = Context(prec=12, rounding=ROUND_CEILING)
    decimal = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    if not context.flags[Inexact]:
        return f"{symbol} = {_written(decimal)}"
    if max(value.numerator, value.denominator) < 1000:
        return f"{symbol} = {value}"
    return f"{symbol} ≤ {rounded(value)}"


def rounded(value: Fraction, digits: int = 4) -> str:
    """``value`` rounded up to a few significant digits."""
    context = Context(prec=digits, rounding=ROUND_CEILING)
    return _written(context.divide(Decimal(value.numerator), Decimal(value.denominator)))


def _rational(number: object) -> Fraction | None:
    if isinstance(number, Integral):  # NumPy's too
        return Fraction(int(number))
    if isinstance(number, Fraction):
        return number
    if isinstance(number, float | Decimal | str):
        text = str(number).strip()
        if _WRITTEN.fullmatch(text):
            try:
                return Fraction(text)
            except (ValueError, ZeroDivisionError):  # thousands of digits; a denominator of zero
                return None
    return None


def _written(decimal: Decimal) -> str:
    decimal = decimal.normalize()
    if decimal == 0:
        return "0"
    return f"{decimal:f}" if -5 < decimal.adjusted() < 12 else f"{decimal:e}"


# -- directed rounding: exponentials, logarithms and roots of rationals, bounded by rationals on the side asked for

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
