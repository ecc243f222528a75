"""PostgreSQL, by psycopg. Rows travel both ways as COPY's CSV, which Arrow reads and writes by the column.

Every call has a connection of its own, so threads never share one and an abandoned stream holds no one up.
What has no kind in a card (an enum, a UUID, JSON) comes out as the text PostgreSQL prints for it. A NUMERIC
without precision comes out with 18 digits after the point; a value that would lose digits is an error. Whatever is
computed of a NUMERIC has no precision, so where nothing may fail on a value (``forgiving``) digits are cut off, and
what is too long is NULL.

PostgreSQL has no expression that is NULL where another fails. Most questions fail on no row, so they are run as they
are. Where one fails on some value, it is run again with every attempt as a call of a function that catches the error,
row by row: rows on which nothing fails get the same value.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import csv
from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from discreet.core import sql
from discreet.core.engine import Engine
from discreet.core.kind import TYPES, Kind
from discreet.core.optional import extra
from discreet.core.postgres import connection_settings
from discreet.core.sql import arrow_type, kind_of, precision, recast_table, sql_type, table
from discreet.engines.limits import SPILLED, memory_allowed
from discreet.errors import BadInput, DataError, DiscreetError, EngineError, LoginFailed, NotFound, Unreachable

if TYPE_CHECKING:
    import psycopg

    from discreet.core.engine import Part

_SETTINGS = """
    SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'; SET IntervalStyle = 'postgres';
    SET extra_float_digits = 1; SET standard_conforming_strings = on
"""
_KINDS = {name: kind for kind in Kind for name in TYPES[kind].postgres}
_DIGITS = 38
_FREE_SCALE = 18
_LONGEST_NAME = 63
_CHUNK = 4 << 20
_MARK = "\ufeff".encode()
"""That a file is in UTF-8, which Arrow skips where one begins."""
_ON_A_VALUE = ("22", "54", "XX")  # a value that cannot be, one beyond a limit, and what the server did not foresee
_STEPS = 8
_GRANTS = 150_000  # from this version on, who may set what can be asked
_NOT_READING = (exp.DML, exp.DDL, exp.Into, exp.Lock, exp.Command, exp.Placeholder, exp.Parameter, exp.TableSample)
_MISSING = ("3D000", "3F000", "42P01", "42703")  # no such database, schema, table, column


class Postgres(Engine):
    """A PostgreSQL database, given by its address: ``postgresql://user:password@host:port/database``."""

    dialect = "postgres"

    def __init__(self, address: str) -> None:
        self._settings = connection_settings(address)
        self._version: int | None = None

    @property
    def title(self) -> str:
        if self._version is None:
            self._connect().close()
        major, minor = divmod(self._version or 0, 10_000)
        return f"PostgreSQL {major}.{minor}"

    def schema(self, query: exp.Query) -> pa.Schema:
        with self._transaction(writes=False) as connection:
            return _schema(_described(connection, _sql(query)))

    def fetch(
        self,
        query: exp.Query,
        *,
        seconds: float | None = None,
        each: Part | None = None,
        forgiving: bool = False,
    ) -> pa.Table:
        """The rows of ``query``, or what ``each`` keeps of them; the server stops one that takes more ``seconds``."""
        began = time.monotonic()
        try:
            with self._transaction(writes=False) as connection:
                _limit(connection, seconds)
                return _fetched(connection, _sql(sql.without_attempts(query)), each, forgiving=forgiving)
        except _ValueFailed:
            if not sql.attempts(query):
                raise
        with self._transaction(writes=True) as connection:
            _limit(connection, None if seconds is None else max(seconds - time.monotonic() + began, 0.001))
            found = _fetched(connection, _sql(with_functions(connection, query)), each, forgiving=forgiving)
            connection.rollback()
            return found

    def stream(self, query: exp.Query) -> pa.RecordBatchReader:
        """The rows of ``query``, a few megabytes at a time."""
        return pa.RecordBatchReader.from_batches(self.schema(query), self._streamed(_sql(query)))

    def store(self, name: str, query: exp.Query) -> None:
        with self._transaction(writes=True) as connection:
            connection.execute(f"CREATE TABLE {_sql(table(name))} AS {_sql(query)}")

    def load(self, name: str, data: pa.Table) -> None:
        rows = recast_table(data)
        target = _sql(table(name))
        columns = ", ".join(f"{_sql(_identifier(field.name))} {_sql_type(field)}" for field in rows.schema)
        options = csv.WriteOptions(include_header=False, quoting_style="needed")
        with self._transaction(writes=True) as connection:
            connection.execute(f"CREATE TABLE {target} ({columns})")
            with connection.cursor().copy(f"COPY {target} FROM STDIN (FORMAT csv)") as copy:
                for batch in rows.to_batches(max_chunksize=10_000):
                    sink = pa.BufferOutputStream()
                    csv.write_csv(batch, sink, options)
                    copy.write(memoryview(sink.getvalue()))

    def query(self, text: str) -> exp.Select:
        """A holder's own SELECT as a relation.

        It only reads, and reads the same each time: it is one statement that changes and locks nothing, calls no
        function that PostgreSQL holds for volatile (``random``, ``nextval``, ``pg_sleep``), and is run in read-only
        transactions as all questions are.
        """
        try:
            trees = parse(text, dialect=self.dialect)
        except SqlglotError as error:
            raise BadInput(f"The query of this address cannot be read: {_first_line(str(error))}.") from None
        tree = trees[0]
        if len(trees) != 1 or not isinstance(tree, exp.Query) or tree.find(*_NOT_READING):
            raise BadInput(
                "The query of this address does more than read.",
                hint="Write a single SELECT, without INTO, FOR UPDATE, parameters or statements that change rows.",
            )
        calls = [one.sql(self.dialect).partition("(")[0].strip('"').lower() for one in tree.find_all(exp.Func)]
        with self._transaction(writes=False) as connection:
            asked = "SELECT DISTINCT proname FROM pg_catalog.pg_proc WHERE proname = ANY(%s) AND provolatile = 'v'"
            volatile = sorted(row[0] for row in connection.execute(asked, [calls]).fetchall())
        if volatile:
            raise BadInput(
                f"The query of this address calls {', '.join(volatile)}, which may give different results each time.",
                hint="Leave it out: a table is read more than once, and must stay the same.",
            )
        return exp.select("*").from_(tree.subquery("query"))

    def close(self) -> None:
        """Nothing is held between calls."""

    def __repr__(self) -> str:
        return f"Postgres({self._place()!r})"

    def _streamed(self, text: str) -> Iterator[pa.RecordBatch]:
        with self._transaction(writes=False) as connection:
            yield from _copied(connection, text, _described(connection, text))

    @contextmanager
    def _transaction(self, *, writes: bool) -> Iterator[psycopg.Connection[Any]]:
        """A connection whose work is committed at the end, or undone if there was an error."""
        with extra("postgres"):
            import psycopg

        connection = self._connect()
        try:
            with connection:
                connection.read_only = not writes
                connection.execute(_SETTINGS)
                yield connection
        except psycopg.Error as error:
            raise self._failure(error) from None

    def _connect(self) -> psycopg.Connection[Any]:
        with extra("postgres"):
            import psycopg

        try:
            connection = psycopg.connect(**self._settings, client_encoding="utf8")
        except psycopg.Error as error:
            problem = self._rejection(str(error))
        else:
            self._version = connection.info.server_version
            return connection
        raise problem  # out here, so that it does not carry psycopg's error, which knows the password

    def _rejection(self, message: str) -> DiscreetError:
        """Why there is no connection. A server says it after ``FATAL:``, or that in its own language."""
        reasons = [line.strip() for line in message.splitlines() if line.strip()]
        reason = reasons[0].rpartition("failed: ")[2] if reasons else "no reason given"
        answered = re.match(r"\w+:  ", reason)
        if not answered and "password" not in reason:
            hint = "Is the database running, and the address right?"
            return Unreachable(f"No answer from {self._place()}: {reason}.", hint=hint)
        reason = reason[answered.end() :] if answered else reason
        if re.fullmatch(r'database ".*" does not exist', reason):
            return NotFound(f"PostgreSQL at {self._place()}: {reason}.")
        return LoginFailed(
            f"PostgreSQL at {self._place()} refused the connection: {reason}.",
            hint="Check the user and the password.",
        )

    def _failure(self, error: psycopg.Error) -> DiscreetError:
        """What a statement's error means; the first line says it, the rest quotes the statement."""
        reason = (error.diag.message_primary or str(error).strip().partition("\n")[0]).rstrip(".")
        if error.sqlstate in _MISSING:
            return NotFound(f"PostgreSQL at {self._place()}: {reason}.")
        if (error.sqlstate or "57P").startswith("57P"):  # the connection broke, or the server is going down
            return Unreachable(f"The connection to {self._place()} was lost: {reason}.")
        failure = _ValueFailed if (error.sqlstate or "").startswith(_ON_A_VALUE) else EngineError
        return failure(f"PostgreSQL failed: {reason}.")

    def _place(self) -> str:
        """Where it is, for people; never who asks nor how they prove it."""
        host = self._settings.get("host") or "localhost"
        return f"{host}:{self._settings.get('port') or 5432}/{self._settings.get('dbname') or ''}"


class _ValueFailed(EngineError):
    """A statement failed on a value."""


@dataclass(frozen=True)
class _Column:
    """A result column: its name, its Arrow type, and the SQL that has it printed so that Arrow reads it."""

    name: str
    type: pa.DataType
    shown: str


def _limit(connection: psycopg.Connection[Any], seconds: float | None) -> None:
    """What the server lets a question take; nothing is limited without ``seconds``."""
    if seconds is not None:
        connection.execute(f"SET LOCAL statement_timeout = {max(1, round(seconds * 1000))}")
        if memory := memory_allowed():
            _limit_memory(connection, memory)


def _limit_memory(connection: psycopg.Connection[Any], megabytes: int) -> None:
    """Memory for each step of a query, of which it has several; and for all that it puts on the disk, if we may."""
    connection.execute(f"SET LOCAL work_mem = '{max(1, megabytes // _STEPS)}MB'")
    if connection.info.server_version >= _GRANTS:
        most = f"{megabytes * SPILLED}MB"
        allowed = "has_parameter_privilege('temp_file_limit', 'SET')"
        connection.execute(f"SELECT CASE WHEN {allowed} THEN set_config('temp_file_limit', '{most}', true) END")


def _sql(tree: exp.Expr) -> str:
    """A tree as PostgreSQL's SQL. Longer names than it keeps would be cut off without a word."""
    for identifier in tree.find_all(exp.Identifier):
        if len(identifier.name.encode()) > _LONGEST_NAME:
            raise DataError(
                f"PostgreSQL cannot store the name {identifier.name!r}: the limit is {_LONGEST_NAME} bytes.",
                hint="Give the table or column a shorter name.",
            )
    return tree.sql("postgres")


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip(".")


def _identifier(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _described(connection: psycopg.Connection[Any], text: str, *, forgiving: bool = False) -> list[_Column]:
    """The columns of a query, which is planned and not run."""
    described = connection.execute(f"SELECT * FROM ({text}) AS q LIMIT 0").description or ()  # noqa: S608
    return [_column(connection, place, column, forgiving=forgiving) for place, column in enumerate(described)]


def _column(connection: psycopg.Connection[Any], place: int, found: psycopg.Column, *, forgiving: bool) -> _Column:
    info = connection.adapters.types.get(found.type_code)
    scalar = info.name if info and info.oid == found.type_code else ""  # an array has its element's info
    kind = _KINDS.get(scalar, Kind.TEXT)
    value = f"c{place}"
    if kind is Kind.DECIMAL:
        return _decimal(found, value, forgiving=forgiving)
    if kind in (Kind.TEXT, Kind.REAL):
        value = f"{value}::{sql_type(kind).sql('postgres')}"
    return _Column(found.name, arrow_type(kind, zoned=scalar == "timestamptz"), value)


def _decimal(found: psycopg.Column, value: str, *, forgiving: bool) -> _Column:
    """A NUMERIC. Arrow wraps round at 38 digits and says nothing, so what may be longer is measured first."""
    scale = _FREE_SCALE if found.scale is None else min(max(found.scale, 0), _DIGITS)
    if found.precision is None or found.scale != scale or found.precision > _DIGITS:
        room = f"CASE WHEN abs({value}) < 1e{_DIGITS - scale}"
        strict = f"trim_scale({value})::text ELSE 'too long: ' || {value}"
        value = f"{room} THEN {f'trunc({value}, {scale})::text' if forgiving else strict} END"
    return _Column(found.name, arrow_type(Kind.DECIMAL, scale=scale), value)


def _schema(columns: Sequence[_Column]) -> pa.Schema:
    return pa.schema([(column.name, column.type) for column in columns])


def _fetched(connection: psycopg.Connection[Any], text: str, each: Part | None, *, forgiving: bool) -> pa.Table:
    columns = _described(connection, text, forgiving=forgiving)
    schema, batches = _schema(columns), _copied(connection, text, columns)
    if each is None:
        return pa.Table.from_batches(list(batches), schema)
    parts = [each(pa.Table.from_batches([batch], schema)) for batch in batches]
    return pa.concat_tables(parts or [each(schema.empty_table())])


def _copied(connection: psycopg.Connection[Any], text: str, columns: Sequence[_Column]) -> Iterator[pa.RecordBatch]:
    """The rows of a query, as many at a time as fill a few megabytes. libpq hands COPY's rows out whole."""
    names = ", ".join(f"c{place}" for place in range(len(columns)))
    shown = ", ".join(column.shown for column in columns)
    statement = f"COPY (SELECT {shown} FROM ({text}) AS q({names})) TO STDOUT (FORMAT csv)"  # noqa: S608
    rows: list[bytes] = []
    size = 0
    with connection.cursor().copy(statement) as copy:
        for row in copy:
            rows.append(bytes(row))
            size += len(row)
            if size >= _CHUNK:
                yield from _read(b"".join(rows), columns)
                rows, size = [], 0
    if rows:
        yield from _read(b"".join(rows), columns)


def _read(data: bytes, columns: Sequence[_Column]) -> Iterator[pa.RecordBatch]:
    """COPY's CSV as Arrow: nothing at all is NULL, two quotes are an empty text."""
    names = [str(place) for place in range(len(columns))]
    try:
        parsed = csv.read_csv(
            pa.BufferReader(_MARK + data),  # type: ignore[arg-type]  # else it would take the mark off a first text
            csv.ReadOptions(column_names=names, block_size=len(_MARK + data) + 1),
            csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types={name: column.type for name, column in zip(names, columns, strict=True)},
                null_values=[""],
                true_values=["t"],
                false_values=["f"],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        raise _unreadable(str(error), columns) from None
    yield from parsed.rename_columns([column.name for column in columns]).to_batches()


def _unreadable(message: str, columns: Sequence[_Column]) -> DataError:
    """Which column holds what no Arrow value can be: an infinite date, a year before 1 or after 9999, NaN."""
    found = re.search(r"CSV column #(\d+): (?:Row #\d+: )?(.*)", message, re.DOTALL)
    if not found:
        return DataError(f"PostgreSQL returned rows that cannot be read: {message}.")
    column = columns[int(found[1])]
    return DataError(
        f"Column {column.name!r} holds a value that does not fit {column.type}: {found[2]}.",
        hint="Remove such rows, or cast the column.",
    )


def _sql_type(field: pa.Field[Any]) -> str:
    kind = kind_of(field.type)
    if kind is None:
        raise DataError(
            f"Column {field.name!r} is {field.type}, which a card cannot describe.",
            hint="Leave the column out, or convert it to text.",
        )
    return sql_type(kind, **precision(field.type)).sql("postgres")


# -- attempts


def with_functions(connection: psycopg.Connection[Any], query: exp.Query) -> exp.Query:
    """The query with its attempts as calls of functions, which are gone with the connection."""
    made: dict[str, exp.Expr] = {}
    guarded = query.copy()
    for node in reversed(sql.attempts(guarded)):  # what a source computes is known before what is made of it
        select = node.parent_select
        assert isinstance(select, exp.Select)  # noqa: S101  # an attempt is a part of a query
        source, computed = select.args["from_"].this, node.expressions[0]
        key = f"{computed.sql('postgres')} of {source.sql('postgres')}"
        if key not in made:
            made[key] = _function(connection, f"pg_temp.discreet_attempt_{len(made)}", computed, source)
        node.replace(made[key].copy())
    return guarded


def _function(connection: psycopg.Connection[Any], name: str, computed: exp.Expr, source: exp.Expr) -> exp.Expr:
    columns = sorted({column.name for column in computed.find_all(exp.Column)})
    shown = exp.select(computed.copy(), *map(sql.column, columns), copy=False).from_(source.copy(), copy=False)
    found = connection.execute(shown.limit(0).sql("postgres")).description or ()
    types = [
        row[0]
        for one in found
        for row in connection.execute("SELECT pg_catalog.format_type(%s, NULL)", [one.type_code]).fetchall()
    ]
    takes = [f"{sql.column(column).sql('postgres')} {type_}" for column, type_ in zip(columns, types[1:], strict=True)]
    body = f"BEGIN RETURN {computed.sql('postgres')}; EXCEPTION WHEN OTHERS THEN RETURN NULL; END"
    connection.execute(
        f"CREATE FUNCTION {name}({', '.join(takes)}) RETURNS {types[0]} LANGUAGE plpgsql IMMUTABLE "
        f"AS {sql.text(body, 'postgres')}"
    )
    return exp.Anonymous(this=name, expressions=[sql.column(column) for column in columns])
