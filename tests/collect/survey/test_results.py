"""Figures of a survey: unbiased, with the variance that the law has, and bounds that hold as often as they say."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import binom
from tests.collect.reports import whole
from tests.collect.survey.surveys import INCOME, answers, survey
from tests.noise.bits import Repeatable

from discreet.core.release import Release
from discreet.core.statement import Evidence
from discreet.errors import BadInput, NotFound
from discreet.noise.expand import BULK
from discreet.verbs.collect.frequency.randomized_response import GRR, Coins
from discreet.verbs.collect.frequency.unary_encoding import OUE, SUE
from discreet.verbs.collect.numbers.grid import NumberGrid
from discreet.verbs.collect.numbers.mechanisms import Piecewise
from discreet.verbs.collect.poisoning import detect_poisoning_of_numbers
from discreet.verbs.collect.report_distribution import Matrix
from discreet.verbs.collect.survey.file import EXAMPLE
from discreet.verbs.collect.survey.report_files import randomize_batch, randomize_file
from discreet.verbs.collect.survey.results import SurveyResults, _noise, estimate_survey
from discreet.verbs.collect.survey.survey import QuestionTally


def results(made, rows, confidence=0.95, entropy=BULK):
    """What a survey finds of people's answers."""
    batch = randomize_batch(made, rows.select([one.name for one in made.protocols]), entropy)
    counted = tuple(QuestionTally(one).add(batch.column(one.name).drop_null()) for one in made.protocols)
    return SurveyResults(made, rows.num_rows, counted, confidence)


@pytest.mark.parametrize(
    "oracle", [GRR(3, 1), OUE(3, 1), SUE(3, 1), Coins(truth="1/3", heads="1/4")], ids=lambda c: c.name
)
def test_the_variance_of_a_sum_by_weights_is_that_of_the_law(oracle):
    d = len(oracle.domain)
    weights = np.array([-1.0, 0.25, 2.0])[:d]
    p, q = oracle.probabilities
    for answer in range(d):
        distribution = whole(oracle.report_distribution)
        if isinstance(distribution, Matrix):
            outcomes = [
                (np.eye(d)[report_codes], float(probability))
                for report_codes, probability in enumerate(distribution.rows[answer])
            ]
        else:
            heads = [float(probability) for probability in distribution.ones[answer]]
            outcomes = [
                (np.array(bits), float(np.prod([h if bit else 1 - h for bit, h in zip(bits, heads, strict=True)])))
                for bits in product((0, 1), repeat=d)
            ]
        document = np.array([weights @ ((bits - q) / (p - q)) for bits, _ in outcomes])
        probabilities = np.array([probability for _, probability in outcomes])
        mean = probabilities @ document
        assert mean == pytest.approx(weights[answer], abs=1e-9)
        assert probabilities @ (document - mean) ** 2 == pytest.approx(_noise(oracle, weights)[answer], abs=1e-9)


TRIES, SURE, RARE = 150, 0.8, 1e-6


@pytest.mark.parametrize("share", ["split", "sampled"])
def test_bounds_hold_as_often_as_they_say(share):
    """Each figure's by itself, and all of a survey at once; a test in a million is wrong about it."""
    rows = answers(800)
    made = survey(EXAMPLE[0], EXAMPLE[1], INCOME, share=share, epsilon=3, people=800)
    like, albums = (rows.column(name).to_numpy(zero_copy_only=False) for name in ("like", "albums"))
    true = {("like", value): np.mean(like == value) for value in ("no", "yes")}
    true |= {("albums", str(value)): np.mean(albums == value) for value in range(11)}
    true |= {("albums", "mean"): albums.mean(), ("income", "mean"): rows.column("income").to_numpy().mean()}
    ordered = np.sort(albums)
    for name, at in (("lower quartile", 0.25), ("median", 0.5), ("upper quartile", 0.75)):
        true["albums", name] = ordered[int(np.ceil(at * 800)) - 1]
    held, all_held = dict.fromkeys(true, 0), 0
    for _ in range(TRIES):
        figures = results(made, rows, SURE).figures
        assert {(one.question, one.figure) for one in figures} == set(true)
        for one in figures:
            held[one.question, one.figure] += one.low <= true[one.question, one.figure] <= one.high
        all_held += all(one.low_together <= true[one.question, one.figure] <= one.high_together for one in figures)
    least, most = binom.ppf([RARE, 1 - RARE], TRIES, SURE)
    assert min(held.values()) >= least, held
    assert all_held >= least
    assert held["like", "yes"] <= most, held  # nor are they much too wide
    assert held["albums", "mean"] <= most, held


def test_numbers_that_are_rounded_have_bounds_with_a_step_more():
    result = {
        one.figure: one
        for one in results(survey(EXAMPLE[3], epsilon=10), answers(20_000), entropy=Repeatable(1)).figures
    }
    assert (result["median"].low, result["median"].estimate, result["median"].high) == (35, 40, 45)
    assert result["mean"].low <= answers(20_000).column("age").to_numpy().mean() <= result["mean"].high


def test_the_release_says_what_was_promised_and_shows_every_question(tmp_path):
    made = survey(*EXAMPLE, INCOME)
    release = results(made, answers(2_000)).release()
    assert release.statement.loss == made.loss
    assert release.statement.evidence is Evidence.PROVED
    assert len(release.pictures) == 5
    assert "± " in release.pictures[0].svg
    assert any("Forged reports on like: Of 2,000 reports" in step for step in release.recipe.steps)
    assert any("Loss audit of income: Holds: the loss is 0.8" in step for step in release.recipe.steps)
    assert Release.load(release.save(tmp_path / "out")).payload.equals(release.payload)


def test_files_of_reports_are_counted_together(tmp_path):
    made = survey(share="sampled")
    for name, seed in (("a", 1), ("b", 2)):
        pq.write_table(_table(answers(1_000, seed)), tmp_path / f"{name}.parquet")
        randomize_file(made, tmp_path / f"{name}.parquet", tmp_path / f"{name}.reports.parquet")
    result = estimate_survey(made, [tmp_path / "a.reports.parquet", tmp_path / "b.reports.parquet"])
    assert result.people == sum(one.reports for one in result.tallies) == 2_000


def test_the_same_reports_twice_are_refused_by_whatever_name(tmp_path):
    batch = randomize_batch(survey(), answers(50))
    for name in ("a.parquet", "b.parquet"):
        pq.write_table(_table(batch), tmp_path / name)
    with pytest.raises(BadInput, match="The same reports are in"):
        estimate_survey(survey(), [tmp_path / "a.parquet", tmp_path / "b.parquet"])


def test_shares_after_a_named_step_keep_their_bounds(tmp_path):
    pq.write_table(_table(randomize_batch(survey(), answers(300))), tmp_path / "r.parquet")
    plain, stepped = (
        estimate_survey(survey(), [tmp_path / "r.parquet"], postprocess=step) for step in (None, "norm-sub")
    )
    shares = [one.estimate for one in stepped.figures if (one.question, one.kind) == ("albums", "share")]
    assert sum(shares) == pytest.approx(1)
    assert min(shares) >= 0 > min(one.estimate for one in plain.figures if one.kind == "share")
    for one, other in zip(plain.figures, stepped.figures, strict=True):
        assert one == other or (one.kind == "share" and replace(other, estimate=one.estimate) == one)
    assert stepped.release().recipe.parameters["postprocess"] == "norm-sub"
    assert any("post-processed by norm-sub" in step for step in stepped.release().recipe.steps)
    with pytest.raises(BadInput, match="no step 'norm'"):
        estimate_survey(survey(), [tmp_path / "r.parquet"], postprocess="norm")


def test_made_up_reports_raise_an_alarm_and_honest_ones_do_not(tmp_path):
    """False alarms: one in a million a question. The tests look at reports a part at a time, as they are read."""
    made = survey(*EXAMPLE, INCOME)
    honest = randomize_batch(made, answers(3_000))
    pq.write_table(_table(honest), tmp_path / "honest.parquet")
    result = estimate_survey(made, [tmp_path / "honest.parquet"])
    assert result.alarms == ()
    assert any("raised a warning" in step for step in result.release().recipe.steps)
    one = honest.slice(0, 1)
    pq.write_table(pa.concat_tables([_table(one)] * 600), tmp_path / "made-up.parquet")
    result = estimate_survey(made, [tmp_path / "honest.parquet", tmp_path / "made-up.parquet"])
    assert {name for name, _ in result.alarms} >= {"albums", "age"}
    assert any(step.startswith("Warning about age: In bits that are 1") for step in result.release().recipe.steps)


def test_reports_of_numbers_that_no_numbers_explain_raise_an_alarm():
    protocol = Piecewise(NumberGrid(0, 100, 20), 1)
    reports = protocol.count(protocol.randomize(np.full(3_000, 100.0), entropy=Repeatable(1)))
    assert detect_poisoning_of_numbers(protocol, reports) == ()
    reports[3] += 400
    [alarm] = detect_poisoning_of_numbers(protocol, reports)
    assert "Report 3 was made" in str(alarm)


def test_without_reports_there_is_nothing_to_tell(tmp_path):
    with pytest.raises(NotFound):
        estimate_survey(survey(), [tmp_path / "none.parquet"])
    with pytest.raises(BadInput, match="no reports yet"):
        estimate_survey(survey(), [])
    for people, says in ((0, "are no reports on like"), (1, "is one report on like")):
        with pytest.raises(BadInput, match=says):
            results(survey(), answers(people))
    with pytest.raises(BadInput, match="Confidence"):
        results(survey(), answers(10), 1)


def _table(batch):
    import pyarrow as pa

    return pa.Table.from_batches([batch])
