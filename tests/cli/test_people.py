"""People as whoever has the folder looks after them."""

import json
import re

import pytest
from tests.curator.clinics import clinic

from discreet.curator.people.person import Role
from discreet.errors import NotSignedIn
from discreet.service.operations.operations import Operations
from discreet.service.operations.permissions import HOST


@pytest.fixture
def run(command, tmp_path):
    clinic(tmp_path / "clinic").close()
    return lambda *words, **options: command("people", words[0], "clinic", *words[1:], **options)


def test_somebody_comes_is_kept_out_and_let_in_again(run, tmp_path):
    told = run("add", "ann", "--budget", "epsilon=1", "--table", "visits")
    password = re.search(r"one-time password (\S+)", told)[1]
    run("add", "sue", "--role", "steward")
    run("add", "eve", "--role", "auditor")
    assert "cannot query any table yet" in run("add", "bob")
    listed = json.loads(run("list", "--json"))
    assert {name: one["role"] for name, one in listed.items()} == {
        "ann": "analyst",
        "bob": "analyst",
        "eve": "auditor",
        "sue": "steward",
    }
    assert listed["ann"]["left"] == {"visits": "ε = 1"}
    assert listed["ann"]["must_change"]
    assert run("reset", "ann") != told
    text = run("token", "ann", "--label", "weekly", "--days", "7", "--scope", "read", "--scope", "manage")
    assert "of ann (read, manage), until" in text
    token = re.search(r"^dct_\S+$", text, re.MULTILINE)[0]
    assert "It works after" in text
    with Operations(tmp_path / "clinic") as desk:
        assert desk.people.by_token(token)[0].name == "ann"
    listed = json.loads(run("list", "--json"))
    [made] = listed["ann"]["tokens"]
    assert (made["label"], made["scopes"]) == ("weekly", ["read", "manage"])
    assert "read, manage" in run("list")
    assert "(ask, read)" in run("token", "bob")
    run("revoke", made["id"])
    run("disable", "ann")
    assert "no: disabled" in run("list")
    run("enable", "ann")
    with Operations(tmp_path / "clinic") as desk:
        assert desk.people.by_token(token) is None
        lines = desk.access.audit(HOST, newest_first=False)
        assert {line.who for line in lines} == {"command line"}
        said = " ".join(f"{line.action} {dict(line.about)}" for line in lines)
    assert password not in said
    assert token not in said
    for action in ("add person", "reset password", "new token", "revoke token", "disable", "enable"):
        assert action in said


def test_it_is_said_who_is_locked_out_and_that_a_budget_is_above_the_tables(run, tmp_path):
    assert "less than" in run("add", "ann", "--budget", "epsilon=10")
    assert "less than" not in run("add", "bob", "--budget", "epsilon=1")
    with Operations(tmp_path / "clinic") as desk:
        for _ in range(5):
            with pytest.raises(NotSignedIn):
                desk.people.sign_in("ann", "wrong")
    assert "too many wrong passwords" in run("list")
    listed = json.loads(run("list", "--json"))
    assert listed["ann"]["locked_out_until"] and not listed["bob"]["locked_out_until"]


def test_what_cannot_be_done_says_why_and_leaves_nobody(run, tmp_path):
    run("add", "sue", "--role", "steward")
    for words, said in (
        (("add", "Ann Smith"), "not a valid user name"),
        (("add", "ann", "--budget", "lots"), "not a budget"),
        (("add", "ann", "--budget", "epsilon=1", "--table", "staff"), "there are visits"),
        (("add", "eve", "--role", "auditor", "--budget", "epsilon=1"), "Auditors only read"),
        (("add", "sue"), "user name sue is taken"),
        (("disable", "sue"), "last steward"),
        (("reset", "nobody"), "no user"),
        (("token", "nobody"), "no user"),
        (("token", "sue", "--days", "1000"), "366 days"),
        (("revoke", "ann"), "disable their account"),
    ):
        assert said in run(*words, code=1)
    with Operations(tmp_path / "clinic") as desk:
        assert [(one.name, one.role) for one in desk.access.persons(HOST)] == [("sue", Role.STEWARD)]
