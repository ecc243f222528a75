"""The Budget page, and what was left over time."""

import datetime as dt
import re

import pytest
from tests.service.console.conftest import messages, press, seen, text, until

from discreet.budget.filter import Budget
from discreet.core.loss import Approximate, Concentrated, Pure
from discreet.service.console import explain, theme
from discreet.service.console.budget_chart import MOST, chart, history
from discreet.service.views import BudgetView, LedgerLine, Spend

AT = [dt.datetime(2026, 1, day, tzinfo=dt.UTC) for day in range(1, 9)]


def test_a_steward_raises_a_limit_for_a_reason(console):
    async def act(user):
        await user.open("/budget")
        with user:
            seen(user, "limit-account")[0].set_value("patients/ann")
            assert [seen(user, f"limit-{one}")[0].value for one in ("epsilon", "delta")] == ["1", "1e-6"]
            seen(user, "limit-epsilon")[0].set_value("1.5")
            seen(user, "limit-delta")[0].set_value("2e-6")
        press(user, "limit-set")
        await until(lambda: any("No reason given" in said for said in messages(user)))
        with user:
            seen(user, "limit-why")[0].set_value("a second study")
        press(user, "limit-set")
        await until(lambda: "<td>a second study</td>" in text(user))
        assert seen(user, "limit-account")[0].value == "patients/ann"
        press(user, "verify")
        await until(lambda: "all valid" in text(user))

    console.visit("steward", act)
    views = {view.account: view for view in console.clinic.desk.budgets.accounts(console.clinic.steward)}
    assert views["patients/ann"].budget == Budget(Approximate("1.5", "2e-6"))


def test_analysts_see_their_own_and_change_nothing(console):
    console.clinic.desk.ask(console.clinic.ann, ["SELECT COUNT(*) AS n FROM patients"], Spend(epsilon="0.1"))

    async def act(user):
        await user.open("/budget")
        assert "ann (you)" in text(user)
        assert "SELECT COUNT(*) AS n FROM patients" in text(user)
        assert not seen(user, "limit-set")
        assert not seen(user, "verify")
        (chart,) = re.findall(r'<div class="dc-plot-names">(.*?)</div>', text(user))
        assert "ann: ε" in chart and "table budget" not in chart  # others' charges are not for her to see

    console.visit("ann", act)


def view(left, limit, analyst="ann"):
    account = f"visits/{analyst}" if analyst else "visits"
    return BudgetView(account, "visits", analyst, Budget(limit), Pure(0), left)


def line(number, kind, loss, account="visits/ann"):
    return LedgerLine(number, AT[number], account, kind, loss, "")


def test_what_was_left_is_worked_out_backwards_over_charges_and_limits():
    lines = [
        line(4, "charged", Pure("0.5")),
        line(3, "limited", Pure(2)),
        line(2, "charged", Pure("0.25")),
        line(1, "opened", Pure(1)),
    ]
    points = history(view(Pure("1.25"), Pure(2)), lines)
    assert points[:-1] == [(AT[1], 1.0), (AT[2], 0.75), (AT[3], 1.75), (AT[4], 1.25)]
    assert points[-1][1] == 1.25


def test_nothing_is_left_after_a_limit_fell_below_what_was_spent():
    lines = [
        line(3, "limited", Pure("0.25")),
        line(2, "charged", Pure("0.5")),
        line(1, "opened", Pure(1)),
    ]
    lowered = BudgetView("visits/ann", "visits", "ann", Budget(Pure("0.25")), Pure("0.5"), Pure(0))
    assert [left for _, left in history(lowered, lines)] == [1.0, 0.5, 0.0, 0.0]


def test_the_tables_account_spends_what_its_analysts_spend():
    lines = [
        line(2, "charged", Pure(1), "visits/bob"),
        line(1, "opened", Pure(1)),
        line(0, "opened", Pure(3), "visits"),
    ]
    assert [left for _, left in history(view(Pure(2), Pure(3), None), lines)] == [3.0, 2.0, 2.0]


def test_the_chart_has_a_stepped_line_for_each_account_and_round_numbers():
    lines = [
        line(4, "charged", Pure("0.6")),
        line(1, "opened", Pure(1)),
        line(0, "opened", Pure(3), "visits"),
    ]
    drawn = chart([view(Pure("2.4"), Pure(3), None), view(Pure("0.4"), Pure(1))], lines)
    assert re.findall("</i>([^<]*)</span>", drawn) == ["table budget: ε 2.4 left", "ann: ε 0.4 left"]
    assert re.findall(r'style="top:[0-9.]+%">([0-9.]+)<', drawn) == ["0", "1", "2", "3"]
    whole, mine = re.findall('<path d="(M[^"]*)" stroke', drawn)
    assert re.fullmatch(r"M0.00 0.00H[0-9.]+V20.00H100.00", whole)
    assert re.fullmatch(r"M[0-9.]+ 66.67H[0-9.]+V86.67H(100.00|99.99)", mine)
    assert 'title="ann, 2026-01-05 00:00 UTC: ε 0.4 left"' in drawn


def test_the_chart_draws_a_few_accounts_and_names_that_are_no_markup():
    hostile = [view(Pure(1), Pure(1), f"<b>{place}") for place in range(MOST + 2)]
    drawn = chart(hostile, [line(1, "opened", Pure(1), one.account) for one in hostile])
    assert drawn.count(' stroke="var(') == MOST and "<b>" not in drawn


@pytest.mark.parametrize(
    ("loss", "budget", "share"),
    [
        (Pure(1), Budget(Pure(4)), 0.25),
        (Approximate(1, "1e-6"), Budget(Approximate(2, "1e-6")), 0.5),
        (Concentrated("0.5"), Budget(Concentrated(1)), 0.5),
        (Pure(1), Budget(Concentrated(1)), 0.5),
        (Pure(0), Budget(Pure(0)), 0.0),
    ],
)
def test_a_loss_is_a_share_of_its_budget(loss, budget, share):
    assert theme.share(loss, budget) == share


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "–"), (12345, "12,345"), (12345.6, "12,346"), (0.123456, "0.1235"), ("F", "F"), (True, "True")],
)
def test_figures_are_written_for_people(value, said):
    assert theme.number(value) == said


def test_an_epsilon_is_explained_in_figures():
    assert "24.5 % to 75.5 %" not in explain.epsilon("0.1")
    assert "47.5 % to 52.5 %" in explain.epsilon("0.1")
    assert explain.epsilon("nonsense") == explain.EPSILON
