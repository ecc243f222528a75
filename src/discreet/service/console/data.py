"""/data: add a table from a file or a database, declare its card, or revise the card of a table.

data-testid: data-tables, edit-<table>, data-upload, data-uploads, data-address, data-connect, data-form, data-name,
data-fit, data-fits, data-preview, data-rows, data-epsilon, data-delta, data-add, data-changes, data-revise, data-done;
those of ``card_editor`` and ``hierarchy_editor``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import events, ui

from discreet.core.card import Card
from discreet.core.loss import Approximate, Loss, Pure
from discreet.core.markup import Markup
from discreet.core.text import number
from discreet.curator.people.person import Person, Role
from discreet.errors import BadInput, DiscreetError
from discreet.service.api.caller import CSRF
from discreet.service.api.guard import UPLOADS
from discreet.service.console import theme
from discreet.service.console.card_editor import CardEditor
from discreet.service.console.dialogs import confirm
from discreet.service.console.frame import Page, Seat
from discreet.service.operations.data import MOST_BYTES, Level
from discreet.service.operations.operations import Operations

_TERMS = ("Card", "Identifier", "Quasi-identifier", "Sensitive column")
_PICK = Markup("""
<div class="q-pa-sm">
  <q-btn flat no-caps label="Choose a file or drop it here" @click="props.pickFiles"></q-btn>
  <div style="display: none"><q-uploader-add-trigger></q-uploader-add-trigger></div>
</div>
""")
"""Header of the upload: a button with a name, and the input that it opens beside it, not within."""
_FILES = Markup("""
<div role="status">
  <div v-for="file in props.files" :key="file.__key">
    {{ file.name }}, {{ file.__sizeLabel }}: {{ file.__progressLabel }}
  </div>
</div>
""")
_READS = "CSV, TSV, Excel, Parquet, Arrow, JSON lines, SPSS, Stata or SAS"


async def _build(seat: Seat) -> None:
    with theme.page(
        "Data", "Add a table: upload a file or connect a database, then declare what each column is.", _TERMS
    ):
        await _Data(seat).begin()


PAGE = Page("/data", "Data", "dataset", (Role.STEWARD,), 5, _build)


class _Data:
    """The tables that there are, the ways to bring another, and the form for one."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._tables = ui.element("div").classes("dc-stack")
        with theme.columns():
            with theme.card("Upload a file", note=f"at most {MOST_BYTES >> 20:,} MB"):
                self._draw_upload()
            with theme.card("Connect PostgreSQL"):
                self._draw_address()
        self._place = ui.element("div").classes("dc-stack").props("data-testid=data-form")

    async def begin(self) -> None:
        """Show the tables; with ``table`` in the address, the card of that one."""
        await self._show_tables()
        if wanted := self._seat.given.get("table"):
            await self._edit(wanted)

    async def _show_tables(self) -> None:
        found = await self._seat.run(_tables_of, self._seat.desk)
        self._tables.clear()
        with self._tables, theme.card("Tables", note="of this workspace", testid="data-tables"):
            for name, version, about, editable in found or ():
                with ui.element("div").classes("dc-rule"), theme.row():
                    ui.label(name).classes("dc-strong")
                    theme.badge(f"version {version}")
                    ui.label(about).classes("dc-soft dc-grow")
                    if editable:
                        edit = theme.button(
                            "Edit card", f"edit-{name}", lambda name=name: self._edit(name), look="flat dense"
                        )
                        theme.marked(edit, label=f"Edit the card of {name}")

    def _draw_upload(self) -> None:
        theme.prose(f"{_READS}. Only stewards can see it, and nothing in it is executed.", soft=True)
        box = ui.element("q-uploader").props("auto-upload send-raw flat bordered data-testid=data-upload")
        box.props(f"max-file-size={MOST_BYTES}").classes("dc-full")
        box.add_slot("header", _PICK)
        box.add_slot("list", _FILES)
        box.props[":url"] = f"files => '{UPLOADS}?name=' + encodeURIComponent(files[0].name)"
        box.props[":headers"] = json.dumps([{"name": CSRF, "value": self._seat.csrf}])
        box.on("uploaded", self._uploaded, js_handler="(info) => emit(info.xhr.responseText)")
        box.on("failed", self._failed, js_handler="(info) => emit(info.xhr ? info.xhr.responseText : '')")

    async def _uploaded(self, event: events.GenericEventArguments) -> None:
        await self.look(json.loads(_first(event))["upload"])

    def _failed(self, event: events.GenericEventArguments) -> None:
        try:
            said = json.loads(_first(event))
        except ValueError:
            said = {"message": "The file did not arrive.", "hint": "Try again."}
        self._seat.tell(BadInput(str(said.get("message", "")), hint=str(said.get("hint", ""))))

    def _draw_address(self) -> None:
        theme.prose("The service uses its own password (PGPASSWORD or .pgpass); do not type one here.", soft=True)
        address = theme.text("postgresql://host/database#schema.table", "data-address", width="dc-full")

        async def connect() -> None:
            await self.look(theme.said_in(address))

        theme.button("Connect", "data-connect", connect, icon="cable", look="outline").classes("dc-own")

    async def look(self, source: str) -> None:
        """Draft the card of a source, and show the form for it."""
        self._place.clear()
        with self._place, theme.card("Reading the rows …"):
            ui.linear_progress(show_value=False).props('indeterminate aria-label="Reading the rows"')
        try:
            drafted = await self._seat.work(self._seat.desk.data.draft, source)
        except DiscreetError as error:
            self._place.clear()
            with self._place:
                theme.refusal(error)
            return
        self._place.clear()
        with self._place:
            _Form(self._seat, source, drafted.card, drafted.reasons, again=self._show_tables)

    async def _edit(self, table: str) -> None:
        card = await self._seat.run(self._seat.desk.full_card, table)
        if card is not None:
            self._place.clear()
            with self._place:
                _Form(self._seat, f"table:{table}", card, {}, again=self._show_tables, table=table)
            self._place.run_method("scrollIntoView")


class _Form:
    """The card of a source, whether its rows fit, and the button that makes a table of it or revises one."""

    def __init__(
        self,
        seat: Seat,
        source: str,
        card: Card,
        reasons: Mapping[str, Sequence[str]],
        *,
        again: theme.Show,
        table: str | None = None,
    ) -> None:
        self._seat, self._source, self._table, self._again = seat, source, table, again
        if reasons:
            theme.prose("This card is a guess. Check every line: all guarantees depend on it.").classes("dc-strong")
        self._editor = CardEditor(card, reasons, self._levels, self._changed)
        with theme.card("Check the rows against the card"):
            with theme.row():
                theme.button("Check rows", "data-fit", self._fit, icon="rule", look="outline")
                theme.button("Preview rows", "data-preview", self._preview, icon="visibility", look="flat")
                ui.label("Previews are recorded in the audit log.").classes("dc-soft dc-small")
            self._fits = ui.element("div").props("data-testid=data-fits aria-live=polite")
            self._rows = ui.element("div").props("data-testid=data-rows")
        with theme.card("Add the table" if table is None else f"Revise the card of {table}"):
            self._draw_end(card)

    def _draw_end(self, card: Card) -> None:
        if self._table is not None:
            theme.prose("Budgets, analysts and releases are kept. Earlier answers do not change.", soft=True)
            self._changes = ui.element("div").props("data-testid=data-changes")
            theme.button(
                "Register the new version", "data-revise", self._revise, icon="save", look="unelevated"
            ).classes("dc-own")
            return
        with theme.row():
            self._name = theme.text("Table name", "data-name", width="dc-short", value=card.name)
            self._epsilon = theme.text("Table budget ε", "data-epsilon", width="dc-short", value="3")
            self._delta = theme.text("δ", "data-delta", width="dc-short", value="1e-6")
        theme.prose("The table budget bounds what all questions together may ever tell about one person.", soft=True)
        theme.button("Add table", "data-add", self._add, icon="add", look="unelevated").classes("dc-own")

    def _changed(self) -> None:
        self._fits.clear()

    def _levels(self, card: Card, column: str) -> Any:
        async def found() -> list[Level]:
            return await self._seat.work(self._seat.desk.data.levels, self._source, card, column)

        return found()

    async def _fit(self) -> bool:
        card = self._editor.check()
        if card is None:
            return False
        try:
            misfits = await self._seat.work(self._seat.desk.data.misfits, self._source, card)
        except DiscreetError as error:
            misfits = {"": (str(error),)}
        self._editor.show_misfits(misfits)
        self._fits.clear()
        with self._fits:
            for line in misfits.get("", ()):
                ui.label(line).classes("dc-prose dc-bad dc-lines")
            if not misfits:
                theme.badge("All rows fit the card", "good")
            elif "" not in misfits:
                ui.label(f"{number(len(misfits), 'column has', 'columns have')} values that do not fit.").classes(
                    "dc-prose"
                )
        return not misfits

    async def _preview(self) -> None:
        card = self._editor.check()
        found = None if card is None else await self._seat.run(self._seat.desk.data.preview, self._source, card)
        if found is None:
            return
        self._rows.clear()
        with self._rows:
            theme.holder_only("These are the original rows.")
            cells = [[theme.number(row[name]) for name in found.column_names] for row in found.to_pylist()]
            theme.grid(found.column_names, cells)

    async def _add(self) -> None:
        card = self._editor.check()
        if card is None or not await self._fit_or_confirmed():
            return
        name = theme.said_in(self._name)
        try:
            delta = theme.said_in(self._delta) or "0"
            epsilon = theme.said_in(self._epsilon)
            budget: Loss = Pure(epsilon) if delta in ("", "0") else Approximate(epsilon, delta)
            await self._seat.work(self._seat.desk.data.add, name, self._source, card, budget)
        except DiscreetError as error:
            self._seat.tell(error)
            return
        await self._again()
        self._done(name)

    async def _fit_or_confirmed(self) -> bool:
        """Whether rows fit; where they do not, whether someone wants to go on all the same."""
        if await self._fit():
            return True
        told = "In answers, values outside their bounds are clamped to them, and other misfits count as missing."
        return await confirm("Some values do not fit the card. Add the table anyway?", told)

    async def _revise(self) -> None:
        card = self._editor.check()
        if card is None or self._table is None:
            return
        changes = await self._seat.run(self._seat.desk.data.changes, self._table, card)
        if changes is None:
            return
        self._changes.clear()
        with self._changes:
            if changes:
                theme.grid(["What changes"], [[line] for line in changes])
            else:
                theme.prose("The card is unchanged: there is nothing to register.")
        if not changes or not await confirm(f"Register {self._table} with these changes?", "\n".join(changes)):
            return
        try:
            await self._seat.work(self._seat.desk.data.revise, self._table, card)
        except DiscreetError as error:
            self._seat.tell(error)
            return
        await self._again()
        self._seat.say(f"{self._table} has a new version.")

    def _done(self, name: str) -> None:
        with theme.card(f"{name} is added", testid="data-done"):
            undecided = self._editor.undecided()
            if undecided:
                theme.prose(f"Before you publish rows or tables, decide the role of {', '.join(undecided)}.")
            with theme.row():
                for label, place in (
                    ("Add an analyst", "/people"),
                    ("Publish", f"/publish?table={name}"),
                    ("Ask", "/ask"),
                ):
                    ui.button(label, on_click=lambda place=place: ui.navigate.to(place)).props("outline")


def _first(event: events.GenericEventArguments) -> str:
    return str(event.args[0] if isinstance(event.args, list) else event.args)


def _tables_of(who: Person, desk: Operations) -> list[tuple[str, int, str, bool]]:
    """Name, version, a few words, and whether its card can be edited."""
    rows = []
    for view in desk.tables(who):
        record = desk.workspace.tables[view.name]
        people = "public" if view.public else f"unit {view.card.unit}" if view.card.unit else "one row per person"
        card = view.card if view.public else desk.full_card(who, view.name)
        rows.append((view.name, record.version, f"{number(len(card.columns), 'column')}, {people}", not view.public))
    return rows
