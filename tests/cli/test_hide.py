"""`discreet hide` as people call it."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest
from tests.hide.test_hiding import ROWS

import discreet as dc

HIDE = ["hide", "baskets.csv", "--support", "20%", "--confidence", "60%", "-i", "bread, wine", "-r", "beer => nappies"]


@pytest.fixture(autouse=True)
def baskets(tmp_path):
    lines = (row.replace(" ", ",") for row in ROWS)
    (tmp_path / "baskets.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_secrets_are_hidden_and_the_rest_is_told_to_the_holder_alone(command, tmp_path):
    said = command(*HIDE, "-o", "clean", "--baskets", "clean.csv")
    for told in (
        "Transactions, with secrets hidden in clean",
        "4           1              2",
        "misses cost",
        "(confidential)",
    ):
        assert told in said
    assert (tmp_path / "clean" / "payload.parquet").exists()
    assert len((tmp_path / "clean.csv").read_text(encoding="utf-8").splitlines()) == 10
    kept = tmp_path / "clean.holder.parquet"
    assert kept.stat().st_mode & 0o077 == 0
    assert "visible before: 2" in command("show", "clean.holder.parquet", "--page", "clean.html")
    page = tmp_path / "clean.html"
    assert page.stat().st_mode & 0o077 == 0
    assert "bread, wine" in page.read_text(encoding="utf-8")
    assert "not an empty folder" in command(*HIDE, "-o", "clean", code=1)
    assert "already" in command(*HIDE, "-o", "again", "--baskets", "clean.csv", code=1)


def test_methods_are_compared_and_nothing_is_written(command, tmp_path):
    said = command(*HIDE, "--compare", "--keep", "bread, cheese")
    assert "exact" in said and "maxmin" in said and "bba: loses bread, cheese" in said
    trials = json.loads(command(*HIDE, "--compare", "--json"))
    assert {"method", "seconds", "effects", "visible", "error"} == set(trials[0])
    assert "nothing was written" in command(*HIDE, "--dry-run", "--method", "atallah")
    told = json.loads(command(*HIDE, "--dry-run", "--method", "bba", "--json"))
    assert told["release"] is None and told["secrets"][0]["after"] == "1"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["baskets.csv"]


def test_what_a_miner_finds(command):
    said = command("hide", "mine", "baskets.csv", "--support", "2", "--confidence", "60%", "--most", "3")
    assert "12 itemsets that at least 2 of 10 transactions have" in said
    assert "wine => bread" in said and "100.0%" in said
    found = json.loads(command("hide", "mine", "baskets.csv", "--support", "20%", "--longest", "1", "--json"))
    assert found["itemsets"] == 6 and found["rules"] == []


def test_rules_that_discriminate(command, tmp_path):
    people = ["f,a,no"] * 6 + ["f,a,yes"] * 2 + ["m,a,no"] * 2 + ["m,a,yes"] * 6
    (tmp_path / "loans.csv").write_text("sex,town,credit\n" + "\n".join(people) + "\n", encoding="utf-8")
    asked = ["hide", "discrimination", "loans.csv", "--layout", "table", "--support", "2", "--protected", "sex=f"]
    said = command(*asked, "--decision", "credit=no")
    assert "sex=f, town=a => credit=no" in said and "6 of 8" in said
    found = json.loads(command(*asked, "--decision", "credit=no", "--measure", "slift", "--alpha", "2", "--json"))
    assert found["direct"][0]["slift"] == 3.0
    assert "Name the protected items" in command(*asked, code=1)


def test_pairs_and_tables_with_a_card(command, tmp_path):
    table = dc.samples.transactions()
    pq.write_table(table.fetch(), tmp_path / "items.parquet")
    (tmp_path / "items.toml").write_text(dc.dump_cards([table.card]), encoding="utf-8")
    asked = ["--support", "2", "-i", "a, b, c", "--method", "atallah", "--json"]
    carded = json.loads(command("hide", "items.parquet", "--card", "items.toml", *asked, "-o", "clean"))
    pairs = json.loads(command("hide", "items.parquet", "--layout", "pairs", *asked, "--dry-run"))
    assert carded["steps"] == pairs["steps"]
    both = ["hide", "items.parquet", "--card", "items.toml", "--layout", "pairs", *asked, "--dry-run"]
    assert "--layout does not apply to a table with a card" in command(*both, code=1)
    assert pairs["steps"][0].startswith("a leaves transaction 2: {a, c} has the largest support, 3, then {a}")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["hide", "baskets.csv", "-i", "bread"], "--support 2%"),
        ([*HIDE[:4], "-i", "bred, wine", "-o", "x"], "did you mean 'bread'"),
        ([*HIDE], "add --output FOLDER"),
        ([*HIDE, "-o", "x", "--layout", "basket"], "There is no layout"),
        ([*HIDE, "-o", "x", "--tell", "all"], "nothing, thresholds or secrets"),
        ([*HIDE, "-o", "x", "--baskets", "x/y.csv"], "is inside the release folder"),
        ([*HIDE, "-o", "no/x"], "There is no folder"),
        ([*HIDE, "-o", "x", "--baskets", "no/y.csv"], "There is no folder"),
        ([*HIDE, "--compare", "--method", "bba"], "--method does not apply to comparing"),
        ([*HIDE, "-o", "x", "-i", "milk; support=2 support=3"], "has two of support"),
        (["hide", "mine", "baskets.csv", "--support", "2", "--confidence", "0"], "above 0"),
        (["hide", "mien", "baskets.csv", "--support", "2"], "did you mean 'mine'"),
        (["hide", "nowhere.csv", "--support", "2", "-i", "bread", "-o", "x"], "nowhere.csv"),
    ],
)
def test_what_cannot_be_done_is_said(command, words, said):
    assert said in command(*words, code=1)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ([*HIDE, "-o", "x", "--protected", "bread"], "--protected"),
        (["hide", "mine", "baskets.csv", "--support", "2", "--method", "bba"], "--method"),
        (["hide", "mine", "baskets.csv", "--support", "2", "-i", "bread"], "-i"),
    ],
)
def test_options_of_another_command_are_refused(command, words, option):
    assert f"No such option: {option}" in command(*words, code=2)


def test_secrets_that_conflict_with_what_must_stay_are_refused(command):
    assert "No solution was found that hides bread, wine" in command(
        *HIDE, "-o", "x", "--keep", "bread, cheese", "--keep", "cheese, wine", code=3
    )
