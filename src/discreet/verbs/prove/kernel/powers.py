"""Rational numbers below e^x and above ln x, exactly: what a solver can compare probabilities with."""

from __future__ import annotations

from fractions import Fraction

from discreet.verbs.prove.kernel.layout import Unsupported

_TERMS = 24
_GRID = 10**18
_LARGEST = Fraction(1 << 14)
"""Beyond this e^x is not looked for: its digits would be more than there is room for."""


def below_exp(value: Fraction) -> Fraction:
    """A number not above e^value, for value >= 0: the first terms of the series at value / 2^k, squared k times.

    What is above ``_LARGEST`` counts as that, since e^value grows with value. In whole multiples of 1/_GRID, every one
    rounded down; no term is below 0, so the sum is not above the power.
    """
    value = min(value, _LARGEST)
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
    if ratio > below_exp(_LARGEST):
        raise Unsupported("odds that large")
    while below_exp(high) < ratio:
        high *= 2
    while high - low > Fraction(1, 10**6):
        middle = Fraction(int((low + high) / 2 * 10**7), 10**7)
        low, high = (low, middle) if below_exp(middle) >= ratio else (middle, high)
    return high
