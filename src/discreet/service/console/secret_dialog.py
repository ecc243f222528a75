"""A secret that is told once: a one-time password, or a token for programs.

data-testid: once, once-text, once-copy, once-close.
"""

from __future__ import annotations

from nicegui import ui

from discreet.service.console import theme


def told_once(title: str, secret: str, what_to_do: str) -> None:
    """Show a secret in a dialog that does not close by accident; then it is gone for good."""
    with ui.dialog().props("persistent") as dialog, ui.card().props("data-testid=once"):
        ui.label(title).classes("dc-strong")
        with theme.row().classes("dc-secret"):
            ui.label(secret).classes("dc-code dc-grow").props("data-testid=once-text")
            copy = ui.button("Copy", icon="content_copy").props("outline dense data-testid=once-copy")
        theme.prose(what_to_do)
        theme.prose("It is shown this once, and kept nowhere: whoever loses it needs a new one.", soft=True)
        ui.button("I have it", on_click=dialog.close).props("unelevated data-testid=once-close")

    def copied() -> None:
        ui.clipboard.write(secret)
        ui.notify("Copied.", type="positive", position="top", timeout=2000)

    copy.on_click(copied)
    dialog.on("hide", dialog.delete)
    dialog.open()
