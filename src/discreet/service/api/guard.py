"""What every request meets first, those of the console and its websocket too: is it for us, from us, and not too large?

* ``Host`` must be a name of ours. Otherwise a page from elsewhere whose name points to this computer (DNS rebinding)
  could talk to a service that listens to this computer alone.
* ``Origin``, where a browser says it, must be ours for everything that may change something, and for the console's
  socket.
* A body may be so large and no larger, however it is sent, and not compressed: a small one could unpack to anything.
  Files that are uploaded may be larger; they are written to the disk as they come, by stewards alone. Any other body
  has to come soon, so that no one holds connections by sending a byte now and then.

Every response says what browsers may do with it: load nothing from elsewhere, be in no frame of others, keep no copy.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.core.markup import page, tag
from discreet.service.api.caller import SAFE
from discreet.service.api.failures import Failure, response
from discreet.service.api.logs import note
from discreet.service.operations.data import MOST_BYTES
from discreet.service.settings import Settings

_POLICY = (
    "default-src 'self'; script-src 'self'{}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; object-src 'none'; "
    "base-uri 'none'; form-action 'self'"
)
POLICY = _POLICY.format("")
"""Whatever is not a page of the console: the API, the sign-in page, what was not found."""
CONSOLE_POLICY = _POLICY.format(" 'unsafe-inline' 'unsafe-eval'")
"""The console's pages: NiceGUI writes scripts into them and compiles others in the browser (docs/decisions, 8)."""
PAPER_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
"""Reports, which are made of data: they can run, load and send nothing, and stand in a frame of ours at most."""
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), interest-cohort=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
}
_NAMED = "The administrator can add the name: discreet serve --name NAME, once per name."
_STRICT_TRANSPORT = "max-age=31536000"
BODY_SECONDS = 60.0
"""How long a request's body may take to come, unless it is a file that is uploaded."""
UPLOADS = "/v1/data/uploads"
"""Where files are uploaded."""
_STATIC = "/_nicegui/"
"""Scripts and styles: the same for everyone, and kept by browsers."""


_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(?::\d*)?")
_SOCKET = "/_nicegui_ws/"
"""The console's socket, which can be polled too, and would be by pages of anyone."""


class Guard:
    """Refuses what is not for us, and seals what leaves."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        sealed = self._sealing(scope, send)
        wrong = self._wrong(scope)
        if wrong is None:
            counted = self._counted(receive, self._most(scope))
            await self._app(scope, counted if scope["path"] == UPLOADS else _within(counted, BODY_SECONDS), sealed)
            return
        status, message, hint = wrong
        note(scope).error = "Guard"
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        kind = "NotAllowed" if status == 403 else "BadInput"
        said = Failure(error=kind, message=message, hint=hint, request=note(scope).id)
        answer = _page(status, said) if _reads_pages(scope) else response(status, said)
        await answer(scope, receive, sealed)

    def _wrong(self, scope: Scope) -> tuple[int, str, str] | None:
        """Why a request is not taken, if it is not, and what to do."""
        headers = [(name, value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = _all(headers, b"host")
        if len(hosts) != 1 or _name(hosts[0]) not in self._settings.hosts:
            return 421, "This service does not have that host name.", _NAMED
        socket = scope["type"] == "websocket"
        if socket or scope["method"] not in SAFE or scope["path"].startswith(_SOCKET):
            origins = _all(headers, b"origin")
            if (socket and not origins) or any(not self._is_ours(origin, hosts[0]) for origin in origins):
                return 403, "The request comes from another site.", "Use the pages of this service."
        if any(value.strip().lower() != "identity" for value in _all(headers, b"content-encoding")):
            return 415, "A request must not be compressed.", "Send it uncompressed."
        lengths = _all(headers, b"content-length")
        most = self._most(scope)
        if any(not value.isdecimal() or len(value) > 15 or int(value) > most for value in lengths):
            return 413, f"A request may have at most {most:,} bytes.", "Send less."
        return None

    def _most(self, scope: Scope) -> int:
        """The most bytes that a request may bring."""
        return MOST_BYTES if scope["path"] == UPLOADS else self._settings.most_body

    def _is_ours(self, origin: str, host: str) -> bool:
        """Whether a page is from here. Behind someone who speaks TLS for us, its scheme may not be ours."""
        try:
            said = urlsplit(origin)
        except ValueError:
            return False
        schemes = ("https",) if self._settings.tls else ("http", "https")
        usual = {"http": ":80", "https": ":443"}.get(said.scheme, "")
        return said.scheme in schemes and said.netloc.lower().removesuffix(usual) == host.lower().removesuffix(usual)

    def _counted(self, receive: Receive, most: int) -> Receive:
        """A body counted as it comes: one sent in pieces does not say how large it is."""
        got = 0

        async def counting() -> Message:
            nonlocal got
            message = await receive()
            if message["type"] == "http.request":
                got += len(message.get("body", b""))
                if got > most:
                    raise HTTPException(413, f"A request may have at most {most:,} bytes")
            return message

        return counting

    def _sealing(self, scope: Scope, send: Send) -> Send:
        static = scope["path"].startswith(_STATIC)

        async def sealing(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if not static:
                    headers["Cache-Control"] = "no-store"
                if self._settings.encrypted:
                    headers["Strict-Transport-Security"] = _STRICT_TRANSPORT
            await send(message)

        return sealing


def _within(receive: Receive, seconds: float) -> Receive:
    """A body that has to come within some seconds of when it is first asked for."""
    until: float | None = None
    whole = False

    async def limited() -> Message:
        nonlocal until, whole
        until = until or asyncio.get_running_loop().time() + seconds
        try:
            async with asyncio.timeout_at(None if whole else until):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, "The request took too long to arrive", {"Connection": "close"}) from None
        whole = whole or not message.get("more_body", False)
        return message

    return limited


def _reads_pages(scope: Scope) -> bool:
    """Whether a browser asks, for someone to read."""
    accepted = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    return b"text/html" in accepted and not scope["path"].startswith("/v1/")


def _page(status: int, said: Failure) -> Response:
    return HTMLResponse(page("discreet", tag("h1", said.message), tag("p", said.hint)), status)


def _all(headers: Iterable[tuple[bytes, str]], name: bytes) -> list[str]:
    return [value for key, value in headers if key == name]


def _name(host: str) -> str:
    """A ``Host`` without its port: ``[::1]:8640`` is ``::1``. None if it has more than that."""
    found = _HOST.fullmatch(host.lower())
    return found[1].strip("[]") if found else ""
