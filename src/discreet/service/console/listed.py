"""A list of releases, as several pages show it.

data-testid: release-<id>.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from nicegui import ui

from discreet.curator.shelf import Shelved
from discreet.service.console import look

_KINDS = {"answer": "answer", "published": "published", "tabulated": "printed table"}


def released(some: Sequence[Shelved], *, none: str) -> None:
    """Releases as links, newest first."""
    if not some:
        look.empty(none)
        return
    with ui.element("nav").classes("dc-list").props('aria-label="Releases"'):
        for one in some:
            with ui.element("a").classes("dc-link").props(f'href="/release/{one.id}" data-testid=release-{one.id}'):
                ui.label(one.title).classes("dc-link-title")
                ui.label(about(one)).classes("dc-soft dc-small")


def about(one: Shelved) -> str:
    """What kind of release it is, of what, by whom and when, in a line."""
    parts = [_KINDS.get(one.kind, one.kind), ", ".join(one.tables), f"by {one.by}", f"{when(one.at)} UTC"]
    if one.loss is not None:
        parts.append(look.amount(one.loss))
    if one.shared:
        parts.append("shared")
    return " · ".join(part for part in parts if part)


def when(at: dt.datetime) -> str:
    """A time, in UTC, as everybody reads it."""
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M")
