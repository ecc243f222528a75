"""Who is calling: by a token in the header ``Authorization``, or by the session cookie.

A browser sends its cookie along whoever made it send the request. So with a cookie, every request that may change
something must also say ``X-CSRF-Token``, which only a page of ours knows.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeAlias, TypeVar

from fastapi import Depends, Request, Response, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from discreet.curator.people.people import SignedIn
from discreet.curator.people.person import Person
from discreet.errors import NotAllowed, NotSignedIn
from discreet.service.api.limits import neighbourhood
from discreet.service.api.logs import note
from discreet.service.desk import Desk
from discreet.service.settings import Settings
from discreet.service.turns import Turns

T = TypeVar("T")
COOKIE = "discreet_session"
CSRF = "X-CSRF-Token"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

bearer = HTTPBearer(
    scheme_name="token",
    auto_error=False,
    bearerFormat="dct_…",
    description="A token for programs: make one in the console, with POST /v1/tokens, or with `discreet people token`.",
)
cookie = APIKeyCookie(
    name=COOKIE,
    scheme_name="session",
    auto_error=False,
    description=f"The session that POST /v1/session begins. Requests other than GET also need the header {CSRF}.",
)


@dataclass(frozen=True)
class Caller:
    """Somebody who is signed in, at the desk."""

    desk: Desk
    who: Person
    session: SignedIn | None
    """``None``: they came with a token."""
    turns: Turns

    async def work(self, work: Callable[[], T]) -> T:
        """Do something that takes a while, in their turn."""
        return await self.turns.work(self.who.name, work)

    async def answer(self, work: Callable[[], T], release: Callable[[T], None]) -> T:
        """Do something that looks at rows, in their turn; it is released at one of a few moments."""
        return await self.turns.answer(self.who.name, work, release)


def find(request: Request, token: str | None, kept: str | None, *, used: bool = True) -> Caller:
    """Whoever sent a request; an error if that is nobody, or if they did not mean to.

    Without ``used`` a session grows as old as if nothing had been sent.
    """
    desk: Desk = request.app.state.desk
    session = None
    if token is not None:
        who = desk.people.by_token(token)
        if who is None:
            raise NotSignedIn(
                "This token is unknown, expired or revoked.",
                hint="Make a new one: in the console under Tokens, or with `discreet people token`.",
            )
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
    return Caller(desk, who, session, request.app.state.turns)


def caller(
    request: Request,
    token: Annotated[HTTPAuthorizationCredentials | None, Security(bearer)],
    session: Annotated[str | None, Security(cookie)],
) -> Caller:
    """Whoever sent a request, for the routes that need to know."""
    return find(request, None if token is None else token.credentials, session)


Called: TypeAlias = Annotated[Caller, Depends(caller)]


def require_turn(request: Request) -> None:
    """An error if passwords are tried too often from one address."""
    address = request.client.host if request.client else ""
    request.app.state.sign_in_limits.take(neighbourhood(address))


def stranger(request: Request) -> Desk:
    """The desk, for somebody who tries a password."""
    require_turn(request)
    desk: Desk = request.app.state.desk
    return desk


Stranger: TypeAlias = Annotated[Desk, Depends(stranger)]


def keep_session(response: Response, signed: SignedIn, settings: Settings) -> None:
    """Give a browser its session: no script can read it, and no other site can send it."""
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
    """Take it away."""
    response.delete_cookie(COOKIE, path="/", secure=settings.encrypted, httponly=True, samesite="strict")


def again(request: Request) -> Caller:
    """Whoever sent a request that is still going on, if they are still signed in."""
    kept = request.cookies.get(COOKIE)
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return find(request, token if scheme.lower() == "bearer" else None, kept, used=False)
