"""Rational numbers below e^x and above ln x, exactly: what a solver can compare probabilities with."""

from __future__ import annotations

from fractions import Fraction

_TERMS = 24
_GRID = 10**12


def below_exp(value: Fraction) -> Fraction:
    """A number not above e^value, for value >= 0: the first terms of the series at value / 2^k, squared k times."""
    halvings = 0
    while value / 2**halvings > 1:
        halvings += 1
    small, term, total = value / 2**halvings, Fraction(1), Fraction(1)
    for count in range(1, _TERMS):
        term = term * small / count
        total += term
    for _ in range(halvings):
        total = Fraction(int(total * total * _GRID), _GRID)
    return Fraction(int(total * _GRID), _GRID)


def above_log(ratio: Fraction) -> Fraction:
    """A number x not below ln(ratio), for ratio >= 1, such that ``below_exp(x) >= ratio``; near it."""
    low, high = Fraction(0), Fraction(1)
    if ratio <= 1:
        return low
    while below_exp(high) < ratio:
        high *= 2
    while high - low > Fraction(1, 10**6):
        middle = Fraction(int((low + high) / 2 * 10**7), 10**7)
        low, high = (low, middle) if below_exp(middle) >= ratio else (middle, high)
    return high
