"""Budgets: exact at the limit, bounded in size, and kept by analysts who adapt."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.budget.convert import to_approximate
from discreet.budget.filter import Budget, Spent
from discreet.core.exact import ln_upper
from discreet.core.loss import Approximate, Concentrated, Loss, Pure, Renyi
from discreet.errors import BadInput, NoPromise

BUDGETS = [
    Budget(Pure(1)),
    Budget(Approximate(1, "1e-6")),
    Budget(Approximate(1, "1e-6"), concentrated=True),
    Budget(Approximate(1, "1e-6"), concentrated=True, reserve="5e-7"),
    Budget(Concentrated("0.2")),
    Budget(Renyi([(2, "0.5"), ("7/2", 1), (32, 4)])),
]
amounts = st.fractions(0, Fraction(1, 3), max_denominator=10**4)


@st.composite
def losses(draw: st.DrawFn) -> Loss:
    amount = draw(amounts)
    return draw(
        st.sampled_from(
            [
                Pure(amount),
                Approximate(amount, amount / 10**6),
                Concentrated(amount**2),
                Renyi([(2, amount), (40, 20 * amount)]),
            ]
        )
    )


def test_a_third_three_times_is_one_and_no_more() -> None:
    budget = Budget(Pure(1))
    spent = budget.nothing
    for _ in range(3):
        assert budget.admits(spent, Pure("1/3"))
        spent = budget.add(spent, Pure("1/3"))
    assert budget.admits(spent, Pure(0))
    assert not budget.admits(spent, Pure(Fraction(1, 10**1000)))


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@settings(deadline=None)
@given(st.lists(losses(), max_size=6))
def test_what_there_is_room_for_is_admitted_and_nothing_is_understated(budget: Budget, asked: list[Loss]) -> None:
    spent = budget.nothing
    for loss in asked:
        try:
            admitted = budget.admits(spent, loss)
        except NoPromise:
            continue
        if admitted:
            before, spent = spent, budget.add(spent, loss)
            assert budget.covers(before)
        room = budget.room(spent, loss)
        assert budget.admits(spent, room)
        assert type(room) is type(loss)
        assert budget.admits(spent, budget.left(spent))
    assert budget.covers(spent)
    restated = budget.restated(spent)
    if isinstance(budget.limit, Approximate):
        assert isinstance(restated, Approximate)
        assert restated.epsilon <= budget.limit.epsilon
        assert restated.delta <= budget.limit.delta


def test_room_is_told_in_the_kind_that_was_asked_for() -> None:
    budget = Budget(Renyi([(2, 1), (32, 2)]))
    assert budget.room(budget.nothing, Concentrated(9)) == Concentrated("1/16")
    assert budget.room(budget.nothing, Pure(9)) == Pure(1)
    concentrated = Budget(Concentrated(2))
    assert concentrated.room(concentrated.nothing, Pure(9)) == Pure(2)
    assert concentrated.room(concentrated.nothing, Concentrated(9)) == Concentrated(2)


def test_a_limit_kept_as_rho_is_the_largest_that_fits() -> None:
    limit = Approximate(1, "1e-6")
    kept = Budget(limit, concentrated=True).ceiling
    assert kept.delta == 0
    assert to_approximate(kept.core, "1e-6").epsilon <= 1
    halved = Budget(limit, concentrated=True, reserve="5e-7").ceiling
    assert isinstance(halved.core, Concentrated)
    assert isinstance(kept.core, Concentrated)
    assert halved.delta == Fraction("5e-7")
    assert 0.9 < halved.core.rho / kept.core.rho < 1


def test_a_budget_that_is_used_a_lot_costs_no_more() -> None:
    """Fractions with ever new denominators are cut, upwards; the sum stays short and near the truth."""
    budget = Budget(Pure(100))
    spent, true = budget.nothing, Fraction(0)
    for n in range(2, 1500):
        loss = Pure(Fraction(1, n * n + 1))
        spent, true = budget.add(spent, loss), true + loss.epsilon
    assert isinstance(spent.core, Pure)
    assert spent.core.epsilon.denominator.bit_length() <= 256
    assert true <= spent.core.epsilon < true + Fraction(1, 10**50)


def test_a_loss_too_long_to_write_down_again_is_cut_upwards() -> None:
    long = Pure(Fraction(1, 3**2500))
    spent = Budget(Pure(1)).add(Budget(Pure(1)).nothing, long)
    assert isinstance(spent.core, Pure)
    assert spent.core.epsilon == Fraction(1, 10**60)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_budgets_and_sums_are_read_back_as_they_were(budget: Budget) -> None:
    assert Budget.from_dict(budget.to_dict()) == budget
    spent = budget.add(budget.nothing, Pure("1/7"))
    assert Spent.from_dict(spent.to_dict()) == spent


@pytest.mark.parametrize(
    "make",
    [
        lambda: Budget(Pure(1), concentrated=True),
        lambda: Budget(Concentrated(1), concentrated=True),
        lambda: Budget(Approximate(1, "1e-6"), concentrated=True, reserve="1e-6"),
        lambda: Budget(Approximate(1, "1e-6"), reserve="1e-7"),
        lambda: Budget(Approximate(1, 0), concentrated=True),
        lambda: Budget(Pure(float("inf"))),
        lambda: Spent.from_dict({"core": Approximate(1, 0).to_dict(), "delta": "0"}),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(BadInput):
        make()


@pytest.mark.parametrize(
    ("budget", "loss"),
    [
        (Budget(Pure(1)), Concentrated("0.1")),
        (Budget(Pure(1)), Renyi([(2, 1)])),
        (Budget(Approximate(1, "1e-6")), Concentrated("0.1")),
        (Budget(Concentrated(1)), Renyi([(2, 1)])),
        (Budget(Renyi([(32, 1)])), Renyi([(2, 1)])),
    ],
)
def test_a_loss_that_says_too_little_is_refused(budget: Budget, loss: Loss) -> None:
    with pytest.raises(NoPromise):
        budget.admits(budget.nothing, loss)


def test_a_delta_needs_a_budget_with_one() -> None:
    for budget in (Budget(Pure(1)), Budget(Concentrated(1)), Budget(Approximate(1, "1e-6"), concentrated=True)):
        assert not budget.admits(budget.nothing, Approximate("0.1", "1e-9"))


def leaves(budget: Budget, odds: Callable[[str], int], most: int) -> list[tuple[Fraction, Fraction]]:
    """Every transcript's probability on two neighbours, of an analyst who asks by what was answered.

    A question is a randomised response with odds r to 1; the next r depends on all answers so far, the
    budget refuses what it must, and the analyst then asks for less.
    """
    found = []

    def ask(transcript: str, spent: Spent, here: Fraction, there: Fraction) -> None:
        r = odds(transcript)
        loss = Pure(ln_upper(Fraction(r)))
        if len(transcript) == most:
            found.append((here, there))
        elif not budget.admits(spent, loss):
            ask(transcript + "-", spent, here, there)
        else:
            told, hidden = Fraction(r, r + 1), Fraction(1, r + 1)
            after = budget.add(spent, loss)
            ask(transcript + "1", after, here * told, there * hidden)
            ask(transcript + "0", after, here * hidden, there * told)

    ask("", budget.nothing, Fraction(1), Fraction(1))
    return found


strategies = st.integers(0, 2**32).map(
    lambda seed: lambda transcript: 2 + (seed >> (sum(map(ord, transcript)) + 5 * len(transcript)) % 31) % 7
)


@settings(deadline=None)
@given(strategies)
def test_an_analyst_who_adapts_cannot_exceed_a_pure_budget(odds: Callable[[str], int]) -> None:
    for here, there in leaves(Budget(Pure(ln_upper(Fraction(20)))), odds, 6):
        assert here <= 20 * there
        assert there <= 20 * here


@settings(deadline=None)
@given(strategies, st.sampled_from([2, 3, 5]))
def test_an_analyst_who_adapts_cannot_exceed_a_budget_of_rho(odds: Callable[[str], int], order: int) -> None:
    """The Rényi divergence of all transcripts, worked out exactly, is at most αρ."""
    rho = Fraction(2)
    moment = sum(here**order / there ** (order - 1) for here, there in leaves(Budget(Concentrated(rho)), odds, 6))
    assert ln_upper(moment) <= (order - 1) * order * rho


@settings(deadline=None)
@given(strategies)
def test_an_analyst_who_adapts_cannot_exceed_a_renyi_budget(odds: Callable[[str], int]) -> None:
    budget = Budget(Renyi([(2, 1), (4, 2)]))
    for order, most in ((2, 1), (4, 2)):
        moment = sum(here**order / there ** (order - 1) for here, there in leaves(budget, odds, 6))
        assert ln_upper(moment) <= (order - 1) * most
