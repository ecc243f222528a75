"""A list of releases, as several pages show it.

data-testid: release-<id>.
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
from discreet.service.operations.operations import Operations

_KINDS = {
    "answer": "answer",
    "published": "published",
    "tabulated": "printed table",
    "hidden": "secrets hidden",
    "synthetic": "synthetic twin",
}


def latest(who: Person, desk: Operations, *, kind: str | None = None, most: int) -> list[tuple[Shelved, str]]:
    """The latest releases that somebody may see, each with its question; that is empty where there is none to read."""
    return [(one, _question(who, desk, one)) for one in desk.releases(who, kind=kind, most=most)]


def released(some: Sequence[tuple[Shelved, str]], *, none: str) -> None:
    """Releases as links, newest first; answers by their questions."""
    if not some:
        theme.empty(none)
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
    """A time, in UTC, as everybody reads it."""
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M")


def _question(who: Person, desk: Operations, one: Shelved) -> str:
    if one.kind != "answer" or who.role is Role.AUDITOR:
        return ""
    try:
        return str(desk.statement(who, one.id).recipe.parameters.get("question") or "")
    except DiscreetError:  # one that is damaged is listed all the same; its own page says so
        return ""
