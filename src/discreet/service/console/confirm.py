"""A question before what cannot be undone, or may not have been meant.

data-testid: sure-go, sure-no.
"""

from __future__ import annotations

from nicegui import ui

from discreet.service.console import theme


async def sure(question: str, told: str) -> bool:
    """Ask, and say what would come of it; whether the answer is yes."""
    with ui.dialog() as dialog, ui.card():
        ui.label(question).classes("dc-strong")
        theme.prose(told)
        with theme.row():
            ui.button("Yes", on_click=lambda: dialog.submit(True)).props("unelevated data-testid=sure-go")
            ui.button("No", on_click=lambda: dialog.submit(False)).props("flat autofocus data-testid=sure-no")
    answer = await dialog
    dialog.delete()
    return bool(answer)
