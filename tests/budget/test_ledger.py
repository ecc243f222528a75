"""One suite for every ledger: SQLite in a file, and a real PostgreSQL."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from tests.budget.homes import Home, nursery

from discreet.budget.entries import Began, Charged, Limited, Opened, write
from discreet.budget.filter import Budget
from discreet.budget.ledger import SqlLedger
from discreet.core.loss import Approximate, Concentrated, Loss, Pure, Renyi
from discreet.core.release import Receipt
from discreet.errors import BadInput, BudgetExceeded, LedgerError, NoPromise, NotFound, Unsound


@pytest.fixture(params=["sqlite", "postgres"])
def homes(request: pytest.FixtureRequest, tmp_path: Path, fresh: Callable[[], str]) -> Callable[[], Home]:
    """Places for ledgers, each empty."""
    if request.param == "sqlite":
        return lambda: sqlite_home(tmp_path / f"{fresh()}.ledger")
    address = request.getfixturevalue("postgres_address")
    return lambda: Home(address, (schema := fresh()), tmp_path / schema)


def sqlite_home(path: Path) -> Home:
    return Home(str(path), None, path)


@pytest.fixture
def home(homes: Callable[[], Home]) -> Home:
    return homes()


@pytest.fixture
def ledger(home: Home) -> Iterator[SqlLedger]:
    with home.create() as created:
        yield created


def table(ledger: SqlLedger, total: Loss | Budget, own: Loss | Budget, partition: str | None = None) -> None:
    """A table ``t`` and an analyst ``a`` on it."""
    ledger.open_account("t", total, partition=partition)
    ledger.open_account("t/a", own, partition=partition)


# What a charge does


def test_a_charge_is_written_to_the_analyst_and_to_the_table(ledger: SqlLedger) -> None:
    table(ledger, Pure(3), Pure(1))
    before = dt.datetime.now(dt.UTC)
    receipt = ledger.charge("t/a", Pure("0.5"), key="k", what="SELECT 1")
    assert (receipt.account, receipt.key, receipt.loss, receipt.line) == ("t/a", "k", Pure("0.5"), 4)
    assert before <= receipt.at <= dt.datetime.now(dt.UTC)
    assert ledger.account("t").left == Pure("2.5")
    assert ledger.account("t/a").left == ledger.account("t/a").spent == Pure("0.5")
    assert ledger.find("k") == receipt
    assert ledger.find("another") is None


def test_a_charge_must_fit_both_and_a_refused_one_leaves_no_trace(ledger: SqlLedger) -> None:
    table(ledger, Pure(1), Pure("0.4"))
    ledger.open_account("t/b", Pure(5))
    with pytest.raises(BudgetExceeded) as own:
        ledger.charge("t/a", Pure("0.5"), key="1", what="")
    assert (own.value.asked, own.value.left) == (Pure("0.5"), Pure("0.4"))
    assert "t/a" in own.value.message
    ledger.charge("t/b", Pure("0.8"), key="2", what="")
    with pytest.raises(BudgetExceeded) as total:
        ledger.charge("t/a", Pure("0.3"), key="3", what="")
    assert (total.value.asked, total.value.left) == (Pure("0.3"), Pure("0.2"))
    assert "budget of t does" in total.value.message
    assert ledger.account("t/a").spent == Pure(0)
    assert [line.number for line in ledger.lines()] == [1, 2, 3, 4, 5]
    ledger.charge("t/a", Pure("0.2"), key="3", what="")  # a refused key is still free
    assert ledger.account("t").left == Pure(0)


def test_a_limit_is_reached_exactly(ledger: SqlLedger) -> None:
    table(ledger, Pure(1), Pure(1))
    for n in range(10):
        ledger.charge("t/a", Pure("0.1"), key=str(n), what="")
    with pytest.raises(BudgetExceeded):
        ledger.charge("t/a", Pure("1e-300"), key="more", what="")


def test_a_key_charges_once_and_stands_for_one_request(home: Home) -> None:
    with home.create() as ledger:
        table(ledger, Pure(1), Pure(1))
        first = ledger.charge("t/a", Pure("0.6"), key="k", what="q")
        assert ledger.charge("t/a", Pure("0.6"), key="k", what="q") == first
    with home.open() as ledger:
        assert ledger.charge("t/a", Pure("0.6"), key="k", what="q") == first
        for account, loss, what in [("t", "0.6", "q"), ("t/a", "0.1", "q"), ("t/a", "0.6", "other")]:
            with pytest.raises(LedgerError, match="another charge, in entry 4"):
                ledger.charge(account, Pure(loss), key="k", what=what)
        assert ledger.account("t").spent == Pure("0.6")


def test_no_account_is_infinite_or_made_in_passing(ledger: SqlLedger) -> None:
    with pytest.raises(NotFound, match="'t'"):
        ledger.charge("t/a", Pure(0), key="k", what="")
    with pytest.raises(NotFound, match="'t'"):
        ledger.open_account("t/a", Pure(1))
    ledger.open_account("t", Pure(1))
    with pytest.raises(NotFound, match="'t/a'"):
        ledger.charge("t/a", Pure(0), key="k", what="")
    with pytest.raises(NotFound, match="no account 'x'"):
        ledger.account("x")
    ledger.charge("t", Pure(1), key="k", what="the table itself may be charged")


@pytest.mark.parametrize("name", ["", "/", "t/", "/t", "t//a", " t", "t\n", "t\0", "\ud800", "x" * 201])
def test_a_name_that_is_none_is_refused(ledger: SqlLedger, name: str) -> None:
    with pytest.raises(BadInput):
        ledger.open_account(name, Pure(1))
    ledger.open_account("t", Pure(1))
    if "/" not in name:
        with pytest.raises(BadInput):
            ledger.charge("t", Pure(0), key=name, what="")
    assert ledger.verify().sound


def test_any_text_can_be_told_and_is_kept(home: Home) -> None:
    texts = ["", "naïve – ✓ 😀", "\0\n\t'\"\\%s ? $1", "\ud800", "{}", "x" * 20_000]
    with home.create() as ledger:
        ledger.open_account("Ärzte & %s ?", Pure(1))
        for n, text in enumerate(texts):
            ledger.charge("Ärzte & %s ?", Pure(0), key=f"‘{n}’ %s ?", what=text)
    with home.open() as ledger:
        told = [line.entry.purpose for line in ledger.lines() if isinstance(line.entry, Charged)]
        assert told == texts
        assert ledger.verify().sound
        with pytest.raises(BadInput, match="20,000"):
            ledger.charge("Ärzte & %s ?", Pure(0), key="k", what="x" * 20_001)


def test_a_limit_is_changed_on_a_line_of_its_own(ledger: SqlLedger) -> None:
    table(ledger, Pure(1), Pure(1))
    ledger.charge("t", Pure(1), key="1", what="")
    assert ledger.set_limit("t", Pure(2), why="the board agreed").left == Pure(1)
    ledger.charge("t", Pure("0.5"), key="2", what="")
    assert ledger.set_limit("t", Pure("0.1"), why="a mistake").left == Pure(0)
    with pytest.raises(BudgetExceeded):
        ledger.charge("t", Pure("0.1"), key="3", what="")
    with pytest.raises(BadInput, match="another kind"):
        ledger.set_limit("t", Concentrated(1), why="")
    with pytest.raises(NotFound):
        ledger.set_limit("x", Pure(1), why="")
    whys = [line.entry.why for line in ledger.lines() if isinstance(line.entry, Limited)]
    assert whys == ["the board agreed", "a mistake"]
    assert ledger.verify().sound


def test_opening_an_account_again_changes_nothing(ledger: SqlLedger) -> None:
    ledger.open_account("t", Pure(1))
    ledger.charge("t", Pure("0.5"), key="k", what="")
    assert ledger.open_account("t", Pure(1)).left == Pure("0.5")
    with pytest.raises(LedgerError, match="set_limit"):
        ledger.open_account("t", Pure(2))
    with pytest.raises(LedgerError, match="set_limit"):
        ledger.open_account("t", Pure(1), partition="year")
    assert len(list(ledger.lines())) == 3


@pytest.mark.parametrize(
    ("budget", "loss", "spent"),
    [
        (Approximate(1, "1e-6"), Approximate("0.5", "5e-7"), Approximate(1, "1e-6")),
        (Concentrated(1), Concentrated("0.5"), Concentrated(1)),
        (Concentrated(1), Pure(1), Concentrated(1)),
        (Renyi([(2, 1), (8, 4)]), Concentrated("0.25"), Renyi([(2, 1), (8, 4)])),
        (Renyi([(2, 1), (8, 4)]), Renyi([(2, "0.5"), (4, 1), (8, 2), (64, 9)]), Renyi([(2, 1), (8, 4)])),
    ],
)
def test_every_kind_of_loss_is_kept(home: Home, budget: Loss, loss: Loss, spent: Loss) -> None:
    with home.create() as ledger:
        table(ledger, budget, budget)
        for n in range(2):
            assert ledger.charge("t/a", loss, key=str(n), what="").loss == loss
        with pytest.raises(BudgetExceeded):
            ledger.charge("t/a", loss, key="2", what="")
    with home.open() as ledger:
        assert ledger.account("t/a").spent == spent
        assert ledger.verify().sound


def test_a_loss_that_an_account_cannot_add_up_is_refused(ledger: SqlLedger) -> None:
    table(ledger, Pure(1), Pure(1))
    for loss in (Approximate("0.1", "1e-9"), Concentrated("0.1"), Renyi([(2, "0.1")])):
        with pytest.raises((NoPromise, BudgetExceeded)):
            ledger.charge("t/a", loss, key="k", what="")
    assert ledger.account("t").spent == Pure(0)


def test_a_budget_kept_as_rho_admits_more(ledger: SqlLedger) -> None:
    budget = Budget(Approximate(1, "1e-6"), concentrated=True, reserve="5e-7")
    table(ledger, budget, budget)
    charged = 0
    with pytest.raises(BudgetExceeded) as refusal:
        for charged in range(1000):
            ledger.charge("t/a", Approximate("0.01", "1e-9"), key=str(charged), what="")
    assert charged > 300  # the sum of the epsilons would have stopped at 100
    spent = ledger.account("t/a").spent
    assert isinstance(spent, Approximate)
    assert spent.epsilon <= 1
    assert spent.delta <= Fraction("1e-6")
    left = refusal.value.left
    assert isinstance(left, Approximate)
    ledger.charge("t/a", left, key="the rest", what="")


def test_parts_are_charged_apart(ledger: SqlLedger) -> None:
    table(ledger, Pure(1), Pure(1), partition="year of birth")
    for year in ("1990", "1991"):
        ledger.charge("t/a", Pure("0.6"), key=year, what="", part=year)
    assert ledger.account("t").spent == Pure("0.6")
    ledger.charge("t/a", Pure("0.4"), key="all", what="")
    assert ledger.account("t").left == Pure(0)
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge("t/a", Pure("0.7"), key="new", what="", part="1992")
    assert refusal.value.left == Pure("0.6")
    ledger.charge("t/a", Pure("0.6"), key="new", what="", part="1992")
    assert ledger.verify().sound
    ledger.open_account("u", Pure(1))
    with pytest.raises(BadInput, match="no parts"):
        ledger.charge("u", Pure(0), key="u", what="", part="1990")


def test_lines_say_who_spent_what_on_what(ledger: SqlLedger) -> None:
    table(ledger, Pure(3), Pure(1))
    ledger.open_account("ta", Pure(1))
    ledger.charge("t/a", Pure("0.5"), key="1", what="how many?")
    ledger.charge("ta", Pure("0.5"), key="2", what="other")
    assert [type(line.entry) for line in ledger.lines()] == [Began, Opened, Opened, Opened, Charged, Charged]
    assert [line.number for line in ledger.lines("t")] == [2, 3, 5]
    assert [line.number for line in ledger.lines("t/a")] == [3, 5]
    assert [account.name for account in ledger.accounts()] == ["t", "t/a", "ta"]


# Opening and closing


def test_a_missing_ledger_is_not_made_and_one_that_is_there_not_replaced(home: Home) -> None:
    with pytest.raises(NotFound, match="no ledger"):
        home.open()
    with home.create() as ledger:
        ledger.open_account("t", Pure(1))
    with pytest.raises(LedgerError, match="already"):
        home.create()
    with home.open() as ledger:
        assert ledger.account("t").left == Pure(1)
        assert ledger.verify().sound


def test_a_charge_of_no_loss_at_all_harms_nobody(ledger: SqlLedger) -> None:
    ledger.open_account("t", Pure(1))
    for account, loss in (("t", None), ("t", 0.1), (7, Pure(0)), (None, Pure(0))):
        with pytest.raises(BadInput):
            ledger.charge(account, loss, key="k", what="")  # type: ignore[arg-type]
    with pytest.raises(BadInput):
        ledger.charge("t", Pure(0), key=None, what="")  # type: ignore[arg-type]
    with pytest.raises(BadInput):
        ledger.charge("t", Pure(0), key="k", what=None)  # type: ignore[arg-type]
    assert len(list(ledger.lines())) == 2


def test_a_closed_ledger_says_so(home: Home) -> None:
    ledger = home.create()
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.open_account("t", Pure(1))


# Against a model


class Model(RuleBasedStateMachine):
    """The ledger beside a list of charges that is added up from scratch every time."""

    amounts = st.sampled_from(["0", "1/3", "0.1", "0.25", "2/7", "1"]).map(Fraction)
    deltas = st.sampled_from([Fraction(0), Fraction("1e-7"), Fraction("1/3000000")])
    names = st.sampled_from(["t", "t/a", "t/b", "u", "u/a", "u/a/x"])
    parts = st.sampled_from([None, None, "p", "q"])
    keys = st.sampled_from(["k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8"])

    def __init__(self, home: Home) -> None:
        super().__init__()
        self.home = home
        self.ledger = home.create()
        self.limits: dict[str, tuple[Fraction, Fraction]] = {}
        self.charges: dict[str, tuple[str, Loss, str | None, Receipt]] = {}

    def teardown(self) -> None:
        assert self.ledger.verify([receipt for *_, receipt in self.charges.values()]).sound
        self.ledger.close()

    def above(self, name: str) -> list[str]:
        steps = name.split("/")
        return ["/".join(steps[: n + 1]) for n in range(len(steps))]

    def lost(self, account: str, part: str, *more: tuple[str, Loss, str | None]) -> tuple[Fraction, Fraction]:
        """What somebody in ``part`` has lost."""
        charges = [*((name, loss, of) for name, loss, of, _ in self.charges.values()), *more]
        felt = [loss for name, loss, of in charges if account in self.above(name) and of in (None, part)]
        epsilon = sum((loss.epsilon for loss in felt), Fraction(0))  # type: ignore[union-attr]
        return epsilon, sum((loss.delta for loss in felt if isinstance(loss, Approximate)), Fraction(0))

    @initialize()
    def begin(self) -> None:
        self.open("t", Fraction(1), Fraction("1e-6"))

    @rule(name=names, epsilon=amounts, delta=deltas)
    def open(self, name: str, epsilon: Fraction, delta: Fraction) -> None:
        limit = Approximate(epsilon, delta)
        if any(above not in self.limits for above in self.above(name)[:-1]):
            with pytest.raises(NotFound):
                self.ledger.open_account(name, limit, partition="p or q")
        elif self.limits.get(name, (epsilon, delta)) != (epsilon, delta):
            with pytest.raises(LedgerError):
                self.ledger.open_account(name, limit, partition="p or q")
        else:
            self.ledger.open_account(name, limit, partition="p or q")
            self.limits[name] = (epsilon, delta)

    @rule(name=names, epsilon=amounts, delta=deltas)
    def limit(self, name: str, epsilon: Fraction, delta: Fraction) -> None:
        if name in self.limits:
            self.ledger.set_limit(name, Approximate(epsilon, delta), why="")
            self.limits[name] = (epsilon, delta)

    @rule(name=names, key=keys, epsilon=amounts, delta=deltas, part=parts)
    def charge(self, name: str, key: str, epsilon: Fraction, delta: Fraction, part: str | None) -> None:
        loss: Loss = Approximate(epsilon, delta) if delta else Pure(epsilon)

        def charge() -> Receipt:
            return self.ledger.charge(name, loss, key=key, what="", part=part)

        if key in self.charges:
            *request, receipt = self.charges[key]
            if request == [name, loss, part]:
                assert charge() == receipt
            else:
                with pytest.raises(LedgerError):
                    charge()
        elif any(above not in self.limits for above in self.above(name)):
            with pytest.raises(NotFound):
                charge()
        elif self.fits(name, loss, part):
            self.charges[key] = (name, loss, part, charge())
        else:
            with pytest.raises(BudgetExceeded):
                charge()

    def fits(self, name: str, loss: Loss, part: str | None) -> bool:
        """Whether nobody, in p, in q or in another part, would lose more than a limit in either number."""
        for account in self.above(name):
            worst = [self.lost(account, of, (name, loss, part)) for of in ("p", "q", "other")]
            for number, most in enumerate(self.limits[account]):
                if max(lost[number] for lost in worst) > most:
                    return False
        return True

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = self.home.open()

    @invariant()
    def accounts_are_the_sum_of_their_charges(self) -> None:
        for account in self.ledger.accounts():
            worst = [self.lost(account.name, of) for of in ("p", "q")]
            assert account.spent == Approximate(max(e for e, _ in worst), max(d for _, d in worst))


def test_the_ledger_agrees_with_a_model(homes: Callable[[], Home]) -> None:
    run_state_machine_as_test(
        lambda: Model(homes()),
        settings=settings(
            max_examples=20,
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


# Many at once


def test_threads_share_a_budget_and_never_exceed_it(ledger: SqlLedger) -> None:
    table(ledger, Pure(1), Pure(5))

    def client(name: int) -> list[Receipt]:
        receipts = []
        try:
            for n in range(100):
                receipts.append(ledger.charge("t/a", Pure("0.01"), key=f"{name}-{n}", what=""))
        except BudgetExceeded:
            pass
        return receipts

    with ThreadPoolExecutor(16) as pool:
        receipts = [receipt for found in pool.map(client, range(16)) for receipt in found]
    assert sorted(receipt.line for receipt in receipts) == list(range(4, 104))
    assert ledger.account("t").left == Pure(0)
    assert ledger.verify(receipts).sound


def test_a_key_used_by_many_threads_at_once_charges_once(ledger: SqlLedger) -> None:
    table(ledger, Pure(1), Pure(1))
    with ThreadPoolExecutor(16) as pool:
        receipts = list(pool.map(lambda _: ledger.charge("t/a", Pure("0.7"), key="k", what=""), range(32)))
    assert set(receipts) == {receipts[0]}
    assert ledger.account("t").spent == Pure("0.7")


def test_one_refusal_does_not_touch_the_others_in_its_batch(ledger: SqlLedger) -> None:
    table(ledger, Pure(1), Pure(1))

    def attempt(n: int) -> bool:
        try:
            ledger.charge("t/a", Pure(9 if n % 2 else "0.01"), key=str(n), what="")
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(attempt, range(64))) == [True, False] * 32
    assert ledger.account("t").spent == Pure("0.32")


def said(path: Path) -> list[Receipt]:
    """The receipts a worker wrote down; the last line of a killed one may be cut off."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [Receipt.from_dict(json.loads(line)) for line in lines if line.endswith("\n")]


def test_four_processes_share_a_budget_and_never_exceed_it(home: Home, tmp_path: Path) -> None:
    with home.create() as ledger:
        table(ledger, Pure(1), Pure(1))
    order = {"do": "charge", **home.order, "loss": "0.005", "threads": 4}
    with nursery() as workers:
        names = ["0", "1", "2", "3"]
        children = [workers.start(**order, said=str(tmp_path / n), name=n, charges=None) for n in names]
        assert [workers.wait(child) for child in children] == [0] * 4
    receipts = [receipt for name in names for receipt in said(tmp_path / name)]
    assert sorted(receipt.line for receipt in receipts) == list(range(4, 204))
    with home.open() as ledger:
        assert ledger.account("t").left == Pure(0)
        assert ledger.verify(receipts).sound


def test_four_processes_with_the_same_keys_charge_once(home: Home, tmp_path: Path) -> None:
    with home.create() as ledger:
        table(ledger, Pure(1), Pure(1))
    order = {"do": "charge", **home.order, "loss": "0.005", "threads": 4}
    with nursery() as workers:
        files = [str(tmp_path / n) for n in "0123"]
        children = [workers.start(**order, said=file, name="same", charges=10) for file in files]
        assert [workers.wait(child) for child in children] == [0] * 4
    found = [frozenset(said(Path(file))) for file in files]
    assert set(found) == {found[0]}
    with home.open() as ledger:
        assert ledger.account("t").spent == Pure("0.2")
        assert ledger.verify(found[0]).sound


@pytest.mark.parametrize("kills", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_nothing_handed_out_is_forgotten_when_processes_are_killed(home: Home, tmp_path: Path, kills: int) -> None:
    """Four processes charge from four threads each; one after another is killed at some instant and replaced."""
    chance = random.Random(7)  # noqa: S311
    with home.create() as ledger:
        table(ledger, Pure(1000), Pure(1000))
    order = {"do": "charge", **home.order, "loss": "1/100", "threads": 4}
    with nursery() as workers:

        def start(name: int) -> int:
            return workers.start(**order, said=str(tmp_path / f"{name}.said"), name=str(name), charges=None)

        children = [start(name) for name in range(4)]
        for name in range(4, kills + 4):
            time.sleep(chance.uniform(0, 0.05))  # the instant is what is drawn; nothing is awaited
            victim = chance.randrange(4)
            os.kill(children[victim], signal.SIGKILL)
            assert workers.wait(children[victim]) == -signal.SIGKILL
            children[victim] = start(name)
            if name % 25 == 0:
                with home.open() as ledger:
                    assert ledger.verify().sound
        for child in children:
            os.kill(child, signal.SIGKILL)
            workers.wait(child)
    receipts = [receipt for path in tmp_path.glob("*.said") for receipt in said(path)]
    assert len(receipts) > kills
    with home.open() as ledger:
        verdict = ledger.verify(receipts)
        assert verdict.sound, verdict
        charged = verdict.lines - 3
        assert charged >= len(receipts)
        assert ledger.account("t").spent == ledger.account("t/a").spent == Pure(Fraction(charged, 100))
        ledger.charge("t/a", Pure(1), key="still open", what="")


# Tampering


def filled(home: Home) -> list[Receipt]:
    """A ledger with lines of every kind."""
    with home.create() as ledger:
        table(ledger, Approximate(3, "1e-6"), Pure(2), partition="year")
        ledger.set_limit("t/a", Pure(3), why="asked nicely")
        return [
            ledger.charge("t/a", Pure("0.5"), key="k1", what="how many?"),
            ledger.charge("t", Approximate("0.5", "1e-7"), key="k2", what="which?"),
            ledger.charge("t/a", Pure("1/3"), key="k3", what="", part="1990"),
        ]


def test_a_change_to_any_byte_of_any_line_is_found(home: Home) -> None:
    filled(home)
    step = 1 if home.schema is None else 11
    with home.open() as ledger, home.tampering() as change:
        assert str(ledger.verify()) == "7 entries, all valid."
        rows = [(line.number, line.digest) for line in ledger.lines()]
        contents = [write(line.number, line.at, line.entry) for line in ledger.lines()]
        for (number, digest), content in zip(rows, contents, strict=True):
            for column, text in (("content", content), ("digest", digest)):
                for place in range(0, len(text), step):
                    changed = text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :]
                    change(f"UPDATE lines SET {column} = ? WHERE number = ?", (changed, number))
                    verdict = ledger.verify()
                    assert not verdict.sound
                    assert verdict.line == number
                    assert verdict.lines == number - 1
                change(f"UPDATE lines SET {column} = ? WHERE number = ?", (text, number))
        assert ledger.verify().sound


@pytest.mark.parametrize(
    ("statement", "line", "problem"),
    [
        ("UPDATE lines SET key = 'k9' WHERE number = 5", 5, "another key"),
        ("UPDATE lines SET key = NULL WHERE number = 5", 5, "another key"),
        ("UPDATE lines SET key = 'k9' WHERE number = 1", 1, "another key"),
        ("DELETE FROM lines WHERE number = 5", 6, "before it is missing"),
        ("DELETE FROM lines WHERE number = 1", 2, "before it is missing"),
        ("DELETE FROM lines", 1, "first entry"),
        ("DELETE FROM lines WHERE number = 7", None, "t does not match the sum of its entries"),
        ("UPDATE lines SET number = 70 WHERE number = 7", 70, "before it is missing"),
        ("DELETE FROM accounts WHERE name = 't/a'", None, "t/a does not match"),
        ("UPDATE accounts SET whole = peak WHERE name = 't'", None, "t does not match"),
        ("UPDATE accounts SET partition = NULL WHERE name = 't'", None, "t does not match"),
        ("UPDATE accounts SET whole = 'x' WHERE name = 't'", None, "cannot be read"),
        ("UPDATE accounts SET budget = '{}' WHERE name = 't'", None, "a budget has no field"),
        ("DELETE FROM parts WHERE account = 't/a'", None, "t/a does not match"),
        ("UPDATE parts SET part = '1991' WHERE account = 't'", None, "t does not match"),
    ],
)
@pytest.mark.parametrize("sums", ["all added up", "kept from the last opening"])
def test_other_changes_are_noticed_when_it_is_opened(
    home: Home, statement: str, line: int | None, problem: str, sums: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sums != "all added up":
        monkeypatch.setattr("discreet.budget.ledger._FEW", 1)
    filled(home)
    assert Path(f"{home.witness}-sums").exists() == (sums != "all added up")
    with home.open() as ledger, home.tampering() as change:
        change(statement)
        verdict = ledger.verify()
        assert (verdict.line, problem in verdict.problem) == (line, True), str(verdict)
    with pytest.raises(Unsound, match=f"edited or damaged: .*{problem}") as error:
        home.open()
    assert "restore the newest copy" in error.value.hint


def test_a_changed_byte_is_noticed_when_it_is_opened(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a line that was added up long ago."""
    monkeypatch.setattr("discreet.budget.ledger._FEW", 1)
    filled(home)
    with home.open() as ledger:
        contents = {line.number: write(line.number, line.at, line.entry) for line in ledger.lines()}
    with home.tampering() as change:
        for number, content in contents.items():
            change("UPDATE lines SET content = ? WHERE number = ?", (content.replace("2", "3", 1), number))
            with pytest.raises(Unsound, match=f"{number - 1} entries are valid; entry {number}"):
                home.open()
            change("UPDATE lines SET content = ? WHERE number = ?", (content, number))
    home.open().close()


TABLES = ("lines", "accounts", "parts")


@contextmanager
def put_back(home: Home) -> Iterator[None]:
    """Put all tables back, when the block ends, as they were when it began: a sound ledger, and an old one."""
    with home.tampering() as change:
        for table in TABLES:
            change(f"CREATE TABLE old_{table} AS SELECT * FROM {table}")
        yield
        for table in TABLES:
            change(f"DELETE FROM {table}")
            change(f"INSERT INTO {table} SELECT * FROM old_{table}")


def test_an_old_copy_is_noticed_when_it_is_opened(home: Home) -> None:
    filled(home)
    with put_back(home), home.open() as ledger:
        ledger.charge("t/a", Pure("0.01"), key="k4", what="")
    with pytest.raises(Unsound, match=r"older copy.*entry 8 had been written to it, and it ends at entry 7") as error:
        home.open()
    assert "restore the newest copy" in error.value.hint


def test_lines_cut_off_with_their_sums_are_noticed_when_it_is_opened(home: Home) -> None:
    filled(home)
    with home.open() as ledger:
        sums = {account.name: account for account in ledger.accounts()}
        ledger.charge("t", Approximate("0.5", "1e-7"), key="k4", what="")
    with home.tampering() as change:
        change("DELETE FROM lines WHERE number = 8")
        spent = json.dumps(sums["t"].whole.to_dict(), sort_keys=True, separators=(",", ":"))
        change("UPDATE accounts SET whole = ? WHERE name = 't'", (spent,))
    with pytest.raises(Unsound, match=r"entry 8 had been written to it, and it ends at entry 7"):
        home.open()


def test_an_old_copy_put_back_under_a_ledger_that_is_open_is_not_charged(home: Home) -> None:
    filled(home)
    with home.open() as ledger:
        with put_back(home):
            ledger.charge("t/a", Pure("0.01"), key="k4", what="")
        for key in ("k4", "k5"):
            with pytest.raises(Unsound, match="Entry 8 of the ledger is gone"):
                ledger.charge("t/a", Pure("0.01"), key=key, what="")
        assert [line.number for line in ledger.lines()] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts SET whole = peak WHERE name = 't'",
        "UPDATE parts SET spent = (SELECT peak FROM accounts WHERE name = 't/b') WHERE account = 't/a'",
    ],
)
def test_a_sum_edited_under_a_ledger_that_is_open_is_not_charged(home: Home, statement: str) -> None:
    filled(home)
    with home.open() as ledger, home.tampering() as change:
        ledger.open_account("t/b", Pure(1), partition="year")
        change(statement)
        with pytest.raises(Unsound, match="does not match the sum of its entries"):
            ledger.charge("t/a", Pure("0.01"), key="k4", what="", part="1990")


@pytest.mark.parametrize("back", [0, 1, 3])
def test_a_line_edited_under_a_ledger_that_is_open_is_not_charged_on(home: Home, back: int) -> None:
    """The lines that the next one builds on; those further back are found when it is opened."""
    filled(home)
    with home.open() as ledger, home.tampering() as change:
        *_, last = (line.number for line in ledger.lines())
        change("UPDATE lines SET content = replace(content, '+00:00', '+01:00') WHERE number = ?", (last - back,))
        for _ in range(2):
            with pytest.raises(Unsound, match=f"Entry {last - back} of the ledger was edited"):
                ledger.charge("t/a", Pure("0.01"), key="k4", what="")
        assert [line.number for line in ledger.lines()][-1] == last


def test_two_that_have_it_open_follow_each_other(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody mistakes the lines of others for an edit; and what each keeps of the sums is right."""
    monkeypatch.setattr("discreet.budget.ledger._FEW", 1)
    monkeypatch.setattr("discreet.budget.ledger._MANY", 2)
    with home.create() as one:
        table(one, Pure(3), Pure(3), partition="year")
        with home.open() as other:
            for n in range(24):
                (one, other)[n // 3 % 2].charge("t/a", Pure("0.1"), key=str(n), what="", part=str(n % 5))
                with home.open() as third:
                    assert third.account("t").spent == one.account("t").spent
                    assert third.verify().sound


def test_sums_kept_wrongly_or_of_another_ledger_raise_no_alarm(
    homes: Callable[[], Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.budget.ledger._FEW", 1)
    home, other = homes(), homes()
    filled(home)
    filled(other)
    file = Path(f"{home.witness}-sums")
    sums = json.loads(file.read_text())
    for changed in (
        Path(f"{other.witness}-sums").read_text(),
        json.dumps(sums | {"line": 6}),
        json.dumps(sums | {"line": 99}),
        json.dumps(sums | {"accounts": sums["accounts"][:1]}),
        json.dumps(sums | {"parts": []}),
        file.read_text()[:-40],
        "[]",
    ):
        file.write_text(changed)
        with home.open() as ledger:
            assert ledger.verify().sound
            ledger.charge("t/a", Pure("0.01"), key=str(len(changed)), what="")


def test_receipts_show_what_a_chain_cannot(homes: Callable[[], Home]) -> None:
    receipts = filled(homes())
    with homes().create() as shorter:  # an old copy put back
        assert shorter.verify().sound
        assert (shorter.verify(receipts).line, shorter.verify(receipts).sound) == (5, False)
    other = homes()
    filled(other)  # all of it written again, at another time
    with other.open() as again:
        assert again.verify().sound
        assert "receipt" in again.verify(receipts).problem


def test_lines_cannot_be_changed_by_mistake(home: Home) -> None:
    filled(home)
    with home.open() as ledger:
        for statement in ("UPDATE lines SET key = 'x' WHERE number = 5", "DELETE FROM lines"):
            with pytest.raises(LedgerError, match="append-only"), ledger._store.writing() as session:
                session.run(statement, [()])
        assert ledger.verify().sound


# Pages, filters and searches


def of_each_kind(home: Home) -> SqlLedger:
    """Lines 1 to 9: the beginning, accounts, limits and charges of t, t/a, t/b and ta."""
    ledger = home.create()
    for name in ("t", "t/a", "t/b", "ta"):
        ledger.open_account(name, Pure(1))  # 2, 3, 4, 5
    ledger.set_limit("t/a", Pure(2), why="")  # 6
    for key, account in (("k_1", "t/a"), ("k%2", "t"), ("kx3", "ta")):
        ledger.charge(account, Pure("0.1"), key=key, what="")  # 7, 8, 9
    return ledger


LINES = {
    None: [1, 2, 3, 4, 5, 6, 7, 8, 9],
    "t": [2, 3, 4, 6, 7, 8],
    "t/a": [3, 6, 7],
    "t/b": [4],
    "ta": [5, 9],
    "x": [],
}


@pytest.mark.parametrize("page", [1, 2, 3, 9, 10])
def test_lines_are_those_of_an_account_and_below_in_either_order(
    home: Home, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.budget.tables._PAGE", page)
    monkeypatch.setattr("discreet.budget.tables._SHORT_PAGE", page)
    with of_each_kind(home) as ledger:
        for account, numbers in LINES.items():
            assert [line.number for line in ledger.lines(account)] == numbers
            assert [line.number for line in ledger.lines(account, newest_first=True)] == numbers[::-1]
        assert ledger.verify().lines == 9


def test_charges_are_found_by_their_keys(home: Home) -> None:
    with of_each_kind(home) as ledger:
        assert sorted(ledger.keys("k")) == ["k%2", "k_1", "kx3"]
        assert ledger.keys("k_") == ["k_1"]
        assert ledger.keys("k%") == ["k%2"]
        assert ledger.keys("x") == []
        assert [line and line.number for line in map(ledger.find_line, ("k_1", "k%2", "x"))] == [7, 8, None]
        assert list(ledger.find_accounts("t/a", "nobody", "ta")) == ["t/a", "ta"]
        assert ledger.find_accounts() == {}
        receipt = ledger.find("kx3")
        assert receipt is not None
        assert (receipt.account, receipt.line) == ("ta", 9)


def test_receipts_must_be_those_of_their_lines(home: Home) -> None:
    with of_each_kind(home) as ledger:
        receipts = [receipt for key in ("k_1", "k%2", "kx3") if (receipt := ledger.find(key)) is not None]
        assert ledger.verify(receipts * 2).sound
        for changed in (
            replace(receipts[1], line=9),
            replace(receipts[1], digest=receipts[0].digest),
            replace(receipts[1], loss=Pure("0.2")),
            replace(receipts[1], account="t/a"),
        ):
            verdict = ledger.verify([receipts[0], changed])
            assert (verdict.line, verdict.lines) == (changed.line, changed.line - 1)
            assert "receipt for this entry" in verdict.problem
        missing = ledger.verify([replace(receipts[0], line=12), replace(receipts[1], line=11)])
        assert (missing.line, missing.lines, missing.sound) == (11, 9, False)
        assert str(missing) == "9 entries are valid; entry 11: it is missing, although there is a receipt for it."


@pytest.mark.parametrize(("few", "many", "kept"), [(8, 99, 8), (9, 99, None), (99, 3, 6), (99, 99, None)])
def test_sums_are_kept_after_so_many_lines(
    home: Home, few: int, many: int, kept: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After ``few`` lines when a ledger is opened or closed, after ``many`` while it is charged."""
    monkeypatch.setattr("discreet.budget.ledger._FEW", few)
    monkeypatch.setattr("discreet.budget.ledger._MANY", many)
    with home.create() as ledger:
        ledger.open_account("t", Pure(1))
        for n in range(6):
            ledger.charge("t", Pure("0.1"), key=str(n), what="")
    file = Path(f"{home.witness}-sums")
    assert (json.loads(file.read_text())["line"] if file.exists() else None) == kept
    with home.open() as ledger:
        assert ledger.account("t").left == Pure("0.4")
        assert ledger.verify().sound
