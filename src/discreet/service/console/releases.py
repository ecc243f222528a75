"""/releases: everything that was released and that one may see.

data-testid: kind, list, release-<id>.
"""

from __future__ import annotations

from nicegui import ui

from discreet.service.console import theme
from discreet.service.console.frame import EVERYBODY, Page, Seat
from discreet.service.console.release_list import latest, released

_KINDS = {"": "All", "answer": "Answers", "published": "Published", "tabulated": "Printed tables"}
_MOST = 50


async def _build(seat: Seat) -> None:
    about = "Everything that left, newest first. Opening it again costs nothing."
    with theme.page("Releases", about), theme.card():
        chosen = ui.toggle(_KINDS, value="").props('unelevated no-caps data-testid=kind aria-label="Kind"')
        place = ui.element("div").props("data-testid=list").classes("dc-stack")

        async def show() -> None:
            kind = str(chosen.value) or None
            found = await seat.run(latest, seat.desk, kind=kind, most=_MOST)
            place.clear()
            with place:
                released(found or [], none="There is nothing of this kind yet.")
                if found and len(found) == _MOST:
                    theme.prose(f"The latest {_MOST} are shown.", soft=True)

        chosen.on_value_change(show)
        await show()


PAGE = Page("/releases", "Releases", "inventory_2", EVERYBODY, 20, _build)
