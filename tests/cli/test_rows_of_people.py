"""A table whose identifiers repeat, on the command line: refused until its card says whose row is whose."""

import json

import pytest

CSV = "mrn,age,ill\n" + "".join(f"{n // 2},{n % 4},{('no', 'yes')[n % 2]}\n" for n in range(80))
CARD = """
[tables.visits]
{said}

[tables.visits.columns.mrn]
kind = "integer"
role = "identifier"

[tables.visits.columns.age]
kind = "integer"
role = "quasi"
bounds = [0, 9]

[tables.visits.columns.ill]
kind = "text"
role = "sensitive"
categories = ["no", "yes"]
"""
MADE = ("--table", "visits=visits.csv", "--card", "visits.toml", "--budget", "epsilon=1")
COMMANDS = {
    "publish": ("publish", "visits.csv", "--card", "visits.toml", "--model", "k=5", "-o", "release"),
    "check": ("check", "visits.csv", "--card", "visits.toml", "--model", "k=2"),
    "workspace": ("workspace", "init", "clinic", *MADE),
}


@pytest.fixture
def said(tmp_path):
    """Write the data and a card that says this of its table."""

    def write(line=""):
        (tmp_path / "visits.csv").write_text(CSV)
        (tmp_path / "visits.toml").write_text(CARD.format(said=line))

    return write


@pytest.mark.parametrize("name", COMMANDS)
def test_identifiers_that_repeat_are_refused_until_the_card_says_who_is_who(name, command, said, tmp_path):
    said()
    before = sorted(tmp_path.iterdir())
    refused = command(*COMMANDS[name], code=3)
    assert "Several rows of visits share identifiers: mrn repeats." in refused
    assert 'unit = "mrn"' in refused
    assert "rows_are_people = true" in refused
    assert sorted(tmp_path.iterdir()) == before, "nothing is left behind"
    said("rows_are_people = true")
    command(*COMMANDS[name])


def test_check_says_what_it_takes_from_the_card(command, said):
    said("rows_are_people = true")
    assert "Assumed: Each row is a different person, even if identifiers repeat" in command(*COMMANDS["check"])
    assert "rows_are_people" in json.loads(command(*COMMANDS["check"], "--json"))["assumes"][0]
