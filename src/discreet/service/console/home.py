"""/ : the tables one may use, what is left to spend on them, what was released lately, and what is being made.

data-testid: table-<name>, ask-<name>, recent, running.
"""

from __future__ import annotations

from nicegui import ui

from discreet.core.card import Card
from discreet.core.text import number
from discreet.curator.people.person import Person, Role
from discreet.curator.release_index import Shelved
from discreet.service.console import theme
from discreet.service.console.frame import EVERYBODY, Page, Seat
from discreet.service.console.jobs import job_line
from discreet.service.console.releases import latest, released
from discreet.service.console.suggest import columns
from discreet.service.jobs.queue import Job
from discreet.service.operations.operations import Operations
from discreet.service.operations.permissions import READERS
from discreet.service.views import BudgetView, TableView

_RECENT = 6
_COLUMNS = 10


async def _build(seat: Seat) -> None:
    tables, budgets, recent, jobs = await seat.call(_found, seat.desk)
    with theme.page(f"Hello, {seat.who.name}", _about(seat.who)):
        if not tables:
            theme.empty("There is no table that you may use yet. A steward can give you a budget for one.")
        with theme.columns():
            for view in tables:
                _table(seat.who, view, budgets)
        with theme.columns():
            with theme.card("Recent releases", testid="recent"):
                released(recent, none="Nothing was released yet.")
            if seat.who.role in READERS:
                with theme.card("Jobs", testid="running"):
                    _jobs(seat.who, jobs)


PAGE = Page("/", "Home", "home", EVERYBODY, 0, _build)


def _found(
    who: Person, desk: Operations
) -> tuple[list[TableView], list[BudgetView], list[tuple[Shelved, str]], list[Job]]:
    jobs = desk.jobs(who, most=5) if who.role in READERS else []
    return desk.tables(who), desk.budgets.accounts(who), latest(who, desk, most=_RECENT), jobs


def _about(who: Person) -> str:
    return {
        Role.ANALYST: "These are the tables that you may ask, and what is left to spend on each.",
        Role.STEWARD: "The tables of this curator, and what is left to spend on each.",
        Role.AUDITOR: "The tables of this curator, what was spent on each, and what was released.",
    }[who.role]


def _table(who: Person, view: TableView, budgets: list[BudgetView]) -> None:
    with theme.card(view.name, note=_person(view)) as card:
        card.props(f"data-testid=table-{view.name}")
        if view.card.note:
            theme.prose(view.card.note, soft=True)
        for budget in sorted(budgets, key=lambda one: one.analyst is None):  # one's own first
            if budget.table == view.name and budget.analyst in (None, who.name):
                with ui.element("div").classes("dc-labelled"):
                    ui.label("Your budget" if budget.analyst else "Table budget").classes("dc-small")
                    theme.budget_gauge(budget.left, budget.budget)
        _columns(view.card)
        if view.left is not None:
            with theme.row():
                button = ui.button(f"Ask about {view.name}", on_click=lambda: ui.navigate.to(f"/ask?table={view.name}"))
                button.props(f"outline data-testid=ask-{view.name}")


def _person(view: TableView) -> str:
    if view.public:
        return "about nobody: asking costs nothing"
    if view.card.unit is None:
        return "a row is a person"
    most = view.card.rows_per_unit
    rows = "One row" if most is None or most == 1 else f"At most {number(most, 'row')}"
    return f"{rows} per {view.card.unit}"


def _columns(card: Card) -> None:
    heads, shown = ["Column", "Kind", "What may be assumed"], columns(card)
    theme.grid(heads, shown[:_COLUMNS])
    if len(shown) > _COLUMNS:
        with ui.expansion(f"{len(shown) - _COLUMNS} more").classes("dc-more"):
            theme.grid(heads, shown[_COLUMNS:])


def _jobs(who: Person, jobs: list[Job]) -> None:
    if not jobs:
        theme.empty("Nothing is being made. Publish, tabulate, hide and attack make jobs.")
    for job in jobs:
        job_line(job, who)
