"""Measures of loss are what their papers say, for whole columns at a level and for tuples with levels of their own."""

import random

import numpy as np
import pytest
from tests.publish import exhaustive as slow

from discreet.errors import BadInput
from discreet.utility.quality import (
    ClassSize,
    Discernibility,
    Entropy,
    Granularity,
    Precision,
    figures,
)


@pytest.mark.parametrize(
    ("quality", "measure"), slow.MEASURES, ids=lambda one: str(one) if hasattr(one, "name") else ""
)
@pytest.mark.parametrize("seed", range(15))
def test_a_measure_is_what_plain_python_says(seed, quality, measure):
    rng = random.Random(seed)  # noqa: S311
    case = slow.random_case(rng)
    levels = [rng.randint(0, height) for height in case.heights]
    tuples = case.tuples()
    groups = tuples.groups(levels)
    kept = np.array([rng.random() < 0.7 for _ in range(groups.max() + 1)])
    names = dict(zip(groups.tolist(), tuples.labels(np.arange(len(groups)), levels).to_pylist(), strict=True))
    staying = {tuple(names[number].values()) for number in np.flatnonzero(kept)}
    expected = measure(case, levels, {label: rows for label, rows in case.classes(levels).items() if label in staying})
    assert quality.loss(tuples, np.array(levels), groups, kept) == pytest.approx(expected)
    own = np.repeat(np.array(levels)[:, None], len(groups), axis=1)  # the same, said tuple by tuple
    assert quality.loss(tuples, own, groups, kept) == pytest.approx(expected)


@pytest.fixture
def tuples():
    paths = {"red": ("red", "warm"), "orange": ("orange", "warm"), "blue": ("blue", "cold"), "green": ("green", "cold")}
    values = ["red", "orange", "orange", "blue"]  # blue, orange, red when sorted
    return slow.Case(tuple(((value,), "s") for value in values), (paths,)).tuples()


def test_tuples_may_have_levels_of_their_own(tuples):
    levels, groups, kept = np.array([[0, 1, 1]]), np.array([0, 1, 1]), np.array([True, True])
    assert Granularity().loss(tuples, levels, groups, kept) == pytest.approx(3 / 4 * 1 / 3)
    assert Precision().loss(tuples, levels, groups, kept) == pytest.approx(3 / 4 * 1 / 2)
    # one of three in warm is red, two are orange
    assert Entropy().loss(tuples, levels, groups, kept) == pytest.approx(np.log2(3) + 2 * np.log2(3 / 2))
    assert Discernibility().loss(tuples, levels, groups, kept) == 1 + 9


def test_what_is_suppressed_is_lost(tuples):
    levels, groups, kept = np.array([[0, 1, 1]]), np.array([0, 1, 1]), np.array([False, True])
    assert Granularity().loss(tuples, levels, groups, kept) == pytest.approx(1 / 4 + 3 / 4 * 1 / 3)
    assert Discernibility().loss(tuples, levels, groups, kept) == 4 + 9
    assert ClassSize().loss(tuples, levels, groups, kept) == 4 / 2


def test_figures_for_a_report_are_those_of_the_measures(tuples):
    levels, groups, kept = np.array([1]), np.array([0, 1, 1]), np.array([False, True])
    found = figures(tuples, levels, groups, kept)
    for quality in (Granularity(), Precision(), Discernibility(), ClassSize()):
        assert found.pop(quality.name) == pytest.approx(quality.loss(tuples, levels, groups, kept))
    assert found == {"loss of q0": pytest.approx(1 / 4 + 3 / 4 * 1 / 3)}


def test_a_measure_says_what_it_is():
    said = [str(quality) for quality, _ in slow.MEASURES]
    assert said == [
        "granularity, arithmetic mean",
        "granularity, geometric mean",
        "precision",
        "entropy",
        "discernibility",
        "class size",
        "classification of s",
    ]
    assert Granularity() == Granularity("arithmetic") != Granularity("geometric")


def test_an_unknown_mean_is_refused():
    with pytest.raises(BadInput, match="arithmetic or geometric, got 'harmonic'"):
        Granularity("harmonic")
