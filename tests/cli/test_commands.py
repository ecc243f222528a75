"""The commands as a person meets them, in an empty folder."""

import json
import os
import subprocess
import sys
import tomllib

import pytest
from tests.called import called

CSV = "zip,age,nationality,condition\n13053,28,Russian,Heart\n13068,29,American,Heart\n13068,21,Japanese,Viral\n"
CARD = """
[tables.patients.columns.zip]
kind = "text"
role = "quasi"
hierarchy = { type = "mask", length = 5 }

[tables.patients.columns.age]
kind = "integer"
role = "quasi"
bounds = [0, 25]

[tables.patients.columns.nationality]
kind = "text"
role = "quasi"
"""


@pytest.fixture
def run(command, tmp_path):
    (tmp_path / "patients.csv").write_text(CSV)
    (tmp_path / "patients.toml").write_text(CARD)
    return command


def test_a_draft_is_toml_on_standard_output_and_nothing_else(run, tmp_path):
    (tmp_path / "drafted.toml").write_text(run("card", "draft", "patients.csv"))
    said = tomllib.loads((tmp_path / "drafted.toml").read_text())
    assert said["tables"]["patients"]["columns"]["zip"]["kind"] == "text"
    assert said["tables"]["patients"]["columns"]["condition"]["role"] == "sensitive"
    run("card", "check", "drafted.toml", "--data", "patients.csv")


def test_show_says_how_recognisable_people_are(run):
    shown = run("show", "patients.csv", "--card", "patients.toml")
    assert "100.0 % of the records (3) are unique on zip, age, nationality" in shown
    assert "age: 2 rows are outside the declared bounds" in shown
    figures = json.loads(run("show", "patients.csv", "--card", "patients.toml", "--json"))
    assert figures["together"]["unique"] == 3
    assert figures["violations"][0]["count"] == 2


def test_a_card_is_checked_alone_and_with_its_data(run, tmp_path):
    assert "The card is valid." in run("card", "check", "patients.toml")
    checked = json.loads(run("card", "check", "patients.toml", "--json"))
    assert checked["tables"]["patients"]["columns"]["zip"] == "quasi"
    assert "a sensitive column: none is declared" in checked["tables"]["patients"]["open"]
    assert "age: 2 rows" in run("card", "check", "patients.toml", "--data", "patients.csv", code=1)
    (tmp_path / "patients.toml").write_text(CARD.replace("[0, 25]", "[0, 120]"))
    assert "not on the card, so never used: condition" in run(
        "card", "check", "patients.toml", "--data", "patients.csv"
    )


def test_a_draft_never_overwrites_a_card(run, tmp_path):
    run("card", "draft", "patients.csv", "-o", "new.toml")
    assert "patients" in tomllib.loads((tmp_path / "new.toml").read_text())["tables"]
    assert "already" in run("card", "draft", "patients.csv", "-o", "new.toml", code=1)
    drafted = json.loads(run("card", "draft", "patients.csv", "--json"))
    assert drafted["tables"]["patients"]["columns"]["zip"]["role"] == "quasi"


def test_several_tables_are_drafted_into_one_card_with_a_picture_of_their_keys(run, tmp_path):
    (tmp_path / "people.csv").write_text("id,sex\n" + "".join(f"P{n:03},f\n" for n in range(60)))
    (tmp_path / "visits.csv").write_text("people_id,cost\n" + "".join(f"P{n % 30:03},{n}\n" for n in range(90)))
    run("card", "draft", "people.csv", "visits.csv", "-o", "both.toml", "--picture", "keys.svg")
    tables = tomllib.loads((tmp_path / "both.toml").read_text())["tables"]
    assert {name: (one["unit"], one["population"]) for name, one in tables.items()} == {
        "people": ("id", "people"),
        "visits": ("people_id", "people"),
    }
    assert "visits.people_id" in (tmp_path / "keys.svg").read_text()
    drafted = json.loads(run("card", "draft", "people.csv", "visits.csv", "--json"))
    assert drafted["links"][0]["included"] == 30
    assert "several tables" in run("card", "draft", "people.csv", "--picture", "new.svg", code=1)


def test_names_that_look_like_markup_are_printed_as_they_are(run, tmp_path):
    (tmp_path / "odd.csv").write_text("a[/b],c\n1,2\n")
    run("card", "draft", "odd.csv", "-o", "odd.toml")
    assert "a[/b]" in run("show", "odd.csv", "--card", "odd.toml")


def test_a_terminal_that_cannot_show_a_character_does_not_stop_anything(tmp_path):
    (tmp_path / "p.csv").write_text("größe,plz\n1,2\n")
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "discreet.cli", "card", "draft", "p.csv"]
    drafted = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=True).stdout.decode()
    (tmp_path / "p.toml").write_text(drafted)
    assert "größe" in tomllib.loads(drafted)["tables"]["p"]["columns"]
    command[3:] = ["show", "p.csv", "--card", "p.toml"]
    subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=True)


def test_the_schema_is_json(run):
    assert json.loads(run("card", "schema"))["title"] == "discreet data card"


def test_the_demo_runs_twice_and_leaves_a_release_that_can_be_shown(run, tmp_path):
    run("demo", "hospital", "--rows", "300")
    figures = json.loads(run("demo", "hospital", "demo", "--rows", "300", "--json"))
    assert figures["named"][0] > figures["named"][1]
    assert "no privacy promise" in run("show", "demo/release")
    assert json.loads(run("show", "demo/release", "--json"))["recipe"]["method"] == "generalise"
    (tmp_path / "demo/release/recipe.json").write_text("{}")
    assert "recipe.json" in run("show", "demo/release", code=1)


def test_the_demo_touches_nobody_elses_files(run, tmp_path):
    assert "is not empty" in run("demo", "hospital", ".", code=1)
    assert (tmp_path / "patients.csv").read_text() == CSV
    assert "cannot be used" in run("demo", "messy", "patients.csv", code=1)


def test_with_json_an_error_is_json_too(tmp_path):
    found = called(["show", "no.csv", "--card", "no.toml", "--json"], tmp_path)
    assert json.loads(found.stdout)["error"] == "NotFound"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["show", "patients.csv"], 1, "add --card"),
        (["show", "no.csv", "--card", "patients.toml"], 1, "There is no file"),
        (["show", "patients.csv", "--card", "no.toml"], 1, "discreet card draft DATA -o no.toml"),
        (["show", "patients.csv", "--card", "patients.toml", "--table", "no"], 1, "no table 'no'"),
        (["show", "postgresql:/u:hunter2@h/db#t", "--card", "patients.toml"], 1, "has no //"),
        (["show", "postgresql://h/db?user=u&password=hunter2#t"], 1, "postgresql://h/db#t"),
        (["show", "postgresql://u:hun#ter2:hunter2@h/db#t", "--card", "patients.toml"], 1, ""),
        (["show", "patients.csv", "--card", "patients.csv"], 1, "not valid TOML"),
        (["card", "draft", "patients.toml"], 1, "no known ending"),
        (["show", "postgresql://u:hunter2@127.0.0.1:1/db#t", "--card", "patients.toml"], 1, "No answer"),
        (["show", "sc://127.0.0.1:1#t", "--card", "patients.toml"], 1, "No answer"),
        (["frobnicate"], 2, "No such command"),
        (["demo", "hospital", "--rows", "1"], 2, "--rows"),
    ],
)
def test_a_mistake_gets_one_clear_paragraph_and_never_a_password(run, words, code, says):
    said = run(*words, code=code)
    assert says in said
    assert "hunter2" not in said
    assert len(said.splitlines()) <= 6


def test_debug_shows_the_traceback(tmp_path):
    command = [sys.executable, "-m", "discreet.cli", "--debug", "show", "no.csv", "--card", "no.toml"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "Traceback" in found.stderr


def test_help_and_version_load_nothing_heavy():
    code = (
        "import sys; sys.argv = ['discreet', '--help']\nfrom discreet.cli.main import run\n"
        "try: run()\nexcept SystemExit: pass\n"
        "print(sorted({'numpy', 'pyarrow', 'duckdb', 'sqlglot', 'rich'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.endswith("[]\n")
