"""Geometric draws on 0, 1, 2, …: P(X = x) in proportion to e**-(x / scale), one at a time or many."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.errors import BadInput
from discreet.noise.entropy import SYSTEM, Entropy, Integers
from discreet.noise.inversion import Law, table

LARGEST_DRAW = 2**62
"""Arrays hold 64-bit integers: in place of a larger draw they hold one of about this size."""
LARGEST_SCALE = 2**50
_DIGIT = 8
_TOP = 16


def geometric(scale: Fraction, entropy: Entropy = SYSTEM) -> int:
    """One draw, without a table (Canonne, Kamath, Steinke 2020, Algorithm 2).

    Why this is right: with scale = n / d, u + n·v is geometric with scale n when u < n has weight e**-(u / n) and v
    is geometric with scale 1; and the d-th part of that, rounded down, is geometric with scale n / d.
    """
    n, d = scale.numerator, scale.denominator
    while not entropy.flip_exp_ratio(u := entropy.below(n), n):
        pass
    v = 0
    while entropy.flip_exp_ratio(1, 1):
        v += 1
    return (u + n * v) // d


def geometrics(scale: Fraction, count: int, entropy: Entropy = SYSTEM) -> Integers:
    """``count`` draws by tables, one for every eight bits of the result.

    Why this is right: written in base 256, x / scale is a sum over the digits, so e**-(x / scale) is a product of one
    factor a digit: the digits are independent, and each has a small law of its own.
    """
    *digits, top = _digits(scale)
    shift = _DIGIT * len(digits)
    drawn = np.minimum(table(top).draws(count, entropy), (LARGEST_DRAW - 1) >> shift) << shift
    for place, digit in enumerate(digits):
        drawn |= table(digit).draws(count, entropy) << _DIGIT * place
    return drawn


@lru_cache(maxsize=64)
def _digits(scale: Fraction) -> tuple[Law, ...]:
    require_array_scale(scale)
    places = 0
    while scale > _TOP << (_DIGIT * places):
        places += 1
    digits = [Law(2 ** (_DIGIT * place) / scale, size=2**_DIGIT) for place in range(places)]
    return (*digits, Law(2 ** (_DIGIT * places) / scale))


def require_array_scale(scale: Fraction) -> None:
    """Refuse noise that would not fit the 64-bit integers of an array."""
    if scale > LARGEST_SCALE:
        raise BadInput(
            f"Noise of a scale of about 2**{int(scale).bit_length()} does not fit an array of 64-bit integers.",
            hint="Draw one at a time, or count in larger units.",
        )
