"""The survey's page and where it sends reports to, as an ASGI app.

Who may call it, and how large a request may be, is seen to by whoever puts it behind a door; see `discreet collect
serve`. Nothing about a request is written down but the report that it brings: no address, no time, no browser.
"""

from __future__ import annotations

from typing import Any

from discreet.core.optional import extra
from discreet.errors import BadInput, DiscreetError, NotAllowed
from discreet.verbs.collect.survey.inbox import Inbox
from discreet.verbs.collect.survey.page import FILES, POLICY, page, source
from discreet.verbs.collect.survey.survey import Survey

with extra("serve"):
    from anyio import to_thread
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route


def make_app(survey: Survey, inbox: Inbox) -> Starlette:
    """The app of a survey whose reports go into an inbox."""
    shown = page(survey, codes=inbox.needs_code)

    async def front(_: Request) -> Response:
        return Response(shown, media_type="text/html", headers={"Content-Security-Policy": POLICY})

    async def receive(request: Request) -> Response:
        try:
            await to_thread.run_sync(inbox.receive, await _json(request))
        except DiscreetError as error:
            status = 403 if isinstance(error, NotAllowed) else 400 if isinstance(error, BadInput) else 503
            message = error.message.encode("utf-8", "replace").decode()  # it may quote what was sent
            return JSONResponse({"message": message, "hint": error.hint}, status)
        except OSError:
            return JSONResponse({"message": "The report could not be kept.", "hint": "Please try again later."}, 503)
        return JSONResponse({"message": "Received."})

    files = [Route(f"/{name}", _file(name, kind)) for name, kind in FILES.items()]
    none = Route("/favicon.ico", lambda _: Response(status_code=204))
    return Starlette(routes=[Route("/", front), *files, none, Route("/reports", receive, methods=["POST"])])


def _file(name: str, kind: str) -> Any:
    text = source(name)
    return lambda _: Response(text, media_type=kind, headers={"Content-Security-Policy": POLICY})


async def _json(request: Request) -> Any:
    if request.headers.get("content-type") != "application/json":
        raise BadInput("A report is JSON.")
    try:
        return await request.json()
    except (ValueError, RecursionError):
        raise BadInput("A report is JSON.") from None
