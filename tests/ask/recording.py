"""Noise that remembers what it was added to: what a mechanism computed of private data before anything hid it."""

from __future__ import annotations

import numpy as np

from discreet.core.exact import Number
from discreet.noise.entropy import SYSTEM, Entropy, Integers
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace


class RecordingLaplace(DiscreteLaplace):
    seen: list[int]

    def __init__(self, scale: Number) -> None:
        super().__init__(scale)
        object.__setattr__(self, "seen", [])

    def add(self, value: int, entropy: Entropy = SYSTEM) -> int:
        self.seen.append(value)
        return super().add(value, entropy)

    def add_all(self, values: Integers, entropy: Entropy = SYSTEM) -> Integers:
        self.seen.extend(values.ravel().tolist())
        return super().add_all(values, entropy)


class RecordingGaussian(DiscreteGaussian):
    seen: list[int]

    def __init__(self, sigma_squared: Number) -> None:
        super().__init__(sigma_squared)
        object.__setattr__(self, "seen", [])

    def add(self, value: int, entropy: Entropy = SYSTEM) -> int:
        self.seen.append(value)
        return super().add(value, entropy)


def apart(one: list[int], other: list[int]) -> int:
    """How far two records are apart, in all."""
    return int(np.abs(np.array(one, dtype=object) - np.array(other, dtype=object)).sum())


def apart_squared(one: list[int], other: list[int]) -> int:
    """The square of the Euclidean distance of two records."""
    return int(((np.array(one, dtype=object) - np.array(other, dtype=object)) ** 2).sum())
