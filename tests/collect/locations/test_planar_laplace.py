"""Noise on a map: the promise by the metre, exactly; draws by the law; regions.

The best guess: the exact posterior, and less error at no loss.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.noise.bits import Repeatable

from discreet.core.loss import Pure
from discreet.errors import BadInput, DataError
from discreet.verbs.collect.locations.planar_laplace import (
    UNIT,
    PlanarLaplace,
    Region,
    Remap,
    lengths,
    metres_from,
    offsets,
)
from discreet.verbs.collect.protocol import audit

FALSE_POSITIVE = 1e-6
REGION = Region(500, 300, 100)
SMALL_REGION = Region(400, 300, 100)
MECHANISM = PlanarLaplace(SMALL_REGION, 1, 100)


def probabilities(rate: Fraction, reach: int) -> np.ndarray:
    """The chances of all steps up to ``reach`` along either axis, if there were no others."""
    at = np.arange(-reach, reach + 1)
    weights = np.exp(-float(rate) * lengths(np.stack(np.meshgrid(at, at, indexing="ij"), axis=-1)))
    return weights / weights.sum()


def test_lengths_are_rounded_up_however_long() -> None:
    far = [0, 1, 2, 3, 7, 40, 1000, 2**24 - 1, 2**24 + 1, 2**30 + 1]
    steps = np.array([(a, -b) for a in far for b in far])
    exact = [math.isqrt(UNIT**2 * int(a * a + b * b) - 1) + 1 if a or b else 0 for a, b in steps.tolist()]
    assert lengths(steps).tolist() == exact
    assert lengths(np.array([[2**61, 2**61]])).tolist() == [2**62]


@pytest.mark.parametrize(("epsilon", "within", "step"), [("1.386", 200, 10), ("1/7", "33.3", 5), (30, 100, 100)])
def test_no_step_loses_more_than_its_metres_allow(epsilon: object, within: object, step: int) -> None:
    """In squares of rationals: (λ N)² against (ε / R)² times the squared distance; and it is nearly reached."""
    mechanism = PlanarLaplace(Region(1000, 1000, step), epsilon, within)
    steps = np.array([(a, b) for a in range(101) for b in range(a + 1)])[1:]
    sizes = lengths(steps).tolist()
    allowed = (mechanism.per_metre * step) ** 2
    used = [
        (mechanism.rate * n) ** 2 / (allowed * (a * a + b * b)) for n, (a, b) in zip(sizes, steps.tolist(), strict=True)
    ]
    assert 0.999 < max(used) <= 1
    assert min(used) > 0.98


def test_rounded_lengths_keep_to_the_triangle_inequality() -> None:
    steps = np.random.default_rng(1).integers(-50, 50, (2, 20_000, 2))
    assert (lengths(steps[0] + steps[1]) <= lengths(steps[0]) + lengths(steps[1])).all()


def test_the_audit_holds_over_a_whole_region() -> None:
    mechanism = PlanarLaplace(Region(300, 200, 100), "1.386", 200)
    result = audit(mechanism)
    assert result.holds
    assert result.epsilon == pytest.approx(float(mechanism.epsilon), rel=0.01)
    assert mechanism.loss == Pure(mechanism.epsilon)
    assert mechanism.loss_at(200) == Pure("1.386")
    assert mechanism.report_distribution.exponent(0, 1) == mechanism.rate * UNIT
    assert mechanism.report_distribution.exponent(3, 3) == 0


def test_the_promise_is_about_places_wherever_they_lie_between_points() -> None:
    """Pairs that are up to so many metres apart: those on either side of a border are taken to points far apart."""
    mechanism = PlanarLaplace(REGION, 1, 200)
    generator = np.random.default_rng(1)
    one = np.concatenate([generator.uniform(0, 300, (300, 2)), [[49.99, 49.99], [149.99, 0]]])
    for metres in (1, 142, 200):
        turn = np.append(generator.uniform(0, 2 * math.pi, 300), [math.pi / 4, 0])
        other = one + metres * np.stack([np.cos(turn), np.sin(turn)], axis=1)
        codes = (REGION.codes(REGION.nearest(indices)).tolist() for indices in (one, other))
        lost = [mechanism.report_distribution.exponent(*pair) for pair in zip(*codes, strict=True)]
        assert 0.8 * float(mechanism.loss_at(metres).epsilon) < max(lost) <= mechanism.loss_at(metres).epsilon
    assert mechanism.loss_at(200) == Pure(1)


@pytest.mark.parametrize("rate", [Fraction(1, 64), Fraction(1, 300)])
def test_steps_are_drawn_by_the_law(rate: Fraction) -> None:
    """Chi-square over all steps that are not rare; the others are taken together."""
    n, reach = 60_000, 200
    drawn = offsets(rate, n, Repeatable(1))
    distribution = n * probabilities(rate, reach)
    seen = np.zeros_like(distribution)
    inside = (np.abs(drawn) <= reach).all(axis=1)
    np.add.at(seen, tuple(drawn[inside].T + reach), 1)
    common = distribution >= 5
    mean = np.append(distribution[common], distribution[~common].sum())
    result = np.append(seen[common], n - seen[common].sum())
    assert stats.chi2.sf(((result - mean) ** 2 / mean).sum(), mean.size - 1) > FALSE_POSITIVE


def test_a_wrong_rate_would_be_noticed() -> None:
    """The same test refutes noise that is ten per cent too small."""
    n = 60_000
    drawn = offsets(Fraction(11, 640), n, Repeatable(1))
    distribution = n * probabilities(Fraction(1, 64), 60)
    seen = np.zeros_like(distribution)
    np.add.at(seen, tuple(drawn[(np.abs(drawn) <= 60).all(axis=1)].T + 60), 1)
    common = distribution >= 5
    assert (
        stats.chi2.sf(((seen - distribution)[common] ** 2 / distribution[common]).sum(), common.sum() - 1)
        < FALSE_POSITIVE
    )


def test_what_is_reported_is_a_point_of_the_region() -> None:
    mechanism = PlanarLaplace(REGION, "1/4", 100)
    reports = mechanism.randomize([[250.0, 140.0]] * 2000, entropy=Repeatable(2))
    assert reports.type == mechanism.report_type
    codes = reports.to_numpy().astype(np.int64)
    assert set(codes.tolist()) == set(range(len(REGION)))
    assert REGION.codes(REGION.points(codes)).tolist() == codes.tolist()


def test_the_radius_covers_at_the_stated_rate() -> None:
    region, n = Region(20_000, 20_000, 20), 20_000
    mechanism = PlanarLaplace(region, "1.386", 200)
    codes = mechanism.randomize(np.full((n, 2), 10_000.0), entropy=Repeatable(3)).to_numpy().astype(np.int64)
    off = np.hypot(*(region.metres(codes) - 10_000).T)
    for confidence in (0.5, 0.95):
        within = (off <= mechanism.radius(confidence)).mean()
        assert confidence - 0.015 < within < confidence + 0.05
    assert off.mean() == pytest.approx(2 / float(mechanism.per_metre), rel=0.03)


def test_a_region_has_points_every_step() -> None:
    assert (REGION.across, REGION.up, len(REGION)) == (6, 4, 24)
    assert REGION.nearest([[0, 0], [149, 151], [-50, 9e9]]).tolist() == [[0, 0], [1, 2], [0, 3]]
    assert REGION.metres(np.array([7])).tolist() == [[100, 100]]
    assert 34 * 100**2 < REGION.diameter**2 < 34 * 100**2 + Fraction(1, 10**9)
    assert REGION.parameters == {"width": "500", "height": "300", "step": "100"}


def test_degrees_become_metres() -> None:
    """A degree of latitude is some 111.2 km; one of longitude at 60 degrees half of that."""
    result = metres_from([60, 61, 60], [10, 10, 11], (60, 10))
    np.testing.assert_allclose(result, [[0, 0], [0, 111_195], [55_597, 0]], atol=2)


def test_what_cannot_be_protected_is_refused() -> None:
    for wrong in ((100, 100, 0), (100, 100, 200), (10**6, 10**6, 1)):
        with pytest.raises(BadInput, match=r"step|points"):
            Region(*wrong)
    for epsilon, within in ((0, 100), (1, 0), ("1e-12", 100), ("1e-30", 100)):
        with pytest.raises(BadInput, match=r"epsilon|loss"):
            PlanarLaplace(REGION, epsilon, within)
    with pytest.raises(BadInput, match="Confidence"):
        PlanarLaplace(REGION, 1, 100).radius(1)
    for wrong in ([[1.0, float("nan")]], [1.0]):
        with pytest.raises(DataError, match="place"):
            PlanarLaplace(REGION, 1, 100).randomize(wrong)
    assert PlanarLaplace(REGION, 1, 100).parameters["within"] == "100"


def test_the_posterior_is_bayes_rule() -> None:
    """By hand, for a noisy point in the region and one far outside it."""
    prior = np.arange(len(SMALL_REGION), dtype=float)
    points = SMALL_REGION.points(np.arange(len(SMALL_REGION)))
    for noisy in ([2, 1], [-30, 45]):
        likely = prior * np.exp(-float(MECHANISM.rate) * (lengths(np.array(noisy) - points)))
        result = Remap(MECHANISM, prior).posterior(np.array([noisy]))[0]
        np.testing.assert_allclose(result, likely / likely.sum(), rtol=1e-9)
        assert result[0] == 0


def test_the_guess_has_the_least_expected_distance() -> None:
    remap = Remap(MECHANISM, np.random.default_rng(1).random(len(SMALL_REGION)) ** 4)
    noisy = np.array([[a, b] for a in range(-3, 8) for b in range(-3, 7)])
    metres = SMALL_REGION.metres(np.arange(len(SMALL_REGION)))
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
    for wrong in (
        np.ones(3),
        np.zeros(len(SMALL_REGION)),
        np.full(len(SMALL_REGION), -1.0),
        np.full(len(SMALL_REGION), np.inf),
    ):
        with pytest.raises(BadInput, match="prior"):
            Remap(MECHANISM, wrong)
    large = PlanarLaplace(Region(1000, 1000, 10), 1, 100)
    with pytest.raises(BadInput, match="weighed"):
        Remap(large, np.ones(101**2))
