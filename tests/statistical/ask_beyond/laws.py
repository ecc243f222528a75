"""The laws of weighted sums of noises, by convolution, and of nearly continuous ones, by slices of a deviation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from tests.noise.laws import distribution

from discreet.noise.additive import Additive


def weighted_sum(noise: Additive, weights: Sequence[int]) -> dict[int, float]:
    """The probability of every value of Σ wᵢ zᵢ, for whole weights."""
    law = distribution(noise)
    reach = max(law)
    total = np.ones(1)
    for weight in weights:
        spread = np.zeros(2 * reach * weight + 1)
        spread[::weight] = [law[x] for x in range(-reach, reach + 1)]
        total = np.convolve(total, spread)
    middle = len(total) // 2
    return {x - middle: float(max(p, 0.0)) for x, p in enumerate(total) if p > 1e-18}


def sliced_normal(slices: int) -> dict[int, float]:
    """The normal law, in slices of one over ``slices`` of its deviation; a slice is named by its lower end."""
    ends = range(-9 * slices, 9 * slices + 1)
    below = [math.erfc(-k / slices / math.sqrt(2)) / 2 for k in ends]
    return {k: high - low for k, low, high in zip(ends, below, below[1:], strict=False)}
