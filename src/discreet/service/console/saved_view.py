"""Saved questions on the Ask page: a list to open and delete them, and the dialog that saves one.

data-testid: saved, saved-open-<n>, saved-delete-<n>, save-name, save-go, save-cancel.
"""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from discreet.curator.saved_questions import SavedQuestion
from discreet.service.console import theme
from discreet.service.console.dialogs import confirm
from discreet.service.console.frame import Seat
from discreet.service.console.releases import when


class SavedQuestionsView:
    """The list of someone's saved questions."""

    def __init__(self, seat: Seat, opened: Callable[[SavedQuestion], None]) -> None:
        self._seat, self._opened = seat, opened

    def build(self) -> None:
        """Draw the list, empty at first."""
        with theme.card("Saved questions", note="for you alone", testid="saved") as card:
            card.classes("dc-fourth")
            self._list = ui.element("div").classes("dc-list")

    async def show(self) -> None:
        """Show what is saved by now."""
        saved = await self._seat.run(self._seat.desk.saved.all)
        if saved is None:
            return
        self._list.clear()
        with self._list:
            if not saved:
                theme.empty("None yet. Save keeps your question here, with its price.")
            for place, one in enumerate(saved):
                self._entry(place, one)

    async def save(self, name: str, question: str, epsilon: str, delta: str, choices: str) -> None:
        """Ask for a name, and save a question under it."""
        with ui.dialog() as dialog, ui.card():
            dialog.props["aria-label"] = "Save question"
            ui.label("Save question").classes("dc-strong")
            box = theme.text("Name", "save-name", value=name[:120], props="autofocus maxlength=120", width="dc-full")
            theme.prose("It is saved for you alone, with the price you chose. Nothing is asked or charged.", soft=True)
            with theme.row():
                theme.button("Save", "save-go", lambda: dialog.submit(box.value), look="unelevated")
                theme.button("Cancel", "save-cancel", lambda: dialog.submit(None), look="flat")
        box.on("keydown.enter", lambda: dialog.submit(box.value))
        chosen = await dialog
        dialog.delete()
        if chosen is None:
            return
        one = SavedQuestion(chosen.strip(), question, epsilon, delta, choices)
        if await self._seat.did(self._seat.desk.saved.save, one):
            self._seat.say("Saved.")
            await self.show()

    def _entry(self, place: int, one: SavedQuestion) -> None:
        with ui.element("div").classes("dc-row dc-line dc-between"):
            entry = ui.element("button").classes("dc-link dc-grow").props(f"type=button data-testid=saved-open-{place}")
            with entry.on("click", lambda: self._opened(one)):
                ui.label(one.name).classes("dc-link-title")
                at = f" · {when(one.at)} UTC" if one.at else ""
                ui.label(f"ε {one.epsilon}{at}").classes("dc-soft dc-small")
            remove = ui.button(icon="delete", on_click=lambda: self._delete(one)).props("flat round dense")
            theme.marked(remove, f"saved-delete-{place}", f"Delete {one.name}")

    async def _delete(self, one: SavedQuestion) -> None:
        told = "The saved question is deleted. Answers that you have stay."
        if await confirm(f"Delete “{one.name}”?", told) and await self._seat.did(
            self._seat.desk.saved.delete, one.name
        ):
            await self.show()
