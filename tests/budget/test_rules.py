"""The rules of a ledger without a database: sums exactly at the limit, and which line may be written."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from itertools import product

import pytest

from discreet.budget.entries import (
    START,
    Account,
    Began,
    Book,
    Charged,
    Entry,
    Limited,
    Opened,
    is_above,
    is_filed_under,
    limit_warnings,
    require_name,
    tightest_refusal,
    write,
)
from discreet.budget.filter import Budget, Spent, _cut
from discreet.budget.store import digest
from discreet.core.loss import Approximate, Concentrated, Loss, Pure, Renyi
from discreet.errors import BadInput, BudgetExceeded, LedgerError, NotFound, Taken

AT = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
HAIR = Fraction(1, 10**40)


def book(*entries: Entry) -> Book:
    made = Book()
    for entry in (Began(), *entries):
        made.post(entry, AT)
    return made


def charge(account: str, loss: Loss, key: str = "k", part: str | None = None) -> Charged:
    return Charged(account, loss, key, "", part)


LIMITS: list[tuple[Budget, Loss, Loss]] = [  # a limit, a loss that just fits, one that just does not
    (Budget(Pure(1)), Pure(1), Pure(1 + HAIR)),
    (Budget(Approximate(1, "1e-6")), Approximate(1, "1e-6"), Approximate(1, Fraction(1, 10**6) + HAIR)),
    (Budget(Approximate(1, "1e-6")), Pure(1), Approximate(1 + HAIR, 0)),
    (Budget(Concentrated(2)), Concentrated(2), Concentrated(2 + HAIR)),
    (Budget(Concentrated(2)), Pure(2), Pure(2 + HAIR)),
    (Budget(Renyi([(2, 1), (8, 4)])), Renyi([(2, 1), (8, 4)]), Renyi([(2, 1), (8, 4 + HAIR)])),
    (Budget(Renyi([(2, 1), (8, 4)])), Concentrated("1/2"), Renyi([(2, 1 + HAIR), (8, 4)])),
    (Budget(Renyi([(2, 1), (8, 4)])), Renyi([(2, 0), (8, 4), (9, 99)]), Concentrated(Fraction(1, 2) + HAIR)),
]


@pytest.mark.parametrize(("budget", "fits", "exceeds"), LIMITS)
def test_a_limit_is_reached_to_the_last_digit_and_not_passed(budget: Budget, fits: Loss, exceeds: Loss) -> None:
    assert budget.admits(budget.nothing, fits)
    assert not budget.admits(budget.nothing, exceeds)
    for own, whole in ((budget, budget), (budget, None), (None, budget)):
        wide = Budget(_twice(budget.limit))
        made = book(Opened("t", whole or wide), Opened("t/a", own or wide))
        with pytest.raises(BudgetExceeded):
            made.post(charge("t/a", exceeds), AT)
        assert {account.total for account in made.accounts.values()} == {budget.nothing}
        assert made.post(charge("t/a", fits), AT) is not None
        assert {account.total for account in made.accounts.values()} == {budget.add(budget.nothing, fits)}


def _twice(limit: Loss) -> Loss:
    match limit:
        case Pure(epsilon=epsilon):
            return Pure(2 * epsilon)
        case Approximate(epsilon=epsilon, delta=delta):
            return Approximate(2 * epsilon, 2 * delta)
        case Concentrated(rho=rho):
            return Concentrated(2 * rho)
        case Renyi(curve=curve):
            return Renyi((order, 2 * epsilon) for order, epsilon in curve)


@pytest.mark.parametrize(("budget", "fits", "exceeds"), LIMITS)
def test_what_is_left_is_what_still_fits(budget: Budget, fits: Loss, exceeds: Loss) -> None:
    spent = budget.add(budget.nothing, fits)
    for asked in (
        Pure(9),
        Approximate(9, 0),
        *([Concentrated(9)] if not isinstance(budget.ceiling.core, Pure) else []),
    ):
        for before in (budget.nothing, spent):
            room = budget.room(before, asked)
            assert type(room) is type(asked)
            assert budget.admits(before, room)
    lowered = Budget(Pure("1/2")) if isinstance(budget.limit, Pure) else budget
    assert lowered.covers(lowered.nothing)
    assert Budget(Pure("1/2")).left(Spent(Pure(2), Fraction(0))) == Pure(0)
    assert Budget(Concentrated(1)).left(Spent(Concentrated(2), Fraction(0))) == Concentrated(0)
    assert Budget(Approximate(1, "1e-6")).left(Spent(Pure(3), Fraction(1))) == Approximate(0, 0)
    curve = Budget(Renyi([(2, 1), (4, 3)])).left(Spent(Renyi([(2, 2), (4, 1)]), Fraction(0)))
    assert curve == Renyi([(2, 0), (4, 2)])


def test_parts_and_the_whole_add_up_to_the_limit_exactly() -> None:
    made = book(Opened("t", Budget(Pure(1)), "year"))
    made.post(charge("t", Pure("0.3"), "1"), AT)
    made.post(charge("t", Pure("0.5"), "2", "1990"), AT)
    made.post(charge("t", Pure("0.7"), "3", "1991"), AT)
    assert made.accounts["t"].total == Spent(Pure(1), Fraction(0))
    assert made.parts == {
        ("t", "1990"): Spent(Pure("0.5"), Fraction(0)),
        ("t", "1991"): Spent(Pure("0.7"), Fraction(0)),
    }
    with pytest.raises(BudgetExceeded) as other:
        made.post(charge("t", Pure("0.21"), "4", "1990"), AT)
    assert other.value.left == Pure("0.2")
    with pytest.raises(BudgetExceeded) as whole:
        made.post(charge("t", Pure("0.01"), "5"), AT)
    assert whole.value.left == Pure(0)
    made.post(charge("t", Pure("0.2"), "4", "1990"), AT)
    made.post(charge("t", Pure("0.7"), "6", "1992"), AT)
    assert made.accounts["t"].peak == Spent(Pure("0.7"), Fraction(0))


def test_lines_are_chained_and_numbered() -> None:
    made = book(Opened("t", Budget(Pure(1))), charge("t", Pure("0.1")))
    before = START
    for number, (line, content) in enumerate(made.written, 1):
        assert line.number == number
        assert content == write(number, AT, line.entry)
        before = digest(before, content)
        assert line.digest == before
    assert (made.number, made.digest) == (3, before)


def test_a_ledger_begins_once_and_repeats_are_no_lines() -> None:
    made = book(Opened("t", Budget(Pure(1)), "year"), charge("t", Pure("0.1")))
    with pytest.raises(LedgerError, match="one opening entry"):
        made.post(Began(), AT)
    assert made.post(Opened("t", Budget(Pure(1)), "year"), AT) is None
    for budget, partition in ((Budget(Pure(2)), "year"), (Budget(Pure(1)), None), (Budget(Pure(1)), "month")):
        with pytest.raises(Taken, match="already exists"):
            made.post(Opened("t", budget, partition), AT)
    with pytest.raises(LedgerError, match="already exists"):
        made.apply(Opened("t", Budget(Pure(1)), "year"), dt.datetime.now(dt.UTC))
    assert made.post(charge("t", Pure("0.1")), AT) is made.written[2][0]
    for other in (charge("t", Pure("0.2")), charge("t", Pure("0.1"), part="x"), Charged("t", Pure("0.1"), "k", "y")):
        with pytest.raises(Taken, match="another charge, in entry 3"):
            made.post(other, AT)
    assert made.number == 3


def test_a_new_limit_is_of_the_same_kind_and_keeps_what_was_spent() -> None:
    made = book(Opened("t", Budget(Renyi([(2, 1), (4, 1)]))), charge("t", Renyi([(2, "0.5"), (4, "0.5")])))
    made.post(Limited("t", Budget(Renyi([(2, "0.1"), (4, 9)])), ""), AT)
    assert made.accounts["t"].left == Renyi([(2, 0), (4, "8.5")])
    for limit in (Pure(1), Renyi([(2, 1)]), Renyi([(2, 1), (5, 1)])):
        with pytest.raises(BadInput, match="another kind"):
            made.post(Limited("t", Budget(limit), ""), AT)
    with pytest.raises(NotFound):
        made.post(Limited("u", Budget(Pure(1)), ""), AT)


@pytest.mark.parametrize(
    ("lefts", "named_one"),
    [
        ([Pure("0.1"), Pure("0.2")], 0),
        ([Pure("0.2"), Pure("0.1")], 1),
        ([Pure("0.1"), Pure("0.1")], 1),
        ([Approximate("0.1", "1e-6"), Approximate("0.1", "1e-7")], 1),
        ([Approximate("0.1", "1e-7"), Approximate("0.1", "1e-6")], 0),
        ([Approximate("0.2", 0), Approximate("0.1", "1e-6")], 1),
        ([Concentrated("0.1"), Concentrated("0.2"), Concentrated("0.1")], 2),
        ([Renyi([(2, 5), (4, 1)]), Renyi([(2, 2), (4, 2)])], 0),
        ([Renyi([(2, 2), (4, 2)]), Renyi([(2, 1), (4, 9)])], 1),
    ],
)
def test_of_several_refusals_the_one_that_leaves_least_is_told(lefts: list[Loss], named_one: int) -> None:
    refusals = [BudgetExceeded("", asked=left, left=left, account=str(n)) for n, left in enumerate(lefts)]
    assert tightest_refusal(refusals) is refusals[named_one]


DELTA = Approximate(1, "1e-6")


@pytest.mark.parametrize(
    ("was", "now", "spent", "over", "more"),
    [
        (DELTA, DELTA, "0.5", False, False),
        (DELTA, Approximate(2, "1e-9"), "0.5", False, False),
        (DELTA, Approximate(2, 0), "0.5", True, False),
        (DELTA, Pure(2), "0.5", True, False),
        (DELTA, Approximate("0.5", "1e-6"), "0.5", False, False),
        (DELTA, Approximate("0.4", "1e-6"), "0.5", False, True),
        (DELTA, Approximate("0.4", 0), "0.5", True, True),
        (DELTA, Concentrated("0.1"), "0.5", True, False),
        (Approximate(1, 0), Pure(1), "0.5", False, False),
        (Pure(1), Pure("0.5"), "0.5", False, False),
        (Pure(1), Pure("0.4"), "0.5", False, True),
        (Pure(1), Approximate("0.4", "1e-6"), "0.5", False, True),
        (Pure(1), Concentrated(1), "0.5", False, False),
    ],
)
def test_what_a_new_limit_takes_away_is_said(was: Loss, now: Loss, spent: str, over: bool, more: bool) -> None:
    made = book(Opened("t", Budget(was)), charge("t", Pure(spent)))
    said = limit_warnings(made.accounts["t"], Budget(now))
    assert [text.partition(" ")[0] for text in said] == ["the"] * over + ["more"] * more


@pytest.mark.parametrize(
    ("own", "whole", "above"),
    [
        (Pure(1), Pure(1), False),
        (Pure(1 + HAIR), Pure(1), True),
        (Pure("0.5"), Pure(1), False),
        (Approximate(1, "1e-6"), Approximate(1, "1e-6"), False),
        (Approximate(1, "2e-6"), Approximate(1, "1e-6"), True),
        (Approximate("0.1", "1e-9"), Pure(1), True),
        (Concentrated(9), Pure(1), False),
        (Pure(2), Concentrated(2), False),
        (Pure(3), Concentrated(2), True),
    ],
)
def test_an_analysts_budget_above_the_tables_is_told(own: Loss, whole: Loss, above: bool) -> None:
    assert is_above(Budget(own), Budget(whole)) is above


def test_what_was_spent_is_said_in_the_terms_of_the_limit() -> None:
    kept_as_rho = Budget(Approximate(1, "1e-6"), concentrated=True, reserve="4e-7")
    assert kept_as_rho.restated(kept_as_rho.nothing) == Approximate(0, 0)
    only_delta = kept_as_rho.add(kept_as_rho.nothing, Approximate(0, "1e-7"))
    assert kept_as_rho.restated(only_delta) == Approximate(0, "1e-7")
    spent = kept_as_rho.add(kept_as_rho.nothing, Approximate("0.1", "1e-7"))
    restated = kept_as_rho.restated(spent)
    assert isinstance(restated, Approximate)
    assert restated.delta == Fraction("6e-7") + Fraction("1e-7")
    assert 0 < restated.epsilon < 1
    plain = Budget(Approximate(1, "1e-6"))
    assert plain.restated(plain.add(plain.nothing, Approximate("0.1", "1e-7"))) == Approximate("0.1", "1e-7")
    assert Budget(Concentrated(1)).restated(Spent(Concentrated("0.5"), Fraction(0))) == Concentrated("0.5")
    assert str(spent).endswith("δ = 1e-07") or "δ" in str(spent)
    assert "δ" not in str(kept_as_rho.nothing)


@pytest.mark.parametrize("bits", [255, 256, 257, 300])
def test_numbers_are_cut_upwards_once_their_denominator_is_long(bits: int) -> None:
    value = Fraction(7, 2 ** (bits - 1) + 1)
    assert value.denominator.bit_length() == bits
    if bits <= 256:
        assert _cut(value) is value
    else:
        assert _cut(value) == Fraction(-(-7 * 10**60 // value.denominator), 10**60)
        assert value <= _cut(value) < value + Fraction(1, 10**60)


def test_losses_that_grow_long_are_cut_in_every_kind() -> None:
    long = Fraction(1, 2**300 + 1)
    least = Fraction(1, 10**60)
    for budget, loss, kept in (
        (Budget(Pure(1)), Pure(long), Pure(least)),
        (Budget(Concentrated(1)), Concentrated(long), Concentrated(least)),
        (Budget(Renyi([(2, 1)])), Renyi([(2, long)]), Renyi([(2, least)])),
    ):
        assert budget.add(budget.nothing, loss) == Spent(kept, Fraction(0))
    budget = Budget(Approximate(1, "0.1"))
    assert budget.add(budget.nothing, Approximate(0, long)).delta == least


def test_parts_of_different_people_have_the_larger_of_each_number() -> None:
    budget = Budget(Approximate(3, "1e-3"))
    one, other = Spent(Pure(1), Fraction(2, 10**6)), Spent(Pure(2), Fraction(1, 10**6))
    assert budget.peak(one, other) == Spent(Pure(2), Fraction(2, 10**6))
    assert budget.join(one, other) == Spent(Pure(3), Fraction(3, 10**6))
    nothing = budget.nothing
    account = Account("t", budget, None, one, other)
    assert (account.total, account.spent) == (budget.join(one, other), Approximate(3, "3e-6"))
    assert account.left == Approximate(0, Fraction(997, 10**6))
    assert Account("t", budget, None, nothing, nothing).left == Approximate(3, "1e-3")


# How lines are filed and what may be a name


@pytest.mark.parametrize("key", ["k", 'quoted "k"', "ä\\", "kind"])
def test_a_line_is_filed_under_its_own_key_and_no_other(key: str) -> None:
    content = write(7, AT, Charged("t", Pure(1), key, f'"key":"{key}","kind":"charged"'))
    assert is_filed_under(content, key)
    assert not is_filed_under(content, key + "x")
    assert not is_filed_under(content, None)
    for entry in (Began(), Opened("t", Budget(Pure(1))), Limited("t", Budget(Pure(1)), '"kind":"charged"')):
        content = write(7, AT, entry)
        assert is_filed_under(content, None)
        assert not is_filed_under(content, key)


@pytest.mark.parametrize("length", [0, 1, 200, 201])
def test_names_are_short(length: int) -> None:
    if 0 < length <= 200:
        assert require_name("x" * length, "It") == "x" * length
    else:
        with pytest.raises(BadInput, match="1 to 200 printable"):
            require_name("x" * length, "It")


@pytest.mark.parametrize("wrong", [" x", "x ", "a\nb", 7, None])
def test_names_are_printable_and_have_no_space_around_them(wrong: str) -> None:
    for make in (
        lambda: require_name(wrong, "It"),
        lambda: Opened("t", Budget(Pure(1)), wrong or " "),
        lambda: Charged("t", Pure(1), wrong, ""),
        lambda: Charged("t", Pure(1), "k", "", wrong or " "),
        lambda: Limited(f"t/{wrong}" if isinstance(wrong, str) else wrong, Budget(Pure(1)), ""),
    ):
        with pytest.raises(BadInput):
            make()


@pytest.mark.parametrize("length", [0, 20_000, 20_001])
def test_texts_are_not_too_long(length: int) -> None:
    for make in (lambda: Limited("t", Budget(Pure(1)), "x" * length), lambda: Charged("t", Pure(1), "k", "x" * length)):
        if length <= 20_000:
            make()
        else:
            with pytest.raises(BadInput, match="20,000"):
                make()


def test_every_account_above_a_charge_is_charged_or_none_is() -> None:
    """Three levels, each of which may be too small: eight cases."""
    for small in product((False, True), repeat=3):
        names = ("t", "t/a", "t/a/x")
        made = book(*(Opened(name, Budget(Pure(1 if less else 2))) for name, less in zip(names, small, strict=True)))
        if any(small):
            with pytest.raises(BudgetExceeded) as refusal:
                made.post(charge("t/a/x", Pure("1.5")), AT)
            assert refusal.value.account == [name for name, less in zip(names, small, strict=True) if less][-1]
        else:
            made.post(charge("t/a/x", Pure("1.5")), AT)
        wanted = Pure(0 if any(small) else "1.5")
        assert [made.accounts[name].spent for name in names] == [wanted] * 3
