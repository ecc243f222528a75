"""`discreet compare` from the shell's side."""

import json

import pyarrow.parquet as pq
import pytest
from tests.utility.sides import people
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.main import app
from discreet.errors import BadInput

RUN = CliRunner()
DATA = ["compare", "people.parquet", "--card", "people.toml"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(people().fetch().slice(0, 100), "people.parquet")
    (tmp_path / "people.toml").write_text(dc.dump_cards([people().card]))
    (tmp_path / "menu.toml").write_text('methods = ["noise alpha=0.1"]\n')
    return tmp_path


def test_a_map_is_written_and_what_was_measured_kept_beside_it(folder):
    line = [*DATA, "--methods", "menu.toml", "--processes", "1", "-o", "map.html"]
    done = RUN.invoke(app, line, catch_exceptions=False)
    assert done.exit_code == 0
    assert "noise alpha=0.1" in done.output
    assert "confidential" in done.output
    assert "<img" in (folder / "map.html").read_text()
    assert len(list((folder / "map.points").iterdir())) == 2
    told = json.loads(RUN.invoke(app, [*line, "--json"], catch_exceptions=False).stdout)
    assert [point["method"] for point in told["points"]] == ["original", "noise alpha=0.1"]


def test_an_example_menu(folder):
    assert RUN.invoke(app, ["compare", "--example", "mine.toml"], catch_exceptions=False).exit_code == 0
    assert "noise alpha=" in (folder / "mine.toml").read_text()
    with pytest.raises(BadInput, match="already"):
        RUN.invoke(app, ["compare", "--example", "mine.toml"], catch_exceptions=False)


def test_it_asks_for_what_it_needs(folder):
    with pytest.raises(BadInput, match="Which table"):
        RUN.invoke(app, ["compare"], catch_exceptions=False)
    with pytest.raises(BadInput, match="no folder"):
        RUN.invoke(app, [*DATA, "-o", "nowhere/map.html"], catch_exceptions=False)


def test_synthetic_rows_are_compared_with_the_original(folder):
    table = dc.read("people.parquet", "people.toml")
    made = dc.Release(table.payload(), dc.Statement(unit="person"), dc.Recipe("synthesize"), title="people, synthetic")
    made.save(folder / "twin")
    line = ["compare", "people.parquet", "twin", "--card", "people.toml"]
    done = RUN.invoke(app, [*line, "-o", "f.html"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "k-marginal score" in done.output
    assert "confidential" in done.output
    assert "Errors of pairs of columns" in (folder / "f.html").read_text()
    told = json.loads(
        RUN.invoke(app, [*DATA[:2], "people.parquet", *DATA[2:], "--json"], catch_exceptions=False).stdout
    )
    assert told["title"] == "the synthetic table"
    assert told["measured"]["k-marginal score"]["figure"] == 1000


def test_a_map_and_a_comparison_are_not_mixed_up(folder):
    for more in (["people.parquet", "--methods", "menu.toml"], ["--target", "town"], ["--control", "people.parquet"]):
        with pytest.raises(BadInput):
            RUN.invoke(app, [*DATA, *more], catch_exceptions=False)
