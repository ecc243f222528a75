"""/glossary: the terms of the console, explained.

data-testid: glossary.
"""

from __future__ import annotations

import re

from nicegui import ui

from discreet.core.markup import tag
from discreet.service.console import explain, theme
from discreet.service.console.frame import EVERYBODY, Page, Seat


def _build(_: Seat) -> None:
    with theme.page("Glossary", "Terms of this console, in plain words."), theme.card(testid="glossary"):
        terms = sorted({**explain.TERMS, **_models()}.items(), key=lambda term: term[0].casefold())
        parts = ((tag("dt", name), (tag("dd", part) for part in text.split("\n\n"))) for name, text in terms)
        ui.html(tag("dl", parts, class_="dc-glossary"), sanitize=False)


PAGE = Page("/glossary", "Glossary", "menu_book", EVERYBODY, 95, _build)


def _models() -> dict[str, str]:
    """Privacy models and rules for cells by name, without the name that some explanations begin with."""
    named = (explain.MODELS | explain.RULES).items()
    return {_capital(name): _capital(re.sub(r"^[^:.]{1,30}: ", "", text)) for name, text in named}


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
