"""Whether a workspace can be served as it is: everything is looked at, and all that is wrong is said."""

from __future__ import annotations

import datetime as dt
import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path

from discreet.budget.verify import Verdict
from discreet.core.document import readable_by_others
from discreet.core.text import number
from discreet.curator.people.audit import Audit
from discreet.curator.people.people import People
from discreet.curator.people.person import Role
from discreet.curator.people.state import State
from discreet.curator.workspace import Workspace, open_books, open_workspace
from discreet.errors import BadInput, Damaged, DiscreetError, NotFound
from discreet.service.listen import good_until, listening
from discreet.service.openid import Provider
from discreet.service.scratch import own_scratch
from discreet.service.settings import Settings

_SOON = dt.timedelta(days=30)


@dataclass(frozen=True)
class Check:
    """Something that was looked at."""

    what: str
    well: bool
    said: str
    """What was found; if it is not well, what to do."""


def checks(folder: Path, settings: Settings) -> Iterator[Check]:
    """Look at everything that serving needs."""
    yield from workspace_checks(folder, served=True)
    if settings.cert is not None and settings.key is not None:
        for name in settings.names or (None,):
            yield _looked("certificate", partial(_certificate, settings.cert, settings.key, name))
    if settings.oidc_issuer is not None:
        yield _looked("sign-in provider", lambda: _provider(settings))
    yield _looked("address", lambda: _address(settings))


def workspace_checks(folder: Path, *, served: bool) -> Iterator[Check]:
    """Look at a workspace and, if it is ``served``, at its people and their audit log."""
    try:
        workspace = open_workspace(folder)
    except DiscreetError as error:
        yield Check("workspace", False, str(error))
        return
    yield Check("workspace", True, f"{workspace.folder}: {', '.join(workspace.tables)}")
    yield _looked("permissions", lambda: _permissions(workspace))
    yield _looked("tables", lambda: _tables(workspace, served=served))
    yield _looked("ledger", lambda: _ledger(workspace))
    if served:
        yield _looked("people", lambda: _people(workspace))


def _looked(what: str, look: Callable[[], str]) -> Check:
    try:
        return Check(what, True, look())
    except DiscreetError as error:
        return Check(what, False, str(error))
    except OSError as error:
        return Check(what, False, f"{error.strerror or error}: {error.filename}. Check that it exists and is readable.")


def _permissions(workspace: Workspace) -> str:
    if found := readable_by_others(workspace.folder):
        others = number(len(found), "file or folder", "files and folders")
        inner = next((path for path in found if path.is_file()), workspace.folder)
        raise BadInput(
            f"Other users of this machine can read {others} of the workspace, such as {inner.name}.",
            hint=f"Run: chmod -R go-rwx {workspace.folder}",
        )
    return "only its owner can read it"


def _tables(workspace: Workspace, *, served: bool) -> str:
    workspace.require_twins()
    with own_scratch(workspace.folder) if served else nullcontext():
        for name in workspace.tables:
            workspace.open(name)
    return f"{number(len(workspace.tables), 'table')}, each bounded table unchanged"


def _ledger(workspace: Workspace) -> str:
    with open_books(workspace) as ledger:
        return _sound(ledger.verify(), "Restore a backup, and verify it against the receipts.")


def _people(workspace: Workspace) -> str:
    with closing(State.open(workspace)) as state:
        logged = _sound(Audit(state).verify(), "Restore a backup.")
        stewards = [one.name for one in People(state).all() if one.role is Role.STEWARD and not one.disabled]
    if not stewards:
        raise NotFound(
            "This workspace has no steward.",
            hint=f"Add one: discreet people add {workspace.folder} NAME --role steward",
        )
    return f"stewards: {', '.join(stewards)}; audit log: {logged}"


def _sound(verdict: Verdict, hint: str) -> str:
    if not verdict.sound:
        raise Damaged(str(verdict), hint=hint)
    return str(verdict)


def _certificate(cert: Path, key: Path, name: str | None) -> str:
    until = good_until(cert, key, name)
    if until - dt.datetime.now(dt.UTC) < _SOON:
        raise BadInput(f"It expires on {until.date()}.", hint="Renew it in time.")
    return f"for {name or 'names that were not given (--name)'}, until {until.date()}"


def _provider(settings: Settings) -> str:
    provider = Provider(settings)
    provider.metadata()
    return f"{provider.name} answers"


def _address(settings: Settings) -> str:
    ports = [settings.port] if settings.postgres_port is None else [settings.port, settings.postgres_port]
    try:
        for port in ports:
            listening(replace(settings, port=port)).close()
    except BadInput:
        if version := _served(settings):
            return f"a service is already running at {settings.address()}: discreet {version}"
        raise
    return f"{settings.address()} is free"


def _served(settings: Settings) -> str:
    """The version of the discreet that is served where the settings say; of anything else nothing."""
    host = settings.host if settings.host in settings.hosts else "localhost"
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE  # it is told nothing, and asked whether it is there
    kind = partial(HTTPSConnection, context=tls) if settings.tls else HTTPConnection
    try:
        with closing(kind(host, settings.port, timeout=5)) as connection:
            connection.request("GET", "/v1/live")
            said = json.loads(connection.getresponse().read(10_000))
    except (OSError, HTTPException, ValueError):
        return ""
    return str(said.get("version", "")) if isinstance(said, dict) and said.get("status") == "ok" else ""
