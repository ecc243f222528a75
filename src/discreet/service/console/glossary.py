"""/glossary: the terms of the console, explained.

data-testid: glossary.
"""

from __future__ import annotations

from nicegui import ui

from discreet.core.markup import tag
from discreet.service.console import explain, theme
from discreet.service.console.frame import EVERYBODY, Page, Seat


def _build(_: Seat) -> None:
    with theme.page("Glossary", "Terms of this console, in plain words."), theme.card(testid="glossary"):
        parts = (
            (tag("dt", name, id=explain.term_id(name)), (tag("dd", part) for part in text.split("\n\n")))
            for name, text in explain.GLOSSARY.items()
        )
        ui.html(tag("dl", parts, class_="dc-glossary"), sanitize=False)


PAGE = Page("/glossary", "Glossary", "menu_book", EVERYBODY, 95, _build)
