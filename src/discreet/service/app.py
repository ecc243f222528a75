"""The service as one ASGI app: the API, the console, and what every request meets first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial

from anyio import to_thread
from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from discreet._version import __version__
from discreet.curator.people.person import Person
from discreet.service.api import failures
from discreet.service.api.guard import Guard
from discreet.service.api.limits import Buckets
from discreet.service.api.logs import Log, Logged
from discreet.service.api.metrics import Metrics
from discreet.service.api.routes import (
    ask,
    budgets,
    data,
    exposure,
    jobs,
    operations,
    people,
    releases,
    session,
    surveys,
)
from discreet.service.condition import Condition
from discreet.service.listen import Certificate
from discreet.service.openid import Provider
from discreet.service.operations.operations import Operations
from discreet.service.settings import Settings
from discreet.service.survey_pages import PREFIX, RateLimit, SurveyPages
from discreet.service.turns import Turns
from discreet.verbs.collect.survey.inbox import REPORT_BYTES

_ROUTERS = (session, ask, budgets, data, exposure, releases, jobs, surveys, people, operations)
_NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""FastAPI would send what errors say, which may quote data, to whichever OpenTelemetry is set up in the process."""
_LOOPBACK = ["127.0.0.0/8", "::1"]
_ABOUT = """Query sensitive tables within a privacy budget; publish, tabulate and attack releases.

Sign in with a token (Authorization: Bearer dct_…) or with the session cookie; with the cookie, requests other than \
GET also need the header X-CSRF-Token.

Errors have the form {"error", "message", "hint", "request"}."""


def make_app(
    desk: Operations,
    settings: Settings,
    *,
    log: Log | None = None,
    console: bool = True,
    person: Person | None = None,
) -> FastAPI:
    """The service of a desk. Anyone who made the desk starts it, and closes it when the app is done.

    ``person`` is whom every request is from: for an app within a process of theirs, which must not listen.
    """
    app = FastAPI(openapi_url=None, lifespan=_lifespan, telemetry=_NO_TELEMETRY)
    app.state.desk = desk
    app.state.person = person
    app.state.settings = settings
    app.state.provider = None if settings.oidc_issuer is None else Provider(settings)
    app.state.log = log or Log()
    app.state.metrics = metrics = Metrics(desk)
    app.state.turns = turns = Turns(settings.at_once, settings.waiting, partial(metrics.took, "wait"))
    app.state.condition = Condition(desk, turns, settings)
    app.state.metrics_readers = operations.MetricsReaders()
    app.state.certificate = Certificate.of(settings)
    app.state.people_limits = Buckets(settings.rate, settings.burst)
    app.state.sign_in_limits = Buckets(settings.sign_ins_a_minute / 60, settings.sign_ins_a_minute)
    app.state.api = api = _api()
    api.state = app.state
    if console:
        from discreet.service.console.frame import mount

        mount(app, desk, settings)
    app.add_middleware(Split, prefix="/v1/", there=api)
    app.state.agents = None
    if settings.agents_cap is not None:
        from discreet.service.agents import PATH, AgentsApp
        from discreet.service.in_process import in_process

        app.state.agents = AgentsApp(in_process(app), settings.agents_cap)
        app.add_middleware(Split, prefix=PATH, there=app.state.agents)
    app.state.postgres = None
    if settings.postgres_port is not None:
        from discreet.service.postgres.server import PostgresServer

        app.state.postgres = PostgresServer(app, settings)
    app.add_middleware(Guard, settings=settings)
    app.add_middleware(Logged, log=app.state.log, metrics=app.state.metrics)
    there = Guard(RateLimit(SurveyPages(desk.surveys), settings), replace(settings, most_body=REPORT_BYTES))
    app.add_middleware(Split, prefix=PREFIX, there=there)  # before the log, which would say when someone answered
    if settings.behind_proxy:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=_LOOPBACK)
    return app


def _api() -> FastAPI:
    """The API alone, with its own way to tell errors."""
    api = FastAPI(
        title="discreet",
        version=__version__,
        description=_ABOUT,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_NO_TELEMETRY,
    )
    failures.install(api)
    for module in _ROUTERS:
        api.include_router(module.router)
    return api


class Split:
    """Sends everything under a prefix to an app of its own, which has the prefix in its routes."""

    def __init__(self, app: ASGIApp, prefix: str, there: ASGIApp) -> None:
        self._app = app
        self._prefix = prefix
        self._there = there

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        there = scope["type"] == "http" and scope["path"].startswith(self._prefix)
        await (self._there if there else self._app)(scope, receive, send)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    threads = app.state.settings.threads
    to_thread.current_default_thread_limiter().total_tokens = threads
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(threads, "page"))
    async with AsyncExitStack() as stack:
        for one in (app.state.agents, app.state.postgres):
            if one is not None:
                await stack.enter_async_context(one.run())
        yield
