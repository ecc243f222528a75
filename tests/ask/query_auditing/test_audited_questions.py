"""Audited tables: exact answers, denials that hang on the history alone, and a history that nobody gets around."""

import json
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from tests.curator.offices import BY, CARD, office, staff

from discreet.budget.entries import Charged
from discreet.budget.filter import Budget
from discreet.budget.ledger import SqlLedger
from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.loss import Approximate, Concentrated, Pure
from discreet.core.release import Release
from discreet.curator import curator as curators
from discreet.curator.audited import find_audited, require_twin, write_policy
from discreet.curator.curator import Curator
from discreet.engines.read import read
from discreet.errors import BadInput, BadQuery, BudgetExceeded, Damaged, NotDeclared, NotFound, Refused
from discreet.verbs.ask.query_auditing import audit
from discreet.verbs.ask.query_auditing.policy import Policy
from discreet.verbs.ask.stream import Stream
from discreet.verbs.combine.participation import LedgerCharge

ROOT = Path(__file__).parents[3]
ALL = "SELECT SUM(salary) AS total, COUNT(*) AS n FROM staff"
BUT_ONE = "SELECT AVG(salary) AS mean FROM staff WHERE who <> 7"


@pytest.fixture(scope="module")
def audited_once(tmp_path_factory):
    """An office that nobody asks, to be copied."""
    folder = tmp_path_factory.mktemp("once") / "office"
    office(folder).close()
    return folder


@pytest.fixture
def place(audited_once, tmp_path):
    """An audited office for one test."""
    return shutil.copytree(audited_once, tmp_path / "office")


def outcomes(curator, questions):
    told = []
    for one in questions:
        try:
            told.append(curator.ask_audited(one).table.to_pylist())
        except Refused as refusal:
            assert "Denied" in str(refusal)
            told.append(None)
    return told


def test_answers_are_exact(place):
    rows = staff().to_pylist()
    rome = [row for row in rows if row["city"] == "Rome"]
    with Curator(place) as curator:
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
        kept = Release.load(place / "releases" / answer.identity)
        assert kept.payload == answer.table
        said = str(answer.statement)
        assert "it determines no salary" in said
        assert "not differential privacy" in said
        assert "does not compose" in said
        assert "who, city and age of everyone" in said


def test_the_classic_attacks_are_denied_also_to_two_who_share(place):
    with Curator(place) as curator:
        curator.add_analyst("ann", Pure(1))
        assert curator.ask_audited(ALL).table["n"].to_pylist() == [30]
        with pytest.raises(Refused, match="could reveal a person's value"):
            curator.ask_audited(BUT_ONE, analyst="ann")
        with pytest.raises(Refused, match="could reveal"):
            curator.ask_audited("SELECT SUM(salary) FROM staff WHERE who = 7")
        assert curator.ask_audited("SELECT SUM(salary) AS s FROM staff WHERE age < 30").table.num_rows == 1
        with pytest.raises(Refused, match="could reveal"):
            curator.ask_audited("SELECT SUM(salary) FROM staff WHERE age < 30 OR who = 25")
        with pytest.raises(Refused, match="could reveal"):
            curator.ask_audited("SELECT age, SUM(salary) AS s FROM staff GROUP BY age")
        assert curator.ask_audited(ALL, analyst="ann").free
        assert curator.ledger.account("staff").spent == Pure(0), "nothing is charged"
    with Curator(place) as curator:
        with pytest.raises(Refused, match="could reveal"):
            curator.ask_audited(BUT_ONE)
        assert curator.ask_audited(ALL).free


QUESTIONS = [
    "SELECT city, SUM(salary) AS s FROM staff GROUP BY city",
    "SELECT SUM(salary) AS s FROM staff WHERE age >= 25",
    "SELECT SUM(salary) AS s FROM staff WHERE age >= 26",
    "SELECT SUM(salary) AS s FROM staff WHERE city = 'Rome' AND age < 40",
    "SELECT SUM(salary) AS s FROM staff WHERE who IN (1, 2, 3)",
    "SELECT SUM(salary) AS s FROM staff WHERE who IN (2, 3, 4)",
    "SELECT SUM(salary) AS s FROM staff WHERE who IN (1, 4)",
    "SELECT SUM(paid) AS s FROM staff WHERE age >= 26",
    "SELECT MAX(bonus) AS s FROM staff WHERE city = 'Rome'",
    "SELECT MIN(bonus) AS s FROM staff WHERE city = 'Milan'",
    "SELECT MAX(bonus) AS s FROM staff WHERE city = 'Milan'",
    "SELECT MAX(bonus) AS s FROM staff WHERE who = 3",
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
        ("SELECT SUM(salary) FROM staff WHERE salary > 100", "salary cannot be used in conditions or groups"),
        ("SELECT SUM(salary) FROM staff WHERE diagnosis = 'flu'", "diagnosis cannot be used in conditions or groups"),
        (
            "SELECT diagnosis, SUM(salary) FROM staff GROUP BY diagnosis",
            "diagnosis cannot be used in conditions or groups",
        ),
        ("SELECT salary AS x, SUM(salary) FROM staff GROUP BY x", "salary cannot be used in conditions or groups"),
        ("SELECT MAX(salary) FROM staff", "audited for sum"),
        ("SELECT SUM(bonus) FROM staff", "audited for extremes"),
        ("SELECT SUM(age) FROM staff", "age is not audited"),
        ("SELECT SUM(salary + bonus) FROM staff", "cannot be audited"),
        ("SELECT SUM(DISTINCT salary) FROM staff", "cannot be audited"),
        ("SELECT COUNT(salary) FROM staff", "cannot be audited"),
        ("SELECT MAX(bonus, 2) FROM staff", "cannot be audited"),
        ("SELECT SUM(salary) FILTER (WHERE salary > 3) FROM staff", "cannot be audited"),
        ("SELECT SUM(salary) OVER () FROM staff", "cannot be audited"),
        ("SELECT salary FROM staff", "cannot be audited"),
        ("SELECT COUNT(*) FROM staff", "no audited column"),
        ("SELECT SUM(salary) FROM staff GROUP BY city", "must be in SELECT"),
        ("SELECT SUM(salary) FROM staff HAVING SUM(salary) > 3", "HAVING is not supported"),
        ("SELECT SUM(salary) FROM staff LIMIT 1", "LIMIT is not supported"),
        ("SELECT SUM(salary) FROM staff JOIN staff AS t USING (who)", "JOIN is not supported with query auditing"),
        ("SELECT SUM(salary) FROM staff, staff AS t", "JOIN is not supported with query auditing"),
        ("SELECT SUM(salary) FROM (SELECT * FROM staff)", "does not support subqueries"),
        ("SELECT SUM(salary) FROM staff WHERE who IN (SELECT who FROM staff)", "does not support subqueries"),
        ("SELECT SUM(salary) FROM staff TABLESAMPLE 10%", "one plain table"),
        ("UPDATE staff SET salary = 0", "one SELECT"),
        ("SELECT SUM(salary), AVG(salary) AS column1 FROM staff", "Two columns"),
        ("SELECT SUM(salary) FROM staff WHERE discreet_row < 3", "discreet_row cannot be used in conditions"),
        ("SELECT city, SUM(salary) FROM staff GROUP BY age + 1, city", "must be in SELECT"),
        ("nonsense", "one SELECT"),
        ("SELECT SUM(x.salary) FROM staff", "no x.salary"),
        ("SELECT SUM(staff.salary) FROM staff AS s", "no staff.salary"),
        ("SELECT SUM(salary) FROM staff AS s(city, who)", "Column aliases"),
        ("SELECT SUM(salary) FROM staff WHERE city = '\ud800'", "incomplete Unicode character"),
    ],
)
def test_what_no_auditor_covers_is_refused(asked, question, what):
    with pytest.raises(BadQuery, match=what):
        asked.ask_audited(question)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    with office(tmp_path_factory.mktemp("audited") / "office") as curator:
        yield curator


def test_an_audited_table_is_never_asked_with_noise(place):
    with Curator(place) as curator:
        for way in (
            lambda: curator.ask("SELECT COUNT(*) FROM staff", epsilon="0.1"),
            lambda: curator.ask_all(["SELECT COUNT(*) FROM staff"], epsilon="0.1"),
            lambda: curator.stream(Stream("a", 100, epsilon="0.5"), "staff"),
        ):
            with pytest.raises(Refused, match="staff has query auditing"):
                way()
        assert curator.left("staff").table == Pure(0), "and the ledger would refuse it"


def test_a_table_that_was_asked_with_noise_is_never_audited(tmp_path):
    with office(tmp_path / "office", watched=None) as curator:
        with pytest.raises(Refused, match="staff has no query auditing"):
            curator.ask_audited(ALL)
        curator.ask("SELECT COUNT(*) FROM staff", epsilon="0.1")
        with pytest.raises(Refused, match="answered with noise"):
            curator.audit("staff", {"salary": "sum"}, by=["city"])


def test_a_policy_is_decided_once_and_must_fit_the_card(tmp_path):
    with office(tmp_path / "office", watched=None) as curator:
        for columns, by, error in (
            ({"salary": "median"}, BY, BadInput),
            ({"salary": "bounded"}, BY, BadInput),
            ({"salary": "bounded=2000000:look"}, BY, BadInput),
            ({"salary": "sum:look"}, BY, BadInput),
            ({"ill": "bounded=1"}, BY, Refused),
            ({"paid": "bounded=1:look"}, BY, BadInput),
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
        with pytest.raises(Refused, match="eve may not query any table"):
            curator.ask_audited(ALL, analyst="eve")


def test_a_column_that_had_to_be_looked_at_is_closed(tmp_path):
    ill = staff().set_column(6, "ill", [[False] * 30])
    with office(tmp_path / "office", ill) as curator, Curator(tmp_path / "office") as other:
        with pytest.raises(Refused, match=r"closed permanently.*depends on the data"):
            curator.ask_audited("SELECT SUM(ill) FROM staff")
        with pytest.raises(Refused, match="a column that is closed"):
            other.ask_audited("SELECT SUM(ill) FROM staff WHERE city = 'Rome'")
        assert other.ask_audited(ALL).table.num_rows == 1, "other columns are not"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
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


@pytest.mark.slow
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
        written = [line.entry.purpose for line in curator.ledger.lines() if isinstance(line.entry, Charged)]
        assert [one.partition(":")[0] for one in written if one.startswith("audited")] == [
            "audited from now on",
            "audited, answered",
            "audited, denied",
        ]


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


def weighed(kind, bounds, values, how="sum"):
    """An audit of one number of eight people."""
    number = Column("x", kind, Role.SENSITIVE, bounds=bounds, required=True)
    card = Card("staff", (CARD["who"], number), unit="who", rows_per_unit=1)
    return audit.Audit(read(pa.table({"who": range(8), "x": values}), card), Policy.of({"x": how}, ["who"], card))


def test_what_takes_few_values_is_not_taken_to_be_any_number():
    tenths = pa.array([Decimal(one) / 10 for one in range(8)], pa.decimal128(4, 1))
    for kind, bounds, values in (
        (Kind.INTEGER, (5, 103), range(8)),
        (Kind.DECIMAL, (0, 9), tenths),
    ):
        with pytest.raises(Refused, match="fewer than 100 values"):
            weighed(kind, bounds, values)
    weighed(Kind.INTEGER, (5, 104), range(8))
    weighed(Kind.DECIMAL, (0, 10), tenths)


def test_sums_that_would_not_be_exact_are_refused():
    digits = pa.array([Decimal("1e-30")] * 8, pa.decimal128(38, 30))
    for kind, bounds, values in (
        (Kind.INTEGER, (0, 2**59 + 1), range(8)),
        (Kind.DECIMAL, (0, 2 * 10**7), digits),
    ):
        with pytest.raises(Refused, match="too large to be exact"):
            weighed(kind, bounds, values)
        weighed(kind, bounds, values, "extremes")
    weighed(Kind.INTEGER, (0, 2**59), range(8))
    fits = weighed(Kind.DECIMAL, (0, 10**7), digits)
    assert fits.decide(fits.question("SELECT SUM(x) FROM staff")).told == {("sum", "x"): [Decimal("8e-30")]}


def test_what_could_not_be_answered_is_said_before_a_policy_is_written(tmp_path):
    wide = replace(
        CARD, columns=tuple(replace(one, bounds=(0, 2**61)) if one.name == "salary" else one for one in CARD.columns)
    )
    with Curator.create(tmp_path / "office", {"staff": (staff(), wide)}, Pure(3)) as curator:
        with pytest.raises(Refused, match="too large to be exact"):
            curator.audit("staff", {"salary": "sum"}, by=BY)
        assert curator.audited("staff") is None
        assert curator.left("staff").table == Pure(3)


def test_related_sums_are_weighed_together(place):
    with Curator(place) as curator:
        assert outcomes(curator, [ALL]) != [None]
        told = outcomes(curator, [f"SELECT SUM(paid) AS s FROM staff{where}" for where in ("", " WHERE who <> 2")])
        assert told[0] is not None
        assert told[1] is None, "paid might be a share of the salary"


def test_so_many_figures_are_asked_for_at_once(place, monkeypatch):
    with Curator(place) as curator:
        by_city = "SELECT city, SUM(salary) AS a, SUM(paid) AS b FROM staff GROUP BY city"
        history = curator._audits._history("staff")
        monkeypatch.setattr(audit, "_MOST", 5)
        with pytest.raises(BadQuery, match="more than 5 figures"):
            curator.ask_audited(by_city)
        assert history.audit._classes.count == 1, "before any class was split by the groups"
        monkeypatch.setattr(audit, "_MOST", 6)
        assert outcomes(curator, [by_city]) != [None]


@pytest.mark.parametrize("limit", [Pure(3), Approximate(3, "1e-6"), Concentrated(1)])
def test_noise_cannot_come_in_while_a_table_is_to_be_audited(tmp_path, monkeypatch, limit):
    """Who asks with noise has seen that the table is not audited; then it is; then they are charged."""
    with Curator.create(tmp_path / "office", {"staff": (staff(), CARD)}, limit) as curator:
        looked = curators.require_noise

        def slowly(*asked):
            looked(*asked)
            monkeypatch.setattr(curators, "require_noise", looked)
            with Curator(tmp_path / "office") as other:
                other.audit("staff", {"salary": "sum"}, by=BY)

        monkeypatch.setattr(curators, "require_noise", slowly)
        price = {"rho": "0.1"} if limit == Concentrated(1) else {"epsilon": "0.1"}
        with pytest.raises(BudgetExceeded):
            curator.ask("SELECT COUNT(*) FROM staff", **price)
        assert outcomes(curator, [ALL]) != [None]
        with pytest.raises(BudgetExceeded):
            charge = LedgerCharge(curator.ledger, "staff", "combined")
            charge(Concentrated("0.1") if "rho" in price else Pure("0.1"), "k")


def test_what_was_charged_before_the_limit_was_set_keeps_a_table_from_being_audited(tmp_path, monkeypatch):
    with office(tmp_path / "office", watched=None) as curator:
        limited = SqlLedger.set_limit

        def after_a_charge(ledger, name, budget, **why):
            if budget == Budget(Pure(0)):
                ledger.charge("staff", Pure(1), key="faster", what="by an attacker")
            return limited(ledger, name, budget, **why)

        monkeypatch.setattr(SqlLedger, "set_limit", after_a_charge)
        with pytest.raises(Refused, match="answered with noise"):
            curator.audit("staff", {"salary": "sum"}, by=BY)
        assert curator.audited("staff") is None
        assert curator.left("staff").table == Pure(2)


def test_an_audited_table_that_was_charged_after_all_answers_nothing(place):
    with Curator(place) as curator:
        curator.ledger.set_limit("staff", Pure(1), why="by a way that does not know of auditing")
        curator.ledger.charge("staff", Pure(1), key="k", what="by the same")
        with pytest.raises(Refused, match="it is closed"):
            curator.ask_audited(ALL)


def test_a_second_twin_under_the_same_account_is_refused(place):
    with Curator(place) as curator:
        write_policy(curator.ledger, "staff", curator.workspace.tables["staff"].id, curator.audited("staff"))
        with pytest.raises(Refused, match="Another workspace"):
            write_policy(curator.ledger, "staff", "another", curator.audited("staff"))
        with pytest.raises(Refused, match="Another workspace"):
            require_twin(find_audited(curator.ledger, "staff"), "staff", "another")


@pytest.mark.parametrize("memory", [True, False])
def test_rows_that_do_not_count_keep_a_table_from_being_audited(tmp_path, memory):
    for name, values in (("whole", [1] * 30), ("missing", [None] + [1] * 29)):
        file = tmp_path / f"{name}.parquet"
        rows = staff().set_column(3, "salary", [pa.array(values, pa.int64())])
        parquet.write_table(rows, file)
        with Curator.create(tmp_path / name, {"staff": (rows if memory else str(file), CARD)}, Pure(3)) as curator:
            if name == "whole":
                curator.audit("staff", {"salary": "sum"}, by=BY)
                continue
            with pytest.raises(Refused, match="1 rows of staff lack a required value"):
                curator.audit("staff", {"salary": "sum"}, by=BY)
            assert curator.audited("staff") is None


def test_a_table_whose_rows_cannot_be_counted_any_more_is_not_audited(tmp_path):
    file = tmp_path / "staff.parquet"
    parquet.write_table(staff(), file)
    with Curator.create(tmp_path / "office", {"staff": (str(file), CARD)}, Pure(3)) as curator:
        file.unlink()
        with pytest.raises(Refused, match="cannot be checked"):
            curator.audit("staff", {"salary": "sum"}, by=BY)
        assert curator.audited("staff") is None


def test_a_table_that_an_earlier_discreet_read_from_memory_is_not_audited(tmp_path):
    office(tmp_path / "office", watched=None).close()
    file = tmp_path / "office" / "workspace.toml"
    file.write_text("".join(line for line in file.read_text().splitlines(True) if "left_out" not in line))
    with Curator(tmp_path / "office") as curator, pytest.raises(Refused, match="registered from memory"):
        curator.audit("staff", {"salary": "sum"}, by=BY)


def test_sets_that_are_not_what_they_were_are_found(place):
    with Curator(place) as curator:
        outcomes(curator, [ALL])
        said = curator.ledger.find_line(curator._audits._key("staff", 1)).entry.purpose
        other = said.replace(json.loads(said.rpartition("\n")[2])[2], "0" * 16)
        curator.ledger.charge("staff", Pure(0), key=curator._audits._key("staff", 2), what=other)
        with pytest.raises(Damaged, match="have changed"):
            curator.ask_audited(BUT_ONE)


def test_what_is_promised_says_how_far_it_goes(place):
    with Curator(place) as curator:
        total = str(curator.ask_audited(ALL).statement)
        assert "if values could be any number" in total
        assert "are unrelated to other audited columns" in total
        assert "depend on the answers" not in total
        assert "No maximum is the lowest" in str(curator.ask_audited("SELECT MAX(bonus) FROM staff").statement)
        assert "depend on the answers" in str(curator.ask_audited("SELECT SUM(ill) FROM staff").statement)
