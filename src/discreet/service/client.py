"""Client of the service, with the methods of a ``Curator``, so that code moves to it unchanged.

Answers, prices and errors are those of the local curator: a release is downloaded whole, and its hashes are checked.
Anyone who asks is anyone who the token belongs to. A request that got no answer is sent again for some seconds, so
that a restart of the service is not noticed: asking twice is charged once. (An answer whose first copy was lost on
the way then says that it was free.)
"""

from __future__ import annotations

import io
import ipaddress
import os
import ssl
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar
from urllib.parse import quote, urlsplit

import discreet.errors as error_tree
from discreet.budget.filter import Budget
from discreet.budget.verify import Verdict
from discreet.core import loss as losses
from discreet.core.exact import Number
from discreet.core.families import PRIVATE_LEARNERS
from discreet.core.loss import Loss
from discreet.core.optional import extra
from discreet.core.release import Release
from discreet.curator.answer import Answer, Left
from discreet.curator.audited import AuditedAnswer
from discreet.errors import (
    BadInput,
    BudgetExceeded,
    DiscreetError,
    EngineError,
    NotAllowed,
    NotFound,
    NotSignedIn,
    TooMany,
    Unreachable,
)
from discreet.releases.method import Method
from discreet.verbs.ask.price import Quote

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
TOKEN = "DISCREET_TOKEN"  # noqa: S105  # the name of a variable, not a token
_METHODS = ("distribution", "bounds", "macro-table")
_WAITS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Seconds between attempts: a service that is restarted is back before they are over."""
_PATIENCE = 120.0
_ERRORS: dict[str, type[DiscreetError]] = {
    name: kind
    for name, kind in vars(error_tree).items()
    if isinstance(kind, type) and issubclass(kind, DiscreetError) and kind.__init__ is DiscreetError.__init__
}
"""What a service may raise here: nothing else is made of a name that came over the network."""


def connect(url: str, token: str | None = None, *, ca: str | Path | None = None) -> Remote:
    """Connect to the workspace served at ``url``, as the person to whom ``token`` belongs.

    Without a token, the variable DISCREET_TOKEN is read. ``ca`` is a file with the certificate that signed the
    service's, if this computer does not know it. Beyond this computer only https:// will do.
    """
    token = token or os.environ.get(TOKEN)
    if not token:
        raise NotSignedIn(
            "No token given.",
            hint=f"Make one in the console or with `discreet people token`, and give it or set {TOKEN}.",
        )
    return Remote(_safe(url), token, ca)


class Remote:
    """Answers questions about the tables of a workspace that someone else holds. Threads may share it."""

    def __init__(self, url: str, token: str, ca: str | Path | None = None) -> None:
        """See ``connect``."""
        with extra("serve"):
            import httpx
        self._url = url
        self._http = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"},
            verify=_trusted(ca) if url.startswith("https:") else False,
            timeout=httpx.Timeout(_PATIENCE, connect=5.0),
            trust_env=False,  # no proxy is told the token
        )
        try:
            self.name: str = self._json("GET", "/v1/session", waits=())["name"]
            """Who asks."""
        except BaseException:
            self.close()
            raise

    def tables(self) -> dict[str, Mapping[str, Any]]:
        """The tables that may be asked: what their cards declare, and what is left, as the service says it."""
        return {one["name"]: one for one in self._json("GET", "/v1/tables")}

    def ask(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        analyst: str | None = None,
        key: str | None = None,
        instead: bool = True,
    ) -> Answer:
        """As ``Curator.ask``."""
        self._require_self(analyst)
        return self._asked([sql], _spent(epsilon, delta, rho) | {"key": key, "instead": instead})[0]

    def ask_all(
        self,
        questions: Sequence[str],
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        analyst: str | None = None,
        instead: bool = True,
    ) -> list[Answer]:
        """As ``Curator.ask_all``."""
        self._require_self(analyst)
        return self._asked(questions, _spent(epsilon, delta, rho) | {"instead": instead})

    def ask_audited(self, sql: str, *, analyst: str | None = None) -> AuditedAnswer:
        """As ``Curator.ask_audited``."""
        self._require_self(analyst)
        made = self._json("POST", "/v1/ask/audited", {"question": sql})
        return AuditedAnswer(self._downloaded(made["id"]), made["id"], made["free"])

    def release(
        self, method: Method[T], table: str, *, analyst: str | None = None, key: str | None = None
    ) -> Release[T]:
        """As ``Curator.release``, for a distribution, bounds, a macro-table or a learner with a privacy loss."""
        self._require_self(analyst)
        made = self._json("POST", "/v1/methods/release", {"table": table, "method": _shape(method), "key": key})
        return self._downloaded(made["id"])

    def quote(self, method: Method[T], table: str, *, analyst: str | None = None) -> Quote:
        """As ``Curator.quote``."""
        self._require_self(analyst)
        return quote_of(self._json("POST", "/v1/methods/price", {"table": table, "method": _shape(method)}))

    def price(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        analyst: str | None = None,
        rows: int | None = None,
    ) -> Quote:
        """As ``Curator.price``."""
        return self.price_all([sql], epsilon=epsilon, delta=delta, rho=rho, analyst=analyst, rows=rows)[0]

    def price_all(
        self,
        questions: Sequence[str],
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        analyst: str | None = None,
        rows: int | None = None,
    ) -> list[Quote]:
        """As ``Curator.price_all``."""
        self._require_self(analyst)
        asked = {"questions": list(questions), "rows": rows} | _spent(epsilon, delta, rho)
        return [quote_of(one) for one in self._json("POST", "/v1/price", asked)["prices"]]

    def epsilon_for(
        self,
        sql: str,
        error: Number,
        *,
        delta: Number = 0,
        expect: Number | None = None,
        rows: int | None = None,
        analyst: str | None = None,
    ) -> Fraction:
        """As ``Curator.epsilon_for``."""
        self._require_self(analyst)
        asked = {"question": sql, "error": _said(error), "delta": _said(delta), "expect": _said(expect), "rows": rows}
        return Fraction(self._json("POST", "/v1/epsilon", asked)["epsilon"])

    def left(self, table: str, analyst: str | None = None) -> Left:
        """As ``Curator.left``; a steward may look at anyone's."""
        accounts = {one["account"]: losses.from_dict(one["left"]) for one in self._json("GET", "/v1/budgets")}
        own = f"{table}/{analyst or self.name}"
        if own not in accounts:
            raise NotFound(f"There is no account {own!r}, or it is not visible to you.")
        return Left(accounts[own], accounts[table])

    def add_analyst(self, name: str, budget: Budget | Loss, tables: Sequence[str] | None = None) -> None:
        """Let someone who may sign in ask, as ``Curator.add_analyst``; for stewards."""
        limit = budget if isinstance(budget, Budget) else Budget(budget)
        given = {"budget": limit.to_dict(), "tables": None if tables is None else list(tables)}
        self._json("PUT", f"/v1/people/{quote(name, safe='')}/budgets", given)

    def verify(self) -> Verdict:
        """As ``Curator.verify``; for stewards and auditors."""
        found = self._json("POST", "/v1/ledger/verify")
        return Verdict(found["lines"], found["problem"], found["line"])

    def stream(self, *_given: object, **_named: object) -> NoReturn:
        """A stream lives in the process that counts it, which has to be where the workspace is."""
        raise BadInput(
            "Streams run in the workspace, not through the service.", hint="Use Curator(folder).stream there."
        )

    def call(self, method: str, path: str, given: object = None) -> Any:
        """Send a request of the HTTP API (/v1/docs lists them all); the JSON of its response."""
        return self._json(method, path, given)

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"connect({self._url!r})"

    def _asked(self, questions: Sequence[str], given: Mapping[str, Any]) -> list[Answer]:
        found = self._json("POST", "/v1/ask", {"questions": list(questions), **given})["answers"]
        return [
            Answer(
                _named(self._downloaded(one["id"]), question, [column["name"] for column in one["answer"]["columns"]]),
                one["id"],
                {table: _left(left) for table, left in one["left"].items()},
                one["free"],
            )
            for question, one in zip(questions, found, strict=True)
        ]

    def _downloaded(self, release: str) -> Release[Any]:
        packed = self._sent("GET", f"/v1/releases/{quote(release, safe='')}/download").content
        with TemporaryDirectory(prefix="discreet-") as folder:
            try:
                zipfile.ZipFile(io.BytesIO(packed)).extractall(folder)
            except (zipfile.BadZipFile, OSError) as error:
                raise EngineError(f"The release could not be unpacked: {error}.") from None
            return Release.load(folder)

    def _require_self(self, analyst: str | None) -> None:
        if analyst not in (None, self.name):
            raise NotAllowed(f"You ask as {self.name}, whose token this is.", hint="Leave analyst out.")

    def _json(self, method: str, path: str, given: object = None, *, waits: Sequence[float] = _WAITS) -> Any:
        response = self._sent(method, path, given, waits=waits)
        try:
            return response.json()
        except ValueError:
            raise EngineError(f"{self._url} is not a discreet service.", hint="Is the address right?") from None

    def _sent(self, method: str, path: str, given: object = None, *, waits: Sequence[float] = _WAITS) -> httpx.Response:
        """Send a request, again if there is no answer. That is safe: nothing here is done twice if it is sent twice."""
        with extra("serve"):
            import httpx

        pauses = iter(waits)
        while True:
            try:
                response = self._http.request(method, path, json=given)
            except httpx.HTTPError as error:
                if wrong := _tls_problem(error):
                    raise _untrusted(self._url, wrong) from None
                pause = next(pauses, None)
                if pause is None:
                    raise Unreachable(
                        f"{self._url} does not answer: {str(error) or type(error).__name__}.",
                        hint="Is the service running, and the address right?",
                    ) from None
            else:
                if response.is_success:
                    return response
                pause = _told_to_wait(response)
                if pause is None or next(pauses, None) is None:
                    raise error_of(response)
            time.sleep(pause)


def _safe(url: str) -> str:
    """``url``, if a token may be sent there."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise BadInput(f"{url!r} is not the address of a service.", hint="Such as https://data.example.org:8640")
    if parts.username or parts.password:
        raise BadInput("The address must not contain a user name or password.", hint="Give a token instead.")
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise BadInput(
            f"Token and answers would be sent unencrypted to and from {parts.hostname}.", hint="Use https://"
        )
    return f"{parts.scheme}://{parts.netloc}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _trusted(ca: str | Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise BadInput(f"{ca} is not a readable certificate: {error}.", hint="Give a PEM file.") from None


def _tls_problem(error: BaseException) -> ssl.SSLError | None:
    """What TLS stumbled over, if that is why there was no answer."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, ssl.SSLError):
        found = found.__cause__ or found.__context__
    return None if isinstance(found, ssl.SSLEOFError) else found  # that is someone who hung up


def _untrusted(url: str, error: ssl.SSLError) -> Unreachable:
    if isinstance(error, ssl.SSLCertVerificationError):
        return Unreachable(
            f"{url} has a certificate that is not trusted: {error.verify_message}.",
            hint="Use the name on the certificate; if its issuer is unknown to this computer, give the "
            "issuer's certificate: ca=FILE.",
        )
    return Unreachable(
        f"{url} answers, but the TLS connection failed: {error.reason or error}.",
        hint="Check that it has a certificate. Without one use http://, on the same computer only.",
    )


def _told_to_wait(response: httpx.Response) -> float | None:
    """How long to wait before trying again, if the service says so and it is not long."""
    said = response.headers.get("Retry-After", "") if response.status_code == 429 else ""
    return float(said) if said.isdecimal() and float(said) <= max(_WAITS) else None


def error_of(response: httpx.Response) -> DiscreetError:
    """The error that a response tells of."""
    try:
        said = dict(response.json())
    except (ValueError, TypeError):
        said = {}
    message = str(said.get("message") or f"The service answered with status {response.status_code}.")
    hint = str(said.get("hint") or "")
    if problems := said.get("problems"):
        message = f"{message} {'; '.join(': '.join(map(str, one.values())) for one in problems)}."
    match said.get("error"):
        case "BudgetExceeded" if "asked" in said and "left" in said:
            asked, left = losses.from_dict(said["asked"]), losses.from_dict(said["left"])
            return BudgetExceeded(message, asked=asked, left=left, hint=hint)
        case "TooMany":
            return TooMany(message, wait=int(response.headers.get("Retry-After", "1")), hint=hint)
        case str(name):
            return _ERRORS.get(name, EngineError)(message, hint=hint)
    return EngineError(message, hint=hint)


def _spent(epsilon: Number | None, delta: Number, rho: Number | None) -> dict[str, Any]:
    return {"epsilon": _said(epsilon), "delta": _said(delta), "rho": _said(rho)}


def _said(number: Number | None) -> int | float | str | None:
    """A number as JSON can say it, exactly."""
    return number if number is None or isinstance(number, int | float | str) else str(number)


def _shape(method: Method[Any]) -> dict[str, Any]:
    """A method as the service takes it."""
    given: Any = method
    if method.name in PRIVATE_LEARNERS.names():
        learner = PRIVATE_LEARNERS.entry(method.name)
        said = {one.name: _spelled(getattr(given, one.name)) for one in learner.parameters}
        return {"name": "learn", "learner": learner.spell(said)}
    if method.name not in _METHODS or not is_dataclass(given):
        raise BadInput(
            f"The service cannot run {method.name}; it runs {', '.join(_METHODS)} and learners with a privacy loss.",
            hint="Run it in the workspace itself, or publish and tabulate in the console.",
        )
    values = ((one.name, getattr(method, one.name)) for one in fields(given))
    return {"name": method.name} | {name: str(v) if isinstance(v, Fraction | Decimal) else v for name, v in values}


def _spelled(value: object) -> str:
    """The value of a parameter as it is written; empty if there is none."""
    return "" if value is None else ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def quote_of(said: Mapping[str, Any]) -> Quote:
    """A price as the service tells it."""
    loss, left = losses.from_dict(said["loss"]), losses.from_dict(said["left"])
    return Quote(loss, said["errors"], left, said["answered"], tuple(said["synthetic"]), said["columns"])


def _named(release: Release[Any], question: str, columns: Sequence[str]) -> Release[Any]:
    """An answer under the names that this question has for its columns: it may have been made for another text."""
    if release.recipe.parameters.get("question") == question:
        return release
    recipe = replace(release.recipe, parameters={**release.recipe.parameters, "question": question})
    return replace(release, payload=release.payload.rename_columns(columns), recipe=recipe)


def _left(said: Mapping[str, Any]) -> Left:
    return Left(losses.from_dict(said["analyst"]), losses.from_dict(said["table"]))
