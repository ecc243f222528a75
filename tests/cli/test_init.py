"""`discreet init`: from a messy file to a card that reads it and a workspace; it asks what only you can know."""

import io
import json

import openpyxl
import pytest
from tests.called import called

from discreet.core.card import Role
from discreet.core.cardfile import load_card
from discreet.engines.read import read
from discreet.samples import messy

ROWS = "code,zip,amount\n" + "".join(f"{n % 7},130{n % 40:02},{n}\n" for n in range(100))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("init")
    file = messy(600, seed=2)
    file.write(folder)
    return folder, file


def test_a_messy_file_becomes_a_card_that_reads_it_and_a_workspace(made):
    folder, file = made
    words = ["init", "stays.csv", "--yes", "--rows-per-unit", "12", "--role", "ward=other"]
    done = called([*words, "--workspace", "clinic", "--budget", "epsilon=3, delta=1e-6", "--json"], folder)
    assert done.code == 0, done.stderr
    assert json.loads(done.stdout)["undecided"] == []
    card = load_card(folder / "card.toml")
    assert card.unit == "patient_no"
    assert card.rows_per_unit == 12
    assert card["ward"].role is Role.OTHER
    assert card["note"].role is Role.IDENTIFIER, "free text may name people"
    found = read(folder / "stays.csv", card)
    assert {one.column for one in found.misfits} == {"born", "cost"}
    for name in ("patient_no", "born", "zip", "town", "height_cm", "admitted", "smoker", "note"):
        assert found.fetch().column(name).to_pylist() == file.truth.column(name).to_pylist(), name
    assert (folder / "clinic" / "workspace.toml").is_file()
    assert "already" in called(words, folder).stderr  # nothing is overwritten


def test_what_is_unclear_is_asked_and_nothing_else(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text(ROWS)
    monkeypatch.setattr("sys.stdin", io.StringIO("x\ns\n"))
    done = called(["init", "t.csv", "--role", "amount=sensitive"], tmp_path)
    assert done.code == 0, done.stderr
    assert done.stderr.count("Role:") == 2  # the first answer was none
    assert [one.role.value for one in load_card(tmp_path / "card.toml").columns] == ["sensitive", "quasi", "sensitive"]


def test_the_card_has_no_question_that_was_answered(made, monkeypatch):
    folder, _ = made
    monkeypatch.setattr("sys.stdin", io.StringIO("y\nmany\n0\n12\nm\nm\n"))
    done = called(["init", "stays.csv", "--role", "town=other", "-o", "asked.toml"], folder)
    assert done.code == 0, done.stderr
    assert "'many' is not a whole number of at least 1" in done.stderr
    assert "'0' is not" in done.stderr
    text = (folder / "asked.toml").read_text()
    assert "8 distinct values. other: decided by a person." in text
    assert "repeats, so it is taken as the unit" in text
    assert "Declare rows_per_unit" not in text


def test_of_a_workbook_the_longest_sheet_is_drafted_unless_one_is_named(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["Legend"])
    rows = book.create_sheet("Fälle")
    for row in [["Bericht", None], ["zip", "xq"], *([f"130{n % 40:02}", n % 7] for n in range(100))]:
        rows.append(row)
    book.save(tmp_path / "b.xlsx")
    done = called(["init", "b.xlsx", "--yes"], tmp_path)
    assert done.code == 0, done.stderr
    card = load_card(tmp_path / "card.toml")
    assert (card.file.sheet, card.file.header, len(card.columns)) == ("Fälle", 2, 2)
    assert "drafted from the sheet 'Fälle'" in (tmp_path / "card.toml").read_text()
    assert "Set their roles on the card" in done.stdout
    assert "discreet publish" not in done.stdout, "nothing undecided can be published"
    done = called(["card", "draft", "b.xlsx", "--sheet", "None"], tmp_path)
    assert "has no sheet 'None'; it has Sheet, Fälle" in done.stderr
    done = called(["init", "b.xlsx", "c.xlsx", "--yes", "--sheet", "Fälle", "-o", "x.toml"], tmp_path)
    assert "--sheet is for one workbook" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--role", "age=quasi"], "--role 'age=quasi' is not a role"),
        (["--role", "zip=public"], "roles are identifier"),
        (["--workspace", "w"], "needs a budget"),
        (["--budget", "lots"], "is not a budget"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_written(tmp_path, words, says):
    (tmp_path / "t.csv").write_text(ROWS)
    done = called(["init", "t.csv", "--yes", *words], tmp_path)
    assert (done.code, says in done.stderr) == (1, True), done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["t.csv"]
