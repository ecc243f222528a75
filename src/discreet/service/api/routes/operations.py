"""Health check, how it does, and what can be requested."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import time
from collections import OrderedDict
from math import inf
from typing import Annotated

from anyio import fail_after, to_thread
from fastapi import APIRouter, Request, Security
from fastapi.responses import HTMLResponse, Response
from fastapi.security import HTTPAuthorizationCredentials

from discreet._version import __version__
from discreet.core.families import FAMILIES
from discreet.curator.people.person import Scope
from discreet.errors import DiscreetError, Unreachable
from discreet.service.api.caller import COOKIE, Needs, bearer, cookie
from discreet.service.api.docs import page
from discreet.service.api.failures import READS, answers, status_of
from discreet.service.api.guard import PAPER_POLICY
from discreet.service.api.metrics import CONTENT, Now
from discreet.service.api.views import Catalogue, Health, Life
from discreet.service.operations.permissions import READERS

router = APIRouter(prefix="/v1", tags=["operations"])
_REMEMBERED = 600.0
"""Seconds for which someone who read the metrics may go on, while the database does not answer."""
_MOST_READERS = 100


@router.get("/live", responses=answers(), summary="Whether the service runs")
async def live() -> Life:
    """Anyone may call it, and it needs no database: without a reply, restart the service."""
    return Life(version=__version__)


@router.get(
    "/health",
    responses=answers() | {503: {"model": Health, "description": "Something that the service needs is not well."}},
    summary="Whether the service is ready to work",
)
async def health(request: Request, response: Response) -> Health:
    """Checks the database, the disk and the queues within a second. Anyone may call it.

    The status is 503 while one of them is not well: requests had better go to another process then.
    """
    problems = await request.app.state.condition.problems()
    well = not any(problems.values())
    response.status_code = 200 if well else 503
    return Health(status="ok" if well else "not ready", version=__version__, problems=problems)


@router.get(
    "/metrics",
    responses=READS | {200: {"content": {"text/plain": {}}, "description": "In Prometheus format."}},
    response_class=Response,
    summary="Prometheus metrics",
)
async def metrics(
    request: Request,
    token: Annotated[HTTPAuthorizationCredentials | None, Security(bearer)],
    session: Annotated[str | None, Security(cookie)],
) -> Response:
    """For stewards and auditors; with --local-metrics for anyone on this computer, without names of analysts.

    There is an answer within a second, also while the database does not give one: then without budgets and jobs.
    """
    state = request.app.state
    near = state.settings.local_metrics and _is_near(request) and token is None and session is None
    admitted = _nothing() if near else state.metrics_readers.require(request)
    _, problems, found = await asyncio.gather(admitted, state.condition.problems(), state.condition.databases())
    now = Now(problems, found, state.turns, names=not near)
    return Response(state.metrics.text(now), media_type=CONTENT)


class MetricsReaders:
    """Who may read the metrics. While the database does not answer, those whom it knew minutes ago."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, float] = OrderedDict()
        """When someone was let in last, by the digest of what they sent."""

    async def require(self, request: Request) -> None:
        """An error, in time, if a request may not read them."""
        sent = f"{request.headers.get('Authorization', '')} {request.cookies.get(COOKIE, '')}"
        who = hashlib.sha256(sent.encode()).digest()
        try:
            with fail_after(request.app.state.settings.health_seconds):
                await to_thread.run_sync(Needs(Scope.READ, READERS).find, request, abandon_on_cancel=True)
        except (TimeoutError, DiscreetError) as error:
            if isinstance(error, DiscreetError) and status_of(error) != 503:
                self._known.pop(who, None)
                raise
            if time.monotonic() - self._known.get(who, -inf) > _REMEMBERED:
                raise Unreachable("The service's database does not answer.", hint="Try again.") from None
        else:
            self._known[who] = time.monotonic()
            self._known.move_to_end(who)
            if len(self._known) > _MOST_READERS:
                self._known.popitem(last=False)


async def _nothing() -> None:
    """Nothing has to be asked of anyone."""


@router.get("/catalogue", responses=answers(), summary="All methods, models, rules and attacks")
def catalogue() -> Catalogue:
    """The name of each, how it is written, and a JSON schema of its parameters; the same for everyone."""
    return Catalogue(families=[family.to_dict() for family in FAMILIES])


@router.get(
    "/docs",
    responses=answers() | {200: {"content": {"text/html": {}}, "description": "A page."}},
    response_class=Response,
    summary="This list, as a page",
)
def docs(request: Request) -> HTMLResponse:
    """All requests with their fields. The page loads nothing else."""
    return HTMLResponse(page(request.app.openapi()), headers={"Content-Security-Policy": PAPER_POLICY})


def _is_near(request: Request) -> bool:
    """Whether a request was made on this computer."""
    try:
        return request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
