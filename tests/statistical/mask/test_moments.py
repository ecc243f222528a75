"""What a recipe declares holds: false alarms at 1e-9, and the same test refuses a scale that is 10 % wrong."""

from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pytest

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.noise.masking import generator
from discreet.verbs.publish.mask.coding import Code
from discreet.verbs.publish.mask.multiply import Multiply
from discreet.verbs.publish.mask.noise import Noise
from discreet.verbs.publish.mask.pram import Pram, undone
from discreet.verbs.publish.mask.resample import Resample
from discreet.verbs.publish.mask.rounding import Round
from discreet.verbs.publish.mask.swap_kernels import swap_around, swap_buckets, swap_within

COUNT = 120_000
LIMIT = -NormalDist().inv_cdf(0.5e-9)
"""How many standard errors a right figure may be off, once in 1e9 times."""


@pytest.fixture(scope="module")
def table():
    draw = np.random.default_rng(5)
    a = draw.normal(50, 3, COUNT)
    data = pa.table(
        {
            "a": a,
            "b": 2 * a + draw.normal(0, 4, COUNT),
            "n": draw.integers(0, 5, COUNT),
            "wide": draw.integers(-1000, 5000, COUNT),
            "c": pa.array(np.array(["x", "y", "z"])[draw.choice(3, COUNT, p=(0.6, 0.3, 0.1))]),
        }
    )
    kinds = (Kind.REAL, Kind.REAL, Kind.INTEGER, Kind.INTEGER, Kind.TEXT)
    card = Card("t", tuple(Column(n, k, Role.QUASI) for n, k in zip(data.column_names, kinds, strict=True)))
    return read(data, card)


def errors_off(sample, expected):
    """By how many of its standard errors a sample's mean is off."""
    return abs(sample.mean() - expected) / (sample.std(ddof=1) / np.sqrt(len(sample)))


def before_and_after(table, masker, name, seed=3):
    masked = masker.mask(table, seed)
    return table.payload()[name].to_numpy(), masked.rows[name].to_numpy(), masked.parameters


@pytest.mark.parametrize("name", ["a", "b", "n", "wide"])
@pytest.mark.parametrize("alpha", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("correlated", [False, True])
def test_noise_has_the_mean_and_variance_it_declares(table, name, alpha, correlated):
    before, after, told = before_and_after(table, Noise(alpha, ("a", "b", "n", "wide"), correlated), name)
    noise = (after - before).astype(float)
    assert errors_off(noise, told["noise_mean"][name]) < LIMIT
    assert errors_off(noise**2, told["noise_variance"][name]) < LIMIT
    assert errors_off((1.1 * noise) ** 2, told["noise_variance"][name]) > LIMIT


def test_the_published_variance_is_1_plus_k_times_the_original(table):
    before, after, told = before_and_after(table, Noise(0.5, ("a", "b")), "a")
    around_mean = (after - before.mean()) ** 2
    assert errors_off(around_mean / (1 + told["k"]), before.var()) < LIMIT
    assert errors_off(around_mean, before.var()) > LIMIT


def test_correlated_noise_has_the_covariances_it_declares_and_keeps_correlations(table):
    masked = Noise(0.5, ("a", "b"), correlated=True).mask(table, 3)
    original = table.payload()
    a, b = (masked.rows[n].to_numpy() - original[n].to_numpy() for n in "ab")
    assert errors_off(a * b, masked.parameters["noise_covariance"][0][1]) < LIMIT
    assert errors_off(1.21 * a * b, masked.parameters["noise_covariance"][0][1]) > LIMIT
    was = np.corrcoef(original["a"], original["b"])[0, 1]
    assert abs(np.corrcoef(masked.rows["a"], masked.rows["b"])[0, 1] - was) < 0.01
    alone = Noise(0.5, ("a", "b")).mask(table, 3).rows
    assert abs(np.corrcoef(alone["a"], alone["b"])[0, 1] - was) > 0.1


@pytest.mark.parametrize("law", ["log-normal", "uniform"])
@pytest.mark.parametrize("alpha", [0.05, 0.5])
def test_factors_have_the_mean_and_variance_they_declare(table, law, alpha):
    before, after, told = before_and_after(table, Multiply(alpha, ("a",), law), "a")
    factor = after / before
    assert errors_off(factor, told["factor_mean"]) < LIMIT
    assert errors_off((factor - 1) ** 2, told["factor_variance"]) < LIMIT
    assert errors_off(1.21 * (factor - 1) ** 2, told["factor_variance"]) > LIMIT


@pytest.mark.parametrize(
    ("masker", "name"),
    [
        (Multiply(0.3, ("n",)), "n"),
        (Round(7, ("wide",), at_random=True), "wide"),
        (Resample(2, ("wide",)), "wide"),
        (Code({"wide": 4000}, {}, by_mean=True), "wide"),
    ],
    ids=lambda part: getattr(part, "name", part),
)
def test_means_stay_on_average(table, masker, name):
    before, after, _ = before_and_after(table, masker, name)
    assert errors_off(after.astype(float), before.mean()) < LIMIT
    assert errors_off(1.1 * after, before.mean()) > LIMIT


@pytest.mark.parametrize("how", ["even", "invariant", "optimal"])
def test_categories_change_by_the_matrix_in_the_recipe(table, how):
    before, after, told = before_and_after(table, Pram(0.7, ("c",), how), "c")
    about = told["matrices"]["c"]
    for row, was in zip(about["matrix"], about["categories"], strict=True):
        for chance, is_ in zip(row, about["categories"], strict=True):
            hit = (after[before == was] == is_).astype(float)
            if chance > 1e-12:
                assert errors_off(hit, chance) < LIMIT
            else:
                assert not hit.any()
    stayed = (after[before == "x"] == "x").astype(float)
    assert errors_off(stayed, 0.9 * about["matrix"][0][0]) > LIMIT


def test_what_pram_did_is_estimated_back(table):
    before, after, told = before_and_after(table, Pram(0.7, ("c",), "even"), "c")
    matrix = told["matrices"]["c"]["matrix"]
    true = np.array([np.sum(before == v) for v in "xyz"])
    estimate, error = undone([np.sum(after == v) for v in "xyz"], matrix)
    assert np.all(np.abs(estimate - true) < LIMIT * error)
    assert np.all(error < 0.02 * COUNT)
    expected, _ = undone(true @ np.array(matrix), matrix)
    assert np.allclose(expected, true, rtol=1e-9)


def fits(counts, chances):
    """Whether counts come from chances: each by itself, with false alarms at 1e-9 in all."""
    total = counts.sum()
    limit = -NormalDist().inv_cdf(0.5e-9 / len(counts))
    spread = np.sqrt(total * chances * (1 - chances))
    return bool(np.all(np.abs(counts - total * chances) < limit * spread + 1))


def partners(swap, runs=20_000):
    rng = generator(9)
    return np.array([swap(rng)[0] for _ in range(runs)])


def test_the_first_rank_is_swapped_evenly_within_the_window():
    found = partners(lambda rng: swap_within(40, 10, rng))
    even = np.full(10, 0.1)
    assert fits(np.bincount(found, minlength=11)[1:], even)
    assert not fits(np.bincount(found, minlength=11)[1:], np.r_[0.11 * np.ones(5), 0.09 * np.ones(5)])


def test_the_first_rank_is_swapped_normally_around_half_the_window():
    found = partners(lambda rng: swap_around(200, 20.0, 20.0, rng))
    law = NormalDist(20, 20)
    chances = np.array([law.cdf(r + 0.5) - law.cdf(r - 0.5) for r in range(200)])
    chances[1] += law.cdf(0.5)  # the nearest free rank
    seen = np.bincount(found, minlength=200)
    assert fits(seen[1:80], chances[1:80] / chances[1:80].sum())
    wrong = NormalDist(22, 20)
    off = np.array([wrong.cdf(r + 0.5) - wrong.cdf(r - 0.5) for r in range(80)])
    assert errors_off(found[found > 1], np.sum(chances[2:] * np.arange(2, 200)) / chances[2:].sum()) < LIMIT
    assert errors_off(found[(found > 1) & (found < 80)], np.sum(off[2:] * np.arange(2, 80)) / off[2:].sum()) > LIMIT


def test_the_first_rank_goes_to_buckets_with_halved_chances():
    found = partners(lambda rng: swap_buckets(40, 4, rng)) // 10
    chances = np.array([8, 4, 2, 1]) / 15
    assert fits(np.bincount(found, minlength=4), chances)
    assert not fits(np.bincount(found, minlength=4), np.array([8.8, 4, 2, 1]) / 15.8)
