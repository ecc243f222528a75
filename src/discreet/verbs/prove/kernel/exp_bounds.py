"""Rational bounds below e^x and above ln x, for a solver to compare probabilities with."""

from __future__ import annotations

from fractions import Fraction

from discreet.verbs.prove.kernel.solver import Unsupported

_SERIES_TERMS = 24
"""Terms of the exponential series."""
_GRID = 10**18
"""Numbers are multiples of one over this."""
_MAX_EXPONENT = Fraction(1 << 14)
"""Largest exponent x for which e^x is computed."""


def exp_below(value: Fraction) -> Fraction:
    """A number not above e^value, for value >= 0: the first terms of the series at value / 2^k, squared k times.

    What is above ``_MAX_EXPONENT`` counts as that, since e^value grows with value. In whole multiples of 1/_GRID, every
    one rounded down; no term is below 0, so the sum is not above the power.
    """
    value = min(value, _MAX_EXPONENT)
    halvings = max(0, (value.numerator // value.denominator).bit_length())
    over, under = value.numerator, value.denominator << halvings
    term = total = _GRID
    for count in range(1, _SERIES_TERMS):
        term = term * over // (under * count)
        total += term
    for _ in range(halvings):
        total = total * total // _GRID
    return Fraction(total, _GRID)


def log_above(ratio: Fraction) -> Fraction:
    """A number x not below ln(ratio), for ratio >= 1, such that ``exp_below(x) >= ratio``; near it."""
    low, high = Fraction(0), Fraction(1)
    if ratio <= 1:
        return low
    if ratio > exp_below(_MAX_EXPONENT):
        raise Unsupported("odds too large to bound")
    while exp_below(high) < ratio:
        high *= 2
    while high - low > Fraction(1, 10**6):
        middle = Fraction(int((low + high) / 2 * 10**7), 10**7)
        low, high = (low, middle) if exp_below(middle) >= ratio else (middle, high)
    return high
