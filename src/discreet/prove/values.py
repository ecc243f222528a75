"""Values and probabilities as people read them."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol, TypeAlias

_SHORT = 12
_DIGITS = 6


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
        exact = str(chance)
        return exact if len(exact) <= _SHORT else f"{_rounded(Fraction(chance))}…"
    if chance.low == chance.high:
        return shown(chance.low)
    low, high = _rounded(chance.low), _rounded(chance.high)
    return f"{low}…" if low == high else f"{low}…{high}"


def _rounded(value: Fraction) -> str:
    return f"{float(value):.{_DIGITS}g}"
