"""The best guess: the exact posterior, and less error at no loss."""

from __future__ import annotations

import numpy as np
import pytest
from tests.noise.bits import Repeatable

from discreet.errors import BadInput
from discreet.verbs.collect.locations.planar_laplace import PlanarLaplace, Region, Remap, lengths

REGION = Region(400, 300, 100)
MECHANISM = PlanarLaplace(REGION, 1, 100)


def test_the_posterior_is_bayes_rule() -> None:
    """By hand, for a noisy point in the region and one far outside it."""
    prior = np.arange(len(REGION), dtype=float)
    points = REGION.points(np.arange(len(REGION)))
    for noisy in ([2, 1], [-30, 45]):
        likely = prior * np.exp(-float(MECHANISM.rate) * (lengths(np.array(noisy) - points)))
        result = Remap(MECHANISM, prior).posterior(np.array([noisy]))[0]
        np.testing.assert_allclose(result, likely / likely.sum(), rtol=1e-9)
        assert result[0] == 0


def test_the_guess_has_the_least_expected_distance() -> None:
    remap = Remap(MECHANISM, np.random.default_rng(1).random(len(REGION)) ** 4)
    noisy = np.array([[a, b] for a in range(-3, 8) for b in range(-3, 7)])
    metres = REGION.metres(np.arange(len(REGION)))
    guesses = remap.apply(noisy)
    for z, guess in zip(noisy, guesses, strict=True):
        weights = remap.posterior(z[None])[0]
        costs = [float(weights @ np.hypot(*(metres - one).T)) for one in metres]
        assert costs[guess] == pytest.approx(min(costs))


def test_what_everybody_knows_makes_the_error_smaller() -> None:
    region = Region(2000, 2000, 100)
    mechanism = PlanarLaplace(region, "1.386", 400)
    metres = region.metres(np.arange(len(region)))
    prior = np.exp(-((metres - 1000) ** 2).sum(axis=1) / (2 * 300**2))
    indices = np.clip(np.random.default_rng(1).normal(1000, 300, (3000, 2)), 0, 2000)
    off = [
        np.hypot(*(region.metres(report_codes.to_numpy().astype(np.int64)) - indices).T).mean()
        for report_codes in (
            mechanism.randomize(indices, entropy=Repeatable(1)),
            Remap(mechanism, prior).randomize(indices, entropy=Repeatable(1)),
        )
    ]
    assert off[1] < 0.75 * off[0]


def test_a_prior_is_checked() -> None:
    for wrong in (np.ones(3), np.zeros(len(REGION)), np.full(len(REGION), -1.0), np.full(len(REGION), np.inf)):
        with pytest.raises(BadInput, match="prior"):
            Remap(MECHANISM, wrong)
    large = PlanarLaplace(Region(1000, 1000, 10), 1, 100)
    with pytest.raises(BadInput, match="weighed"):
        Remap(large, np.ones(101**2))
