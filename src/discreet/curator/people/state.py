"""The service's own database: people, sessions, tokens, the audit log, the list of releases, jobs.

It is kept with the ledger's care, and beside it: ``service.db`` in the workspace, or a schema ``discreet_service_…`` of
the PostgreSQL database that has the ledger, which all processes that serve this workspace share. A ledger may have
several workspaces; each has a schema of its own, so that nobody signs in to, or runs the jobs of, another. It holds no
row of anybody's data, no answer, and of passwords, sessions and tokens only hashes.

Whoever keeps something in it makes its own tables by ``ensure``; the audit log alone is made with the database, since
its lines are the ones that nobody may change. How far the log had come is kept in a file in the workspace, too
(``budget/store.py``): a log that was edited or cut short, or an old copy of the database, is an error when it is
opened.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakKeyDictionary

from discreet.budget.entries import START, digest
from discreet.budget.store import Contents, Group, Session, Store
from discreet.budget.verify import require_head
from discreet.core.document import Format
from discreet.curator.workspace import Workspace
from discreet.errors import AccessError, BadInput, LedgerError, NotFound, Unsound

if TYPE_CHECKING:
    from discreet.budget.postgres import PostgresStore

T = TypeVar("T")
FORMAT: Format[Session] = Format("service database", error=LedgerError)
FILE = "service.db"
_PAGE = "SELECT number, who, content, digest FROM audit WHERE number > ? ORDER BY number LIMIT 5000"
_REMEDY = (
    "Put the newest copy of the service's database back, or restore a backup into a new folder (discreet workspace "
    "restore). docs/serve.md, “Backup”, says what to do without one."
)


SERVICE = Contents(
    format=FORMAT,
    application=0x64635376,  # "dcSv"
    schema=(
        "CREATE TABLE audit (number integer PRIMARY KEY, who text NOT NULL, content text NOT NULL, "
        "digest text NOT NULL)",
        "CREATE INDEX audit_who ON audit (who, number)",
    ),
    lines="audit",
    begin=lambda session: None,
    again="Try again.",
)


class State:
    """The database of a workspace's service. Threads may share it; a process that forked must open it again."""

    def __init__(self, store: Store) -> None:
        """A database whose audit log is checked first: ``Unsound`` if it is not what was written."""
        self._store = store
        self._heads: WeakKeyDictionary[Session, tuple[int, str]] = WeakKeyDictionary()
        try:
            self._known = self._sound_log()
        except BaseException:
            store.close()
            raise
        self._group: Group[Callable[[Session], Any], Any] = Group(self._commit, "service database")

    @classmethod
    def open(cls, workspace: Workspace) -> Self:
        """That of a workspace, made on first use."""
        if workspace.ledger_place == str(workspace.folder / workspace.ledger):
            return cls(_file(workspace.folder / FILE))
        return cls(_schema(workspace.ledger_place, schema_of(workspace), workspace.folder / FILE))

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """What a single query gives; cheaper than a transaction."""
        return self._store.rows(sql, parameters)

    def reading(self) -> AbstractContextManager[Session]:
        """A transaction that sees one state throughout. Whoever is in one does not begin another."""
        return self._store.reading()

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A transaction that nobody else writes beside, durable when the block ends."""
        with self._store.writing() as session:
            yield session
        if head := self._heads.get(session):
            self._known = max(self._known, head)
            if self._store.witness:
                self._store.witness.write(*head)

    def last_line(self, session: Session) -> tuple[int, str]:
        """Number and digest of the last line of the audit log, for whoever adds the next in this transaction.

        An error if the log does not go on from the last line that was seen.
        """
        if session in self._heads:
            return self._heads[session]
        sql = "SELECT number, digest FROM audit WHERE number = ? OR number = (SELECT MAX(number) FROM audit)"
        rows = session.rows(sql, self._known[:1]) or [(0, START)]
        if self._known[0] and self._known not in rows:
            raise Unsound(f"Line {self._known[0]:,} of the audit log, which had been written, is gone.", hint=_REMEDY)
        return max(rows)

    def set_last_line(self, session: Session, number: int, digest: str) -> None:
        """Say which line of the audit log was added in this transaction."""
        self._heads[session] = (number, digest)

    def change(self, change: Callable[[Session], T]) -> T:
        """Do ``change`` in a transaction shared with whoever waits at the same time; durable when this returns.

        It may be tried twice, so it must do nothing but read and write the session. If it raises an error on purpose,
        nothing of it is written.
        """
        done: T = self._group.submit(change)
        return done

    def ensure(self, *statements: str) -> None:
        """Make tables and indexes that are not there yet (``CREATE TABLE IF NOT EXISTS …``)."""
        with self.writing() as session:
            for statement in statements:
                session.run(statement, [()])

    def close(self) -> None:
        """Finish what is waiting, and let go."""
        if self._group.close():
            self._store.close()

    def _sound_log(self) -> tuple[int, str]:
        """Number and digest of the last line of the audit log, all of which is checked."""
        witness = self._store.witness
        head = witness.head() if witness else None  # before the log is read: others may add lines at any time
        with self.reading() as session:
            number, before = 0, START
            while page := session.rows(_PAGE, (number,)):
                for found, who, content, digest_ in page:
                    filed = content.endswith(f'"who":{json.dumps(who)}}}')  # the last field
                    if found != number + 1 or digest_ != digest(before, content) or not filed:
                        raise Unsound(f"The audit log was edited or damaged, at line {number + 1:,}.", hint=_REMEDY)
                    number, before = found, digest_
            require_head(session, "audit", head, "The audit log", _REMEDY)
        if witness and number:
            witness.write(number, before)
        return number, before

    def _commit(self, changes: Sequence[Callable[[Session], Any]]) -> list[Any]:
        try:
            with self.writing() as session:
                return [change(session) for change in changes]
        except (BadInput, AccessError) as refusal:
            return [refusal] if len(changes) == 1 else [self._commit([change])[0] for change in changes]


def schema_of(workspace: Workspace) -> str:
    """The schema of a workspace in its ledger's database: told apart by its twins, which no other workspace has."""
    twins = "\n".join(sorted(one.id for one in workspace.tables.values()))
    return f"discreet_service_{hashlib.sha256(twins.encode()).hexdigest()[:16]}"


def _file(path: Path) -> Store:
    from discreet.budget.sqlite import create_store, open_store

    try:
        return open_store(path, SERVICE)
    except NotFound:
        pass
    try:
        create_store(path, SERVICE)
    except LedgerError:
        if not path.is_file():  # else another process was faster
            raise
    return open_store(path, SERVICE)


def _schema(address: str, schema: str, witness: Path) -> Store:
    from discreet.budget.postgres import PostgresStore

    store = PostgresStore(address, schema, SERVICE, witness)
    try:
        try:
            store.open()
        except NotFound:
            _create(store)
    except BaseException:
        store.close()
        raise
    return store


def _create(store: PostgresStore) -> None:
    try:
        store.create()
    except LedgerError as problem:
        try:
            store.open()  # another process was faster
        except NotFound:
            raise problem from None
