"""A ledger, or other contents, in an SQLite file: WAL, synchronous=FULL, so a commit is on the disk when it returns.

Processes take turns to write by a lock file beside the ledger. SQLite has locks of its own, but its waiters
sleep longer and longer instead of queueing; and up to 3.51.2 a checkpoint and a write at the same instant
can lose pages (the WAL-reset bug), which cannot happen to those who take turns. A process that dies lets
go of the lock, and the next one finds the ledger as of the last commit.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from discreet.budget.store import VERSION, Contents, Readers, Session, Witness, gone, migrate, outdated, record_version
from discreet.core.document import flush_name
from discreet.errors import LedgerError, NotFound, Unsound

_NETWORK = {"9p", "afs", "ceph", "cifs", "fuse.sshfs", "glusterfs", "lustre", "nfs", "nfs4", "smb2", "smb3", "smbfs"}
_RETIRED = 0x7FFF0000
"""The version of a file that is used no more, since its contents are elsewhere: later than any that there will be."""
_PATIENCE = 30.0
_HELD: Counter[tuple[int, Path]] = Counter()
"""How often which process has which ledger open: what a forked child finds here of its parent warns it."""


def create_store(path: Path, contents: Contents) -> None:
    """Make a file with new contents at ``path``, where there must be nothing yet.

    It is made under another name and then given this one, so that it is there as a whole or not at all.
    """
    path = _local(path)
    require_not_gone(path, contents)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        draft = Path(name)
        try:
            with _errors(path, contents), closing(_connect(draft)) as connection:
                _keep_log(connection, path)
                connection.execute(f"PRAGMA application_id = {contents.application}")
                connection.execute(f"PRAGMA user_version = {contents.format.version}")
                connection.execute("BEGIN IMMEDIATE")
                for statement in (*contents.schema, *_append_only(contents.lines)):
                    connection.execute(statement)
                record_version(_Session(connection), contents.format)
                contents.begin(_Session(connection))
                connection.execute("COMMIT")
            os.link(draft, path)
        finally:
            draft.unlink()
        flush_name(path)
    except FileExistsError:
        raise LedgerError(f"{path} already exists.", hint="Open it, or choose another path.") from None
    except OSError as error:
        raise LedgerError(f"No {contents.what} can be made at {path}: {error.strerror}.") from None


def require_not_gone(path: Path, contents: Contents) -> None:
    """An error if there is nothing at ``path``, and once was."""
    if (head := Witness(path.resolve()).head()) and not path.exists():  # in this order: others may be making it
        raise gone(contents, str(path), head[0])


def is_retired(path: Path) -> bool:
    """Whether what a file holds was moved elsewhere, or is being moved."""
    with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
        return _version(connection) == _RETIRED


def stored_version(path: Path) -> int:
    """The format version of a file that is there; it is not opened to be written to, so nothing is migrated."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
            return _version(connection)
    except sqlite3.Error as error:
        raise LedgerError(f"{path} could not be read: {error}.", hint="Fix that first, and try again.") from None


def revive(path: Path, contents: Contents) -> None:
    """Have a retired file used again, since it was not moved after all."""
    turn = _Turn(path.resolve(), contents)
    with turn, _errors(path, contents), closing(_connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {contents.format.version}")
    turn.close()


def open_store(path: Path, contents: Contents) -> SqliteStore:
    """The file at ``path``, which must be there and have such contents."""
    path = _local(path)
    if path.is_dir():
        raise LedgerError(f"{path} is a folder, not a {contents.what}.")
    if not path.is_file():
        raise NotFound(f"There is no {contents.what} at {path}.", hint="Create one, or restore the one that was there.")
    return SqliteStore(path, contents)


class SqliteStore:
    """See ``discreet.budget.store.Store``."""

    def __init__(self, path: Path, contents: Contents) -> None:
        self._path = path.resolve()  # two names for one file would be two logs for one ledger
        self._contents = contents
        _require_unforked(self._path, contents)
        self._turn = _Turn(self._path, contents)
        try:
            with self._turn, self._errors():
                self._connection = _connect(self._path)
                try:
                    _require_contents(self._connection, self._path, contents)
                    _keep_log(self._connection, self._path)
                except BaseException:
                    self._connection.close()
                    raise
        except BaseException:
            self._turn.abandon()
            raise
        self.witness = Witness(self._path)
        self._readers = Readers(self._reader, "BEGIN")
        self._holder = (os.getpid(), self._path)
        self._closed = False
        _HELD[self._holder] += 1

    @property
    def place(self) -> str:
        return str(self._path)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A transaction that is on the disk when the block ends."""
        with self._turn, self._errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                if (found := _version(self._connection)) != self._contents.format.version:
                    raise (
                        _moved(self._contents, self._path)
                        if found == _RETIRED
                        else outdated(self._contents, self.place)
                    )
                yield _Session(self._connection)
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # some errors have rolled back already
                    self._connection.execute("ROLLBACK")
                raise

    def retire(self) -> None:
        """Have no one write to the file or open it from now on: those who have it open are refused at their next write.

        It is as it was, and can be copied; ``revive`` takes this back.
        """
        with self.writing() as session:
            session.run(f"PRAGMA user_version = {_RETIRED}", [()])

    @contextmanager
    def reading(self) -> Iterator[Session]:
        self._require_open()
        with self._errors(), self._readers.snapshot() as connection:
            yield _Session(connection)

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        self._require_open()
        with self._errors():
            return self._readers.once(lambda connection: _Session(connection).rows(sql, parameters))

    def problems(self, session: Session) -> list[str]:
        """What SQLite finds wrong with its file."""
        [(found,)] = session.rows("PRAGMA integrity_check(1)")
        return [] if found == "ok" else [str(found)]

    def close(self) -> None:
        """Close the file, which moves the log into it if no one else has it open."""
        self._closed = True
        with self._turn, self._errors():
            self._readers.close()
            self._connection.close()
        _HELD[self._holder] -= 1
        self.witness.close()
        self._turn.close()

    def _require_open(self) -> None:
        _require_unforked(self._path, self._contents)
        if self._closed:
            raise LedgerError(f"This {self._contents.what} has been closed.", hint="Open it again.")

    def _reader(self) -> sqlite3.Connection:
        connection = _connect(self._path)
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _errors(self) -> AbstractContextManager[None]:
        return _errors(self._path, self._contents)


class _Session:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, tuple(parameters)).fetchall()

    def run(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        for row in rows:
            self._connection.execute(sql, tuple(row))


class _Turn:
    """One process at a time, and one thread of it. Not held by a process that has died."""

    def __init__(self, path: Path, contents: Contents) -> None:
        self._path = path
        self._contents = contents
        self._thread = threading.Lock()
        self._lock = Path(f"{path}-lock")
        self._new = not self._lock.exists()
        try:
            self._file = os.open(self._lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _read_only(path, contents, error.strerror or "") from None

    def __enter__(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        self._thread.acquire()
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    self._thread.release()
                    raise LedgerError(
                        f"Another process has locked the {self._contents.what} {self._path} for "
                        f"{_PATIENCE:.0f} seconds, and nothing was written.",
                        hint=f"Is a process stuck? {self._contents.again}",
                    ) from None
                time.sleep(0.001)
            else:
                return

    def __exit__(self, *_: object) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)
        self._thread.release()

    def close(self) -> None:
        os.close(self._file)

    def abandon(self) -> None:
        """Leave nothing beside a file that turned out to hold something else."""
        self.close()
        if self._new:
            self._lock.unlink(missing_ok=True)


def _append_only(table: str) -> Iterator[str]:
    for verb in ("update", "delete"):
        refusal = f"RAISE(ABORT, 'the table {table} is append-only')"
        yield f"CREATE TRIGGER no_{verb} BEFORE {verb} ON {table} BEGIN SELECT {refusal}; END"


def _connect(path: Path) -> sqlite3.Connection:
    """A connection that waits for others, makes no file, and takes no commit for done before the disk does."""
    uri = f"file:{quote(str(path))}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        connection.text_factory = lambda raw: raw.decode(errors="replace")  # broken text is for verify to find
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: through the disk's own cache
        connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


def _keep_log(connection: sqlite3.Connection, path: Path) -> None:
    [(mode,)] = connection.execute("PRAGMA journal_mode = WAL").fetchall()
    if mode != "wal":
        raise LedgerError(f"SQLite cannot write its log next to {path}.", hint=_ELSEWHERE)


_ELSEWHERE = "Keep it on a local disk, or use PostgreSQL, which several machines can share."


def _require_contents(connection: sqlite3.Connection, path: Path, contents: Contents) -> None:
    [(application,)] = connection.execute("PRAGMA application_id").fetchall()
    if application != contents.application:
        raise _foreign(path, contents, ", but some other SQLite file")
    connection.execute("BEGIN IMMEDIATE")  # fails now, rather than at the first write, if it is read-only
    try:
        stored, needs = _version(connection), ""
        if stored == _RETIRED:
            raise _moved(contents, path)
        if stored > contents.format.version:
            with suppress(sqlite3.Error, TypeError):
                needs = connection.execute(VERSION).fetchone()[1]
        migrate(_Session(connection), contents, stored, str(path), needs)
        if stored != contents.format.version:
            connection.execute(f"PRAGMA user_version = {contents.format.version}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _moved(contents: Contents, path: Path) -> LedgerError:
    return LedgerError(
        f"The {contents.what} {path} was moved to a database, or is being moved: nothing is written to it any more.",
        hint="Open the workspace again. If its ledger is still here, run again: discreet workspace move-ledger",
    )


def _version(connection: sqlite3.Connection) -> int:
    [(version,)] = connection.execute("PRAGMA user_version").fetchall()
    return int(version)


def _require_unforked(path: Path, contents: Contents) -> None:
    """SQLite's locks do not outlive a fork, but what it remembers of them does."""
    if any(count and held == path and process != os.getpid() for (process, held), count in list(_HELD.items())):
        raise LedgerError(
            f"The {contents.what} {path} was open when this process was forked.",
            hint="Fork first and open it afterwards, or start the process afresh (spawn).",
        )


@contextmanager
def _errors(path: Path, contents: Contents) -> Iterator[None]:
    """What SQLite's errors mean."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_NOTADB:
            raise _foreign(path, contents, ": it is not an SQLite file") from None
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            raise _read_only(path, contents, str(error)) from None
        if code == sqlite3.SQLITE_CORRUPT:
            raise Unsound(
                f"The file of the {contents.what} {path} is damaged.",
                hint=f"{contents.remedy} Remove the old files -wal and -shm first.",
            ) from None
        raise LedgerError(
            f"The {contents.what} {path} could not be read or written: {error}.",
            hint=f"Fix that first. {contents.again}",
        ) from None


def _foreign(path: Path, contents: Contents, why: str) -> LedgerError:
    """The error of a file that holds something else: by the witness beside it, what was there was written over."""
    if head := Witness(path).head():
        said = f"The {contents.what} {path} was truncated or overwritten: {head[0]:,} entries had been written to it"
        return Unsound(f"{said}, and now it is not a {contents.what}{why}.", hint=contents.remedy)
    return LedgerError(f"{path} is not a {contents.what}{why}.")


def _read_only(path: Path, contents: Contents, reason: str) -> LedgerError:
    return LedgerError(
        f"The {contents.what} {path} cannot be written: {reason}.",
        hint="The file and its folder must be writable.",
    )


def _local(path: Path) -> Path:
    """``path``, unless it lies on a network file system, where WAL's shared memory and locks do not hold."""
    with suppress(OSError):  # no such list outside Linux
        kind = file_system(path.resolve().parent, Path("/proc/self/mountinfo").read_text())
        if kind in _NETWORK:
            raise LedgerError(f"{path} lies on a network file system ({kind}).", hint=_ELSEWHERE)
    return path


def file_system(folder: Path, mounts: str) -> str:
    """The kind of file system ``folder`` lies on, by the kernel's list of mounts: the longest that holds it."""
    found = ("", "")
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        place = fields.split()[4].replace("\\040", " ")
        if folder.is_relative_to(place) and len(place) >= len(found[0]):
            found = (place, rest.split()[0])
    return found[1]
