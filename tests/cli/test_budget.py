"""`discreet budget`: what an epsilon means, drawn."""

import json
from xml.etree import ElementTree

from tests.curator.clinics import COUNT, clinic


def test_advice_can_be_drawn(command, tmp_path):
    said = command("budget", "advise", "--epsilon", "0.5", "--picture", "epsilon.svg")
    assert "62.2%" in said
    root = ElementTree.parse(tmp_path / "epsilon.svg").getroot()  # noqa: S314
    assert "0.5" in root.find("{http://www.w3.org/2000/svg}title").text


def test_the_drawing_changes_nothing_for_machines(command, tmp_path):
    words = ("budget", "advise", "--among", "4", "--risk", "1/3", "--sensitivity", "17/6", "--spread", "3", "--json")
    plain, drawn = json.loads(command(*words)), json.loads(command(*words, "--picture", "epsilon.svg"))
    assert plain == drawn and round(plain["largest_epsilon"], 4) == 0.3829
    assert (tmp_path / "epsilon.svg").read_text().count("0.3829") >= 1


def test_a_drawing_that_cannot_be_written_is_an_error(command):
    said = command("budget", "advise", "--epsilon", "1", "--picture", "nowhere/epsilon.svg", code=1)
    assert "nowhere" in said


def test_a_limit_can_be_changed_and_the_reason_stays(command, tmp_path):
    command("demo", "hospital", "--rows", "200")
    command("workspace", "init", "clinic", "--table", "patients=demo/patients.parquet", "--card", "demo/hospital.toml",
            "--budget", "epsilon=1")  # fmt: skip
    said = command("budget", "limit", "clinic", "patients", "--budget", "epsilon=5", "--why", "agreed")
    assert "ε = 5" in said
    assert "is not a budget" in command(
        "budget", "limit", "clinic", "patients", "--budget", "epsilon=1, epsilon=5", "--why", "a slip", code=1
    )


def test_a_limit_that_takes_something_away_has_to_be_meant(command, tmp_path):
    clinic(tmp_path / "clinic").close()
    command("ask", "clinic", COUNT, "--epsilon", "1")
    words = ("budget", "limit", "clinic", "visits", "--budget", "epsilon=0.5", "--why", "less")
    said = command(*words, code=1)
    assert "would have none" in said
    assert "more was already spent (ε = 1" in said
    assert "ε = 3" in command("budget", "show", "clinic")
    assert "ε = 0 is left" in command(*words, "--yes")
