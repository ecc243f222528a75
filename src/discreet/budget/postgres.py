"""A ledger, or other contents, in a PostgreSQL database, for curators on several machines.

It lives in a schema of its own. A writer locks the table of lines, so that lines have one order; commits wait
for the disk (``synchronous_commit``), whatever the server's or the user's settings say.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from discreet.budget.store import VERSION, Contents, Readers, Session, Witness, migrate, outdated, record_version
from discreet.core.optional import extra
from discreet.core.postgres import connection_settings
from discreet.errors import BadInput, DiscreetError, LedgerError, LoginFailed, NotFound, Unreachable

if TYPE_CHECKING:
    import psycopg

_RECORD, _RECORDED = "SELECT to_regclass('formats')::text", "SELECT MAX(number) FROM formats"
"""Queries: whether the format version is recorded (version 1 is not), and the recorded version."""
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class PostgresStore:
    """Implementation of ``discreet.budget.store.Store``, with one connection for writing and some for reading."""

    def __init__(self, address: str, schema: str, contents: Contents, witness: Path | None = None) -> None:
        if not re.fullmatch("[a-z_][a-z0-9_]{0,62}", schema):
            raise BadInput("A schema's name must be up to 63 lower-case letters, digits and underscores.")
        self._settings = connection_settings(address)
        self._schema = schema
        self._contents = contents
        self.witness = None if witness is None else Witness(witness)
        self._writer: psycopg.Connection[Any] | None = None
        self._turn = threading.Lock()
        self._readers = Readers(self._connect, _SNAPSHOT)

    @property
    def place(self) -> str:
        """Host, port, database and schema."""
        host = self._settings.get("host") or "localhost"
        database = f"{host}:{self._settings.get('port') or 5432}/{self._settings.get('dbname') or ''}"
        return f"{database} ({self._schema})"

    def create(self) -> None:
        """Make the schema and its tables, and write what they start with."""
        with self._transaction() as connection:
            connection.execute(f"CREATE SCHEMA {self._schema}")
            for statement in (*self._contents.schema, *_append_only(self._contents.lines)):
                connection.execute(statement)
            record_version(_Session(connection), self._contents.format)
            self._contents.begin(_Session(connection))

    def open(self) -> None:
        """Require that the schema exists, and migrate it; an error if it is newer than this discreet."""
        with self.reading() as session:
            if session.rows("SELECT to_regclass(?)", (self._contents.lines,)) == [(None,)]:
                raise self._missing()
            found = _version(session)
        if found != (self._contents.format.version, self._contents.format.needs):
            with self._transaction() as connection:
                connection.execute(f"LOCK TABLE {self._contents.lines} IN EXCLUSIVE MODE")
                session = _Session(connection)
                stored, needs = _version(session)  # anew: another process may have been faster
                migrate(session, self._contents, stored, self.place, needs)

    def version(self) -> int | None:
        """The format version that is stored; ``None`` if the schema does not exist. Nothing is migrated."""
        with self.reading() as session:
            if session.rows("SELECT to_regclass(?)", (self._contents.lines,)) == [(None,)]:
                return None
            return _version(session)[0]

    def rehearse(self) -> None:
        """Migrate in a transaction that is rolled back at its end; other writers wait until then."""
        with extra("postgres"):
            import psycopg

        with self._transaction() as connection:
            connection.execute(f"LOCK TABLE {self._contents.lines} IN EXCLUSIVE MODE")
            session = _Session(connection)
            stored, needs = _version(session)
            migrate(session, self._contents, stored, self.place, needs)
            raise psycopg.Rollback

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A transaction that holds the lock of the entries, and is on the disk when the block ends."""
        with self._transaction() as connection:
            connection.execute(f"LOCK TABLE {self._contents.lines} IN EXCLUSIVE MODE")
            found = connection.execute(_RECORDED if self._contents.format.needs else _RECORD)  # sent along, read later
            yield _Session(connection)
            if found.fetchall() != [(self._contents.format.version if self._contents.format.needs else None,)]:
                raise outdated(self._contents, self.place)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with self._errors(), self._readers.snapshot() as connection:
            yield _Session(connection)

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._errors():
            return self._readers.once(lambda connection: _Session(connection).rows(sql, parameters))

    def problems(self, session: Session) -> list[str]:
        """None: the server looks after its files."""
        return []

    def close(self) -> None:
        """Close the connections."""
        if self.witness is not None:
            self.witness.close()
        self._readers.close()
        if self._writer is not None:
            self._writer.close()

    @contextmanager
    def _transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """A transaction on the writer's connection, which is reopened if it was lost.

        Statements are sent without waiting for the answer to each: anyone who reads waits, and so does the end.
        """
        with self._turn:
            if self._writer is None or self._writer.closed:
                self._writer = self._connect()
            with self._errors(), self._writer.pipeline(), self._writer.transaction():
                yield self._writer

    def _connect(self) -> psycopg.Connection[Any]:
        with extra("postgres"):
            import psycopg

        try:
            connection = psycopg.connect(**self._settings, client_encoding="utf8", autocommit=True)
        except psycopg.Error as error:
            problem = self._rejection(str(error))
        else:
            try:
                with self._errors():
                    self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            return connection
        raise problem  # out here, so that it does not carry psycopg's error, which knows the password

    def _prepare(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute(f"SET search_path = {self._schema}; SET synchronous_commit = on; SET lock_timeout = '30s'")
        [(durable,)] = connection.execute("SHOW fsync").fetchall()
        if durable != "on":
            raise LedgerError(
                f"PostgreSQL at {self.place} runs with fsync off: charges may be lost.", hint="Switch fsync on."
            )

    def _rejection(self, message: str) -> DiscreetError:
        reasons = [line.strip() for line in message.splitlines() if line.strip()]
        reason = reasons[0].rpartition("failed: ")[2] if reasons else "no reason given"
        if "password" in reason or re.match(r"\w+:  ", reason):
            return LoginFailed(f"PostgreSQL at {self.place} refused the connection: {reason}.")
        return Unreachable(f"No answer from {self.place}: {reason}.", hint="Is the database running?")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn PostgreSQL's errors into ours. After a lost connection it is unknown whether a charge was written."""
        with extra("postgres"):
            import psycopg

        try:
            yield
        except psycopg.Error as error:
            reason = (error.diag.message_primary or str(error).strip().partition("\n")[0]).rstrip(".")
            state, again = error.sqlstate or "", self._contents.again
            if state in ("42P01", "3F000"):
                raise self._missing() from None
            if state == "42P06":
                problem = f"There is a schema {self._schema} at {self.place} already."
                raise LedgerError(problem, hint="Open it, or choose another name.") from None
            if not state or state.startswith(("57P", "08")):
                raise Unreachable(f"The connection to {self.place} was lost: {reason}.", hint=again) from None
            what = f"The {self._contents.what} at {self.place}"
            raise LedgerError(f"{what} could not be used: {reason}.", hint=again) from None

    def _missing(self) -> NotFound:
        return NotFound(f"There is no {self._contents.what} at {self.place}.", hint="Create one, or check the address.")


@dataclass(frozen=True)
class Copied:
    """An SQLite file that is copied to a schema."""

    file: Path
    schema: str
    contents: Contents


@contextmanager
def copied(address: str, files: Sequence[Copied]) -> Iterator[None]:
    """Copy files that are no longer written to into new schemas: all of them or none.

    They are there when the block has ended. If that ends with an error from the database, they may be there or not.
    """
    store = PostgresStore(address, files[0].schema, files[0].contents)
    with store._errors(), closing(store._connect()) as connection, connection.transaction():
        for one in files:
            _copy(connection, one)
        yield


def has_schema(address: str, schema: str, contents: Contents) -> bool:
    """Whether there is a schema of that name."""
    store = PostgresStore(address, schema, contents)
    with store._errors(), closing(store._connect()) as connection:
        return connection.execute("SELECT to_regnamespace(%s)::text", (schema,)).fetchall() != [(None,)]


def require_copied(address: str, one: Copied) -> None:
    """An error if the last line of a schema is not that of the file: each line has the digest of those before it."""
    store = PostgresStore(address, one.schema, one.contents)
    last = f"SELECT number, digest FROM {one.contents.lines} ORDER BY number DESC LIMIT 1"  # noqa: S608  # our own table
    with closing(sqlite3.connect(f"file:{quote(str(one.file))}?mode=ro", uri=True)) as file:
        wanted = file.execute(last).fetchall()
    with closing(store):
        if store.rows(last) != wanted:
            raise LedgerError(
                f"The {one.contents.what} at {store.place} is not the one of {one.file}.", hint="Name another database."
            )


def _copy(connection: psycopg.Connection[Any], one: Copied) -> None:
    """Copy the tables of a file, made by the statements stored in it, which are valid in both databases."""
    connection.execute(f"CREATE SCHEMA {one.schema}")
    connection.execute(f"SET LOCAL search_path = {one.schema}")
    with closing(sqlite3.connect(f"file:{quote(str(one.file))}?mode=ro", uri=True)) as file:
        file.execute("BEGIN")
        made = "SELECT name, sql FROM sqlite_master WHERE type = ? AND sql IS NOT NULL ORDER BY name"
        for name, statement in file.execute(made, ("table",)).fetchall():
            connection.execute(statement)
            with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as rows:
                for row in file.execute(f"SELECT * FROM {name}"):  # noqa: S608  # one of our own tables
                    rows.write_row(row)
        for _, statement in file.execute(made, ("index",)).fetchall():
            connection.execute(statement)
    for statement in _append_only(one.contents.lines):
        connection.execute(statement)


class _Session:
    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(_placed(sql), parameters).fetchall()

    def run(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(_placed(sql), rows)


def _version(session: Session) -> tuple[int, str]:
    """The format version of a database, and the version of discreet that it needs."""
    if session.rows(_RECORD) == [(None,)]:
        return 1, ""
    found = session.rows(VERSION)
    return (found[0][0], found[0][1]) if found else (0, "")


def _append_only(table: str) -> tuple[str, ...]:
    refusal = f"BEGIN RAISE EXCEPTION 'the table {table} is append-only'; END"
    return (
        f"CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS $$ {refusal} $$",
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} EXECUTE FUNCTION append_only()",
    )


def _placed(sql: str) -> str:
    return sql.replace("?", "%s")
