"""Numbers that privacy depends on: exact rationals, as people write them and as they are shown."""

from __future__ import annotations

import re
import reprlib
from decimal import ROUND_CEILING, Context, Decimal, Inexact
from fractions import Fraction
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
        raise BadInput(f"{what} takes more than a thousand digits to write down.", hint="Round it up.")
    if value < 0:
        raise BadInput(f"{what} must not be negative, got {number}.")
    return value


def share_of(text: str, what: str) -> Fraction:
    """A share as people write it: 5%, 0.05 or 1/20."""
    written = text.strip()
    share = exact(written.removesuffix("%"), what) / (100 if written.endswith("%") else 1)
    if share > 1:
        raise BadInput(f"{what} {text} is more than the whole.", hint=f"Write {what} 5% or {what} 0.05.")
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
