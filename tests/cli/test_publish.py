"""`discreet publish` and `discreet card from-arx`, as a person meets them."""

import json
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.publish.test_arx import project

import discreet as dc
from discreet.cli.publish import publish
from discreet.errors import BadInput


@pytest.fixture
def inpatient(tmp_path):
    table = dc.samples.inpatient()
    pyarrow.csv.write_csv(table.fetch(), tmp_path / "inpatient.csv")
    (tmp_path / "inpatient.toml").write_text(dc.dump_cards([table.card]))
    return "inpatient.csv", "--card", "inpatient.toml"


def test_a_file_becomes_a_release(command, inpatient, tmp_path):
    said = command("publish", *inpatient, "--model", "k=4", "--model", "l=3 on condition", "-o", "release", "--csv")
    assert "4-anonymous and 3-diverse on condition" in said
    assert "12 of 12 rows, 0.0 % suppressed" in said
    assert "report.html" in said
    release = dc.Release.load(tmp_path / "release")
    assert release.private
    assert release.payload.num_rows == 12
    assert (tmp_path / "release" / "payload.csv").is_file()
    assert "4-anonymous" in command("show", "release")


def test_a_machine_reads_json(command, inpatient):
    said = json.loads(command("publish", *inpatient, "--model", "k=4", "-o", "release", "--json"))
    assert said["release"] == "release"
    assert said["recipe"]["parameters"]["classes"] == 3
    assert said["statement"]["evidence"] == "checked"


def test_levels_and_suppression_are_taken(command, inpatient, tmp_path):
    options = ("--level", "age=1", "--level", "zip=0..2", "--suppress", "34%", "--quality", "discernibility")
    command("publish", *inpatient, "--model", "k=3", *options, "-o", "release")
    made = dc.Release.load(tmp_path / "release").recipe.parameters
    assert made["levels"]["age"] == 1
    assert made["suppressed"] <= 4
    assert made["measure"] == "discernibility"


@pytest.fixture
def six(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = dc.samples.age6()
    pq.write_table(table.fetch(), "six.parquet")
    Path("six.toml").write_text(dc.dump_cards([table.card]))
    publish("six.parquet", "six.toml", model=["k=2"], level=["age=0", "weight=1"], output=Path("by_age"))


def test_a_second_release_that_reveals_too_much_is_refused(command, six):
    by_weight = ("--model", "k=2", "--level", "age=1", "--level", "weight=0", "-o", "by_weight")
    said = command("publish", "six.parquet", "--card", "six.toml", *by_weight, "--earlier", "by_age", code=3)
    assert "6 of 6 people are unique" in said
    assert not Path("by_weight").exists()


def test_that_another_release_is_out_is_said(six, capsys):
    Path("other").mkdir()
    Path("other", "recipe.json").write_text("{}")  # somebody else's
    again = {"model": ["k=2"], "level": ["age=0", "weight=1"]}
    publish("six.parquet", "six.toml", **again, output=Path("alone"))
    assert "--earlier by_age" in " ".join(capsys.readouterr().err.split())
    publish("six.parquet", "six.toml", **again, earlier=["by_age", "alone"], output=Path("again"))
    assert "earlier releases about the same people" not in capsys.readouterr().err


@pytest.mark.parametrize("method", ["local", "mondrian", "suppress-cells"])
def test_every_method_can_be_asked_for_and_given_again(command, inpatient, tmp_path, method):
    options = ("--model", "k=2", "--method", method, "--holder", "key.parquet", "-o", "first")
    command("publish", *inpatient, *options)
    assert (tmp_path / "key.parquet").is_file()
    again = ("--model", "k=2", "--level", "age=3", "--level", "zip=3", "--level", "nationality=1")
    command("publish", *inpatient, *again, "--earlier", "first=key.parquet", "-o", "second")
    assert "cannot be recovered from it" in command(
        "publish", *inpatient, *again, "--earlier", "first", "-o", "third", code=1
    )


def test_dummies_fill_up_classes(command, inpatient, tmp_path):
    levels = ("--level", "age=2", "--level", "zip=2", "--level", "nationality=1")
    command("publish", *inpatient, "--model", "k=5", "--method", "dummies", *levels, "-o", "release")
    release = dc.Release.load(tmp_path / "release")
    assert release.recipe.parameters["dummies"] == release.payload.num_rows - 12 > 0


def test_advice_publishes_nothing(command, inpatient, tmp_path):
    before = sorted(tmp_path.iterdir())
    said = command("publish", *inpatient, "--advise")
    assert "Information loss of anonymity" in said
    assert "are unique on the quasi-identifiers" in said
    told = json.loads(command("publish", *inpatient, "--advise", "--model", "k=2", "--json"))
    assert [cost["columns"] for cost in told["costs"]][-1] == ["age", "zip", "nationality"]
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"method": "magic"}, "no method"),
        ({"method": "synthesize epsilon=1"}, "synthesize is a separate verb"),
        ({"method": "generalise"}, "did you mean 'generalize'"),
        ({"quality": "good"}, "no quality measure 'good'"),
        ({"quality": "granularty"}, "did you mean 'granularity'"),
        ({"model": ["l=3 on conditoin"]}, "did you mean 'condition'"),
        ({"model": ["entropie l=3"]}, "did you mean 'entropy l'"),
        ({"level": ["age=9"]}, "--level age=0..3"),
        ({"level": ["agee=1"]}, "did you mean 'age'"),
        ({"earlier": ["."]}, "is not a release"),
        ({"level": ["age"]}, "is not a level"),
        ({"suppress": "200%"}, "must be at most 100 %"),
        ({"method": "mondrian", "suppress": "5%"}, "does not apply to --method mondrian"),
        ({"holder": Path("key.parquet")}, "has no holder's copy"),
        ({"weight": ["age=2"]}, "does not apply to --method generalize"),
        ({"method": "suppress-cells", "weight": ["age"]}, "COLUMN=NUMBER"),
        ({"method": "dummies", "level": ["age=0..1"]}, "whole number"),
        ({"method": "local", "quality": "entropy"}, "a sum over cells, not entropy"),
        ({"earlier": ["nowhere"]}, "no folder"),
        ({"card": None}, "add --card"),
        ({"model": None}, "add --model"),
        ({"output": None}, "add --output"),
    ],
)
def test_errors_say_what_to_do(inpatient, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    right = {"card": "inpatient.toml", "model": ["k=2"], "output": Path("release")}
    with pytest.raises(BadInput, match=said):
        publish("inpatient.csv", **(right | words))


def test_an_impossible_wish_is_refused(command, inpatient):
    assert "Refused" in command("publish", *inpatient, "--model", "k=13", "-o", "release", code=3)


def test_a_project_of_arx_becomes_a_card_and_a_command(command, tmp_path):
    project(tmp_path)
    command("card", "from-arx", "clinic.deid", "-o", "clinic.toml")
    command("card", "check", "clinic.toml")
    assert dc.load_card(tmp_path / "clinic.toml")["age"].role is dc.Role.QUASI
    assert "already" in command("card", "from-arx", "clinic.deid", "-o", "clinic.toml", code=1)
    said = json.loads(command("card", "from-arx", "clinic.deid", "--json"))
    assert said["models"][0] == "k=5"
    assert "[tables.clinic" in command("card", "from-arx", "clinic.deid")


def test_what_is_wrong_is_said_before_what_is_out(six, capsys):
    Path("full").mkdir()
    Path("full", "file").touch()
    right = {"model": ["k=2"], "output": Path("second")}
    capsys.readouterr()
    for wrong in ({"level": ["age=9"]}, {"output": Path("full")}, {"method": "magic"}, {"earlier": ["nowhere"]}):
        with pytest.raises(BadInput):
            publish("six.parquet", "six.toml", **(right | wrong))
    assert "earlier releases about the same people" not in capsys.readouterr().err


def test_releases_are_called_by_their_folders(command, six):
    by_weight = ("--model", "k=2", "--level", "age=1", "--level", "weight=0", "-o", "by_weight", "--earlier", "by_age")
    assert "Together with “by_age”" in command("publish", "six.parquet", "--card", "six.toml", *by_weight, code=3)


def test_fixed_levels_are_named_as_these(command, six):
    fixed = ("--model", "k=2", "--level", "age=0", "--level", "weight=0", "-o", "fixed")
    assert "At these levels the table is not 2-anonymous" in command(
        "publish", "six.parquet", "--card", "six.toml", *fixed, code=3
    )


def test_stopped_means_nothing_was_written(command, inpatient, tmp_path, monkeypatch):
    def stop(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.verbs.publish.generalize.Generalize.recode", stop)
    said = command("publish", *inpatient, "--model", "k=4", "-o", "release", code=130)
    assert said.strip() == "Stopped. Nothing was written."
    assert not (tmp_path / "release").exists()
    monkeypatch.setattr("discreet.models.check.check", stop)
    assert command("check", *inpatient, code=130).strip() == "Stopped."
