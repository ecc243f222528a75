"""What the home page says to do next, and how jobs are estimated."""

import datetime as dt

import pytest
from tests.service.console.conftest import press, seen, text, until

from discreet.budget.filter import Budget
from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.loss import Pure
from discreet.curator.people.person import Person, Role
from discreet.curator.release_index import Shelved
from discreet.service.console.home import State, next_steps
from discreet.service.console.jobs import duration, estimate_text
from discreet.service.jobs.queue import Job
from discreet.service.views import BudgetView, TableView

NOW = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)


def state(role, *, tables=("visits",), budgets=(), jobs=(), released=False):
    """What somebody finds: a table's own budget of ε 3 on each table, and those of analysts."""
    views = [TableView(name, Card(name, (Column("ward", Kind.TEXT),)), public=False, left=None) for name in tables]
    accounts = [BudgetView(name, name, None, Budget(Pure(3)), Pure(1), Pure(2)) for name in tables]
    release = Shelved("r", "published", "t", ("visits",), "s", NOW, "m", None, True, True, "p")
    recent = [(release, "")] if released else []
    return State(Person("ann", role, NOW, False, False), views, [*accounts, *budgets], recent, jobs)


def given(left):
    return BudgetView("visits/ann", "visits", "ann", Budget(Pure(1)), Pure(1), Pure(left))


def job(state, hours=1, **more):
    at = NOW - dt.timedelta(hours=hours)
    ended = {"said": "", "result": None, "error": ""} | more
    return Job("j", "publish", "s", "visits", {"method": "generalize"}, at, state, None, **ended)


def titles(found):
    return [step.title for step in next_steps(found, NOW)]


def test_a_steward_adds_data_then_analysts_then_publishes():
    assert titles(state(Role.STEWARD, tables=())) == ["Add your first table"]
    assert titles(state(Role.STEWARD))[:2] == ["Let an analyst ask visits", "Publish visits"]
    assert titles(state(Role.STEWARD, budgets=[given(1)]))[0] == "Publish visits"
    later = titles(state(Role.STEWARD, budgets=[given("0.05")], released=True))
    assert later[:2] == ["ann's budget on visits is nearly spent", "Check the joint exposure of your releases"]


def test_what_failed_comes_first_with_its_message_until_it_is_old():
    failed, done = job("failed", error="No node satisfies k=5."), job("done", said="990 rows.", result="r1")
    first, second, *_ = next_steps(state(Role.STEWARD, jobs=[done, failed]), NOW)
    assert (first.title, first.text, first.tone) == ("Failed: Publish visits", "No node satisfies k=5.", "bad")
    assert (second.title, second.address) == ("Done: Publish visits", "/release/r1")
    assert "Failed" not in " ".join(titles(state(Role.STEWARD, jobs=[job("failed", hours=25, error="Old.")])))


def test_analysts_ask_and_auditors_verify():
    assert titles(state(Role.ANALYST)) == ["Get a privacy budget"]
    assert titles(state(Role.AUDITOR))[0] == "Verify the ledger"
    assert next_steps(state(Role.ANALYST), NOW)[0].address == ""


def test_a_rough_estimate_comes_from_earlier_jobs():
    assert estimate_text([]) == ""
    assert estimate_text([12.3]) == "Rough estimate: 12 s (the last one of this kind on this table)."
    assert "Rough estimate: 40 s (the last 3 took 20 s to 2 min" in estimate_text([20, 40, 121])
    assert [duration(one) for one in (0.1, 89, 90, 5400)] == ["1 s", "89 s", "2 min", "1.5 h"]


@pytest.mark.parametrize("name", ["ann", "steward", "auditor"])
def test_the_tour_goes_step_by_step_and_ends(console, name):
    async def act(user):
        await user.open("/")
        assert seen(user, "next-0")
        press(user, "tour-start")
        await until(lambda: bool(seen(user, "tour-next")))
        steps = []
        while seen(user, "tour-next")[0].text == "Next":
            steps.append(text(user))
            press(user, "tour-next")
        assert len(steps) == len(set(steps)) >= 3

    console.visit(name, act)


def test_the_tour_is_offered_once(console):
    async def act(user):
        user.http_client.cookies.set("discreet_tour_ann", "seen")
        await user.open("/")
        assert seen(user, "tour-again") and not seen(user, "tour-offer")

    console.visit("ann", act)
