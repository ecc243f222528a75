"""Fits against independent optimisers, closed forms, and the corners of the domain."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, nnls
from tests.synthesize.graph.brute import marginal, measured, subsets

from discreet.errors import BadInput
from discreet.noise.masking import generator
from discreet.verbs.synthesize.graph.fitting import fit
from discreet.verbs.synthesize.graph.measurement import Measurement, Zeros

EXACT = {"tolerance": 1e-12, "iterations": 2000}


def table(sizes, seed=0, rows=1000.0, spread=0.5):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(int(np.prod(sizes)), spread)).reshape(sizes) * rows


def misfit(joint, measurements):
    return sum(((marginal(joint, one.columns) - one.counts) ** 2).sum() / one.deviation**2 for one in measurements) / 2


def test_it_minimises_misfit_and_pull():
    sizes = (2, 3, 2)
    joint = table(sizes, 1, spread=2.0)
    measurements = measured(joint, [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2)], 20.0)
    alone = [marginal(joint, (column,)) / 1000 for column in range(3)]
    reference = np.einsum("i,j,k->ijk", *alone)

    def loss(logs):
        share = np.exp(logs - logs.max()).reshape(sizes)
        share /= share.sum()
        return (
            misfit(share * 1000, measurements) + 1000 * (1 / 20 + 10 / 1000) * (share * np.log(share / reference)).sum()
        )

    best = minimize(loss, np.zeros(12), method="BFGS", options={"gtol": 1e-7})
    share = np.exp(best.x - best.x.max())
    found = fit(sizes, measurements, total=1000.0, **EXACT).marginal((0, 1, 2))
    np.testing.assert_allclose(found, (share / share.sum()).reshape(sizes) * 1000, atol=1e-2)
    assert np.abs(found - joint).max() > 1


@pytest.mark.parametrize("seed", range(2))
def test_without_pull_it_is_the_least_squares_fit(seed):
    sizes = (3, 2, 2, 3)
    rng = np.random.default_rng(seed)
    cliques = [(0,), (0, 1), (1, 2), (2, 3), (0, 3), (0, 2, 3)]
    measurements = measured(table(sizes, seed), cliques, 30.0, rng)
    model = fit(sizes, measurements, total=1000.0, pull=1e-3, tolerance=1e-4, iterations=2000)
    cells = np.eye(36).reshape(-1, *sizes)
    design = np.concatenate(
        [np.stack([marginal(cell, one.columns).ravel() for cell in cells], axis=1) for one in measurements]
    )
    heavy = 1e4 * np.ones((1, 36))  # the total, as good as exactly
    counts = np.concatenate([one.counts.ravel() for one in measurements])
    solution, _ = nnls(np.vstack([design, heavy]), np.append(counts, 1e4 * 1000))
    least = misfit(solution.reshape(sizes), measurements)
    assert misfit(model.marginal(range(4)), measurements) == pytest.approx(least, rel=1e-2)


def test_exact_counts_on_a_tree_give_the_markov_model():
    joint = table((3, 4, 2), 2, spread=2.0)
    model = fit((3, 4, 2), measured(joint, [(0, 1), (1, 2)], 1e-3))
    middle = marginal(joint, (1,))
    expected = np.einsum("ij,jk,j->ijk", marginal(joint, (0, 1)), marginal(joint, (1, 2)), 1 / middle)
    np.testing.assert_allclose(model.marginal((0, 1, 2)), expected, atol=0.02)
    assert model.total == pytest.approx(1000)


def test_nothing_measured_is_uniform():
    model = fit((2, 3), [])
    np.testing.assert_allclose(model.marginal((0, 1)), np.full((2, 3), 1 / 6))
    np.testing.assert_allclose(fit((4,), [], total=8).marginal((0,)), [2, 2, 2, 2])


def test_parts_that_share_no_column_are_independent():
    joint = table((2, 3, 2, 2), 3)
    model = fit((2, 3, 2, 2), measured(joint, [(0, 1), (2, 3)], 1.0))
    for one, other in [((0, 1), (2, 3)), ((0,), (3,))]:
        both = model.marginal((*one, *other))
        expected = np.multiply.outer(model.marginal(one), model.marginal(other)) / model.total
        np.testing.assert_allclose(both, expected)


def test_one_column_is_the_nearest_counts_that_are_not_negative():
    found = fit((4,), [Measurement((0,), np.array([50.0, -20.0, 30.0, 44.0]), 10.0)], total=100).marginal((0,))
    np.testing.assert_allclose(found, [42, 0, 22, 36], atol=0.6)


def test_columns_of_one_value():
    joint = table((1, 3, 1), 4)
    model = fit((1, 3, 1), measured(joint, [(0,), (0, 1), (1, 2)], 2.0))
    assert model.marginal((0, 2)).shape == (1, 1)
    np.testing.assert_allclose(model.marginal((1,)), marginal(joint, (1,)), atol=5)


def test_huge_noise_falls_back_on_what_is_known():
    joint = table((3, 3), 5)
    alone = measured(joint, [(0,), (1,)], 1.0)
    noisy = Measurement((0, 1), np.random.default_rng(1).normal(0, 1e6, (3, 3)), 1e6)
    found = fit((3, 3), [*alone, noisy]).marginal((0, 1))
    product = np.outer(marginal(joint, (0,)), marginal(joint, (1,))) / 1000
    np.testing.assert_allclose(found, product, atol=5)


def test_repeated_measurements_are_averaged_by_precision():
    first = Measurement((0,), np.array([10.0, 90.0]), 1.0)
    second = Measurement((0,), np.array([50.0, 50.0]), 2.0)
    np.testing.assert_allclose(fit((2,), [first, second]).marginal((0,)), [18, 82], atol=0.2)


def test_the_total_is_weighted_by_precision():
    # sums of 2 and 4 cells, of variances 2·1 and 4·4: weights 8 to 1
    found = fit((2, 4), [Measurement((0,), np.full(2, 50.0), 1.0), Measurement((1,), np.full(4, 50.0), 2.0)])
    assert found.total == pytest.approx((8 * 100 + 1 * 200) / 9)
    assert fit((2,), [Measurement((0,), np.full(2, -50.0), 1.0)]).total == 1.0


def test_structural_zeros_stay_zero_and_are_not_counted():
    possible = np.array([[True, True, False], [True, False, False]])
    joint = table((2, 3, 2), 6) * possible[:, :, None]
    rng = np.random.default_rng(2)
    measurements = measured(joint, [(0,), (1,), (0, 1), (1, 2), (0, 2)], 10.0, rng)
    model = fit((2, 3, 2), measurements, zeros=[Zeros((0, 1), possible)])
    full = model.marginal((0, 1, 2))
    assert (full[~possible] == 0).all()
    assert (model.marginal((1, 2))[2] == 0).all()
    rows = model.sample(500, generator(1))
    assert possible[rows[:, 0], rows[:, 1]].all()
    assert model.total == pytest.approx(joint.sum(), abs=60)
    with pytest.raises(BadInput, match="no possible cell"):
        fit((2, 3, 2), [], zeros=[Zeros((0,), np.zeros(2, dtype=bool))])


def test_a_warm_start_ends_where_a_cold_one_does():
    sizes = (4, 3, 5, 2)
    rng = np.random.default_rng(3)
    measurements = measured(table(sizes, 7), [(0,), (1,), (2,), (3,), (0, 1), (1, 2), (2, 3), (0, 3)], 15.0, rng)
    model = fit(sizes, measurements[:4])
    for upto in range(5, 9):
        model = fit(sizes, measurements[:upto], start=model, **EXACT)
    cold = fit(sizes, measurements, **EXACT)
    for columns in subsets(4, 2):
        np.testing.assert_allclose(model.marginal(columns), cold.marginal(columns), atol=1e-3)


def test_the_pull_brings_the_fit_nearer_to_the_truth():
    sizes = (12, 10, 8)
    weights = [np.random.default_rng(9).dirichlet(np.full(size, 0.7)) for size in sizes]
    joint = np.einsum("i,j,k->ijk", *weights) * 20_000
    joint[:6, :5] *= 1.5
    cliques = [(0,), (1,), (2,), (0, 1), (1, 2)]
    measurements = measured(joint, cliques, 60.0, np.random.default_rng(10))
    pulled, plain = (fit(sizes, measurements, pull=pull, iterations=1000) for pull in (1.0, 0.01))
    off = [sum(np.abs(one.marginal(some) - marginal(joint, some)).sum() for some in cliques) for one in (pulled, plain)]
    assert off[0] < 0.9 * off[1]


@pytest.mark.parametrize(
    ("measurement", "what"),
    [
        (Measurement((1, 0), np.zeros((2, 3)), 1.0), "rising"),
        (Measurement((0, 2), np.zeros((2, 3)), 1.0), "rising"),
        (Measurement((), np.zeros(()), 1.0), "rising"),
        (Measurement((0, 1), np.zeros((3, 2)), 1.0), "shape"),
        (Measurement((0,), np.zeros(2), 0.0), "standard deviation"),
        (Measurement((0,), np.array([np.nan, 1.0]), 1.0), "finite"),
    ],
)
def test_what_is_no_measurement_is_refused(measurement, what):
    with pytest.raises(BadInput, match=what):
        fit((2, 3), [measurement])


def test_models_that_are_too_large_are_refused():
    with pytest.raises(BadInput, match="10,000 cells"):
        fit((100, 100), [Measurement((0, 1), np.zeros((100, 100)), 1.0)], largest=5000)
    for wrong in ({"total": 0.0}, {"total": float("nan")}, {"pull": 0.0}):
        with pytest.raises(BadInput, match="positive"):
            fit((2,), [], **wrong)
    with pytest.raises(BadInput, match="at least one column"):
        fit((), [])


@pytest.mark.parametrize("deviation", [1.0, 100.0])
def test_with_impossible_cells_columns_keep_their_shares(deviation):
    alone = [np.array([168.0, 832.0]), np.array([500.0, 400.0, 100.0]), np.array([300.0, 700.0])]
    status, income = np.array([[1, 0, 0], [1, 1, 1]], bool), np.array([[1, 0], [1, 1]], bool)
    measurements = [Measurement((column,), counts, deviation) for column, counts in enumerate(alone)]
    model = fit((2, 3, 2), measurements, zeros=[Zeros((0, 1), status), Zeros((0, 2), income)], **EXACT)
    for column, counts in enumerate(alone):
        np.testing.assert_allclose(model.marginal((column,)), counts, atol=2.0)
    assert model.marginal((0, 1))[0].tolist()[1:] == [0.0, 0.0]
