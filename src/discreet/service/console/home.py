"""/ : what to do next, the tables one may use with their budgets, recent releases, and jobs.

data-testid: next, next-<number>, table-<name>, ask-<name>, recent, running; those of ``tour``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nicegui import ui

from discreet.core.card import Card
from discreet.core.text import number
from discreet.curator.people.person import Person, Role
from discreet.curator.release_index import Shelved
from discreet.service.console import theme
from discreet.service.console.frame import EVERYBODY, Page, Seat
from discreet.service.console.jobs import job_address, job_line, job_title
from discreet.service.console.releases import latest, released
from discreet.service.console.suggest import columns
from discreet.service.console.tour import offer_tour
from discreet.service.jobs.queue import DONE, FAILED, LOST, Job
from discreet.service.operations.operations import Operations
from discreet.service.operations.permissions import READERS
from discreet.service.views import BudgetView, TableView

_TERMS = ("Card", "Privacy budget", "Epsilon (ε)")
_RECENT = 6
_NEWS = dt.timedelta(days=1)
"""Age up to which the end of a job is news."""
_LOW = 0.1
"""Share of a budget below which it is nearly spent."""
_MOST_STEPS = 4


@dataclass(frozen=True)
class Step:
    """Something to do next: why, and the page to do it on."""

    icon: str
    title: str
    text: str
    action: str = ""
    address: str = ""
    tone: str = ""


@dataclass(frozen=True)
class State:
    """What a person's next steps depend on."""

    who: Person
    tables: Sequence[TableView]
    budgets: Sequence[BudgetView]
    recent: Sequence[tuple[Shelved, str]]
    jobs: Sequence[Job]


async def _build(seat: Seat) -> None:
    state = await seat.call(_state, seat.desk)
    who = seat.who
    with theme.page(f"Hello, {who.name}", _about(who), _TERMS):
        offer_tour(seat)
        with theme.card("What to do next", testid="next"):
            _draw_steps(next_steps(state, dt.datetime.now(dt.UTC)))
        if state.tables:
            with theme.columns():
                for view in state.tables:
                    _table(who, view, state.budgets)
        with theme.columns():
            with theme.card("Recent releases", testid="recent"):
                released(state.recent, none="Nothing has been released yet.")
            if who.role in READERS:
                with theme.card("Jobs", testid="running"):
                    _jobs(who, state.jobs)


PAGE = Page("/", "Home", "home", EVERYBODY, 0, _build)


def _state(who: Person, desk: Operations) -> State:
    jobs = desk.jobs(who, most=5) if who.role in READERS else []
    return State(who, desk.tables(who), desk.budgets.accounts(who), latest(who, desk, most=_RECENT), jobs)


def _about(who: Person) -> str:
    return {
        Role.ANALYST: "Ask the tables below. Every answer has a price in privacy budget, shown before you pay it.",
        Role.STEWARD: "You decide what leaves these tables, and how much may be asked of them.",
        Role.AUDITOR: "Check what was asked of these tables, what was spent, and what left.",
    }[who.role]


def next_steps(state: State, now: dt.datetime) -> list[Step]:
    """What a person should do next, most urgent first."""
    steps = {Role.STEWARD: _steward_steps, Role.ANALYST: _analyst_steps, Role.AUDITOR: _auditor_steps}
    return [*_job_news(state, now), *steps[state.who.role](state)][:_MOST_STEPS]


def _job_news(state: State, now: dt.datetime) -> Iterator[Step]:
    """The latest job that failed, and the latest that ended well; stewards may open them."""
    if state.who.role is not Role.STEWARD:
        return
    news = [job for job in state.jobs if now - job.at < _NEWS]
    failed = next((job for job in news if job.state in (FAILED, LOST)), None)
    done = next((job for job in news if job.state == DONE), None)
    if failed is not None:
        title = f"Failed: {job_title(failed)}"
        yield Step("error_outline", title, failed.error, "See what failed", job_address(failed), "bad")
    if done is not None and done.result:
        title = f"Done: {job_title(done)}"
        text = f"{done.said} Read what it promises, then attack it or share it."
        yield Step("task_alt", title, text, "Open the release", f"/release/{done.result}", "good")
    elif done is not None:
        yield Step("task_alt", f"Done: {job_title(done)}", done.said, "See the result", job_address(done), "good")


def _steward_steps(state: State) -> Iterator[Step]:
    private = [view.name for view in state.tables if not view.public]
    if not state.tables:
        yield Step(
            "dataset",
            "Add your first table",
            "Upload a file or point to one. You then say which columns identify people and which are sensitive.",
            "Add data",
            "/data",
        )
        return
    asked = {view.table for view in state.budgets if view.analyst}
    unasked = [name for name in private if name not in asked]
    if unasked:
        text = "No one may ask it yet. Add an analyst, or give one a privacy budget on it."
        yield Step("group_add", f"Let an analyst ask {_listed(unasked)}", text, "Manage people", "/people")
    yield from _low_budgets(state)
    if private and not state.recent:
        text = "Release rows that satisfy a privacy model, such as 5-anonymity. It is checked before it leaves."
        yield Step("ios_share", f"Publish {private[0]}", text, "Publish", f"/publish?table={private[0]}")
    if private and state.recent:
        text = "Releases that are safe alone may expose someone together."
        yield Step("visibility", "Check the joint exposure of your releases", text, "Open Exposure", "/exposure")
    if private:
        text = "Counts or sums, with sensitive cells protected."
        yield Step("table_chart", "Publish a table of figures", text, "Tabulate", f"/tabulate?table={private[0]}")


def _analyst_steps(state: State) -> Iterator[Step]:
    askable = [view for view in state.tables if view.left is not None]
    if not askable:
        text = "You need a privacy budget on a table. Tell a steward which table you want to ask, and why."
        yield Step("account_balance_wallet", "Get a privacy budget", text)
    else:
        own = {view.table: theme.share(view.left, view.budget) for view in state.budgets if view.analyst}
        table = max(askable, key=lambda view: own.get(view.name, 1.0)).name
        title = f"Ask about {table}" if state.recent else f"Ask your first question about {table}"
        text = "The price and the expected error are shown before anything is spent. Asking the same again is free."
        yield Step("forum", title, text, "Ask", f"/ask?table={table}")
    yield from _low_budgets(state)
    if any(one.shared for one, _ in state.recent):
        text = "Rows or tables that a steward shared with you cost nothing."
        yield Step("inventory_2", "Use a shared release", text, "See releases", "/releases")


def _auditor_steps(state: State) -> Iterator[Step]:
    text = "Recomputes every digest and sum of the ledger and the audit log."
    yield Step("verified", "Verify the ledger", text, "Verify", "/audit")
    text = "What all releases of a table tell about people together."
    yield Step("visibility", "Review the joint exposure", text, "Open Exposure", "/exposure")
    if state.recent:
        text = "Each with its statement: what is promised, to whom, and how it was checked."
        yield Step("inventory_2", "Read the latest releases", text, "See releases", "/releases")


def _low_budgets(state: State) -> Iterator[Step]:
    """One step about the budgets that are nearly spent; an analyst's are their own."""
    steward = state.who.role is Role.STEWARD
    low = [view for view in state.budgets if theme.share(view.left, view.budget) < _LOW and (steward or view.analyst)]
    if not low:
        return
    first = low[0]
    whose = "The table budget" if first.analyst is None else f"{first.analyst}'s budget" if steward else "Your budget"
    more = f" So are {number(len(low) - 1, 'other budget')}." if len(low) > 2 else ""
    title = f"{whose} on {first.table} is nearly spent"
    text = f"{theme.short(first.left)} of {theme.short(first.budget.ceiling.core).split()[-1]} is left.{more}"
    yield Step("battery_alert", title, text, "Open Budget", "/budget", "warn")


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {number(len(names) - 1, 'other table')}"


def _draw_steps(steps: Sequence[Step]) -> None:
    with ui.element("ol").classes("dc-next"):
        for place, step in enumerate(steps):
            with theme.marked(ui.element("li"), f"next-{place}"):
                theme.round_icon(step.icon, step.tone)
                with ui.element("div"):
                    ui.label(step.title).classes("dc-strong")
                    ui.label(step.text).classes("dc-soft dc-small")
                if step.action:
                    theme.link_button(step.action, step.address, plain=bool(place))


def _table(who: Person, view: TableView, budgets: Sequence[BudgetView]) -> None:
    with theme.card(view.name, note=_person(view), testid=f"table-{view.name}"):
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
                theme.link_button(
                    f"Ask about {view.name}", f"/ask?table={view.name}", f"ask-{view.name}", plain=True, icon="forum"
                )


def _person(view: TableView) -> str:
    if view.public:
        return "public: asking is free"
    if view.card.unit is None:
        return "one row per person"
    most = view.card.rows_per_unit
    rows = "one row" if most is None or most == 1 else f"at most {number(most, 'row')}"
    return f"{rows} per {view.card.unit}"


def _columns(card: Card) -> None:
    shown = columns(card)
    with ui.expansion(number(len(shown), "column")).classes("dc-more"):
        theme.grid(["Column", "Type", "Declared values"], shown)


def _jobs(who: Person, jobs: Sequence[Job]) -> None:
    if not jobs:
        start = ("Publish a table", "/publish") if who.role is Role.STEWARD else None
        theme.empty("No jobs yet. Publishing, tabulating and attacking run as jobs.", "hourglass_empty", start)
    for job in jobs:
        job_line(job, who)
