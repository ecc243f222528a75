"""Bars that reach to the farthest figure that is not refuted: by their equation, and by simulation where ε is large.

Bars where few reports decide: their coverage is added up over all that can be seen, so that nothing is by chance.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats
from tests.noise.bits import Repeatable

from discreet.verbs.collect.confidence_intervals import (
    count_error_bound,
    exact_count_error_bound,
    exact_share_error_bound,
    normal_quantile,
    score_bound,
    share_error_bound,
)
from discreet.verbs.collect.frequency.randomized_response import GRR
from discreet.verbs.collect.heavy_hitters import PEM
from discreet.verbs.collect.longitudinal.dbitflip import DBitFlip
from discreet.verbs.collect.multidimensional.key_value import KeyValue, KeyValueGRR, KeyValueUE
from discreet.verbs.collect.numbers.grid import NumberGrid
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.numbers.mechanisms import Duchi, Piecewise
from discreet.verbs.collect.survey.results import sampled_share_bound

RUNS = 300
LEAST = stats.binom.ppf(1e-6, RUNS, 0.95)
RARE = GRR(1000, 10)
N = 2000


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


def supporting(n: int, people: int, p: float, q: float) -> np.ndarray:
    """How likely each number of supporting reports is."""
    mine, theirs = stats.binom.pmf(np.arange(people + 1), people, p), stats.binom.pmf(np.arange(n + 1), n - people, q)
    return np.convolve(mine, theirs)[: n + 1]


@cache
def covered(error: float, *, normal: bool = False) -> np.ndarray:
    """For 0 to 60 people with a value, how likely its bar is to hold."""
    (p, *_), (q, *_) = RARE.probabilities
    report_codes = np.arange(120)
    ones = np.full(120, p), np.full(120, q)
    estimates = (report_codes - N * q) / (p - q)
    near = np.clip(estimates, 0, N)
    variances = (near * p * (1 - p) + (N - near) * q * (1 - q)) / (p - q) ** 2
    slope = (ones[0] * (1 - p) - ones[1] * (1 - q)) / (p - q) ** 2
    bars = (
        score_bound(normal_quantile(error), variances, slope)
        if normal
        else count_error_bound(error, report_codes, N, ones, variances)
    )
    return np.array([supporting(N, c, p, q)[:120][np.abs(estimates - c) <= bars + 1e-9].sum() for c in range(61)])


def test_rare_values_are_covered_exactly_where_the_normal_law_does_not() -> None:
    assert covered(0.05, normal=True).min() < 0.93
    assert covered(0.05).min() >= 0.95
    each = 0.05 / len(RARE.domain)
    assert 1 - covered(each, normal=True).min() > 20 * each
    assert 1 - covered(each).min() <= each


def test_one_survey_s_bars_are_those() -> None:
    answers = np.arange(N) % 700
    result = RARE.estimate(RARE.randomize(answers, entropy=Repeatable(1)))
    exact = exact_count_error_bound(result.supports, N, *RARE.probabilities, 0.05)
    assert (result.error_bars >= exact).all()
    assert (result.error_bars < exact + 1.5).all()


@pytest.mark.parametrize("people", [0, 1, 3, 20, 60])
def test_a_fair_sample_of_people_is_covered(people: int) -> None:
    """Of 200 people 40 are drawn, and flip coins of two chances."""
    n, m, p, q, error = 200, 40, 0.9, 0.02, 0.05
    report_codes, distribution = np.arange(m + 1), np.zeros(m + 1)
    for drawn in range(min(people, m) + 1):
        distribution += stats.hypergeom.pmf(drawn, n, people, m) * supporting(m, drawn, p, q)
    mean = q + people / n * (p - q)
    held = np.abs(report_codes / m - mean) <= exact_share_error_bound(report_codes, m, error) + 1e-12
    assert distribution.sum() == pytest.approx(1)
    assert distribution[held].sum() >= 1 - error


def test_strings_that_few_report_have_bars_that_hold_together() -> None:
    """A large loss and few people: at 80 %, runs in which a bar fails are binomial; a right method fails in 1e-6."""
    method, entropy, runs = PEM(1, 6, k=8), Repeatable(3), 300
    values = ["a"] * 30 + ["b"] * 3 + ["c"] * 2 + ["d"]
    missed = 0
    for _ in range(runs):
        result = method.estimate(method.randomize(values, entropy=entropy), confidence=0.8)
        held = np.array([values.count(string.decode("latin-1")) for string in result.strings])
        missed += bool((np.abs(result.counts - held) > result.error_bars_together).any())
        assert (result.error_bars_together > 0).all()
    assert missed <= stats.binom.isf(1e-6, runs, 0.2)


@pytest.mark.parametrize(("kind", "n"), [(Duchi, 20), (Piecewise, 50)])
@pytest.mark.parametrize("epsilon", [1, 10])
def test_a_mean_of_few_reports_is_covered_and_its_bar_is_never_nothing(
    kind: type[MeanProtocol], n: int, epsilon: int
) -> None:
    """False alarms: one in a million."""
    protocol, entropy, runs = kind(NumberGrid(0, 100), epsilon), Repeatable(4), 300
    alike = np.zeros(protocol.outcomes, dtype=np.int64)
    alike[0] = n
    assert protocol.estimate_counts(alike).error_bar > 0
    held = 0
    for _ in range(runs):
        result = protocol.estimate(protocol.randomize(np.full(n, 93.0), entropy=entropy))
        held += abs(result.mean - 93) <= result.error_bar
    assert held >= stats.binom.ppf(1e-6, runs, 0.95)
