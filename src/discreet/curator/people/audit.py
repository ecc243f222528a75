"""The audit log: who did what, and when; lines are added and never changed.

Each line carries the SHA-256 of the one before it and its own content, as the ledger's lines do, and the database
refuses to change or delete one. That is checked when the database is opened, and that no line is missing at the end
(``state.py``). Anyone who has full access to the workspace's folder and the database could still write all of them
again; copies of the log kept elsewhere show that.

A line names people, tables, releases, accounts. It never holds a question, an answer, a password or a token.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from discreet.budget.entries import START
from discreet.budget.store import Session, digest
from discreet.budget.verify import Verdict
from discreet.core.document import fields
from discreet.curator.people.state import State
from discreet.errors import BadInput, LedgerError

_LONGEST_NAME = 60
_LONGEST_TEXT = 2000
_PAGE = 5000
_COLUMNS = "SELECT number, who, content, digest FROM audit"


@dataclass(frozen=True)
class AuditLine:
    """A line of the log."""

    number: int
    at: dt.datetime
    who: str
    """A person's name, or what was given as one."""
    action: str
    about: Mapping[str, str] = field(hash=False)
    well: bool
    """Whether it was done (true) or refused (false)."""
    digest: str


class Audit:
    """The log of a service. Several processes may write to it: it is one chain."""

    def __init__(self, state: State) -> None:
        self._state = state

    def write(
        self, who: str, action: str, about: Mapping[str, str] = MappingProxyType({}), *, well: bool = True
    ) -> None:
        """Add a line; it is on the disk when this returns. Texts too long for a log are cut."""
        self._state.change(lambda session: self.add(session, who, action, about, well=well))

    def add(self, session: Session, who: str, action: str, about: Mapping[str, str], *, well: bool) -> None:
        """Add a line in a transaction of the service's database, beside what it tells of."""
        said = {
            "who": _plain(who, _LONGEST_NAME),
            "action": _plain(action, _LONGEST_NAME),
            "about": {_plain(key, _LONGEST_NAME): _plain(value, _LONGEST_TEXT) for key, value in about.items()},
            "well": well,
        }
        number, before = self._state.last_line(session)
        content = _written(number + 1, dt.datetime.now(dt.UTC), said)
        row = (number + 1, said["who"], content, digest(before, content))
        session.run("INSERT INTO audit (number, who, content, digest) VALUES (?, ?, ?, ?)", [row])
        self._state.set_last_line(session, row[0], row[3])

    def lines(
        self, *, after: int = 0, most: int = 200, newest_first: bool = False, who: str | None = None
    ) -> list[AuditLine]:
        """Some lines, all or one person's, that come after the line ``after`` in the order asked for."""
        conditions, values = ["number > ?"], [after]
        if newest_first:
            conditions = ["number < ?"] if after else ["number > ?"]
        if who is not None:
            conditions.append("who = ?")
        sql = f"{_COLUMNS} WHERE {' AND '.join(conditions)} ORDER BY number {'DESC' if newest_first else 'ASC'} LIMIT ?"
        parameters = [*values, *([] if who is None else [_plain(who, _LONGEST_NAME)]), most]
        rows = self._state.rows(sql, parameters)
        return [_read(number, content, found) for number, _, content, found in rows]

    def verify(self) -> Verdict:
        """Go through all lines again: their digests, their order, and what they are filed under."""
        before, number = START, 0
        with self._state.reading() as session:
            for found, who, content, digest_ in _all(session):
                problem = _problem(number + 1, before, (found, who, content, digest_))
                if problem:
                    return Verdict(number, problem, number + 1)
                number, before = found, digest_
        return Verdict(number)


def _all(session: Session) -> Iterator[tuple[Any, ...]]:
    after = 0
    while page := session.rows(f"{_COLUMNS} WHERE number > ? ORDER BY number LIMIT ?", (after, _PAGE)):
        yield from page
        after = page[-1][0]


def _problem(number: int, before: str, row: tuple[Any, ...]) -> str:
    found, who, content, digest_ = row
    if found != number:
        return "it is missing"
    if digest_ != digest(before, content):
        return "its digest does not match its content and the entry before it"
    try:
        line = _read(number, content, digest_)
    except LedgerError as error:
        return error.message.rstrip(".")
    return "" if line.who == who else "it is stored under another name"


def _written(number: int, at: dt.datetime, said: Mapping[str, Any]) -> str:
    return json.dumps({"line": number, "at": at.isoformat(), **said}, sort_keys=True, separators=(",", ":"))


def _read(number: int, content: str, digest_: str) -> AuditLine:
    try:
        said = fields(json.loads(content), "it", line=int, at=str, who=str, action=str, about=dict, well=bool)
        at = dt.datetime.fromisoformat(said["at"])
    except (ValueError, RecursionError, BadInput):
        raise LedgerError("This is not an entry of an audit log.") from None
    if said["line"] != number:
        raise LedgerError(f"This entry says that it is entry {said['line']}.")
    return AuditLine(number, at, said["who"], said["action"], said["about"], said["well"], digest_)


def _plain(text: str, most: int) -> str:
    """A text that can be logged: printable and not too long."""
    return "".join(c if c.isprintable() else "?" for c in str(text)[:most])
