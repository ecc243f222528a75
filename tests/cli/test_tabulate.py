"""`discreet tabulate` as people call it."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest
from tests.called import called

import discreet as dc

FIRMS = ["tabulate", "firms.parquet", "--card", "firms.toml", "--by", "region × size", "--value", "turnover"]
PUBLISHED = """municipality,profession,value,count,largest_1
M1,P1,360,2,200
M1,P2,450,15,60
M1,P3,720,30,40
M2,P1,1440,72,30
M2,P2,540,20,50
M2,P3,22,1,22
M3,P1,722,38,40
M3,P2,1178,38,80
M3,P3,363,5,350
"""


@pytest.fixture
def folder(tmp_path):
    firms = dc.samples.firms(300, seed=2)
    pq.write_table(firms.fetch(), tmp_path / "firms.parquet")
    (tmp_path / "firms.toml").write_text(dc.dump_cards([firms.card]), encoding="utf-8")
    (tmp_path / "published.csv").write_text(PUBLISHED, encoding="utf-8")
    return tmp_path


def test_rows_become_a_table_that_is_audited_from_its_folder(folder):
    done = called([*FIRMS, "--rule", "p=10", "-o", "table", "--csv", "--xlsx", "table.xlsx"], folder)
    assert done.code == 0, done.stderr
    assert "×" in done.stdout
    assert "(confidential)" in done.stdout
    names = {path.name for path in folder.iterdir()}
    assert {"table", "table.xlsx", "table.holder.parquet"} <= names
    assert (folder / "table" / "payload.csv").is_file()
    assert (folder / "table.holder.parquet").stat().st_mode & 0o077 == 0
    shown = called(["show", "table.holder.parquet", "--page", "table.html"], folder)
    assert "sensitive" in shown.stdout
    assert 'class="sensitive"' in (folder / "table.html").read_text(encoding="utf-8")
    assert (folder / "table.html").stat().st_mode & 0o077 == 0
    seen = called(["tabulate", "audit", "table"], folder)
    assert "None of them can be computed exactly." in seen.stdout
    assert "Every sensitive cell keeps the interval that its rule requires." in seen.stdout
    (folder / "table.holder.parquet").unlink()
    told = json.loads(called(["tabulate", "audit", "table", "--json"], folder).stdout)
    assert all(row["low"] < row["high"] for row in told["hidden"])
    assert told["hidden"]


def test_a_table_of_figures_is_protected(folder):
    done = called(["tabulate", "--table", "published.csv", "--rule", "n=1,k=0.7", "-o", "given", "--json"], folder)
    assert done.code == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    hidden = {(row["municipality"], row["profession"]) for row in rows if row["hidden"]}
    assert {("M2", "P3"), ("M3", "P3")} <= hidden
    assert len(rows) == 16


def test_a_table_is_folded_to_the_width_of_the_terminal(folder):
    line = ["tabulate", "--table", "published.csv", "--rule", "n=1,k=0.7", "-o"]
    wide, narrow = (called([*line, f"at{width}"], folder, width).stdout for width in (140, 22))
    assert sum("M3" in one for one in wide.splitlines()) < sum("M3" in one for one in narrow.splitlines())
    assert "report.html" not in narrow


def test_a_holders_file_of_another_release_is_refused(folder):
    for name in ("one", "two"):
        rule = "n=1,k=0.7" if name == "one" else "cells=M1,P2"
        assert called(["tabulate", "--table", "published.csv", "--rule", rule, "-o", name], folder).code == 0
    done = called(["tabulate", "audit", "one", "--holder", "two.holder.parquet"], folder)
    assert done.code == 1
    assert "is not the holder's copy of" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tabulate", "-o", "x"], "Which table?"),
        ([*FIRMS, "--rule", "p=10"], "--output"),
        ([*FIRMS, "-o", "x"], "No sensitivity rule given"),
        ([*FIRMS, "--rule", "q=10", "-o", "x"], "is not a rule"),
        ([*FIRMS, "--method", "rund base=5", "-o", "x"], "did you mean 'round'"),
        (["tabulate", "firms.parquet", "--by", "size", "--method", "noise epsilon=1"], "workspace"),
        (["tabulate", "--table", "published.csv", "--totals", "x", "--rule", "min=3", "-o", "x"], "names no file"),
        ([*FIRMS, "--rule", "p=10", "-o", "x", "--secret", "x/secret"], "inside the release folder"),
        ([*FIRMS, "--rule", "p=10", "-o", "x", "--xlsx", "nowhere/x.xlsx"], "There is no folder"),
        ([*FIRMS, "--rule", "p=10", "-o", "x", "--xlsx", "x.holder.parquet"], "the same name"),
        ([*FIRMS, "--rule", "p=10", "-o", "x", "--totals", "a=b"], "--totals does not apply to rows"),
        (["tabulate", "--table", "published.csv", "--weight", "w", "--rule", "min=3", "-o", "x"], "does not apply"),
        ([*FIRMS, "--rule", "p=10", "-o", "x", "--dry-run"], "--dry-run does not apply to suppress"),
        (["tabulate", "adit", "table"], "did you mean 'audit'"),
        (["tabulate", "clinic", "--table", "t", "--method", "noise epsilon=1", "--rule", "min=3"], "does not apply"),
    ],
)
def test_what_is_missing_or_wrong_is_said(folder, words, said):
    done = called(words, folder)
    assert done.code == 1
    assert said in done.stderr
    assert not (folder / "x").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tabulate", "firms.parquet", "other", "-o", "x"], "unexpected extra argument"),
        (["tabulate", "audit"], "Missing argument 'FOLDER'"),
    ],
)
def test_words_too_many_or_too_few_are_said(folder, words, said):
    done = called(words, folder)
    assert done.code == 2
    assert said in done.stderr


def test_noise_goes_through_the_one_door(folder):
    dc.samples.hospital(rows=200, seed=1).write(folder / "data")
    made = called(
        [
            *("workspace", "init", "clinic", "--table", "patients=data/patients.parquet"),
            *("--card", "data/hospital.toml", "--budget", "epsilon=3"),
        ],
        folder,
    )
    assert made.code == 0, made.stderr
    line = ["tabulate", "clinic", "--table", "patients", "--by", "sex × insurance", "--method", "noise epsilon=1"]
    done = called([*line, "-o", "noisy"], folder)
    assert done.code == 0, done.stderr
    assert "It cost" in done.stdout
    assert dc.Release.load(folder / "noisy").statement.loss == dc.Pure(1)
    assert "so it is free" in called(line, folder).stdout


def test_a_secret_is_made_once_and_used_again(folder):
    line = [
        "tabulate",
        "firms.parquet",
        "--card",
        "firms.toml",
        "--by",
        "size",
        "--method",
        "cell-key",
        "--secret",
        "s",
    ]
    made = [json.loads(called([*line, "-o", name, "--json"], folder).stdout)["rows"] for name in ("one", "two")]
    assert made[0] == made[1]
    assert (folder / "s").stat().st_mode & 0o077 == 0
    (folder / "s").write_bytes(b"")
    assert called([*line, "-o", "three"], folder).code == 1


def test_what_was_changed_is_not_audited(folder):
    line = ["tabulate", "--table", "published.csv", "--method", "round base=10", "-o", "rounded"]
    assert called(line, folder).code == 0
    done = called(["tabulate", "audit", "rounded"], folder)
    assert done.code == 1
    assert "has no suppressed cells" in done.stderr
