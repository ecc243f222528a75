"""Bounds on sums of noises, against the sums' own laws by convolution: never too short, and not much too long."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.statistical.ask_beyond.laws import weighted_sum

from discreet.errors import BadInput
from discreet.noise.deviation import Noise, Weighted, sum_error, weighted_error
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

BETA = 0.05


def beyond(draws: list[tuple[Noise, list[int]]], bound: float) -> float:
    """P(|Σ| > bound), the noises convolved one after the other."""
    total = {0: 1.0}
    for noise, weights in draws:
        law = weighted_sum(noise, weights)
        ends = min(total) + min(law), max(total) + max(law)
        sums = np.zeros(ends[1] - ends[0] + 1)
        for x, p in total.items():
            for y, q in law.items():
                sums[x + y - ends[0]] += p * q
        total = {place + ends[0]: float(p) for place, p in enumerate(sums) if p > 0}
    return sum(p for x, p in total.items() if abs(x) > bound)


@pytest.mark.parametrize(
    "draws",
    [
        [(DiscreteLaplace(1), [1, 1, 1])],
        [(DiscreteLaplace("1/2"), [3]), (DiscreteLaplace(2), [1, 1])],
        [(DiscreteLaplace(1), [2, 1]), (DiscreteGaussian(4), [1, 1])],
        [(DiscreteGaussian(2), [1, 2]), (DiscreteGaussian(1), [3])],
    ],
)
def test_a_bound_on_a_sum_of_several_noises_holds(draws: list[tuple[Noise, list[int]]]) -> None:
    given = [Weighted(noise, np.array(weights, float), np.ones(len(weights))) for noise, weights in draws]
    bound = weighted_error(given, BETA)
    assert beyond(draws, bound) <= BETA
    assert beyond(draws, bound / 2) > BETA


@pytest.mark.parametrize("scale", ["1e3", "5e7", "67e6", "1e9", 2**50, 2**100, 2**400])
@pytest.mark.parametrize("beta", [0.05, 1e-9])
def test_a_bound_on_a_sum_of_wide_noises_holds_and_is_not_far_off(scale: str | int, beta: float) -> None:
    """Two draws of a wide Laplace are beyond t scales, either way, with a chance of (1 + t / 2) e**-t."""
    noise = DiscreteLaplace(scale)
    bound = sum_error(noise, [1, 1], beta) / float(noise.scale)
    assert (1 + bound / 2) * math.exp(-bound) <= beta
    shorter = bound / 2
    assert (1 + shorter / 2) * math.exp(-shorter) > beta


@pytest.mark.parametrize("scale", ["1e-400", "1e-9", "1/700", "1/599", 1, 2**400])
def test_whatever_the_scale_a_variance_and_a_bound_are_finite(scale: str | int) -> None:
    for noise in (DiscreteLaplace(scale), DiscreteGaussian(DiscreteLaplace(scale).scale ** 2)):
        assert math.isfinite(noise.variance)
        for weights in ([1, 1], [1e-3, 1, 40], np.ones(163)):
            assert math.isfinite(sum_error(noise, weights, BETA))


def test_noise_that_floating_point_cannot_speak_of_is_refused() -> None:
    for make in (lambda: DiscreteLaplace(2**400 + 1), lambda: DiscreteGaussian(2**800 + 1)):
        with pytest.raises(BadInput, match="must not be above"):
            make()


def test_draws_of_one_weight_may_be_told_together() -> None:
    noise = DiscreteLaplace(3)
    together = [Weighted(noise, np.array([1.0, -2.0]), np.array([3.0, 2.0]))]
    assert weighted_error(together, BETA) == pytest.approx(sum_error(noise, [1, 1, 1, 2, 2, 0], BETA))


def test_a_single_draw_has_its_own_tail_and_none_has_no_error() -> None:
    noise = DiscreteLaplace(3)
    assert sum_error(noise, [0, -2, 0], BETA) == 2 * noise.error(BETA)
    assert sum_error(noise, [0, 0], BETA) == weighted_error([], BETA) == 0


def by_definition(draws: list[Weighted], beta: float) -> float:
    """Chernoff's bound at 24 places of where the moments are finite, term by term."""
    terms = [
        (one.noise, abs(size), times)
        for one in draws
        for size, times in zip(one.sizes.tolist(), one.times.tolist(), strict=True)
    ]
    laplace = [(noise.variance, size, many) for noise, size, many in terms if isinstance(noise, DiscreteLaplace)]
    normal = sum(noise.variance * size**2 * many for noise, size, many in terms if isinstance(noise, DiscreteGaussian))
    furthest = min(math.acosh(1 + 1 / variance) / size for variance, size, _ in laplace)
    bounds = []
    for step in range(1, 25):
        t = furthest * step / 25
        moments = [-many * math.log(1 - variance * (math.cosh(t * size) - 1)) for variance, size, many in laplace]
        bounds.append((math.log(2 / beta) + normal * t * t / 2 + math.fsum(moments)) / t)
    return min(bounds)


@pytest.mark.parametrize("beta", [0.05, 1e-3])
def test_the_bound_is_chernoffs_at_the_best_of_24_places(beta: float) -> None:
    laplace = Weighted(DiscreteLaplace(2), np.array([1.0, -3.0]), np.array([4.0, 1.0]))
    other = Weighted(DiscreteLaplace("1/2"), np.array([0.5]), np.array([7.0]))
    normal = Weighted(DiscreteGaussian(9), np.array([2.0, 1.0]), np.array([1.0, 5.0]))
    for draws in ([laplace], [laplace, other], [laplace, normal, other], [other, normal]):
        assert weighted_error(draws, beta) == pytest.approx(by_definition(draws, beta), rel=1e-9)
    assert weighted_error([normal], beta) == pytest.approx(math.sqrt(2 * math.log(2 / beta) * 9 * (4 + 5)))
    single = Weighted(DiscreteGaussian(9), np.array([-2.0]), np.array([1.0]))
    assert weighted_error([single], beta) == 2 * DiscreteGaussian(9).error(beta)
    twice = Weighted(DiscreteGaussian(9), np.array([-2.0]), np.array([2.0]))
    assert weighted_error([twice], beta) == pytest.approx(math.sqrt(2 * math.log(2 / beta) * 72))
