"""Where a service's database can live, for the suites that run on both kinds."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg

from discreet.curator.people.state import State
from discreet.curator.workspace import Workspace


def schema_of(workspace: Workspace) -> str:
    """The schema that has a workspace's service database, if its ledger is in PostgreSQL."""
    return replace(workspace, ledger="postgresql://localhost").home("service.db").schema


def forget(server: psycopg.Connection[tuple[object, ...]]) -> None:
    """Drop what an earlier test left of a workspace without tables."""
    schema = schema_of(Workspace(Path(), "ledger.db", {}))
    server.execute(f"SET client_min_messages = error; DROP SCHEMA IF EXISTS {schema} CASCADE")


@dataclass(frozen=True)
class Place:
    """A workspace's folder, and its ledger's address if that is in PostgreSQL."""

    folder: Path
    address: str | None = None

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.folder, self.address or "ledger.db", {})

    def open(self) -> State:
        return State.open(self.workspace)

    @contextmanager
    def outside(self) -> Iterator[Callable[..., list[tuple[object, ...]]]]:
        """A way to run SQL as somebody with full access to the database could."""
        if self.address is None:
            with closing(sqlite3.connect(self.folder / "service.db", isolation_level=None)) as file:
                yield lambda sql: file.execute(sql).fetchall()
        else:
            with psycopg.connect(self.address, autocommit=True) as server:
                server.execute(f"SET search_path = {schema_of(self.workspace)}")
                yield lambda sql: _fetched(server.execute(sql))

    def untie(self) -> None:
        """Take away what refuses changes to the audit log."""
        with self.outside() as run:
            if self.address is None:
                run("DROP TRIGGER no_update")
                run("DROP TRIGGER no_delete")
            else:
                run("DROP TRIGGER append_only ON audit")

    def contents(self) -> str:
        """Everything that is in the database."""
        tables = ("people", "sessions", "tokens", "attempts", "audit")
        with self.outside() as run:
            return str([run(f"SELECT * FROM {table}") for table in tables])


def _fetched(cursor: psycopg.Cursor[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return cursor.fetchall() if cursor.description else []
