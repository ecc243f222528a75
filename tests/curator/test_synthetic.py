"""The synthetic stand-in of a table: made once through the door, and asked when the budget is gone."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import psycopg
import pyarrow as pa
import pytest
from tests.curator.clinics import BUDGET, CARD, CITIES, COUNT, clinic, visits
from tests.curator.methods import HALF, MadeUp, Telling

from discreet.budget.entries import Charged
from discreet.core.loss import Approximate, Pure
from discreet.core.release import Release
from discreet.curator.backup import back_up, restore
from discreet.curator.curator import Curator
from discreet.errors import BadInput, BudgetExceeded, Damaged, NoPromise, NotFound

ROOT = Path(__file__).parents[2]
MALE = "SELECT city, COUNT(*) AS n FROM visits WHERE income < 300 GROUP BY city"


def rows(_=None):
    """600 visits, half of them in Rome and none in Turin."""
    return pa.table(
        {
            "city": ["Rome", "Milan"] * 300,
            "street": [f"street {one % 5}" for one in range(600)],
            "income": np.arange(600) % 500.0,
        }
    )


def charges(curator):
    return [one.entry for one in curator.ledger.lines() if isinstance(one.entry, Charged) and one.entry.loss != Pure(0)]


def spent(curator):
    """Spend all that the analyst has."""
    left = curator.left("visits")
    curator.ask(
        "SELECT COUNT(*) AS c FROM visits WHERE income >= 0",
        epsilon=min(left.analyst.epsilon, left.table.epsilon),
        instead=False,
    )


@pytest.fixture
def curator(tmp_path):
    """A clinic with a synthetic stand-in, where the analyst has nothing left."""
    with clinic(tmp_path / "clinic", analyst=None) as found:
        found.add_analyst("analyst", Approximate(1, "1e-7"))
        found.make_synthetic(MadeUp(rows), "visits")
        spent(found)
        yield found


def test_it_is_charged_to_the_table_and_to_no_analyst(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        before = curator.left("visits")
        given = curator.make_synthetic(MadeUp(rows), "visits")
        assert given._repr_html_() == given.release._repr_html_()
        assert "object at" not in repr(given)
        assert not given.free
        assert given.release.receipt.account == "visits"
        assert given.release.payload.equals(rows())
        assert given.release.title == "The synthetic stand-in of visits"
        after = curator.left("visits")
        assert after.analyst == before.analyst
        assert after.table.epsilon == before.table.epsilon - HALF.epsilon
        assert charges(curator)[0].purpose.startswith("made-up of visits: what = rows\n")
        assert curator.make_synthetic(MadeUp(rows), "visits").free
        assert len(charges(curator)) == 1
        with pytest.raises(BudgetExceeded, match="budget of visits does not cover"):
            curator.make_synthetic(MadeUp(rows, loss=Pure(4)), "visits")
        with pytest.raises(NoPromise):
            curator.make_synthetic(MadeUp(rows, loss=None), "visits")
        with pytest.raises(NotFound):
            curator.make_synthetic(MadeUp(rows), "nowhere")
        assert curator.verify().sound


def test_when_the_budget_is_gone_the_twin_answers_exactly_marked_and_for_nothing(curator):
    before = len(charges(curator)), curator.left("visits")
    answer = curator.ask(CITIES, epsilon="0.5")
    assert answer.synthetic
    assert answer.free
    assert answer.price == Pure(0)
    assert answer.table["synthetic"].to_pylist() == [True] * 3
    assert answer.table.drop_columns("synthetic").to_pylist() == [
        {"city": "Rome", "n": 300, "income": pytest.approx(215 + 2 / 3), "n_error": None, "income_error": None},
        {"city": "Milan", "n": 300, "income": pytest.approx(216 + 2 / 3), "n_error": None, "income_error": None},
        {"city": "Turin", "n": 0, "income": None, "n_error": None, "income_error": None},
    ]
    assert (len(charges(curator)), curator.left("visits")) == before
    assert answer.left == before[1]
    said = str(answer.statement)
    assert answer.statement.loss == HALF
    assert "computed from the synthetic stand-in of visits, which had been released for ε = 0.5" in said
    assert "no further privacy loss" in said
    assert "people who never existed" in said
    assert "no bound is known" in said
    assert answer.release.receipt == curator.synthetic("visits").papers.receipt
    assert str(answer).startswith("SYNTHETIC: ")
    assert "n (synthetic)" in str(answer)
    assert "SYNTHETIC" in answer._repr_html_()
    again = curator.ask(CITIES, epsilon="0.25")
    assert (again.identity, again.table) == (answer.identity, answer.table)
    assert curator.verify().sound


def test_medians_unknown_groups_and_what_is_computed_are_answered_too(curator):
    sql = "SELECT street, COUNT(*) AS n, MEDIAN(income) AS m, COUNT(*) / 2 AS half FROM visits GROUP BY street"
    answer = curator.ask(f"{sql} ORDER BY n DESC, street LIMIT 2", epsilon="0.5", delta="1e-8")
    assert answer.synthetic
    assert [(row["street"], row["n"], row["half"]) for row in answer.table.to_pylist()] == [
        ("street 0", 120, 60),
        ("street 1", 120, 60),
    ]
    assert all(abs(row["m"] - 220) < 30 for row in answer.table.to_pylist())
    nobody = curator.ask("SELECT MEDIAN(income) AS m, STDDEV(income) AS s FROM visits WHERE income > 900", epsilon=1)
    assert nobody.table.to_pylist() == [dict.fromkeys(("m", "s", "m_error", "s_error")) | {"synthetic": True}]


def test_the_twin_is_never_asked_when_the_budget_covers_the_question(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        curator.make_synthetic(MadeUp(rows), "visits")
        paid = curator.ask(COUNT, epsilon="0.5")
        assert not paid.synthetic
        assert not curator.price(CITIES, epsilon="0.5").synthetic
        spent(curator)
        assert curator.ask(COUNT, epsilon="0.5").table == paid.table, "answered before: the real answer, for free"
        assert not curator.price(COUNT, epsilon="0.5").synthetic
        curator.add_analyst("eve", Pure("0.1"))
        for question in (COUNT, CITIES):  # whether somebody asked it or not
            assert curator.price(question, epsilon="0.5", analyst="eve").synthetic == ("visits",)
        quote = curator.price(CITIES, epsilon="0.5")
        assert quote.synthetic == ("visits",)
        assert "synthetic stand-in of visits would answer" in str(quote)
        assert curator.ask(CITIES, epsilon="0.5").synthetic
        curator.ledger.set_limit("visits", Approximate(9, "1e-6"), why="another year")
        curator.ledger.set_limit("visits/analyst", Approximate(9, "1e-6"), why="another year")
        real = curator.ask(CITIES, epsilon="0.5")
        assert not real.synthetic, "what was synthetic is asked again once there is a budget"
        assert not real.free


def test_without_a_twin_or_if_it_is_not_wanted_the_refusal_stays(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        spent(curator)
        with pytest.raises(BudgetExceeded):
            curator.ask(COUNT, epsilon=1)
        with pytest.raises(BudgetExceeded):
            curator.ask_all([COUNT], epsilon=1)
        curator.ledger.set_limit("visits", Approximate(9, "1e-6"), why="for the twin")
        curator.make_synthetic(MadeUp(rows), "visits")
        with pytest.raises(BudgetExceeded):
            curator.ask(COUNT, epsilon=1, instead=False)
        with pytest.raises(BudgetExceeded):
            curator.ask_all([COUNT], epsilon=1, instead=False)
        assert curator.ask(COUNT, epsilon=1).table.to_pylist() == [{"n": 600, "n_error": None, "synthetic": True}]


def test_what_the_twin_cannot_answer_is_refused_with_both_reasons(curator):
    with pytest.raises(BudgetExceeded, match="budget of visits/analyst") as refusal:
        curator.ask("SELECT COUNT(DISTINCT patient) AS n FROM visits", epsilon=1)
    assert "The synthetic stand-in cannot answer it either" in refusal.value.hint
    assert refusal.value.account == "visits/analyst"


def test_a_batch_is_answered_by_the_twin_but_for_what_was_answered_before(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        curator.make_synthetic(MadeUp(rows), "visits")
        paid = curator.ask(COUNT, epsilon="0.5")
        quotes = curator.price_all([COUNT, MALE], epsilon="100")
        assert [quote.synthetic for quote in quotes] == [("visits",)] * 2
        first, second = curator.ask_all([COUNT, MALE], epsilon="100")
        assert first.synthetic and second.synthetic
        spent(curator)
        first, second = curator.ask_all([COUNT, MALE], epsilon="1")
        assert (first.synthetic, second.synthetic) == (False, True)
        assert first.table == paid.table


def test_twins_that_were_made_apart_are_not_joined(tmp_path):
    sql = "SELECT COUNT(*) AS n FROM visits JOIN staff ON visits.patient = staff.patient"
    tables = {"visits": (visits(), CARD), "staff": (visits(), CARD)}
    with Curator.create(tmp_path / "clinic", tables, BUDGET) as curator:
        for name in tables:
            curator.make_synthetic(MadeUp(rows), name)
        with pytest.raises(BudgetExceeded) as refusal:
            curator.ask(sql, epsilon=99)
        assert "were made separately" in refusal.value.hint
        one = curator.ask("SELECT COUNT(*) AS n FROM staff", epsilon=99)
        assert one.release.recipe.parameters["table"] == "staff"


def test_public_tables_are_joined_with_it(tmp_path):
    regions = pa.table({"city": ["Rome", "Milan", "Turin"], "region": ["Lazio", "Lombardy", "Piedmont"]})
    sql = "SELECT region, COUNT(*) AS n FROM visits JOIN regions ON visits.city = regions.city GROUP BY region"
    with clinic(tmp_path / "clinic", public={"regions": regions}) as curator:
        curator.make_synthetic(MadeUp(rows), "visits")
        found = curator.ask(sql, epsilon=99).table
        assert dict(zip(found["region"].to_pylist(), found["n"].to_pylist(), strict=True)) == {
            "Lazio": 300,
            "Lombardy": 300,
            "Piedmont": 0,
        }


def test_units_of_its_own_are_people_of_the_twin(tmp_path):
    linked = rows().add_column(0, "patient", pa.array(np.arange(600) // 2))
    with clinic(tmp_path / "clinic") as curator:
        curator.make_synthetic(MadeUp(lambda _: linked), "visits")
        found = curator.ask("SELECT COUNT(DISTINCT patient) AS n FROM visits", epsilon=99)
        assert found.table["n"].to_pylist() == [300]


def test_a_newer_twin_takes_the_place_of_an_older_one(curator, tmp_path):
    older = curator.ask(COUNT, epsilon=1)
    given = curator.make_synthetic(MadeUp(lambda _: rows().slice(0, 100), "fewer"), "visits")
    newer = curator.ask(COUNT, epsilon=1)
    assert newer.table["n"].to_pylist() == [100]
    assert (
        newer.release.recipe.parameters["synthetic"] == given.identity != older.release.recipe.parameters["synthetic"]
    )
    with Curator(tmp_path / "clinic") as another:
        assert another.ask(COUNT, epsilon=1).table == newer.table
    curator.make_synthetic(MadeUp(rows), "visits")
    assert curator.ask(COUNT, epsilon=1).table == older.table, "the old one is still there, and made again for nothing"
    assert curator.verify().sound


@pytest.mark.parametrize(
    "make", [lambda _: {"rows": "none"}, lambda _: pa.table({"town": ["Rome"]}), lambda _: pa.table({"n": [1]})]
)
def test_what_makes_no_rows_of_the_table_is_no_twin(tmp_path, make):
    with clinic(tmp_path / "clinic") as curator:
        with pytest.raises(BadInput, match=r"cannot be (the|its) synthetic stand-in"):
            curator.make_synthetic(MadeUp(make), "visits")
        assert curator.synthetic("visits") is None


def test_what_says_that_it_makes_no_rows_is_refused_before_it_is_charged(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        with pytest.raises(BadInput, match="telling makes no rows, so it cannot be the synthetic stand-in of visits"):
            curator.make_synthetic(Telling(), "visits")
        assert charges(curator) == []


def test_the_mark_goes_wherever_the_figures_go(curator, tmp_path):
    release = curator.ask("SELECT COUNT(*) AS synthetic, AVG(income) AS n FROM visits", epsilon=1).release
    folder = release.save(tmp_path / "answer", csv=True)
    header, row = (folder / "payload.csv").read_text().splitlines()
    assert header.split(",")[-1] == '"synthetic_"'
    assert row.split(",")[-1] == "true"
    assert Release.load(folder).payload["synthetic_"].to_pylist() == [True]
    assert ">synthetic_</th>" in (folder / "report.html").read_text()


def test_no_more_than_a_few_answers_of_twins_are_kept_and_none_is_sealed(curator, monkeypatch):
    monkeypatch.setattr("discreet.curator.synthetic._MOST", 2)
    lines, there = sum(1 for _ in curator.ledger.lines()), set(curator.workspace.releases.iterdir())
    kept = curator.workspace.folder / ".synthetic"
    first = curator.ask(COUNT, epsilon=1)
    assert Release.load(kept / first.identity).payload.equals(first.table)
    for income in range(3):
        last = curator.ask(f"SELECT COUNT(*) AS n FROM visits WHERE income > {income}", epsilon=1)
    assert len(list(kept.iterdir())) == 2
    assert (kept / last.identity).is_dir()
    assert curator.ask(COUNT, epsilon=1).table == first.table, "made again"
    (kept / first.identity / "statement.json").write_text("{}")
    assert curator.ask(COUNT, epsilon=1).table == first.table
    assert Release.load(kept / first.identity).payload.equals(first.table), "what is damaged is made again"
    assert (sum(1 for _ in curator.ledger.lines()), set(curator.workspace.releases.iterdir())) == (lines, there)
    assert curator.verify().sound


def test_a_twin_that_is_withdrawn_answers_nothing_and_may_answer_again(curator):
    found = curator.synthetic("visits")
    curator.set_synthetic("visits", None)
    assert curator.synthetic("visits") is None
    assert not curator.price(COUNT, epsilon=1).synthetic
    with pytest.raises(BudgetExceeded):
        curator.ask(COUNT, epsilon=1)
    curator.set_synthetic("visits", None)
    with pytest.raises(NotFound):
        curator.set_synthetic("visits", "0" * 64)
    before = len(charges(curator))
    curator.set_synthetic("visits", found.identity)
    assert curator.ask(COUNT, epsilon=1).synthetic
    assert len(charges(curator)) == before


def test_a_note_that_names_another_release_is_not_believed(curator):
    note = curator.workspace.folder / "tables" / "visits" / "synthetic.json"
    other = curator.given(Telling(loss=Pure(0)), "visits").identity
    for text in ("{", '{"release": 3}', f'{{"release": "{other}"}}'):
        note.write_text(text)
        with Curator(curator.workspace.folder) as again, pytest.raises((Damaged, BudgetExceeded)):
            again.ask(COUNT, epsilon=1)


KILLED = """
import os, signal, sys
from tests.curator.methods import MadeUp
from tests.curator.test_synthetic import rows
from discreet.curator import synthetic
from discreet.curator.curator import Curator
kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "noted":
    synthetic.give_name = kill
with Curator(sys.argv[1]) as curator:
    curator.make_synthetic(MadeUp(kill if sys.argv[2] == "made" else rows), "visits")
"""


@pytest.mark.parametrize("where", ["made", "noted"])
def test_killed_on_the_way_making_it_again_is_charged_once(tmp_path, where):
    clinic(tmp_path / "clinic").close()
    dead = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "clinic"), where],
        cwd=ROOT,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    assert dead.returncode == -signal.SIGKILL
    with Curator(tmp_path / "clinic") as curator:
        assert len(charges(curator)) == 1
        assert curator.synthetic("visits") is None
        with pytest.raises(BudgetExceeded):
            curator.ask(COUNT, epsilon=99)
        assert curator.make_synthetic(MadeUp(rows), "visits").free == (where == "noted")
        assert len(charges(curator)) == 1
        assert curator.ask(COUNT, epsilon=99).synthetic
        assert curator.verify().sound


def test_copies_have_it_and_its_answers(curator, tmp_path):
    before = curator.ask(COUNT, epsilon=1)
    back_up(tmp_path / "clinic", tmp_path / "clinic.tar")
    restore(tmp_path / "clinic.tar", tmp_path / "again", forget=True)
    with Curator(tmp_path / "again") as again:
        assert again.verify().sound
        assert again.ask(COUNT, epsilon=1).table == before.table
        assert again.ask(MALE, epsilon=1).synthetic


def test_a_note_without_its_release_is_none(curator, tmp_path):
    """As in a copy that was begun before the twin was made."""
    note = tmp_path / "clinic" / "tables" / "visits" / "synthetic.json"
    clinic(tmp_path / "early").close()
    shutil.copy(note, tmp_path / "early" / "tables" / "visits" / "synthetic.json")
    with Curator(tmp_path / "early") as early:
        assert early.synthetic("visits") is None
        with pytest.raises(BudgetExceeded):
            early.ask(COUNT, epsilon=99)


@pytest.fixture
def shared_ledger(postgres_address):
    """A database in which there is not a ledger, before and after."""
    yield postgres_address
    with psycopg.connect(postgres_address) as connection:
        connection.execute("DROP SCHEMA discreet_ledger CASCADE")


def test_a_ledger_in_postgres_does_as_well(tmp_path, shared_ledger):
    with clinic(tmp_path / "clinic", ledger=shared_ledger) as curator:
        curator.make_synthetic(MadeUp(rows), "visits")
        assert curator.left("visits").table.epsilon == BUDGET.epsilon - HALF.epsilon
        assert curator.ask(COUNT, epsilon=99).synthetic
        assert len(charges(curator)) == 1
        assert curator.verify().sound
