"""Routes for sign-in, sign-out, the current session and passwords."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from discreet.errors import BadInput
from discreet.service.api.caller import (
    Caller,
    EarlyRoute,
    Needs,
    SignedInCaller,
    Stranger,
    drop_session,
    keep_session,
    require_turn,
)
from discreet.service.api.failures import READS, answers
from discreet.service.api.schemas import NewPassword, SignIn
from discreet.service.api.views import Session

router = APIRouter(route_class=EarlyRoute, prefix="/v1", tags=["session"])


@router.post("/session", responses=answers(400, 401, 403, 422), summary="Sign in")
def sign_in(given: SignIn, desk: Stranger, request: Request, response: Response) -> Session:
    """Start a session, kept in a cookie. Programs use a token instead."""
    signed = desk.access.sign_in(given.name, given.password)
    keep_session(response, signed, request.app.state.settings)
    return Session.begun(signed.person, signed)


@router.get("/session", responses=READS, summary="Who is signed in")
def session(caller: SignedInCaller) -> Session:
    """The signed-in user, and the CSRF token to send with requests that change something."""
    return Session.begun(caller.who, caller.session)


@router.delete("/session", status_code=204, responses=READS | answers(400), summary="Sign out")
def sign_out(caller: SignedInCaller, request: Request, response: Response) -> None:
    """End the session."""
    if caller.session is None:
        raise BadInput("A token has no session.", hint="To end a token: DELETE /v1/tokens/{id}.")
    caller.desk.access.sign_out(caller.who, caller.session.token)
    drop_session(response, request.app.state.settings)


@router.post("/password", responses=READS | answers(400), summary="Change the password")
def change_password(
    given: NewPassword,
    caller: Annotated[Caller, Depends(Needs(token=False, one_time=True))],
    request: Request,
    response: Response,
) -> Session:
    """Your own. All your sessions end, and your tokens on request; you get a new session.

    With a session: a token changes no password.
    """
    require_turn(request)
    caller.desk.access.change_password(caller.who, given.old, given.new, tokens_end=given.tokens_end)
    signed = caller.desk.access.sign_in(caller.who.name, given.new)
    keep_session(response, signed, request.app.state.settings)
    return Session.begun(signed.person, signed)
