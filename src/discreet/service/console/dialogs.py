"""Dialogs: confirmation of irreversible actions, and secrets that are shown once.

data-testid: sure-go, sure-no; once, once-text, once-copy, once-close.
"""

from __future__ import annotations

from nicegui import ui

from discreet.service.console import theme


async def confirm(question: str, told: str) -> bool:
    """Ask for confirmation, stating the consequences; whether the user agreed."""
    with ui.context.client.content, ui.dialog() as dialog, ui.card():  # what was clicked may be drawn anew meanwhile
        dialog.props["aria-label"] = question
        ui.label(question).classes("dc-strong")
        theme.prose(told)
        with theme.row():
            ui.button("Yes", on_click=lambda: dialog.submit(True)).props("unelevated data-testid=sure-go")
            ui.button("No", on_click=lambda: dialog.submit(False)).props("flat autofocus data-testid=sure-no")
    answer = await dialog
    dialog.delete()
    return bool(answer)


def show_once(title: str, secret: str, what_to_do: str) -> None:
    """Show a secret once, in a dialog that does not close by accident."""
    with ui.dialog().props("persistent") as dialog, ui.card().props("data-testid=once"):
        dialog.props["aria-label"] = title
        ui.label(title).classes("dc-strong")
        with theme.row().classes("dc-secret"):
            ui.label(secret).classes("dc-code dc-grow").props("data-testid=once-text")
            copy = ui.button("Copy", icon="content_copy").props("outline dense aria-live=polite data-testid=once-copy")
        theme.prose(what_to_do)
        theme.prose("It is shown only once and stored nowhere. If it is lost, make a new one.", soft=True)
        ui.button("I have saved it", on_click=dialog.close).props("unelevated data-testid=once-close")

    def copied() -> None:
        ui.clipboard.write(secret)
        copy.set_text("Copied")

    copy.on_click(copied)
    dialog.on("hide", dialog.delete)
    dialog.open()
