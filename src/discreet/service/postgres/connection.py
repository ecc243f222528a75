"""A connection of someone who has signed in: messages in their order, each answered before the next is read.

A statement may be cancelled from another connection (``cancel``). A question in line is then not asked; one whose turn
began goes on without being waited for, so that neither its charge nor its time is the canceller's to choose.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from anyio import to_thread

from discreet.errors import BadInput, BadQuery, DiscreetError, NotFound, NotSignedIn
from discreet.service.postgres import messages, values
from discreet.service.postgres.messages import BadMessage, Bind, Described, Execute, Parse, Target
from discreet.service.postgres.questions import Columns, Outcome
from discreet.service.postgres.session import (
    FailedTransaction,
    NoTransaction,
    Session,
)
from discreet.service.postgres.session_settings import REPORTED
from discreet.service.postgres.sqlstate import error_message
from discreet.service.postgres.statements import Parameters, Statement, statements
from discreet.service.postgres.stream import Stream
from discreet.service.postgres.values import as_formats, encoder

IDLE_SECONDS = 3600.0
"""Time limit of a connection for its next statement, seconds."""
_MOST_STATEMENTS, _MOST_CHARACTERS, _MOST_PORTALS = 512, 2_000_000, 64
_MOST_WAITING = 1_000_000
"""Maximum number of values in results that are fetched in parts."""
_CHUNK_VALUES = 2_000
_LOG = logging.getLogger("discreet.service.postgres")
T = TypeVar("T")


class Ended(Exception):
    """The connection is over."""


@dataclass
class Prepared:
    """A prepared statement: ``None`` if it is empty."""

    statement: Statement | None
    types: Sequence[int]
    size: int
    columns: Columns | None = None
    """The columns that a client was told, once it was described."""


@dataclass
class Portal:
    """A prepared statement with values for its parameters, and its rows that are still to be sent."""

    prepared: Prepared
    parameters: Parameters
    formats: Sequence[int]
    outcome: Outcome | None = None
    sent: int = 0


@dataclass
class Connection:
    """A connection of someone who has signed in."""

    stream: Stream
    session: Session
    prepared: dict[str, Prepared]
    portals: dict[str, Portal] = field(default_factory=dict)
    _running: asyncio.Future[Any] | None = None
    _cancelled: bool = False
    _skipping: bool = False
    """Whether messages are skipped until Sync, after one that failed."""
    _owed: Portal | None = None
    """A portal that is to be described: by its rows if it is run next."""

    def cancel(self) -> None:
        """Stop waiting for the statement under way, if there is one."""
        if self._running is not None and not self._running.done():
            self._cancelled = True
            self._running.cancel()

    async def serve(self) -> None:
        """Answer messages until the client is done."""
        while True:
            letter, data = await self.stream.message(messages.MOST_BYTES, IDLE_SECONDS)
            if letter == "X":
                return
            await self._answer(letter, data)

    async def _answer(self, letter: str, data: bytes) -> None:
        if letter == "S":
            await self._sync()
            return
        if letter == "Q":
            self._skipping, self._owed = False, None
            await self._simple(data)
            return
        if letter in "dcf":  # of a COPY that we never began
            return
        act = {"P": self._parse, "B": self._bind, "D": self._describe, "E": self._execute, "C": self._close}.get(letter)
        if act is None and letter not in "HF":
            raise BadMessage("there is no such message")
        if self._skipping:
            return
        if letter == "F":
            await self._try(self._refuse_function)
        elif letter == "H":
            await self._try(self._describe_owed)
            await self.stream.flush()
        elif act is not None:
            await self._try(lambda: self._in_order(letter, act, data))
            await self.stream.flush_if_large()

    async def _in_order(self, letter: str, act: Callable[[bytes], Awaitable[None]], data: bytes) -> None:
        if letter != "E":  # which tells itself what the portal returns, if it runs that one
            await self._describe_owed()
        await act(data)

    async def _sync(self) -> None:
        if not self._skipping:
            await self._try(self._describe_owed)
        self._skipping, self._owed = False, None
        if self.session.status == "I":
            self.portals.clear()
        self.stream.send(messages.ready(self.session.status))
        await self.stream.flush()

    async def _simple(self, data: bytes) -> None:
        reader = messages.Reader(data)
        text = reader.text()
        reader.end()
        self.portals.pop("", None)
        await self._try(lambda: self._all(text))
        self._skipping = False
        self.stream.send(messages.ready(self.session.status))
        await self.stream.flush()

    async def _all(self, text: str) -> None:
        found = await to_thread.run_sync(statements, text) if len(text) > 2_000 else statements(text)
        if not found:
            self.stream.send(messages.EMPTY_QUERY)
        for one in found:
            if one.parameters:
                raise BadInput("A parameter needs a prepared statement.")
            outcome = await self._run(self.session.run(one))
            formats = [0] * len(outcome.columns or ())
            if outcome.columns is not None:
                self.stream.send(messages.row_description(_described(outcome.columns), formats))
            await self._send(outcome, formats, 0, 0)
            self.stream.send(messages.complete(outcome.tag))

    # Prepared statements

    async def _parse(self, data: bytes) -> None:
        given = Parse.read(data)
        if given.name and given.name in self.prepared:
            raise BadInput("A prepared statement of that name exists already.", hint="Close it first.")
        self.prepared.pop(given.name, None)
        used = sum(one.size for one in self.prepared.values())
        if len(self.prepared) >= _MOST_STATEMENTS or used + len(given.text) > _MOST_CHARACTERS:
            raise BadInput("This connection has too many prepared statements.", hint="DEALLOCATE ALL")
        text = given.text
        found = await to_thread.run_sync(statements, text) if len(text) > 2_000 else statements(text)
        if len(found) > 1:
            raise BadQuery("A prepared statement must be one statement.")
        statement = found[0] if found else None
        if statement is not None and statement.parameters > messages.MOST_VALUES:
            raise BadInput(f"A statement may have at most {messages.MOST_VALUES:,} parameters.")
        self.prepared[given.name] = Prepared(statement, given.types, len(text))
        self.stream.send(messages.PARSE_COMPLETE)

    async def _bind(self, data: bytes) -> None:
        given = Bind.read(data)
        prepared = self._statement(given.statement)
        if given.portal and given.portal in self.portals:
            raise BadInput("A portal of that name exists already.", hint="Close it first.")
        self.portals.pop(given.portal, None)
        if len(self.portals) >= _MOST_PORTALS:
            raise BadInput("This connection has too many portals.", hint="Close some of them.")
        wanted = 0 if prepared.statement is None else prepared.statement.parameters
        if len(given.values) < wanted:
            raise BadInput(f"The statement has {wanted} parameters, but {len(given.values)} values were given.")
        types = prepared.types
        if prepared.statement is not None and (0 in types or len(types) < wanted):
            types = prepared.types = await self.session.types(prepared.statement, types)
        parameters = Parameters.read(given.values, types, given.formats)
        self.portals[given.portal] = Portal(prepared, parameters, given.result_formats)
        self.stream.send(messages.BIND_COMPLETE)

    async def _describe(self, data: bytes) -> None:
        target = Target.read(data)
        if target.kind == "P":
            self._owed = self._portal(target.name)
            return
        prepared = self._statement(target.name)
        statement = prepared.statement
        if statement is None:
            self.stream.send(messages.parameter_description(()) + messages.NO_DATA)
            return
        prepared.types = await self.session.types(statement, prepared.types)
        columns = None
        if statement.returns_rows:
            samples = self.session.samples(prepared.types)
            columns = await self._run(self.session.describe(statement, samples))
        prepared.columns = columns
        self.stream.send(messages.parameter_description(prepared.types))
        self._send_columns(columns, ())

    async def _describe_owed(self) -> None:
        """Describe the portal that is to be described, without running it."""
        portal, self._owed = self._owed, None
        if portal is None:
            return
        columns = None if portal.outcome is None else portal.outcome.columns
        statement = portal.prepared.statement
        if portal.outcome is None and statement is not None:
            columns = await self._run(self.session.describe(statement, portal.parameters))
        self._send_columns(columns, portal.formats)

    async def _execute(self, data: bytes) -> None:
        given = Execute.read(data)
        portal, owed = self._portal(given.portal), self._owed
        if owed is not portal:
            await self._describe_owed()
        self._owed = None
        statement = portal.prepared.statement
        if statement is None:
            self.stream.send((messages.NO_DATA if owed is portal else b"") + messages.EMPTY_QUERY)
            return
        first = portal.outcome is None
        if portal.outcome is None:
            portal.outcome = await self._run(self.session.run(statement, portal.parameters))
        outcome = portal.outcome
        if portal.prepared.columns is not None and first:
            outcome = portal.outcome = _as_described(outcome, portal.prepared.columns)
        formats = as_formats(portal.formats, len(outcome.columns or ()))
        if owed is portal:
            self._send_columns(outcome.columns, portal.formats)
        left = len(outcome.rows) - portal.sent
        if given.rows and left > given.rows:
            await self._send(outcome, formats, portal.sent, given.rows, first=first)
            portal.sent += given.rows
            self._require_room()
            self.stream.send(messages.PORTAL_SUSPENDED)
            return
        await self._send(outcome, formats, portal.sent, 0, first=first)
        tag = outcome.tag if not portal.sent else f"SELECT {left}"
        portal.outcome, portal.sent = Outcome(outcome.tag, outcome.columns), 0  # its rows are done
        self.stream.send(messages.complete(tag))

    def _require_room(self) -> None:
        """An error if rows that are to be fetched later are too many."""
        open_ = [one for one in self.portals.values() if one.outcome is not None and one.outcome.rows]
        if sum(len(one.outcome.rows) * len(one.outcome.columns or ()) for one in open_ if one.outcome) > _MOST_WAITING:
            self.portals.clear()
            raise BadInput("Too many rows wait to be fetched.", hint="Fetch all rows of a result at once.")

    async def _close(self, data: bytes) -> None:
        target = Target.read(data)
        if target.kind == "S":
            self.prepared.pop(target.name, None)
        else:
            self.portals.pop(target.name, None)
        self.stream.send(messages.CLOSE_COMPLETE)

    async def _refuse_function(self) -> None:
        raise BadQuery("Functions cannot be called by this message.", hint="Ask with SELECT.")

    def _statement(self, name: str) -> Prepared:
        if name not in self.prepared:
            raise NotFound("There is no such prepared statement.")
        return self.prepared[name]

    def _portal(self, name: str) -> Portal:
        if name not in self.portals:
            raise NotFound("There is no such portal.")
        return self.portals[name]

    # What is sent

    def _send_columns(self, columns: Columns | None, formats: Sequence[int]) -> None:
        if columns is None:
            self.stream.send(messages.NO_DATA)
        else:
            each = as_formats(formats, len(columns))
            self.stream.send(messages.row_description(_described(columns), each))

    async def _send(self, outcome: Outcome, formats: Sequence[int], at: int, most: int, *, first: bool = True) -> None:
        """Send rows from one on, and what is told beside them."""
        if first and self.session.settings.get("client_min_messages") not in ("error", "fatal", "panic"):
            quiet = self.session.settings.get("client_min_messages") == "warning"
            for severity, said in outcome.notices:
                if severity == "WARNING" or not quiet:
                    code = "01000" if severity == "WARNING" else "00000"
                    self.stream.send(messages.error(severity, code, said, notice=True))
        if first and outcome.changed in REPORTED:
            value = self.session.settings.require(outcome.changed)
            self.stream.send(messages.parameter_status(outcome.changed, value))
        encoders = [encoder(type_, one) for (_, type_), one in zip(outcome.columns or (), formats, strict=True)]
        end = len(outcome.rows) if not most else at + most
        step = max(_CHUNK_VALUES // max(len(encoders), 1), 1)
        for begin in range(at, end, step):
            for row in outcome.rows[begin : min(begin + step, end)]:
                self.stream.send(messages.data_row([write(one) for write, one in zip(encoders, row, strict=True)]))
            await self.stream.flush_if_large()
            await asyncio.sleep(0)

    # What fails

    async def _run(self, work: Awaitable[T]) -> T:
        """Wait for something that may be cancelled."""
        task = asyncio.ensure_future(work)
        self._running, self._cancelled = task, False
        try:
            return await task
        except asyncio.CancelledError:
            if self._cancelled:
                raise Cancelled from None
            raise
        finally:
            self._running = None

    async def _try(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something; what is wrong with it is told, and the messages after it are skipped."""
        try:
            await work()
        except (ConnectionError, TimeoutError, Ended, BadMessage):
            raise
        except Exception as error:  # noqa: BLE001
            self.session.fail()
            self._skipping, self._owed = True, None
            if isinstance(error, NotSignedIn):  # the token has expired or was revoked
                self.stream.send(error_message(error, "FATAL"))
                await self.stream.flush()
                raise Ended from None
            self.stream.send(_told(error))
            await self.stream.flush()  # a client may wait for this before it sends Sync


class Cancelled(Exception):
    """A statement was cancelled by its client."""


_SAID: dict[type[Exception], tuple[str, str]] = {
    Cancelled: ("57014", "The statement was cancelled. A question whose turn had begun may have been charged."),
    FailedTransaction: ("25P02", "The transaction failed before: statements are ignored until it ends."),
    NoTransaction: ("25P01", "A savepoint needs a transaction."),
}


def _told(error: Exception) -> bytes:
    if isinstance(error, DiscreetError):
        return error_message(error)
    if type(error) in _SAID:
        return messages.error("ERROR", *_SAID[type(error)])
    _LOG.error("fault", exc_info=error)  # its words are for no one
    return messages.error("ERROR", "XX000", "Internal error of the service.", "Report it to a steward.")


def _described(columns: Columns) -> list[Described]:
    return [Described(name, type_.oid, type_.size) for name, type_ in columns]


def _as_described(outcome: Outcome, said: Columns) -> Outcome:
    """What a statement gave, with the columns that were described before; an error if they are others."""
    found = outcome.columns or ()
    if len(found) != len(said) or any(
        name != known or (type_ not in (expected, values.INT8) or expected not in (type_, values.FLOAT8))
        for (name, type_), (known, expected) in zip(found, said, strict=True)
    ):
        raise BadQuery("The columns of the answer are not those that were described.", hint="Prepare it again.")
    return replace(outcome, columns=said)
