"""The service as a process: it listens, is told to stop, finishes what it is at, and lets go.

When it is stopped (SIGTERM, Ctrl-C) it takes no new request, finishes those that are running, gives a running job some
seconds, and closes the ledger. If it is killed instead, nothing is lost that was paid for: an answer is in the release
store before it is given, so whoever asks the same again gets it, for free.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import webbrowser
from asyncio import to_thread
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import uvicorn
from fastapi import FastAPI

from discreet.curator.people.person import Role
from discreet.errors import BadInput
from discreet.service.api.logs import Log
from discreet.service.app import make_app
from discreet.service.desk import HOST, Desk
from discreet.service.lines import log_plainly
from discreet.service.listen import listening, server_context
from discreet.service.settings import Settings

_STEWARD = "steward"
"""What the first steward is called."""


def serve(desk: Desk, settings: Settings, *, ready: Callable[[str], None]) -> None:
    """Serve until told to stop; ``ready`` is called with the address once requests are answered."""
    log_plainly(log := Log())
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        if settings.cert is not None and settings.key is not None:
            server_context(settings.cert, settings.key)  # what is wrong with them is said here, not by uvicorn
        with listening(settings) as door:

            def started() -> None:
                desk.start()
                ready(settings.address(door.getsockname()[1]))

            _Server(make_app(desk, settings, log=log), settings, started).run(sockets=[door])
    except KeyboardInterrupt:
        pass  # the way to stop it
    finally:
        desk.close(settings.grace)
        signal.signal(signal.SIGTERM, before)


def first_steward(desk: Desk) -> dict[str, str]:
    """If nobody looks after the workspace yet, a steward is made: their name and one-time password."""
    if any(one.role is Role.STEWARD for one in desk.persons(HOST)):
        return {}
    try:
        return {_STEWARD: desk.add_person(HOST, _STEWARD, Role.STEWARD)}
    except BadInput:  # another process of the same service was faster, and tells the password
        return {}


def can_show_browser() -> bool:
    """Whether somebody sits before a screen on which a browser can open."""
    screen = sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return screen and sys.stdout.isatty()


def show_browser(address: str) -> None:
    """Open a browser at an address, if there is one."""
    with suppress(webbrowser.Error):
        webbrowser.open(address)


class _Server(uvicorn.Server):
    """uvicorn, that says when requests are answered."""

    def __init__(self, app: FastAPI, settings: Settings, started: Callable[[], None]) -> None:
        config = uvicorn.Config(
            app,
            ssl_certfile=settings.cert,
            ssl_keyfile=settings.key,
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=round(settings.grace),
        )
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            await to_thread(self._started)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
