"""`discreet collect` as a person meets it: the lecture's survey from its file to its figures."""

from __future__ import annotations

import io
import json
import signal
import ssl
import subprocess
import sys
import tomllib

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.collect.survey.surveys import answers, survey
from tests.service.certificates import certificate

from discreet.verbs.collect.survey.file import EXAMPLE, dumps


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
    document = run("collect", "randomize", "answers.parquet", "--survey", "music.toml", "-o", "reports.parquet")
    assert document.startswith(
        "5,000 reports are in reports.parquet, in the order of the answers. For each respondent: ε = 2."
    )
    shown = run("collect", "estimate", "music.toml", "reports.parquet", "-o", "results")
    assert "5,000 people took part" in shown
    assert "upper quartile" in shown
    assert "Do you like the band?" in (tmp_path / "results" / "report.html").read_text()
    assert "For each respondent: ε = 2" in run("show", "results")
    result = json.loads(run("collect", "estimate", "music.toml", "reports.parquet", "--json"))
    [yes] = [one for one in result["figures"] if one["figure"] == "yes"]
    assert yes["low_together"] < 0.7 < yes["high_together"]
    assert result["statement"]["loss"] == {"kind": "pure", "epsilon": "2"}


def test_what_is_told_of_reports_that_are_made_up_and_of_a_named_step(run, tmp_path):
    run("collect", "new", "music.toml", "--share", "split")
    run("collect", "randomize", "answers.parquet", "--survey", "music.toml", "-o", "reports.parquet")
    one = pq.read_table(tmp_path / "reports.parquet").slice(0, 1)
    pq.write_table(pa.concat_tables([one] * 2_000), tmp_path / "made-up.parquet")
    both = ("collect", "estimate", "music.toml", "reports.parquet", "made-up.parquet")
    shown = run(*both, "--postprocess", "norm-sub")
    assert "Warning about age: " in shown
    assert "post-processed by norm-sub" in shown
    assert {one["question"] for one in json.loads(run(*both, "--json"))["alarms"]} >= {"albums", "age"}


def test_the_page_is_served_by_tls_and_by_nothing_else(tmp_path):
    cert, key = certificate(tmp_path / "tls")
    (tmp_path / "music.toml").write_text(dumps(survey()))
    words = ["collect", "serve", "music.toml", "--port", "0", "--cert", str(cert), "--key", str(key)]
    command = [sys.executable, "-m", "discreet.cli", *words]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().split()[-1]
            assert address.startswith("https://")
            with httpx.Client(verify=ssl.create_default_context(cafile=cert), timeout=60) as oracle:
                page = oracle.get(address)
                assert "Your answers stay with you" in page.text
                assert "max-age" in page.headers["strict-transport-security"]
                report = {"like": 1, "albums": "ff07", "gender": 2, "age": "000000"}
                sent = {"survey": survey().fingerprint, "id": "0" * 32, "code": None, "reports": report}
                origin = {"origin": address.rstrip("/")}
                assert oracle.post(f"{address.rstrip('/')}/reports", json=sent, headers=origin).status_code == 200
            with pytest.raises(httpx.HTTPError):
                httpx.get(address.replace("https", "http"), timeout=60)
            with pytest.raises(httpx.ConnectError, match="CERTIFICATE"):
                httpx.get(address, timeout=60)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
    assert len((tmp_path / "music.reports.jsonl").read_text().splitlines()) == 2


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
    document = tomllib.loads((tmp_path / "mine.toml").read_text())["questions"]
    assert [one["kind"] for one in document.values()] == ["yes/no", "choice", "number"]
    assert document["town"]["values"] == ["Ulm", "Bonn"]
    assert (document["age"]["bounds"], document["age"]["steps"]) == ([0, 100], 20)


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
    document = tomllib.loads((tmp_path / "s.toml").read_text())
    assert (document["title"], document["epsilon"], document["share"], document["people"]) == ("Mine", 0.5, "split", 7)
    assert len(set((tmp_path / "c").read_text().split())) == 7
    assert "already" in run("collect", "new", "s.toml", code=1)
    assert "already" in run("collect", "new", "t.toml", "--codes", "c", code=1)


def test_a_plan_says_how_exact_the_figures_will_be(run, tmp_path):
    """Of yes/no at ε = ln 3, p = 3/4: a share has the variance 3/16 / (1/2)^2 / n, so 0.75 / 300 for 300 people."""
    (tmp_path / "exam.toml").write_text(
        'title = "Exams"\nepsilon = 2\npeople = 5000\n[questions.cheat]\ntext = "Cheated?"\nkind = "yes/no"\n'
    )
    shown = run("collect", "plan", "exam.toml", "--people", "300", "--epsilon", "1.0986122886681098")
    assert "Exams: 300 people" in shown
    assert f"share ± {1.96 * (0.75 / 300) ** 0.5:.1%}" in shown
    (planned,) = json.loads(run("collect", "plan", "exam.toml", "--json"))["questions"]
    assert planned["answers"] == 5_000


def test_a_plan_gives_the_error_of_a_mean_in_its_own_unit(run, tmp_path):
    document = (
        'title = "Ill"\nepsilon = 1\npeople = 400\n[questions.days]\ntext = "Days?"\nkind = "number"\nsteps = 30\n'
    )
    for name, high in (("month", 30), ("year", 300)):
        (tmp_path / f"{name}.toml").write_text(f'{document}bounds = [0, {high}]\nwants = "mean"\n')
    month, year = (
        json.loads(run("collect", "plan", f"{name}.toml", "--json"))["questions"][0] for name in ("month", "year")
    )
    assert month["figure"] == "mean"
    assert year["error"] == pytest.approx(10 * month["error"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["estimate", "no.toml"], "discreet collect new no.toml"),
        (["estimate", "music.toml"], "There are no reports at music.reports.jsonl"),
        (["estimate", "music.toml", "answers.parquet"], "do not belong to the current version of this survey"),
        (["estimate", "answers.parquet"], "not text"),
        (["new", "s.toml", "--epsilon", "0"], "between 0 and 20"),
        (["new", "s.toml", "--share", "guessed"], "split or sampled"),
        (["serve", "music.toml", "--host", "192.0.2.1"], "unencrypted"),
        (["serve", "music.toml", "--codes", "no.txt"], "no list of codes"),
    ],
)
def test_a_mistake_gets_one_clear_paragraph(run, tmp_path, words, says):
    (tmp_path / "music.toml").write_text(dumps(survey(EXAMPLE[0])))
    assert says in run("collect", *words, code=1)
