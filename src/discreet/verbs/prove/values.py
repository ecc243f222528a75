"""Values and probabilities as people read them."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Protocol, TypeAlias

_SHORT = 12
_DIGITS = 6
_FLOATS = 300
"""Numbers with so many digits before the point, or so many zeros behind it, are no floats."""


class Enclosure(Protocol):
    """A number that is known to lie between two others."""

    @property
    def low(self) -> Fraction: ...
    @property
    def high(self) -> Fraction: ...


Chance: TypeAlias = Fraction | int | Enclosure


def written_value(value: object) -> str:
    """A value as it is written in a program."""
    if isinstance(value, tuple):
        return f"[{', '.join(written_value(item) for item in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def shown(chance: Chance) -> str:
    """A probability or a ratio: exactly where that is short, else in digits that are all right."""
    if isinstance(chance, Fraction | int):
        value = Fraction(chance)
        exact = str(value) if max(abs(value.numerator), value.denominator) < 10**_SHORT else ""
        return exact if 0 < len(exact) <= _SHORT else f"{rounded(value)}…"
    if chance.low == chance.high:
        return shown(chance.low)
    low, high = rounded(chance.low), rounded(chance.high)
    return f"{low}…" if low == high else f"{low}…{high}"


def rounded(value: Fraction) -> str:
    """Some digits of a number, which may be larger or smaller than any float."""
    if value == 0 or Fraction(1, 10**_FLOATS) < abs(value) < 10**_FLOATS:
        return f"{float(value):.{_DIGITS}g}"
    with localcontext(prec=_DIGITS):
        return f"{(Decimal(value.numerator) / Decimal(value.denominator)).normalize():g}"
