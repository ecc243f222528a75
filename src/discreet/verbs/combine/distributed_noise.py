"""Distributed noise: each party adds a share, and the honest parties' shares alone are the promised noise.

*With delta 0* a party's share is the difference of two negative binomial draws of shape 1/h, where h parties are taken
to be honest and to stay. Why this is private: h such shares add up to the difference of two geometric draws
(``noise/polya.py``), which is exactly the discrete Laplace distribution of scale Δ/ε; Δ is the most that one unit moves
the figures, summed over them (``noise/laplace.py``). Whatever other parties add, or leave out, is independent of it:
post-processing. So the loss is ε, exactly, with the worst dropout and the worst coalition that are permitted, and less
noise is never there.

*With delta above 0* a share is the difference of two Poisson draws, of a whole rate λ. Why this is private: h shares
are exactly a Skellam distribution of variance μ = 2hλ (sums of discrete Gaussians would not be discrete Gaussians;
these sums are exactly what they should be). Its Rényi divergence of whole order α is at most

    αΔ₂²/(2μ) + min(((2α - 1)Δ₂² + 6Δ₁)/(4μ²), 3Δ₁/(2μ))

(Agarwal, Kairouz, Liu 2021), that of a Gaussian and a small term; λ is the least that keeps the loss within (ε, δ).

Figures with different sensitivities share the loss evenly, and their losses add up. Totals are taken modulo the group
after the noise is in, which is post-processing too; the group is wide enough that this changes a figure with a chance
below 2**-64.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.budget.convert import to_approximate
from discreet.core.loss import Approximate, Loss, Pure, Renyi
from discreet.errors import BadInput
from discreet.noise.additive import LARGEST_SCALE
from discreet.noise.entropy import Entropy
from discreet.noise.poisson import LARGEST_RATE, poisson
from discreet.noise.polya import polyas
from discreet.verbs.combine.terms import Terms

_TAIL_NATS = 64
"""Tail of the noise that the group leaves out: chance below e**-64."""
_RENYI_ORDERS = (*range(2, 65), *range(72, 257, 8), *range(288, 1025, 32))


@dataclass(frozen=True)
class FigureSensitivity:
    """Sensitivity of figures that get the same noise: what one unit can change in them."""

    length: int
    """Number of figures."""
    l1: int
    """L1 sensitivity: the sum of the changes."""
    l2_squared: int = 0
    """Square of the L2 sensitivity; 0 means the square of ``l1``, which it never exceeds."""


class NoiseShare(ABC):
    """Noise that each party adds to each figure, so that ``honest`` parties together add the promised noise."""

    honest: int

    @abstractmethod
    def draws(self, count: int, entropy: Entropy) -> list[int]:
        """Draw a party's shares for ``count`` figures."""

    @abstractmethod
    def tail_bound(self, parties: int) -> int:
        """Bound that the noise of all parties together exceeds with a chance below 2**-64 for any one figure."""


@dataclass(frozen=True)
class LaplaceShare(NoiseShare):
    """A share of discrete Laplace noise."""

    scale: Fraction
    honest: int

    def draws(self, count: int, entropy: Entropy) -> list[int]:
        """Differences of two negative binomial draws."""
        drawn = polyas(self.scale, self.honest, 2 * count, entropy)
        return [int(part) for part in drawn[:count] - drawn[count:]]

    def tail_bound(self, parties: int) -> int:
        """Of k Laplace draws or fewer, one must exceed a k-th of this; each does by a chance of e**-(64 + ln k)."""
        times = -(-parties // self.honest)
        return times * math.ceil(self.scale) * (_TAIL_NATS + times.bit_length())


@dataclass(frozen=True)
class SkellamShare(NoiseShare):
    """A share of Skellam noise."""

    rate: int
    honest: int

    @property
    def variance(self) -> int:
        """Variance of the honest parties' shares together."""
        return 2 * self.honest * self.rate

    def draws(self, count: int, entropy: Entropy) -> list[int]:
        """Differences of two Poisson draws."""
        return [poisson(self.rate, entropy) - poisson(self.rate, entropy) for _ in range(count)]

    def tail_bound(self, parties: int) -> int:
        """Bernstein: beyond t the chance is at most 2 e**-(t² / 2(v + t/3)), v the variance of all parts together."""
        variance = 2 * parties * self.rate
        return math.isqrt(2 * _TAIL_NATS * variance) + 4 * _TAIL_NATS


def honest_count(terms: Terms) -> int:
    """Number of parties whose shares make the promised noise: those declared honest, or all that must stay but one.

    That one is anyone who looks at the result: a party knows its own share and can subtract it.
    """
    least = terms.threshold or len(terms.parties)
    honest = terms.honest or max(least - 1, 1)
    if not 1 <= honest <= least:
        raise BadInput(
            f"{honest} honest parties are not possible if as few as {least} may remain.",
            hint=f"Declare at most {least} honest ones, or a higher threshold.",
        )
    return honest


def loss(terms: Terms) -> Loss | None:
    """Privacy loss of the noise, in total; None without noise."""
    if terms.epsilon is None:
        return None
    return Approximate(terms.epsilon, terms.delta) if terms.delta else Pure(terms.epsilon)


def noise_shares(terms: Terms, figures: Sequence[FigureSensitivity]) -> tuple[NoiseShare, ...]:
    """Noise shares for each of these figures; empty without noise."""
    if terms.epsilon is None:
        return ()
    if terms.epsilon <= 0:
        raise BadInput(
            f"epsilon must be above 0, got {terms.epsilon}.", hint="Leave it out for a result without noise."
        )
    if not 0 <= terms.delta < 1:
        raise BadInput(f"delta must be at least 0 and below 1, got {terms.delta}.")
    among, shares = honest_count(terms), len(figures)
    epsilon, delta = terms.epsilon / shares, terms.delta / shares
    if not delta:
        return tuple(LaplaceShare(some.l1 / epsilon, among) for some in figures)
    return tuple(
        SkellamShare(_rate(epsilon, delta, some.l1, some.l2_squared or some.l1**2, among), among) for some in figures
    )


def require_drawable(terms: Terms, figures: Sequence[FigureSensitivity]) -> None:
    """Refuse noise too wide to be drawn, before parties agree on such terms."""
    for part in noise_shares(terms, figures):
        match part:
            case LaplaceShare(scale=scale) if scale > LARGEST_SCALE:
                raise _too_wide(f"a scale of {float(scale):.3g}", f"{float(LARGEST_SCALE):.3g}")
            case SkellamShare(rate=rate) if rate > LARGEST_RATE:
                raise _too_wide(f"a variance of {2.0 * rate:.3g} a party", f"{2.0 * LARGEST_RATE:.3g}")


def _too_wide(has: str, most: str) -> BadInput:
    return BadInput(
        f"The noise would have {has}, in units of the last decimal; up to {most} can be drawn.",
        hint="Declare fewer decimals, narrower bounds or a larger epsilon.",
    )


def skellam_loss(variance: int, l1: int, l2_squared: int) -> Renyi:
    """Rényi loss of Skellam noise of this variance, order by order."""
    points = []
    for order in _RENYI_ORDERS:
        first = Fraction((2 * order - 1) * l2_squared + 6 * l1, 4 * variance**2)
        points.append((order, Fraction(order * l2_squared, 2 * variance) + min(first, Fraction(3 * l1, 2 * variance))))
    return Renyi(points)


@lru_cache(maxsize=64)
def _rate(epsilon: Fraction, delta: Fraction, l1: int, l2_squared: int, among: int) -> int:
    """Smallest sufficient rate, nearly: searched in floats, then raised until the exact bound holds."""
    wanted, off = float(epsilon), float(delta)
    high = 1
    while _float_epsilon(2.0 * among * high, l1, l2_squared, off) > wanted:
        high *= 2
    low = high // 2
    while high - low > max(1, high >> 20):
        middle = (low + high) // 2
        low, high = (
            (low, middle) if _float_epsilon(2.0 * among * middle, l1, l2_squared, off) <= wanted else (middle, high)
        )
    while to_approximate(skellam_loss(2 * among * high, l1, l2_squared), delta).epsilon > epsilon:
        high += 1 + (high >> 12)
    return high


def _float_epsilon(variance: float, l1: int, l2_squared: int, delta: float) -> float:
    """The epsilon of the same bound, in floats."""
    epsilon = math.inf
    for order in _RENYI_ORDERS:
        more = min(((2 * order - 1) * l2_squared + 6 * l1) / (4 * variance**2), 1.5 * l1 / variance)
        excess = math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
        epsilon = min(epsilon, order * l2_squared / (2 * variance) + more + excess)
    return epsilon
