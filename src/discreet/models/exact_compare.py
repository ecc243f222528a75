"""Comparisons on which a verdict hangs: by floats where these are sure, exactly where they are not.

A figure is a quotient of counts, or the logarithm of one; what it is compared with is the rational that a person wrote.
Floats decide when the two differ by more than a part in a thousand million; otherwise whole numbers do, or logarithms
to 120 digits. Logarithms that agree in 100 digits are taken as equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.exact import exact

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Whole = npt.NDArray[Any]
"""Whole numbers: int64, or Python's own where these are too short."""

_SURE = 1e-9
_CONTEXT = Context(prec=120)
_EQUAL = Decimal("1e-100")
_MOST = 2**62


def at_most(part: Whole, whole: Whole, limit: Fraction) -> Flags:
    """Whether part / whole <= limit, for each, exactly; wholes are positive."""
    return ~_above(part, whole, limit, equal=False)


def below(part: Whole, whole: Whole, limit: Fraction) -> Flags:
    """Whether part / whole < limit, for each, exactly; wholes are positive."""
    return ~_above(part, whole, limit, equal=True)


def quotient(part: Whole, whole: Whole) -> Floats:
    """Part / whole as floats, whatever integers they are."""
    return np.asarray(part / whole, dtype=np.float64) if len(part) else np.zeros(0)


def unsure(figures: Floats, limit: float | Floats) -> Flags:
    """Where floats are too close to a limit to decide."""
    return np.asarray(np.abs(figures - limit) <= _SURE * np.maximum(1, np.abs(limit)), dtype=np.bool_)


def wide(*arrays: Whole, most: int) -> tuple[Whole, ...]:
    """Arrays of whole numbers in which results up to ``most`` do not overflow."""
    return arrays if most < _MOST else tuple(array.astype(object) for array in arrays)


@lru_cache(maxsize=65_536)
def ln(number: int | Fraction) -> Decimal:
    """The natural logarithm of a positive rational, to 120 digits."""
    if isinstance(number, Fraction):
        return _CONTEXT.subtract(ln(number.numerator), ln(number.denominator))
    return _CONTEXT.ln(Decimal(number))


def dot(pairs: Iterable[tuple[int | Fraction, Decimal]]) -> Decimal:
    """The sum of the products."""
    total = Decimal(0)
    for factor, value in pairs:
        exactly = Fraction(factor)
        product = _CONTEXT.multiply(Decimal(exactly.numerator), value)
        total = _CONTEXT.add(total, _CONTEXT.divide(product, Decimal(exactly.denominator)))
    return total


def sign(difference: Decimal, scale: Decimal) -> int:
    """-1, 0 or 1; what is nothing beside ``scale``, a size it was computed from, is 0."""
    if abs(difference) <= _EQUAL * max(abs(scale), Decimal(1)):
        return 0
    return 1 if difference > 0 else -1


def plain(value: Fraction) -> int | float | str:
    """A rational as a claim writes it, so that ``exact`` gives it back."""
    if value.denominator == 1:
        return value.numerator
    return float(value) if exact(float(value), "it") == value else str(value)


def _above(part: Whole, whole: Whole, limit: Fraction, *, equal: bool) -> Flags:
    figures = quotient(part, whole)
    found = np.asarray(figures > float(limit), dtype=np.bool_)
    close = np.flatnonzero(unsure(figures, float(limit)))
    if len(close):
        most = max(int(part[close].max()) * limit.denominator, int(whole[close].max()) * limit.numerator)
        one, other = wide(part[close], whole[close], most=most)
        one, other = one * limit.denominator, other * limit.numerator
        found[close] = one >= other if equal else one > other
    return found
