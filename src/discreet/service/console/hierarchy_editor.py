"""The editor of a hierarchy: its type and fields, and a preview of every level with the sizes of its groups.

data-testid: hierarchy-type, hierarchy-<field>, hierarchy-groups, hierarchy-arx, hierarchy-toml, hierarchy-show,
hierarchy-levels, hierarchy-wrong, hierarchy-save, hierarchy-remove, hierarchy-close.
"""

from __future__ import annotations

import tomllib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nicegui import ui

from discreet.core import toml
from discreet.core.cardfile import from_fields, to_fields
from discreet.core.hierarchy.dates import LEVELS
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import CATEGORICAL, MOMENTS, NUMBERS, Kind
from discreet.errors import BadInput, DiscreetError
from discreet.service.console import theme
from discreet.service.operations.data import Level

_TYPES = {
    "intervals": ("Intervals of equal width", NUMBERS),
    "dates": ("Calendar units", MOMENTS),
    "mask": ("Mask characters from one side", frozenset({Kind.TEXT})),
    "ordered": ("Runs of an ordered list", frozenset({Kind.TEXT, Kind.INTEGER})),
    "taxonomy": ("Groups of values", CATEGORICAL | {Kind.INTEGER}),
    "toml": ("TOML, as in a card file", frozenset(Kind)),
}
_FIELDS: Mapping[str, Mapping[str, str]] = {
    "intervals": {
        "widths": "Widths, such as 5; 10; 20",
        "bottom": "Bottom code: one group below this value (optional)",
        "top": "Top code: one group from this value on (optional)",
    },
    "mask": {"length": "Text length in characters", "steps": "Masked characters per level (optional), such as 1; 3"},
    "ordered": {"order": "All values in order, separated by ;", "sizes": "Run length per level, such as 2; 4"},
}
"""Labels of the fields of each type; several values are separated by semicolons."""
_LISTS = ("widths", "steps", "order", "sizes")


def summary(said: Mapping[str, Any] | str | None) -> str:
    """A hierarchy in a few words."""
    if not said:
        return "No hierarchy: the column is kept or suppressed."
    if isinstance(said, str):
        return f"The shared hierarchy {said}."
    return f"{_TYPES.get(str(said['type']), (said['type'],))[0]}: levels 0 to {from_fields(said, folder=None).height}."


async def edit_hierarchy(
    column: str,
    kind: Kind,
    said: Mapping[str, Any] | None,
    levels: Callable[[str, dict[str, Any]], Awaitable[list[Level]]],
) -> dict[str, Any] | None:
    """Let someone declare the hierarchy of a column; empty if it is to have none, ``None`` if nothing changes."""
    with ui.dialog() as dialog, ui.card().classes("dc-wide"):
        dialog.props["aria-label"] = f"Hierarchy of {column}"
        editor = _Editor(column, kind, said or {}, levels)
        with theme.row():

            def save() -> None:
                if (made := editor.made()) is not None:
                    dialog.submit(made)

            theme.button("Use hierarchy", "hierarchy-save", save, look="unelevated")
            theme.button("No hierarchy", "hierarchy-remove", lambda: dialog.submit({}), look="flat")
            theme.button("Close", "hierarchy-close", lambda: dialog.submit(None), look="flat")
    answer = await dialog
    dialog.delete()
    return answer  # type: ignore[no-any-return]


class _Editor:
    def __init__(
        self,
        column: str,
        kind: Kind,
        said: Mapping[str, Any],
        levels: Callable[[str, dict[str, Any]], Awaitable[list[Level]]],
    ) -> None:
        self._column, self._said, self._levels = column, said, levels
        types = {name: label for name, (label, kinds) in _TYPES.items() if kind in kinds}
        known = str(said.get("type", next(iter(types))))
        ui.label(f"Hierarchy of {column}").classes("dc-strong")
        theme.prose(
            "Level 0 is the value itself, the last level suppresses it. The levels between are coarser.", soft=True
        )
        self._type = theme.select(types, "Type", "hierarchy-type", value=known if known in types else "toml")
        self._place = ui.element("div").classes("dc-stack")
        self._wrong = ui.label().classes("dc-prose dc-bad").props("data-testid=hierarchy-wrong role=alert")
        theme.button("Preview levels", "hierarchy-show", self._show, icon="visibility", look="outline")
        self._shown = ui.element("div").props("data-testid=hierarchy-levels aria-live=polite")
        self._type.on_value_change(self._draw)
        self._draw()

    def made(self) -> dict[str, Any] | None:
        """What is declared; an error is shown, and ``None`` comes back."""
        self._wrong.set_text("")
        try:
            fields = self._fields()
            return to_fields(from_fields(fields, folder=None))
        except DiscreetError as error:
            self._wrong.set_text(str(error))
        return None

    async def _show(self) -> None:
        made = self.made()
        if made is None:
            return
        try:
            found = await self._levels(self._column, made)
        except DiscreetError as error:
            self._wrong.set_text(str(error))
            return
        self._shown.clear()
        with self._shown:
            rows = [
                (
                    str(one.level),
                    f"{one.groups:,}",
                    f"{one.smallest:,}",
                    ", ".join(f"{v} ({n:,})" for v, n in one.examples),
                )
                for one in found
            ]
            theme.grid(["Level", "Groups", "Smallest group", "Largest groups (rows)"], rows, numbers=(0, 1, 2))

    def _draw(self) -> None:
        said = self._said if self._said.get("type") == self._type.value else {}
        self._boxes: dict[str, Any] = {}
        self._place.clear()
        with self._place:
            for name, label in _FIELDS.get(self._type.value, {}).items():
                value = said.get(name)
                text = (
                    "; ".join(map(str, value))
                    if isinstance(value, list | tuple)
                    else ""
                    if value is None
                    else str(value)
                )
                self._boxes[name] = theme.text(label, f"hierarchy-{name}", width="dc-full", value=text)
            if self._type.value == "dates":
                chosen = [*said.get("levels", ("month", "year"))]
                self._boxes["levels"] = theme.select(
                    LEVELS, "Units, finest first", "hierarchy-levels-of", multiple=True, value=chosen
                )
            elif self._type.value == "taxonomy":
                theme.prose("One group per line, such as “Europe: France; Spain”.", soft=True)
                self._boxes["groups"] = theme.lines("Groups", "hierarchy-groups")
                self._boxes["groups"].set_value(_groups(said.get("tree")))
                theme.prose(
                    "Or an ARX hierarchy: one value per line with its labels from fine to coarse, separated by ;",
                    soft=True,
                )
                self._boxes["arx"] = theme.lines("ARX hierarchy (CSV)", "hierarchy-arx")
            elif self._type.value == "toml":
                self._boxes["toml"] = theme.lines("Fields", "hierarchy-toml")
                self._boxes["toml"].set_value(toml.dump(dict(self._said)) if self._said else 'type = "ranges"\n')

    def _fields(self) -> dict[str, Any]:
        type_ = self._type.value
        if type_ == "toml":
            try:
                return tomllib.loads(self._boxes["toml"].value or "", parse_float=Decimal)
            except tomllib.TOMLDecodeError as error:
                raise BadInput(f"This is not valid TOML: {error}.") from None
        if type_ == "taxonomy":
            return {"type": type_, **(self._imported() or {"tree": _tree(self._boxes["groups"].value or "")})}
        if type_ == "dates":
            wanted = self._boxes["levels"].value or ()
            return {"type": type_, "levels": [level for level in LEVELS if level in wanted]}
        values = {name: _typed(name, box.value or "") for name, box in self._boxes.items()}
        return {"type": type_, **{name: value for name, value in values.items() if value not in (None, [])}}

    def _imported(self) -> dict[str, Any] | None:
        """The groups of an ARX hierarchy that was pasted."""
        text = (self._boxes["arx"].value or "").strip()
        if not text:
            return None
        with TemporaryDirectory() as folder:
            file = Path(folder) / "hierarchy.csv"
            file.write_text(f"{text}\n", encoding="utf-8")
            return Taxonomy.from_csv(file).fields()


def _typed(name: str, text: str) -> Any:
    """What was typed into a field: numbers as numbers."""
    parts = [_number(part.strip()) if name != "order" else part.strip() for part in text.split(";") if part.strip()]
    return parts if name in _LISTS else parts[0] if parts else None


def _number(text: str) -> int | Decimal | str:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return Decimal(text)
    except ArithmeticError:
        return text


def _groups(tree: Any) -> str:
    """A tree of one level of groups as lines; others are shown as text instead."""
    if not isinstance(tree, Mapping) or any(isinstance(values, Mapping) for values in tree.values()):
        return ""
    return "\n".join(f"{group}: {'; '.join(map(str, values))}" for group, values in tree.items())


def _tree(text: str) -> dict[str, Sequence[str]]:
    tree: dict[str, Sequence[str]] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        group, colon, values = line.partition(":")
        if not colon or group.strip() in tree:
            raise BadInput(
                f"{line.strip()!r} is not a group.", hint="Write a name, a colon and values, each name once."
            )
        tree[group.strip()] = [value.strip() for value in values.split(";") if value.strip()]
    return tree
