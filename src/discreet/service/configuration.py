"""Configuration of the service: a TOML file, then environment variables, then options; later sources win.

Everything that may be set is one of ``KEYS``, by the same name everywhere: ``rate`` in the file is
``DISCREET_SERVE_RATE`` in the environment. A name that is not among them is an error, since what was meant would
silently not hold.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.budget.filter import Budget
from discreet.core.loss import Pure, parse_loss
from discreet.core.text import meant
from discreet.errors import BadInput, NotFound
from discreet.service.settings import Settings

PREFIX = "DISCREET_SERVE_"
FILE = f"{PREFIX}CONFIG"
"""Environment variable with the path of the file, as the option ``--config``."""
_SWITCH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_MOST = 10**15


@dataclass(frozen=True)
class ValueKind:
    """Kind of a setting's value, and how it is read from a file (typed) or an environment variable (text)."""

    expected: str
    of_text: Callable[[str], object]
    read: Callable[[object, Path], Any]
    """Takes the value, and the folder that relative paths begin at; a ``ValueError`` if it is of another kind."""


@dataclass(frozen=True)
class Key:
    """A setting, by its name in files."""

    name: str
    kind: ValueKind
    says: str
    """One line for the documentation."""
    option: str = ""
    """Option of `discreet serve`; empty if there is none."""
    field: str = ""
    """Field of ``Settings``, if it has another name."""

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return PREFIX + self.name.upper()

    @property
    def setting(self) -> str:
        """Field of ``Settings`` that it sets."""
        return self.field or self.name

    @property
    def default(self) -> str:
        """Its default as written in a file; empty if there is none."""
        value = next(one.default for one in fields(Settings) if one.name == self.setting)
        if isinstance(value, float):
            return f"{value:g}"
        return json.dumps(value) if value or value is False else ""


def _whole(least: int) -> ValueKind:
    def read(value: object, _here: Path) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
            raise ValueError
        return value

    return ValueKind(f"a whole number from {least}", int, read)


def _number(value: object, _here: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise ValueError
    return float(value)


def _text(value: object, _here: Path) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _names(value: object, _here: Path) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError
    return tuple(value)


def _epsilon(text: str) -> Fraction:
    loss = parse_loss(text)
    if not isinstance(loss, Pure) or not loss.epsilon:
        raise ValueError
    return loss.epsilon


def _switch(value: object, _here: Path) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


_ADDRESS = ValueKind("a text", str, _text)
_PATH = ValueKind("the path of a file, as a text", str, lambda value, here: here / _text(value, here))
_LIST = ValueKind("a list of texts", _split, _names)
_YES = ValueKind("true or false", lambda text: _SWITCH.get(text.lower()), _switch)
_AMOUNT = ValueKind("a number above 0", float, _number)
_CAP = ValueKind(
    'a privacy loss such as "epsilon=0.5"', str, lambda value, here: Budget(parse_loss(_text(value, here)))
)
_EPSILON = ValueKind('a loss such as "epsilon=0.5"', str, lambda value, here: _epsilon(_text(value, here)))
KEYS = (
    Key("host", _ADDRESS, "Address to listen on; 0.0.0.0 or :: for all of this computer.", "--host"),
    Key("port", _whole(0), "Port to listen on; 0 for any free one.", "--port"),
    Key("names", _LIST, "Host names that people use; requests for any other are refused.", "--name"),
    Key("cert", _PATH, "TLS certificate chain, a PEM file.", "--cert"),
    Key("key", _PATH, "Its key, a PEM file.", "--key"),
    Key("insecure", _YES, "Listen on the network without TLS, where something else encrypts.", "--insecure"),
    Key("behind_proxy", _YES, "A proxy on this computer ends TLS and forwards client addresses.", "--behind-proxy"),
    Key("local_metrics", _YES, "Programs on this computer read the metrics without a token.", "--local-metrics"),
    Key("mcp", _CAP, "Serve language-model agents; each token may spend this much.", "--mcp", "agents_cap"),
    Key("postgres_port", _whole(0), "Serve clients of PostgreSQL on this port, too.", "--postgres-port"),
    Key("postgres_cap", _EPSILON, "What a connection of such a client may spend at most.", "--postgres-cap"),
    Key("rate", _AMOUNT, "Requests per second of each person, in the long run."),
    Key("burst", _whole(1), "Requests of each person at once."),
    Key("sign_ins_per_minute", _whole(1), "Sign-ins from one address.", field="sign_ins_a_minute"),
    Key("request_bytes", _whole(1_000), "Largest request; uploads of stewards may have 1 GB.", field="most_body"),
    Key("threads", _whole(2), "Requests worked on at once."),
    Key("questions", _whole(1), "Questions worked on at once, one a person; fewer than threads.", field="at_once"),
    Key("questions_waiting", _whole(1), "Questions of one person that may wait for their turn.", field="waiting"),
    Key("jobs", _whole(1), "Jobs that run at once, each in a process of its own."),
    Key("jobs_per_person", _whole(1), "Jobs of one person that run at once."),
    Key("jobs_waiting", _whole(1), "Jobs of one person that may wait."),
    Key("health_seconds", _AMOUNT, "Longest wait of /v1/health and /v1/metrics for database and disk."),
    Key("free_disk_bytes", _whole(0), "Free space below which the service is not ready (/v1/health)."),
    Key("grace", _AMOUNT, "Seconds that running requests and jobs get when the service stops."),
    Key("oidc_issuer", _ADDRESS, "OpenID Connect provider by which people sign in, too: its https address."),
    Key("oidc_client", _ADDRESS, "The identifier that the provider gave this service."),
    Key("oidc_secret", _PATH, "Its secret, a file; without one PKCE alone protects the sign-in."),
    Key("oidc_scopes", _LIST, "What the provider is asked for; some need another scope to tell groups."),
    Key("oidc_name_claim", _ADDRESS, "Claim with the user name, which people must not be able to choose."),
    Key("oidc_domains", _LIST, "If that claim is an address: domains whose part before the @ is the user name."),
    Key("oidc_groups_claim", _ADDRESS, "Claim with the groups that someone is in."),
    Key("oidc_stewards", _LIST, "Groups whose members are stewards."),
    Key("oidc_analysts", _LIST, "Groups whose members are analysts."),
    Key("oidc_auditors", _LIST, "Groups whose members are auditors."),
    Key("oidc_create", _YES, "Anyone new gets an account; false: a steward adds and links people."),
    Key("oidc_token_days", _whole(1), "Days that tokens of such people work after their last sign-in."),
)


def configured(file: Path | None, environment: Mapping[str, str], options: Mapping[str, Any]) -> Settings:
    """Settings from a file (which ``FILE`` may name), the environment and options; an option of ``None`` is not given.

    Relative paths begin at the folder of the file that has them. An empty variable counts as not set.
    """
    variables = {name: text for name, text in environment.items() if name.startswith(PREFIX) and text.strip()}
    named = variables.pop(FILE, None)
    if file is None and named is not None:
        file = Path(named)
    found = {} if file is None else _of_file(file)
    found |= _of_environment(variables)
    known = {key.name: key.setting for key in KEYS}
    found |= {known[name]: value for name, value in options.items() if value is not None}
    return Settings(**found)


def _of_file(file: Path) -> dict[str, Any]:
    try:
        said = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{file} is not a TOML file: {error}.") from None
    except OSError as error:
        raise NotFound(f"The configuration {file} cannot be read: {error.strerror}.") from None
    keys = {key.name: key for key in KEYS}
    for name in said:
        if name not in keys:
            raise BadInput(f"{file}: there is no setting {name!r:.60}{meant(name, keys)}.", hint=_list(keys))
    return {keys[name].setting: _read(keys[name], value, name, file) for name, value in said.items()}


def _of_environment(variables: Mapping[str, str]) -> dict[str, Any]:
    keys = {key.variable: key for key in KEYS}
    found = {}
    for name, text in variables.items():
        if name not in keys:
            known = (*keys, FILE)
            raise BadInput(f"There is no variable {name:.60}{meant(name, known)}.", hint=_list(known))
        key = keys[name]
        try:
            value = key.kind.of_text(text.strip())
        except ValueError:
            value = None
        found[key.setting] = _read(key, value, name, None)
    return found


def _read(key: Key, value: object, name: str, file: Path | None) -> Any:
    where = f"{file}: " if file else ""
    try:
        return key.kind.read(value, file.absolute().parent if file else Path())
    except ValueError:
        raise BadInput(f"{where}{name} must be {key.kind.expected}.") from None
    except BadInput as error:
        raise BadInput(f"{where}{name}: {error.message}", hint=error.hint) from None


def _list(names: Mapping[str, object] | tuple[str, ...]) -> str:
    return f"There are {', '.join(names)}."
