"""Service database: people, sessions, tokens, audit log, release index, saved questions and jobs.

It is kept with the ledger's care, and beside it: ``service.db`` in the workspace, or a schema ``discreet_service_…`` of
the PostgreSQL database that has the ledger, which all processes that serve this workspace share. A ledger may have
several workspaces; each has a schema of its own, so that no one signs in to, or runs the jobs of, another. It holds no
row of anyone's data, no answer, and of passwords, sessions and tokens only hashes.

Anyone who keeps something in it makes its own tables by ``ensure``; the audit log alone is made with the database,
since its lines are the ones that no one may change. How far the log had come is kept in a file in the workspace, too
(see
``Witness``): a log that was edited or cut short, or an old copy of the database, is an error when it is opened.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary

from discreet.budget.entries import START
from discreet.budget.ledger import Group
from discreet.budget.store import Contents, Session, Store, lines_after, require_head
from discreet.core.document import Format
from discreet.curator.workspace import Workspace
from discreet.errors import AccessError, BadInput, LedgerError, Unsound

T = TypeVar("T")
FORMAT: Format[Session] = Format("service database", error=LedgerError)
FILE = "service.db"
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
    remedy="Restore the newest copy of the service's database, or a backup into a new folder (discreet "
    "workspace restore). docs/serve.md, “Backup”, says what to do without one.",
)


class State:
    """Database of a workspace's service. Threads may share it; after a fork it must be opened again."""

    def __init__(self, store: Store) -> None:
        """Open a database and check its audit log; ``Unsound`` if the log was changed."""
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
        """Open a workspace's database; it is created on first use."""
        return cls(workspace.home(FILE).find_or_create(SERVICE))

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Rows of a single query; cheaper than a transaction."""
        return self._store.rows(sql, parameters)

    def reading(self) -> AbstractContextManager[Session]:
        """Read transaction with one consistent snapshot. It must not be nested."""
        return self._store.reading()

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Exclusive write transaction, durable when the block ends."""
        with self._store.writing() as session:
            yield session
        if head := self._heads.get(session):
            self._known = max(self._known, head)
            if self._store.witness:
                self._store.witness.write(*head)

    def last_line(self, session: Session) -> tuple[int, str]:
        """Number and digest of the last line of the audit log, for appending the next in this transaction.

        An error if the log does not go on from the last line that was seen.
        """
        if session in self._heads:
            return self._heads[session]
        sql = "SELECT number, digest FROM audit WHERE number = ? OR number = (SELECT MAX(number) FROM audit)"
        rows = session.rows(sql, self._known[:1]) or [(0, START)]
        if self._known[0] and self._known not in rows:
            problem = f"Entry {self._known[0]:,} of the audit log is gone."
            raise Unsound(problem, hint=SERVICE.remedy)
        return max(rows)

    def set_last_line(self, session: Session, number: int, digest: str) -> None:
        """Record which line of the audit log was appended in this transaction."""
        self._heads[session] = (number, digest)

    def change(self, change: Callable[[Session], T]) -> T:
        """Run ``change`` in a transaction shared with concurrent callers; durable when this returns.

        It may be tried twice, so it must do nothing but read and write the session. If it raises an error on purpose,
        nothing of it is written.
        """
        done: T = self._group.submit(change)
        return done

    def ensure(self, *statements: str) -> None:
        """Create missing tables and indexes (``CREATE TABLE IF NOT EXISTS …``)."""
        with self.writing() as session:
            for statement in statements:
                session.run(statement, [()])

    def close(self) -> None:
        """Finish pending changes, and close the database."""
        if self._group.close():
            self._store.close()

    def _sound_log(self) -> tuple[int, str]:
        """Check the whole audit log; number and digest of its last line."""
        witness = self._store.witness
        head = witness.head() if witness else None  # before the log is read: others may add lines at any time
        with self.reading() as session:
            last = (0, START)
            for number, content, digest, who in lines_after(session, SERVICE, last, "The audit log", also=", who"):
                if not content.endswith(f'"who":{json.dumps(who)}}}'):  # the last field
                    problem = f"The audit log was edited or damaged, at entry {number:,}."
                    raise Unsound(problem, hint=SERVICE.remedy)
                last = (number, digest)
            require_head(session, "audit", head, "The audit log", SERVICE.remedy)
        if witness and last[0]:
            witness.write(*last)
        return last

    def _commit(self, changes: Sequence[Callable[[Session], Any]]) -> list[Any]:
        try:
            with self.writing() as session:
                return [change(session) for change in changes]
        except (BadInput, AccessError) as refusal:
            return [refusal] if len(changes) == 1 else [self._commit([change])[0] for change in changes]
