"""The staircase mechanism: for sums of large sensitivity and a generous epsilon, less error than Laplace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.exact import Number, exp_minus_between, positive, whole
from discreet.core.loss import Pure
from discreet.errors import BadInput
from discreet.noise.additive import LARGEST_DRAW, Additive
from discreet.noise.entropy import SYSTEM, Entropy, Integers
from discreet.noise.laplace import geometric, geometrics


@dataclass(frozen=True, init=False)
class Staircase(Additive):
    """Noise on the integers whose probability falls by e**-epsilon after ``tread``, and again every ``width``.

    Why this is private: P(x) is a constant times e**-(epsilon · s), where s = ⌊(|x| + width - tread) / width⌋
    counts the steps down to x. Moving x by Δ passes at most ⌈Δ / width⌉ steps: Pure(⌈Δ / width⌉ · epsilon)
    (Geng, Viswanath 2014, who show that with the right tread no other noise has less error). It is for one
    figure: when several change by Δ in all, the steps may add up to more.
    """

    epsilon: Fraction
    width: int
    tread: int

    def __init__(self, epsilon: Number, width: int, tread: int | None = None) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "width", whole(width, "width"))
        object.__setattr__(self, "tread", self._best_tread() if tread is None else whole(tread, "tread"))
        if self.tread > self.width:
            raise BadInput(f"The tread ({self.tread}) cannot be longer than the width ({self.width}).")

    @classmethod
    def for_loss(cls, loss: Pure, sensitivity: int = 1) -> Staircase:
        """The noise for one figure of this sensitivity."""
        return cls(loss.epsilon, sensitivity)

    def loss(self, sensitivity: Number = 1) -> Pure:
        """What is lost when one unit changes the one figure by at most ``sensitivity``."""
        return Pure(math.ceil(positive(sensitivity, "sensitivity") / self.width) * self.epsilon)

    def draw(self, entropy: Entropy = SYSTEM) -> int:
        """Whole widths are geometric; the place within one is uniform, kept with e**-epsilon past the tread."""
        while True:
            place = entropy.below(self.width)
            if place >= self.tread and not entropy.flip_exp(self.epsilon):
                continue
            size = self.width * geometric(1 / self.epsilon, entropy) + place
            if not entropy.bits(1):
                return size
            if size:
                return -size

    @property
    def spread(self) -> Fraction:
        """The width of a step, times how many there are before the weight has fallen by e."""
        return self.width / self.epsilon

    @property
    def variance(self) -> float:
        """From the sums of j^0, j^1, j^2 over one width, and of k^0, k^1, k^2 over the widths."""
        b = math.exp(-float(self.epsilon))
        w, r = self.width, self.tread
        a0 = r + b * (w - r)
        a1 = _sum1(r) + b * (_sum1(w) - _sum1(r))
        a2 = _sum2(r) + b * (_sum2(w) - _sum2(r))
        rest = -math.expm1(-float(self.epsilon))  # 1 - b, which would cancel
        s0, s1, s2 = 1 / rest, b / rest**2, b * (1 + b) / rest**3
        return 2 * (w * w * s2 * a0 + 2 * w * s1 * a1 + s0 * a2) / (2 * a0 * s0 - 1)

    def tail(self, t: int) -> Fraction:
        """P(|noise| > t), rounded up: the sum grows with e**-epsilon, above and below the line alike."""
        low, high = exp_minus_between(self.epsilon)
        widths, place = divmod(t + 1, self.width)
        level = max(self.tread - place, 0)
        beyond = level + high * (self.width - place - level) + high * self._one_width(high) / (1 - high)
        return 2 * exp_minus_between(widths * self.epsilon)[1] * beyond / (2 * self._one_width(low) / (1 - low) - 1)

    def _batch(self, count: int, entropy: Entropy) -> Integers:
        """As ``draw``; a geometric draw of scale 1 / epsilon is above zero with probability e**-epsilon."""
        self.require_drawable()
        place = entropy.many_below(self.width, count)
        widths = np.minimum(geometrics(1 / self.epsilon, count, entropy), LARGEST_DRAW // self.width - 1)
        size = self.width * widths + place
        negative = entropy.coins(count)
        keep = (place < self.tread) | (geometrics(1 / self.epsilon, count, entropy) > 0)
        keep &= ~negative | (size != 0)
        return np.where(negative, -size, size)[keep]

    def _one_width(self, b: Fraction) -> Fraction:
        return self.tread + b * (self.width - self.tread)

    def _best_tread(self) -> int:
        """The one of least expected |noise|, width / (1 + e**(epsilon / 2)), rounded; any other is as private."""
        best = self.width * float(exp_minus_between(self.epsilon / 2)[1])
        return max(1, round(best / (1 + best / self.width)))


def _sum1(n: int) -> int:
    return n * (n - 1) // 2


def _sum2(n: int) -> int:
    return n * (n - 1) * (2 * n - 1) // 6
