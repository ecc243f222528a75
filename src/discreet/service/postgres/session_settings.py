"""Parameters of a session, by ``SET``, ``SHOW`` and ``RESET``: our own, and those of PostgreSQL that clients set.

Ours decide what a question costs and how its answer looks. Those of PostgreSQL are kept and told again; they change
nothing, since there is one encoding, one style of dates and one time zone here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from discreet._version import __version__
from discreet.core.exact import exact
from discreet.errors import BadInput, NotFound

PREFIX = "discreet."
SERVER_VERSION = f"15.0 (discreet {__version__})"
"""PostgreSQL's version whose catalogue and behaviour clients may expect."""
REPORTED = (
    "server_version",
    "server_encoding",
    "client_encoding",
    "application_name",
    "DateStyle",
    "IntervalStyle",
    "TimeZone",
    "integer_datetimes",
    "standard_conforming_strings",
    "is_superuser",
    "session_authorization",
    "in_hot_standby",
    "default_transaction_read_only",
)
"""Parameters that a client is told when it connects, and when they change."""
_MOST, _LONGEST = 100, 1_000
POSTGRES = {
    "server_version": SERVER_VERSION,
    "server_version_num": "150000",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "application_name": "",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "is_superuser": "off",
    "session_authorization": "",
    "in_hot_standby": "off",
    "default_transaction_read_only": "on",
    "transaction_read_only": "on",
    "transaction_isolation": "read committed",
    "default_transaction_isolation": "read committed",
    "search_path": "public",
    "lc_collate": "C.UTF-8",
    "lc_ctype": "C.UTF-8",
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "client_min_messages": "notice",
    "row_security": "on",
    "jit": "off",
    "work_mem": "4MB",
    "synchronize_seqscans": "on",
    "ssl_renegotiation_limit": "0",
    "tcp_keepalives_idle": "0",
    "max_parallel_workers_per_gather": "0",
    "geqo": "on",
    "array_nulls": "on",
    "escape_string_warning": "on",
    "backslash_quote": "safe_encoding",
    "xmloption": "content",
    "default_transaction_deferrable": "off",
    "transaction_deferrable": "off",
    "quote_all_identifiers": "off",
    "enable_seqscan": "on",
}
_FIXED = {
    "server_version",
    "server_version_num",
    "server_encoding",
    "integer_datetimes",
    "is_superuser",
    "session_authorization",
    "in_hot_standby",
    "max_identifier_length",
    "lc_collate",
    "lc_ctype",
}
_UTF8 = {"utf8", "utf-8", "unicode", "sql_ascii", "auto", "default"}
"""Encodings that UTF-8 can be told as."""


def _amount(name: str, value: str) -> str:
    number = exact(value, name)
    if number == 0:
        raise BadInput(f"{name} must be above 0.")
    return value


def _share(name: str, value: str) -> str:
    if exact(value, name) >= 1:
        raise BadInput(f"{name} must be below 1.")
    return value


def _error(name: str, value: str) -> str:
    exact(value.rstrip(" %") if value.endswith("%") else value, name)
    return value


def _rows(name: str, value: str) -> str:
    if not (value.isascii() and value.isdecimal() and 1 <= int(value[:20]) <= 10**12):
        raise BadInput(f"{name} must be a number of rows, such as 1000.")
    return value


def _switch(name: str, value: str) -> str:
    if value.lower() in ("on", "true", "yes", "1"):
        return "on"
    if value.lower() in ("off", "false", "no", "0"):
        return "off"
    raise BadInput(f"{name} must be on or off.")


@dataclass(frozen=True)
class OwnSetting:
    """A parameter of discreet: the check of its value, and its description."""

    check: Callable[[str, str], str]
    about: str
    default: str = ""


OWN: Mapping[str, OwnSetting] = {
    "discreet.epsilon": OwnSetting(_amount, "Privacy loss ε to spend on each question."),
    "discreet.delta": OwnSetting(_share, "δ to spend on a question whose groups the card does not declare.", "0"),
    "discreet.error": OwnSetting(
        _error, "Largest error of each figure; the smallest ε that reaches it is spent, at most discreet.epsilon."
    ),
    "discreet.expect": OwnSetting(_amount, "Figure that you expect, for an error in per cent."),
    "discreet.rows": OwnSetting(_rows, "Rows that you expect in a group, for the error of an average."),
    "discreet.max_per_connection": OwnSetting(_amount, "ε that this connection may spend in all."),
    "discreet.error_bars": OwnSetting(_switch, "Whether each figure has its error bar as a further column.", "on"),
    "discreet.synthetic": OwnSetting(
        _switch, "Whether synthetic stand-ins answer, marked and free, what the budget does not cover.", "off"
    ),
}


@dataclass
class SessionSettings:
    """Parameters of a session. Values are texts."""

    person: str
    most: Fraction | None = None
    """Maximum ε of a connection, set by the person who started the service."""
    usual: str = "1"
    """ε of a connection unless it sets another."""
    _started: dict[str, str] = field(default_factory=dict, init=False)
    _set: dict[str, str] = field(default_factory=dict, init=False)
    _before: dict[str, str] | None = field(default=None, init=False)
    _local: dict[str, str | None] = field(default_factory=dict, init=False)

    def get(self, name: str) -> str | None:
        """The value of a parameter; ``None`` if there is no such parameter."""
        name = _known(name)
        if name in self._set:
            return self._set[name]
        if name == "discreet.max_per_connection":
            return self.usual
        if name in OWN:
            return OWN[name].default
        return self.person if name == "session_authorization" else POSTGRES.get(name)

    def require(self, name: str) -> str:
        """The value of a parameter; an error if there is no such parameter."""
        value = self.get(name)
        if value is None:
            raise _unknown(name)
        return value

    def own(self, name: str) -> str | None:
        """The value of a parameter of discreet, if it has one."""
        return self.get(PREFIX + name) or None

    def everything(self) -> list[tuple[str, str, str]]:
        """All parameters: name, value and description."""
        ours = [(name, self.require(name), one.about) for name, one in OWN.items()]
        return [*ours, *((name, self.require(name), "") for name in sorted(POSTGRES, key=str.lower))]

    def start(self, given: Mapping[str, str]) -> None:
        """Take what a client says as it connects: this is what RESET goes back to."""
        for name, value in given.items():
            self.set(name, value)
        self._started = dict(self._set)

    def set(self, name: str, value: str | None, *, local: bool = False) -> str:
        """Set a parameter (``None``: to its default) and tell its name; an error if it cannot be that."""
        name = _known(name)
        checked = None if value is None else self._checked(name, value)
        if local and self._before is not None:
            self._local.setdefault(name, self._set.get(name))
        elif local:
            return name  # as in PostgreSQL, it has no effect outside a transaction
        else:
            self._local.pop(name, None)
        self._put(name, self._started.get(name) if checked is None else checked)
        if len(self._set) > _MOST:
            self._set.pop(name)
            raise BadInput("This session has set too many parameters.")
        return name

    def reset(self) -> None:
        """Set everything to what it was when the client connected."""
        self._set = dict(self._started)

    def begin(self) -> None:
        """A transaction begins: what is set in it may be taken back."""
        self._before, self._local = dict(self._set), {}

    def end(self, *, well: bool) -> None:
        """A transaction ends."""
        if self._before is not None and not well:
            self._set = self._before
        elif self._before is not None:
            for name, value in self._local.items():
                self._put(name, value)
        self._before, self._local = None, {}

    def _put(self, name: str, value: str | None) -> None:
        if value is None:
            self._set.pop(name, None)
        else:
            self._set[name] = value

    def _checked(self, name: str, value: str) -> str:
        if len(value) > _LONGEST or "\0" in value:
            raise BadInput(f"The value of {name} is too long.")
        if name in OWN:
            checked = OWN[name].check(name, value.strip()) if value.strip() else ""
            if name == "discreet.max_per_connection":
                self._require_cap(checked)
            return checked
        if name.startswith(PREFIX) or ("." not in name and name not in POSTGRES):
            raise _unknown(name)
        if name in _FIXED and value != self.get(name):
            raise BadInput(f"The parameter {name} cannot be changed.")
        if name == "client_encoding" and value.strip("'\" ").lower() not in _UTF8:
            raise BadInput("The only encoding is UTF8.", hint="SET client_encoding TO 'UTF8'")
        if name == "DateStyle" and not value.strip("'\" ").lower().startswith("iso"):
            raise BadInput("Dates are always in the format ISO.")
        return "UTF8" if name == "client_encoding" else value

    def _require_cap(self, checked: str) -> None:
        if not checked:
            raise BadInput("A connection needs a limit.", hint="SET discreet.max_per_connection = 1")
        if self.most is not None and exact(checked, "max_per_connection") > self.most:
            raise BadInput(
                f"This service lets a connection spend at most ε = {float(self.most):g}.",
                hint="Only the person who started the service can set another limit (--postgres-cap).",
            )


_NAMES = {name.lower(): name for name in (*POSTGRES, *OWN)} | {"timezone": "TimeZone", "time zone": "TimeZone"}


def _known(name: str) -> str:
    """A parameter as it is written here."""
    return _NAMES.get(name.lower(), name.lower())


def _unknown(name: str) -> NotFound:
    return NotFound(f"There is no parameter {name[:60]!r}.", hint=f"Those of discreet are {', '.join(OWN)}.")
