"""The console without a browser: pages are built and acted on in this process, by NiceGUI's own test user."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest
from nicegui import background_tasks, ui
from nicegui.testing import User
from tests.loops import run

from discreet.service.api.caller import COOKIE
from discreet.service.api.logs import Log
from discreet.service.app import make_app
from discreet.service.settings import Settings

BASE = "http://127.0.0.1:8640"


class Console:
    """The console of a clinic."""

    def __init__(self, clinic: Any) -> None:
        self.clinic = clinic
        self.said = io.StringIO()
        self._sessions: dict[str, str] = {}
        self.app = make_app(clinic.desk, Settings(sign_ins_a_minute=1000, health_seconds=60), log=Log(self.said))

    def browse(self, act: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
        """Act as a browser that runs no scripts."""

        async def acting() -> None:
            async with self.app.router.lifespan_context(self.app):
                transport = httpx.ASGITransport(self.app)
                async with httpx.AsyncClient(transport=transport, base_url=BASE) as http:
                    await act(http)

        run(acting())

    def visit(self, name: str, act: Callable[[User], Awaitable[None]]) -> None:
        """Act as somebody who is signed in."""
        token = self.token(name)

        async def acting(http: httpx.AsyncClient) -> None:
            http.cookies.set(COOKIE, token)
            await act(User(http))

        self.browse(acting)

    def token(self, name: str) -> str:
        """Somebody's session, which is begun once."""
        if name not in self._sessions:
            self._sessions[name] = self.clinic.desk.access.sign_in(name, self.clinic.password(name)).token
        return self._sessions[name]


@pytest.fixture(scope="module")
def console(clinic: Any) -> Console:
    return Console(clinic)


@pytest.fixture(autouse=True)
def nicegui_as_it_was() -> Iterator[None]:
    """The test user puts itself in the place of these, for good."""
    kept = ui.navigate, ui.notify, ui.download
    yield
    ui.navigate, ui.notify, ui.download = kept


def seen(user: User, testid: str) -> list[Any]:
    """The elements of a page with this mark."""
    assert user.client is not None
    return [one for one in user.client.elements.values() if one.props.get("data-testid") == testid]


def messages(user: User) -> list[str]:
    """The messages that a page or its dialogs show just now, each with what to do."""
    shown = seen(user, "told")
    return [" ".join(str(part.text) for part in one.descendants() if getattr(part, "text", "")) for one in shown]


def text(user: User) -> str:
    """Everything that a page says."""
    assert user.client is not None
    found = []
    for one in user.client.elements.values():
        found += [str(getattr(one, name)) for name in ("text", "content", "value") if getattr(one, name, None)]
    return "\n".join(found)


async def until(true: Callable[[], object]) -> None:
    """Wait until something is so; an error after two minutes."""
    for _ in range(2400):
        if true():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it did not become so")


def press(user: User, testid: str, said: Any = None) -> set[asyncio.Task[Any]]:
    """Click the button with this mark; ``said`` is what the browser sends along. What the click set to work."""
    before = set(background_tasks.running_tasks)
    (button,) = seen(user, testid)
    for listener in [*button._event_listeners.values()]:  # a click may take the button away
        if listener.type == "click":
            button._handle_event({"listener_id": listener.id, "args": said or {}})
    return background_tasks.running_tasks - before
