"""Public pages of surveys: ``/s/<id>/``, for anyone who has the link.

No one signs in here, and nothing is written down but reports: no line of the service's log, no address and no time.
Whatever is not an open survey is answered alike, so that the pages tell nothing of the workspace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import CapacityLimiter, to_thread
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse

from discreet.core.markup import page, tag
from discreet.errors import DiscreetError, NotFound, TooMany
from discreet.service.api.limits import Buckets, neighbourhood
from discreet.service.operations.surveys import SurveyOperations
from discreet.service.settings import Settings
from discreet.verbs.collect.survey.web import POLICY, make_app

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from discreet.verbs.collect.survey.inbox import Inbox

PREFIX = "/s/"
_THREADS = 4
"""Threads that look surveys up: anyone may call these pages, and must not take the threads of those signed in."""


class SurveyPages:
    """The pages of all surveys that are open, as an ASGI app. Who may call it is decided by the guard before it."""

    def __init__(self, surveys: SurveyOperations) -> None:
        self._surveys = surveys
        self._apps: dict[str, tuple[Inbox, ASGIApp]] = {}
        self._threads = CapacityLimiter(_THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a page of a survey, or for none."""
        id, slash, rest = scope["path"].removeprefix(PREFIX).partition("/")
        try:
            app = await to_thread.run_sync(self._app, id, limiter=self._threads)
        except (DiscreetError, OSError) as error:  # of what else is wrong, the server's log would say when
            await _unavailable(404 if isinstance(error, NotFound) else 503)(scope, receive, send)
            return
        if not slash:  # what a page loads is named from its own folder
            await RedirectResponse(f"{PREFIX}{id}/")(scope, receive, send)
            return
        await app({**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode(), "root_path": ""}, receive, send)

    def _app(self, id: str) -> ASGIApp:
        try:
            survey, inbox = self._surveys.collecting(id)
        except DiscreetError:
            self._apps.pop(id, None)
            raise
        known = self._apps.get(id)
        if known is None or known[0] is not inbox:
            known = self._apps[id] = inbox, make_app(survey, inbox)
        return known[1]


class RateLimit:
    """Middleware that limits how fast a neighbourhood of addresses may send reports: as fast as a classroom does."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._buckets = Buckets(settings.rate, settings.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer how long to wait."""
        if scope["type"] == "http" and scope["method"] == "POST":
            try:
                self._buckets.take(neighbourhood((scope.get("client") or ("",))[0]))
            except TooMany as error:
                body = {"message": error.message, "hint": error.hint}
                await JSONResponse(body, 503, {"Retry-After": str(error.wait)})(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _unavailable(status: int) -> HTMLResponse:
    said = "There is no open survey here." if status == 404 else "This survey cannot be answered just now."
    text = page("Survey", tag("main", tag("h1", said), tag("p", "Ask the person who sent you the link.")))
    return HTMLResponse(text, status, {"Content-Security-Policy": POLICY})
