"""Auditing a table and asking it, as a person does."""

import json

import pytest

from discreet.releases.register import Entry, Register

CSV = "who,city,salary\n" + "".join(f"{n},{('Rome', 'Milan')[n % 2]},{1000 + n * n}\n" for n in range(20))
CARD = """
[tables.staff]
unit = "who"
rows_per_unit = 1

[tables.staff.columns.who]
kind = "integer"
role = "identifier"

[tables.staff.columns.city]
kind = "text"
role = "quasi"

[tables.staff.columns.salary]
kind = "integer"
role = "sensitive"
bounds = [0, 100000]
required = true
"""
TOTAL = "SELECT SUM(salary) AS total FROM staff"


@pytest.fixture
def office(command, tmp_path):
    (tmp_path / "staff.csv").write_text(CSV)
    (tmp_path / "staff.toml").write_text(CARD)
    command(
        "workspace", "init", "office", "--table", "staff=staff.csv", "--card", "staff.toml", "--budget", "epsilon=1"
    )
    return command


def test_a_table_is_audited_and_asked(office):
    assert "staff has no query auditing" in office("ask", "office", TOTAL, "--audited", code=3)
    audit = ("workspace", "audit", "office", "staff", "--columns", "salary", "--by", "who, city")
    assert json.loads(office(*audit, "--json")) == {
        "table": "staff",
        "columns": {"salary": "sum"},
        "by": ["who", "city"],
    }
    assert "under another policy" in office(*audit[:-1], "city", code=3)
    told = json.loads(office("ask", "office", TOTAL, "--audited", "--json"))
    assert told["rows"] == [{"total": 20_000 + sum(n * n for n in range(20))}]
    assert told["statement"]["loss"] is None
    again = office("ask", "office", TOTAL, "--audited")
    assert "Exact, and audited. It was answered before." in again
    assert "not differential privacy" in again
    denied = office("ask", "office", f"{TOTAL} WHERE who <> 3", "--audited", code=3)
    assert "Denied" in denied
    history = office("budget", "show", "office", "--json")
    assert "audited, denied: " in history
    assert "audited, answered: " in history


@pytest.mark.slow
def test_that_a_table_is_audited_is_said_by_other_commands_too(office):
    for columns, error in (
        ("salary,salary:extremes", "one kind of auditing"),
        ("salary:median", "not a kind of query auditing"),
    ):
        assert error in office("workspace", "audit", "office", "staff", "--columns", columns, code=1)
    audit = ("workspace", "audit", "office", "staff", "--columns", "salary", "--by", "who, city")
    assert "staff now has query auditing: salary (sum)" in office(*audit)
    assert "staff has query auditing" in office("ask", "office", TOTAL, "--epsilon", "1", code=3)
    assert "takes one question" in office("ask", "office", TOTAL, "--audited", "--epsilon", "1", code=1)
    assert json.loads(office("workspace", "show", "office", "--json"))["staff"]["audited"]["by"] == ["who", "city"]
    assert "Audited: salary (sum)" in office("workspace", "show", "office")


def test_what_is_out_already_and_a_limit_that_stays_nothing_are_said(office, tmp_path):
    source, folder = str(tmp_path / "staff.csv"), str(tmp_path / "made")
    with Register(str(tmp_path / "office" / "register.db")) as register:
        register.add(Entry(0, "staff", "staff", source, folder, "publish", 20))
    assert "There are earlier releases about the same people" in office(
        "workspace", "audit", "office", "staff", "--columns", "salary"
    )
    limit = ("budget", "limit", "office", "staff", "--budget", "epsilon=2", "--why", "more")
    assert "staff has query auditing" in office(*limit, code=3)
