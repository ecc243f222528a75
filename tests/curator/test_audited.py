"""Audited tables: exact answers, denials that hang on the history alone, and a history that nobody gets around."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from tests.curator.offices import BY, CARD, office, staff

from discreet.ask.continual import TreeCounter
from discreet.core.loss import Pure
from discreet.core.release import Release
from discreet.curator.curator import Curator
from discreet.errors import BadInput, BadQuery, NotDeclared, NotFound, Refused

ROOT = Path(__file__).parents[2]
ALL = "SELECT SUM(salary) AS total, COUNT(*) AS n FROM staff"
BUT_ONE = "SELECT AVG(salary) AS mean FROM staff WHERE who <> 7"


def outcomes(curator, questions):
    told = []
    for one in questions:
        try:
            told.append(curator.ask_audited(one).table.to_pylist())
        except Refused as refusal:
            assert "Denied" in str(refusal)
            told.append(None)
    return told


def test_answers_are_exact(tmp_path):
    rows = staff().to_pylist()
    rome = [row for row in rows if row["city"] == "Rome"]
    with office(tmp_path / "office") as curator:
        answer = curator.ask_audited("select city, avg(salary) a, sum(paid) p, count(*) n from STAFF s group by 1")
        assert [row["city"] for row in answer.table.to_pylist()] == ["Milan", "Rome", "Turin"]
        assert answer.table.to_pylist()[1] == {
            "city": "Rome",
            "a": sum(row["salary"] for row in rome) / 10,
            "p": sum((row["paid"] for row in rome), Decimal(0)),
            "n": 10,
        }
        assert curator.ask_audited("SELECT MAX(bonus) AS most FROM staff WHERE staff.city = 'Rome'").table[
            "most"
        ].to_pylist() == [max(row["bonus"] for row in rome)]
        assert curator.ask_audited("SELECT city, SUM(ill) AS ill FROM staff GROUP BY city").table[
            "ill"
        ].to_pylist() == [sum(row["ill"] for row in rows if row["city"] == city) for city in ("Milan", "Rome", "Turin")]
        assert curator.ask_audited("SELECT SUM(salary) AS s FROM staff WHERE age > 69").table.to_pylist() == [
            {"s": None}
        ]
        assert curator.verify().sound
        kept = Release.load(tmp_path / "office" / "releases" / answer.identity)
        assert kept.payload == answer.table
        said = str(answer.statement)
        assert "no salary is determined" in said
        assert "not differential privacy" in said
        assert "does not compose" in said
        assert "who, city and age of everybody" in said


def test_the_classic_attacks_are_denied_also_to_two_who_share(tmp_path):
    with office(tmp_path / "office") as curator:
        curator.add_analyst("ann", Pure(1))
        assert curator.ask_audited(ALL).table["n"].to_pylist() == [30]
        with pytest.raises(Refused, match="could tell somebody's value"):
            curator.ask_audited(BUT_ONE, analyst="ann")
        with pytest.raises(Refused, match="could tell"):
            curator.ask_audited("SELECT SUM(salary) FROM staff WHERE who = 7")
        assert curator.ask_audited("SELECT SUM(salary) AS s FROM staff WHERE age < 30").table.num_rows == 1
        with pytest.raises(Refused, match="could tell"):
            curator.ask_audited("SELECT SUM(salary) FROM staff WHERE age < 30 OR who = 25")
        with pytest.raises(Refused, match="could tell"):
            curator.ask_audited("SELECT age, SUM(salary) AS s FROM staff GROUP BY age")
        assert curator.ask_audited(ALL, analyst="ann").free
        assert curator.left("staff").table == Pure(3), "nothing is charged"
    with Curator(tmp_path / "office") as curator:
        with pytest.raises(Refused, match="could tell"):
            curator.ask_audited(BUT_ONE)
        assert curator.ask_audited(ALL).free


QUESTIONS = [
    "SELECT city, SUM(salary) AS s FROM staff GROUP BY city",
    "SELECT SUM(salary) AS s FROM staff WHERE age >= 25",
    "SELECT SUM(salary) AS s FROM staff WHERE age >= 26",
    "SELECT SUM(salary) AS s FROM staff WHERE city = 'Rome' AND age < 40",
    "SELECT AVG(salary) AS s FROM staff WHERE city <> 'Rome' AND age < 40 AND age > 22",
    "SELECT SUM(salary) AS s FROM staff WHERE who IN (1, 2, 3)",
    "SELECT SUM(salary) AS s FROM staff WHERE who IN (2, 3, 4)",
    "SELECT SUM(salary) AS s FROM staff WHERE who IN (1, 4)",
    "SELECT SUM(salary) AS s FROM staff WHERE who IN (4, 1, 2)",
]


def test_other_data_gets_the_same_denials(tmp_path):
    denied = []
    for seed in (1, 2):
        with office(tmp_path / f"office{seed}", staff(seed=seed)) as curator:
            told = outcomes(curator, QUESTIONS)
            denied.append([one is None for one in told])
    assert denied[0] == denied[1]
    assert {True, False} == set(denied[0])


@pytest.mark.parametrize(
    ("question", "what"),
    [
        ("SELECT SUM(salary) FROM staff WHERE salary > 100", "salary is no column that sets"),
        ("SELECT SUM(salary) FROM staff WHERE diagnosis = 'flu'", "diagnosis is no column that sets"),
        ("SELECT diagnosis, SUM(salary) FROM staff GROUP BY diagnosis", "diagnosis is no column that sets"),
        ("SELECT salary AS x, SUM(salary) FROM staff GROUP BY x", "salary is no column that sets"),
        ("SELECT MAX(salary) FROM staff", "audited for sum"),
        ("SELECT SUM(bonus) FROM staff", "audited for extremes"),
        ("SELECT SUM(age) FROM staff", "age is not audited"),
        ("SELECT SUM(salary + bonus) FROM staff", "cannot be audited"),
        ("SELECT SUM(DISTINCT salary) FROM staff", "cannot be audited"),
        ("SELECT COUNT(salary) FROM staff", "cannot be audited"),
        ("SELECT SUM(salary) FILTER (WHERE salary > 3) FROM staff", "cannot be audited"),
        ("SELECT SUM(salary) OVER () FROM staff", "cannot be audited"),
        ("SELECT salary FROM staff", "cannot be audited"),
        ("SELECT COUNT(*) FROM staff", "no audited column"),
        ("SELECT SUM(salary) FROM staff GROUP BY city", "in its answer"),
        ("SELECT SUM(salary) FROM staff HAVING SUM(salary) > 3", "HAVING cannot be asked"),
        ("SELECT SUM(salary) FROM staff LIMIT 1", "LIMIT cannot be asked"),
        ("SELECT SUM(salary) FROM staff JOIN staff AS t USING (who)", "JOINS cannot be asked"),
        ("SELECT SUM(salary) FROM staff, staff AS t", "JOINS cannot be asked"),
        ("SELECT SUM(salary) FROM (SELECT * FROM staff)", "no SELECT inside"),
        ("SELECT SUM(salary) FROM staff WHERE who IN (SELECT who FROM staff)", "no SELECT inside"),
        ("SELECT SUM(salary) FROM staff TABLESAMPLE 10%", "as it is"),
        ("UPDATE staff SET salary = 0", "one SELECT"),
        ("SELECT SUM(salary), AVG(salary) AS column1 FROM staff", "Two columns"),
        ("SELECT SUM(salary) FROM staff WHERE discreet_row < 3", "discreet_row is no column"),
        ("SELECT city, SUM(salary) FROM staff GROUP BY age + 1, city", "in its answer"),
        ("nonsense", "one SELECT"),
        ("SELECT SUM(salary) FROM staff WHERE city = '\ud800'", "cannot be read|can be read"),
    ],
)
def test_what_no_auditor_covers_is_refused(asked, question, what):
    with pytest.raises(BadQuery, match=what):
        asked.ask_audited(question)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    with office(tmp_path_factory.mktemp("audited") / "office") as curator:
        yield curator


def test_an_audited_table_is_never_asked_with_noise(tmp_path):
    with office(tmp_path / "office") as curator:
        for way in (
            lambda: curator.ask("SELECT COUNT(*) FROM staff", epsilon="0.1"),
            lambda: curator.ask_all(["SELECT COUNT(*) FROM staff"], epsilon="0.1"),
            lambda: curator.stream(TreeCounter.for_loss(Pure("0.5"), 100, 2), "staff", name="a"),
        ):
            with pytest.raises(Refused, match="staff is audited"):
                way()
        assert curator.left("staff").table == Pure(3)


def test_a_table_that_was_asked_with_noise_is_never_audited(tmp_path):
    with office(tmp_path / "office", watched=None) as curator:
        with pytest.raises(Refused, match="staff is not audited"):
            curator.ask_audited(ALL)
        curator.ask("SELECT COUNT(*) FROM staff", epsilon="0.1")
        with pytest.raises(Refused, match="answered with noise"):
            curator.audit("staff", {"salary": "sum"}, by=["city"])


def test_a_policy_is_decided_once_and_must_fit_the_card(tmp_path):
    with office(tmp_path / "office", watched=None) as curator:
        for columns, by, error in (
            ({"salary": "median"}, BY, BadInput),
            ({"salary": "bounded"}, BY, BadInput),
            ({"salary": "bounded=2000000"}, BY, BadInput),
            ({"ill": "sum"}, BY, BadInput),
            ({"diagnosis": "sum"}, BY, BadInput),
            ({"age": "sum"}, ("city",), NotDeclared),
            ({"salary": "sum"}, ("diagnosis",), Refused),
            ({"salary": "sum"}, ("salary",), Refused),
            ({"wages": "sum"}, BY, NotFound),
            ({}, BY, BadInput),
        ):
            with pytest.raises(error):
                curator.audit("staff", columns, by=by)
        policy = curator.audit("staff", {"salary": "sum"}, by=["city"])
        assert curator.audit("staff", {"salary": "sum"}, by=["city"]) == policy
        with pytest.raises(Refused, match="under another policy"):
            curator.audit("staff", {"salary": "sum"}, by=["city", "age"])
        with pytest.raises(NotFound):
            curator.audit("nowhere", {"salary": "sum"})
        with pytest.raises(Refused, match="eve may ask about nothing"):
            curator.ask_audited(ALL, analyst="eve")


def test_a_column_that_had_to_be_looked_at_is_closed(tmp_path):
    ill = staff().set_column(6, "ill", [[False] * 30])
    with office(tmp_path / "office", ill) as curator, Curator(tmp_path / "office") as other:
        with pytest.raises(Refused, match="closed for good"):
            curator.ask_audited("SELECT SUM(ill) FROM staff")
        with pytest.raises(Refused, match="could tell"):
            other.ask_audited("SELECT SUM(ill) FROM staff WHERE city = 'Rome'")
        assert other.ask_audited(ALL).table.num_rows == 1, "other columns are not"


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request):
    if request.param == "sqlite":
        yield None
        return
    address = request.getfixturevalue("postgres_address")
    yield address
    with psycopg.connect(address) as connection:
        connection.execute("DROP TABLE IF EXISTS lines, accounts, parts CASCADE")


def test_of_rivals_who_would_tell_together_one_is_denied(tmp_path, ledger):
    """Each leaves somebody else out, in a curator of its own: two of these answers would tell two salaries' sum."""
    office(tmp_path / "office", ledger=ledger).close()
    questions = [ALL, *(f"SELECT SUM(salary) FROM staff WHERE who <> {one}" for one in range(3))]

    def ask(question):
        with Curator(tmp_path / "office") as curator:
            return outcomes(curator, [question])[0]

    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(ask, questions))
    assert sum(one is not None for one in told) in (1, 3), "all but one left out, or the whole: never both"
    assert told[0] is None or told[1:] == [None] * 3
    with Curator(tmp_path / "office") as curator:
        assert outcomes(curator, questions) == told, "and so it stays"
        assert curator.verify().sound


KILLED = """
import os, signal, sys
from discreet.curator import audited
from discreet.curator.curator import Curator
with Curator(sys.argv[1]) as curator:
    curator._store.keep = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    curator.ask_audited(sys.argv[2])
"""


def test_killed_after_it_was_written_down_an_answer_counts(tmp_path):
    office(tmp_path / "office").close()
    dead = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "office"), ALL],
        cwd=ROOT,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    assert dead.returncode == -signal.SIGKILL
    assert not list((tmp_path / "office" / "releases").iterdir())
    with Curator(tmp_path / "office") as curator:
        assert outcomes(curator, [BUT_ONE]) == [None]
        assert curator.ask_audited(ALL).table["n"].to_pylist() == [30]
        assert len([line for line in curator.ledger.lines() if "audited " in str(line.entry)]) >= 2


def test_a_person_with_several_rows_is_one_person(tmp_path):
    card = replace(CARD, rows_per_unit=2, columns=tuple(one for one in CARD.columns if one.name != "ill"))
    twice = pa.concat_tables([staff(6), staff(6, seed=5)]).drop(["ill"])
    months = twice.set_column(2, "age", [[20] * 6 + [21] * 6])
    with Curator.create(tmp_path / "office", {"staff": (months, card)}, Pure(3)) as curator:
        curator.audit("staff", {"salary": "sum"}, by=["who", "age"])
        assert outcomes(curator, ["SELECT SUM(salary) AS s FROM staff WHERE age = 20"]) != [None]
        assert outcomes(curator, ["SELECT SUM(salary) AS s FROM staff WHERE who = 1"]) == [None]
        changed = "SELECT SUM(salary) AS s FROM staff WHERE (age = 20 AND who <> 1) OR (age = 21 AND who = 1)"
        assert outcomes(curator, [changed]) == [None], "what somebody's salary changed by would be told"
        assert outcomes(curator, ["SELECT SUM(salary) AS s FROM staff WHERE age = 21"]) != [None]
