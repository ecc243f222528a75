"""Forms generated from the catalogue: methods, privacy models, and rules for sensitive cells.

data-testid: behind a page's own word -method (the list of methods), -text (the method as text) and -<parameter>;
model-add, and for each model model-kind-0, model-<parameter>-0, model-remove-0; rule-<rule>, rule-<rule>-<parameter>.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from nicegui import ui

from discreet.core.catalogue import Entry, Family
from discreet.core.families import CELL_RULES, MODELS
from discreet.core.parameter import Parameter
from discreet.errors import BadInput
from discreet.service.console import explain, theme

DESPITE = "Override exposure: reason (optional)"
"""Label of the reason to release something although it exposes someone together with earlier releases."""


def example_values(entry: Entry) -> dict[str, str | bool]:
    """What an entry's example says of each parameter."""
    said = entry.family.find(entry.example)[0].said(entry.family.find(entry.example)[1])
    return {name: True if value is None else value for name, value in said.items()}


def without_file(family: Family) -> dict[str, Entry]:
    """The entries that need no file, such as one of the population, which the service does not take."""
    return {
        entry.name: entry
        for entry in family.entries()
        if not any(one.required and one.placeholder == "FILE" for one in entry.parameters)
    }


class EntryFields:
    """A field for each parameter of an entry, filled with its example, and the text that they make.

    ``testid`` names the fields, with ``{}`` for the parameter; ``columns`` are those that a parameter may name, to be
    chosen from a list; ``values`` replace those of the example.
    """

    def __init__(
        self,
        entry: Entry,
        testid: str,
        *,
        columns: Callable[[Parameter], Sequence[str]] = lambda one: (),
        values: Mapping[str, str | bool] | None = None,
        changed: Callable[[], None] | None = None,
    ) -> None:
        self._entry, self._testid, self._columns, self._changed = entry, testid, columns, changed
        self._lists: dict[str, ui.select] = {}
        """The fields that name several columns, by parameter."""
        self._values = example_values(entry) | dict(values or {})
        said = sorted(entry.parameters, key=lambda one: not one.required)
        self.boxes = [self._draw(one) for one in said if one.usage and one.placeholder != "FILE"]

    def written(self, *, strict: bool = True) -> str:
        """The entry as text; an error if a value is missing, unless ``strict`` is false."""
        for one in self._entry.parameters if strict else ():
            if one.required and not self._values.get(one.name):
                raise BadInput(
                    f"{self._entry.title}: {one.word} is missing.", hint="Fill it in, or remove the model or rule."
                )
        return self._entry.spell(self._values)

    def _draw(self, one: Parameter) -> ui.element:
        value = self._values.get(one.name, "")
        label = _LABELS.get((self._entry.name, one.word), one.word)
        columns = self._columns(one) if one.names_columns else ()
        made: ui.checkbox | ui.select | ui.input
        if one.is_flag:
            made = ui.checkbox(label, value=value is True or one.default is True)
        elif columns:
            made = self._draw_columns(one, label, columns)
        elif one.words:
            made = theme.select(list(one.words), label, value=value or one.default or None)
        else:
            made = theme.text(label, value=str(value), placeholder=one.placeholder)

        def change(said: object) -> None:
            before, after = self._values.get(one.name, ""), _written(said)
            self._values[one.name] = after
            if columns and one.required:  # what is to be told is no column to tell it by
                for several in self._lists.values():
                    several.set_value([before if name == after else name for name in several.value])
            if self._changed is not None:
                self._changed()

        made.on_value_change(lambda event: change(event.value))
        made.props(f"data-testid={self._testid.format(one.word)}").props["hint"] = one.sentence
        made.tooltip(f"{one.sentence} {one.described.capitalize()}.")
        return made

    def _draw_columns(self, one: Parameter, label: str, columns: Sequence[str]) -> ui.select:
        """A list of columns: one or several of them."""
        value = str(self._values.get(one.name, ""))
        if one.names_several:
            chosen = [name for name in value.split(", ") if name in columns]
            self._lists[one.name] = theme.select(columns, label, value=chosen, multiple=True)
            return self._lists[one.name]
        if not one.required:
            return theme.select(columns, label, value=value or None, clearable=True)
        self._values[one.name] = value if value in columns else columns[0]
        return theme.select(columns, label, value=self._values[one.name])


def _written(said: object) -> str | bool:
    """What is in a field, as it is written."""
    if isinstance(said, list):
        return ", ".join(map(str, said))
    return said if isinstance(said, bool) else "" if said is None else str(said)


class MethodForm:
    """A choice of methods. The text is what counts: a change of a field writes it anew, and it may be edited."""

    def __init__(
        self,
        families: Sequence[Family],
        testid: str,
        *,
        text: str | None = None,
        values: Callable[[Entry], Mapping[str, str]] = lambda entry: {},
        columns: Callable[[Entry, Parameter], Sequence[str]] = lambda entry, one: (),
    ) -> None:
        """``columns`` are those that a parameter may name, if they are to be chosen from a list."""
        self._testid, self._start, self._columns = testid, values, columns
        self._entries = {entry.title: entry for family in families for entry in family.entries()}
        self.choice = theme.select(list(self._entries), "Method", f"{testid}-method", on_change=self._chosen)
        self.choice.set_visibility(len(self._entries) > 1)
        self._about = ui.label().classes("dc-prose dc-soft")
        self._place = ui.element("div").classes("dc-row")
        self.text = theme.text("As text", text or f"{testid}-text", width="dc-full dc-code")
        self._chosen()

    @property
    def written(self) -> str:
        """The method as it is written."""
        return (self.text.value or "").strip()

    def _chosen(self) -> None:
        entry = self._entries[self.choice.value]
        self._about.set_text(f"{entry.summary}{f' ({entry.paper})' if entry.paper else ''}")
        self._place.clear()
        with self._place:
            self._fields = EntryFields(
                entry,
                f"{self._testid}-{{}}",
                columns=partial(self._columns, entry),
                values=self._start(entry),
                changed=self._write,
            )
        self._write()

    def _write(self) -> None:
        self.text.set_value(self._fields.written(strict=False))


_LABELS = {
    ("k-anonymity", "k"): "Minimum class size k",
    ("l-diversity", "l"): "Minimum number of distinct values l",
    ("t-closeness", "t"): "Largest distance t",
    ("minimum frequency", "n"): "Minimum frequency n",
    ("p%", "p"): "Precision p, per cent",
}
"""Labels of parameters whose name in the catalogue is a letter, by entry and name."""
MODEL_VALUES: Mapping[str, Mapping[str, str | bool]] = {"β-likeness": {"enhanced": True}}
"""What a model begins with where its example is not the stricter one."""


class ModelRows:
    """The privacy models that must hold, as rows that can be added and taken away."""

    def __init__(self, sensitive: Sequence[str]) -> None:
        self._sensitive = list(sensitive)
        self._models = {
            name: entry
            for name, entry in without_file(MODELS).items()
            if sensitive or not any(one.column for one in entry.parameters)
        }
        self._place = ui.element("div").classes("dc-stack")
        self._rows: dict[int, EntryFields] = {}
        self._count = 0
        self._none = theme.empty(
            "No privacy model. Only masking methods can be published so, without a guarantee.", "gpp_maybe"
        )
        add = ui.button("Add a model", icon="add").props("flat dense data-testid=model-add").classes("dc-own")
        add.on_click(lambda: self._add("l-diversity" if sensitive else "prosecutor risk"))
        self._add("k-anonymity")

    def written(self) -> tuple[str, ...]:
        """All models as text; an error for whatever is not filled in."""
        return tuple(row.written() for row in self._rows.values())

    def _columns(self, one: Parameter) -> Sequence[str]:
        return self._sensitive if one.column else ()

    def _add(self, model: str) -> None:
        number, self._count = self._count, self._count + 1
        with self._place, ui.element("div").classes("dc-rule") as room:

            def draw(name: str) -> None:
                fields.clear()
                with fields:
                    testid = f"model-{{}}-{number}"
                    entry, values = self._models[name], MODEL_VALUES.get(name)
                    self._rows[number] = EntryFields(entry, testid, columns=self._columns, values=values)
                about.clear()
                with about:
                    theme.promise(explain.MODELS.get(name, self._models[name].summary))

            def remove() -> None:
                del self._rows[number]
                room.delete()
                self._none.set_visibility(not self._rows)

            with theme.row():
                kind = theme.select(list(self._models), "Model", f"model-kind-{number}", value=model)
                kind.on_value_change(lambda event: draw(event.value))
                away = ui.button(icon="delete_outline", on_click=remove)
                away.props(f'flat round dense aria-label="Remove this model" data-testid=model-remove-{number}')
            fields, about = theme.row(), ui.element("div").classes("dc-stack")
            draw(model)
        self._none.set_visibility(False)


class RuleBoxes:
    """The rules of sensitive cells, as boxes to tick, each with its parameters."""

    def __init__(self) -> None:
        self._rules: list[tuple[ui.checkbox, EntryFields]] = []
        for name, entry in without_file(CELL_RULES).items():
            testid = f"rule-{re.sub('[^a-z]+', '-', name).strip('-')}"
            with ui.element("div").classes("dc-rule"):
                with theme.row():
                    tick = ui.checkbox(_TITLES.get(name, name.capitalize()), value=not self._rules)
                    tick.props(f"data-testid={testid}").classes("dc-grow")
                    fields = EntryFields(entry, f"{testid}-{{}}")
                    for box in fields.boxes:
                        box.bind_visibility_from(tick, "value")
                    self._rules.append((tick, fields))
                about = explain.RULES.get(name, entry.summary).removeprefix(f"{_TITLES.get(name, name)}: ")
                theme.prose(f"{about[0].upper()}{about[1:]}", soft=True).classes("dc-small dc-below")

    def written(self) -> tuple[str, ...]:
        """The rules that are ticked, as text; an error for whatever is not filled in."""
        return tuple(fields.written() for tick, fields in self._rules if tick.value)


_TITLES = {
    "minimum frequency": "Minimum frequency",
    "p%": "p% rule",
    "prior-posterior": "Prior–posterior (pq) rule",
    "(n,k)-dominance": "(n,k)-dominance",
    "zero": "Zero cells",
}
"""Titles of rules in the form, where they differ from the name in the catalogue."""
