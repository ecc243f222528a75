"""Budgets that renew: boundaries, clocks that jump, a lifetime cap; on a file and on PostgreSQL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.budget.homes import Home

from discreet.budget.entries import Book, Charged, Limited, Opened, limit_warnings
from discreet.budget.filter import Budget
from discreet.budget.ledger import SqlLedger
from discreet.budget.period import PERIODS, first_day, period_number
from discreet.core.loss import Approximate, Concentrated, Loss, Pure
from discreet.errors import BadInput, BudgetExceeded, DiscreetError

MONTHLY = Budget.parse("epsilon=1 per month; epsilon=2.5 in total")


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).astimezone(dt.UTC)


@pytest.fixture(params=["sqlite", "postgres"])
def home(request: pytest.FixtureRequest, tmp_path: Path, fresh: Callable[[], str]) -> Home:
    if request.param == "sqlite":
        path = tmp_path / f"{fresh()}.ledger"
        return Home(str(path), None, path)
    return Home(request.getfixturevalue("postgres_address"), (schema := fresh()), tmp_path / schema)


class Clock:
    """A clock that goes wherever it is put."""

    def __init__(self) -> None:
        self.now = at("2026-01-15T12:00:00+00:00")

    def __call__(self) -> dt.datetime:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(SqlLedger, "_clock", staticmethod(made))
    return made


# Boundaries


@pytest.mark.parametrize(
    ("period", "last", "first"),
    [
        ("day", "2026-02-28T23:59:59.999999+00:00", "2026-03-01T00:00:00+00:00"),
        ("week", "2026-11-15T23:59:59.999999+00:00", "2026-11-16T00:00:00+00:00"),
        ("month", "2024-02-29T23:59:59.999999+00:00", "2024-03-01T00:00:00+00:00"),
        ("month", "2026-12-31T23:59:59.999999+00:00", "2027-01-01T00:00:00+00:00"),
        ("quarter", "2026-09-30T23:59:59.999999+00:00", "2026-10-01T00:00:00+00:00"),
        ("year", "2026-12-31T23:59:59.999999+00:00", "2027-01-01T00:00:00+00:00"),
        ("year", "2027-01-01T01:59:59+02:00", "2027-01-01T02:00:00+02:00"),
    ],
)
def test_a_period_begins_at_midnight_by_utc(period: str, last: str, first: str) -> None:
    number = period_number(period, at(first))
    assert period_number(period, at(last)) == number - 1
    assert first_day(period, number) == at(first).date()


@given(st.sampled_from(PERIODS), st.dates(dt.date(1, 2, 1), dt.date(9990, 1, 1)))
def test_every_day_is_in_its_period(period: str, day: dt.date) -> None:
    number = period_number(period, dt.datetime.combine(day, dt.time(), dt.UTC))
    assert first_day(period, number) <= day < first_day(period, number + 1)


def test_what_is_spent_in_a_period_is_had_again_in_the_next(home: Home, clock: Clock) -> None:
    with home.create() as ledger:
        ledger.open_account("t", MONTHLY)
        ledger.open_account("t/a", Budget.parse("epsilon=0.75 per month"))
        clock.now = at("2026-01-31T23:59:59.999999+00:00")
        ledger.charge("t/a", Pure("0.75"), key="1", what="")
        with pytest.raises(BudgetExceeded) as refusal:
            ledger.charge("t/a", Pure("0.5"), key="2", what="")
        assert (refusal.value.left, refusal.value.account) == (Pure(0), "t/a")
        assert "wait until it renews on 2026-02-01 (UTC)" in str(refusal.value)
        clock.now = at("2026-02-01T00:00:00+00:00")
        assert ledger.account("t").left == Pure(1)  # before anything was charged in it
        ledger.charge("t/a", Pure("0.5"), key="2", what="")
        table, own = ledger.account("t"), ledger.account("t/a")
        assert (table.spent, table.spent_ever, table.left, table.left_ever) == tuple(
            map(Pure, ("0.5", "1.25", "0.5", "1.25"))
        )
        assert (own.spent, own.spent_ever, own.left, own.left_ever) == (Pure("0.5"), Pure("1.25"), Pure("0.25"), None)
        assert (own.began, own.renewal) == (dt.date(2026, 2, 1), dt.date(2026, 3, 1))
    with home.open() as ledger:
        assert ledger.account("t") == table
        assert ledger.verify().sound


def test_a_lifetime_cap_holds_over_all_periods(home: Home, clock: Clock) -> None:
    with home.create() as ledger:
        ledger.open_account("t", MONTHLY)
        for month in (1, 2):
            clock.now = at(f"2026-0{month}-20T00:00:00+00:00")
            ledger.charge("t", Pure(1), key=str(month), what="")
        clock.now = at("2026-03-20T00:00:00+00:00")
        assert ledger.account("t").left == ledger.account("t").left_ever == Pure("0.5")
        with pytest.raises(BudgetExceeded) as refusal:
            ledger.charge("t", Pure("0.6"), key="3", what="")
        assert refusal.value.left == Pure("0.5")
        assert "wait" not in str(refusal.value)  # it would be in vain
        ledger.charge("t", Pure("0.5"), key="3", what="")
        clock.now = at("2031-01-01T00:00:00+00:00")
        with pytest.raises(BudgetExceeded):
            ledger.charge("t", Pure("1e-9"), key="4", what="")
        assert ledger.verify().sound


def test_a_clock_that_runs_back_gives_nothing_back(home: Home, clock: Clock) -> None:
    with home.create() as ledger:
        ledger.open_account("t", Budget.parse("epsilon=1 per month"))
        ledger.charge("t", Pure(1), key="January", what="")
        clock.now = at("2026-02-10T00:00:00+00:00")
        ledger.charge("t", Pure(1), key="February", what="")
        for back in ("2026-01-31T00:00:00+00:00", "2025-12-31T00:00:00+00:00", "2026-02-11T00:00:00+00:00"):
            clock.now = at(back)
            assert ledger.account("t").left == Pure(0)
            with pytest.raises(BudgetExceeded):
                ledger.charge("t", Pure("0.1"), key=back, what="")
    with home.open() as ledger:  # nor does it after a restart
        clock.now = at("2026-01-01T00:00:00+00:00")
        with pytest.raises(BudgetExceeded):
            ledger.charge("t", Pure("0.1"), key="again", what="")
        assert ledger.account("t").spent_ever == Pure(2)
        assert ledger.verify().sound


def test_a_clock_that_ran_ahead_opens_one_period_and_no_second_until_that_is_over(home: Home, clock: Clock) -> None:
    with home.create() as ledger:
        ledger.open_account("t", Budget.parse("epsilon=1 per day"))
        clock.now = at("2026-06-01T00:00:00+00:00")
        ledger.charge("t", Pure(1), key="ahead", what="")
        clock.now = at("2026-01-16T00:00:00+00:00")
        for day in range(130):
            clock.now += dt.timedelta(days=1)
            with pytest.raises(BudgetExceeded):
                ledger.charge("t", Pure("0.1"), key=str(day), what="")
        clock.now = at("2026-06-02T00:00:00+00:00")
        ledger.charge("t", Pure(1), key="after", what="")


@pytest.mark.parametrize("period", PERIODS)
def test_a_clock_at_the_end_of_the_calendar_costs_no_more_than_the_last_period(
    home: Home, clock: Clock, period: str
) -> None:
    with home.create() as ledger:
        ledger.open_account("t", Budget.parse(f"epsilon=1 per {period}"))
        clock.now = at("9999-12-31T23:59:59.999999+00:00")
        ledger.charge("t", Pure(1), key="last", what="")
        with pytest.raises(BudgetExceeded) as refusal:
            ledger.charge("t", Pure("0.1"), key="more", what="")
        assert "wait until" not in str(refusal.value)
        account = ledger.account("t")
        assert account.began is not None and account.renewal is None
    with home.open() as ledger:
        clock.now = at("2026-01-16T00:00:00+00:00")
        ledger.set_limit("t", Budget.parse("epsilon=2"), why="the clock was wrong")
        ledger.charge("t", Pure(1), key="again", what="")
        assert ledger.verify().sound


def test_an_account_leaves_a_period_of_the_future_by_another_limit_and_what_was_spent_counts(
    home: Home, clock: Clock
) -> None:
    with home.create() as ledger:
        ledger.open_account("t", Budget.parse("epsilon=1 per day"))
        clock.now = at("2099-06-01T00:00:00+00:00")
        ledger.charge("t", Pure("0.75"), key="ahead", what="")
        clock.now = at("2026-01-16T00:00:00+00:00")
        for period in ("week", "day"):
            ledger.set_limit("t", Budget.parse(f"epsilon=1 per {period}"), why="the clock had run ahead")
            assert ledger.account("t").left == Pure("0.25")
        clock.now += dt.timedelta(days=1)
        assert (ledger.account("t").left, ledger.account("t").spent_ever) == (Pure(1), Pure("0.75"))
        assert ledger.verify().sound


def test_a_key_is_charged_once_in_all_periods(home: Home, clock: Clock) -> None:
    with home.create() as ledger:
        ledger.open_account("t", Budget.parse("epsilon=1 per day"))
        receipt = ledger.charge("t", Pure(1), key="k", what="q")
        clock.now += dt.timedelta(days=3)
        assert ledger.charge("t", Pure(1), key="k", what="q") == receipt
        assert ledger.account("t").left == Pure(1)


# Other limits


def test_another_limit_gives_nothing_back(home: Home, clock: Clock) -> None:
    """From a limit for ever to one a month, to one a day, and back: what was spent counts at once, and for good."""
    with home.create() as ledger:
        ledger.open_account("t", Pure(3))
        ledger.charge("t", Pure(2), key="1", what="")
        ledger.set_limit("t", Budget.parse("epsilon=1 per month"), why="")
        assert (ledger.account("t").left, ledger.account("t").spent_ever) == (Pure(0), Pure(2))
        clock.now = at("2026-02-01T00:00:00+00:00")
        ledger.charge("t", Pure(1), key="2", what="")
        ledger.set_limit("t", Budget.parse("epsilon=1 per day"), why="")
        assert ledger.account("t").left == Pure(0)
        clock.now = at("2026-01-01T00:00:00+00:00")
        assert ledger.account("t").left == Pure(0)
        clock.now = at("2026-02-02T00:00:00+00:00")
        ledger.charge("t", Pure("0.5"), key="3", what="")
        ledger.set_limit("t", Pure(4), why="")
        assert (ledger.account("t").spent, ledger.account("t").left) == (Pure("3.5"), Pure("0.5"))
        assert ledger.verify().sound
    with home.open() as ledger:
        assert ledger.account("t").left == Pure("0.5")


def test_a_limit_without_end_is_warned_of(clock: Clock) -> None:
    book = Book()
    book.apply(Opened("t", Budget(Pure(1))), clock())
    account = book.accounts["t"]
    [said] = limit_warnings(account, Budget.parse("epsilon=1 per month"))
    assert "all periods" in said
    assert limit_warnings(account, MONTHLY) == []


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("epsilon=3", Budget(Pure(3))),
        ("epsilon=1 per month", Budget(Pure(1), renews="month")),
        (
            "epsilon=1, delta=1e-6 per week; epsilon=10, delta=1e-5 in total",
            Budget(Approximate(1, "1e-6"), renews="week", lifetime=Budget(Approximate(10, "1e-5"))),
        ),
        (
            "rho=0.1 per year ;  rho=1 in total ",
            Budget(Concentrated("0.1"), renews="year", lifetime=Budget(Concentrated(1))),
        ),
    ],
)
def test_a_budget_is_read_as_people_write_it(text: str, budget: Budget) -> None:
    assert Budget.parse(text) == budget == Budget.from_dict(budget.to_dict())
    assert (
        Budget.parse(str(budget).replace("ε = ", "epsilon=").replace("ρ = ", "rho=").replace("δ = ", "delta="))
        == budget
    )


@pytest.mark.parametrize(
    "text",
    [
        "epsilon=1 per",
        "epsilon=1 per fortnight",
        "epsilon=1; epsilon=3 in total",
        "epsilon=1 per month; epsilon=3",
        "epsilon=1 per month; in total",
        "epsilon=1 per month; rho=1 in total",
        "epsilon=1 per month; epsilon=3, delta=1e-6 in total",
        "per month",
    ],
)
def test_a_budget_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        Budget.parse(text)


def test_an_account_with_parts_does_not_renew(home: Home) -> None:
    with home.create() as ledger:
        with pytest.raises(BadInput, match="parts"):
            ledger.open_account("t", MONTHLY, partition="ward")
        ledger.open_account("t", Pure(1), partition="ward")
        with pytest.raises(BadInput, match="parts"):
            ledger.set_limit("t", MONTHLY, why="")
        assert ledger.verify().sound


def test_budgets_that_do_not_renew_are_written_as_ever() -> None:
    """So entries of version 1 have the digests that they had."""
    assert Budget(Pure(1)).to_dict() == {
        "limit": {"kind": "pure", "epsilon": "1"},
        "concentrated": False,
        "reserve": "0",
    }


# What the promise rests on: in no order of charges, limits, jumps and crashes is more spent than may be

_LOSS = st.integers(1, 6).map(lambda n: Pure(Fraction(n, 4)))
_JUMP = st.integers(-40, 40)
_STEPS = st.lists(
    st.one_of(st.tuples(st.just("charge"), _LOSS), st.tuples(st.just("jump"), _JUMP), st.just(("crash", 0)))
)


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(_STEPS, st.sampled_from(["day", "week", "month"]), st.sampled_from([None, "5/2"]))
def test_no_order_of_jumps_charges_and_crashes_exceeds_a_period_or_the_total(
    steps: list[tuple[str, object]], period: str, total: str | None
) -> None:
    """Against a sum over lines by itself: the period of a line is the largest number of any time up to it."""
    budget = Budget(Pure(1), renews=period, lifetime=total and Budget(Pure(total)))
    now, book = at("2026-01-15T12:00:00+00:00"), Book()
    book.apply(Opened("t", budget), now)
    opened = reached = period_number(period, now)
    spent: dict[int, Fraction] = {}
    history = [(Opened("t", budget), now)]
    for number, (what, by) in enumerate(steps):
        if what == "jump":
            assert isinstance(by, int)
            now += dt.timedelta(days=by)
        elif what == "crash":  # all is added up again from the lines
            book, before = Book(), book
            for entry, when in history:
                book.apply(entry, when)
            assert book.accounts == before.accounts
        else:
            assert isinstance(by, Pure)
            present = max(reached, period_number(period, now))
            fits = spent.get(present, 0) + by.epsilon <= 1 and (
                total is None or sum(spent.values()) + by.epsilon <= Fraction(total)
            )
            entry = Charged("t", by, str(number), "")
            assert book.accounts["t"].as_of(now).admits(by) == fits
            try:
                book.apply(entry, now)
            except BudgetExceeded:
                assert not fits
            else:
                assert fits
                reached = present
                history.append((entry, now))
                spent[present] = spent.get(present, Fraction(0)) + by.epsilon
    assert all(one <= 1 for one in spent.values())
    assert total is None or sum(spent.values()) <= Fraction(total)
    assert min(spent, default=opened) >= opened
    assert book.accounts["t"].spent_ever == Pure(sum(spent.values(), Fraction(0)))


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("charge"), st.integers(1, 4).map(lambda n: Fraction(n, 4))),
            st.tuples(st.just("limit"), st.sampled_from(["epsilon=1 per day", "epsilon=1 per month", "epsilon=2"])),
            st.tuples(st.just("jump"), _JUMP),
        ),
        max_size=30,
    )
)
def test_what_was_ever_spent_is_never_forgotten(steps: list[tuple[str, object]]) -> None:
    """Whatever limits an account had, its sum over all periods is that of its charges."""
    now, book, charged = at("2026-01-15T12:00:00+00:00"), Book(), Fraction(0)
    book.apply(Opened("t", Budget(Pure(2))), now)
    for number, (what, by) in enumerate(steps):
        left = book.accounts["t"].as_of(now).left
        if what == "jump":
            assert isinstance(by, int)
            now += dt.timedelta(days=by)
        elif what == "limit":
            before = book.accounts["t"].as_of(now)
            book.apply(Limited("t", Budget.parse(str(by)), ""), now)
            after = book.accounts["t"]
            assert after.spent.epsilon >= before.spent.epsilon  # type: ignore[union-attr]
        else:
            try:
                book.apply(Charged("t", Pure(by), str(number), ""), now)  # type: ignore[arg-type]
            except BudgetExceeded as refusal:
                assert refusal.left == left
            else:
                charged += by  # type: ignore[operator]
        assert book.accounts["t"].spent_ever == Pure(charged)


def test_the_later_of_two_clocks_counts_for_both(home: Home, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two have the ledger open, and the clock of one is behind."""
    with home.create() as ledger, home.open() as other:
        ledger.open_account("t", Budget.parse("epsilon=1 per month"))
        monkeypatch.setattr(other, "_clock", lambda: at("2026-02-01T00:00:00+00:00"))
        other.charge("t", Pure("0.75"), key="other", what="")
        clock.now = at("2026-01-31T23:00:00+00:00")
        ledger.charge("t", Pure("0.25"), key="mine", what="")
        for one in (ledger, other):
            with pytest.raises(BudgetExceeded):
                one.charge("t", Pure("0.25"), key="more", what="")
    with home.open() as ledger:
        assert ledger.account("t").spent_ever == Pure(1)
        assert ledger.verify().sound


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts SET period = period - 1",
        "UPDATE accounts SET past = NULL",
    ],
)
def test_a_period_that_was_edited_is_noticed(home: Home, clock: Clock, statement: str) -> None:
    with home.create() as ledger:
        ledger.open_account("t", MONTHLY)
        ledger.charge("t", Pure(1), key="1", what="")
        clock.now = at("2026-02-01T00:00:00+00:00")
        ledger.charge("t", Pure(1), key="2", what="")
        with home.tampering() as change:
            change(statement)
        with pytest.raises(DiscreetError, match="does not match the sum"):
            ledger.charge("t", Pure("0.1"), key="3", what="")
        assert not ledger.verify().sound
    with pytest.raises(DiscreetError, match="does not match the sum"):
        home.open()


@pytest.mark.parametrize(
    ("each", "total"),
    [(Concentrated("0.1"), Concentrated("0.15")), (Approximate(1, "1e-6"), Approximate("1.5", "1e-6"))],
)
def test_every_coordinate_is_kept_in_each_period_and_in_all(each: Loss, total: Loss, clock: Clock) -> None:
    book = Book()
    book.apply(Opened("t", Budget(each, renews="day", lifetime=Budget(total))), clock())
    book.apply(Charged("t", each, "1", ""), clock())
    after = book.accounts["t"].as_of(clock() + dt.timedelta(days=1))
    concentrated = isinstance(each, Concentrated)
    half = Concentrated("0.05") if concentrated else Approximate("0.5", 0)
    assert after.left == after.left_ever == half
    assert after.admits(half)
    assert not after.admits(Concentrated("0.050000001") if concentrated else Approximate("0.5", "1e-12"))
