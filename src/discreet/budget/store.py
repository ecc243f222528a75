"""Databases that hold a ledger, or anything kept with the same care.

What SQLite and PostgreSQL stores have in common: transactions, versions, connections kept for reading,
the chain of digests, the witness outside the database that says how far its lines had come, and where it has its place.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar
from zlib import crc32

from discreet.core.document import Format
from discreet.core.text import number as counted
from discreet.errors import LedgerError, NotFound, Unsound

REMEDY = (
    "Answer no questions until it is repaired, or a budget could be spent twice: restore the newest copy, or "
    "restore a backup into a new folder (discreet workspace restore). docs/budget.md, “A damaged or outdated ledger”, "
    "says what to do without one."
)
"""What the holder must do about a ledger that is not sound."""
POSTGRES = ("postgresql://", "postgres://")
"""How addresses of PostgreSQL databases begin."""

VERSION = "SELECT number, discreet FROM formats ORDER BY number DESC LIMIT 1"
"""The version of a database and the discreet that it needs. One of version 1 does not have this table."""
_READERS = 8
"""Connections for reading, at most."""
_READER_SECONDS = 30.0
"""Longest wait for one of them."""
_READINGS = 100
"""Attempts to read a record that another process may be writing, before it counts as missing."""

T = TypeVar("T")


class Queried(Protocol):
    """What can be asked in SQL. Parameters are written as ``?``."""

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """What a query gives."""


class Session(Queried, Protocol):
    """A transaction."""

    def run(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """A statement, once for every row of parameters."""


@dataclass(frozen=True)
class Contents:
    """What a database is to hold, as the stores need to know it: a ledger, or anything kept with the same care."""

    format: Format[Session]
    application: int
    """How its SQLite file is told from others."""
    schema: tuple[str, ...]
    """The statements that make its tables."""
    lines: str
    """The table that lines are only ever added to: no one may change or delete one."""
    begin: Callable[[Session], None]
    """Write what a new one starts with."""
    again: str
    """What to do after a failure."""
    remedy: str = REMEDY
    """What the holder must do about one that is not sound."""

    @property
    def what(self) -> str:
        """What it is called in messages."""
        return self.format.name


class Store(Queried, Protocol):
    """A database that holds one ledger, or what other ``Contents`` say.

    A query of the store itself sees one state, as a transaction does, and costs less than one.
    """

    @property
    def place(self) -> str:
        """Where it is, for people; without passwords."""

    @property
    def witness(self) -> Witness | None:
        """What says, outside the database, how far its lines had come; ``None`` if no one gave it a place."""

    def writing(self) -> AbstractContextManager[Session]:
        """A transaction no one else writes beside, durable when the block ends. Others wait for their turn."""

    def reading(self) -> AbstractContextManager[Session]:
        """A transaction that sees one state throughout. Any thread."""

    def problems(self, session: Session) -> list[str]:
        """What the database itself finds wrong with its files."""

    def close(self) -> None:
        """Let go of everything."""


def migrate(session: Session, contents: Contents, stored: int, place: str, needs: str = "") -> None:
    """Bring an older database up to date, and record its new version in the same transaction."""
    contents.format.migrate(session, stored, place, needs)
    if stored < contents.format.version:
        record_version(session, contents.format)


def record_version(session: Session, format: Format[Session]) -> None:
    """Record the current version of a format, unless it is the first, and the discreet that reads it."""
    if format.needs:
        session.run("CREATE TABLE IF NOT EXISTS formats (number integer PRIMARY KEY, discreet text NOT NULL)", [()])
        session.run("INSERT INTO formats (number, discreet) VALUES (?, ?)", [(format.version, format.needs)])


def outdated(contents: Contents, place: str) -> LedgerError:
    """The error of a process that has a database open which a later discreet has migrated since."""
    return LedgerError(
        f"The {contents.what} {place} was converted to another format while this process had it open.",
        hint="Restart this process with the version of discreet that converted it, or a later one.",
    )


def gone(contents: Contents, place: str, lines: int) -> Unsound:
    """The error of a database that is not there any more, though a witness has seen it."""
    entries = counted(lines, "entry", "entries")
    return Unsound(f"The {contents.what} that was at {place}, with {entries}, is gone.", hint=contents.remedy)


class Connection(Protocol):
    """What the drivers of SQLite and PostgreSQL have in common."""

    def execute(self, sql: Any, /) -> Any:
        """Run a statement."""

    def close(self) -> None:
        """Let go."""


C = TypeVar("C", bound=Connection)


class Readers(Generic[C]):
    """Lends connections to anyone who reads, one each, and keeps them for the next; anyone who finds none free waits.

    One that was lost while no one used it is replaced; one on which anything failed is not used again. A forked
    process forgets those of its parent.
    """

    def __init__(self, connect: Callable[[], C], begin: str) -> None:
        self._connect = connect
        self._begin = begin
        self._idle: list[C] = []
        self._process = os.getpid()
        self._closed = False
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(_READERS)

    @contextmanager
    def snapshot(self) -> Iterator[C]:
        """A connection inside a transaction that ``begin`` began. Anyone who holds one takes no second."""
        with self._lent():
            connection, _ = self._tried(lambda one: one.execute(self._begin))
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                connection.close()
                raise
            self._put_back(connection)

    def once(self, read: Callable[[C], T]) -> T:
        """What ``read`` finds by a single query, which needs no transaction; asked again if a connection was lost."""
        with self._lent():
            connection, found = self._tried(read)
            self._put_back(connection)
            return found

    def close(self) -> None:
        """Close those that no one has now; the others are closed when they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _lent(self) -> Iterator[None]:
        if not self._free.acquire(timeout=_READER_SECONDS):
            raise LedgerError(
                f"{_READERS} other readers have been active for {_READER_SECONDS:.0f} seconds.", hint="Try again."
            )
        try:
            yield
        finally:
            self._free.release()

    def _put_back(self, connection: C) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _tried(self, what: Callable[[C], T]) -> tuple[C, T]:
        """What a connection gives, and the connection: a kept one is tried first, and then a new one."""
        if (connection := self._spare()) is not None:
            try:
                return connection, what(connection)
            except Exception:  # noqa: BLE001  # whatever it is, a new connection says it again or has it not
                connection.close()
        connection = self._connect()
        try:
            return connection, what(connection)
        except BaseException:
            connection.close()
            raise

    def _spare(self) -> C | None:
        with self._lock:
            if self._process != os.getpid():
                self._process, self._idle = os.getpid(), []  # psycopg leaves a parent's connections alone
            return self._idle.pop() if self._idle else None


class Witness:
    """Files beside ``path`` that say how far its lines had come. Processes and threads may share them.

    An old copy of a database is sound in itself, and so is one whose last lines were cut off. So the number and the
    digest of the last line are kept a second time, in a file ``…-head``. It is written after a commit is durable, not
    waited for, and not after every line: it may lag behind the database, and it is ahead only if the database lost
    lines that it had promised to keep. Anyone who opens the database reads this file first, so that lines that others
    add meanwhile raise no alarm.

    A second file, ``…-sums``, says what the lines of a ledger added up to some time ago, so that anyone who opens it
    adds up only what came since. It saves time: if it leads to a wrong sum, everything is added up again. Anyone who
    forges it together with the accounts is found by ``budget verify``, which adds up everything.

    Anyone who may write to the folder can change these files too, or put the whole folder back as it was; against that,
    only receipts kept elsewhere help.
    """

    def __init__(self, path: Path) -> None:
        self._head = Path(f"{path}-head")
        self._sums = Path(f"{path}-sums")
        self._file: int | None = None
        self._turn = threading.Lock()
        self._waiting: tuple[int, str] | None = None
        self._written = -inf

    def head(self) -> tuple[int, str] | None:
        """Number and digest of the last line that is known to have been written; ``None`` if none is."""
        for _ in range(_READINGS):
            try:
                data = self._head.read_bytes()
            except FileNotFoundError:
                return None
            except OSError as error:
                raise LedgerError(f"{self._head} cannot be read: {error.strerror}.") from None
            if (found := _read(data)) is not None:
                return found
        return None

    def write(self, number: int, digest: str, *, pause: float = 0.0) -> None:
        """Note a line that is durable. Within ``pause`` seconds of another, it waits for the next, or for the end."""
        with self._turn:
            self._waiting = (number, digest)
            if time.monotonic() >= self._written + pause:
                self._flush()

    def _flush(self) -> None:
        with suppress(OSError):  # what fails is left to the next line
            if self._file is None:
                self._file = os.open(self._head, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            known = _read(os.pread(self._file, 1000, 0))
            if self._waiting is not None and (known is None or known[0] < self._waiting[0]):  # others write, too
                os.pwrite(self._file, _record(*self._waiting), 0)
        self._waiting = None
        self._written = time.monotonic()

    def sums(self) -> object:
        """What ``write_sums`` wrote last; ``None`` if that cannot be read."""
        try:
            return json.loads(self._sums.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None

    def write_sums(self, sums: Any) -> None:
        """Note what lines added up to."""
        draft = Path(f"{self._sums}.{os.getpid()}")
        with suppress(OSError):
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(sums, file)
            draft.replace(self._sums)

    def close(self) -> None:
        """Let go of the file."""
        with self._turn:
            if self._waiting is not None:
                self._flush()
            if self._file is not None:
                os.close(self._file)
            self._file = None


def _record(number: int, digest: str) -> bytes:
    """A record of one length, with a sum by which one that is half written is known."""
    said = f"{number:010} {digest} "
    return f"{said}{crc32(said.encode()):08x}".encode()


def _read(data: bytes) -> tuple[int, str] | None:
    number, digest = (*data.decode(errors="replace").split(" "), "", "")[:2]
    return (int(number), digest) if number.isdecimal() and data == _record(int(number), digest) else None


def digest(before: str, content: str) -> str:
    """The digest of a line with this content after one with that digest."""
    return hashlib.sha256(f"{before}\n{content}".encode()).hexdigest()


def require_head(session: Session, table: str, head: tuple[int, str] | None, what: str, hint: str = REMEDY) -> None:
    """An error if a line that had been written is no longer there."""
    at_head = f"SELECT digest FROM {table} WHERE number = ?"  # noqa: S608  # one of our own tables
    if head is None or session.rows(at_head, head[:1]) == [head[1:]]:
        return
    [(last,)] = session.rows(f"SELECT MAX(number) FROM {table}")  # noqa: S608  # one of our own tables
    found = f"it ends at entry {last or 0:,}" if (last or 0) < head[0] else "another entry is in its place"
    raise Unsound(
        f"{what} is an older copy, or was truncated: entry {head[0]:,} had been written to it, and {found}.", hint=hint
    )


def lines_after(
    session: Session, contents: Contents, known: tuple[int, str], what: str, *, also: str = ""
) -> Iterator[tuple[Any, ...]]:
    """Number, content and digest of the lines after a known one, and what is ``also`` in their rows; each is checked.

    An error if one of them was edited, or does not go on from the line before it.
    """
    number, before = known
    columns = f"number, content, digest{also}"
    page_sql = f"SELECT {columns} FROM {contents.lines} WHERE number > ? ORDER BY number LIMIT 5000"  # noqa: S608
    while page := session.rows(page_sql, (number,)):
        for line in page:
            if line[0] != number + 1 or line[2] != digest(before, line[1]):
                raise Unsound(f"{what} was edited or damaged, at entry {number + 1:,}.", hint=contents.remedy)
            number, before = line[0], line[2]
            yield line


@dataclass(frozen=True)
class Home:
    """A place for a database: an SQLite file, or a schema in PostgreSQL. As text a path, or
    ``postgresql://…#schema=path``.

    A ledger is made once, on purpose. Other databases (that of a service, a register of releases) are made when
    something is first written to them: by one of several processes that may all come first.
    """

    path: Path
    """The SQLite file; of a schema in PostgreSQL, the path that its witness lies beside."""
    address: str = ""
    """Of the PostgreSQL database; empty for a file."""
    schema: str = ""

    @classmethod
    def parse(cls, text: str) -> Home:
        """The place that a text names."""
        if not text.startswith(POSTGRES):
            return cls(Path(text))
        address, _, rest = text.partition("#")
        schema, _, path = rest.partition("=")
        return cls(Path(path), address, schema)

    def __str__(self) -> str:
        return f"{self.address}#{self.schema}={self.path}" if self.address else str(self.path)

    def find(self, contents: Contents) -> Store | None:
        """The database, if it was ever made; ``Unsound`` if it was, and is gone."""
        if not self.address:
            from discreet.budget.sqlite import open_store, require_not_gone

            require_not_gone(self.path, contents)
            return open_store(self.path, contents) if self.path.exists() else None
        head = Witness(self.path).head()  # first: others may be making it
        try:
            return self._schema(contents, create=False)
        except NotFound:
            if head:
                raise gone(contents, f"{self.schema} in PostgreSQL", head[0]) from None
            return None

    def version(self, contents: Contents) -> int | None:
        """The format version of the database as it is stored; ``None`` if there is none. Nothing is migrated."""
        if not self.address:
            from discreet.budget.sqlite import stored_version

            return stored_version(self.path) if self.path.is_file() else None
        from discreet.budget.postgres import PostgresStore

        store = PostgresStore(self.address, self.schema, contents)
        try:
            return store.version()
        finally:
            store.close()

    def find_or_create(self, contents: Contents) -> Store:
        """The database, which is made if it was not there before."""
        if (found := self.find(contents)) is not None:
            return found
        if self.address:
            return self._schema(contents, create=True)
        from discreet.budget.sqlite import create_store, open_store

        try:
            create_store(self.path, contents)
        except LedgerError:
            if not self.path.is_file():  # else another process was faster
                raise
        return open_store(self.path, contents)

    def _schema(self, contents: Contents, *, create: bool) -> Store:
        from discreet.budget.postgres import PostgresStore

        store = PostgresStore(self.address, self.schema, contents, self.path)
        try:
            try:
                if create:
                    store.create()
            except LedgerError as problem:
                try:
                    store.open()  # another process was faster
                except NotFound:
                    raise problem from None
            else:
                store.open()
        except BaseException:
            store.close()
            raise
        return store
