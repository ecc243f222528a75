"""DuckDB, in this process: the default engine, and the one that opens files.

Rows that lie in memory have their values as small numbers too: made once, and then counting needs no SQL and no texts.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import pyarrow as pa
from sqlglot import exp

from discreet.core.engine import Engine, Written
from discreet.core.kind import LISTABLE
from discreet.core.sql import arrow_type, attempts, kind_of, recast, recast_table, table
from discreet.engines.limits import SPILLED, stopping
from discreet.errors import EngineError, NotFound

if TYPE_CHECKING:
    from discreet.core.engine import Part

_SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
ROW_BY_ROW = {"disabled_optimizers": "common_subexpressions, expression_rewriter, statistics_propagation"}
"""Settings for an engine that is asked for attempts at expressions over private rows.

What an expression is on a row must depend on that row alone, also where it fails (``engines/contribution.py``).
These optimisers take parts out of a TRY, turn them into others that fail elsewhere, or leave out what the values of all
rows together make needless: whether ``x + 1 > 0`` is NULL or true for one person would depend on another's ``x``. They
are set for a whole engine, and cost a third of an answer's time where nothing can fail.
"""
_FAILED_ON_A_VALUE = (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.InvalidInputException)


_AT_ONCE = 16_384
"""Rows that are fetched at a time where only some are kept."""
_UNOPTIMISED = threading.Lock()
_ALONE = threading.BoundedSemaphore(2)
"""Queries that have an engine of their own."""


def memory_settings(megabytes: int) -> dict[str, str]:
    """Settings for an engine that may hold so much in memory, and more on the disk."""
    return {"memory_limit": f"{megabytes}MB", "max_temp_directory_size": f"{megabytes * SPILLED}MB"}


class _NoMemory(EngineError):
    """A query needs more memory than there is for it."""


class DuckDB(Engine):
    """An embedded DuckDB, in memory unless given a file; what does not fit in memory spills to disk."""

    embedded = True
    lends = True
    takes_text = True
    dialect = "duckdb"

    def __init__(
        self, database: str = ":memory:", *, settings: dict[str, str] | None = None, questions: bool = False
    ) -> None:
        """``questions``: it opens files only, and is asked about private rows."""
        spill = tempfile.mkdtemp(prefix="discreet-")
        config: dict[str, Any] = {**_SETTINGS, "temp_directory": spill, **(settings or {})}
        try:
            self._connection = duckdb.connect(database, config=config)
            self._connection.execute("SET GLOBAL TimeZone = 'UTC'")
        except duckdb.Error as error:
            shutil.rmtree(spill, ignore_errors=True)
            raise EngineError(f"DuckDB could not open {database}: {_first_line(error)}") from error
        self._settings = settings
        self._questions = questions
        self._row_by_row: DuckDB | None = None
        self._turn = threading.Lock()
        self._stored: dict[str, str] = {}
        self._held = Held()
        self._number = itertools.count(1)
        self._finalizer = weakref.finalize(self, _release, self._connection, spill)

    @property
    def title(self) -> str:
        return f"DuckDB {duckdb.__version__}"

    def schema(self, query: exp.Query) -> pa.Schema:
        empty = exp.select("*").from_(query.subquery("q")).limit(0)
        return self.fetch(empty).schema

    def fetch(
        self,
        query: exp.Query,
        given: Mapping[str, pa.Table] | None = None,
        *,
        seconds: float | None = None,
        each: Part | None = None,
        forgiving: bool = False,
    ) -> pa.Table:
        """The rows of ``query``, which sees the tables ``given`` for it alone too, or what ``each`` keeps of them.

        One that takes more ``seconds`` is stopped. One that finds no memory because others hold it is asked again
        where it has all of it, so that no one's question fails for someone else's. DuckDB's optimiser may take a part
        that stands twice out of the TRY around it (unless it is kept from that: ``ROW_BY_ROW``): a query that fails on
        a value is run once more as it is written.
        """
        written = Written(query.sql(self.dialect), bool(attempts(query)))
        return self.fetch_written(written, given, seconds=seconds, each=each)

    def fetch_written(
        self,
        query: Written,
        given: Mapping[str, pa.Table] | None = None,
        *,
        seconds: float | None = None,
        each: Part | None = None,
    ) -> pa.Table:
        began, text, tolerant = time.monotonic(), query.text, query.tolerant
        if tolerant and self._questions:
            return self._for_attempts().fetch_written(query, given, seconds=seconds, each=each)
        try:
            return self._fetch(text, given or {}, seconds, each, tolerant=tolerant)
        except _NoMemory:
            if seconds is None or not _ALONE.acquire(timeout=seconds):
                raise
        try:
            alone = DuckDB(settings=self._settings)
            try:
                alone._view_all(self._stored)
                alone._held.tables.update(self._held.tables)
                left = began + seconds - time.monotonic()
                return alone._fetch(text, given or {}, max(left, 0), each, tolerant=tolerant)
            finally:
                alone.close()
        finally:
            _ALONE.release()

    def _fetch(
        self, text: str, given: Mapping[str, pa.Table], seconds: float | None, each: Part | None, *, tolerant: bool
    ) -> pa.Table:
        with _Translated():
            cursor = self._cursor()
        with _Translated(), nullcontext() if seconds is None else stopping(cursor.interrupt, seconds):
            for name, data in given.items():
                cursor.register(name, data)
            try:
                return _fetched(cursor.sql(text), each)
            except _FAILED_ON_A_VALUE:
                if not tolerant:
                    raise
            with _UNOPTIMISED:  # which is set for the whole engine
                cursor.execute("PRAGMA disable_optimizer")
                try:
                    return _fetched(cursor.sql(text), each)
                finally:
                    cursor.execute("PRAGMA enable_optimizer")

    def stream(self, query: exp.Query) -> pa.RecordBatchReader:
        with _Translated():
            return recast(self._cursor().sql(query.sql(self.dialect)).to_arrow_reader())

    def store(self, name: str, query: exp.Query) -> None:
        text = query.sql(self.dialect)
        self.run(f"CREATE TABLE {table(name).sql(self.dialect)} AS {text}")
        with self._turn:
            self._stored[name] = text
            if self._row_by_row is not None:
                self._row_by_row._view_all({name: text})

    def drop(self, name: str) -> None:
        """Forget a table that was stored here."""
        with self._turn:
            self._stored.pop(name, None)
            if self._row_by_row is not None:
                self._row_by_row.run(f"DROP VIEW {table(name).sql(self.dialect)}")
        self.run(f"DROP TABLE {table(name).sql(self.dialect)}")

    def load(self, name: str, data: pa.Table) -> None:
        """Make a table of ``data``: a copy, DuckDB's own."""
        cursor = self._cursor()
        with _Translated():
            cursor.register("discreet_loading", data)
            cursor.execute(f"CREATE TABLE {table(name).sql(self.dialect)} AS FROM discreet_loading")

    def append(self, name: str, data: pa.Table) -> None:
        """Add rows to a table that was made here."""
        cursor = self._cursor()
        with _Translated():
            cursor.register("discreet_loading", data)
            cursor.execute(f"INSERT INTO {table(name).sql(self.dialect)} FROM discreet_loading")

    def show(self, name: str, data: pa.Table) -> None:
        """Let queries see ``data`` under ``name`` where it lies, without a copy."""
        self._held.tables[name] = data

    def lend(self, data: pa.Table) -> exp.Select:
        """The query that shows ``data`` here, without a copy, for as long as the engine is open."""
        name = self.new_name("discreet")
        self.show(name, data)
        return exp.select("*").from_(table(name))

    def dictionary_codes(self, relation: exp.Query, names: Sequence[str]) -> pa.Table | None:
        """Columns of a relation that shows rows in memory, numbered once for all times; ``None``: they lie elsewhere.

        A value is a place in a dictionary of the distinct ones, NULL among them, so that they need not be compared.
        """
        return self._held.columns(relation, names)

    def new_name(self, like: str) -> str:
        """A name nothing here has yet, for what is opened."""
        return f"{like} #{next(self._number)}"

    def run(self, statement: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Run DuckDB's own SQL: for what opens files, never for what someone else wrote."""
        with _Translated():
            return self._cursor().execute(statement, parameters).fetchall()

    def close(self) -> None:
        """Close the connection and remove what was spilled."""
        if self._row_by_row is not None:
            self._row_by_row.close()
        self._finalizer()

    def _for_attempts(self) -> DuckDB:
        """The engine that is asked for attempts at expressions, opened for the first of them."""
        with self._turn:
            if self._row_by_row is None:
                opened = DuckDB(settings={**(self._settings or {}), **ROW_BY_ROW})
                opened._view_all(self._stored)
                self._row_by_row = opened
            return self._row_by_row

    def _view_all(self, stored: Mapping[str, str]) -> None:
        """Show here, as views, what is stored in another engine."""
        for name, text in stored.items():
            self.run(f"CREATE VIEW {table(name).sql(self.dialect)} AS {text}")

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own for every query, so that a stream under way is not cut off by the next one."""
        cursor = self._connection.cursor()
        for name, data in self._held.tables.items():
            cursor.register(name, data)
        return cursor


class _Translated:
    """Turns DuckDB's errors into ours."""

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, RuntimeError | duckdb.InterruptException) and "interrupted" in str(error).lower():
            raise KeyboardInterrupt from error
        missing = "does not exist" in str(error) or "not found in FROM" in str(error)
        if isinstance(error, duckdb.CatalogException | duckdb.BinderException) and missing:
            raise NotFound(f"DuckDB: {_first_line(error)}") from error
        if isinstance(error, duckdb.OutOfMemoryException):
            raise _NoMemory(f"DuckDB failed: {_first_line(error)}") from error
        if isinstance(error, duckdb.Error):
            raise EngineError(f"DuckDB failed: {_first_line(error)}") from error


def _fetched(found: duckdb.DuckDBPyRelation, each: Part | None) -> pa.Table:
    if each is None:
        return recast_table(found.to_arrow_table())
    reader = found.to_arrow_reader(_AT_ONCE)
    parts = [each(recast_table(pa.Table.from_batches([batch]))) for batch in reader]
    return pa.concat_tables(parts or [each(recast_table(reader.schema.empty_table()))])


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def _release(connection: duckdb.DuckDBPyConnection, spill: str) -> None:
    connection.close()
    shutil.rmtree(spill, ignore_errors=True)


# -- rows in memory, as small numbers

_NOT_COMPARED = (pa.types.is_unsigned_integer, pa.types.is_date64)
"""Types of listable kinds whose values may be equal in SQL and not here, or the other way round."""


class Held:
    """Arrow tables by name, and those of their columns that were asked for as numbers."""

    def __init__(self) -> None:
        self.tables: dict[str, pa.Table] = {}
        self._known: dict[tuple[str, str], pa.Array[Any]] = {}

    def columns(self, relation: exp.Expr, names: Sequence[str]) -> pa.Table | None:
        """The named columns of a relation that only selects columns of a table here: places in a dictionary of the
        distinct values, NULL among them. ``None``: it is another relation, or a column is of another type."""
        found = _source(relation, set(names))
        if found is None or found.table not in self.tables:
            return None
        columns = {name: column for name in names if (column := self._column(found.table, name)) is not None}
        changed = any(columns[name].type.value_type != pa.string() for name in found.texts if name in columns)
        return pa.table(columns) if len(columns) == len(names) and not changed else None

    def _column(self, table: str, name: str) -> pa.Array[Any] | None:
        if (table, name) not in self._known:
            data = self.tables[table]
            column = data.column(name) if name in data.column_names else None
            encoded = None if column is None else _encoded(column)
            if encoded is None:
                return None
            self._known[table, name] = encoded
        return self._known[table, name]


class _Source(NamedTuple):
    table: str
    texts: set[str]
    """Columns that are cast to text on the way: they are as they are there only if they are text there."""


def _source(relation: exp.Expr, names: set[str]) -> _Source | None:
    """The table whose columns of these names a relation shows by their own names, all rows; ``None``: it does not."""
    texts: set[str] = set()
    while isinstance(relation, exp.Select):
        if not _bare(relation, "expressions", "from_"):
            return None
        if not (len(relation.expressions) == 1 and isinstance(relation.expressions[0], exp.Star)):
            shown = [_shown(one) for one in relation.expressions]
            if not names <= {name for name, _ in shown}:
                return None
            texts |= {name for name, cast in shown if cast and name in names}
        elif not _bare(relation.expressions[0]):
            return None
        relation = relation.args["from_"].this
        if isinstance(relation, exp.Subquery):
            if not _bare(relation, "this", "alias"):
                return None
            relation = relation.this
    return _Source(relation.name, texts) if isinstance(relation, exp.Table) and _bare(relation, "this") else None


def _bare(tree: exp.Expr, *parts: str) -> bool:
    """Whether a part of a query has no other parts than these."""
    return not any(value for part, value in tree.args.items() if part not in parts)


def _shown(selected: exp.Expr) -> tuple[str, bool]:
    """The column that is selected by its own name, and whether it is cast to text; no name, if it is anything else."""
    value, cast = selected, False
    if isinstance(value, exp.Alias):
        value = value.this
        if isinstance(value, exp.Cast) and value.to.this is exp.DType.TEXT:
            value, cast = value.this, True
    own = isinstance(value, exp.Column) and value.name == selected.alias_or_name
    return (value.name if own else ""), cast


def _encoded(column: pa.ChunkedArray[Any]) -> pa.Array[Any] | None:
    """A column as places in its distinct values, in the type that leaves an engine."""
    if pa.types.is_dictionary(column.type):  # it may list values twice, or that do not occur
        column = column.cast(column.type.value_type)
    kind = kind_of(column.type)
    if kind not in LISTABLE or any(test(column.type) for test in _NOT_COMPARED):
        return None
    if len(column):
        encoded: Any = column.dictionary_encode(null_encoding="encode").combine_chunks()
    else:  # Arrow cannot combine no chunks of every type
        encoded = pa.array([], column.type).dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices, encoded.dictionary.cast(arrow_type(kind)), safe=False)
