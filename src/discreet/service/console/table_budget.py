"""What a job would take of a table's budget, on the pages whose jobs are charged to a table.

data-testid: behind a page's own word -budget.
"""

from __future__ import annotations

from nicegui import ui

from discreet.core.loss import Loss
from discreet.curator.people.person import Person
from discreet.service.console import theme
from discreet.service.operations.operations import Operations
from discreet.service.views import BudgetView


def budget_of(who: Person, desk: Operations, table: str) -> BudgetView:
    """The budget of a table itself."""
    return next(view for view in desk.budgets.accounts(who) if view.account == table)


class TableBudget:
    """A table's budget as a gauge, with the part of it that a job would take."""

    def __init__(self, view: BudgetView, testid: str) -> None:
        self._view = view
        self._asked: Loss | None = None
        with ui.element("div").classes("dc-labelled").props(f"data-testid={testid}-budget"):
            ui.label("Budget of the table").classes("dc-soft dc-small")
            self._gauge = ui.element("div").classes("dc-full")

    def show(self, asked: Loss | None, view: BudgetView | None = None) -> None:
        """Show what a job would be charged, if that is known; ``view`` is the budget as it is now."""
        self._view, self._asked = view or self._view, asked
        self._gauge.clear()
        with self._gauge:
            theme.budget_gauge(self._view.left, self._view.budget, asked=asked)

    @property
    def why_not(self) -> str:
        """Why the job cannot be paid for; empty if it can."""
        view, asked = self._view, self._asked
        if asked is None or not theme.beyond(asked, view.left, view.budget):
            return ""
        return f"The table has {theme.amount(view.left)} left. Spend less, or raise its limit (Budget)."
