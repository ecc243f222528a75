"""A survey's page as a process: behind the service's own guard, by the service's own rules for who may listen where."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from discreet.core.optional import extra
from discreet.errors import TooMany

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from discreet.service.settings import Settings
    from discreet.verbs.collect.survey.inbox import Inbox
    from discreet.verbs.collect.survey.survey import Survey


def serve_survey(survey: Survey, inbox: Inbox, settings: Settings, *, ready: Callable[[str], None]) -> None:
    """Serve until told to stop; ``ready`` is called with the address once requests are answered."""
    from discreet.service.api.guard import Guard
    from discreet.service.listen import listening
    from discreet.service.server import Server
    from discreet.verbs.collect.survey.web import make_app

    with listening(settings) as door, suppress(KeyboardInterrupt):  # the way to stop it
        app = Guard(Limited(make_app(survey, inbox), settings), settings)
        server = Server(app, settings, lambda: ready(settings.address(door.getsockname()[1])))
        server.run(sockets=[door])


class Limited:
    """Lets nobody send reports faster than a classroom does: who likes to flood it has to take their time."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        from discreet.service.api.limits import Buckets

        self._app = app
        self._turns = Buckets(settings.rate, settings.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a turn for whoever sends something, or say how long to wait."""
        if scope["type"] == "http" and scope["method"] == "POST":
            with extra("serve"):
                from starlette.responses import JSONResponse

            from discreet.service.api.limits import neighbourhood

            try:
                self._turns.take(neighbourhood((scope.get("client") or ("",))[0]))
            except TooMany as error:
                said = {"message": error.message, "hint": error.hint}
                await JSONResponse(said, 503, {"Retry-After": str(error.wait)})(scope, receive, send)
                return
        await self._app(scope, receive, send)
