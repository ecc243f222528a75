"""`discreet collect` as a person meets it: the lecture's survey from its file to its figures."""

from __future__ import annotations

import io
import json
import sys
import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.collect.survey.surveys import answers, survey

from discreet.collect.survey.file import EXAMPLE, dumps


@pytest.fixture
def run(command, tmp_path):
    pq.write_table(pa.Table.from_batches([answers(5_000)]), tmp_path / "answers.parquet")
    return command


def test_the_example_from_its_file_to_its_figures(run, tmp_path):
    assert "Next: discreet collect serve music.toml" in run("collect", "new", "music.toml")
    assert list(tomllib.loads((tmp_path / "music.toml").read_text())["questions"]) == [
        "like",
        "albums",
        "gender",
        "age",
    ]
    said = run("collect", "randomize", "answers.parquet", "--survey", "music.toml", "-o", "reports.parquet")
    assert said.startswith(
        "5,000 reports are in reports.parquet, in the order of the answers. For each respondent: ε = 2."
    )
    shown = run("collect", "estimate", "music.toml", "reports.parquet", "-o", "results")
    assert "5,000 people took part" in shown
    assert "upper quartile" in shown
    assert "Do you like the band?" in (tmp_path / "results" / "report.html").read_text()
    assert "For each respondent: ε = 2" in run("show", "results")
    found = json.loads(run("collect", "estimate", "music.toml", "reports.parquet", "--json"))
    [yes] = [one for one in found["figures"] if one["figure"] == "yes"]
    assert yes["low_together"] < 0.7 < yes["high_together"]
    assert found["statement"]["loss"] == {"kind": "pure", "epsilon": "2"}


class Typed(io.StringIO):
    """What somebody types at a terminal."""

    def isatty(self):
        return True


def test_on_a_terminal_the_questions_are_asked_for(run, tmp_path, monkeypatch):
    lines = [
        "smoke",
        "Do you smoke?",
        "yes/no",
        "town",
        "Where?",
        "Ulm | Bonn",
        "age",
        "How old?",
        "number 0 100 in 20 steps",
    ]
    monkeypatch.setattr(sys, "stdin", Typed("\n".join([*lines, "", ""])))
    run("collect", "new", "mine.toml")
    said = tomllib.loads((tmp_path / "mine.toml").read_text())["questions"]
    assert [one["kind"] for one in said.values()] == ["yes/no", "choice", "number"]
    assert said["town"]["values"] == ["Ulm", "Bonn"]
    assert (said["age"]["bounds"], said["age"]["steps"]) == ([0, 100], 20)


def test_new_takes_what_it_is_told_and_overwrites_nothing(run, tmp_path):
    run(
        "collect",
        "new",
        "s.toml",
        "--title",
        "Mine",
        "--epsilon",
        "1/2",
        "--people",
        "7",
        "--share",
        "split",
        "--codes",
        "c",
    )
    said = tomllib.loads((tmp_path / "s.toml").read_text())
    assert (said["title"], said["epsilon"], said["share"], said["people"]) == ("Mine", 0.5, "split", 7)
    assert len(set((tmp_path / "c").read_text().split())) == 7
    assert "there already" in run("collect", "new", "s.toml", code=1)
    assert "there already" in run("collect", "new", "t.toml", "--codes", "c", code=1)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["estimate", "no.toml"], "discreet collect new no.toml"),
        (["estimate", "music.toml"], "There are no reports at music.reports.jsonl"),
        (["estimate", "music.toml", "answers.parquet"], "not of this survey"),
        (["estimate", "answers.parquet"], "not text"),
        (["new", "s.toml", "--epsilon", "0"], "between 0 and 20"),
        (["new", "s.toml", "--share", "guessed"], "split or sampled"),
        (["serve", "music.toml", "--host", "192.0.2.1"], "in the clear"),
        (["serve", "music.toml", "--codes", "no.txt"], "no list of codes"),
    ],
)
def test_a_mistake_gets_one_clear_paragraph(run, tmp_path, words, says):
    (tmp_path / "music.toml").write_text(dumps(survey(EXAMPLE[0])))
    assert says in run("collect", *words, code=1)
