"""How far a sum of noises may be off: error bars for figures that are made of several noisy ones."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.exact import Number
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.parameters import probability

Noise: TypeAlias = DiscreteLaplace | DiscreteGaussian
_TRIES = 24


def sum_error(noise: Noise, weights: ArrayLike, beta: Number) -> float:
    """A bound on |Σ wᵢ zᵢ| for independent draws zᵢ that holds with probability 1 - beta.

    Why this is right: Chernoff's bound, P(|Σ| > e) <= 2 e**-(t e) Π E[e**(t wᵢ zᵢ)], holds at every t, so any t may be
    chosen by any means. A discrete Laplace of variance V has E[e**(u z)] = 1 / (1 - V (cosh u - 1)), while that is
    positive; a discrete Gaussian has at most e**(σ² u² / 2) (Canonne, Kamath, Steinke 2020). Of a single
    draw the noise knows its tail itself.
    """
    needed = math.log(2 / probability(beta, "beta"))
    sizes = np.abs(np.asarray(weights, dtype=np.float64)).ravel()
    squares = float(sizes @ sizes)
    if squares == 0 or noise.variance == 0:
        return 0.0
    if np.count_nonzero(sizes) == 1:
        return float(sizes.max()) * noise.error(beta)
    if isinstance(noise, DiscreteGaussian):
        return math.sqrt(2 * needed * noise.variance * squares)
    furthest = math.acosh(1 + 1 / noise.variance) / float(sizes.max())
    tries = (furthest * k / (_TRIES + 1) for k in range(1, _TRIES + 1))
    return min((needed + _log_moment(noise.variance, t * sizes)) / t for t in tries)


def spread_error(noise: Noise, weight: float, beta: Number) -> float:
    """A bound on a sum of noises, of variance at most that of ``noise``, that holds with probability 1 - beta.

    Their scales may differ, but none weighs more than ``weight``: see ``MarginalCounts.errors`` for why this is right.
    """
    if noise.variance == 0:
        return 0.0
    needed = math.log(2 / probability(beta, "beta"))
    if isinstance(noise, DiscreteGaussian):
        return math.sqrt(2 * needed * noise.variance)
    each = noise.variance / weight**2
    furthest = math.acosh(1 + 1 / each) / weight
    tries = (furthest * k / (_TRIES + 1) for k in range(1, _TRIES + 1))
    return min((needed + _log_moment(each, np.array([weight * t]))) / t for t in tries)


def _log_moment(variance: float, u: np.ndarray[Any, Any]) -> float:
    """The sum of ln E[e**(u z)]; cosh u - 1 is written as 2 sinh²(u / 2), which does not cancel."""
    return float(-np.log1p(-2 * variance * np.sinh(u / 2) ** 2).sum())
