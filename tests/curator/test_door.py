"""The door, whatever goes through it: the order of things, failures that tell nothing, one charge for one release."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.curator.clinics import BUDGET, CARD, clinic, visits
from tests.curator.methods import Telling

from discreet.budget.entries import Charged
from discreet.core.loss import Approximate, Concentrated, Pure
from discreet.core.statement import Claim
from discreet.curator.curator import Curator
from discreet.errors import BadInput, BudgetExceeded, LedgerError, NoPromise, NotFound, Refused
from discreet.verbs.ask.continual import TreeCounter
from discreet.verbs.ask.distribution import Distribution

ROOT = Path(__file__).parents[2]
COUNTS = ["SELECT COUNT(*) AS n FROM visits", "SELECT COUNT(*) AS n FROM staff"]


def charges(curator):
    return [one.entry for one in curator.ledger.lines() if isinstance(one.entry, Charged) and one.entry.loss != Pure(0)]


def secret(_):
    raise ZeroDivisionError("somebody's secret")


def two_tables(folder, budget=BUDGET, **options):
    return Curator.create(folder, {"visits": (visits(), CARD), "staff": (visits(), CARD)}, budget, **options)


def test_a_method_is_charged_run_on_the_twin_kept_and_given(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        seen = []

        def act(table):
            seen.append((table.count(), [one.loss for one in charges(curator)]))
            return {"rows": "many"}

        release = curator.release(Telling(act=act), "visits")
        assert seen == [(1000, [Pure("0.5")])], "charged before it was run, on two visits of everybody"
        assert release.payload == {"rows": "many"}
        assert release.receipt.account == "visits/analyst"
        assert release.recipe.method == "telling"
        assert release.recipe.parameters["what"] == "a secret"
        assert charges(curator)[0].purpose.startswith("telling of visits: what = a secret\n")
        assert curator.release(Telling(act=secret), "visits").payload == {"rows": "many"}, "the same is not run again"
        assert len(charges(curator)) == 1
        assert not curator.quote(Telling("another"), "visits").answered
        assert curator.quote(Telling(), "visits").answered
        assert curator.verify().sound
    with Curator(tmp_path / "clinic") as curator:
        assert curator.release(Telling(), "visits").payload == {"rows": "many"}


def test_a_failing_run_says_nothing_and_stays_charged_and_a_retry_is_charged_once(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        with pytest.raises(Refused, match="could not be answered; it was charged") as refusal:
            curator.release(Telling(act=secret), "visits", key="monday")
        assert "secret" not in str(refusal.value)
        assert refusal.value.__suppress_context__
        assert [one.loss for one in charges(curator)] == [Pure("0.5")]
        assert not list((tmp_path / "clinic" / "releases").iterdir())
        with pytest.raises(LedgerError, match="used for another charge"):
            curator.release(Telling("another"), "visits", key="monday")
        assert curator.release(Telling(), "visits", key="monday").payload == "told"
        assert len(charges(curator)) == 1


@pytest.mark.parametrize("act", [lambda _: {1: 2}, lambda _: object(), lambda _: float("nan")])
def test_what_cannot_be_kept_is_not_given(tmp_path, act):
    with clinic(tmp_path / "clinic") as curator:
        with pytest.raises(Exception, match="not given") as error:
            curator.release(Telling(act=act), "visits")
        assert "charged once" in str(error.value)
        assert len(charges(curator)) == 1


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), -float("inf"), -(2**63)])
def test_a_figure_that_is_not_finite_is_not_sealed(tmp_path, figure):
    made = pa.table({"n": [1, 2, None], "n_error": [3, figure, None]})
    with clinic(tmp_path / "clinic") as curator:
        with pytest.raises(Refused, match="could not be answered; it was charged") as refusal:
            curator.release(Telling(act=lambda _: made), "visits")
        assert "finite" not in str(refusal.value)
        assert not list((tmp_path / "clinic" / "releases").iterdir())
        fine = pa.table({"n": [1, 2, None], "n_error": [3.5, 0.0, None], "city": ["a", None, "b"]})
        assert curator.release(Telling("another", act=lambda _: fine), "visits").payload.equals(fine)


@pytest.mark.parametrize("kept", [True, False])
def test_a_model_that_was_promised_is_checked_before_anything_leaves(tmp_path, kept):
    claim = Claim("k-anonymity", "2-anonymous on city", {"k": 2})
    method = Telling(models=(claim,), kept=kept)
    with clinic(tmp_path / "clinic") as curator:
        if kept:
            assert curator.release(method, "visits").statement.models == (claim,)
            return
        with pytest.raises(Refused, match="could not be answered; it was charged") as refusal:
            curator.release(method, "visits")
        assert "anonymous" not in str(refusal.value)
        assert not list((tmp_path / "clinic" / "releases").iterdir())


def test_what_promises_no_loss_or_too_much_is_refused_before_it_is_run(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        with pytest.raises(NoPromise, match="no bound on a privacy loss"):
            curator.release(Telling(loss=None, act=secret), "visits")
        with pytest.raises(BudgetExceeded):
            curator.release(Telling(loss=Pure(9), act=secret), "visits")
        with pytest.raises(NoPromise, match="concentrated"):
            curator.release(Telling(loss=Concentrated(1), act=secret), "visits")
        with pytest.raises(NotFound, match="called 'nowhere'"):
            curator.release(Telling(), "nowhere")
        with pytest.raises(Refused, match="eve may ask about nothing"):
            curator.release(Telling(), "visits", analyst="eve")
        assert not charges(curator)


def test_rivals_get_one_release_between_them(tmp_path):
    with clinic(tmp_path / "clinic") as curator, ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda n: curator.release(Telling(act=lambda _: n), "visits").payload, range(8)))
        assert len(set(told)) == 1
        assert len(charges(curator)) == 1


KILLED = """
import os, signal, sys
from tests.curator.methods import Telling
from discreet.curator.curator import Curator
with Curator(sys.argv[1]) as curator:
    curator.release(Telling(act=lambda _: os.kill(os.getpid(), signal.SIGKILL)), "visits")
"""


def test_killed_while_it_runs_a_retry_is_charged_once(tmp_path):
    clinic(tmp_path / "clinic").close()
    dead = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "clinic")],
        cwd=ROOT,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    assert dead.returncode == -signal.SIGKILL
    with Curator(tmp_path / "clinic") as curator:
        assert len(charges(curator)) == 1
        assert curator.release(Telling(), "visits").payload == "told"
        assert len(charges(curator)) == 1


def test_a_batch_over_two_tables_charges_each_its_own(tmp_path):
    with two_tables(tmp_path / "clinic") as curator:
        asked = [*COUNTS, "SELECT SUM(income) AS s FROM visits"]
        curator.ask_all(asked, epsilon="1.5")
        assert {one.account: one.loss for one in charges(curator)} == {
            "visits/analyst": Pure(1),
            "staff/analyst": Pure("0.5"),
        }
        assert curator.verify().sound


def test_a_batch_that_one_table_cannot_afford_costs_nobody_anything(tmp_path):
    with two_tables(tmp_path / "clinic", analyst=None) as curator:
        curator.add_analyst("ann", Pure(1), ["staff"])
        curator.add_analyst("ann", Pure("0.1"), ["visits"])
        with pytest.raises(BudgetExceeded, match=r"visits/ann does not cover this: ε = 0\.5 was asked, ε = 0\.1") as no:
            curator.ask_all(COUNTS, epsilon=1, analyst="ann")
        assert (no.value.asked, no.value.left) == (Pure("0.5"), Pure("0.1"))
        assert not charges(curator)


def test_a_refusal_names_the_account_that_has_least_left(tmp_path):
    with two_tables(tmp_path / "clinic", analyst=None) as curator:
        for analyst, own, account, left in (("ann", 1, "visits/ann", 1), ("bob", 4, "visits", 3)):
            curator.add_analyst(analyst, Pure(own), ["visits"])
            with pytest.raises(BudgetExceeded, match=f"The budget of {account} does") as no:
                curator.ask("SELECT COUNT(*) AS n FROM visits", epsilon=5, analyst=analyst)
            assert no.value.left == Pure(left)


JOINED = "SELECT COUNT(*) AS n FROM visits JOIN staff USING (patient)"


def test_a_question_about_two_tables_charges_both_in_full_and_verify_knows_both_receipts(tmp_path):
    with two_tables(tmp_path / "clinic") as curator:
        answer = curator.ask(JOINED, epsilon="0.5", key="monday")
        assert {one.account: one.loss for one in charges(curator)} == dict.fromkeys(
            ("staff/analyst", "visits/analyst"), Pure("0.5")
        )
        assert {name: left.table for name, left in answer.left_on.items()} == dict.fromkeys(
            ("staff", "visits"), Approximate("2.5", "1e-6")
        )
        assert answer.release.receipt.account == "staff/analyst"
        assert [one["account"] for one in answer.release.recipe.parameters["also charged"]] == ["visits/analyst"]
        receipts = list(curator._store.receipts())
        assert [one.account for one in receipts] == ["staff/analyst", "visits/analyst"]
        assert curator.verify().sound
        assert curator.ask(JOINED, epsilon="0.5").free
        assert len(charges(curator)) == 2
        missing = replace(receipts[1], line=receipts[1].line + 100)
        assert not curator.ledger.verify([receipts[0], missing]).sound


def test_a_question_that_one_table_cannot_afford_costs_the_other_nothing(tmp_path):
    with two_tables(tmp_path / "clinic") as curator:
        curator.ask("SELECT COUNT(*) AS n FROM visits", epsilon="2.9")
        with pytest.raises(BudgetExceeded, match="The budget of visits/analyst does not cover this"):
            curator.ask(JOINED, epsilon="0.5")
        assert curator.left("staff").table == BUDGET


def test_a_question_that_died_between_two_charges_is_charged_once_on_each(tmp_path):
    with two_tables(tmp_path / "clinic") as curator:
        charge = curator.ledger.charge

        def dying(account, loss, **rest):
            if charges(curator):
                raise SystemExit
            return charge(account, loss, **rest)

        curator.ledger.charge = dying
        with pytest.raises(SystemExit):
            curator.ask(JOINED, epsilon="2.5")
        assert [one.account for one in charges(curator)] == ["staff/analyst"]
    with Curator(tmp_path / "clinic") as curator:
        curator.ask(JOINED, epsilon="2.5")
        assert [one.account for one in charges(curator)] == ["staff/analyst", "visits/analyst"]


def test_a_batch_that_died_between_two_charges_pays_the_second_later(tmp_path):
    """What one table paid must not be taken for what the other has to pay."""
    with two_tables(tmp_path / "clinic") as curator:
        charge = curator.ledger.charge
        seen = []

        def dying(account, loss, **rest):
            if seen:
                raise SystemExit
            seen.append(account)
            return charge(account, loss, **rest)

        curator.ledger.charge = dying
        with pytest.raises(SystemExit):
            curator.ask_all(COUNTS, epsilon=1)
        (first,) = seen
    with Curator(tmp_path / "clinic") as curator:
        paid = COUNTS[first == "staff/analyst"]
        curator.ask(paid, epsilon="0.5")  # answered on its own: a charge of its own, and no longer due
        curator.ask_all(COUNTS, epsilon=1)
        accounts = [one.account for one in charges(curator)]
        assert sorted(accounts) == sorted([first, first, {"visits/analyst", "staff/analyst"}.difference([first]).pop()])


def test_a_stream_is_charged_once_for_all_its_steps_and_never_started_again(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        counter = TreeCounter.for_loss(Pure("0.5"), 100, 2)
        stream = curator.stream(counter, "visits", name="admissions")
        assert [one.loss for one in charges(curator)] == [Pure("0.5")]
        assert isinstance(stream.add({"a": 3}), int)
        with pytest.raises(BadInput, match="each unit"):
            stream.add(3)  # the card names a unit
        with pytest.raises(NoPromise, match="was started before"):
            curator.stream(counter, "visits", name="admissions")
        curator.stream(counter, "visits", name="discharges", most=1)
        assert charges(curator)[1].loss == Pure("0.25")
        with pytest.raises(BudgetExceeded):
            curator.stream(TreeCounter.for_loss(Pure(9), 100, 2), "visits", name="dear")
        with pytest.raises(BadInput):
            curator.stream(counter, "visits", name="")
    with Curator(tmp_path / "clinic") as curator, pytest.raises(NoPromise, match="was started before"):
        curator.stream(counter, "visits", name="admissions")


def test_of_two_who_start_a_stream_at_once_one_is_refused(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        curator.ledger.find = lambda key: None  # both looked before either wrote
        counter = TreeCounter.for_loss(Pure("0.5"), 100, 2)
        curator.stream(counter, "visits", name="admissions")
        with pytest.raises(LedgerError, match="used for another charge"):
            curator.stream(counter, "visits", name="admissions")


def test_a_stream_by_rho_is_charged_to_a_budget_that_is_kept_as_rho(tmp_path):
    with clinic(tmp_path / "clinic", budget=Concentrated(1)) as curator:
        counter = TreeCounter.for_loss(Concentrated("1/4"), 100, 2)
        curator.stream(counter, "visits", name="admissions")
        assert curator.left("visits").table == Concentrated("3/4")


def test_what_is_left_is_said_table_by_table(tmp_path):
    with two_tables(tmp_path / "clinic") as curator:
        one, other = curator.ask_all(COUNTS, epsilon=1)
        assert one.left.table == other.left.table == Approximate("2.5", "1e-6")
        assert list(one.left_on) == ["visits"]


def test_a_table_on_spark_is_asked_where_it_lies(tmp_path, connect, connect_address, fresh, monkeypatch):
    """The twin is a table there; the address in the workspace holds no token, which comes from the environment."""
    name = fresh()
    connect.load(name, visits())
    address, _, token = connect_address.partition("/;token=")
    monkeypatch.setenv("SPARK_CONNECT_AUTHENTICATE_TOKEN", token)
    with Curator.create(tmp_path / "clinic", {name: (f"{address}#{name}", CARD)}, Pure(2000)) as curator:
        (row,) = curator.ask(f"SELECT COUNT(*) AS n FROM {name}", epsilon=1000).table.to_pylist()
        assert row["n"] == 1000
        found = curator.release(Distribution("income", 4, epsilon=900), name)
        assert found.payload["n_up_to"].to_pylist()[-1] == pytest.approx(1000, abs=1)
    with Curator(tmp_path / "clinic") as curator:
        assert curator.ask(f"SELECT COUNT(*) AS n FROM {name}", epsilon=1000).free
        assert curator.verify().sound
