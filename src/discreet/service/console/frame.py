"""The frame around every page of the console: session, menu, messages, and error handling.

A page is a module with a ``PAGE``. Its ``build`` is called at every visit with a ``Seat``: the operations, and the
person signed in. The session is the cookie that the API uses too; it is checked again at every action, so a disabled
account can do nothing more on a page that is still open.

data-testid: nav-<page>, look, sign-out, whoami, menu, told (a message).
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import quote

import nicegui
from fastapi import Depends, FastAPI, HTTPException, Request
from nicegui import ui
from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.core.catalogue import import_declaration
from discreet.core.markup import Value, tag
from discreet.curator.answer import Answer
from discreet.curator.people.people import SignedIn
from discreet.curator.people.person import Person, Role
from discreet.errors import DiscreetError, NotAllowed, NotSignedIn, Refused
from discreet.service.api.caller import COOKIE
from discreet.service.api.failures import is_for
from discreet.service.api.guard import CONSOLE_POLICY
from discreet.service.api.limits import Buckets
from discreet.service.api.logs import Lines, Log
from discreet.service.api.metrics import Metrics
from discreet.service.console import theme
from discreet.service.operations.operations import Operations
from discreet.service.redact import redacted
from discreet.service.settings import Settings
from discreet.service.turns import Turns
from discreet.service.views import Spend

EVERYBODY = tuple(Role)
_OURS = logging.getLogger("discreet.console")
_THEIRS = logging.getLogger("nicegui")
_PATIENCE = 30.0
"""Seconds that a page may take to be built: on a busy machine it comes late, but it comes."""
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Seat:
    """Someone at the desk, looking at a page."""

    def __init__(
        self,
        desk: Operations,
        token: str,
        signed: SignedIn,
        *,
        given: Mapping[str, str],
        cookies: Mapping[str, str] | None = None,
        path: str,
        limits: Buckets,
        metrics: Metrics,
        turns: Turns,
    ) -> None:
        self.desk = desk
        self.who: Person = signed.person
        """As of the last look; every call looks again."""
        self.csrf = signed.csrf
        self.given = given
        """Parameters of the address: of its path and its query."""
        self.cookies = cookies or {}
        self.path = path
        self._messages: ui.element | None = None
        self._token = token
        self._limits = limits
        self._metrics = metrics
        self._turns = turns

    def still(self, *, used: bool = True) -> Person:
        """Anyone who sits here, if they are still signed in and do not ask too often; an error if not."""
        found = self.desk.people.session(self._token, used=used)
        if found is None:
            raise NotSignedIn("You are no longer signed in.", hint="Sign in again.")
        self.who = found.person
        self._limits.take(self.who.name)
        return self.who

    async def call(self, function: Callable[Concatenate[Person, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """``function(who, …)`` of the desk in a thread, so that no one else waits; its errors are raised."""
        return await self._work(lambda: function(self.still(), *args, **kwargs))

    async def work(self, function: Callable[Concatenate[Person, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """As ``call``, for what takes a while: in their turn."""
        return await self._told(self._turns.work(self.who.name, lambda: function(self.still(), *args, **kwargs)))

    async def answer(self, question: str, spend: Spend) -> Answer:
        """Ask the desk a question, in their turn; the answer is released at one of a few moments."""

        def asked() -> list[Answer]:
            return self.desk.ask(self.still(), [question], spend, hand_over=False)

        def released(answers: list[Answer]) -> None:
            self.desk.gave(self.who, *answers)

        return (await self._told(self._turns.answer(self.who.name, asked, released)))[0]

    async def poll(self, function: Callable[Concatenate[Person, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """As ``call``, by a page that looks by itself: a session that no one uses ends all the same."""
        return await self._work(lambda: function(self.still(used=False), *args, **kwargs))

    async def _work(self, work: Callable[[], _T]) -> _T:
        return await self._told(asyncio.to_thread(work))

    async def _told(self, work: Awaitable[_T]) -> _T:
        try:
            return await work
        except Exception as error:  # noqa: BLE001  # whatever it is, its text is for those who may read it
            self._metrics.refused(error)
            raise told_error(error, self.who, self.desk.workspace.folder) from None

    async def run(
        self, function: Callable[Concatenate[Person, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T | None:
        """As ``call``; an error is shown, and ``None`` comes back."""
        self._clear_errors()
        try:
            return await self.call(function, *args, **kwargs)
        except DiscreetError as error:
            self.tell(error)
            return None

    async def did(
        self, function: Callable[Concatenate[Person, _P], object], *args: _P.args, **kwargs: _P.kwargs
    ) -> bool:
        """As ``run``, for what gives nothing back: whether it went well."""
        self._clear_errors()
        try:
            await self.call(function, *args, **kwargs)
        except DiscreetError as error:
            self.tell(error)
            return False
        return True

    def tell(self, error: DiscreetError) -> None:
        """Show an error, in the dialog it happened in or else at the top of the page.

        Someone who is no longer signed in goes to the sign-in page.
        """
        if isinstance(error, NotSignedIn):
            ui.navigate.to(f"/signin?next={quote(self.path)}")
            return
        tone = "warn" if isinstance(error, Refused) else "bad"
        _show_message(_in_dialog() or self.messages(), error.message, error.hint.strip(), tone)

    def say(self, text: str) -> None:
        """Show that something was done, at the top of the page."""
        _show_message(self.messages(), text, "", "good")

    def _clear_errors(self) -> None:
        """Take away the error of an earlier action."""
        for one in list(self._messages or ()):
            if "dc-good" not in one.classes:
                one.delete()

    def messages(self) -> ui.element:
        """The place for messages, which is here if there is none yet."""
        if self._messages is None:
            self._messages = theme.messages()
        return self._messages


def _show_message(place: ui.element, text: str, hint: str, tone: str) -> None:
    place.clear()
    with place:
        theme.message(text, hint, tone)


def _in_dialog() -> ui.element | None:
    """The place for messages in the open dialog in which something was clicked, if that was in one."""
    here = ui.context.slot.parent
    dialog = next((one for one in here.ancestors(include_self=True) if isinstance(one, ui.dialog) and one.value), None)
    if dialog is None:
        return None
    place = next((one for one in dialog.descendants() if "dc-messages" in one.classes), None)
    if place is None:
        with next(iter(dialog)):
            place = theme.messages()
    return place


@dataclass(frozen=True)
class Page:
    """A page of the console."""

    path: str
    title: str
    icon: str
    """The name of a Material icon."""
    roles: tuple[Role, ...]
    """Whose drawer it is in, and who may open it."""
    order: int | None
    """Its place in the drawer; ``None``: it is reached by links."""
    build: Callable[[Seat], Awaitable[None] | None]


def pages() -> tuple[Page, ...]:
    """All pages: the ``PAGE`` of every module of the console that has one."""
    files = [one for one in Path(__file__).parent.glob("*.py") if "\nPAGE = " in one.read_text(encoding="utf-8")]
    found: list[Page] = [import_declaration(f"{__package__}.{one.stem}").PAGE for one in files]
    return tuple(sorted(found, key=lambda page: (page.order is None, page.order, page.path)))


def mount(app: FastAPI, desk: Operations, settings: Settings) -> None:
    """Put the console on an app: its pages, and the way in and out. One service a process."""
    from discreet.service.console import signin

    log_faults(app.state.log)
    signin.mount(app, desk, settings)
    theme.mount(app)
    for page in pages():
        known = [Depends(_known(desk))]
        ui.page(page.path, title=f"{page.title} · discreet", dependencies=known, response_timeout=_PATIENCE)(
            _visit(page, desk, app.state.people_limits, app.state.metrics, app.state.turns)
        )
    nicegui.app.middleware_stack = None  # a service that was here before, as in tests, had its own
    ui.run_with(
        app,
        title="discreet",
        favicon=theme.ICON,
        dark=None,
        language="en-US",
        tailwind=False,
        binding_refresh_interval=None,
        reconnect_timeout=10,
        show_welcome_message=False,
        gzip_middleware_factory=None,
    )
    nicegui.app.add_exception_handler(404, signin.nowhere)
    _serve_plainly(nicegui.app, packed=settings.beyond)


def _serve_plainly(inner: FastAPI, *, packed: bool) -> None:
    """Scripts and styles are kept by browsers, and packed on the way to other computers.

    NiceGUI's own middleware does the first too, but takes a browser that leaves early for a fault of ours.
    """
    inner.user_middleware.clear()
    inner.add_middleware(_Kept)
    if packed:
        inner.add_middleware(GZipMiddleware, compresslevel=5)


class _Kept:
    """Lets browsers keep what has its version in its address, and compile what NiceGUI writes into its pages."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; what is found under such an address may be kept for a year."""
        found = scope["path"] if scope["type"] == "http" else ""
        kept = found.startswith(f"/_nicegui/{nicegui.__version__}/") and "/dynamic_resources/" not in found

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if kept and message["status"] == 200:
                    headers["Cache-Control"] = theme.KEPT
                if headers.get("Content-Type", "").startswith("text/html"):
                    headers["Content-Security-Policy"] = CONSOLE_POLICY
            await send(message)

        await self._app(scope, receive, sending)


def _known(desk: Operations) -> Callable[[Request], None]:
    """Finds out who comes before NiceGUI makes a page for them, which it would keep for a minute for any stranger."""

    def known(request: Request) -> None:
        token = request.cookies.get(COOKIE, "")
        request.state.signed = desk.people.session(token) if token else None
        if request.state.signed is None:
            raise HTTPException(303, headers={"Location": f"/signin?next={quote(_place(request))}"})

    return known


def _visit(
    page: Page, desk: Operations, limits: Buckets, metrics: Metrics, turns: Turns
) -> Callable[[Request], Awaitable[Response | None]]:
    async def visit(request: Request) -> Response | None:
        signed: SignedIn = request.state.signed
        if signed.person.must_change:
            return RedirectResponse("/password", status_code=303)
        given = {**request.query_params, **request.path_params}
        place = _place(request)
        shared: dict[str, Any] = {"limits": limits, "metrics": metrics, "turns": turns}
        seat = Seat(desk, signed.token, signed, given=given, cookies=request.cookies, path=place, **shared)
        with _around(page, seat, request.cookies.get(theme.COOKIE, "")):
            try:
                if signed.person.role not in page.roles:
                    raise NotAllowed("Your role may not open this page.", hint="Choose a page from the menu.")
                built = page.build(seat)
                if inspect.isawaitable(built):
                    await built
            except NotSignedIn:
                return RedirectResponse(f"/signin?next={quote(place)}", status_code=303)
            except Exception as error:  # noqa: BLE001  # whatever it is, its text is for those who may read it
                theme.refusal(told_error(error, seat.who, desk.workspace.folder))
        return None

    return visit


def _place(request: Request) -> str:
    """Where a request goes, as a path of ours."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def _around(page: Page, seat: Seat, chosen: str) -> ui.element:
    """The bar, the drawer, and the room for the page itself."""
    theme.head(chosen)
    ui.add_body_html(tag("a", "Skip to the page", class_="dc-skip", href="#main"))
    drawer = ui.left_drawer(value=None, elevated=False).classes("dc-drawer")
    drawer.props('width=224 breakpoint=900 show-if-above role=navigation aria-label="Pages"')
    with ui.header(elevated=False).classes("dc-bar"):
        menu = ui.button(icon="menu", color=None, on_click=drawer.toggle).props('flat round dense aria-label="Menu"')
        menu.props("data-testid=menu").classes("dc-menu")
        ui.html(tag("a", theme.MARK, tag("span", "discreet"), class_="dc-brand", href="/"), sanitize=False)
        ui.space()
        own: dict[str, Value] = {"href": "/password", "title": "Change your password", "data_testid": "whoami"}
        who = seat.who.name, tag("small", seat.who.role.value)
        ui.html(tag("a", who, class_="dc-who", **own), sanitize=False)
        theme.switch()
        csrf = tag("input", type="hidden", name="csrf", value=seat.csrf)
        leave = tag("button", "Sign out", type="submit", data_testid="sign-out")
        out: dict[str, Value] = {"method": "post", "action": "/signout", "onsubmit": "sessionStorage.clear()"}
        ui.html(tag("form", csrf, leave, class_="dc-out", **out), sanitize=False)  # drafts are not left to the next
    with drawer:
        for group, offered in _menu(seat.who.role).items():
            if group and offered:
                ui.label(group).classes("dc-nav-group")
            for one in offered:
                _entry(one, here=one is page)
    room = ui.element("div").props("id=main tabindex=-1").classes("dc-page")
    with room:
        seat.messages()
    return room


def _menu(role: Role) -> dict[str, list[Page]]:
    """The pages that a role is offered, by group."""
    offered = [one for one in pages() if one.order is not None and role in one.roles]
    return {group: [one for one in offered if _group(one) == group] for group in ("", *_GROUPS)}


def _group(page: Page) -> str:
    return next((group for group, paths in _GROUPS.items() if page.path in paths), "" if page.path == "/" else _RELEASE)


_RELEASE = "Release"
_GROUPS = {
    _RELEASE: (),
    "Check": ("/releases", "/exposure", "/attack", "/prove"),
    "Manage": ("/data", "/budget", "/people", "/tokens", "/audit", "/glossary"),
}
"""Groups of the menu, and the pages in them; a page that is in no list is a way to release something."""


def _entry(page: Page, *, here: bool) -> None:
    name = page.path.strip("/") or "home"
    with ui.element("a").classes("dc-nav").props(f'href="{page.path}" data-testid=nav-{name}') as entry:
        ui.icon(page.icon).props("aria-hidden=true")
        ui.label(page.title)
    if here:
        entry.props("aria-current=page")


def log_faults(log: Log) -> None:
    """Write faults of the console to the service's log: their kind and place in the code, never their text.

    NiceGUI's own log quotes addresses and the text of errors, which may quote data: nothing of its warnings is kept.
    """
    for logger in (_OURS, _THEIRS):
        logger.handlers = [Lines(log)]
        logger.setLevel(logging.ERROR)
        logger.propagate = False


def told_error(error: Exception, who: Person | None, workspace: Path) -> DiscreetError:
    """What someone is told of an error: itself, if they may read it; any other is written down."""
    if isinstance(error, DiscreetError) and is_for(who, error):
        return redacted(error, workspace)
    _OURS.error("", exc_info=error)
    return DiscreetError("Something went wrong here.", hint="Try again. If it happens again, tell a steward.")
