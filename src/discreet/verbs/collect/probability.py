"""The chances that a device flips by: multiples of 2**-64, rounded so that the promise holds.

What theory asks for (e**ε / (e**ε + d - 1), say) is irrational. A device flips by a multiple of 2**-64 beside it, on
the side that tells less; the collector's estimate uses the chances that are really flipped by, so it is unbiased, and
the audit finds a loss that is below the claim by next to nothing, never above.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.budget.bounds import ln_upper
from discreet.core.exact import Number, exact, exp_upper
from discreet.errors import BadInput

GRID = 1 << 64
_ABOVE = 1 + Fraction(1, 2**150)
"""``exp_upper`` is above what it bounds by less than this factor."""
_LEAST = Fraction(1, 1 << 20)
"""Of a smaller loss, rounding to 2**-64ths would be felt: with very many values it would exceed the loss itself."""


def epsilon_of(number: Number) -> Fraction:
    """A claim that protects somebody and can be flipped by: a millionth at least, and at most 20."""
    epsilon = exact(number, "epsilon")
    if not _LEAST <= epsilon <= 20:
        raise BadInput(
            f"epsilon must lie between 0 and 20 for what people randomise themselves, got {number}.",
            hint="1 is usual; ln 3, about 1.0986, is what two fair coins give. A millionth is the least.",
        )
    return epsilon


def power(epsilon: Fraction) -> Fraction:
    """A rational not above e**epsilon, and below it by next to nothing."""
    return exp_upper(epsilon) / _ABOVE


def down(chance: Fraction) -> Fraction:
    """The multiple of 2**-64 at or below."""
    return Fraction(chance.numerator * GRID // chance.denominator, GRID)


def up(chance: Fraction) -> Fraction:
    """The multiple of 2**-64 at or above."""
    return Fraction(-(-chance.numerator * GRID // chance.denominator), GRID)


def claim(ratio: Fraction) -> Fraction:
    """What may be claimed of chances that differ by a factor of ``ratio``: its logarithm, rounded up to 12 decimals.

    ``power`` of it is not below the ratio, so that an audit of the claim holds.
    """
    decimals = 10**12
    return Fraction(-(-ln_upper(ratio * _ABOVE) * decimals // 1), decimals)
