"""A real service in a thread of the tests, at a port that was free."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import uvicorn
from fastapi import FastAPI

from discreet.service.api.caller import COOKIE, CSRF
from discreet.service.api.logs import Log
from discreet.service.app import make_app
from discreet.service.operations.operations import Operations
from discreet.service.settings import Settings

MANY = Settings(port=0, rate=10_000, burst=10_000, sign_ins_a_minute=10_000, health_seconds=60)
"""Settings for tests that are about anything but how often."""


@dataclass(frozen=True)
class Service:
    """Where it is, and what it logged."""

    url: str
    app: FastAPI
    log: io.StringIO
    clients: list[httpx.Client]
    """Whoever called; they are let go at the end."""

    def client(self, token: str | None = None) -> httpx.Client:
        """Somebody who calls it."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.clients.append(httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False))
        return self.clients[-1]

    def browser(self, name: str, password: str) -> httpx.Client:
        """Somebody who signed in with a password, and sends what a page of ours would send."""
        client = self.client()
        signed = client.post("/v1/session", json={"name": name, "password": password})
        assert signed.status_code == 200, signed.text
        assert client.cookies[COOKIE]
        client.headers[CSRF] = signed.json()["csrf"]
        return client


@contextmanager
def serving(desk: Operations, settings: Settings = MANY, *, console: bool = False) -> Iterator[Service]:
    """Serve a desk; the console takes a second to start, and there is one a process."""
    log = io.StringIO()
    app = make_app(desk, settings, log=Log(log), console=console)
    secured = {"ssl_certfile": settings.cert, "ssl_keyfile": settings.key}
    quiet = {"access_log": False, "log_config": None, "server_header": False, "proxy_headers": False}
    server = uvicorn.Server(uvicorn.Config(app, port=settings.port, **secured, **quiet))
    ready = threading.Event()
    startup = server.startup

    async def started(*args: object, **kwargs: object) -> None:
        await startup(*args, **kwargs)
        ready.set()

    server.startup = started
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    clients: list[httpx.Client] = []
    try:
        assert ready.wait(120), "it did not start"
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Service(settings.address(port), app, log, clients)
    finally:
        for client in clients:
            client.close()
        server.should_exit = True
        thread.join(30)
