"""uvicorn as everything here uses it: plain, by the settings, and saying when requests are answered.

Anyone may connect, also who never signs in, and a process has places for about a thousand connections. So one
neighbourhood of addresses may have some of them, and a connection that asks nothing is closed.
"""

from __future__ import annotations

import asyncio
import socket
from asyncio import to_thread
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from discreet.service.api.limits import neighbourhood
from discreet.service.listen import Certificate
from discreet.service.settings import Settings

CONNECTIONS = 250
"""Most connections that one neighbourhood of addresses may have at once."""
IDLE_SECONDS = 60.0
"""How long a connection may be open without a request that is whole, or under way."""


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
        most = None if settings.behind_proxy else CONNECTIONS  # a proxy's connections are all of one address
        config.http_protocol_class = _limited(config.http_protocol_class, most)
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


def _limited(kind: type[asyncio.Protocol], most: int | None) -> type[asyncio.Protocol]:
    """uvicorn's protocol for connections of which one neighbourhood may have ``most``, and none may idle."""

    class Limited(kind):  # type: ignore[misc, valid-type]
        """A connection."""

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            place = _place(self)
            if most is not None and sum(_place(one) == place for one in self.connections) > most:
                transport.abort()
            else:
                self.loop.call_later(IDLE_SECONDS, self._close_if_idle, None)

        def _close_if_idle(self, last: Any) -> None:
            """Close it if no request came since the last time, and none is under way."""
            if self not in self.connections:  # closed, or a websocket by now
                return
            if self.cycle is last and (last is None or last.response_complete):
                self.transport.close()
            else:
                self.loop.call_later(IDLE_SECONDS, self._close_if_idle, self.cycle)

    return Limited


def _place(connection: Any) -> str:
    return neighbourhood((connection.client or ("",))[0])
