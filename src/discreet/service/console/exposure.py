"""/exposure: joint exposure by all releases, and whether a draft could be released.

data-testid: exposure-recipient, exposure-<population>, exposure-line, exposure-spent; whatif-table, whatif-by,
whatif-where, whatif-rules, whatif-models, whatif-method, whatif-run, whatif-verdict.
"""

from __future__ import annotations

from nicegui import ui

from discreet.curator.people.person import Role
from discreet.errors import DiscreetError
from discreet.releases.overview import NOT_CHECKED, OVERRIDDEN, Overview, Population, WhatIf
from discreet.releases.overview_report import (
    advice,
    departure_rows,
    group_rows,
    overlap_graph,
    state_name,
    summary,
    time_line,
)
from discreet.service.console import theme
from discreet.service.console.frame import Page, Seat
from discreet.service.jobs.specs import Publish, Tabulate
from discreet.service.operations.permissions import READERS

_TERMS = ("Joint exposure", "Quasi-identifier", "Statement")
_ABOUT = "Joint exposure: what all releases about the same people tell together."
_EVERYBODY = ""
_SHOWN = 100
"""Releases and answers that are listed, the last ones."""


async def _build(seat: Seat) -> None:
    analysts = sorted({one.analyst for one in await seat.call(seat.desk.budgets.accounts) if one.analyst})
    with theme.page("Exposure", _ABOUT, _TERMS):
        if seat.who.role is Role.STEWARD:
            _WhatIfForm(seat)
        everybody = {_EVERYBODY: "all releases", **{name: f"releases that {name} has" for name in analysts}}
        recipient = theme.select(everybody, "Show", "exposure-recipient")
        place = ui.element("div").classes("dc-stack")

        async def show() -> None:
            try:
                found = await seat.work(seat.desk.exposure.overview, str(recipient.value) or None)
            except DiscreetError as error:
                seat.tell(error)
                return
            place.clear()
            with place:
                _draw(found, groups=seat.who.role is Role.STEWARD)

        recipient.on_value_change(show)
        await show()


PAGE = Page("/exposure", "Exposure", "visibility", READERS, 65, _build)


def _draw(found: Overview, *, groups: bool) -> None:
    if not found.populations:
        theme.empty("Nothing has been released yet.", "visibility")
    for population in found.populations:
        _population(population, groups=groups)
    with theme.card("Privacy loss", note="total by the ledger") as card:
        card.props("data-testid=exposure-spent")
        rows = [[one.table, one.analyst or "table budget", one.spent, one.limit] for one in found.spent]
        theme.grid(["Table", "Account", "Spent", "Limit"], rows)


def _population(population: Population, *, groups: bool) -> None:
    with theme.card(f"Releases about {population.name}", testid=f"exposure-{population.name}"):
        states = [one.state for one in population.departures]
        with theme.row():
            for state, tone in ((OVERRIDDEN, "bad"), (NOT_CHECKED, "warn")):
                if state in states:
                    theme.badge(f"{states.count(state)} {state}", tone)
        ui.html(time_line(population).figure, sanitize=False)
        theme.grid(["No.", "Time (UTC)", "Title", "Method", "Check"], departure_rows(population.departures[-_SHOWN:]))
        if said := advice(population):
            theme.prose(said)
        if population.total:
            theme.prose(f"The privacy losses of registered releases add up to {population.total}.")
    for standing in population.standings if groups else ():
        with theme.card(f"Joint exposure{state_name(standing)}", note="for the holder only"):
            theme.facts(list(summary(population, standing)))
            with ui.expansion("Smallest groups").classes("dc-more"):
                theme.grid(["People", "Identified by", "Known counts of"], group_rows(standing), numbers=[0])
            if (graph := overlap_graph(population, standing)) is not None:
                ui.html(graph.figure, sanitize=False)


class _WhatIfForm:
    """A draft of a table, or of rows, and whether it would be released."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        with theme.card("Check a draft", note="Nothing is released or registered."):
            with theme.row():
                self._table = theme.select(seat.desk.workspace.private, "Table", "whatif-table", width="dc-short")
                self._by = theme.text("Dimensions", "whatif-by", props='placeholder="sex × ward"')
                self._where = theme.text("Filter (optional)", "whatif-where", props='placeholder="age < 79"')
                self._rules = theme.text("Sensitivity rule", "whatif-rules", width="dc-short", value="min=3")
                self._models = theme.text(
                    "Or privacy model (rows)", "whatif-models", width="dc-short", props='placeholder="k=5"'
                )
                self._method = theme.text("Method (optional)", "whatif-method", width="dc-short")
                theme.button("Check", "whatif-run", self._check, icon="fact_check", look="unelevated")
            self._verdict = ui.element("div").props("data-testid=whatif-verdict aria-live=polite").classes("dc-stack")

    def _draft(self) -> Tabulate | Publish:
        table, method = str(self._table.value), theme.said_in(self._method)
        if by := theme.said_in(self._by):
            return Tabulate(table, (by,), None, (theme.said_in(self._rules) or "min=3",), method or Tabulate.method)
        models = tuple(filter(None, (one.strip() for one in theme.said_in(self._models).split(";"))))
        return Publish(table, models, method or Publish.method)

    async def _check(self) -> None:
        try:
            draft = self._draft()
            found = await self._seat.work(self._seat.desk.exposure.what_if, draft, theme.said_in(self._where))
        except DiscreetError as error:
            self._verdict.clear()
            with self._verdict:
                theme.refusal(error)
            return
        self._show(found)

    def _show(self, found: WhatIf) -> None:
        self._verdict.clear()
        with self._verdict:
            with theme.row():
                theme.badge("would pass" if found.passes else "would be refused", "good" if found.passes else "bad")
            theme.prose(f"{found.message} {found.hint}".strip())
            for one in found.unchecked:
                theme.prose(f"Not checked with {one.number}. {one.title} ({one.state}).", soft=True)
            if found.attack:
                theme.prose(found.attack)
