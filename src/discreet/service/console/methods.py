"""The form of a method from the catalogue: a list of methods, a field for each parameter, and the text they make.

data-testid, behind a page's own word: -method (the list), -text (the method as text), and for each parameter -<word>.
"""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from discreet.core.catalogue import Entry, Family
from discreet.core.parameter import Parameter


class MethodForm:
    """A choice of methods. The text is what counts: a change of a field writes it anew, and it may be edited."""

    def __init__(self, families: Sequence[Family], testid: str, *, text: str | None = None) -> None:
        self._testid = testid
        self._entries = {entry.title: entry for family in families for entry in family.entries()}
        first = next(iter(self._entries))
        self._values: dict[str, str | bool] = {}
        self.choice = ui.select(list(self._entries), value=first, label="Method", on_change=self._chosen)
        self.choice.props(f"outlined dense options-dense data-testid={testid}-method").classes("dc-mid")
        self._about = ui.label().classes("dc-prose dc-soft")
        self._fields = ui.element("div").classes("dc-row")
        self.text = ui.input("As text").classes("dc-full dc-code")
        self.text.props(f"outlined dense data-testid={text or f'{testid}-text'}")
        self._chosen()

    @property
    def written(self) -> str:
        """The method as it is written."""
        return (self.text.value or "").strip()

    def _chosen(self) -> None:
        entry = self._entries[self.choice.value]
        self._about.set_text(f"{entry.summary}{f' ({entry.paper})' if entry.paper else ''}")
        self._values = example_values(entry)
        self._fields.clear()
        with self._fields:
            for one in entry.parameters:
                if one.usage:
                    self._field(entry, one)
        self.text.set_value(entry.spell(self._values))

    def _field(self, entry: Entry, one: Parameter) -> None:
        value = self._values.get(one.name, "")

        def changed(said: object) -> None:
            self._values[one.name] = said if isinstance(said, bool) else str(said or "")
            self.text.set_value(entry.spell(self._values))

        made: ui.checkbox | ui.select | ui.input
        if one.is_flag:
            made = ui.checkbox(one.word, value=value is True or one.default is True)
            made.on_value_change(lambda event: changed(event.value))
        elif one.words:
            made = ui.select(list(one.words), value=value or one.default or None, label=one.word)
            made.on_value_change(lambda event: changed(event.value)).props("outlined dense options-dense")
        else:
            made = ui.input(one.word, value=str(value), placeholder=one.placeholder)
            made.on_value_change(lambda event: changed(event.value)).props("outlined dense")
        made.props(f"data-testid={self._testid}-{one.word}").classes("dc-mid")
        made.tooltip(f"{one.sentence} {one.described.capitalize()}.")


def example_values(entry: Entry) -> dict[str, str | bool]:
    """What an entry's example says of each parameter."""
    said = entry.family.find(entry.example)[0].said(entry.family.find(entry.example)[1])
    return {name: True if value is None else value for name, value in said.items()}
