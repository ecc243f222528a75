"""Connections kept for reading: a snapshot costs a few statements instead of a new connection."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

from discreet.errors import LedgerError

_MOST = 8
_PATIENCE = 30.0


class Connection(Protocol):
    """What the drivers of SQLite and PostgreSQL have in common."""

    def execute(self, sql: Any, /) -> Any:
        """Run a statement."""

    def close(self) -> None:
        """Let go."""


C = TypeVar("C", bound=Connection)
T = TypeVar("T")


class Readers(Generic[C]):
    """Lends connections to whoever reads, one each, and keeps them for the next; whoever finds none free waits.

    One that was lost while nobody used it is replaced; one on which anything failed is not used again. A forked
    process forgets those of its parent.
    """

    def __init__(self, connect: Callable[[], C], begin: str) -> None:
        self._connect = connect
        self._begin = begin
        self._idle: list[C] = []
        self._process = os.getpid()
        self._closed = False
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(_MOST)

    @contextmanager
    def snapshot(self) -> Iterator[C]:
        """A connection inside a transaction that ``begin`` began. Whoever holds one takes no second."""
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
        """Close those that nobody has now; the others are closed when they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _lent(self) -> Iterator[None]:
        if not self._free.acquire(timeout=_PATIENCE):
            raise LedgerError(f"{_MOST} others have been reading for {_PATIENCE:.0f} seconds.", hint="Try again.")
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
