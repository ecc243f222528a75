import json
import math

import numpy as np
import pytest
from scipy.stats import binom

from discreet.errors import BadInput
from discreet.verbs.attack.finding import (
    Finding,
    Outcome,
    clopper_pearson,
    failed_finding,
    judge_outcome,
    share_finding,
    worst_finding,
)
from discreet.verbs.attack.guesses import GuessResults, evaluate_guesses


@pytest.mark.parametrize(("right", "people"), [(0, 5), (1, 20), (7, 50), (50, 50)])
def test_the_interval_is_where_both_tails_are_possible(right, people):
    low, high = clopper_pearson(right, people)
    assert low <= right / people <= high
    if right:
        assert binom.sf(right - 1, people, low) == pytest.approx(0.025)
    else:
        assert low == 0
    if right < people:
        assert binom.cdf(right, people, high) == pytest.approx(0.025)
    else:
        assert high == 1


def test_the_interval_covers_as_often_as_it_says_for_every_share():
    people = 30
    intervals = [clopper_pearson(right, people) for right in range(people + 1)]
    for chance in np.linspace(0.01, 0.99, 99):
        covers = sum(binom.pmf(k, people, chance) for k, (low, high) in enumerate(intervals) if low <= chance <= high)
        assert covers >= 0.95


@pytest.mark.parametrize(("right", "people"), [(-1, 5), (6, 5), (0, 0)])
def test_a_share_is_of_somebody(right, people):
    with pytest.raises(BadInput, match="at least 1"):
        clopper_pearson(right, people)


def test_guessing_is_beaten_only_by_the_whole_interval():
    credits = np.zeros(100)
    credits[:3] = 1
    assert share_finding("a", "k", credits, 0.01, "m").outcome is Outcome.NOTHING
    credits[:20] = 1
    found = share_finding("a", "k", credits, 0.01, "m")
    assert found.outcome is Outcome.BROKE
    assert found.figure == 0.2
    assert found.victims == (0, 1, 2, 3, 4)


@pytest.mark.parametrize(
    ("right", "people", "baseline", "expected"),
    [
        (2, 2, 0.5, Outcome.UNSURE),  # all of two: so are two coins in four
        (1, 2, 0.5, Outcome.NOTHING),
        (0, 2, 0.5, Outcome.NOTHING),
        (5, 5, 0.2, Outcome.BROKE),
        (12, 20, 0.4, Outcome.UNSURE),
        (520, 1000, 0.5, Outcome.NOTHING),  # whoever gains next to nothing by chance found nothing
        (600, 1000, 0.5, Outcome.BROKE),
    ],
)
def test_much_beyond_guessing_that_chance_may_explain_is_neither_nothing_nor_a_breach(
    right, people, baseline, expected
):
    credits = (np.arange(people) < right).astype(float)
    assert share_finding("a", "k", credits, baseline, "m").outcome is expected
    guesses = GuessResults(credits, np.arange(people), None, baseline)
    assert evaluate_guesses("a", "k", guesses, "m", {}).outcome is expected
    assert judge_outcome(right / people, clopper_pearson(right, people), baseline) is expected


def test_beside_a_few_others_it_may_be_too_few_to_tell():
    right = np.ones(4)
    for control, expected in ((4, Outcome.NOTHING), (1, Outcome.UNSURE)):
        others = (np.arange(4) < control).astype(float)
        assert evaluate_guesses("a", "k", GuessResults(right, np.arange(4), others, 0.01), "m", {}).outcome is expected


def test_the_worst_of_several_is_the_one_to_worry_about():
    def found(outcome, figure):
        return Finding("a", "k", outcome, figure, (0.0, 1.0), 0.1, "m")

    all_ = [
        found(Outcome.NOTHING, 0.9),
        found(Outcome.UNSURE, 0.8),
        found(Outcome.BROKE, 0.2),
        found(Outcome.BROKE, 0.3),
    ]
    assert worst_finding(all_) == all_[3]
    assert worst_finding(all_[:2]) == all_[1]


def test_victims_are_told_by_their_rows():
    assert share_finding("a", "k", np.array([0.0, 1.0]), 0.1, "m", people=np.array([7, 9])).victims == (9,)


def test_a_probability_is_no_victim():
    assert share_finding("a", "k", np.full(10, 0.5), 0.1, "m").victims == ()


def test_victims_are_for_the_steward_only():
    found = Finding("a", "k", Outcome.BROKE, 0.5, (0.4, 0.6), 0.1, "m", victims=(4711,))
    for told in (repr(found), str(found), json.dumps(found.to_dict())):
        assert "4711" not in told
    assert found.to_dict(victims=True)["victims"] == [4711]
    assert found.without_victims().victims == ()


def test_could_not_run_is_not_found_nothing():
    found = failed_finding("a", "k", "No links.")
    assert found.outcome is Outcome.FAILED
    assert math.isnan(found.figure)
    assert found.to_dict()["figure"] is None
    assert str(found) == "a: could not run. No links."


def test_a_figure_is_in_its_interval():
    with pytest.raises(BadInput, match="outside its interval"):
        Finding("a", "k", Outcome.BROKE, 0.9, (0.4, 0.6), 0.1, "m")
