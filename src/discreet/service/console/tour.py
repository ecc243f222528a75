"""The tour of a first visit: what the pages of one's role are for, in a few steps.

It is offered on the home page until it was taken or dismissed, which the browser remembers, and can be taken again.

data-testid: tour-offer, tour-start, tour-dismiss; tour, tour-next, tour-back, tour-skip, tour-again.
"""

from __future__ import annotations

import json

from nicegui import ui

from discreet.core.markup import tag
from discreet.curator.people.person import Role
from discreet.service.console import theme
from discreet.service.console.frame import Seat

_COOKIE = "discreet_tour"
"""Name of the cookie that says that a person took the tour, before their name."""
_YEAR_SECONDS = 31_536_000
_BUDGET = (
    "account_balance_wallet",
    "The privacy budget",
    "Every answer tells a little about the people in the table. The budget (ε, epsilon) is the most that may ever be "
    "told. A new question takes a part of it; the same question again is free.",
)
_RELEASES = (
    "inventory_2",
    "Releases",
    "Everything that left is kept here with its statement: what is promised, to whom, and how that was checked. "
    "Opening or downloading it again costs nothing.",
)
_STEPS = {
    Role.ANALYST: (
        ("forum", "Ask", "Count, average or total the rows of a table. You see the price and the error first."),
        _BUDGET,
        (
            "show_chart",
            "Noise and error bars",
            "Answers carry random noise, so that no one's presence shows. An error bar says how far off a figure may "
            "be: the true one lies within it 95 times in 100.",
        ),
        _RELEASES,
    ),
    Role.STEWARD: (
        (
            "dataset",
            "Data",
            "Add tables, and declare for each column whether it identifies people, is a quasi-identifier (known to "
            "outsiders) or is sensitive. All protection is derived from this card.",
        ),
        (
            "ios_share",
            "Release",
            "Publish rows, tabulate figures, or let analysts ask. Every release goes through one pipeline that checks "
            "what it promises.",
        ),
        _BUDGET,
        (
            "gavel",
            "Check",
            "Attack a release before you share it, and see under Exposure what all releases tell together.",
        ),
        ("group", "People", "Add analysts and auditors, and give analysts a budget on the tables they may ask."),
    ),
    Role.AUDITOR: (
        ("fact_check", "Audit log", "Who did what and when. Nothing in it can be changed without being noticed."),
        _BUDGET,
        _RELEASES,
        ("visibility", "Exposure", "What all releases of a table tell about people together."),
    ),
}
"""Icon, title and text of each step, by role."""


def offer_tour(seat: Seat) -> None:
    """Offer the tour, as a card on a first visit and as a small button after that."""
    known = seat.cookies.get(f"{_COOKIE}_{seat.who.name}") is not None
    if known:
        with theme.row().classes("dc-tour-again"):
            again = theme.button("Take the tour again", "tour-again", lambda: _Tour(seat).open(), icon="explore")
            again.props("flat dense")
        return
    with theme.card(testid="tour-offer") as card, theme.row().classes("dc-claim"):
        theme.round_icon("explore")
        with ui.element("div").classes("dc-grow"):
            ui.label("New here?").classes("dc-strong")
            ui.label(f"{len(_STEPS[seat.who.role])} short steps show what is where.").classes("dc-soft")

        def start() -> None:
            card.set_visibility(False)
            _Tour(seat).open()

        def dismiss() -> None:
            _remember(seat)
            card.set_visibility(False)

        theme.button("Take the tour", "tour-start", start, look="unelevated")
        theme.button("No, thanks", "tour-dismiss", dismiss, look="flat")


class _Tour:
    """A dialog with a step at a time. Escape ends it, the arrow keys and buttons move it."""

    def __init__(self, seat: Seat) -> None:
        self._seat, self._steps, self._place = seat, _STEPS[seat.who.role], 0

    def open(self) -> None:
        """Show the first step."""
        with ui.dialog() as self._dialog, ui.card().classes("dc-tour").props("data-testid=tour"):
            self._dialog.props["aria-label"] = "Tour of the console"
            self._room = ui.element("div").classes("dc-stack").props("aria-live=polite")
            with theme.row().classes("dc-between"):
                self._skip = theme.button("Skip", "tour-skip", self._dialog.close, look="flat")
                with theme.row():
                    self._back = theme.button("Back", "tour-back", lambda: self._go(-1), look="flat")
                    self._next = theme.button("Next", "tour-next", lambda: self._go(1), look="unelevated")
            self._next.props("autofocus")
        self._dialog.on("keydown.right", lambda: self._go(1))
        self._dialog.on("keydown.left", lambda: self._go(-1))
        self._dialog.on("hide", self._dialog.delete)
        _remember(self._seat)
        self._draw()
        self._dialog.open()

    def _go(self, by: int) -> None:
        self._place = max(self._place + by, 0)
        if self._place >= len(self._steps):
            self._dialog.close()
            return
        self._draw()

    def _draw(self) -> None:
        icon, title, text = self._steps[self._place]
        last = self._place == len(self._steps) - 1
        self._room.clear()
        with self._room:
            with theme.row():
                theme.round_icon(icon)
                ui.html(tag("h2", title), sanitize=False)
            theme.prose(text)
            said = f"Step {self._place + 1} of {len(self._steps)}"
            dots = (tag("i", class_="dc-on" if place == self._place else None) for place in range(len(self._steps)))
            ui.html(tag("div", dots, class_="dc-dots", role="img", aria_label=said), sanitize=False)
        self._back.set_visibility(self._place > 0)
        self._skip.set_visibility(not last)
        self._next.set_text("Done" if last else "Next")


def _remember(seat: Seat) -> None:
    """Have the browser remember, so that the tour is not offered again."""
    said = json.dumps(f"{_COOKIE}_{seat.who.name}=seen; path=/; max-age={_YEAR_SECONDS}; samesite=strict")
    ui.run_javascript(f"document.cookie = {said}")
