"""The discrete Gaussian mechanism: for many figures at once, and for accounting by concentrated loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.core.exact import Number, exp_minus_between, positive, width
from discreet.core.loss import Concentrated
from discreet.noise.additive import LARGEST_DRAW, WIDEST, Additive
from discreet.noise.entropy import SYSTEM, Entropy, Flags, Integers
from discreet.noise.inversion import Law, table
from discreet.noise.laplace import two_sided

_WIDEST = 64
_ERFC_MARGIN = 1 + 2.0**-20
_PREFIX = 53
_MARGIN = 2.0**-40


@dataclass(frozen=True, init=False)
class DiscreteGaussian(Additive):
    """Noise x with probability in proportion to e**-(x² / 2σ²), on the integers.

    Why this is private: moving integers by Δ in all (the root of the sum of the squared changes) moves the
    Rényi divergence of every order α to at most α Δ² / 2σ², as for the continuous Gaussian: Concentrated(Δ² / 2σ²)
    (Canonne, Kamath, Steinke 2020, Theorems 4 and 14). Draws are exact.
    """

    sigma_squared: Fraction

    def __init__(self, sigma_squared: Number) -> None:
        object.__setattr__(self, "sigma_squared", width(sigma_squared, "sigma squared", WIDEST**2))

    @classmethod
    def for_loss(cls, loss: Concentrated, sensitivity: Number = 1) -> DiscreteGaussian:
        """The least noise that loses ``loss`` and no more."""
        return cls(positive(sensitivity, "sensitivity") ** 2 / (2 * positive(loss.rho, "rho")))

    def loss(self, sensitivity: Number = 1) -> Concentrated:
        """What is lost when one unit changes the values by ``sensitivity``, in Euclidean distance over all of them."""
        return Concentrated(positive(sensitivity, "sensitivity") ** 2 / (2 * self.sigma_squared))

    def draw(self, entropy: Entropy = SYSTEM) -> int:
        """One draw (Canonne, Kamath, Steinke 2020, Algorithm 3).

        Why this is right: with t a whole number, (|y| - σ²/t)² / 2σ² is y² / 2σ² - |y| / t and a constant; so a
        discrete Laplace y of scale t, kept with probability e to minus that, has the weight e**-(y² / 2σ²).
        """
        n, d = self.sigma_squared.numerator, self.sigma_squared.denominator
        t = math.isqrt(n // d) + 1
        while True:
            y = two_sided(Fraction(t), entropy)
            if entropy.flip_exp_ratio((abs(y) * d * t - n) ** 2, 2 * n * d * t * t):
                return y

    @property
    def spread(self) -> Fraction:
        """The standard deviation, rounded down."""
        return Fraction(math.isqrt(int(self.sigma_squared)))

    @property
    def variance(self) -> float:
        """σ², which the variance does not exceed, and equals to many digits from σ² = 1 up."""
        return float(self.sigma_squared)

    def tail(self, t: int) -> Fraction:
        """P(|noise| > t), rounded up.

        Why this is right: for a narrow distribution the table of proven bounds says it. For a wide one the sum beyond t
        is below the integral from t on, and the sum over all integers is above the integral over the line (Poisson
        summation), so the continuous Gaussian's tail beyond t is a bound; ``math.erfc`` gives it to some fifteen
        digits, of which six are trusted, and far out e**-(t² / 2σ²) bounds it.
        """
        squares = t * t / (2 * self.sigma_squared)
        if squares > 600:
            return exp_minus_between(squares)[1]
        if self.sigma_squared >= _WIDEST**2:
            return Fraction(min(math.erfc(math.sqrt(squares)) * _ERFC_MARGIN, 1))
        within, zero = _narrow(self.sigma_squared)
        return 2 * (1 - within[t]) / (2 - zero)

    def _batch(self, count: int, entropy: Entropy) -> Integers:
        """Independent draws, as many as are kept of ``count`` proposals.

        Why this is right: with x = b·y + r, r < b and b a power of two, x² = (b y)² + r (r + 2 b y). So y is
        drawn from a table with weight e**-((b y)² / 2σ²), r is uniform, and both are kept with probability
        e**-(r (r + 2 b y) / 2σ²), which makes e**-(x² / 2σ²); few are lost, since b is small beside σ (Karney
        2016 does the same with b = σ). Then a sign; minus zero is not kept.
        """
        self.require_drawable()
        places = 0
        while self.sigma_squared >= _WIDEST**2 << (2 * places):
            places += 1
        y = table(Law(Fraction(0), 4**places / (2 * self.sigma_squared))).draws(count, entropy)
        r = entropy.many_below(1 << places, count)
        x = np.minimum(y, (LARGEST_DRAW - 1) >> places) << places | r
        negative = entropy.coins(count)
        keep = ~negative | (x != 0)
        if places:
            twice = 2 * self.sigma_squared
            exponent = r * (r + y * float(2 << places)) / float(twice)
            keep &= flips_exp(exponent, lambda i: int(r[i]) * (int(r[i]) + (int(y[i]) << places + 1)) / twice, entropy)
        drawn: Integers = np.where(negative, -x, x)[keep]
        return drawn


@lru_cache(maxsize=16)
def _narrow(sigma_squared: Fraction) -> tuple[list[Fraction], Fraction]:
    """Distribution on 0, 1, 2, …: P(X <= k) from below, for every k ``tail`` asks for, and P(X = 0) from above."""
    bits = 1024
    low, high = Law(Fraction(0), 1 / (2 * sigma_squared)).cumulative(bits)
    return [Fraction(bound, 2**bits) for bound in low], Fraction(high[0], 2**bits)


def flips_exp(x: NDArray[np.float64], exactly: Callable[[int], Fraction], entropy: Entropy) -> Flags:
    """One coin for every x >= 0, each true with probability exactly e**-``exactly(i)``.

    ``x[i]`` is what floating point makes of ``exactly(i)``, right to one part in 2**48.

    Why this is right: the loop of ``Entropy.flip_exp``, for x <= 1/2. "A uniform real is below x/k" is decided by the
    first 53 bits of the real, unless they come within one part in 2**40 of x/k, 256 times what x may be
    wrong by; then exact arithmetic decides, with as many more bits as it takes. No floating-point
    rounding reaches the outcome.
    """
    heads = np.ones(x.size, dtype=np.bool_)
    for i in np.flatnonzero(x > 0.5):
        heads[i] = entropy.flip_exp(exactly(int(i)))
    alive = np.flatnonzero(x <= 0.5)
    k = 1
    while alive.size:
        prefix = entropy.words(alive.size) >> np.uint64(64 - _PREFIX)
        u = prefix.astype(np.float64) * 2.0**-_PREFIX
        edge = x[alive] / k
        goes_on = u < edge
        unsure = (u + 2.0**-_PREFIX > edge * (1 - _MARGIN)) & (u < edge * (1 + _MARGIN))
        for i in np.flatnonzero(unsure):
            goes_on[i] = entropy.falls_below(exactly(int(alive[i])) / k, int(prefix[i]), _PREFIX)
        heads[alive[~goes_on]] = k % 2 == 1
        alive = alive[goes_on]
        k += 1
    return heads
