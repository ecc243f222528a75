"""Budgets that renew, as analysts and stewards see them."""

import datetime as dt

import pytest
from tests.curator.clinics import COUNT, clinic

from discreet.budget.filter import Budget
from discreet.budget.ledger import SqlLedger
from discreet.core.loss import Pure
from discreet.errors import BudgetExceeded
from discreet.service.api.metrics import Now
from discreet.service.api.records import BudgetOut
from discreet.service.api.schemas import BudgetShape
from discreet.service.condition import DatabaseState
from discreet.service.turns import Turns
from discreet.service.views import BudgetView

MONTHLY = Budget.parse("epsilon=1 per month; epsilon=1.5 in total")
OTHER = "SELECT COUNT(*) AS m FROM visits WHERE city = 'Rome'"


@pytest.fixture
def month(monkeypatch):
    """Set the month that the ledger's clock shows."""

    def show(number):
        monkeypatch.setattr(SqlLedger, "_clock", staticmethod(lambda: dt.datetime(2026, number, 1, tzinfo=dt.UTC)))

    show(1)
    return show


def test_a_statement_says_what_each_period_and_all_of_them_promise(tmp_path, month):
    with clinic(tmp_path / "clinic", MONTHLY) as curator:
        first = curator.ask(COUNT, epsilon=1)
        [note, own] = [one for one in first.release.statement.caveats if "renews" in one]
        assert note == (
            "The budget of visits renews. All answers of one month (UTC) together lose at most ε = 1; those of n "
            "months at most n times as much, and never more than ε = 1.5."
        )
        assert own.startswith("The budget of visits/analyst renews.")
        assert first.release.statement.loss == Pure(1)
        with pytest.raises(BudgetExceeded, match="wait until it renews on 2026-02-01"):
            curator.ask(OTHER, epsilon="0.5")
        month(2)
        again = curator.ask(COUNT, epsilon=1)
        assert again.free and again.release.payload == first.release.payload  # not answered anew
        assert curator.left("visits").analyst == Pure("0.5")
        curator.ask(OTHER, epsilon="0.5")
        month(3)
        with pytest.raises(BudgetExceeded) as refusal:
            curator.ask("SELECT COUNT(*) AS k FROM visits", epsilon="0.1")
        assert "wait" not in str(refusal.value)
        assert curator.verify().sound


def test_a_statement_of_a_budget_that_never_renews_says_nothing_of_it(tmp_path):
    with clinic(tmp_path / "clinic", Pure(1)) as curator:
        assert not any("renews" in one for one in curator.ask(COUNT, epsilon=1).release.statement.caveats)


def test_the_api_and_the_metrics_show_the_period_and_all_of_them(tmp_path, month):
    with clinic(tmp_path / "clinic", MONTHLY) as curator:
        curator.ask(COUNT, epsilon=1)
        month(2)
        curator.ask(OTHER, epsilon="0.25")
        views = [BudgetView.of(account) for account in curator.ledger.accounts()]
    shown = BudgetOut.of(views[0]).model_dump()
    figures = {name: shown[name]["epsilon"] for name in ("spent", "left", "spent_ever", "left_ever")}
    assert figures == {"spent": "1/4", "left": "1/4", "spent_ever": "5/4", "left_ever": "1/4"}
    assert (shown["renews"], shown["renewal"], shown["lifetime"]["limit"]["epsilon"]) == (
        "month",
        dt.date(2026, 3, 1),
        "3/2",
    )
    assert BudgetShape.model_validate(MONTHLY.to_dict()).budget() == MONTHLY
    now = Now({}, DatabaseState(views, {}), Turns(1, 1), names=False)
    found = {
        (family.name, *sample.labels.values()): sample.value
        for family in now.collect()
        for sample in family.samples
        if "budget" in family.name
    }
    assert found == {
        ("discreet_budget_left_epsilon", "visits", ""): 0.25,
        ("discreet_budget_spent_epsilon", "visits", "", "period"): 0.25,
        ("discreet_budget_spent_epsilon", "visits", "", "total"): 1.25,
    }
