"""/releases: all releases that one may see; and lists of releases, as several pages show them.

data-testid: kind, list, release-<id>.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from nicegui import ui

from discreet.curator.answer import ON_SYNTHETIC
from discreet.curator.people.person import Person, Role
from discreet.curator.release_index import Shelved
from discreet.errors import DiscreetError
from discreet.service.console import theme
from discreet.service.console.frame import EVERYBODY, Page, Seat
from discreet.service.operations.operations import Operations

_TERMS = ("Statement", "Recipe")
_CHOICES = {"": "All", "answer": "Answers", "published": "Rows", "tabulated": "Tables"}
_KINDS = {
    "answer": "answer",
    "published": "rows",
    "tabulated": "table",
    "hidden": "hidden itemsets",
    "synthetic": "synthetic stand-in",
    "collected": "survey figures",
    "learnt": "model",
}
_MOST = 50


async def _build(seat: Seat) -> None:
    about = "Everything that was released, newest first. Opening or downloading it again is free."
    with theme.page("Releases", about, _TERMS), theme.card():
        chosen = ui.toggle(_CHOICES, value="").props('unelevated no-caps data-testid=kind aria-label="Kind"')
        place = ui.element("div").props("data-testid=list").classes("dc-stack")

        async def show() -> None:
            kind = str(chosen.value) or None
            found = await seat.run(latest, seat.desk, kind=kind, most=_MOST)
            place.clear()
            with place:
                released(found or [], none="No release of this kind yet.")
                if found and len(found) == _MOST:
                    theme.prose(f"Showing the latest {_MOST}.", soft=True)

        chosen.on_value_change(show)
        await show()


PAGE = Page("/releases", "Releases", "inventory_2", EVERYBODY, 20, _build)


def latest(who: Person, desk: Operations, *, kind: str | None = None, most: int) -> list[tuple[Shelved, str]]:
    """The latest releases that someone may see, each with its question; that is empty where there is none to read."""
    return [(one, _question(who, desk, one)) for one in desk.releases(who, kind=kind, most=most)]


def released(some: Sequence[tuple[Shelved, str]], *, none: str) -> None:
    """Releases as links, newest first; answers by their questions."""
    if not some:
        theme.empty(none, "inventory_2")
        return
    with ui.element("nav").classes("dc-list").props('aria-label="Releases"'):
        for one, question in some:
            with ui.element("a").classes("dc-link").props(f'href="/release/{one.id}" data-testid=release-{one.id}'):
                ui.label(question or one.title).classes("dc-link-title" + (" dc-code" if question else ""))
                ui.label(about(one)).classes("dc-soft dc-small")


def about(one: Shelved) -> str:
    """What kind of release it is, of what, by whom and when, in a line."""
    kind = "synthetic answer" if one.method == ON_SYNTHETIC else _KINDS.get(one.kind, one.kind)
    parts = [kind, ", ".join(one.tables), f"by {one.by}", f"{when(one.at)} UTC"]
    if one.loss is not None and one.method != ON_SYNTHETIC:
        parts.append(theme.amount(one.loss))
    if one.shared:
        parts.append("shared")
    return " · ".join(part for part in parts if part)


def when(at: dt.datetime) -> str:
    """A time, in UTC, as everyone reads it."""
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M")


def _question(who: Person, desk: Operations, one: Shelved) -> str:
    if one.kind != "answer" or who.role is Role.AUDITOR:
        return ""
    try:
        return str(desk.statement(who, one.id).recipe.parameters.get("question") or "")
    except DiscreetError:  # one that is damaged is listed all the same; its own page says so
        return ""
