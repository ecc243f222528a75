"""How far a sum of noises may be off: error bars for figures that are made of several noisy ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.exact import Number, probability
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

Noise: TypeAlias = DiscreteLaplace | DiscreteGaussian
_TRIES = 24


@dataclass(frozen=True, eq=False)
class Weighted:
    """Independent draws of one noise in a sum: ``times[i]`` of them with the weight ``sizes[i]``, neither of them 0."""

    noise: Noise
    sizes: np.ndarray[Any, Any]
    times: np.ndarray[Any, Any]

    @property
    def variance(self) -> float:
        """What these draws add to the variance of the sum."""
        return self.noise.variance * float(self.times @ self.sizes**2)


def sum_error(noise: Noise, weights: ArrayLike, beta: Number) -> float:
    """A bound on |Σ wᵢ zᵢ| for independent draws zᵢ that holds with probability 1 - beta."""
    sizes = np.asarray(weights, dtype=np.float64).ravel()
    sizes = sizes[sizes != 0]
    return weighted_error([Weighted(noise, sizes, np.ones_like(sizes))], beta)


def weighted_error(draws: Sequence[Weighted], beta: Number) -> float:
    """A bound on the size of a sum of independent draws of several noises, that holds with probability 1 - beta.

    Why this is right: Chernoff's bound, P(|Σ| > e) <= 2 e**-(t e) Π E[e**(t wᵢ zᵢ)], holds at every t, so any t may be
    chosen by any means. A discrete Laplace of variance V has E[e**(u z)] = 1 / (1 - V (cosh u - 1)), while that is
    positive; a discrete Gaussian has at most e**(σ² u² / 2) (Canonne, Kamath, Steinke 2020). Of a single
    draw the noise knows its tail itself.
    """
    needed = math.log(2 / probability(beta, "beta"))
    there = [one for one in draws if one.variance > 0]
    if not there:
        return 0.0
    if len(there) == 1 and there[0].times.sum() == 1:
        return float(np.abs(there[0].sizes).max()) * there[0].noise.error(beta)
    normal, laplace = 0.0, []
    for one in there:
        match one.noise:
            case DiscreteGaussian():
                normal += one.variance
            case DiscreteLaplace():
                laplace.append(one)
            case unknown:  # a sum without one of its noises would have an error bar that is too short
                assert_never(unknown)
    if not laplace:
        return math.sqrt(2 * needed * normal)
    sizes = np.abs(np.concatenate([one.sizes for one in laplace]))
    times = np.concatenate([one.times for one in laplace])
    variances = np.concatenate([np.full(len(one.sizes), one.noise.variance) for one in laplace])
    # where V (cosh u - 1) = 1; cosh u - 1 is written as 2 sinh²(u / 2), which does not cancel
    furthest = float(np.min(2 * np.arcsinh(np.sqrt(0.5 / variances)) / sizes))
    t = furthest * np.arange(1, _TRIES + 1) / (_TRIES + 1)
    # the sum of ln E[e**(t w z)]
    moments = -np.log1p(-2 * variances * np.sinh(t[:, None] * sizes / 2) ** 2) @ times
    return float(np.min((needed + normal * t**2 / 2 + moments) / t))
