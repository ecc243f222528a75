"""The pipeline with a ledger: the order of things, failures that tell nothing, one charge for one release."""

import hashlib
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.curator.clinics import BUDGET, CARD, clinic, visits
from tests.curator.methods import HALF, Telling

import discreet as dc
from discreet.budget.entries import Charged
from discreet.budget.ledger import create_ledger
from discreet.core.loss import Approximate, Concentrated, Pure
from discreet.core.statement import Claim
from discreet.curator.curator import Curator
from discreet.engines.limits import Limits
from discreet.errors import (
    BadInput,
    BudgetExceeded,
    LedgerError,
    LoginFailed,
    NoPromise,
    NotFound,
    Refused,
    Unreachable,
)
from discreet.releases.pipeline import Pipeline, account_of, request
from discreet.releases.store import ALSO_CHARGED, SEAL, Store
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
        assert seen == [(1000, [Pure("0.5")])], "charged before it was run, on two visits of everyone"
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
        with pytest.raises(Exception, match="so it is withheld") as error:
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
        with pytest.raises(NoPromise, match="no bound on its privacy loss"):
            curator.release(Telling(loss=None, act=secret), "visits")
        with pytest.raises(BudgetExceeded):
            curator.release(Telling(loss=Pure(9), act=secret), "visits")
        with pytest.raises(NoPromise, match="concentrated"):
            curator.release(Telling(loss=Concentrated(1), act=secret), "visits")
        with pytest.raises(NotFound, match="called 'nowhere'"):
            curator.release(Telling(), "nowhere")
        with pytest.raises(Refused, match="eve may not query any table"):
            curator.release(Telling(), "visits", analyst="eve")
        assert not charges(curator)


def test_rivals_get_one_release_between_them(tmp_path):
    with clinic(tmp_path / "clinic") as curator, ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda n: curator.release(Telling(act=lambda _: n), "visits").payload, range(8)))
        assert len(set(told)) == 1
        assert len(charges(curator)) == 1


KILLED = """
import os, signal, sys
from tests.curator.methods import HALF, Telling

import discreet as dc
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


# -- the pipeline by itself: a ledger, a store, and methods that do next to nothing


class Desk:
    """A pipeline with what it works on."""

    def __init__(self, folder, tables=("visits", "staff"), budget=BUDGET):
        folder.mkdir()
        self.ledger = create_ledger(folder / "ledger.db")
        self.accounts = [*tables, *(f"{table}/ann" for table in tables)]
        for account in self.accounts:
            self.ledger.open_account(account, budget)
        self.store = Store(folder / "releases", self.ledger)
        (folder / "releases").mkdir()
        self.admitted = []
        self.pipeline = Pipeline(self.ledger, self.store, Limits(), self.admitted.append)
        self.table = dc.read(visits(2), CARD)

    def ask(self, method, *tables, public=()):
        one = request(method, self.table, tables[0], f"id of {tables[0]}")
        twins = {name: f"id of {name}" for name in (*tables, *public)}
        return replace(one, tables=tables, twins=twins, identity=f"{one.identity[:20]}-{'-'.join(tables)}")

    def spent(self):
        return [(one.account, one.loss) for one in charges(self)]

    @property
    def keys(self):
        return [one.key for one in charges(self)]


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path / "desk")
    yield made
    made.ledger.close()


def test_every_table_is_charged_under_a_key_of_its_own_and_all_are_admitted(desk):
    asked = desk.ask(Telling(), "staff", "visits", public=["cities"])
    given = desk.pipeline.one(asked, "ann", "monday")
    assert not given.free
    assert desk.admitted == [["cities", "staff", "visits"]]
    assert desk.keys == ["monday", "monday on visits"]
    assert desk.spent() == [("staff/ann", HALF), ("visits/ann", HALF)]
    recipe = given.release.recipe
    assert recipe.parameters["twins"] == {name: f"id of {name}" for name in ("cities", "staff", "visits")}
    assert given.release.receipt.key == "monday"
    assert [one["key"] for one in recipe.parameters[ALSO_CHARGED]] == ["monday on visits"]
    assert given.release.title == "An answer about staff and visits"
    again = desk.pipeline.one(asked, "ann", "tuesday")
    assert (again.free, again.identity, len(desk.keys)) == (True, asked.identity, 2)


def test_three_tables_have_two_further_receipts(tmp_path):
    desk = Desk(tmp_path / "three", ("a", "b", "c"))
    given = desk.pipeline.one(desk.ask(Telling(), "a", "b", "c"), "ann", "k")
    assert [one["account"] for one in given.release.recipe.parameters[ALSO_CHARGED]] == ["b/ann", "c/ann"]
    desk.ledger.close()


def test_one_table_has_one_receipt_and_a_title_of_its_own(desk):
    asked = replace(desk.ask(Telling(), "visits"), title="Told")
    given = desk.pipeline.one(asked, None, "k")
    assert ALSO_CHARGED not in given.release.recipe.parameters
    assert given.release.title == "Told"
    assert desk.spent() == [("visits", HALF)], "of nobody: the table's own account"


def test_a_request_is_the_same_for_the_same_method_table_and_loss_only(desk):
    def identity(method, name="visits", twin="1"):
        return request(method, desk.table, name, twin).identity

    same = identity(Telling())
    assert identity(Telling(act=secret)) == same, "how it is worked out is the method's"
    others = [identity(Telling("b")), identity(Telling(loss=Pure(1))), identity(Telling(loss=None))]
    others += [identity(Telling(), "staff"), identity(Telling(), twin="2")]
    assert len({same, *others}) == 6
    listed = replace(Telling(), what=["a", "b"])
    assert request(listed, desk.table, "visits", "1").text == "telling of visits: what = a and b"
    assert request(Telling("x"), desk.table, "visits", "1").text == "telling of visits: what = x"


@pytest.mark.parametrize("name", ["", "x" * 61, "a/b", None, 7])
def test_names_that_no_analyst_has(name):
    if name is None:
        assert account_of("visits", None) == "visits"
        return
    with pytest.raises(BadInput, match="An analyst's name needs 1 to 60 characters and no slash"):
        account_of("visits", name)


def test_the_shortest_and_the_longest_name_of_an_analyst():
    for name in ("x", "x" * 60):
        assert account_of("visits", name) == f"visits/{name}"


def test_of_a_batch_each_table_pays_the_sum_and_what_was_charged_is_not_charged_again(desk):
    asked = [desk.ask(Telling("a"), "visits"), desk.ask(Telling("b"), "visits"), desk.ask(Telling("c"), "staff")]
    given = desk.pipeline.several(asked, "ann", "batch")
    assert desk.spent() == [("staff/ann", HALF), ("visits/ann", Pure(1))]
    assert [one.free for one in given] == [False, False, False]
    assert [one.identity for one in given] == [one.identity for one in asked]
    more = [*asked, desk.ask(Telling("d"), "visits")]
    assert [one.free for one in desk.pipeline.several(more, "ann", "batch")] == [True, True, True, False]
    assert len(desk.keys) == 2, "the batch of that key was paid for"


def test_a_key_pays_for_one_thing_in_whatever_words(desk):
    asked = desk.ask(Telling(act=secret), "visits")
    with pytest.raises(Refused):
        desk.pipeline.one(asked, "ann", "k")
    said = replace(asked, text="in other words", method=Telling())
    assert not desk.pipeline.one(said, "ann", "k").free
    assert len(desk.keys) == 1
    for other in (desk.ask(Telling("else"), "visits"), desk.ask(Telling(loss=Pure("0.4")), "visits")):
        with pytest.raises(LedgerError, match="used for another charge"):
            desk.pipeline.one(other, "ann", "k")
    with pytest.raises(LedgerError, match="used for another charge"):
        desk.pipeline.one(desk.ask(Telling("else"), "visits"), None, "k")
    desk.ledger.set_limit("visits/ann", BUDGET, why="because")
    assert len(desk.keys) == 1


def test_what_a_ledger_says_of_a_charge_is_cut_and_ends_with_its_fingerprint(desk):
    asked = replace(desk.ask(Telling(), "visits"), text="x" * 20_000)
    desk.pipeline.one(asked, "ann", "k")
    (entry,) = charges(desk)
    text, _, named = entry.purpose.rpartition("\n")
    assert text == "x" * 15_000
    assert named == hashlib.sha256(asked.identity.encode()).hexdigest()


def test_of_two_tables_neither_is_charged_if_one_cannot_pay(desk):
    desk.pipeline.one(desk.ask(Telling(loss=Pure(3)), "visits"), None, "all of it")
    with pytest.raises(BudgetExceeded, match="The budget of visits does not cover this"):
        desk.pipeline.one(desk.ask(Telling("b"), "staff", "visits"), "ann", "k")
    assert desk.spent() == [("visits", Pure(3))]
    both = desk.ask(Telling("b"), "staff", "visits")
    assert desk.pipeline.refuses([both], "ann")
    assert not desk.pipeline.refuses([desk.ask(Telling("b"), "staff")], "ann")
    assert desk.pipeline.refuses([desk.ask(Telling(n, Pure(2)), "staff") for n in "ab"], "ann"), "together"
    assert not desk.pipeline.refuses([desk.ask(Telling(loss=Concentrated(9)), "staff")], "ann"), "another kind"
    assert not desk.pipeline.refuses([], "ann")
    assert desk.spent() == [("visits", Pure(3))]


def test_what_was_charged_before_a_crash_is_no_reason_to_refuse_the_rest(desk):
    """The first of two tables has nothing left because it was charged for this very question."""
    asked = desk.ask(Telling(loss=Pure(3)), "staff", "visits")
    charge = desk.ledger.charge

    def dying(account, loss, **rest):
        if account == "visits/ann":
            raise SystemExit
        return charge(account, loss, **rest)

    desk.ledger.charge = dying
    with pytest.raises(SystemExit):
        desk.pipeline.one(asked, "ann", "k")
    desk.ledger.charge = charge
    desk.pipeline.one(asked, "ann", "k")
    assert desk.spent() == [("staff/ann", Pure(3)), ("visits/ann", Pure(3))]


def test_what_was_answered_and_to_whom_it_was_charged(desk):
    asked = desk.ask(Telling(), "staff", "visits")
    assert desk.pipeline.answered(asked) is None
    assert not desk.pipeline.charged(asked, "ann")
    desk.pipeline.one(asked, "ann", "k")
    assert desk.pipeline.answered(asked).free
    assert desk.pipeline.charged(asked, "ann")
    assert not desk.pipeline.charged(asked, "bob")


@pytest.mark.parametrize(
    ("error", "draws", "lasting"),
    [
        (ZeroDivisionError, False, False),
        (ZeroDivisionError, True, True),
        (Refused, False, True),
        (Unreachable, False, False),
        (Unreachable, True, False),
        (LoginFailed, True, False),
    ],
)
def test_what_rows_limits_or_noise_made_fail_has_failed_for_good(desk, error, draws, lasting):
    @dataclass(frozen=True)
    class Failing(Telling):
        def run(self, table, entropy):
            if draws:
                entropy.bytes(1)
            raise error("why")

    with pytest.raises(Refused, match="could not be answered; it was charged") as refusal:
        desk.pipeline.one(desk.ask(Failing(), "visits"), "ann", "k")
    assert "why" not in str(refusal.value)
    assert (desk.ledger.find_line(SEAL + desk.ask(Failing(), "visits").identity) is not None) == lasting
    if lasting:
        with pytest.raises(Refused):
            desk.pipeline.one(desk.ask(Telling(), "visits"), "ann", "k")
    else:
        assert desk.pipeline.one(desk.ask(Telling(), "visits"), "ann", "k").release.payload == "told"
    assert len(desk.keys) == 1


def test_a_method_without_a_loss_is_never_charged(desk):
    with pytest.raises(NoPromise, match="telling has no bound on its privacy loss"):
        desk.pipeline.one(desk.ask(Telling(loss=None, act=secret), "visits"), "ann", "k")
    assert desk.spent() == []
