"""The Gaussian copula: correlations behind columns of all kinds, and columns spread as they were."""

import math

import numpy as np
import pytest
from tests.publish.mask.people import people
from tests.synthesize.non_private.tables import column, table

from discreet.errors import BadInput, DataError
from discreet.verbs.synthesize.non_private.copula import (
    Copula,
    Latent,
    fit_distribution,
    latent_correlations,
    nearest_correlation,
)

COUNT = 20_000


def normals(correlation, count=COUNT, seed=1):
    draw = np.random.default_rng(seed)
    x, e = draw.standard_normal((2, count))
    return x, correlation * x + math.sqrt(1 - correlation**2) * e


def test_the_scores_of_a_coin_are_known_exactly():
    coin = Latent.of(np.tile([1, 2], 500))
    assert set(np.round(coin.scores, 12)) == {-1.0, 1.0}
    assert coin.coefficients[:3] == pytest.approx([math.sqrt(2 / math.pi), 0, -math.sqrt(2 / math.pi) / math.sqrt(6)])
    powers = 0.6 ** np.arange(1, 41)
    assert coin.coefficients**2 @ powers == pytest.approx(2 / math.pi * math.asin(0.6), abs=1e-9)
    assert not Latent.of(np.ones(10, np.int64)).coefficients.any()


@pytest.mark.parametrize("correlation", [-0.8, 0.0, 0.3, 0.9])
@pytest.mark.parametrize("steps", [([0.0], [1.0]), ([-1.0, 0.2, 0.5], None), ([-0.5, 0.5], [-1.5])])
def test_what_is_behind_steps_is_found(correlation, steps):
    both = normals(correlation)
    codes = [
        np.digitize(x, edges) if edges is not None else np.argsort(np.argsort(x))
        for x, edges in zip(both, steps, strict=True)
    ]
    found = latent_correlations([Latent.of(one) for one in codes])
    assert found[0, 1] == pytest.approx(correlation, abs=0.05)


def test_a_matrix_that_nothing_has_is_mended():
    wrong = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    mended = nearest_correlation(wrong)
    assert np.linalg.eigvalsh(mended).min() >= 0
    assert np.diag(mended) == pytest.approx([1, 1, 1])
    right = np.array([[1, 0.5], [0.5, 1]])
    assert nearest_correlation(right) == pytest.approx(right)


def test_correlations_and_columns_stay():
    x, y = normals(0.7)
    made = Copula().synthesize(table(x=np.exp(x), few=np.digitize(y, [-1, 0.5]), y=y), 1).rows
    ranks = [np.argsort(np.argsort(column(made, name))) for name in ("x", "y")]
    assert np.corrcoef(*ranks)[0, 1] == pytest.approx(6 / math.pi * math.asin(0.35), abs=0.02)
    assert np.bincount(column(made, "few")) / COUNT == pytest.approx(
        np.bincount(np.digitize(y, [-1, 0.5])) / COUNT, abs=0.02
    )
    assert np.median(column(made, "x")) == pytest.approx(1.0, abs=0.03)
    assert np.mean(np.isin(column(made, "y"), y)) < 0.01


def test_categories_without_an_order_hang_together_too():
    x, y = normals(0.8, 8000)
    names = np.array(["kiwi", "apple", "plum", "fig"])[np.digitize(y, [-1, 0, 1])]
    other = np.array(["no", "yes"])[(x > 0).astype(int)]
    made = Copula().synthesize(table(x=x, other=other, fruit=names), 1).rows
    for fruit in set(names):
        means = [column(t, "x")[column(t, "fruit") == fruit].mean() for t in (made, table(x=x, fruit=names).payload())]
        assert means[0] == pytest.approx(means[1], abs=0.15)
        yes = [
            (a[b == fruit] == "yes").mean() for a, b in ((column(made, "other"), column(made, "fruit")), (other, names))
        ]
        assert yes[0] == pytest.approx(yes[1], abs=0.06)


def test_only_what_is_asked_for_is_made():
    x, y = normals(0.7)
    kept = np.array(["low", "high"])[(x > 0).astype(int)]
    original = table(kept=kept, x=x, y=y)
    made = Copula(columns=["y"]).synthesize(original, 1).rows
    assert made["x"].equals(original.payload()["x"])
    assert made["kept"].equals(original.payload()["kept"])
    assert np.corrcoef(column(made, "x"), column(made, "y"))[0, 1] == pytest.approx(0.7, abs=0.03)
    by_sign = Copula(columns=["y"], given=["kept"]).synthesize(original, 1).rows
    gaps = [column(t, "y")[kept == "high"].mean() - column(t, "y")[kept == "low"].mean() for t in (made, by_sign)]
    assert gaps == pytest.approx([2 * 0.7 * math.sqrt(2 / math.pi)] * 2, abs=0.06)


def test_nobody_s_extreme_is_given_out():
    x = np.random.default_rng(3).lognormal(10, 1, 60)
    original = table(x=x)
    for seed in range(10):
        assert not set(column(Copula().synthesize(original, seed).rows, "x")) & set(x)
    pair = np.array([1.5] * 30 + [97.25, 97.25])  # two people share the largest
    assert 97.25 not in column(Copula(rows=5000).synthesize(table(x=pair), 1).rows, "x")


def test_laws_stand_for_numbers():
    rng = np.random.default_rng(1)
    assert fit_distribution(rng.normal(3, 2, 5000)).name == "normal"
    assert fit_distribution(rng.lognormal(3, 0.6, 5000)).name == "log-normal"
    assert fit_distribution(rng.exponential(3, 5000)).name == "exponential"
    assert fit_distribution(np.full(5, 3.0)).at(np.array([0.1, 0.9])) == pytest.approx([3, 3])
    spiky = np.where(rng.random(5000) < 0.4, 0.0, rng.lognormal(3, 0.6, 5000))
    made = Copula(margins="parametric").synthesize(table(x=rng.normal(3, 2, 5000), y=spiky), 1)
    assert made.parameters["laws"] == {"x": "normal"}
    assert np.mean(column(made.rows, "x")) == pytest.approx(3, abs=0.15)
    assert np.mean(column(made.rows, "y") == 0) == pytest.approx(0.4, abs=0.04)


@pytest.mark.parametrize("margins", ["empirical", "parametric"])
def test_kinds_and_gaps_stay_and_seeds_repeat(margins):
    before = people().payload()
    first, again, other = (Copula(margins=margins).synthesize(people(), seed).rows for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
    assert first.schema.equals(before.schema)
    for name in before.column_names:
        assert abs(first[name].null_count - before[name].null_count) < 30
    assert set(first["same"].to_pylist()) == {7.5}


def test_odd_tables():
    texts = [f"text {n % 400}" for n in range(2000)]
    assert Copula(rows=50).synthesize(table(a=texts, b=np.arange(2000) % 3), 1).rows.num_rows == 50
    with pytest.raises(DataError, match="share any value of 'a'"):
        Copula().synthesize(table(a=[f"text {n}" for n in range(100)]), 1)
    twins = np.arange(100) % 7
    assert np.corrcoef(*(column(Copula().synthesize(table(a=twins, b=twins), 1).rows, n) for n in "ab"))[0, 1] > 0.95
    with pytest.raises(DataError, match="too few"):
        Copula().synthesize(table(x=[1.0]), 1)
    with pytest.raises(BadInput, match="empirical or parametric"):
        Copula(margins="none")
