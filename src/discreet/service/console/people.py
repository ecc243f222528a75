"""/people: accounts, roles and budgets; adding people, and disabling accounts.

data-testid: add-name, add-role, add-tables, add-epsilon, add-delta, add-note, add-go; person-<name>, reset-<name>,
disable-<name>, enable-<name>, budget-<name>, locked-<name>; those of ``budget_dialog`` and ``dialogs``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nicegui import ui

from discreet.core.text import number
from discreet.curator.people.person import Person, Role
from discreet.errors import DiscreetError
from discreet.service.console import explain, theme
from discreet.service.console.budget_dialog import Amount, ask_budget
from discreet.service.console.dialogs import confirm, show_once
from discreet.service.console.frame import Page, Seat
from discreet.service.console.releases import when
from discreet.service.operations.operations import Operations
from discreet.service.operations.permissions import READERS
from discreet.service.views import BudgetView

_TERMS = ("Steward, analyst, auditor", "Privacy budget", "Epsilon (ε)", "Delta (δ)")
ROLES = {
    Role.ANALYST: ("Analyst", "Asks questions within a privacy budget. Sees their own answers and shared releases."),
    Role.STEWARD: ("Steward", "Manages the data and may do everything here. Needs a budget to ask, too."),
    Role.AUDITOR: ("Auditor", "Reads the ledger, the audit log and statements. Asks nothing, and sees no rows."),
}
_TONES = {Role.ANALYST: "plain", Role.STEWARD: "good", Role.AUDITOR: "warn"}


@dataclass(frozen=True)
class _Found:
    """Everyone, and what each may spend."""

    persons: Sequence[Person]
    locked: Mapping[str, dt.datetime]
    """Until when someone has to wait who tried too often to sign in."""
    budgets: Sequence[BudgetView]

    @classmethod
    def at(cls, who: Person, desk: Operations) -> _Found:
        """As of now."""
        return cls(desk.access.persons(who), desk.access.locked_out(who), desk.budgets.accounts(who))

    @property
    def tables(self) -> dict[str, BudgetView]:
        """The tables' own budgets."""
        return {budget.table: budget for budget in self.budgets if budget.analyst is None}


async def _build(seat: Seat) -> None:
    about = "Accounts, their roles, and the privacy budget of each analyst."
    with theme.page("People", about, _TERMS):

        async def show() -> None:
            found = await seat.run(_Found.at, seat.desk)
            if found is None:
                return
            place.clear()
            with place:
                _everybody(seat, found, show)

        if seat.who.role is Role.STEWARD:
            _Adding(seat, (await seat.call(_Found.at, seat.desk)).tables, show)
        place = ui.element("div").classes("dc-stack")
        await show()


PAGE = Page("/people", "People", "group", READERS, 70, _build)


class _Adding:
    """The form that adds a person."""

    def __init__(self, seat: Seat, tables: Mapping[str, BudgetView], after: theme.Show) -> None:
        self._seat, self._after = seat, after
        with theme.card("Add a person"):
            with theme.row():
                typed = "autocomplete=off maxlength=40"
                self._name = theme.text("User name", "add-name", width="dc-short", props=typed)
                labels = {role: label for role, (label, _) in ROLES.items()}
                self._role = theme.select(labels, "Role", "add-role", width="dc-short", on_change=self._show)
                names = list(tables)
                self._tables = theme.select(
                    names, "Tables", "add-tables", value=names, multiple=True, on_change=self._note
                )
            self._about = ui.label().classes("dc-prose dc-soft")
            self._amount = Amount("add", lambda: [tables[name] for name in self._tables.value])
            go = ui.button("Add", icon="person_add", on_click=self._add)
            go.props("unelevated data-testid=add-go").classes("dc-own")
            self._promise = theme.promise(f"{explain.BUDGET}\n\n{explain.EPSILON}\n\n{explain.DELTA}")
            self._show()

    def _show(self) -> None:
        role = self._role.value
        self._about.set_text(ROLES[role][1])
        asks = role is not Role.AUDITOR
        self._tables.set_visibility(asks)
        self._amount.show(asks)
        self._promise.set_visibility(asks)

    def _note(self) -> None:
        self._amount.note()

    async def _add(self) -> None:
        name, role = theme.said_in(self._name), self._role.value
        tables = [] if role is Role.AUDITOR else list(self._tables.value)
        try:
            budget = self._amount.budget() if tables else None
        except DiscreetError as error:
            self._seat.tell(error)
            return
        password = await self._seat.run(
            self._seat.desk.access.add_person, name, role, budget=budget, tables=tables or None
        )
        if password is not None:
            self._name.set_value("")
            await self._after()
            show_once(f"One-time password of {name}", password, _HANDED)


_HANDED = (
    "Hand it over in person. It works once, within seven days: at the first sign-in they choose their own password."
)


def _everybody(seat: Seat, found: _Found, again: theme.Show) -> None:
    with theme.card("Accounts", note=number(len(found.persons), "person", "people")):
        for person in found.persons:
            own = [budget for budget in found.budgets if budget.analyst == person.name]
            with ui.element("div").classes("dc-rule").props(f"data-testid=person-{person.name}"):
                with theme.row():
                    ui.label(person.name).classes("dc-strong")
                    theme.badge(person.role.value, _TONES[person.role])
                    if person.disabled:
                        theme.badge("disabled", "bad")
                    elif person.must_change:
                        theme.badge("has not signed in yet", "warn")
                    if person.name in found.locked:
                        until = f"locked out until {when(found.locked[person.name])} UTC"
                        theme.badge(until, "warn").props(f"data-testid=locked-{person.name}")
                    ui.label(f"since {when(person.since)[:10]}").classes("dc-soft dc-small")
                    ui.space()
                    if seat.who.role is Role.STEWARD:
                        _buttons(seat, person, own, found.tables, again)
                if person.name in found.locked:
                    theme.prose(_LOCKED, soft=True).classes("dc-small")
                if own:
                    with ui.element("div").classes("dc-parts"):
                        for budget in own:
                            with ui.element("div"):
                                ui.label(budget.table).classes("dc-small dc-strong")
                                theme.budget_gauge(budget.left, budget.budget)


_LOCKED = "Too many wrong passwords for this name. A new one-time password ends the wait."


def _buttons(
    seat: Seat, person: Person, own: Sequence[BudgetView], tables: Mapping[str, BudgetView], again: theme.Show
) -> None:
    """What a steward can do about someone."""
    name = person.name

    async def reset() -> None:
        if not await confirm(
            f"Give {name} a new one-time password?", "Their present password and sessions end at once."
        ):
            return
        password = await seat.run(seat.desk.access.reset_password, name)
        if password is not None:
            page = ui.context.client  # what this button stands in is drawn anew, and a dialog of it would go with it
            await again()
            with page:
                show_once(f"One-time password of {name}", password, _HANDED)

    async def disable() -> None:
        told = "Their sessions and tokens end at once. What they spent stays spent, and you can enable them again."
        if await confirm(f"Disable the account of {name}?", told) and await seat.did(
            seat.desk.access.disable, name, True
        ):
            await again()

    async def set_disabled(disabled: bool) -> None:
        if await seat.did(seat.desk.access.disable, name, disabled):
            await again()

    if person.role is not Role.AUDITOR and tables:
        _small("Budget", f"budget-{name}", f"Budget of {name}", lambda: ask_budget(seat, name, own, tables, again))
    _small("New password", f"reset-{name}", f"New password for {name}", reset)
    if person.disabled:
        _small("Enable account", f"enable-{name}", f"Enable the account of {name}", lambda: set_disabled(False))
    else:
        _small("Disable account", f"disable-{name}", f"Disable the account of {name}", disable)


def _small(text: str, marker: str, label: str, click: Callable[[], object]) -> None:
    ui.button(text, on_click=click).props(f'flat dense data-testid={marker} aria-label="{label}"')
