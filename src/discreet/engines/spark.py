"""Spark: in this process, on a standalone cluster, or behind a Spark Connect address.

Queries run in a copy of the session, so that the settings they need (UTC, ANSI, …) are no one else's. The
copy sees the temporary views the session had when it was made. Tables are Parquet, in the session's catalog.
"""

from __future__ import annotations

import atexit
import gzip
import itertools
import os
import re
import shutil
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakSet

import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.engine import Engine
from discreet.core.optional import extra
from discreet.core.sql import canonical, recast_table
from discreet.engines.limits import stopping
from discreet.engines.text_files import require_plain
from discreet.errors import (
    BadInput,
    DiscreetError,
    EngineError,
    LoginFailed,
    NotFound,
    Unreachable,
)

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession

    from discreet.core.engine import Part

_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.variable.substitute": "false",  # a text may hold ${…}
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "true",  # or 38 digits are compared rounded
}
_PORTS = {"sc": 15002, "spark": 7077}
_MISSING = ("42P01", "42703", "42704", "42K03")  # no such table, column, schema, path
_JOB_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
_number = itertools.count(1)
_sessions: WeakSet[Any] = WeakSet()
"""Connect sessions that were begun here."""


class Spark(Engine):
    """A Spark session, classic or Connect. What the session is set to stays as it is."""

    lends = True
    has_workers = True

    dialect = "spark"

    def __init__(self, session: SparkSession) -> None:
        self._given = session
        self._copies: list[SparkSession] = []
        self._current: dict[bool, SparkSession] = {}
        self._views: list[str] = []
        self._lock = threading.Lock()
        self._owned = False

    @classmethod
    def at(cls, address: str) -> Spark:
        """Spark at ``sc://host:port`` (Connect), ``spark://host:port`` (standalone) or ``local[2]``."""
        with extra("spark"):
            import pyspark  # noqa: F401
        scheme = address.partition("://")[0]
        if scheme in _PORTS:
            _require_listener(address)
        with _translated():
            session, new = _connected(address) if scheme == "sc" else _started(address)
        engine = cls(session)
        engine._owned = new
        return engine

    @property
    def title(self) -> str:
        with _translated():
            return f"Spark {self._given.version}"

    def schema(self, query: exp.Query) -> pa.Schema:
        with _translated():
            return canonical(self._frame(query).limit(0).toArrow().schema)

    def fetch(
        self,
        query: exp.Query,
        *,
        seconds: float | None = None,
        each: Part | None = None,
        forgiving: bool = False,
    ) -> pa.Table:
        """The rows of ``query``, or what ``each`` keeps; its jobs are cancelled if it takes more ``seconds``.

        Without ANSI an expression is NULL, or some number, where it would fail.
        """
        with _translated():
            session = self._session(ansi=not sql.attempts(query))
            with _cancelled(session, seconds):
                found = recast_table(session.sql(sql.without_attempts(query).sql(self.dialect)).toArrow())
            return found if each is None else each(found)

    def stream(self, query: exp.Query) -> pa.RecordBatchReader:
        """The rows of ``query``; a partition at a time is in memory here.

        The workers pack the batches, which takes Python and pyarrow there, as any Python function on Spark.
        """
        schema = self.schema(query)
        with _translated():
            plain = self._frame(query).toDF(*(f"c{place}" for place in range(len(schema))))
            packed = plain.mapInArrow(_packer(), "batch binary")
        return pa.RecordBatchReader.from_batches(schema, _unpacked(packed, schema.names))

    def store(self, name: str, query: exp.Query) -> None:
        with _translated():
            self._create(name, self._frame(query))

    def load(self, name: str, data: pa.Table) -> None:
        with _translated():
            self._create(name, _frame_of(self._session(), data))

    def view_of(self, dataframe: DataFrame) -> exp.Select:
        """The query that shows a data frame of this session."""
        name = f"discreet_view_{next(_number)}"
        with _translated():
            dataframe.createOrReplaceTempView(name)
        with self._lock:
            self._views.append(name)
            self._current = {}
        return exp.select("*").from_(sql.table(name))

    def lend(self, data: pa.Table) -> exp.Select:
        """The query that shows rows from here, for as long as the engine is open."""
        with _translated():
            frame = _frame_of(self._given, data)
        return self.view_of(frame)

    def mapped(
        self, query: exp.Query, work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    ) -> exp.Select:
        """The query that shows what ``work`` makes of the rows of ``query``, on the workers, in the same columns."""
        with _translated():
            frame = self._given.sql(query.sql(self.dialect))
            made = frame.mapInArrow(work, frame.schema)
        return self.view_of(made)

    def open_parquet(self, path: Path) -> exp.Select:
        """The query that shows Parquet files, which Spark's workers must be able to reach under the same path."""
        with _translated():
            return self._shown(self._given.read.parquet(_place(path)), path)

    def open_csv(self, path: Path, names: Iterable[str], delimiter: str, quote: str) -> exp.Select:
        """The query that shows the fields of a CSV file as text."""
        options = {"header": True, "enforceSchema": False, "multiLine": True, "columnPruning": False}
        reader = self._given.read.options(**options, mode="FAILFAST", sep=delimiter, quote=quote, escape=quote)
        with _translated():
            return self._shown(reader.schema(_texts(names)).csv(_place(path)), path)

    def open_json(self, path: Path, *, texts: bool = False) -> exp.Select:
        """The query that shows objects, one a line or in a list, as what they look like or all as text."""
        with (gzip.open if path.suffix.lower() == ".gz" else open)(path, "rb") as file:
            listed = file.read(64).lstrip().startswith(b"[")
        reader = self._given.read.options(multiLine=listed, mode="FAILFAST")
        with _translated():
            found = reader.json(_place(path))
            return self._shown(reader.schema(_texts(found.columns)).json(_place(path)) if texts else found, path)

    def close(self) -> None:
        """Drop the views and the session's copy, and stop the session if it was started here."""
        with self._lock:
            for copy in self._copies:
                _release(copy)
            for name in self._views:
                self._given.catalog.dropTempView(name)
            self._copies, self._views, self._current = [], [], {}
            if self._owned:
                self._given.stop()
                self._owned = False

    def _session(self, *, ansi: bool = True) -> SparkSession:
        """The copy that queries run in: a new one whenever there are views it has not seen."""
        with self._lock:
            if ansi not in self._current:
                self._current[ansi] = _copy(self._given, ansi=ansi)
                self._copies.append(self._current[ansi])
            return self._current[ansi]

    def _frame(self, query: exp.Query) -> DataFrame:
        return self._session().sql(query.sql(self.dialect))

    def _create(self, name: str, rows: DataFrame) -> None:
        """Make the table, then fill it. CREATE TABLE AS would leave its files behind if it fails."""
        if not re.fullmatch(r"\w+", name, re.ASCII):
            raise EngineError(f"Spark cannot call a table {name!r}.", hint="Use letters, digits and _ only.")
        session = self._session()
        session.catalog.createTable(name, source="parquet", schema=rows.schema)
        try:
            rows.write.insertInto(name)
        except BaseException:
            session.sql(f"DROP TABLE {sql.table(name).sql(self.dialect)}")
            raise

    def _shown(self, frame: DataFrame, path: Path) -> exp.Select:
        require_plain(frame.columns, path.name)
        return self.view_of(frame)


def _frame_of(session: SparkSession, data: pa.Table) -> DataFrame:
    """``data`` as a data frame of a session, in the types that it has there."""
    with extra("spark"):
        from pyspark.sql.pandas.types import from_arrow_schema

    rows = recast_table(data)
    return session.createDataFrame(rows, from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))


def _require_listener(address: str) -> None:
    """Find out at once whether anyone listens; Spark would try again for minutes."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or _PORTS[parts.scheme]
    except ValueError:
        host = None
    if host is None or parts.username is not None:
        raise BadInput(
            "This is not the address of a Spark server.", hint="Expected sc://host:port or spark://host:port."
        )
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError as error:
        raise Unreachable(
            f"No answer from {parts.scheme}://{host}:{port}: {error.strerror or error}.",
            hint="Is Spark running there, and the address right?",
        ) from None


def _connected(address: str) -> tuple[Any, bool]:
    """A Connect session of its own. The first question is not asked for ten minutes, as PySpark would."""
    with extra("spark"):
        from pyspark.sql.connect.client.retries import DefaultPolicy
        from pyspark.sql.connect.session import SparkSession as Connect

    session = Connect.builder.remote(address).create()
    patient = session.client.get_retry_policies()
    session.client.set_retry_policies([DefaultPolicy(max_retries=2)])
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")
            session.version  # noqa: B018
    except BaseException:
        session.client.close()
        raise
    session.client.set_retry_policies(patient)
    _sessions.add(session)
    return session, True


def _started(address: str) -> tuple[SparkSession, bool]:
    """This process's session, and whether it was started just now. There can be one only."""
    with extra("spark"):
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise EngineError("Spark needs Java, which is not installed.", hint="Install Java 17 or later.")
    new = SparkContext._active_spark_context is None
    builder = SparkSession.builder.appName("discreet")
    if new:
        builder = builder.master(address).config("spark.ui.showConsoleProgress", "false")
        if address.startswith("local"):
            builder = builder.config("spark.pyspark.python", sys.executable)
    session = builder.getOrCreate()
    if session.sparkContext.master != address:
        raise EngineError(
            f"Spark is already running in this process, at {session.sparkContext.master}.",
            hint="Use that session (Spark(session)), or stop it first.",
        )
    return session, new


def _copy(session: Any, *, ansi: bool) -> Any:
    """A session with the same views, functions and tables, and the settings we need."""
    if _is_connect(session):
        session.version  # noqa: B018  (a Connect server knows a session from its first request on)
        copy = session.cloneSession()
        _sessions.add(copy)
    else:
        copy = type(session)(session.sparkContext, session._jsparkSession.cloneSession())
    for key, value in (_SETTINGS | {"spark.sql.ansi.enabled": str(ansi).lower()}).items():
        if copy.conf.get(key) != value:
            copy.conf.set(key, value)
    return copy


@atexit.register
def _close_sessions() -> None:
    """Hang up. A session that is still open does so when the interpreter is torn down, and waits for ever for threads
    that have ended."""
    for session in list(_sessions):
        with suppress(Exception):
            session.client.close()


@contextmanager
def _cancelled(session: SparkSession, seconds: float | None) -> Iterator[None]:
    """Cancel the jobs of a block that takes longer than that."""
    if seconds is None:
        yield
        return
    group = f"discreet-{os.getpid()}-{next(_number)}"
    if _is_connect(session):
        session.addTag(group)
        try:
            with stopping(lambda: session.interruptTag(group), seconds):
                yield
        finally:
            session.removeTag(group)
        return
    context = session.sparkContext
    before = {name: context.getLocalProperty(name) for name in _JOB_GROUP}
    context.setJobGroup(group, "discreet", interruptOnCancel=True)
    try:
        with stopping(lambda: context.cancelJobGroup(group), seconds):
            yield
    finally:
        for name, value in before.items():
            context.setLocalProperty(name, value)  # type: ignore[arg-type]  # None takes it away


def _release(copy: SparkSession) -> None:
    """Let a Connect server forget a copy. (``stop`` would also stop a server started for the original.)"""
    if _is_connect(copy):
        copy.client.release_session()
        copy.client.close()


def _is_connect(session: SparkSession) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect.")


def _packer() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Batches into rows of bytes. A function inside a function, so that workers need not have discreet.

    Compressed, a partition seldom passes the megabyte up to which Spark hands results over without keeping them first.
    """

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        small = pa.ipc.IpcWriteOptions(compression="zstd")
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema, options=small) as writer:
                writer.write_batch(batch)
            yield pa.record_batch({"batch": pa.array([sink.getvalue().to_pybytes()], pa.binary())})

    return pack


def _unpacked(packed: DataFrame, names: list[str]) -> Iterator[pa.RecordBatch]:
    with _translated():
        for row in packed.toLocalIterator():
            rows = pa.ipc.open_stream(row.batch).read_all().rename_columns(names)
            yield from recast_table(rows).to_batches()


def _place(path: Path) -> str:
    """A local path as Spark reads it, with what it would take for a pattern escaped."""
    return "file://" + re.sub(r"([\\*?\[\]{}])", r"\\\1", str(path))


def _texts(names: Iterable[str]) -> str:
    """A schema of text columns, in Spark's words."""
    return ", ".join(f"{sql.column(name).sql('spark')} STRING" for name in names)


@contextmanager
def _translated() -> Iterator[None]:
    """Turns Spark's errors into ours."""
    with extra("spark"):
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        raise _failure(error) from error
    except Py4JError as error:
        raise EngineError(f"Spark failed: {_first_line(error)}") from error


def _failure(error: PySparkException) -> DiscreetError:
    reason = _first_line(error)
    if error.getSqlState() in _MISSING:
        return NotFound(f"Spark: {reason}")
    if call := re.search(r'StatusCode\.(\w+)\s+details = "(.*)"', str(error)):  # from Connect, not from Spark
        reason = call[2].rstrip(".") + "."
        if call[1] == "UNAUTHENTICATED":
            return LoginFailed(f"Spark refused the connection: {reason}", hint="Check the token in the address.")
        if call[1] == "UNAVAILABLE":
            return Unreachable(f"Spark does not answer: {reason}", hint="Is Spark Connect running there?")
    return EngineError(f"Spark failed: {reason}")


def _first_line(error: Exception) -> str:
    """What happened, without the error's code, its place in the statement and the query plan."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    return re.sub(r"^\[[A-Z0-9_.]+\] ?| ?SQLSTATE: .*$", "", line)
