"""What happened, as one line of JSON a request: when, which kind of request, how it ended, how long it took, who.

No line holds an address with values in it, a body, a header, a message or an answer: of a request there is the template
of its route, of an error its kind and where in the code it was raised.

What the parts of the service log on their own is written likewise (``log_plainly``). Our own words hold nothing of
anyone's. Those of other packages, and of errors that no one caught, may quote whatever they stumbled over: of these
there is the kind and where in the code it was, and not a word of what they say.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.curator.people.person import Person
from discreet.service.api.metrics import Metrics
from discreet.service.operations.permissions import REQUEST

_NOTE = "discreet.note"
_TELEMETRY = "fastapi.telemetry"
"""Where FastAPI looks whether a request is told to OpenTelemetry already. It is: by no one, the console's apps too."""
_FRAMES = 6
_OURS = "discreet"
_EXTRAS = ("kind", "page", "request")
"""What our own lines say beside their text."""


@dataclass
class Note:
    """What is known of a request while it is worked on."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex[:16])
    person: Person | None = None
    error: str = ""
    """The kind of what went wrong."""


def note(scope: Scope) -> Note:
    """What is noted of a request."""
    found: Note = scope.setdefault(_NOTE, Note())
    return found


class Log:
    """Lines of JSON, each written whole."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, **said: object) -> None:
        """Write a line."""
        line = json.dumps({"at": dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds"), **said})
        stream = self._stream or sys.stderr
        with self._lock, suppress(OSError, ValueError):  # anyone who read it is gone: that must not stop the work
            stream.write(line + "\n")
            stream.flush()


class Logged:
    """Writes a line for every request, and counts it. What no one else caught ends here, and is not passed on."""

    def __init__(self, app: ASGIApp, log: Log, metrics: Metrics) -> None:
        self._app = app
        self._log = log
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        scope[_TELEMETRY] = None
        known, began, status = note(scope), time.perf_counter(), 0
        before = REQUEST.set(known.id)
        method = scope["method"] if scope["type"] == "http" else "WEBSOCKET"

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message.setdefault("headers", [])
                message["headers"] = [*message["headers"], (b"x-request-id", known.id.encode())]
            elif message["type"] == "websocket.accept":
                status = 101
            await send(message)

        where: list[str] = []
        try:
            await self._app(scope, receive, sending)
        except Exception as error:  # noqa: BLE001  # its text may quote data, and anyone who runs us would print it
            known.error, where = type(error).__name__, frames_of(error)
            if status == 0 and scope["type"] == "http":
                await _fault(sending, known.id)
        finally:
            seconds = time.perf_counter() - began
            route = _route(scope)
            self._metrics.seen(method, route, status, seconds)
            line: dict[str, Any] = {
                "level": _level(status, known),
                "request": known.id,
                "method": method,
                "route": route,
                "status": status,
            }
            line |= {"ms": round(seconds * 1000, 1), "person": known.person.name if known.person else None}
            line |= {"error": known.error} if known.error else {}
            self._log.write(**line, **({"where": where} if where else {}))
            REQUEST.reset(before)


def _level(status: int, known: Note) -> str:
    """How bad it is: what is broken, what cannot be reached just now, and what is as it should be."""
    if status == 503:
        return "warning"
    return "error" if status >= 500 or (status == 0 and known.error) else "info"


async def _fault(send: Send, request: str) -> None:
    said = {
        "error": "Fault",
        "message": "Internal error of the service.",
        "hint": "Report it to a steward.",
        "request": request,
    }
    body = json.dumps(said).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 500, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def frames_of(error: BaseException) -> list[str]:
    """Where an error came from, without a word of what it says."""
    frames: Iterable[traceback.FrameSummary] = traceback.extract_tb(error.__traceback__)
    return [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in list(frames)[-_FRAMES:]]


def _route(scope: Scope) -> str:
    """The template of the route that a request took; of one that took none, nothing."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) and path else "-"


def log_plainly(log: Log) -> None:
    """Write everything that this process logs to ``log`` from now on."""
    root = logging.getLogger()
    root.handlers[:] = [Lines(log)]
    root.setLevel(logging.WARNING)
    logging.getLogger(_OURS).setLevel(logging.INFO)
    threading.excepthook = _caught


class Lines(logging.Handler):
    """Writes a line for everything that is logged."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        line: dict[str, object] = {"level": record.levelname.lower(), "logger": record.name}
        error = record.exc_info[1] if record.exc_info else None
        if error is None and isinstance(record.msg, BaseException):  # as NiceGUI does
            error, record.msg = record.msg, ""
        if record.name.partition(".")[0] == _OURS:
            line["said"] = record.getMessage()
            line |= {name: getattr(record, name) for name in _EXTRAS if hasattr(record, name)}
        else:
            line["at_line"] = f"{record.filename}:{record.lineno}"
        if error is not None:
            line |= {"error": type(error).__name__, "where": frames_of(error)}
        self._log.write(**line)


def _caught(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None:
        logging.getLogger("thread").error("", exc_info=args.exc_value)
