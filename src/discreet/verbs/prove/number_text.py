"""Text of values and probabilities for people."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TypeAlias

_MAX_EXACT_CHARACTERS = 12
_SIGNIFICANT_DIGITS = 6
_MAX_FLOAT_EXPONENT = 300
"""Largest power of ten that is converted through floats."""


@dataclass(frozen=True)
class Enclosure:
    """A number between two rational bounds; exact if they are equal."""

    low: Fraction
    high: Fraction

    def __str__(self) -> str:
        return probability_text(self)


Probability: TypeAlias = Fraction | int | Enclosure


def value_text(value: object) -> str:
    """A value in the language's notation."""
    if isinstance(value, tuple):
        return f"[{', '.join(value_text(item) for item in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def probability_text(chance: Probability) -> str:
    """A probability or ratio: exact if that is short, else correct digits."""
    if isinstance(chance, Fraction | int):
        value = Fraction(chance)
        exact = str(value) if max(abs(value.numerator), value.denominator) < 10**_MAX_EXACT_CHARACTERS else ""
        return exact if 0 < len(exact) <= _MAX_EXACT_CHARACTERS else f"{rounded_text(value)}…"
    if chance.low == chance.high:
        return probability_text(chance.low)
    low, high = rounded_text(chance.low), rounded_text(chance.high)
    return f"{low}…" if low == high else f"{low}…{high}"


def rounded_text(value: Fraction) -> str:
    """The leading digits of a number of any magnitude."""
    if value == 0 or Fraction(1, 10**_MAX_FLOAT_EXPONENT) < abs(value) < 10**_MAX_FLOAT_EXPONENT:
        return f"{float(value):.{_SIGNIFICANT_DIGITS}g}"
    with localcontext(prec=_SIGNIFICANT_DIGITS):
        return f"{(Decimal(value.numerator) / Decimal(value.denominator)).normalize():g}"
