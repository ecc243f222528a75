"""The verb: answers that are randomised here, or reports, to a release with error bars and a statement."""

from __future__ import annotations

import inspect
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.collect.bad.unsplit import Unsplit

import discreet as dc
from discreet.core.loss import Pure
from discreet.core.statement import Evidence
from discreet.errors import BadInput, NoPromise, NotFound
from discreet.verbs import collect
from discreet.verbs.collect.report_distribution import Matrix

N = 40_000
SONGS = ["rock", "jazz", "folk", "none"]
TRUE = np.array([0.5, 0.3, 0.2, 0.0])
ANSWERS = np.repeat(SONGS, (TRUE * N).astype(int))


def test_the_verb_is_a_function_with_a_signature() -> None:
    assert inspect.isfunction(dc.collect)
    parameters = inspect.signature(dc.collect).parameters
    assert list(parameters)[:2] == ["answers", "protocol"]
    assert all(each.kind is each.KEYWORD_ONLY for each in list(parameters.values())[2:])


@pytest.mark.parametrize("protocol", ["auto", "grr", "oue", "hadamard", "rappor"])
def test_shares_of_answers_are_within_their_error_bars(protocol: str) -> None:
    release = dc.collect(ANSWERS, protocol, values=SONGS, epsilon=2, confidence=1 - 1e-9)
    rows = release.payload.to_pydict()
    assert rows["value"] == SONGS
    assert (np.abs(np.array(rows["count"]) - N * TRUE) <= rows["count_error_together"]).all()
    assert release.recipe.parameters["reports"] == N
    assert release.recipe.parameters["protocol"] == ("grr" if protocol == "auto" else protocol)
    assert len(release.pictures) == 1


def test_the_statement_says_that_answers_were_randomised_here() -> None:
    statement = dc.collect(ANSWERS, values=SONGS, epsilon="1/2").statement
    assert statement.loss == Pure(Fraction(1, 2))
    assert statement.evidence is Evidence.PROVED
    assert statement.replaces
    assert any("randomised here and not on the respondents' devices" in caveat for caveat in statement.caveats)


def test_reports_are_estimated_and_their_devices_are_assumed() -> None:
    device = collect.OLH(SONGS, epsilon=1)
    reports = device.randomize(ANSWERS)
    release = dc.collect(reports=reports, protocol=device)
    assert release.payload.equals(device.estimate(reports).table())
    assert any("Each device ran this protocol" in assumed for assumed in release.statement.assumes)
    assert not any("randomised here" in caveat for caveat in release.statement.caveats)
    assert not any(note.startswith("Alarm") for note in release.recipe.steps)


def test_made_up_reports_raise_an_alarm() -> None:
    device = collect.OUE(40, epsilon=1)
    same = pa.array([b"\xff" * 5] * 4_000, device.report_type)
    reports = pa.concat_arrays([device.randomize(np.arange(N) % 40), same])
    notes = dc.collect(reports=reports, protocol=device).recipe.steps
    assert any(note.startswith("Alarm") for note in notes)


@pytest.mark.parametrize("protocol", ["auto", "piecewise"])
def test_the_mean_of_numbers_is_within_its_error_bar(protocol: str) -> None:
    grid, numbers = collect.NumberGrid(0, 100), np.tile([10.0, 20.0, 60.0], N // 4)
    release = dc.collect(numbers, protocol, values=grid, epsilon=1, confidence=1 - 1e-9)
    (row,) = release.payload.to_pylist()
    assert abs(row["mean"] - 30) <= row["mean_error"] < 5
    assert row["reports"] == numbers.size


def test_several_questions_are_one_table() -> None:
    questions = collect.SampleQuestion({"like": ["no", "yes"], "albums": 4}, epsilon=2)
    answers = {"like": ["yes"] * 4_000, "albums": np.arange(4_000) % 4}
    payload = dc.collect(answers, questions).payload
    assert payload.column("question").to_pylist() == ["like"] * 2 + ["albums"] * 4
    assert payload.column("value").to_pylist() == ["no", "yes", "0", "1", "2", "3"]


def test_shares_are_post_processed_by_name() -> None:
    release = dc.collect(ANSWERS, "grr", values=SONGS, epsilon=1, postprocess="norm-sub")
    assert sum(release.payload.column("count").to_pylist()) == pytest.approx(N)
    assert any("norm-sub" in note for note in release.recipe.steps)
    with pytest.raises(BadInput, match="is for shares"):
        dc.collect([1.0] * 10, values=collect.NumberGrid(0, 1), epsilon=1, postprocess="norm-sub")


def test_answers_may_come_from_a_generator() -> None:
    release = dc.collect((song for song in SONGS * 10), values=SONGS, epsilon=1)
    assert release.recipe.parameters["reports"] == 40


def test_a_release_is_saved_and_read_again(tmp_path) -> None:
    release = dc.collect(ANSWERS, values=SONGS, epsilon=1, title="Songs")
    release.save(tmp_path / "songs")
    again = dc.Release.load(tmp_path / "songs")
    assert again.payload.equals(release.payload)
    assert (again.title, again.statement, again.recipe) == (release.title, release.statement, release.recipe)


def test_a_claim_that_does_not_hold_makes_no_release() -> None:
    with pytest.raises(NoPromise, match="Does not hold"):
        dc.collect(ANSWERS, Unsplit(SONGS, 1))


def test_the_audit_in_the_recipe_is_exact() -> None:
    notes = dc.collect(["no", "yes"] * 50, collect.Coins()).recipe.steps
    assert "Audit: Holds: the loss is 1.09861, and 1.099 is claimed." in notes
    assert isinstance(collect.Coins().report_distribution, Matrix)


def test_what_is_missing_or_too_much_is_said() -> None:
    device = collect.GRR(SONGS, 1)
    for wrong, message in (
        ({}, "answers or reports"),
        ({"answers": ANSWERS, "reports": device.randomize(ANSWERS), "protocol": device}, "answers or reports"),
        ({"answers": ANSWERS, "values": SONGS}, "no epsilon"),
        ({"answers": ANSWERS, "epsilon": 1}, "No values"),
        ({"answers": ANSWERS, "protocol": device, "epsilon": 1}, "already has values"),
        ({"answers": ANSWERS, "protocol": object()}, "must be a name, or a protocol object"),
        ({"reports": device.randomize(ANSWERS), "values": SONGS, "epsilon": 1}, "the protocol that made them"),
        ({"answers": [1.0], "protocol": "grr", "values": collect.NumberGrid(0, 1), "epsilon": 1}, "A mean cannot"),
        ({"answers": ["no"], "protocol": "coins", "values": ["no", "yes"], "epsilon": 1}, "a fixed epsilon"),
        ({"answers": {"a": [0, 1]}, "protocol": collect.Marginals({"a": 2}, 1, ways=1)}, "several tables"),
    ):
        with pytest.raises(BadInput, match=message):
            dc.collect(**wrong)
    with pytest.raises(NotFound, match="no protocol"):
        dc.collect(ANSWERS, "nonsense", values=SONGS, epsilon=1)
