"""Editor of a card: type, role, value formats and hierarchy of each column.

What is edited are the plain fields of a card file; a card is made of them by the reader of card files, which names
every problem with its column.

data-testid: card-unit, card-rows-per-unit, card-missing, card-trim, card-problems; for each column column-<name>,
role-<name>, kind-<name>, more-<name>, <field>-<name> for the fields behind it, hierarchy-<name>.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from nicegui import ui

from discreet.core import toml
from discreet.core.card import Card, Role
from discreet.core.cardfile import card_fields, parse_cards
from discreet.core.kind import CATEGORICAL, MOMENTS, NUMBERS, ORDERED, Kind
from discreet.core.text import number
from discreet.errors import CardError
from discreet.service.console import theme
from discreet.service.console.hierarchy_editor import edit_hierarchy, summary

ROLES = {
    Role.UNDECIDED.value: "Undecided",
    Role.IDENTIFIER.value: "Identifier: never released",
    Role.QUASI.value: "Quasi-identifier: outsiders may know it",
    Role.SENSITIVE.value: "Sensitive: what no one should learn",
    Role.OTHER.value: "Other: neither identifies nor harms",
}
_TONES = {"undecided": "bad", "identifier": "bad", "quasi": "warn", "sensitive": "plain", "other": "good"}


class CardEditor:
    """A form for the card of one table. ``changed`` is called after every change."""

    def __init__(
        self,
        card: Card,
        reasons: Mapping[str, Sequence[str]],
        preview: Callable[[Card, str], Any],
        changed: Callable[[], None],
    ) -> None:
        self._name, self._preview, self._changed = card.name, preview, changed
        self._fields = card_fields([card])["tables"][card.name]
        self._fields = {key: value for key, value in self._fields.items() if value is not None}
        self._notes: dict[str, ui.element] = {}
        self._problems = ui.element("div").props("data-testid=card-problems aria-live=polite")
        with theme.card("Whose rows are these?"):
            self._draw_table()
        with theme.card("Columns", note=number(len(self._columns), "column")):
            for name in self._columns:
                self._draw_column(name, reasons.get(name, ()))
        self.check()

    @property
    def _columns(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = self._fields["columns"]
        return found

    def card(self) -> Card:
        """The card as it stands; an error that lists all that contradicts itself."""
        return parse_cards(toml.dump({"tables": {self._name: self._fields}}), source="The card")[self._name]

    def check(self) -> Card | None:
        """Show what contradicts itself; the card, if nothing does."""
        self._problems.clear()
        try:
            return self.card()
        except CardError as error:
            with self._problems:
                for problem in error.problems:
                    place = ".".join(part for part in problem.path if part not in ("tables", self._name, "columns"))
                    ui.label(f"{place}: {problem.what}").classes("dc-prose dc-bad")
        return None

    def undecided(self) -> list[str]:
        """Columns without a decided role."""
        return [name for name, said in self._columns.items() if said.get("role") == Role.UNDECIDED.value]

    def show_misfits(self, misfits: Mapping[str, Sequence[str]]) -> None:
        """Show beside each column how its rows do not fit."""
        for name, place in self._notes.items():
            place.clear()
            with place:
                for line in misfits.get(name, ()):
                    ui.label(line).classes("dc-small dc-bad")

    def _set(self, fields: dict[str, Any], key: str, value: Any) -> None:
        if value in (None, "", [], False):
            fields.pop(key, None)
        else:
            fields[key] = value
        self.check()
        self._changed()

    def _draw_table(self) -> None:
        fields = self._fields
        with theme.row():
            nobody = {"": "None: one row per person", **{name: name for name in self._columns}}
            unit = theme.select(nobody, "Unit: column that identifies the person", "card-unit")
            unit.set_value(fields.get("unit", ""))
            unit.on_value_change(lambda event: self._set(fields, "unit", event.value))
            most = theme.figure(
                "Maximum rows per person", "card-rows-per-unit", value=fields.get("rows_per_unit"), min=1
            )
            most.on_value_change(lambda event: self._set(fields, "rows_per_unit", event.value and int(event.value)))
        with theme.row():
            self._list_box(fields, "missing", "Missing-value codes", "card-missing")
            trim = ui.checkbox("Trim spaces around values", value=bool(fields.get("trim")))
            trim.props("data-testid=card-trim")
            trim.on_value_change(lambda event: self._set(fields, "trim", event.value))

    def _draw_column(self, name: str, reasons: Sequence[str]) -> None:
        said = self._columns[name]
        with theme.marked(ui.element("div").classes("dc-rule"), f"column-{name}"):
            with theme.row():
                ui.label(name).classes("dc-strong dc-short")
                kinds = [kind.value for kind in Kind]
                kind = theme.select(kinds, f"Type of {name}", f"kind-{name}", width="dc-short", value=said["kind"])
                role = theme.select(ROLES, f"Role of {name}", f"role-{name}", value=said.get("role", "other"))
            if reasons:
                ui.label(" ".join(reasons)).classes("dc-small dc-soft")
            self._notes[name] = ui.element("div").props("aria-live=polite")
            more = ui.expansion("Values, formats and hierarchy").props("dense").classes("dc-full")
            with theme.marked(more, f"more-{name}"):
                place = ui.element("div").classes("dc-stack")

            def draw() -> None:
                place.clear()
                with place:
                    self._draw_values(name, said)

            def changed_kind(value: str) -> None:
                for key in (
                    "bounds",
                    "categories",
                    "hierarchy",
                    "format",
                    "decimal",
                    "thousands",
                    "true",
                    "false",
                    "labels",
                ):
                    said.pop(key, None)  # which were of the kind before
                self._set(said, "kind", value)
                draw()

            kind.on_value_change(lambda event: changed_kind(event.value))
            role.on_value_change(lambda event: self._set(said, "role", event.value))
            draw()

    def _draw_values(self, name: str, said: dict[str, Any]) -> None:
        kind = Kind(said["kind"])
        with theme.row():
            if kind in ORDERED:
                bounds = said.get("bounds") or ("", "")
                self._bound(name, said, kind, bounds)
            if kind in CATEGORICAL or kind is Kind.INTEGER:
                box = theme.text("All possible values, separated by ;", f"categories-{name}", width="dc-full")
                box.set_value("; ".join(map(str, said.get("categories") or ())))
                box.on("change", lambda: self._set(said, "categories", _values(box.value, kind)))
            if kind in MOMENTS:
                self._list_box(said, "format", "Formats, such as %d.%m.%Y", f"format-{name}")
            if kind in NUMBERS:
                marks = {"": "point (default)", ",": "comma"}
                decimal = theme.select(marks, "Decimal mark", f"decimal-{name}", value=said.get("decimal", ""))
                decimal.on_value_change(lambda event: self._set(said, "decimal", event.value))
            if kind is Kind.BOOLEAN:
                self._list_box(said, "true", "Words for true", f"true-{name}")
                self._list_box(said, "false", "Words for false", f"false-{name}")
        with theme.row():
            self._list_box(said, "missing", "Missing-value codes of this column", f"missing-{name}")
            misfit = {"": "Report as an error", "missing": "Count as missing"}
            chosen = theme.select(misfit, "Values that do not fit", f"misfit-{name}", value=said.get("misfit", ""))
            chosen.on_value_change(lambda event: self._set(said, "misfit", event.value))
        with theme.row():
            shown = ui.label(summary(said.get("hierarchy"))).classes("dc-prose dc-grow")

            async def edit() -> None:
                made = await edit_hierarchy(name, kind, said.get("hierarchy"), self._levels)
                if made is not None:
                    self._set(said, "hierarchy", made or None)
                    shown.set_text(summary(said.get("hierarchy")))

            theme.button("Hierarchy", f"hierarchy-{name}", edit, icon="account_tree", look="outline dense")

    def _levels(self, column: str, hierarchy: dict[str, Any]) -> Any:
        """What the levels of a hierarchy would make of the rows; an error if it cannot be."""
        columns = {name: {**said} for name, said in self._columns.items()}
        columns[column]["hierarchy"] = hierarchy
        columns[column]["role"] = Role.QUASI.value
        fields = {**self._fields, "columns": columns}
        card = parse_cards(toml.dump({"tables": {self._name: fields}}), source="The card")[self._name]
        return self._preview(card, column)

    def _bound(self, name: str, said: dict[str, Any], kind: Kind, bounds: Sequence[Any]) -> None:
        boxes = [
            theme.text(label, f"{place}-{name}", width="dc-short", value=str(value))
            for label, place, value in (("Lowest", "low", bounds[0]), ("Highest", "high", bounds[1]))
        ]

        def change() -> None:
            values = [_value(box.value, kind) for box in boxes]
            self._set(said, "bounds", values if all(value not in (None, "") for value in values) else None)

        for box in boxes:
            box.on("change", change)

    def _list_box(self, fields: dict[str, Any], key: str, label: str, testid: str) -> None:
        value = fields.get(key) or ()
        box = theme.text(
            f"{label}, separated by ;", testid, value="; ".join([value] if isinstance(value, str) else value)
        )
        box.on(
            "change",
            lambda: self._set(fields, key, [one.strip() for one in (box.value or "").split(";") if one.strip()]),
        )


def _values(text: str | None, kind: Kind) -> list[Any]:
    return [_value(one.strip(), kind) for one in (text or "").split(";") if one.strip()]


def _value(text: str | None, kind: Kind) -> Any:
    """A value of a kind that someone typed; itself, if it is none, for the card to complain about."""
    text = (text or "").strip()
    try:
        if kind is Kind.INTEGER:
            return int(text)
        if kind in NUMBERS:
            return Decimal(text)
        if kind is Kind.DATE:
            return dt.date.fromisoformat(text)
        if kind is Kind.TIMESTAMP:
            return dt.datetime.fromisoformat(text)
        if kind is Kind.BOOLEAN and text.lower() in ("true", "false"):
            return text.lower() == "true"
    except (ValueError, InvalidOperation):
        pass
    return text
