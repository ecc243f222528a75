"""How an error is told over HTTP: its kind, what happened, what to do, and a status that programs understand.

Errors that may quote data are told in full to stewards alone; others get the kind and the number of the request, under
which the log has where it came from. Where things are on the disk is told to no one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from discreet.curator.people.person import Person, Role
from discreet.errors import (
    AccessError,
    BadInput,
    BudgetExceeded,
    CardError,
    Damaged,
    DataError,
    DiscreetError,
    HierarchyError,
    NotAllowed,
    NotFound,
    NotSignedIn,
    Refused,
    Taken,
    TooMany,
    Unsound,
)
from discreet.service.api.logs import Note, note
from discreet.service.api.schemas import LossShape
from discreet.service.redact import redacted

_STATUS: tuple[tuple[type[DiscreetError], int], ...] = (
    (NotFound, 404),
    (BadInput, 400),
    (Refused, 409),
    (Taken, 409),
    (NotSignedIn, 401),
    (NotAllowed, 403),
    (TooMany, 429),
    (Damaged, 500),
    (Unsound, 500),
    (DiscreetError, 503),
)
"""The first that fits. What is damaged is no fault of the code, but no one can use it until it is mended."""
_FOR_ANYBODY = (AccessError, Refused, BadInput, Taken)
_FOR_STEWARDS = (CardError, DataError, HierarchyError)
_ALWAYS = (408, 413, 415, 421, 429, 500, 503)
_SAID = {
    400: "The request is invalid: the message says why.",
    401: "Not signed in.",
    403: "Not permitted for this person or token.",
    404: "Not found, or not visible to you.",
    408: "The request took too long to arrive.",
    409: "Refused for privacy, not covered by the budget, or a name is taken. Nothing was changed.",
    413: "The request is too large.",
    415: "Compressed requests are not accepted.",
    421: "The host name is not one of this service.",
    422: "The request does not follow the schema.",
    429: "Too many requests: Retry-After says how long to wait.",
    500: "Stored data is damaged, or an internal error.",
    503: "The ledger or the data cannot be reached just now.",
}


class Problem(BaseModel):
    """One thing that is wrong with a request."""

    where: str = Field(examples=["body.questions"])
    what: str = Field(examples=["Field required"])


class Failure(BaseModel):
    """What every request that fails is told."""

    error: str = Field(description="Kind of error, listed in docs/errors.md.", examples=["BadQuery"])
    message: str = Field(description="What happened.")
    hint: str = Field(description="What to do.")
    request: str = Field(description="Number of the request, as in the service's log.")
    problems: list[Problem] | None = Field(default=None, description="All problems of the request.")
    asked: LossShape | None = Field(default=None, description="Requested loss, if the budget does not cover it.")
    left: LossShape | None = Field(default=None, description="Budget left, of the same kind.")
    instead: str | None = Field(default=None, description="Synthetic stand-in that could answer instead.")


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route may answer besides what it is for, for the OpenAPI document."""
    return {status: {"model": Failure, "description": _SAID[status]} for status in sorted({*statuses, *_ALWAYS})}


READS = answers(401, 403, 422)
"""What every route for people who are signed in may answer."""
WRITES = READS | answers(400, 404, 409)


def status_of(error: DiscreetError) -> int:
    """The status that tells an error."""
    return next(status for kind, status in _STATUS if isinstance(error, kind))


def install(api: FastAPI) -> None:
    """Have every error of an app told in this way."""

    @api.exception_handler(DiscreetError)
    def refused(request: Request, error: DiscreetError) -> JSONResponse:
        known = note(request.scope)
        known.error = type(error).__name__
        request.app.state.metrics.refused(error)
        return response(status_of(error), _told(request, known, error), headers_of(error))

    @api.exception_handler(RequestValidationError)
    async def wrong(request: Request, error: RequestValidationError) -> JSONResponse:
        known = note(request.scope)
        known.error = "RequestValidationError"
        problems = [Problem(where=".".join(map(str, one["loc"])), what=str(one["msg"])) for one in error.errors()]
        said = Failure(
            error="BadInput",
            message="The request does not follow the schema.",
            hint="See /v1/docs.",
            request=known.id,
            problems=problems[:50],
        )
        return response(422, said)

    @api.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> JSONResponse:
        kind = "NotFound" if error.status_code == 404 else "BadInput"
        said = Failure(error=kind, message=f"{error.detail}.", hint="See /v1/docs.", request=note(request.scope).id)
        return response(error.status_code, said, error.headers)

    @api.exception_handler(Exception)
    async def fault(request: Request, error: Exception) -> JSONResponse:
        return response(500, _hidden("Fault", note(request.scope)))


def response(status: int, said: Failure, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """A failure as an HTTP response."""
    return JSONResponse(said.model_dump(exclude_none=True), status, headers=dict(headers or {}))


def is_for(who: Person | None, error: DiscreetError) -> bool:
    """Whether someone, or no one in particular, may read what an error says."""
    steward = who is not None and who.role is Role.STEWARD
    return steward or (isinstance(error, _FOR_ANYBODY) and not isinstance(error, _FOR_STEWARDS))


def _told(request: Request, known: Note, error: DiscreetError) -> Failure:
    if not is_for(known.person, error):
        return _hidden(type(error).__name__, known)
    error = redacted(error, request.app.state.desk.workspace.folder)
    said = {"error": known.error, "message": error.message, "hint": error.hint.strip(), "request": known.id}
    if isinstance(error, BudgetExceeded):
        said |= _exceeded(request, known, error)
    return Failure.model_validate(said)


def _hidden(kind: str, known: Note) -> Failure:
    hint = f"Report request {known.id} to a steward."
    return Failure(error=kind, message="Internal error of the service.", hint=hint, request=known.id)


def _exceeded(request: Request, known: Note, error: BudgetExceeded) -> dict[str, Any]:
    said = {name: getattr(error, name).to_dict() for name in ("asked", "left")}
    table = error.account.partition("/")[0]
    if known.person is not None and table:
        said["instead"] = request.app.state.desk.instead(known.person, table)
    return said


def headers_of(error: DiscreetError) -> dict[str, str]:
    """The headers that an error is told with."""
    if isinstance(error, TooMany):
        return {"Retry-After": str(error.wait)}
    return {"WWW-Authenticate": "Bearer"} if isinstance(error, NotSignedIn) else {}
