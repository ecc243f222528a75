"""Bars that reach to the farthest figure that is not refuted: by their equation, and by simulation where ε is large."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.noise.bits import Repeatable

from discreet.verbs.collect.confidence_intervals import score_bound, share_error_bound
from discreet.verbs.collect.frequency.randomized_response import GRR
from discreet.verbs.collect.longitudinal.dbitflip import DBitFlip
from discreet.verbs.collect.multidimensional.key_value import KeyValue, KeyValueGRR, KeyValueUE
from discreet.verbs.collect.survey.results import sampled_share_bound

RUNS = 300
LEAST = stats.binom.ppf(1e-6, RUNS, 0.95)


def test_the_farthest_figure_is_just_not_refuted() -> None:
    for variance, slope, bend in ((4.0, 3.0, 0.0), (4.0, -3.0, 0.5), (0.0, 1.0, 0.1), (2.0, 0.0, 0.0)):
        x = score_bound(2.0, np.array([variance]), np.array([slope]), bend)[0]
        assert x**2 == pytest.approx(4 * (variance + abs(slope) * x - bend * x**2))


def test_shares_are_as_wilson_or_clopper_and_pearson_have_them() -> None:
    for heads, n, way in ((0, 10, "exact"), (3, 10, "exact"), (990, 1000, "exact"), (500, 1000, "wilson")):
        result = stats.binomtest(heads, n).proportion_ci(0.95, method=way)
        far = max(result.high - heads / n, heads / n - result.low)
        assert share_error_bound(0.05, np.array([heads / n]), n)[0] == pytest.approx(far)


def test_of_few_who_speak_of_a_value_bars_cover() -> None:
    """A hundred in a thousand are asked about each value, of which a rare one is often told by nobody."""
    oracle, entropy = DBitFlip(10, 8), Repeatable(1)
    codes = (np.arange(1000) < 10).astype(np.int64)
    covered = np.zeros(2)
    for _ in range(RUNS):
        result = oracle.estimate(oracle.randomize(codes, entropy=entropy))
        covered += (np.abs(result.counts - np.bincount(codes, minlength=10)) <= result.error_bars)[:2]
    assert (covered >= LEAST).all()


@pytest.mark.parametrize("kind", [KeyValueGRR, KeyValueUE])
def test_the_share_of_a_key_that_nobody_has_is_covered(kind: type[KeyValue]) -> None:
    oracle, entropy = kind(3, 8), Repeatable(2)
    people = [{0: 1.0}] * 290 + [{1: 1.0}] * 10
    covered = np.zeros(3)
    for _ in range(RUNS):
        result = oracle.estimate(oracle.randomize(people, entropy=entropy))
        covered += np.abs(result.shares - [29 / 30, 1 / 30, 0]) <= result.error_bars
    assert (covered >= LEAST).all()


def test_where_one_question_is_drawn_a_rare_answer_is_covered() -> None:
    oracle, entropy, generator = GRR(3, 8), Repeatable(3), np.random.default_rng(1)
    codes = (np.arange(500) < 6).astype(np.int64)
    covered = np.zeros(3)
    for _ in range(RUNS):
        asked = codes[generator.random(500) < 0.25]
        result = oracle.estimate(oracle.randomize(asked, entropy=entropy))
        off = sampled_share_bound(result, 0.05, (1 - asked.size / 500) / asked.size)
        covered += np.abs(result.shares - np.bincount(codes, minlength=3) / 500) <= off
    assert (covered >= LEAST).all()
