"""A ledger in a PostgreSQL database, for curators on several machines. It lives in a schema of its own.

A writer locks the table of lines, so that lines have one order; commits wait for the disk
(``synchronous_commit``), whatever the server's or the user's settings say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from discreet.budget.ledger import SqlLedger, begin
from discreet.budget.lines import FORMAT
from discreet.budget.store import SCHEMA, Session
from discreet.core.postgres import connection_settings
from discreet.errors import BadInput, DiscreetError, LedgerError, LoginFailed, NotFound, Unreachable

if TYPE_CHECKING:
    import psycopg

_SCHEMA = "discreet_ledger"
_APPEND_ONLY = (
    "CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'a ledger is append-only'; END $$",
    "CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON lines EXECUTE FUNCTION append_only()",
)
_AGAIN = "Try again under the same key: it is charged once."


def create_postgres(address: str, *, schema: str = _SCHEMA) -> SqlLedger:
    """A new ledger in a new schema of the database at ``address``; there as a whole or not at all."""
    store = PostgresStore(address, schema)
    try:
        store.create()
    except BaseException:
        store.close()
        raise
    return SqlLedger(store)


def open_postgres(address: str, *, schema: str = _SCHEMA) -> SqlLedger:
    """The ledger in the database at ``address``. A missing one is an error, not made."""
    store = PostgresStore(address, schema)
    with store.reading() as session:
        rows = session.rows("SELECT content FROM lines WHERE number = 1")
    version = json.loads(rows[0][0])["format"] if rows else FORMAT
    if version > FORMAT:
        raise LedgerError(
            f"The ledger at {store.place} has format {version}; this version of discreet knows {FORMAT}.",
            hint="Use a newer version of discreet.",
        )
    return SqlLedger(store)


class PostgresStore:
    """See ``discreet.budget.store.Store``. A connection is kept for writing; readers have one each."""

    def __init__(self, address: str, schema: str) -> None:
        if not re.fullmatch("[a-z_][a-z0-9_]{0,62}", schema):
            raise BadInput("A schema's name has up to 63 small letters, digits and underscores.")
        self._settings = connection_settings(address)
        self._schema = schema
        self._writer: psycopg.Connection[Any] | None = None

    @property
    def place(self) -> str:
        """Host, port, database and schema."""
        host = self._settings.get("host") or "localhost"
        database = f"{host}:{self._settings.get('port') or 5432}/{self._settings.get('dbname') or ''}"
        return f"{database} ({self._schema})"

    def create(self) -> None:
        """Make the schema and its tables, and write the first line."""
        with self._transaction() as connection:
            connection.execute(f"CREATE SCHEMA {self._schema}")
            for statement in (*SCHEMA, *_APPEND_ONLY):
                connection.execute(statement)
            begin(_Session(connection))

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A transaction that holds the lines' lock and is on the disk when the block ends."""
        with self._transaction() as connection:
            connection.execute("LOCK TABLE lines IN EXCLUSIVE MODE")
            yield _Session(connection)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A snapshot, on a connection of its own."""
        import psycopg

        connection = self._connect()
        with self._errors(), connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            with connection.transaction():
                yield _Session(connection)

    def problems(self, session: Session) -> list[str]:
        """None: the server looks after its files."""
        return []

    def close(self) -> None:
        """Close the connection."""
        if self._writer is not None:
            self._writer.close()

    @contextmanager
    def _transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """One on the writer's connection, which is made anew when it was lost."""
        if self._writer is None or self._writer.closed:
            self._writer = self._connect()
        with self._errors(), self._writer.transaction():
            yield self._writer

    def _connect(self) -> psycopg.Connection[Any]:
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
                f"PostgreSQL at {self.place} runs with fsync off: it may forget charges.", hint="Switch fsync on."
            )

    def _rejection(self, message: str) -> DiscreetError:
        reasons = [line.strip() for line in message.splitlines() if line.strip()]
        reason = reasons[0].rpartition("failed: ")[2] if reasons else "no reason given"
        if "password" in reason or re.match(r"\w+:  ", reason):
            return LoginFailed(f"PostgreSQL at {self.place} turned us away: {reason}.")
        return Unreachable(f"Nobody answers at {self.place}: {reason}.", hint="Is the database running?")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """What PostgreSQL's errors mean. After a lost connection it is open whether a charge was written."""
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            reason = (error.diag.message_primary or str(error).strip().partition("\n")[0]).rstrip(".")
            state = error.sqlstate or ""
            if state in ("42P01", "3F000"):
                raise self._missing() from None
            if state == "42P06":
                problem = f"There is a schema {self._schema} at {self.place} already."
                raise LedgerError(problem, hint="Open it, or choose another name.") from None
            if not state or state.startswith(("57P", "08")):
                raise Unreachable(f"The connection to {self.place} was lost: {reason}.", hint=_AGAIN) from None
            raise LedgerError(f"The ledger at {self.place} could not be used: {reason}.", hint=_AGAIN) from None

    def _missing(self) -> NotFound:
        return NotFound(f"There is no ledger at {self.place}.", hint="Create one, or check the address.")


class _Session:
    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(_placed(sql), parameters).fetchall()

    def run(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(_placed(sql), rows)


def _placed(sql: str) -> str:
    return sql.replace("?", "%s")
