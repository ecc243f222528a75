"""Laplace and Gaussian noise, and the clamped mean, for figures that are not whole: all lie on a declared grid.

Floating-point noise betrays what it was added to: the sums that can come out of 0 + noise and of 1 + noise are
not the same numbers (Mironov 2012). Here a figure is put on the grid first, and the noise is a whole
number of grid steps, so that every multiple of the grid can come out of every figure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias

from discreet.core.exact import Number, ln_upper, positive, round_up, signed, whole
from discreet.core.loss import Concentrated, Pure
from discreet.errors import BadInput, NoPromise
from discreet.noise.additive import Additive
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

Figure: TypeAlias = int | Fraction | Decimal | float
_LN_2 = round_up(ln_upper(Fraction(2)))
_FEWEST_STEPS = 4


class OnGrid(ABC):
    """One figure, on a grid, with noise of whole grid steps."""

    grid: Fraction
    """Answers are whole multiples of this. It is declared, never taken from the data."""

    @property
    @abstractmethod
    def noise(self) -> Additive:
        """The noise, in grid steps."""

    def add(self, figure: Figure, entropy: Entropy = SYSTEM) -> Fraction:
        """The figure with noise: a multiple of the grid."""
        return self.noise.add(nearest_step(figure, self.grid), entropy) * self.grid

    def error(self, beta: Number) -> Fraction:
        """A bound on |answer - figure|, rounding included, that holds with probability 1 - beta."""
        return (self.noise.error(beta) + Fraction(1, 2)) * self.grid

    @property
    def variance(self) -> float:
        """The variance of the noise; the rounding is not in it."""
        return self.noise.variance * float(self.grid) ** 2


@dataclass(frozen=True, init=False)
class GridLaplace(OnGrid):
    """Discrete Laplace noise of ``scale``, in the figure's own unit.

    Why this is private: two figures at most Δ apart are at most ⌈Δ / grid⌉ steps apart once they are on the
    grid, because ⌊a⌋ and ⌊b⌋ differ by at most ⌈|a - b|⌉. The rest is the discrete Laplace mechanism on whole
    numbers: Pure(⌈Δ / grid⌉ · grid / scale).
    """

    scale: Fraction
    grid: Fraction

    def __init__(self, scale: Number, grid: Number) -> None:
        object.__setattr__(self, "scale", positive(scale, "scale"))
        object.__setattr__(self, "grid", positive(grid, "grid"))

    @classmethod
    def for_loss(cls, loss: Pure, sensitivity: Number, grid: Number) -> GridLaplace:
        """The least noise that loses ``loss`` and no more."""
        step = positive(grid, "grid")
        return cls(DiscreteLaplace.for_loss(loss, steps_apart(sensitivity, step)).scale * step, step)

    def loss(self, sensitivity: Number) -> Pure:
        """What is lost when one unit changes the figure by at most ``sensitivity``."""
        return self.noise.loss(steps_apart(sensitivity, self.grid))

    @property
    def noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale / self.grid)


@dataclass(frozen=True, init=False)
class GridGaussian(OnGrid):
    """Discrete Gaussian noise of variance ``sigma_squared``, in the figure's own unit.

    Why this is private: as for ``GridLaplace`` the figures are at most ⌈Δ / grid⌉ steps apart on the grid, and
    the rest is the discrete Gaussian mechanism on whole numbers: Concentrated((⌈Δ / grid⌉ · grid)² / 2σ²).
    """

    sigma_squared: Fraction
    grid: Fraction

    def __init__(self, sigma_squared: Number, grid: Number) -> None:
        object.__setattr__(self, "sigma_squared", positive(sigma_squared, "sigma squared"))
        object.__setattr__(self, "grid", positive(grid, "grid"))

    @classmethod
    def for_loss(cls, loss: Concentrated, sensitivity: Number, grid: Number) -> GridGaussian:
        """The least noise that loses ``loss`` and no more."""
        step = positive(grid, "grid")
        return cls(DiscreteGaussian.for_loss(loss, steps_apart(sensitivity, step)).sigma_squared * step**2, step)

    def loss(self, sensitivity: Number) -> Concentrated:
        """What is lost when one unit changes the figure by at most ``sensitivity``."""
        return self.noise.loss(steps_apart(sensitivity, self.grid))

    @property
    def noise(self) -> DiscreteGaussian:
        return DiscreteGaussian(self.sigma_squared / self.grid**2)


def nearest_step(figure: Figure, grid: Fraction, origin: Fraction = Fraction(0)) -> int:
    """How many steps of the grid ``figure`` is above ``origin``, to the nearest; halves go up."""
    try:
        value = Fraction(figure)
    except (ValueError, OverflowError):
        raise BadInput("A grid needs finite figures.", hint="Replace NULL, NaN and infinity first.") from None
    return floor((value - origin) / grid + Fraction(1, 2))


def steps_apart(sensitivity: Number, grid: Fraction) -> int:
    """How many steps apart two figures may be that were ``sensitivity`` apart before they were put on the grid."""
    return ceil(positive(sensitivity, "sensitivity") / grid)


@dataclass(frozen=True, init=False)
class ClampedMean:
    """The mean of a column in one draw: the sum with noise over the true count, on m steps of a grid from low to high.

    It is never outside of [low, high], whether or not there are any rows.

    This is the noisy average of Li, Lyu, Su and Yang (2016, Algorithm 2.3) on a grid, to which it tends as the
    grid gets finer. Without rows the answer is low with probability e**-(epsilon / 2) / 2, high with the same,
    else uniform between.

    Why this is private: let n rows have the sum S (in steps above low), let λ = (m + 3/2) / epsilon be the
    scale of the noise, and let a row y be added.

    * Between the ends, answer i stands for the n sums from n·i - ⌊n/2⌋ on. Spread its n + 1 sums with the row
      evenly over its n sums without it, in order: partners are i - y + s apart as seen from the sums S + y and
      S, with s one of -1, 0, 1. So adding the row makes i less likely by e**((m + 1) / λ) at most. It makes it
      more likely by (n + 1) / n, since there are more sums, times e**(d / λ), where d is how much nearer to S
      the sums came. That is at most i + 1, and at most n (m - i) + n / 2, how far away they were (and the same
      from the other side), so at most n (m + 3/2) / (n + 1). Now ln((n + 1) / n) + epsilon · n / (n + 1) is
      convex in 1 / (n + 1): it is largest at an end, where it is epsilon (n → ∞) or ln 2 + epsilon / 2 (n = 1).
    * At an end, the answer stands for all sums from some point on, which moves by at most m steps relative to
      S: a factor of e**(m / λ) at most.
    * From no row to one: an end goes from probability e**-(epsilon / 2) / 2 to between q**m / (1 + q) and 1 /
      (1 + q), with q = e**-(1 / λ): a factor of e**epsilon at most, either way. A point between goes from (1 -
      e**-x) / (m - 1), with x = epsilon / 2, to between q**(m - 1) and 1 times tanh h, with h = 1 / 2λ = x / (m
      + 3/2). It becomes more likely by e**x at most, since tanh h <= h and 1 - e**-x >= x e**-x. It becomes
      less likely by at most c (1 - e**-x) / x · e**(2x - 4h), with c = (m + 3/2) / (m - 1), since h <= e**h
      tanh h. If x >= 5 / (m - 1) that is at most e**(2x) = e**epsilon, since (1 - e**-x) / x <= 1 / (1 + x/2)
      <= 1 / c. If not, over e**x it is c (e**x - 1) / x · e**(-4h), whose logarithm is convex in x, so it is
      largest at an end: at x = 0 it is c, below 2 from m = 4 on, and at x = 5 / (m - 1) it is below 1.6.

    So the loss is the larger of epsilon and ln 2 + epsilon / 2, and the second is needed: take one row at high,
    and add one at low. For a small epsilon the first mean leaves the ends with probability of about epsilon /
    2, the second with epsilon: twice as often. The proposition that the algorithm loses epsilon holds from 2 ln
    2 on. For less than ln 2 there is nothing to promise: ask for a sum and a count instead.
    """

    low: Fraction
    high: Fraction
    grid: Fraction
    epsilon: Fraction
    """What the noise is made for; what is lost is ``loss``."""

    def __init__(self, low: Number, high: Number, grid: Number, epsilon: Number) -> None:
        object.__setattr__(self, "low", signed(low, "low"))
        object.__setattr__(self, "high", signed(high, "high"))
        object.__setattr__(self, "grid", positive(grid, "grid"))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        steps = (self.high - self.low) / self.grid
        if steps < _FEWEST_STEPS or steps.denominator != 1:
            raise BadInput(
                f"From {self.low} to {self.high} there must be a whole number of steps of {self.grid}, "
                f"{_FEWEST_STEPS} or more.",
                hint="Choose a grid that divides the interval.",
            )

    @classmethod
    def for_loss(cls, loss: Pure, low: Number, high: Number, grid: Number) -> ClampedMean:
        """The least noise that loses ``loss`` and no more."""
        epsilon = min(loss.epsilon, 2 * (loss.epsilon - _LN_2))
        if epsilon <= 0:
            raise NoPromise(
                f"A clamped mean loses more than ln 2 = 0.693, however much noise it has; allowed is {loss}.",
                hint="Ask for a sum and a count, and divide.",
            )
        return cls(low, high, grid, epsilon)

    def loss(self) -> Pure:
        """What is lost when one row is added or removed."""
        return Pure(max(self.epsilon, _LN_2 + self.epsilon / 2))

    def mean(self, values: Iterable[Figure], entropy: Entropy = SYSTEM) -> Fraction:
        """The mean of ``values``, each cut to the bounds and put on the grid."""
        steps = [self.steps(value) for value in values]
        return self.mean_of_sum(sum(steps), len(steps), entropy)

    def mean_of_sum(self, total: int, count: int, entropy: Entropy = SYSTEM) -> Fraction:
        """The mean of ``count`` values that are ``total`` steps above ``low`` together."""
        most = self._most
        if whole(count, "count", 0) == 0:
            return self.low + self._without_rows(entropy) * self.grid
        noisy = self._noise.add(max(0, min(total, most * count)), entropy)
        return self.low + max(0, min((noisy + count // 2) // count, most)) * self.grid

    def steps(self, value: Figure) -> int:
        """How many steps above ``low`` a value counts for."""
        return max(0, min(nearest_step(value, self.grid, self.low), self._most))

    def error(self, beta: Number, count: int) -> Fraction:
        """With ``count`` rows, a bound on |answer - mean of the cut values| that holds with probability 1 - beta."""
        return (Fraction(self._noise.error(beta), whole(count, "count")) + 1) * self.grid

    def _without_rows(self, entropy: Entropy) -> int:
        if entropy.flip_exp(self.epsilon / 2):
            return self._most * entropy.bits(1)
        return 1 + entropy.below(self._most - 1)

    @property
    def _most(self) -> int:
        return int((self.high - self.low) / self.grid)

    @property
    def _noise(self) -> DiscreteLaplace:
        return DiscreteLaplace((self._most + Fraction(3, 2)) / self.epsilon)
