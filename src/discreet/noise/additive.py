"""What all integer noise has in common: adding it, and how far off the sum may be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np

from discreet.core.exact import Number, probability
from discreet.core.loss import Loss
from discreet.errors import BadInput
from discreet.noise.entropy import SYSTEM, Entropy, Integers

LARGEST_DRAW = 2**62
"""Arrays hold 64-bit integers: in place of a larger draw they hold one of about this size."""
LARGEST_SCALE = 2**50
"""Largest scale of noise drawn into arrays."""
LARGEST_SUM = 2**60
"""Sums in arrays are given as at most this, and at least its negative."""
WIDEST = 2**400
"""No noise has a larger scale: variances and error bars have to be finite as floating-point numbers."""
FEW = 256
"""Up to here draws are made one by one: a table would cost more than it saves."""
_BLOCK = 1 << 16  # what the processor's cache holds


class Additive(ABC):
    """Symmetric noise on the integers."""

    @abstractmethod
    def draw(self, entropy: Entropy = SYSTEM) -> int:
        """One draw, of any size."""

    def draws(self, count: int, entropy: Entropy = SYSTEM) -> Integers:
        """``count`` independent draws. In place of one beyond 2**61 another may stand that is beyond it too."""
        if count <= FEW:
            few = [self.draw(entropy) for _ in range(count)]
            return np.array([max(-LARGEST_DRAW, min(drawn, LARGEST_DRAW)) for drawn in few], dtype=np.int64)
        drawn = np.empty(count, dtype=np.int64)
        have = 0
        while have < count:
            batch = self._batch(min(_BLOCK, count - have), entropy)
            drawn[have : have + batch.size] = batch
            have += batch.size
        return drawn

    def add(self, value: int, entropy: Entropy = SYSTEM) -> int:
        """``value`` with noise, exactly."""
        return value + self.draw(entropy)

    def add_all(self, values: Integers, entropy: Entropy = SYSTEM) -> Integers:
        """``values``, each with noise of its own, cut to 2**60 either way.

        Why the cuts are private: cutting the values brings no two of them further apart. Cutting the sums is
        done to what is private already; and all draws beyond 2**61 give the same cut sum.
        """
        cut = np.clip(values, -LARGEST_SUM, LARGEST_SUM)
        noise = self.draws(cut.size, entropy).reshape(cut.shape)
        noisy: Integers = np.clip(cut + noise, -LARGEST_SUM, LARGEST_SUM)
        return noisy

    @abstractmethod
    def loss(self, sensitivity: Number) -> Loss:
        """What is lost when one unit changes the values by at most ``sensitivity``."""

    @property
    @abstractmethod
    def spread(self) -> Fraction:
        """Scale or standard deviation, of which arrays of draws hold at most ``LARGEST_SCALE``."""

    def require_drawable(self) -> None:
        """An error, before anything is charged, if the noise is too wide to be drawn for many counts at once."""
        require_array_scale(self.spread)

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the noise, or a close upper bound."""

    @abstractmethod
    def tail(self, t: int) -> Fraction:
        """P(|noise| > t), or a close upper bound, for t >= 0. One side alone has half of it."""

    def error(self, beta: Number) -> int:
        """The smallest t with P(|noise| > t) <= beta, as far as ``tail`` can tell."""
        allowed = probability(beta, "beta")
        high = 1
        while self.tail(high) > allowed:
            high *= 2
        low = -1 if high == 1 else high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.tail(middle) > allowed else (low, middle)
        return high

    @abstractmethod
    def _batch(self, count: int, entropy: Entropy) -> Integers:
        """Independent draws, as many as are kept of ``count`` proposals."""


def require_array_scale(scale: Fraction) -> None:
    """Refuse noise that would not fit the 64-bit integers of an array."""
    if scale > LARGEST_SCALE:
        raise BadInput(
            f"Noise of a scale of about 2**{int(scale).bit_length()} does not fit an array of 64-bit integers.",
            hint="Draw one at a time, or count in larger units.",
        )
