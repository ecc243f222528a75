"""`discreet combine` as people meet it: keys, a manifest, four salaries, what was seen, and who would learn what."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.called import called
from tests.combine.net.sessions import ports
from tests.combine.parties import PAY, prepared, together

from discreet.verbs.combine.participation import take_part


@pytest.fixture
def session(command, tmp_path):
    """Keys of three parties and the ports they listen at."""
    for name in PAY:
        command("combine", "keys", name)
        (tmp_path / f"{name}.txt").write_text(f"{PAY[name]}\n")
    pairs = zip(PAY, ports(len(PAY)), strict=True)
    return [word for name, port in pairs for word in ("--at", f"{name}=127.0.0.1:{port}")]


def test_from_keys_to_the_result(command, session, tmp_path):
    said = command(
        "combine", "new", "pay.toml", "--parties", ",".join(PAY), "--protocol", "ring", "--bounds", "0:100000", *session
    )
    assert "north at 127.0.0.1:" in said
    assert "Next, on every host: discreet combine run pay.toml" in said
    assert "Who learns what: each party its own value and the result; no party alone learns more." in said
    assert "A party can lie" not in said
    learnt = command("combine", "coalition", "pay.toml", "--of", "north,south")
    assert learnt == "north and south together can compute east's value from the sum; no protocol can prevent that.\n"
    with ThreadPoolExecutor(2) as others:
        for name in ("east", "south"):
            others.submit(take_part, tmp_path / "pay.toml", tmp_path / f"{name}.txt", name=name)
        said = command("combine", "run", "pay.toml", "--as", "north", "--input", "north.txt")
    assert said.startswith("100,500\nOf north, east, south together.")
    assert "Kept in pay.north" in said
    assert "Noise: none." in said
    again = json.loads(command("combine", "run", "pay.toml", "--as", "north", "--input", "north.txt", "--json"))
    assert again["result"] == 100_500
    shown = command("combine", "show", "pay", "--as", "south", "-o", "south.html")
    assert "What south saw of pay" in shown
    assert "<svg" in (tmp_path / "south.html").read_text()
    assert "There is a file" in command("combine", "show", "pay", "--as", "south", "-o", "south.html", code=1)
    assert "neither .html nor .svg" in command("combine", "show", "pay", "--as", "south", "-o", "south.png", code=1)
    command("combine", "show", "pay.toml", "--as", "south", "-o", "south.svg")
    assert (tmp_path / "south.svg").read_text().startswith("<svg")
    lines = json.loads(command("combine", "show", "pay", "--as", "east", "--json"))
    assert {"north", "east"} <= {line["of"] for line in lines}
    folders = [f"pay.{name}" for name in PAY]
    assert "in agreement" in command("combine", "verify", *folders)
    transcript = tmp_path / "pay.east" / "transcript.jsonl"
    transcript.write_text(transcript.read_text().replace("so far", "so near", 1))
    ended = called(["combine", "verify", *folders, "--json"], tmp_path)
    assert ended.code == 1
    assert {problem["party"] for problem in json.loads(ended.stdout)["problems"]} == {"east"}


def test_noise_is_charged_on_a_workspace_or_on_a_ledger_beside_the_key(command, tmp_path):
    (tmp_path / "rows.csv").write_text("age\n30\n40\n")
    card = 'discreet = 1\n[tables.rows.columns.age]\nkind = "integer"\nbounds = [0, 120]\n'
    (tmp_path / "rows.toml").write_text(card)
    command("workspace", "init", "clinic", "--table", "rows=rows.csv", "--card", "rows.toml", "--budget", "epsilon=1")
    file = prepared(tmp_path, epsilon="1", honest=2)
    (tmp_path / "north.txt").write_text("31000\n")
    words = ["combine", "run", "pay.toml", "--as", "north", "--input", "north.txt"]
    assert "no ledger is given" in command(*words, code=1)
    assert "must be used together" in command(*words, "--ledger", "clinic", code=1)
    assert "no account 'visits'" in command(*words, "--ledger", "clinic", "--account", "visits", code=1)
    brought = {name: value for name, value in PAY.items() if name != "north"}
    with ThreadPoolExecutor(1) as others:
        begun = others.submit(together, file, brought, charge=_free)
        said = command(*words, "--ledger", "clinic", "--account", "rows")
        begun.result()
    assert "ε = 1 charged to rows" in said
    account = json.loads(command("budget", "show", "clinic", "--json"))["accounts"]["rows"]
    assert account["left"] == {"kind": "pure", "epsilon": "0"}
    file.unlink()
    for name in PAY:
        (tmp_path / f"pay.{name}").rename(tmp_path / f"before.{name}")
    prepared(tmp_path, epsilon="1", honest=2)
    with ThreadPoolExecutor(1) as others:
        begun = others.submit(together, file, brought, charge=_free)
        assert "charged to combine" in command(*words, "--budget", "epsilon=2")
        begun.result()
    said = command("budget", "show", "north.ledger")
    assert "combine" in said
    assert "ε = 2" in said
    assert "combine pay (sum)" in said
    again = called([*words, "--budget", "epsilon=3"], tmp_path)
    assert "was ε = 2; from now on it is ε = 3" in again.stderr
    assert (
        json.loads(command("budget", "show", "north.ledger", "--json"))["accounts"]["combine"]["left"]["epsilon"] == "2"
    )


def _free(loss, key):
    """A party that charges nothing: its own affair."""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["new", "pay.toml", "--parties", "north,west", "--bounds", "0:1"], "there is no west.pub"),
        (["new", "pay.toml", "--parties", "north,east"], "needs the bounds"),
        (
            ["new", "pay.toml", "--parties", "north,east", "--bounds", "0:1", "--at", "south=a:1"],
            "the address of a party",
        ),
        (["new", "north.key", "--parties", "north,east", "--bounds", "0:1"], "There is a file"),
        (["keys", "north"], "exists"),
        (["keys", "North"], "not a party's name"),
        (["run", "nothing.toml", "--input", "north.txt"], "no manifest"),
        (["coalition", "nothing.toml"], "no manifest"),
        (["verify", "nothing"], "no manifest.toml"),
        (["show", "nothing"], "no party ran nothing here"),
    ],
)
def test_what_cannot_be_done_is_said_with_what_to_do(command, tmp_path, words, said):
    for name in ("north", "east"):
        command("combine", "keys", name)
    refused = "bounds" in said
    assert said in command("combine", *words, code=3 if refused else 1)


def test_protocols_functions_and_all_coalitions_are_listed(command, tmp_path):
    assert "masks" in command("combine", "protocols")
    assert {one["name"] for one in json.loads(command("combine", "protocols", "--json"))} >= {"ring", "paths", "join"}
    assert "histogram" in command("combine", "functions")
    assert {one["name"] for one in json.loads(command("combine", "functions", "--json"))} >= {"sum", "tree", "overlap"}
    prepared(tmp_path, dict.fromkeys(("north", "east", "south", "west"), 1), protocol="ring")
    said = command("combine", "coalition", "pay.toml")
    assert "east and west together learn north's value and south's value." in said
    assert len(json.loads(command("combine", "coalition", "pay.toml", "--json"))) == 14


def test_two_parties_and_places_left_out_are_warned_of(command, tmp_path):
    for name in ("north", "east", "south"):
        command("combine", "keys", name)
    words = ["--bounds", "0:10", "--at", "north=10.0.0.1:8650"]
    said = command("combine", "new", "two.toml", "--parties", "north,east", *words)
    assert "each learns the other's value from the result itself" in said
    assert "east is on this computer" in said
    said = command("combine", "new", "three.toml", "--parties", "north,east,south", "--epsilon", "1", *words)
    assert "each learns the other's" not in said
    assert "is off by up to about" in said
    assert "A party can lie" in command("combine", "new", "four.toml", "--parties", "north,east", *words, "--statement")


def test_a_coalition_is_told_of_the_worst_case_and_of_what_everybody_sees(command, tmp_path):
    four = dict.fromkeys(("north", "east", "south", "west"), 1)
    prepared(tmp_path, four, threshold=3)
    said = command("combine", "coalition", "pay.toml", "--of", "north,east")
    assert "learn nothing beyond the sum." in said
    assert "At worst, if west dropped out (at least 3 must stay): north and east together can compute south" in said
    assert "--of" in command("combine", "coalition", "pay.toml")
    prepared(tmp_path, four, function="median")
    said = command("combine", "coalition", "pay.toml", "--of", "north,east")
    assert "nothing beyond the totals for median." in said
    assert "All parties learn the total number of rows" in said


def test_the_card_of_the_accounts_table_says_whose_rows_they_are(command, tmp_path):
    (tmp_path / "visits.csv").write_text("person,age\n1,30\n1,40\n2,50\n")
    (tmp_path / "visits.toml").write_text(
        'discreet = 1\n[tables.visits]\nunit = "person"\nrows_per_unit = 2\n'
        '[tables.visits.columns.person]\nkind = "integer"\n'
        '[tables.visits.columns.age]\nkind = "integer"\nbounds = [0, 120]\n'
    )
    budget = ["--budget", "epsilon=1"]
    command("workspace", "init", "clinic", "--table", "visits=visits.csv", "--card", "visits.toml", *budget)
    prepared(tmp_path, function="count", epsilon="1")
    words = ["combine", "run", "pay.toml", "--as", "north", "--input", "visits.csv"]
    assert "Some people have several rows" in command(*words, "--ledger", "clinic", "--account", "visits", code=3)
    assert "--unit-column NAME" in command(*words, *budget, code=3)


def test_without_noise_no_ledger_is_made(command, tmp_path):
    prepared(tmp_path)
    (tmp_path / "north.txt").write_text("999999\n")
    command("combine", "run", "pay.toml", "--as", "north", "--input", "north.txt", "--budget", "epsilon=1", code=1)
    assert not (tmp_path / "north.ledger").exists()
