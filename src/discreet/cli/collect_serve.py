"""A survey's page as a process: behind the service's own guard, by the service's own rules for who may listen where."""

from __future__ import annotations

import socket
from asyncio import to_thread
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

from discreet.errors import MissingPart

if TYPE_CHECKING:
    from discreet.collect.survey.inbox import Inbox
    from discreet.collect.survey.survey import Survey
    from discreet.service.settings import Settings


def require_parts() -> None:
    """An error if what it takes to serve is not installed."""
    for part in ("fastapi", "uvicorn"):
        if find_spec(part) is None:
            raise MissingPart(part, "serve")


def serve_survey(survey: Survey, inbox: Inbox, settings: Settings, *, ready: Callable[[str], None]) -> None:
    """Serve until told to stop; ``ready`` is called with the address once requests are answered."""
    import uvicorn

    from discreet.collect.survey.web import make_app
    from discreet.service.api.guard import Guard
    from discreet.service.listen import listening, server_context

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            if self.started:
                await to_thread(ready, settings.address(door.getsockname()[1]))

    if settings.cert is not None and settings.key is not None:
        server_context(settings.cert, settings.key)  # what is wrong with them is said here, not by uvicorn
    config = uvicorn.Config(
        Guard(make_app(survey, inbox), settings),
        ssl_certfile=settings.cert,
        ssl_keyfile=settings.key,
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=round(settings.grace),
    )
    with listening(settings) as door, suppress(KeyboardInterrupt):  # the way to stop it
        Server(config).run(sockets=[door])
