"""`discreet check`, as a person meets it."""

import json

import pytest
from tests.called import called

CSV = """zip,age,disease
130**,<30,Heart
130**,<30,Viral
1485*,>=40,Cancer
1485*,>=40,Cancer
1485*,>=40,Viral
"""
CARD = """
[tables.patients.columns.zip]
kind = "text"
role = "quasi"

[tables.patients.columns.age]
kind = "text"
role = "quasi"

[tables.patients.columns.disease]
kind = "text"
role = "sensitive"
"""


@pytest.fixture
def run(command, tmp_path):
    (tmp_path / "patients.csv").write_text(CSV)
    (tmp_path / "patients.toml").write_text(CARD)
    return lambda *words, code=0: command("check", "patients.csv", "--card", "patients.toml", *words, code=code)


@pytest.fixture
def broken(run, tmp_path):
    """What is printed of models that do not hold."""

    def said(*words):
        found = called(["check", "patients.csv", "--card", "patients.toml", *words], tmp_path)
        assert (found.code, found.stderr) == (1, "")
        return found.stdout

    return said


def test_models_that_hold(run):
    shown = run("--model", "k=2", "--model", "l=2 on disease")
    assert "patients: 5 rows in 2 classes on zip, age; 0 unique." in shown
    assert "2-anonymous" in shown
    assert "All models hold." in shown


def test_a_model_that_does_not_hold_is_shown_with_its_worst_class_and_exits_with_1(broken):
    found = json.loads(broken("--model", "k=3", "-m", "l=2", "--json"))
    assert not found["holds"]
    k, diverse = found["models"]
    assert (k["holds"], k["figure"], k["exposed"]) == (False, 2, 2)
    assert k["worst"] == {"zip": "130**", "age": "<30"}
    assert diverse["holds"]
    shown = broken("--model", "k=3")
    assert "zip = 130**, age = <30" in shown
    assert "1 of 1 models do not hold." in shown


def test_without_a_model_it_says_what_holds(run):
    shown = run()
    assert "2-anonymous" in shown
    assert "0.4-close on disease" in shown
    assert "discreet publish" in shown


def test_a_picture_of_the_class_sizes(run, tmp_path):
    run("--model", "k=2", "--picture", "sizes.svg")
    assert "2: 2; 3 to 4: 3" in (tmp_path / "sizes.svg").read_text()
    run("--model", "k=2", "--picture", "sizes.html")
    drawn = (tmp_path / "sizes.html").read_text()
    assert "2-anonymous" in drawn
    assert "default-src 'none'" in drawn
    assert ".svg or .html" in run("--picture", "sizes.png", code=1)


def test_what_is_missing_or_misspelt_is_said(run, command):
    assert "add --card" in command("check", "patients.csv", code=1)
    assert "recursive c=2 l=3 [on COLUMN]" in run("--model", "anonymous", code=1)
    assert "no column 'illness'" in run("--model", "l=3 on illness", code=1)


def test_a_population_beside_the_table(run, tmp_path):
    (tmp_path / "town.csv").write_text(CSV + "130**,<30,\n" * 3)
    run("--model", "k-map=3 in town.csv")
    run("--model", "k-map=3 in town.csv", "--model", "presence=0..1 in ./town.csv")
    assert "k-map" in run("--model", "k-map=3", code=1)


def test_a_release_is_checked_as_it_left(command, tmp_path):
    ages = "zip,age,disease\n" + "".join(f"130{n % 2}0,{20 + n},{'flu' if n % 3 else 'pox'}\n" for n in range(12))
    (tmp_path / "people.csv").write_text(ages)
    card = CARD.replace("patients", "people").replace('age]\nkind = "text"', 'age]\nkind = "integer"\nbounds = [0, 99]')
    (tmp_path / "people.toml").write_text(card.replace('role = "quasi"\n\n[tables.people.columns.disease', _WIDE, 1))
    command("publish", "people.csv", "--card", "people.toml", "--model", "k=3", "-o", "out")
    assert "All models hold" in command("check", "out", "--card", "people.toml", "--model", "k=3")
    assert called(["check", "out", "--card", "people.toml", "--model", "k=13"], tmp_path).code == 1
    (tmp_path / "out" / "recipe.json").write_text("{}")
    assert "recipe.json" in command("check", "out", "--card", "people.toml", "--model", "k=3", code=1)


_WIDE = """role = "quasi"
hierarchy = { type = "intervals", widths = [5, 10] }

[tables.people.columns.disease"""
