"""Steps after an estimate: what each promises, and that it helps where it should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.noise.bits import Repeatable

from discreet.errors import BadInput
from discreet.verbs.collect.frequency.randomized_response import GRR
from discreet.verbs.collect.frequency.unary_encoding import OUE
from discreet.verbs.collect.frequency_oracle import STEPS, FrequencyEstimate

N = 1000


def of(counts: list[float], deviations: list[float] | None = None) -> FrequencyEstimate:
    """An estimate with these figures."""
    oracle = GRR(len(counts), 1)
    p, q = oracle.probabilities
    figures = np.array(counts, dtype=float)
    supports = np.rint(N * q + figures * (p - q)).astype(np.int64)
    return FrequencyEstimate(oracle, N, supports, figures, np.array(deviations or [50.0] * len(counts)), 0.95)


FIGURES = st.lists(st.floats(-500, 2000), min_size=2, max_size=12)


@pytest.mark.parametrize("step", ["norm-sub", "cls", "ibu"])
@settings(max_examples=40)
@given(counts=FIGURES)
def test_figures_become_possible(step: str, counts: list[float]) -> None:
    postprocess = of(counts).postprocess(step)
    assert (postprocess.counts >= 0).all()
    assert postprocess.counts.sum() == pytest.approx(N)
    assert postprocess.steps == (step,)


@settings(max_examples=40)
@given(FIGURES)
def test_norm_sub_is_the_nearest_possible(counts: list[float]) -> None:
    """The nearest of all by the conditions of Karush, Kuhn and Tucker: kept figures move alike, the others less far."""
    before, postprocess = np.array(counts), of(counts).postprocess("norm-sub").counts
    kept = postprocess > 0
    moved = (postprocess - before)[kept]
    assert moved == pytest.approx(moved[0], abs=1e-6)
    assert ((before + moved[0])[~kept] <= 1e-6).all()
    assert of(counts).postprocess("cls").counts == pytest.approx(postprocess, abs=1e-6)


def test_cls_is_the_nearest_by_deviations() -> None:
    counts, deviations = [700.0, 400.0, -100.0, 30.0], [10.0, 50.0, 20.0, 40.0]
    result = minimize(
        lambda x: sum(((a - b) / s) ** 2 for a, b, s in zip(x, counts, deviations, strict=True)),
        x0=[N / 4] * 4,
        bounds=[(0, None)] * 4,
        constraints={"type": "eq", "fun": lambda x: sum(x) - N},
        tol=1e-12,
    )
    assert of(counts, deviations).postprocess("cls").counts == pytest.approx(result.x, abs=1e-2)


@settings(max_examples=40)
@given(FIGURES)
def test_norm_cut_only_ever_drops_the_smallest(counts: list[float]) -> None:
    postprocess = of(counts).postprocess("norm-cut").counts
    kept = postprocess > 0
    assert (postprocess[kept] == np.array(counts)[kept]).all()
    assert postprocess.sum() <= max(N + max(counts), 0)
    assert postprocess[kept].sum() >= min(N, np.maximum(counts, 0).sum()) - 1e-6
    if kept.any() and (~kept).any():
        assert np.array(counts)[~kept].max() <= postprocess[kept].min()


def test_base_cut_keeps_what_is_surely_there() -> None:
    before = of([700.0, 60.0, -100.0, 340.0])
    assert before.postprocess("base-cut").counts.tolist() == [700, 0, 0, 340]


@settings(max_examples=40)
@given(st.lists(st.integers(0, 400), min_size=3, max_size=6).filter(lambda seen: sum(seen) > 0))
def test_ibu_is_where_the_bayesian_update_stands_still(seen: list[int]) -> None:
    """Of GRR: the mean posterior of each value is its share again, and no other value would gain."""
    oracle, n, supports = GRR(len(seen), 2), sum(seen), np.array(seen)
    p, q = oracle.probabilities
    start = FrequencyEstimate(oracle, n, supports, (supports - n * q) / (p - q), np.full(len(seen), 1.0), 0.95)
    shares = start.postprocess("ibu").counts / n
    channel = np.where(np.eye(len(seen), dtype=bool), float(oracle.p_own), float(oracle.q_other))
    growth = channel @ (supports / n / (shares @ channel))
    assert growth[shares > 0] == pytest.approx(1, abs=1e-9)
    assert (growth[shares == 0] <= 1 + 1e-9).all()


def test_power_helps_where_figures_follow_a_power_law() -> None:
    d, n = 500, 100_000
    true = np.random.default_rng(1).multinomial(n, (w := 1 / np.arange(1, d + 1) ** 1.5) / w.sum())
    oracle = OUE(d, 1)
    before = oracle.estimate(oracle.randomize(np.repeat(np.arange(d), true), entropy=Repeatable(2)))

    def error(estimate: FrequencyEstimate) -> float:
        return float(((estimate.counts - true) ** 2).mean())

    assert error(before.postprocess("power")) < error(before) / 4
    assert error(before.postprocess("power").postprocess("norm-sub")) < error(before) / 4
    for step in STEPS:
        assert error(before.postprocess(step)) < error(before)


def test_steps_follow_each_other_and_are_written_down() -> None:
    estimate = of([700.0, 60.0, -100.0, 340.0]).postprocess("base-cut").postprocess("norm-sub")
    assert estimate.steps == ("base-cut", "norm-sub")
    assert estimate.counts.sum() == pytest.approx(N)
    with pytest.raises(BadInput, match="no step 'magic'"):
        estimate.postprocess("magic")
    assert replace(estimate, steps=()) != estimate
