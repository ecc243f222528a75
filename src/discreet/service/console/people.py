"""/people: who may sign in, what each may ask, and with how much; adding people, and keeping them out.

data-testid: add-name, add-role, add-tables, add-epsilon, add-delta, add-go; once, once-text, once-copy, once-close;
person-<name>, reset-<name>, disable-<name>, enable-<name>, budget-<name>; budget-table, budget-epsilon, budget-delta,
budget-why, budget-go; sure-go, sure-no.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from discreet.core.loss import Approximate, Loss, Pure
from discreet.core.words import number
from discreet.curator.people.person import Person, Role
from discreet.errors import BadInput, DiscreetError
from discreet.service.console import explain, look
from discreet.service.console.frame import Page, Seat
from discreet.service.console.listed import when
from discreet.service.console.once import told_once
from discreet.service.desk import READERS, Desk
from discreet.service.shown import BudgetView

ROLES = {
    Role.ANALYST: ("Analyst", "Asks questions, within a budget. Sees their own answers and what you share."),
    Role.STEWARD: ("Steward", "Looks after the data: may do everything here, and needs a budget to ask."),
    Role.AUDITOR: ("Auditor", "Reads the books: ledger, log, promises. Asks nothing, and sees no rows."),
}
_TONES = {Role.ANALYST: "plain", Role.STEWARD: "good", Role.AUDITOR: "warn"}


async def _build(seat: Seat) -> None:
    about = "Who may sign in, and what each of them may ask."
    with look.page("People", about):

        async def show() -> None:
            found = await seat.run(_found, seat.desk)
            if found is None:
                return
            place.clear()
            with place:
                persons, budgets, tables = found
                _everybody(seat, persons, budgets, tables, show)

        if seat.who.role is Role.STEWARD:
            tables = (await seat.call(_found, seat.desk))[2]
            _Adding(seat, tables, show)
        place = ui.element("div").classes("dc-stack")
        await show()


PAGE = Page("/people", "People", "group", READERS, 70, _build)


def _found(who: Person, desk: Desk) -> tuple[list[Person], list[BudgetView], list[str]]:
    tables = [view.name for view in desk.tables(who) if not view.public]
    return desk.persons(who), desk.budgets(who), tables


class Amount:
    """What somebody may spend, as two boxes."""

    def __init__(self, prefix: str, *, delta: str) -> None:
        self._epsilon = ui.input("Epsilon", value="1")
        self._epsilon.props(f"outlined dense inputmode=decimal data-testid={prefix}-epsilon").classes("dc-short")
        self._delta = ui.input("Delta, 0 for none", value=delta)
        self._delta.props(f"outlined dense inputmode=decimal data-testid={prefix}-delta").classes("dc-short")

    def loss(self) -> Loss:
        """An error if it is no amount."""
        epsilon, delta = ((box.value or "").strip() for box in (self._epsilon, self._delta))
        if not epsilon:
            raise BadInput("How much may be spent?", hint="Give an epsilon, such as 1.")
        return Approximate(epsilon, delta) if delta.strip("0.") else Pure(epsilon)

    def show(self, shown: bool) -> None:
        """Show the boxes, or hide them."""
        self._epsilon.set_visibility(shown)
        self._delta.set_visibility(shown)


class _Adding:
    """The form to let somebody in."""

    def __init__(self, seat: Seat, tables: Sequence[str], after: Callable[[], Awaitable[None]]) -> None:
        self._seat, self._after = seat, after
        with look.card("Add somebody"):
            with look.row():
                self._name = ui.input("Name, as in ann.lee").classes("dc-short")
                self._name.props("outlined dense autocomplete=off maxlength=40 data-testid=add-name")
                labels = {role: label for role, (label, _) in ROLES.items()}
                self._role = ui.select(labels, value=Role.ANALYST, label="Role", on_change=self._show)
                self._role.props("outlined dense options-dense data-testid=add-role").classes("dc-short")
                self._tables = ui.select(list(tables), value=list(tables), label="May ask", multiple=True)
                self._tables.props("outlined dense options-dense use-chips data-testid=add-tables").classes("dc-mid")
            self._about = ui.label().classes("dc-prose dc-soft")
            with look.row():
                self._amount = Amount("add", delta="0")
                go = ui.button("Add", icon="person_add", on_click=self._add)
                go.props("unelevated data-testid=add-go")
            self._promise = look.promise(f"{explain.BUDGET}\n\n{explain.EPSILON}\n\n{explain.DELTA}")
            self._show()

    def _show(self) -> None:
        role = self._role.value
        self._about.set_text(ROLES[role][1])
        asks = role is not Role.AUDITOR
        self._tables.set_visibility(asks)
        self._amount.show(asks)
        self._promise.set_visibility(asks)

    async def _add(self) -> None:
        name, role = (self._name.value or "").strip(), self._role.value
        tables = [] if role is Role.AUDITOR else list(self._tables.value)
        try:
            budget = self._amount.loss() if tables else None
        except DiscreetError as error:
            self._seat.tell(error)
            return
        password = await self._seat.run(self._seat.desk.add_person, name, role, budget=budget, tables=tables or None)
        if password is not None:
            self._name.set_value("")
            await self._after()
            told_once(f"The one-time password of {name}", password, _HANDED)


_HANDED = "Give it to them in person. It works once: at their first sign-in they choose a password of their own."


def _everybody(
    seat: Seat,
    persons: Sequence[Person],
    budgets: Sequence[BudgetView],
    tables: Sequence[str],
    again: Callable[[], Awaitable[None]],
) -> None:
    with look.card("Everybody", note=number(len(persons), "person", "people")):
        for person in persons:
            own = [budget for budget in budgets if budget.analyst == person.name]
            with ui.element("div").classes("dc-rule").props(f"data-testid=person-{person.name}"):
                with look.row():
                    ui.label(person.name).classes("dc-strong")
                    look.badge(person.role.value, _TONES[person.role])
                    if person.disabled:
                        look.badge("kept out", "bad")
                    elif person.must_change:
                        look.badge("has not signed in yet", "warn")
                    ui.label(f"since {when(person.since)[:10]}").classes("dc-soft dc-small")
                    ui.space()
                    if seat.who.role is Role.STEWARD:
                        _buttons(seat, person, own, tables, again)
                if own:
                    with ui.element("div").classes("dc-parts"):
                        for budget in own:
                            with ui.element("div"):
                                ui.label(budget.table).classes("dc-small dc-strong")
                                look.budget_gauge(budget.left, budget.budget)


def _buttons(
    seat: Seat, person: Person, own: Sequence[BudgetView], tables: Sequence[str], again: Callable[[], Awaitable[None]]
) -> None:
    """What a steward can do about somebody."""
    name = person.name

    async def reset() -> None:
        if not await _sure(f"Give {name} a new one-time password?", "Their password and open sessions end at once."):
            return
        password = await seat.run(seat.desk.reset_password, name)
        if password is not None:
            await again()
            told_once(f"The one-time password of {name}", password, _HANDED)

    async def disable() -> None:
        told = "Their sessions and tokens end at once. What they spent stays spent, and you can let them in again."
        if await _sure(f"Keep {name} out?", told) and await seat.did(seat.desk.disable, name, True):
            await again()

    async def enable() -> None:
        if await seat.did(seat.desk.disable, name, False):
            await again()

    if person.role is not Role.AUDITOR:
        _small("Budget", f"budget-{name}", f"Budget of {name}", lambda: _budget(seat, name, own, tables, again))
    _small("New password", f"reset-{name}", f"New password for {name}", reset)
    if person.disabled:
        _small("Let in", f"enable-{name}", f"Let {name} in", enable)
    else:
        _small("Keep out", f"disable-{name}", f"Keep {name} out", disable)


def _small(text: str, marker: str, label: str, click: Callable[[], object]) -> None:
    ui.button(text, on_click=click).props(f'flat dense data-testid={marker} aria-label="{label}"')


async def _sure(question: str, told: str) -> bool:
    """Ask before doing what cannot be undone."""
    with ui.dialog() as dialog, ui.card():
        ui.label(question).classes("dc-strong")
        look.prose(told)
        with look.row():
            ui.button("Yes", on_click=lambda: dialog.submit(True)).props("unelevated data-testid=sure-go")
            ui.button("No", on_click=lambda: dialog.submit(False)).props("flat autofocus data-testid=sure-no")
    answer = await dialog
    dialog.delete()
    return bool(answer)


def _budget(
    seat: Seat, name: str, own: Sequence[BudgetView], tables: Sequence[str], again: Callable[[], Awaitable[None]]
) -> None:
    """Ask what somebody may spend on a table: a new account, or another limit of the one there is."""
    opened = {budget.table: budget for budget in own}

    async def give() -> None:
        try:
            loss = amount.loss()
        except DiscreetError as error:
            seat.tell(error)
            return
        table = str(table_box.value)
        if table in opened:
            went = await seat.did(seat.desk.set_limit, opened[table].account, loss, why=why.value or "")
        else:
            went = await seat.did(seat.desk.give_budget, name, loss, [table])
        if went:
            dialog.close()
            await again()

    with ui.dialog() as dialog, ui.card():
        ui.label(f"What may {name} spend?").classes("dc-strong")
        look.prose(
            "All together, not on top of what was spent. What was spent stays spent, and the table's own budget must "
            "have enough left too.",
            soft=True,
        )
        table_box = ui.select(list(tables), value=tables[0], label="On the table")
        table_box.props("outlined dense options-dense data-testid=budget-table").classes("dc-full")
        with look.row():
            amount = Amount("budget", delta="0")
        why = ui.input("Why, for the ledger").props("outlined dense maxlength=200 data-testid=budget-why")
        why.classes("dc-full")
        with look.row():
            ui.button("Give", on_click=give).props("unelevated data-testid=budget-go")
            ui.button("Cancel", on_click=dialog.close).props("flat")
    dialog.open()
