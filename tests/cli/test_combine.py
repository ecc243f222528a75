"""`discreet combine` as people meet it: keys, a manifest, four salaries, what was seen, and who would learn what."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.called import called
from tests.combine.net.sessions import ports
from tests.combine.parties import PAY, prepared, together

from discreet.combine.running import run


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
    learnt = command("combine", "coalition", "pay.toml", "--of", "north,south")
    assert (
        learnt == "To north and south together the sum itself gives east's value away; no protocol can prevent that.\n"
    )
    with ThreadPoolExecutor(2) as others:
        for name in ("east", "south"):
            others.submit(run, tmp_path / "pay.toml", tmp_path / f"{name}.txt", name=name)
        said = command("combine", "run", "pay.toml", "--as", "north", "--input", "north.txt")
    assert said.startswith("100,500\nOf north, east, south together.")
    assert "Kept in pay.north" in said
    again = json.loads(command("combine", "run", "pay.toml", "--as", "north", "--input", "north.txt", "--json"))
    assert again["result"] == 100_500
    shown = command("combine", "show", "pay", "--as", "south", "-o", "south.html")
    assert "What south saw of pay" in shown
    assert "<svg" in (tmp_path / "south.html").read_text()
    assert "is there already" in command("combine", "show", "pay", "--as", "south", "-o", "south.html", code=1)
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
    assert "on which ledger" in command(*words, code=1)
    assert "one of its accounts" in command(*words, "--ledger", "clinic", code=1)
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
    assert "with a budget of ε = 2" in command(*words, "--budget", "epsilon=3", code=1)


def _free(loss, key):
    """A party that charges nothing: its own affair."""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["new", "pay.toml", "--parties", "north,west", "--bounds", "0:1"], "there is no west.pub"),
        (["new", "pay.toml", "--parties", "north,east"], "needs the bounds"),
        (["new", "pay.toml", "--parties", "north,east", "--bounds", "0:1", "--at", "south=a:1"], "where a party is"),
        (["new", "north.key", "--parties", "north,east", "--bounds", "0:1"], "is there already"),
        (["keys", "north"], "exists"),
        (["keys", "North"], "not a party's name"),
        (["run", "nothing.toml", "--input", "north.txt"], "no manifest"),
        (["coalition", "nothing.toml"], "no manifest"),
        (["verify", "nothing"], "no manifest.toml"),
        (["show", "nothing"], "Nobody ran nothing here"),
    ],
)
def test_what_cannot_be_done_is_said_with_what_to_do(command, tmp_path, words, said):
    for name in ("north", "east"):
        command("combine", "keys", name)
    refused = "bounds" in said
    assert said in command("combine", *words, code=3 if refused else 1)


def test_protocols_functions_and_all_coalitions_are_listed(command, tmp_path):
    assert "masks" in command("combine", "protocols")
    assert {one["name"] for one in json.loads(command("combine", "protocols", "--json"))} >= {"ring", "paths", "dining"}
    assert "histogram" in command("combine", "functions")
    assert {one["name"] for one in json.loads(command("combine", "functions", "--json"))} >= {"sum", "tree", "overlap"}
    prepared(tmp_path, dict.fromkeys(("north", "east", "south", "west"), 1), protocol="ring")
    said = command("combine", "coalition", "pay.toml")
    assert "east and west together learn north's value and south's value." in said
    assert len(json.loads(command("combine", "coalition", "pay.toml", "--json"))) == 14
