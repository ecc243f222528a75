"""Rational numbers below e^x and above ln x, exactly: what a solver can compare probabilities with."""

from __future__ import annotations

from fractions import Fraction

_TERMS = 24
_GRID = 10**18


def below_exp(value: Fraction) -> Fraction:
    """A number not above e^value, for value >= 0: the first terms of the series at value / 2^k, squared k times.

    In whole multiples of 1/_GRID, every one rounded down; no term is below 0, so the sum is not above the power.
    """
    halvings = max(0, (value.numerator // value.denominator).bit_length())
    over, under = value.numerator, value.denominator << halvings
    term = total = _GRID
    for count in range(1, _TERMS):
        term = term * over // (under * count)
        total += term
    for _ in range(halvings):
        total = total * total // _GRID
    return Fraction(total, _GRID)


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
