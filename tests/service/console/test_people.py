"""The People and Tokens pages: letting people in, keeping them out, what they may spend, and secrets told once."""

import pytest
from tests.service.console.conftest import messages, press, seen, text, until

from discreet.budget.filter import Budget
from discreet.core.loss import Approximate, Pure
from discreet.curator.people.person import Role, Scope
from discreet.errors import NotSignedIn
from discreet.service.console.budget_dialog import doubts
from discreet.service.views import BudgetView


def shown(user, testid):
    return seen(user, testid)[-1].text


def test_somebody_is_let_in_and_their_password_is_told_once(console):
    told = []

    async def act(user):
        await user.open("/people")
        with user:
            seen(user, "add-name")[0].set_value("Cara Lee")
        press(user, "add-go")
        await until(lambda: any("not a valid user name" in said for said in messages(user)))
        with user:
            seen(user, "add-name")[0].set_value("cara")
            seen(user, "add-tables")[0].set_value(["visits"])
            seen(user, "add-epsilon")[0].set_value("0.5")
            seen(user, "add-delta")[0].set_value("1e-7")
        press(user, "add-go")
        await until(lambda: bool(seen(user, "once-text")))
        told.append(shown(user, "once-text"))
        assert seen(user, "person-cara")
        await user.open("/people")
        assert told[0] not in text(user)

    console.visit("steward", act)
    desk = console.clinic.desk
    assert desk.access.sign_in("cara", told[0]).person.must_change
    (own,) = [view for view in desk.budgets.accounts(console.clinic.steward) if view.analyst == "cara"]
    assert (own.table, own.budget) == ("visits", Budget(Approximate("0.5", "1e-7")))


def test_a_steward_gives_a_budget_and_changes_it(console):
    async def act(user):
        await user.open("/people")
        for epsilon in ("0.25", "0.75"):
            press(user, "budget-bob")
            await until(lambda: bool(seen(user, "budget-go")))
            with user:
                seen(user, "budget-table")[-1].set_value("patients")
                seen(user, "budget-epsilon")[-1].set_value(epsilon)
                seen(user, "budget-why")[-1].set_value("a study")
            press(user, "budget-go")
            await until(lambda epsilon=epsilon: f"of {epsilon} left" in text(user))

    console.visit("steward", act)
    (own,) = [view for view in console.clinic.desk.budgets.accounts(console.clinic.steward) if view.analyst == "bob"]
    assert own.budget == Budget(Pure("0.75"))


def test_what_was_given_is_in_the_boxes_and_less_of_it_is_asked_twice(console):
    async def act(user):
        await user.open("/people")
        press(user, "budget-ann")
        await until(lambda: bool(seen(user, "budget-go")))
        with user:
            seen(user, "budget-table")[-1].set_value("visits")
        assert [seen(user, f"budget-{box}")[-1].value for box in ("epsilon", "delta")] == ["1", "1e-6"]
        assert "ε 0 of it is spent" in shown(user, "budget-spent")
        with user:
            seen(user, "budget-delta")[-1].set_value("0")
            seen(user, "budget-epsilon")[-1].set_value("7")
        assert "The table budget of visits is only ε 3" in shown(user, "budget-note")
        with user:
            seen(user, "budget-epsilon")[-1].set_value("0.5")
        assert not shown(user, "budget-note")
        press(user, "budget-go")
        await until(lambda: bool(seen(user, "sure-no")))
        assert "lowered from ε 1, δ 1e-6 to ε 0.5" in text(user)
        assert "delta is removed" in text(user)
        press(user, "sure-no")
        await until(lambda: not seen(user, "sure-no"))
        with user:
            seen(user, "budget-epsilon")[-1].set_value("2")
            seen(user, "budget-delta")[-1].set_value("1e-6")
            seen(user, "budget-why")[-1].set_value("a second study")
        press(user, "budget-go")
        await until(lambda: any("ann may now spend ε 2" in said for said in messages(user)))

    console.visit("steward", act)
    views = console.clinic.desk.budgets.accounts(console.clinic.steward)
    (own,) = [view for view in views if view.account == "visits/ann"]
    assert own.budget == Budget(Approximate(2, "1e-6"))


def test_a_limit_below_what_is_spent_is_told():
    before = BudgetView("visits/ann", "visits", "ann", Budget(Approximate(1, "1e-6")), Approximate("0.6", 0), Pure(1))
    assert not doubts(before, Budget(Approximate(1, "1e-6")))
    assert "already spent" in doubts(before, Budget(Approximate("0.5", "1e-6")))[0]


def test_who_is_locked_out_is_shown_and_let_in_by_a_new_password(console):
    people, told = console.clinic.desk.people, []
    people.add("kim", Role.ANALYST)
    for _ in range(5):
        with pytest.raises(NotSignedIn):
            people.sign_in("kim", "a guess")

    async def act(user):
        await user.open("/people")
        assert "locked out until" in shown(user, "locked-kim")
        press(user, "reset-kim")
        await until(lambda: bool(seen(user, "sure-go")))
        press(user, "sure-go")
        await until(lambda: bool(seen(user, "once-text")))
        told.append(shown(user, "once-text"))
        assert not seen(user, "locked-kim")

    console.visit("steward", act)
    assert people.sign_in("kim", told[0]).person.must_change


def test_keeping_somebody_out_is_asked_twice(console):
    async def act(user):
        await user.open("/people")
        press(user, "disable-bob")
        await until(lambda: bool(seen(user, "sure-no")))
        press(user, "sure-no")
        await until(lambda: not seen(user, "sure-no"))
        assert not console.clinic.bob.disabled
        press(user, "disable-bob")
        await until(lambda: bool(seen(user, "sure-go")))
        press(user, "sure-go")
        await until(lambda: bool(seen(user, "enable-bob")))
        assert console.clinic.bob.disabled
        press(user, "enable-bob")
        await until(lambda: bool(seen(user, "disable-bob")))
        assert not console.clinic.bob.disabled

    console.visit("steward", act)


def test_an_auditor_reads_and_changes_nothing(console):
    async def act(user):
        await user.open("/people")
        assert seen(user, "person-ann")
        assert not seen(user, "add-go")
        assert not seen(user, "reset-ann")

    console.visit("auditor", act)


def test_tokens_are_told_once_and_can_be_revoked(console):
    desk, told = console.clinic.desk, []

    async def act(user):
        await user.open("/tokens")
        with user:
            seen(user, "token-label")[0].set_value("a notebook")
            assert seen(user, "token-scopes")[0].value == ["ask", "read"]
            seen(user, "token-scopes")[0].set_value(["read"])
        press(user, "token-make")
        await until(lambda: bool(seen(user, "once-text")))
        told.append(shown(user, "once-text"))
        found = desk.people.by_token(told[0])
        assert found is not None
        assert (found[0].name, found[0].role, found[1]) == ("ann", Role.ANALYST, (Scope.READ,))
        (token,) = [one for one in desk.access.tokens(console.clinic.ann) if one.label == "a notebook"]
        assert (token.until - token.made).days == 90
        press(user, f"revoke-{token.id}")
        await until(lambda: not seen(user, f"token-{token.id}"))

    console.visit("ann", act)
    assert desk.people.by_token(told[0]) is None
    assert told[0] not in console.said.getvalue()
