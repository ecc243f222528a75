"""Requests of the HTTP API from within the process that serves it: for the service's other protocols.

Each of them takes the same way as a request from outside, through every check, turn, limit and log.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from anyio import to_thread
from starlette.types import ASGIApp, Message

from discreet.core.optional import extra
from discreet.service.api.caller import PROVED
from discreet.service.client import error_of

with extra("serve"):
    import httpx

Call: TypeAlias = Callable[[str, str, Mapping[str, Any] | None, str | None], Awaitable[Any]]
"""Sends a request of the API: method, path, body and, over HTTP, the token; a ``DiscreetError`` if it fails."""

_LARGE = 100_000
"""Size from which a response is read in a thread, bytes."""
_HEADERS = [(b"host", b"localhost"), (b"content-type", b"application/json")]


def in_process(app: ASGIApp) -> Call:
    """Sends requests to an app of this process, with a token."""

    async def call(method: str, path: str, given: Mapping[str, Any] | None, token: str | None) -> Any:
        headers = [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
        return await _sent(app, method, path, given, {"headers": [*_HEADERS, *headers]})

    return call


def in_process_by_digest(app: ASGIApp, digest: str) -> Call:
    """Sends requests to an app of this process, in the name of someone who proved to know the token of this digest."""

    async def call(method: str, path: str, given: Mapping[str, Any] | None, _token: str | None = None) -> Any:
        return await _sent(app, method, path, given, {PROVED: digest})

    return call


async def _sent(
    app: ASGIApp,
    method: str,
    path: str,
    given: Mapping[str, Any] | None,
    more: Mapping[str, object],
) -> Any:
    body = b"" if given is None else json.dumps(given).encode()
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "headers": _HEADERS,
        "client": ("127.0.0.1", 0),
        "server": ("localhost", None),
        **more,
    }
    status, told, pieces, left = 500, [], [], [body]

    async def receive() -> Message:
        return {"type": "http.request", "body": left.pop()} if left else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal status, told
        if message["type"] == "http.response.start":
            status, told = message["status"], list(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            pieces.append(message.get("body", b""))

    with suppress(Exception):  # of which the response tells, and the log where it was
        await app(scope, receive, send)
    content = b"".join(pieces)
    if not 200 <= status < 300:
        raise error_of(httpx.Response(status, headers=told, content=content))
    if len(content) > _LARGE:
        return await to_thread.run_sync(json.loads, content)
    return json.loads(content)
