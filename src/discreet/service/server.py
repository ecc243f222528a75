"""uvicorn as everything here uses it: plain, by the settings, and saying when requests are answered."""

from __future__ import annotations

import socket
from asyncio import to_thread
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from discreet.service.listen import Certificate
from discreet.service.settings import Settings


class Server(uvicorn.Server):
    """Serves an app; ``started`` is called in a thread once requests are answered."""

    def __init__(
        self, app: ASGIApp, settings: Settings, started: Callable[[], None], certificate: Certificate | None
    ) -> None:
        config = uvicorn.Config(
            app,
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=round(settings.grace),
        )
        config.load()
        self.certificate = certificate
        if certificate is not None:
            config.ssl = certificate.context
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets=sockets)
        if self.started:
            await to_thread(self._started)
