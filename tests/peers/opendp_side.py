"""OpenDP's side of a comparison, for an interpreter that has it and nothing else: questions in, answers out."""

from __future__ import annotations

import json
import sys
from typing import Any

import opendp.prelude as dp

dp.enable_features("contrib")


def mechanism(noise: str, scale: float, *, many: bool = False) -> Any:
    make = dp.m.make_laplace if noise == "laplace" else dp.m.make_gaussian
    one = dp.atom_domain(T="i64")
    if not many:
        return make(one, dp.absolute_distance(T="i64"), scale=scale)
    return make(
        dp.vector_domain(one), dp.l1_distance(T="i64") if noise == "laplace" else dp.l2_distance(T="f64"), scale
    )


def draws(noise: str, scale: float, count: int) -> list[int]:
    found: list[int] = mechanism(noise, scale, many=True)([0] * count)
    return found


def loss(noise: str, scale: float, sensitivity: int) -> float:
    """Epsilon for Laplace noise, rho for Gaussian noise."""
    found: float = mechanism(noise, scale).map(sensitivity)
    return found


def accuracy(noise: str, scale: float, beta: float) -> float:
    """The a for which noise as far from zero as a, or further, has probability ``beta`` at most."""
    bound = dp.discrete_laplacian_scale_to_accuracy if noise == "laplace" else dp.discrete_gaussian_scale_to_accuracy
    found: float = bound(scale, beta)
    return found


def epsilon(sigma: float, delta: float) -> float:
    """The epsilon of Gaussian noise on a count at a delta, by way of zCDP."""
    found: float = dp.c.make_zCDP_to_approxDP(mechanism("gaussian", sigma)).map(1).epsilon(delta)
    return found


def threshold(scale: float, delta: float, groups: int) -> int:
    """The smallest threshold for which OpenDP states a delta of at most this for keys of a unit in so many groups."""
    domain = dp.map_domain(dp.atom_domain(T="String"), dp.atom_domain(T="i64"))
    metric = dp.l01inf_distance(dp.absolute_distance("i64"))

    def stated(least: int) -> float:
        made = dp.m.make_laplace_threshold(domain, metric, scale=scale, threshold=least)
        found: float = made.map((groups, groups, 1))[1]
        return found

    low, high = 0, 1
    while stated(high) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if stated(middle) > delta else (low, middle)
    return high


ASKED = {one.__name__: one for one in (draws, loss, accuracy, epsilon, threshold)}

if __name__ == "__main__":
    print(json.dumps([ASKED[name](**arguments) for name, arguments in json.load(sys.stdin)]))
