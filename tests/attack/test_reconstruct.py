"""Counts that are too exact give everything away; noise well above the square root of the people does not."""

import math

import numpy as np
import pytest

from discreet.errors import DataError
from discreet.verbs.attack.finding import Outcome
from discreet.verbs.attack.reconstruct import Decoding, expected_share, reconstruct

PEOPLE, ANSWERS = 60, 240


def counts(deviation, seed=1, people=PEOPLE, answers=ANSWERS):
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, people)
    queries = rng.integers(0, 2, (answers, people))
    return queries, queries @ bits + deviation * rng.normal(size=answers), bits


@pytest.mark.parametrize("by", Decoding)
def test_noise_below_the_root_of_the_people_breaks(by):
    found = reconstruct(*counts(math.sqrt(PEOPLE) / 10), by=by)
    assert found.finding.outcome is Outcome.BROKE
    assert found.finding.figure >= 0.99
    assert found.finding.baseline < 0.7
    assert by.value in found.finding.attack


@pytest.mark.parametrize("by", Decoding)
def test_noise_of_the_order_of_the_people_does_not(by):
    found = reconstruct(*counts(PEOPLE), by=by)
    assert found.finding.outcome is Outcome.NOTHING
    assert found.finding.figure < 0.75


@pytest.mark.parametrize("deviation", [3.0, 10.0])
def test_least_squares_get_the_share_that_theory_expects(deviation):
    shares = [reconstruct(*counts(deviation, seed), by=Decoding.SQUARES).finding.figure for seed in range(20)]
    expected = expected_share(PEOPLE, ANSWERS, deviation)
    # 1,200 bits, nearly independent: six standard deviations are 1e-9, doubled for what binds the bits of a run.
    assert np.mean(shares) == pytest.approx(expected, abs=12 * math.sqrt(expected * (1 - expected) / 1200) + 0.005)


def test_the_program_withstands_a_few_answers_that_are_far_off():
    queries, answers, bits = counts(0.5)
    answers[::10] += 500.0
    assert reconstruct(queries, answers, bits).finding.figure == 1.0
    assert reconstruct(queries, answers, bits, by=Decoding.SQUARES).finding.figure < 1.0


def test_exact_answers_give_the_bits_without_the_truth():
    queries, answers, bits = counts(0)
    for by in Decoding:
        found = reconstruct(queries, answers, by=by)
        assert found.bits.tolist() == bits.tolist()
        assert found.finding.outcome is Outcome.FAILED
        assert "true bits" in found.finding.meaning


@pytest.mark.parametrize(
    ("queries", "answers", "truth"),
    [
        (np.eye(3), np.zeros(2), None),
        (np.zeros((0, 3)), np.zeros(0), None),
        (np.eye(3), np.array([1.0, np.nan, 0.0]), None),
        (np.eye(3), np.zeros(3), np.array([0, 1, 2])),
        (np.eye(3), np.zeros(3), np.zeros(4)),
    ],
)
def test_what_does_not_fit_is_refused(queries, answers, truth):
    with pytest.raises(DataError):
        reconstruct(queries, answers, truth)


def test_the_expected_share_has_the_right_ends():
    assert expected_share(100, 400, 0) == 1.0
    assert expected_share(100, 400, 1e9) == pytest.approx(0.5)
    with pytest.raises(DataError):
        expected_share(100, 100, 1.0)
