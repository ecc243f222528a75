"""Synthetic rows from the command line: of a file, without a ledger; of a workspace, charged."""

from __future__ import annotations

import io
import json
from contextlib import chdir, redirect_stdout, suppress
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.called import called
from tests.releases.registers import listed

import discreet as dc
from discreet.cli.main import run
from discreet.curator.curator import Curator
from discreet.verbs.synthesize.distances import distances

CARD = """
[tables.people]
unit = "id"
rows_per_unit = 1
[tables.people.columns.id]
kind = "integer"
role = "identifier"
[tables.people.columns.sex]
kind = "text"
categories = ["F", "M"]
[tables.people.columns.age]
kind = "integer"
role = "quasi"
bounds = [0, 99]
"""
FILE = ("synthesize", "people.parquet", "--card", "people.toml")


@pytest.fixture
def folder(tmp_path):
    rows = 400
    ages = [n * 7 % 100 for n in range(rows)]
    people = pa.table({"id": range(rows), "sex": ["FM"[n % 2] for n in range(rows)], "age": ages})
    pq.write_table(people, tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text(CARD)
    return tmp_path


def test_of_a_file_it_promises_and_says_that_no_ledger_knows(command, folder):
    said = command(*FILE, "--method", "epsilon=2 delta=1e-6 by=mst", "-o", "made")
    assert "ε = 2, δ = 1e-6" in said
    assert "synthetic rows" in said
    release = dc.Release.load(folder / "made")
    assert release.statement.loss == dc.Approximate(2, "1e-6")
    assert any("is in no ledger" in one for one in release.statement.caveats)
    assert release.payload.column_names == ["sex", "age"]
    assert distances(release).rows == release.payload.num_rows
    assert [one.method for one in listed(folder / "people.register.db")] == ["synthesize"]


def test_of_a_workspace_it_is_charged_and_the_same_again_is_free(command, folder):
    with Curator.create(
        folder / "ws",
        {"people": (str(folder / "people.parquet"), str(folder / "people.toml"))},
        dc.Approximate(3, "1e-6"),
    ):
        pass
    method = "epsilon=1 delta=1e-9 by=independent"
    said = command("synthesize", "ws", "--table", "people", "--method", method, "-o", "one", "--csv")
    assert "synthetic stand-in of people" in said
    command("synthesize", "ws", "--method", method, "-o", "two", "--json")
    one, two = (dc.Release.load(folder / name) for name in ("one", "two"))
    assert one.payload.equals(two.payload)
    assert (folder / "one" / "payload.csv").exists()
    assert one.receipt == two.receipt
    with Curator(folder / "ws") as curator:
        assert curator.left("people").table.epsilon < 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--method", "epsilon=1 by=mst"], "--output"),
        (["--method", "epsilon=1", "-o", "out", "--holder", "h"], "there is no holder's copy"),
        (["--method", "epsilon=1", "-o", "people.parquet"], "not an empty folder"),
        (["--method", "epsilon=1", "-o", "out", "--seed", "3"], "seed"),
        (["--method", "delta=1e-9", "-o", "out"], "A delta needs an epsilon"),
        (["--method", "epsilon=1 bin=3", "-o", "out"], "'bin' is not a parameter of synthesize"),
        (["--method", "kart", "-o", "out"], "did you mean 'cart'"),
        (["--method", "epsilon=1 bins=age:x", "-o", "out"], "bins must be a whole number"),
        (["--method", "epsilon=1 rho=1", "-o", "out"], "not both"),
        (["--method", "epsilon=1 given sex on age", "-o", "out"], "'given' is not a parameter of synthesize"),
        (["--method", "epsilon=1 quantiles=age on sex", "-o", "out"], "age is binned but not among the columns"),
        (["--method", "epsilon=1 rows=1e12", "-o", "out"], "between 1 and 10,000,000,000"),
        (["--method", "epsilon=1", "-o", "out", "--workspace", "ws"], "discreet workspace stand-in ws people"),
        (["--method", "epsilon=1 on sex, agee", "-o", "out"], "agee"),
    ],
)
def test_what_is_wrong_is_said(folder, words, said):
    found = called((*FILE, *words), folder)
    assert found.code != 0
    assert said in " ".join(found.stderr.split())
    assert not (folder / "out").exists()


def test_a_method_is_read_as_it_is_written(folder):
    from discreet.verbs.synthesize.private import parse_synthesizer as parse

    card = dc.load_card(folder / "people.toml")
    text = "synthesize epsilon=1 delta=1e-9 by=mst bins=age:10 quantiles=age rows=50 on age, sex"
    found = parse(text, card)
    assert found == dc.Synthesize(
        1, 1e-9, by="mst", rows=50, columns=("age", "sex"), bins={"age": 10}, quantiles=("age",)
    )
    assert found.promise(card).loss == dc.Approximate(1, "1e-9")
    assert not any("almost nothing" in said for said in found.promise(card).caveats)
    assert any("δ = 0.5 promises almost nothing" in said for said in dc.Synthesize(1, "0.5").promise(card).caveats)
    assert parse("synthesize rho=0.5 person=sex", card).person == ("sex",)
    assert parse("synthesize epsilon=1, delta=1e-9 on age", card) == dc.Synthesize(1, 1e-9, columns=("age",))


def test_a_loss_that_protects_nobody_is_said_to_and_no_delta_is_advised(folder):
    found = called((*FILE, "--method", "epsilon=1000 by=independent", "-o", "made"), folder)
    assert found.code == 0
    assert "promises almost nothing" in found.stderr
    assert "times as large" not in found.stderr
    page = (folder / "made" / "report.html").read_text()
    assert "Almost no protection" in page
    assert "Differentially private" not in page
    assert "synthetic rows" in page
    assert "original rows" not in page
    assert "<li>Note: " in page


def test_in_python_it_is_the_same(folder):
    table = dc.read(folder / "people.parquet", folder / "people.toml")
    release = dc.synthesize(table, "epsilon=2 delta=1e-6 by=independent")
    assert release.statement.loss == dc.Approximate(2, "1e-6")
    assert any("is in no ledger" in one for one in release.statement.caveats)
    assert release.recipe.parameters["rows"] == release.payload.num_rows
    assert repr(release) == "<Release 'people, synthetic': ε = 2, δ = 1e-6>"
    assert "bins: None" not in str(release)
    with pytest.raises(dc.errors.BadInput, match="seed"):
        dc.synthesize(table, dc.Synthesize(2), seed=1)
    with pytest.raises(dc.errors.BadInput, match="belong to no one"):
        dc.synthesize(table, dc.Synthesize(2), holder=folder / "copy")
    with pytest.raises(dc.errors.BadInput, match="control group is for synthesizers without"):
        dc.synthesize(table, dc.Synthesize(2), control=table)
    with pytest.raises(dc.errors.BadInput, match="is not a method of publish"):
        dc.publish(table, dc.Synthesize(2), dc.KAnonymity(5))


def test_a_useless_stand_in_is_called_so_before_and_after(folder):
    (folder / "people.toml").write_text(CARD.replace("rows_per_unit = 1", "rows_per_unit = 40"))
    said = called((*FILE, "--method", "epsilon=0.1 by=independent", "-o", "made"), folder)
    assert "little more than noise" in said.stdout
    assert "rows_per_unit below 40" in " ".join(said.stdout.split())
    assert "no bound" in said.stdout
    table = {"people": (str(folder / "people.parquet"), str(folder / "people.toml"))}
    with Curator.create(folder / "ws", table, dc.Pure(1)) as curator:
        before = curator.ledger.account("people").left
    found = called(("workspace", "stand-in", "ws", "people", "--method", "epsilon=0.1", "--dry-run", "--json"), folder)
    told = json.loads(found.stdout)
    assert told["noise"] > 400
    with Curator(folder / "ws") as curator:
        assert curator.ledger.account("people").left == before
        assert curator.synthetic("people") is None


def test_what_was_made_is_written_down_before_it_is_told(folder):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    words = ["discreet", *FILE, "--method", "epsilon=2 by=independent", "-o", "made"]
    with chdir(folder), patch("sys.argv", words), redirect_stdout(Closed()), suppress(SystemExit, OSError):
        run()
    assert (folder / "made" / "payload.parquet").exists()
    assert len(listed(folder / "people.register.db")) == 1
