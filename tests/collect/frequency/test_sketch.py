"""Count-mean sketches: the variance of shared functions, exactly and by simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats
from tests.noise.bits import Repeatable

from discreet.errors import BadInput
from discreet.verbs.collect.frequency.count_mean_sketch import CMS, HCMS, CountMeanSketch

PEOPLE = np.array([0, 10, 2000, 300])


class FiveCMS(CMS):
    """Of functions that can all be tried."""

    field = 5


class FiveHCMS(HCMS):
    """Of functions that can all be tried."""

    field = 5


@pytest.mark.parametrize("kind", [FiveCMS, FiveHCMS])
@pytest.mark.parametrize("functions", [1, 2])
@pytest.mark.parametrize("buckets", [2, 3])
def test_the_variance_is_that_of_all_draws_of_functions(
    kind: type[CountMeanSketch], functions: int, buckets: int
) -> None:
    """The mean over all functions of the variance given them, and the variance of the mean given them."""
    oracle = kind(4, 1, functions=functions, buckets=buckets)
    p, q = float(oracle.inner.p_own), float(oracle.inner.q_other)
    n = int(PEOPLE.sum())
    every = np.array(list(product(range(5), repeat=3)))
    values = np.arange(4)
    sent = ((every[:, :1] * values**2 + every[:, 1:2] * values + every[:, 2:]) % 5) * buckets // 5
    for value in range(4):
        one = np.where(sent == sent[:, [value]], p, q)  # a row for each function: the chance that each answer supports
        probability = one if functions == 1 else ((one[:, None] + one[None]) / 2).reshape(-1, 4)
        given = probability @ PEOPLE
        variance = ((probability * (1 - probability)) @ PEOPLE).mean() + given.var()
        result = oracle.variances(n, PEOPLE / n)[value] * float(oracle.p_own - oracle.q_other) ** 2
        assert result == pytest.approx(variance, rel=1e-9)
        assert given.mean() == pytest.approx(
            float(oracle.p_own * int(PEOPLE[value]) + oracle.q_other * int(n - PEOPLE[value]))
        )


@pytest.mark.parametrize("kind", [CMS, HCMS])
def test_bars_have_the_collisions_in_them(kind: type[CountMeanSketch]) -> None:
    """One value has nearly everybody: whoever meets it in a bucket seems to have many. Without that, bars would be too
    narrow by far."""
    surveys, n, entropy = 150, 3000, Repeatable(5)
    answers = np.where(np.arange(n) < 2800, 0, 1 + np.arange(n) % 5)
    covered = narrow = 0
    for seed in range(surveys):
        oracle = kind(6, 5, functions=32, buckets=16, seed=seed)
        estimate = oracle.estimate(oracle.randomize(answers, entropy=entropy), confidence=0.9)
        off = abs(estimate.counts[3] - 40)
        covered += off <= estimate.error_bars[3]
        p, q = float(oracle.p_own), float(oracle.q_other)
        narrow += off <= 1.645 * np.sqrt(n * q * (1 - q)) / (p - q)
    least, most = stats.binom.ppf([1e-6, 1 - 1e-6], surveys, 0.9)
    assert least <= covered <= most
    assert narrow < least


def test_functions_follow_from_a_public_seed() -> None:
    one, same, other = HCMS(10, 1, seed=7), HCMS(10, 1, seed=7), HCMS(10, 1)
    assert one == same != other
    assert (one.coefficients == same.coefficients).all()
    assert (one.coefficients != other.coefficients).any()
    assert one.coefficients.shape == (3, 1024)
    assert one.coefficients.min() >= 0
    assert one.coefficients.max() < one.field
    with pytest.raises(BadInput, match="cannot be counted together"):
        one.tally().merge(other.tally())


def test_a_sketch_has_a_size_that_can_be_kept() -> None:
    assert HCMS(100_000, 1).counter_length == 2 * 1024 * 1024
    assert HCMS(100_000, 1).report_type.bit_width == 32
    for wrong in ({"functions": 0}, {"buckets": 1}, {"functions": 1 << 17}, {"seed": -1}, {"seed": 1 << 128}):
        with pytest.raises(BadInput, match=r"functions|seed"):
            CMS(10, 1, **wrong)
    with pytest.raises(BadInput, match="no more than 5"):
        FiveCMS(6, 1)
