"""Every sampler fits its law, and one with a scale that is 10 % off does not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.noise.bits import Repeatable
from tests.noise.laws import NOISES, distribution
from tests.statistical.noise.fit import fits

from discreet.noise.additive import FEW, Additive
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace, geometric, geometrics

MANY, ONE_BY_ONE = 300_000, 20_000
WIDE = [DiscreteLaplace(300), DiscreteLaplace(5000), DiscreteGaussian(4096), DiscreteGaussian(90_000)]
ALL = NOISES + WIDE


def wrong(noise: Additive, factor: Fraction) -> Additive:
    """The same noise, of a scale that is off by ``factor``."""
    match noise:
        case DiscreteLaplace(scale=scale):
            return DiscreteLaplace(scale * factor)
        case DiscreteGaussian(sigma_squared=squared):
            return DiscreteGaussian(squared * factor**2)
    raise AssertionError(noise)


@pytest.mark.parametrize("noise", ALL, ids=str)
def test_many_draws_fit_and_would_not_with_a_wrong_scale(noise: Additive) -> None:
    law = distribution(noise)
    assert fits(noise.draws(MANY, Repeatable(1)), law)
    for factor in (Fraction(11, 10), Fraction(10, 11)):
        assert not fits(wrong(noise, factor).draws(MANY, Repeatable(2)), law)


@pytest.mark.parametrize("noise", [DiscreteLaplace("7/3"), DiscreteGaussian("25/2")], ids=str)
def test_single_draws_fit_and_would_not_with_a_wrong_scale(noise: Additive) -> None:
    law = distribution(noise)
    assert fits(one_by_one(noise, 3), law)
    assert not fits(one_by_one(wrong(noise, Fraction(11, 10)), 4), law)


def one_by_one(noise: Additive, seed: int) -> np.ndarray:
    entropy = Repeatable(seed)
    return np.concatenate([noise.draws(FEW - 6, entropy) for _ in range(ONE_BY_ONE // (FEW - 6))])


@pytest.mark.parametrize("scale", ["1/2", "7/3", "300"])
def test_geometric_draws_fit_and_would_not_with_a_wrong_scale(scale: str) -> None:
    true = Fraction(scale)
    q = np.exp(-1 / float(true))
    law = {x: float((1 - q) * q**x) for x in range(int(42 * true) + 2)}
    off = true * Fraction(11, 10)
    assert fits(geometrics(true, MANY, Repeatable(5)), law)
    assert not fits(geometrics(off, MANY, Repeatable(6)), law)
    entropy = Repeatable(7)
    assert fits(np.array([geometric(true, entropy) for _ in range(ONE_BY_ONE)]), law)


@pytest.mark.parametrize("n", [3, 1000])
def test_uniform_draws_fit_and_would_not_with_a_wrong_range(n: int) -> None:
    law = dict.fromkeys(range(n), 1 / n)
    assert fits(Repeatable(8).many_below(n, MANY), law)
    assert not fits(Repeatable(8).many_below(n * 10 // 9 + 1, MANY), law)


def test_coins_fit_and_would_not_with_a_wrong_chance() -> None:
    p = Fraction(3, 10)
    law = {0: 0.7, 1: 0.3}
    assert fits(Repeatable(9).flips(p, MANY).astype(int), law)
    assert not fits(Repeatable(9).flips(p * Fraction(11, 10), MANY).astype(int), law)
    assert fits(Repeatable(9).coins(MANY).astype(int), {0: 0.5, 1: 0.5})


def test_a_sum_and_its_noise_fit() -> None:
    noise = DiscreteLaplace(3)
    noisy = noise.add_all(np.full(MANY, 1000), Repeatable(10))
    assert fits(noisy - 1000, distribution(noise))
    assert not fits(noisy - 999, distribution(noise))
