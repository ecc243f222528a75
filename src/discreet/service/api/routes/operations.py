"""Health check, how it does, and what can be requested."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from fastapi import APIRouter, Request, Security
from fastapi.responses import HTMLResponse, Response
from fastapi.security import HTTPAuthorizationCredentials

from discreet._version import __version__
from discreet.core.families import FAMILIES
from discreet.curator.people.person import Scope
from discreet.service.api.caller import Needs, bearer, cookie
from discreet.service.api.docs import page
from discreet.service.api.failures import READS, answers
from discreet.service.api.guard import PAPER_POLICY
from discreet.service.api.metrics import CONTENT
from discreet.service.api.views import Catalogue, Health
from discreet.service.operations.permissions import READERS

router = APIRouter(prefix="/v1", tags=["operations"])


@router.get("/health", responses=answers(), summary="Health check")
async def health() -> Health:
    """Answers to anyone, and touches nothing."""
    return Health(version=__version__)


@router.get(
    "/metrics",
    responses=READS | {200: {"content": {"text/plain": {}}, "description": "In Prometheus format."}},
    response_class=Response,
    summary="Prometheus metrics",
)
def metrics(
    request: Request,
    token: Annotated[HTTPAuthorizationCredentials | None, Security(bearer)],
    session: Annotated[str | None, Security(cookie)],
) -> Response:
    """For stewards and auditors; for anyone on this computer if the service was started so."""
    if not (request.app.state.settings.open_metrics and _is_near(request)):
        Needs(Scope.READ, READERS).find(request)
    return Response(request.app.state.metrics.text(), media_type=CONTENT)


@router.get("/catalogue", responses=answers(), summary="All methods, models, rules and attacks")
def catalogue() -> Catalogue:
    """What each is called, how it is written, and a JSON schema of its parameters; the same for everyone."""
    return Catalogue(families=[family.to_dict() for family in FAMILIES])


@router.get(
    "/docs",
    responses=answers() | {200: {"content": {"text/html": {}}, "description": "A page."}},
    response_class=Response,
    summary="This list, as a page",
)
def docs(request: Request) -> HTMLResponse:
    """What can be requested, to read. It loads nothing from anywhere."""
    return HTMLResponse(page(request.app.openapi()), headers={"Content-Security-Policy": PAPER_POLICY})


def _is_near(request: Request) -> bool:
    """Whether a request was made on this computer."""
    try:
        return request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
