"""The laws of the noises, from their formulas, to floating-point precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.noise.additive import Additive
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

NOISES: list[Additive] = [
    DiscreteLaplace(1),
    DiscreteLaplace("1/2"),
    DiscreteLaplace("7/3"),
    DiscreteLaplace(40),
    DiscreteGaussian(1),
    DiscreteGaussian("1/3"),
    DiscreteGaussian("25/2"),
    DiscreteGaussian(10_000),
]


def weight(noise: Additive) -> Callable[[int], float]:
    """What P(x) is proportional to."""
    match noise:
        case DiscreteLaplace(scale=scale):
            return lambda x: math.exp(-abs(x) / scale)
        case DiscreteGaussian(sigma_squared=variance):
            return lambda x: math.exp(-Fraction(x * x) / (2 * variance))
    raise AssertionError(noise)


def distribution(noise: Additive) -> dict[int, float]:
    """The probability of every x down to 1e-17 or so."""
    unnormalised = weight(noise)
    reach = 1
    while unnormalised(reach) > 1e-18:
        reach += reach // 16 + 1
    weights = {x: unnormalised(x) for x in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {x: value / total for x, value in weights.items()}
