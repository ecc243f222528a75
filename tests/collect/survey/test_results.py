"""Figures of a survey: unbiased, with the variance that the law has, and bounds that hold as often as they say."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom
from tests.collect.survey.surveys import INCOME, answers, survey

from discreet.collect.frequency.coins import Coins
from discreet.collect.frequency.direct import GRR
from discreet.collect.frequency.unary import OUE, SUE
from discreet.collect.law import Matrix
from discreet.collect.survey.counted import Counted
from discreet.collect.survey.file import EXAMPLE
from discreet.collect.survey.results import Results, _noise, estimate
from discreet.collect.survey.scale import randomize_file, randomized
from discreet.core.release import Release
from discreet.core.statement import Evidence
from discreet.errors import BadInput, NotFound


def results(made, rows, confidence=0.95):
    """What a survey finds of people's answers."""
    batch = randomized(made, rows.select([one.name for one in made.asked]))
    counted = tuple(Counted(one).add(batch.column(one.name).drop_null()) for one in made.asked)
    return Results(made, rows.num_rows, counted, confidence)


@pytest.mark.parametrize(
    "client", [GRR(3, 1), OUE(3, 1), SUE(3, 1), Coins(truth="1/3", heads="1/4")], ids=lambda c: c.name
)
def test_the_variance_of_a_sum_by_weights_is_that_of_the_law(client):
    d = len(client.domain)
    weights = np.array([-1.0, 0.25, 2.0])[:d]
    p, q = client.chances
    for answer in range(d):
        if isinstance(client.law, Matrix):
            outcomes = [(np.eye(d)[told], float(chance)) for told, chance in enumerate(client.law.rows[answer])]
        else:
            heads = [float(chance) for chance in client.law.heads[answer]]
            outcomes = [
                (np.array(bits), float(np.prod([h if bit else 1 - h for bit, h in zip(bits, heads, strict=True)])))
                for bits in product((0, 1), repeat=d)
            ]
        said = np.array([weights @ ((bits - q) / (p - q)) for bits, _ in outcomes])
        chances = np.array([chance for _, chance in outcomes])
        mean = chances @ said
        assert mean == pytest.approx(weights[answer], abs=1e-9)
        assert chances @ (said - mean) ** 2 == pytest.approx(_noise(client, weights)[answer], abs=1e-9)


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
    found = {one.figure: one for one in results(survey(EXAMPLE[3], epsilon=10), answers(20_000)).figures}
    assert (found["median"].low, found["median"].estimate, found["median"].high) == (35, 40, 45)
    assert found["mean"].low <= answers(20_000).column("age").to_numpy().mean() <= found["mean"].high


def test_the_release_says_what_was_promised_and_shows_every_question(tmp_path):
    made = survey(*EXAMPLE, INCOME)
    release = results(made, answers(2_000)).release()
    assert release.statement.loss == made.loss
    assert release.statement.evidence is Evidence.PROVED
    assert len(release.pictures) == 5
    assert "± " in release.pictures[0].svg
    assert any("Made-up reports on like: Of 2,000 reports" in step for step in release.recipe.steps)
    assert any("Audit of income: Holds: the loss is 0.8" in step for step in release.recipe.steps)
    assert Release.load(release.save(tmp_path / "out")).payload.equals(release.payload)


def test_files_of_reports_are_counted_together(tmp_path):
    import pyarrow.parquet as pq

    made = survey(share="sampled")
    for name, seed in (("a", 1), ("b", 2)):
        pq.write_table(_table(answers(1_000, seed)), tmp_path / f"{name}.parquet")
        randomize_file(made, tmp_path / f"{name}.parquet", tmp_path / f"{name}.reports.parquet")
    found = estimate(made, [tmp_path / "a.reports.parquet", tmp_path / "b.reports.parquet"])
    assert found.people == sum(one.reports for one in found.counted) == 2_000


def test_without_reports_there_is_nothing_to_tell(tmp_path):
    with pytest.raises(NotFound):
        estimate(survey(), [tmp_path / "none.parquet"])
    with pytest.raises(BadInput, match="no reports yet"):
        estimate(survey(), [])
    with pytest.raises(BadInput, match="no reports on like"):
        results(survey(), answers(1))
    with pytest.raises(BadInput, match="Confidence"):
        results(survey(), answers(10), 1)


def _table(batch):
    import pyarrow as pa

    return pa.Table.from_batches([batch])
