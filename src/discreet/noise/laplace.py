"""The discrete Laplace mechanism (two-sided geometric mechanism) for counts and sums, and geometric draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.core.exact import Number, exp_minus_between, positive, width
from discreet.core.loss import Pure
from discreet.noise.additive import LARGEST_DRAW, WIDEST, Additive, require_array_scale
from discreet.noise.entropy import SYSTEM, Entropy, Integers
from discreet.noise.inversion import Law, table

_DIGIT = 8
"""Bits of a geometric draw that one table gives."""
_TOP = 16
"""Largest scale, in units of the last table, of what is above its digits."""


@dataclass(frozen=True, init=False)
class DiscreteLaplace(Additive):
    """Noise x with probability in proportion to e**-(|x| / scale), on the integers.

    Why this is private: moving integers by Δ in all (the sum of the absolute changes) changes the probability
    of any outcome by a factor of at most e**(Δ / scale), by the triangle inequality: Pure(Δ / scale) (Dwork,
    McSherry, Nissim, Smith 2006; on the integers Ghosh, Roughgarden, Sundararajan 2009, who show that no other
    noise serves a count better). Draws are exact: no probability is rounded, so none is zero that should not
    be.
    """

    scale: Fraction

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", width(scale, "scale", WIDEST))

    @classmethod
    def for_loss(cls, loss: Pure, sensitivity: Number = 1) -> DiscreteLaplace:
        """The least noise that loses ``loss`` and no more."""
        return cls(positive(sensitivity, "sensitivity") / positive(loss.epsilon, "epsilon"))

    def loss(self, sensitivity: Number = 1) -> Pure:
        """What is lost when one unit changes the values by ``sensitivity``, summed over all of them."""
        return Pure(positive(sensitivity, "sensitivity") / self.scale)

    def draw(self, entropy: Entropy = SYSTEM) -> int:
        return two_sided(self.scale, entropy)

    @property
    def spread(self) -> Fraction:
        """The scale."""
        return self.scale

    @property
    def variance(self) -> float:
        """2q / (1 - q)² with q = e**-(1 / scale)."""
        half = 1 / (2 * self.scale)
        return 0.5 / math.sinh(half) ** 2 if half < 300 else 0.0

    def tail(self, t: int) -> Fraction:
        """P(|noise| > t) = 2 q**(t+1) / (1 + q), rounded up."""
        return 2 * exp_minus_between((t + 1) / self.scale)[1] / (1 + exp_minus_between(1 / self.scale)[0])

    def _batch(self, count: int, entropy: Entropy) -> Integers:
        """A geometric draw g and a side: g or -1 - g, the second with probability q / (1 + q).

        Then P(x) = (1 - q) q**|x| / (1 + q) on both sides, and nothing is drawn again.
        """
        side = table(Law(1 / self.scale, size=2)).draws(count, entropy)
        return geometrics(self.scale, count, entropy) ^ -side


def two_sided(scale: Fraction, entropy: Entropy) -> int:
    """A geometric draw with a sign; minus zero is drawn again, or zero would come up twice as often."""
    while True:
        size, negative = geometric(scale, entropy), entropy.bits(1)
        if size or not negative:
            return -size if negative else size


def geometric(scale: Fraction, entropy: Entropy = SYSTEM) -> int:
    """One draw x = 0, 1, 2, … with P(x) in proportion to e**-(x / scale), without a table.

    Why this is right (Canonne, Kamath, Steinke 2020, Algorithm 2): with scale = n / d, u + n·v is geometric with scale
    n when u < n has weight e**-(u / n) and v is geometric with scale 1; and the d-th part of that, rounded down, is
    geometric with scale n / d.
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
    factor a digit: the digits are independent, and each has a small distribution of its own.
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
