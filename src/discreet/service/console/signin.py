"""/signin, /password and /signout: plain HTML forms, which work without scripts.

No one is signed in by another site's form: a form has to come from a page of this service. Someone who signed in with
a one-time password chooses their own before anything else, and is not asked for the one-time password again.

data-testid: signin-name, signin-password, signin-go, signin-provider, signout-provider; password-old, password-new,
password-again, password-tokens, password-go; told.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from discreet.core.markup import Child, Markup, Value, markup, page, tag
from discreet.curator.people.passwords import SHORTEST
from discreet.curator.people.people import SignedIn
from discreet.errors import AccessError, BadInput, DiscreetError, NotAllowed, NotSignedIn, TooMany, Unreachable
from discreet.service.api.caller import COOKIE, drop_session, keep_session, stranger
from discreet.service.console import theme
from discreet.service.console.frame import told_error
from discreet.service.openid import ATTEMPT_SECONDS, CALLBACK, Provider
from discreet.service.operations.operations import Operations
from discreet.service.settings import Settings

OPENID = "/signin/openid"
"""The path that begins a sign-in by the provider."""
_SIGNED_OUT = "/signed-out"
_ATTEMPT = "discreet_openid"
"""The cookie of a sign-in that was begun at the provider."""
_LOG = logging.getLogger("discreet.service")


def mount(app: FastAPI, desk: Operations, settings: Settings) -> None:
    """Put the forms on an app."""

    def session(request: Request) -> SignedIn | None:
        token = request.cookies.get(COOKIE)
        return desk.people.session(token) if token else None

    def required(request: Request, form: Mapping[str, str]) -> SignedIn:
        signed = session(request)
        if signed is None:
            raise NotSignedIn("You are no longer signed in.", hint="Sign in again.")
        if not hmac.compare_digest(signed.csrf.encode(), form.get("csrf", "").encode()):
            raise NotAllowed("This form is not from this session.", hint="Open the page again.")
        return signed

    def entered(signed: SignedIn, place: str) -> Response:
        response = _to("/password?next=" + quote(place) if signed.person.must_change else place)
        keep_session(response, signed, settings)
        return response

    @app.get("/signin", include_in_schema=False)
    def sign_in_form(request: Request) -> Response:
        place = _ours(request.query_params.get("next", "/"))
        return _to(place) if session(request) else _sign_in(request, place)

    @app.post("/signin", include_in_schema=False)
    async def sign_in(request: Request) -> Response:
        form = await _form(request)
        place = _ours(form.get("next", "/"))
        try:
            door = stranger(request)
            signed = await asyncio.to_thread(door.access.sign_in, form.get("name", ""), form.get("password", ""))
        except DiscreetError as error:
            app.state.metrics.refused(error)
            return _sign_in(request, place, form.get("name", ""), told_error(error, None, desk.workspace.folder))
        return entered(signed, place)

    @app.get("/password", include_in_schema=False)
    def password_form(request: Request) -> Response:
        signed = session(request)
        place = _ours(request.query_params.get("next", "/"))
        return _password(request, signed, place) if signed else _to("/signin")

    @app.post("/password", include_in_schema=False)
    async def password(request: Request) -> Response:
        form = await _form(request)
        place = _ours(form.get("next", "/"))
        signed = await asyncio.to_thread(session, request)
        if signed is None:
            return _to("/signin")
        try:
            new = await asyncio.to_thread(_change, desk, required(request, form), form)
        except DiscreetError as error:
            app.state.metrics.refused(error)
            return _password(request, signed, place, told_error(error, signed.person, desk.workspace.folder))
        return entered(new, place)

    @app.post("/signout", include_in_schema=False)
    async def sign_out(request: Request) -> Response:
        form = await _form(request)
        place = "/signin"
        try:
            signed = await asyncio.to_thread(required, request, form)
            await asyncio.to_thread(desk.access.sign_out, signed.person, request.cookies[COOKIE])
            if app.state.provider is not None and signed.person.name in await asyncio.to_thread(desk.people.linked):
                place = _SIGNED_OUT
        except NotSignedIn:
            pass
        except NotAllowed as error:
            return HTMLResponse(_page(request, "Not signed out", tag("h1", "Not signed out"), _told(error)), 403)
        response = _to(place)
        drop_session(response, settings)
        return response

    if app.state.provider is not None:
        _mount_provider(app, desk, settings)


def _mount_provider(app: FastAPI, desk: Operations, settings: Settings) -> None:
    """The way to the provider, and back from it.

    A browser does not send cookies of ours that are strict along a way that began elsewhere, so the last page is one
    of ours that goes on by itself.
    """
    provider: Provider = app.state.provider
    kept = f"__Host-{_ATTEMPT}" if settings.encrypted else _ATTEMPT
    cookie: dict[str, Any] = {"path": "/", "secure": settings.encrypted, "httponly": True, "samesite": "lax"}

    def address(request: Request, path: str) -> str:
        return f"{'https' if settings.encrypted else 'http'}://{request.headers['host']}{path}"

    def enter(request: Request) -> tuple[SignedIn, str]:
        door, callback = stranger(request), address(request, CALLBACK)
        identity, place = provider.finish(request.query_params, request.cookies.get(kept, ""), callback)
        create, days = settings.oidc_create, settings.oidc_token_days
        return door.access.enter(identity, create=create, days=days), _ours(place)

    def failed(request: Request, place: str, error: Exception) -> Response:
        app.state.metrics.refused(error)
        if isinstance(error, Unreachable | NotSignedIn):
            _LOG.warning("%s", error)
        told = error if isinstance(error, Unreachable) else told_error(error, None, desk.workspace.folder)
        return _sign_in(request, place, error=told)

    @app.get(OPENID, include_in_schema=False)
    async def begin(request: Request) -> Response:
        place = _ours(request.query_params.get("next", "/"))
        try:
            stranger(request)
            attempt = await asyncio.to_thread(provider.begin, address(request, CALLBACK), place)
        except DiscreetError as error:
            return failed(request, place, error)
        response = _to(attempt.url)
        response.set_cookie(kept, attempt.cookie, max_age=ATTEMPT_SECONDS, **cookie)
        return response

    @app.get(CALLBACK, include_in_schema=False)
    async def finish(request: Request) -> Response:
        response: Response
        try:
            signed, place = await asyncio.to_thread(enter, request)
        except DiscreetError as error:
            response = failed(request, "/", error)
        else:
            on = tag("meta", http_equiv="refresh", content=f"0; url={place}")
            body = tag("h1", "Signed in"), tag("a", "Continue", href=place)
            response = HTMLResponse(_page(request, "Signed in", *body, head=on), headers=_later(None))
            keep_session(response, signed, settings)
        response.delete_cookie(kept, **cookie)
        return response

    @app.get(_SIGNED_OUT, include_in_schema=False)
    async def signed_out(request: Request) -> Response:
        try:
            there = await asyncio.to_thread(provider.end_address, address(request, "/signin"))
        except DiscreetError:
            there = None
        told = f"You are signed out here. At {provider.name} you may still be signed in."
        link = tag("a", "Sign out there, too", href=there, data_testid="signout-provider") if there else None
        body = tag("h1", "Signed out"), tag("p", told), tag("p", link), tag("p", tag("a", "Sign in", href="/signin"))
        return HTMLResponse(_page(request, "Signed out", *body), headers=_later(None))


async def nowhere(request: Request, _: Exception) -> Response:
    """For an address that there is no page at."""
    body = Markup(
        '<h1>Page not found</h1><p>This address has no page. Check it for typing errors.</p><a href="/">Go to Home</a>'
    )
    return HTMLResponse(_page(request, "Page not found", body), 404)


def _change(desk: Operations, signed: SignedIn, form: Mapping[str, str]) -> SignedIn:
    """The new password, and a new session that begins with it."""
    if form.get("new", "") != form.get("again", ""):
        raise BadInput("The two passwords are not the same.", hint="Type the new password twice.")
    if signed.person.must_change:
        desk.access.choose_password(signed.person, signed.token, form.get("new", ""))
    else:
        tokens_end = form.get("tokens_end", "") == "yes"
        desk.access.change_password(signed.person, form.get("old", ""), form.get("new", ""), tokens_end=tokens_end)
    return desk.access.sign_in(signed.person.name, form["new"])


async def _form(request: Request) -> dict[str, str]:
    """What a form of ours brought; nothing, if it is from elsewhere."""
    origin = request.headers.get("origin")
    elsewhere = request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
    if elsewhere or (origin is not None and urlsplit(origin).netloc != request.headers.get("host")):
        return {}
    try:
        found = parse_qs((await request.body()).decode(), keep_blank_values=True, max_num_fields=20)
    except ValueError:
        return {}
    return {name: values[-1] for name, values in found.items()}


def _ours(place: str) -> str:
    """A path of this service to go on to, whatever the address said."""
    parts = urlsplit(place.replace("\\", "/"))
    fits = place.startswith("/") and not place.startswith(("//", "/\\")) and not parts.netloc and place.isprintable()
    return place if fits and not parts.path.startswith(("/signin", "/signout", "/signed-out", "/password")) else "/"


def _to(place: str) -> RedirectResponse:
    return RedirectResponse(place, status_code=303)


def _sign_in(request: Request, place: str, name: str = "", error: DiscreetError | None = None) -> Response:
    form = _form_of(
        "/signin",
        _hidden("next", place),
        _field("name", "Name", "signin-name", value=name, autocomplete="username", autofocus=not name, kind="text"),
        _field("password", "Password", "signin-password", autocomplete="current-password", autofocus=bool(name)),
        tag("button", "Sign in", type="submit", data_testid="signin-go"),
    )
    provider = request.app.state.provider
    other = None if provider is None else _by_provider(provider, place)
    body = tag("h1", "Sign in"), tag("p", "Ask, release and audit sensitive data."), _told(error), other, form
    return HTMLResponse(_page(request, "Sign in", *body), _status(error), headers=_later(error))


def _by_provider(provider: Provider, place: str) -> Markup:
    address = f"{OPENID}?next={quote(place)}"
    text = f"Sign in with {provider.name}"
    return tag("p", tag("a", text, href=address, class_="dc-button", data_testid="signin-provider"))


def _password(request: Request, signed: SignedIn, place: str, error: DiscreetError | None = None) -> Response:
    once = signed.person.must_change
    why = "Your one-time password is used up. Choose your own." if once else "Your other sessions will end."
    old = _field("old", "Current password", "password-old", autocomplete="current-password", autofocus=True)
    form = _form_of(
        "/password",
        _hidden("next", place),
        _hidden("csrf", signed.csrf),
        tag("input", type="text", name="name", value=signed.person.name, autocomplete="username", hidden=True),
        None if once else old,
        _new_password("new", "New password", autofocus=once),
        _new_password("again", "New password, again"),
        None if once else _TOKENS_END,
        tag("button", "Save and continue", type="submit", data_testid="password-go"),
    )
    asked = tag("p", f"{why} At least {SHORTEST} characters; several words make a good password.")
    body = tag("h1", "Choose a password"), asked, _told(error), form
    return HTMLResponse(_page(request, "Choose a password", *body), _status(error), headers=_later(error))


_TOKENS_END = Markup(
    '<label><input type="checkbox" name="tokens_end" value="yes" data-testid="password-tokens">'
    "End my API tokens, too</label>"
)


def _form_of(action: str, *inside: Child) -> Markup:
    return tag("form", inside, method="post", action=action)


def _hidden(name: str, value: str) -> Markup:
    return tag("input", type="hidden", name=name, value=value)


def _field(name: str, label: str, testid: str, *, kind: str = "password", value: str = "", **more: Value) -> Markup:
    known: dict[str, Value] = {"id": name, "name": name, "type": kind, "data-testid": testid, "value": value}
    plain: dict[str, Value] = {"required": True, "autocapitalize": "none", "spellcheck": "false"}
    return markup(tag("label", label, for_=name), tag("input", **known, **plain, **more))


def _new_password(name: str, label: str, *, autofocus: bool = False) -> Markup:
    """A field for a new password; browsers send none that is too short, and keep what was typed."""
    testid, known = f"password-{name}", "new-password"
    return _field(name, label, testid, autocomplete=known, minlength=SHORTEST, autofocus=autofocus)


def _told(error: DiscreetError | None) -> Markup | None:
    if error is None:
        return None
    return tag("div", theme.said(error), class_="dc-refusal", role="alert", data_testid="told")


def _status(error: DiscreetError | None) -> int:
    if error is None:
        return 200
    return 429 if isinstance(error, TooMany) else 400 if isinstance(error, BadInput | AccessError) else 503


def _later(error: DiscreetError | None) -> dict[str, str]:
    wait = {"Retry-After": str(error.wait)} if isinstance(error, TooMany) else {}
    return {"Cache-Control": "no-store", **wait}


def _page(request: Request, title: str, *body: Child, head: Child = None) -> Markup:
    chosen = request.cookies.get(theme.COOKIE, "")
    scheme = f"color-scheme:{chosen}" if chosen in ("light", "dark") else None
    inside = tag("main", tag("span", theme.MARK, "discreet", class_="dc-brand"), body)
    return page(
        f"{title} · discreet", inside, head=markup(theme.link(), head), policy=None, class_="dc-door", style=scheme
    )
