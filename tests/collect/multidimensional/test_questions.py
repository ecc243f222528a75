"""Several questions: split, sampled, and one of them hidden among made-up answers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.collect.reports import every
from tests.noise.bits import Repeatable

from discreet.core.exact import exp_lower
from discreet.core.loss import Pure
from discreet.errors import BadInput, DataError
from discreet.verbs.collect.frequency_oracle import ReportTally
from discreet.verbs.collect.multidimensional.fake_data import FakeData
from discreet.verbs.collect.multidimensional.questions import Questions, QuestionsProtocol, SampleQuestion, SplitBudget
from discreet.verbs.collect.protocol import audit

FALSE_POSITIVE = 1e-6
SURVEY = {"like": ["no", "yes"], "albums": 4, "gender": "fmx"}
LIKELY = {"albums": [5, 3, 1, 1], "like": ["1/3", "2/3"]}
WAYS: list[QuestionsProtocol] = [
    SplitBudget(SURVEY, 1),
    SampleQuestion(SURVEY, 1),
    FakeData(SURVEY, 1),
    FakeData(SURVEY, 1, LIKELY),
    FakeData(SURVEY, 1, LIKELY, protects="answer"),
]
ways = pytest.mark.parametrize("way", WAYS, ids=[f"{way.name}-{index}" for index, way in enumerate(WAYS)])


def people(n: int) -> dict[str, np.ndarray]:
    """Answers that hang on each other."""
    albums = np.minimum(np.random.default_rng(1).geometric(0.5, n) - 1, 3)
    return {
        "like": np.where(albums > 0, "yes", "no"),
        "albums": albums,
        "gender": np.array(list("fmx"))[(np.arange(n) + albums) % 3],
    }


@ways
def test_the_promise_is_true_and_little_is_given_away(way: QuestionsProtocol) -> None:
    result = audit(way)
    assert result.holds
    assert result.epsilon == pytest.approx(float(way.epsilon), rel=1e-9)
    assert way.loss == Pure(way.epsilon)


@ways
def test_bars_cover_at_the_stated_rate(way: QuestionsProtocol) -> None:
    surveys, answers, entropy = 100, people(1000), Repeatable(5)
    true = (answers["albums"][:, None] == np.arange(4)).mean(axis=0)
    alone = together = 0
    for _ in range(surveys):
        result = way.estimate(way.randomize(answers, entropy=entropy), confidence=0.9)["albums"]
        off = np.abs(result.shares - true)
        alone += off[1] <= result.error_bars[1]
        together += (off <= result.error_bars_together).all()
    least, most = stats.binom.ppf([FALSE_POSITIVE, 1 - FALSE_POSITIVE], surveys, 0.9)
    assert least <= alone <= most
    assert together >= least


@ways
def test_counts_merge_and_bad_reports_are_refused(way: QuestionsProtocol) -> None:
    reports = way.randomize(pa.table(people(300)), entropy=Repeatable(1))
    assert reports.type == way.report_type
    merged = way.count(reports.slice(0, 100)) + way.count(reports.slice(100))
    assert way.count(reports).tolist() == merged.tolist()
    assert way.count(pa.chunked_array([reports.slice(0, 7), reports.slice(7)])).tolist() == merged.tolist()
    assert ReportTally(way).add(reports).counts.tolist() == merged.tolist()
    one, other = way.estimate(reports), way.estimate_counts(merged)
    assert one["gender"].table() == other["gender"].table()
    assert "300" in str(one["like"]) or way.name == "smp"
    with pytest.raises(DataError, match="report"):
        way.count(pa.array(["x"]))
    with pytest.raises(DataError, match="report"):
        way.count(pa.concat_arrays([reports, pa.nulls(1, way.report_type)]))
    with pytest.raises(BadInput, match="no reports"):
        way.estimate(reports.slice(0, 0))


@pytest.mark.parametrize("way", WAYS[:2], ids=["spl", "smp"])
def test_each_question_is_estimated_as_its_protocol_says(way: QuestionsProtocol) -> None:
    """Of what is expected of each question's reports, the true shares come back."""
    oracles = way.oracles if isinstance(way, SplitBudget) else way.sampling.oracles
    true = [np.array([0.2, 0.8]), np.array([0, 0.1, 0.3, 0.6]), np.array([0.5, 0.4, 0.1])]
    expected = [
        np.rint(1e15 * shares @ np.array(every(oracle).probabilities, dtype=float)).astype(np.int64)
        for shares, oracle in zip(true, oracles, strict=True)
    ]
    result = way.estimate_counts(np.concatenate(expected))
    for name, shares in zip(SURVEY, true, strict=True):
        np.testing.assert_allclose(result[name].shares, shares, rtol=0, atol=1e-9)


def by_hand(way: FakeData, answer: tuple[int, ...], report_codes: tuple[int, ...]) -> Fraction:
    """The chance of a report: each question in turn is the true one."""
    k = len(way.questions)
    made_up = [Fraction(prior[value], 2**64) for prior, value in zip(way.priors, report_codes, strict=True)]
    whole = Fraction(0)
    for true, oracle in enumerate(way.oracles):
        truth = oracle.p_own if answer[true] == report_codes[true] else oracle.q_other
        whole += (
            truth
            * prod((probability for index, probability in enumerate(made_up) if index != true), start=Fraction(1))
            / k
        )
    return whole


SMALL = [
    FakeData({"a": 2, "b": 3}, 1),
    FakeData({"a": 2, "b": 3}, "1/2", {"b": [8, 1, 1]}, protects="answer"),
    FakeData({"a": 3, "b": 2, "c": 2}, 2, {"a": [1, 2, 30], "c": ["1/10", "9/10"]}, protects="answer"),
]


@pytest.mark.parametrize("way", SMALL, ids=["even", "likely", "three"])
def test_the_law_is_that_of_all_reports(way: FakeData) -> None:
    every_answer = list(product(*map(range, way.questions.sizes)))
    table = [[by_hand(way, answer, report_codes) for report_codes in every_answer] for answer in every_answer]
    assert all(sum(row) == 1 for row in table)
    one_differs = Fraction(1)
    for i, row in enumerate(table):
        for j, beside in enumerate(table):
            if i != j:
                worst = max(one / other for one, other in zip(row, beside, strict=True))
                assert worst == way.report_distribution.ratio(i, j)
                if sum(a != b for a, b in zip(every_answer[i], every_answer[j], strict=True)) == 1:
                    one_differs = max(one_differs, worst)
    assert one_differs == way.answer_ratio(way.epsilon)
    assert one_differs <= exp_lower(way.loss_of_answer.epsilon)


@pytest.mark.parametrize("way", SMALL, ids=["even", "likely", "three"])
def test_hidden_answers_come_back_exactly_and_are_drawn_by_the_law(way: FakeData) -> None:
    every_answer, n = list(product(*map(range, way.questions.sizes))), 20_000
    answer = every_answer[-1]
    probabilities = np.array([by_hand(way, answer, report_codes) for report_codes in every_answer], dtype=float)
    expected = [
        1000
        * np.bincount([report_codes[index] for report_codes in every_answer], weights=probabilities, minlength=size)
        for index, size in enumerate(way.questions.sizes)
    ]
    result = way.estimate_counts(np.concatenate(expected))
    for name, size in zip(way.questions.names, way.questions.sizes, strict=True):
        np.testing.assert_allclose(result[name].shares, np.eye(size)[-1], rtol=0, atol=1e-9)
    drawn = way.draw([np.full(n, code) for code in answer], Repeatable(9))
    codes = np.ravel_multi_index([column.to_numpy() for column in drawn.flatten()], way.questions.sizes)
    seen = np.bincount(codes, minlength=len(every_answer))
    assert (
        stats.chi2.sf(((seen - n * probabilities) ** 2 / (n * probabilities)).sum(), len(probabilities) - 1)
        > FALSE_POSITIVE
    )


def test_amplification_is_about_one_answer_and_the_person_loses_more() -> None:
    """The papers' e**ε' = 1 + k (e**ε - 1), for questions of equally many values; about a person that much is lost."""
    even = FakeData({"a": 3, "b": 3, "c": 3}, 1, protects="answer")
    claimed = np.log(1 + 3 * (np.e - 1))
    assert float(even.loss.epsilon) == pytest.approx(claimed, abs=1e-5)
    assert audit(even).epsilon == pytest.approx(claimed, abs=1e-5)
    assert even.loss_of_answer == Pure(1)
    assert not replace(audit(even), claim=Fraction(1)).holds  # what is claimed elsewhere of the same chances
    likely = FakeData({"a": 3, "b": 3, "c": 3}, 1, {"a": [98, 1, 1]}, protects="answer")
    assert 1 < likely.loss.epsilon < even.loss.epsilon
    assert FakeData({"a": 2, "b": 2}, "1e-6", protects="answer").epsilon == Fraction(2, 1 << 20)


def test_sampling_beats_splitting_and_a_likely_prior_an_even_one() -> None:
    answers = people(30_000)
    deviation = {
        index: way.estimate(way.randomize(answers, entropy=Repeatable(index)))["albums"].deviations[2]
        for index, way in enumerate(WAYS)
    }
    assert deviation[1] < deviation[0]
    assert deviation[3] < deviation[2]


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(BadInput, match="no questions"):
        Questions({})
    with pytest.raises(DataError, match="no answers to"):
        SplitBudget(SURVEY, 1).randomize({"like": ["no"]})
    with pytest.raises(DataError, match="different numbers"):
        SplitBudget({"a": 2, "b": 2}, 1).randomize({"a": [0], "b": [0, 1]})
    for priors in ({"like": [1, 0]}, {"like": [1]}, {"like": [1, "1e-30"]}, {"hair": [1, 1]}):
        with pytest.raises(BadInput, match=r"prior|no question"):
            FakeData(SURVEY, 1, priors)
    with pytest.raises(BadInput, match="protected"):
        FakeData(SURVEY, 1, protects="nobody")
    assert FakeData({"a": 2}, 1).parameters["priors"] == {"a": ["1/2", "1/2"]}
    assert SplitBudget({"a": 2}, 1).parameters == {"questions": {"a": [0, 1]}}
