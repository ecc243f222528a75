"""/tokens: API tokens for programs, with the rights of the person who made them, within scopes.

data-testid: token-label, token-days, token-scopes, token-make, token-<id>, revoke-<id>; once, once-text,
once-copy, once-close.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from discreet.curator.people.person import DAYS, SCOPES, Role, Scope
from discreet.curator.people.tokens import ApiToken
from discreet.service.console import theme
from discreet.service.console.dialogs import show_once
from discreet.service.console.frame import EVERYBODY, Page, Seat
from discreet.service.console.releases import when

_TERMS = ("Token",)
_ABOUT = (
    "A token lets a program, such as a notebook, sign in as you: dc.connect(address, token). It has your rights within "
    "the scopes you choose, but cannot make tokens or change your password."
)
_MAY = {Scope.ASK.value: "ask", Scope.READ.value: "read", Scope.MANAGE.value: "manage (make changes)"}
_KEEP = "Keep it like a password: where your program reads it, and in no file that others can see."


async def _build(seat: Seat) -> None:
    with theme.page("Tokens", _ABOUT, _TERMS):
        with theme.card("New token"), theme.row():
            label = theme.text("Purpose", "token-label", props="maxlength=60")
            days = theme.figure("Valid for, days", "token-days", value=DAYS, min=1, max=366, step=1, format="%d")
            scopes = theme.select(_MAY, "Scopes", "token-scopes", value=[one.value for one in SCOPES], multiple=True)
            make = ui.button("Make token", icon="key").props("unelevated data-testid=token-make")
        place = ui.element("div").classes("dc-stack")

        async def show() -> None:
            found = await seat.run(seat.desk.access.tokens)
            if found is None:
                return
            place.clear()
            with place:
                _tokens(seat, found, show)

        async def made() -> None:
            chosen = [Scope(one) for one in scopes.value or ()]
            token = await seat.run(
                seat.desk.access.new_token, (label.value or "").strip(), int(days.value or 0), chosen
            )
            if token is not None:
                label.set_value("")
                await show()
                show_once(f"Token “{token.label}”", token.text, _KEEP)

        make.on_click(made)
        await show()


PAGE = Page("/tokens", "Tokens", "key", EVERYBODY, 80, _build)


def _tokens(seat: Seat, tokens: Sequence[ApiToken], again: Callable[[], Awaitable[None]]) -> None:
    with theme.card("Active tokens"):
        if not tokens:
            theme.empty("No tokens yet. A program needs one to sign in.", "key")
        for token in tokens:
            with theme.row().classes("dc-line").props(f"data-testid=token-{token.id}"):
                ui.label(token.label).classes("dc-strong")
                may = ", ".join(one.value for one in token.scopes)
                ui.label(f"{token.person}: {may}; until {when(token.until)[:10]}").classes("dc-soft dc-small")
                ui.space()
                if token.person == seat.who.name or seat.who.role is Role.STEWARD:
                    _revoke(seat, token, again)


def _revoke(seat: Seat, token: ApiToken, again: Callable[[], Awaitable[None]]) -> None:
    async def revoke() -> None:
        if await seat.did(seat.desk.access.revoke, token.id):
            await again()
            seat.say(f"“{token.label}” is revoked.")

    button = ui.button("Revoke", on_click=revoke).props("flat dense")
    button.props(f"data-testid=revoke-{token.id}").props["aria-label"] = f"Revoke {token.label}"
