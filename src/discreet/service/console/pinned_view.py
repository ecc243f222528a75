"""Answers side by side: those that someone pinned on the Ask page, a few at a time.

data-testid: pins, pin-<n>, unpin-<n>.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from discreet.core.markup import tag
from discreet.core.release import Release
from discreet.service.console import answer_view, theme
from discreet.service.console.draft import MOST_PINNED


class PinnedAnswers:
    """The pinned answers, in the order in which they were pinned."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._cards: dict[str, ui.element] = {}
        self._count = 0

    def build(self) -> None:
        """Draw the place for them."""
        with ui.element("section").classes("dc-stack").props('data-testid=pins aria-label="Pinned answers"') as whole:
            ui.html(tag("h2", "Pinned answers", class_="dc-pins-title"), sanitize=False)
            self._place = ui.element("div").classes("dc-pins")
        self._whole = whole
        self._whole.set_visibility(False)

    @property
    def identities(self) -> list[str]:
        """The releases that are pinned."""
        return [*self._cards]

    @property
    def is_full(self) -> bool:
        """Whether no further answer can be pinned."""
        return len(self._cards) >= MOST_PINNED

    def pin(self, release: Release[Any], identity: str) -> None:
        """Pin an answer, unless it is pinned already or there are too many."""
        if identity in self._cards or self.is_full:
            return
        number = self._count
        self._count += 1
        with self._place, theme.card(testid=f"pin-{number}") as card:
            with theme.row().classes("dc-between"):
                ui.link("Open its page", f"/release/{identity}").classes("dc-small")
                unpin = ui.button("Unpin", icon="close", on_click=lambda: self._unpin(identity))
                unpin.props(f"flat dense no-caps data-testid=unpin-{number}")
            question = str(release.recipe.parameters.get("question") or release.title)
            ui.label(question).classes("dc-code dc-asked")
            answer_view.show_small(release)
        self._cards[identity] = card
        self._whole.set_visibility(True)
        self._changed()

    def _unpin(self, identity: str) -> None:
        self._cards.pop(identity).delete()
        self._whole.set_visibility(bool(self._cards))
        with self._whole:  # the button that was pressed is gone, and its place in the page with it
            self._changed()
