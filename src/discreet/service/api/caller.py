"""Authentication and authorisation of API requests, by a token (header ``Authorization``) or the session cookie.

Every route says who may call it (``Needs``), and that is decided before anything that was sent is read: anyone who
may not do something learns nothing about how it is asked for. The desk decides again, and for the console too.

A browser sends its cookie along anyone who made it send the request. So with a cookie, every request that may change
something must also say ``X-CSRF-Token``, which only a page of ours knows.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeVar

from anyio import to_thread
from fastapi import Depends, Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from discreet.curator.people.people import SignedIn
from discreet.curator.people.person import SCOPES, Person, Role, Scope
from discreet.errors import NotAllowed, NotSignedIn
from discreet.service.api.limits import neighbourhood
from discreet.service.api.logs import note
from discreet.service.operations.operations import Operations
from discreet.service.operations.permissions import READERS, require_role
from discreet.service.settings import Settings
from discreet.service.turns import Turns

T = TypeVar("T")
COOKIE = "discreet_session"
CSRF = "X-CSRF-Token"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
PROVED = "discreet.token"
"""Where the scope of a request made within this process has the digest of a token that was proved and never sent. No
request from outside has one: what a client sends is in the scope's headers, path and query alone."""

bearer = HTTPBearer(
    scheme_name="token",
    auto_error=False,
    bearerFormat="dct_…",
    description="An API token with scopes (ask, read, manage): make one in the console, with POST /v1/tokens, "
    "or with `discreet people token`.",
)
cookie = APIKeyCookie(
    name=COOKIE,
    scheme_name="session",
    auto_error=False,
    description=f"The session that POST /v1/session starts. Requests other than GET also need the header {CSRF}.",
)


@dataclass(frozen=True)
class Caller:
    """The signed-in user behind a request, with their rights."""

    desk: Operations
    who: Person
    session: SignedIn | None
    """The session; ``None`` if the user sent a token."""
    turns: Turns
    scopes: tuple[Scope, ...] = tuple(Scope)
    """Scopes of the token; all scopes with a session."""

    async def work(self, work: Callable[[], T]) -> T:
        """Run a slow task when it is the user's turn."""
        return await self.turns.work(self.who.name, work)

    async def answer(self, work: Callable[[], T], release: Callable[[T], None]) -> T:
        """Run a task that reads rows, in the user's turn; its answer is delayed to one of a few fixed moments."""
        return await self.turns.answer(self.who.name, work, release)


def find(request: Request, token: str | None, kept: str | None, *, used: bool = True) -> Caller:
    """Authenticate a request; an error if it has no valid token or session, or fails the CSRF check.

    Without ``used`` a session grows as old as if nothing had been sent.
    """
    desk: Operations = request.app.state.desk
    who: Person | None = request.app.state.person
    if who is not None:  # the app is theirs alone, and does not listen
        note(request.scope).person = who
        return Caller(desk, who, None, request.app.state.turns, SCOPES)
    session, scopes = None, tuple(Scope)
    proved = request.scope.get(PROVED)
    if token is not None or proved is not None:
        bearer = desk.people.by_digest(proved) if proved is not None else desk.people.by_token(token or "")
        if bearer is None:
            raise NotSignedIn(
                "This token is unknown, expired or revoked.",
                hint="Make a new one: in the console under Tokens, or with `discreet people token`.",
            )
        who, scopes = bearer
    else:
        session = desk.people.session(kept, used=used) if kept else None
        who = None if session is None else session.person
    if who is None:
        raise NotSignedIn("You are not signed in.", hint="POST /v1/session signs in; programs send a token.")
    note(request.scope).person = who
    request.app.state.people_limits.take(who.name)
    if session is not None and request.method not in SAFE:
        sent = request.headers.get(CSRF, "")
        if not hmac.compare_digest(sent.encode(), session.csrf.encode()):
            raise NotAllowed(f"The header {CSRF} is missing or wrong.", hint="GET /v1/session says what to send.")
    return Caller(desk, who, session, request.app.state.turns, scopes)


def require_session(caller: Caller) -> None:
    """An error for a token: a leaked token must not be enough to get other credentials."""
    if caller.session is None:
        raise NotAllowed("This cannot be done with a token.", hint="Sign in: in the console, or with POST /v1/session.")


@dataclass(frozen=True)
class Needs:
    """Rights that a route requires: a role (default: any) and, with a token, a scope."""

    scope: Scope | None = None
    """Scope that a token must have; ``None``: any token."""
    roles: tuple[Role, ...] = ()
    token: bool = True
    """Whether a token is accepted."""
    one_time: bool = False
    """Whether users who must change a one-time password are accepted."""

    def find(self, request: Request) -> Caller:
        """Authenticate and authorise a request."""
        caller = again(request, used=True)
        if not (caller.who.must_change and self.one_time):
            require_role(caller.who, *self.roles)
        if not self.token:
            require_session(caller)
        if self.scope is not None and self.scope not in caller.scopes:
            wanted = self.scope.value
            raise NotAllowed(f"This token may not {wanted}.", hint=f"Make one with the scope {wanted}, or sign in.")
        return caller

    async def __call__(
        self,
        request: Request,
        token: Annotated[HTTPAuthorizationCredentials | None, Security(bearer)],
        session: Annotated[str | None, Security(cookie)],
    ) -> Caller:
        """The caller that ``EarlyRoute`` found; the other parameters are for the OpenAPI document."""
        caller: Caller = request.state.caller
        return caller


class EarlyRoute(APIRoute):
    """A route that authorises a request before reading its body."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Handler that authorises the request first."""
        answer = super().get_route_handler()
        needs = next((one.call for one in self.dependant.dependencies if isinstance(one.call, Needs)), None)
        if needs is None:
            return answer

        async def check(request: Request) -> Response:
            request.state.caller = await to_thread.run_sync(needs.find, request)
            return await answer(request)

        return check


SignedInCaller: TypeAlias = Annotated[Caller, Depends(Needs(one_time=True))]
Reader: TypeAlias = Annotated[Caller, Depends(Needs(Scope.READ))]
Asker: TypeAlias = Annotated[Caller, Depends(Needs(Scope.ASK, (Role.ANALYST, Role.STEWARD)))]
Receiver: TypeAlias = Annotated[Caller, Depends(Needs(Scope.READ, (Role.STEWARD, Role.ANALYST)))]
Overseer: TypeAlias = Annotated[Caller, Depends(Needs(Scope.READ, READERS))]
Manager: TypeAlias = Annotated[Caller, Depends(Needs(Scope.MANAGE, (Role.STEWARD,)))]
Holder: TypeAlias = Annotated[Caller, Depends(Needs(Scope.READ, (Role.STEWARD,)))]


def require_turn(request: Request) -> None:
    """Rate limit of password attempts from one address."""
    address = request.client.host if request.client else ""
    request.app.state.sign_in_limits.take(neighbourhood(address))


def stranger(request: Request) -> Operations:
    """The operations, for a user who is about to sign in."""
    require_turn(request)
    desk: Operations = request.app.state.desk
    return desk


Stranger: TypeAlias = Annotated[Operations, Depends(stranger)]


def keep_session(response: Response, signed: SignedIn, settings: Settings) -> None:
    """Set the session cookie: unreadable for scripts, and not sent by other sites."""
    response.set_cookie(
        COOKIE,
        signed.token,
        expires=signed.until,
        path="/",
        secure=settings.encrypted,
        httponly=True,
        samesite="strict",
    )


def drop_session(response: Response, settings: Settings) -> None:
    """Delete the session cookie."""
    response.delete_cookie(COOKIE, path="/", secure=settings.encrypted, httponly=True, samesite="strict")


def again(request: Request, *, used: bool = False) -> Caller:
    """Authenticate a request that may still be running, to see whether its user is still signed in."""
    kept = request.cookies.get(COOKIE)
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return find(request, token if scheme.lower() == "bearer" and token else None, kept, used=used)
