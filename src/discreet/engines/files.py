"""Files: what they are by their name, whether they really are, and how DuckDB gets to see them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sqlglot import exp

from discreet.core import sql
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.engines.csvfile import load_csv
from discreet.engines.duckdb import DuckDB
from discreet.engines.headers import require_plain
from discreet.engines.text_casts import ROW, typed
from discreet.errors import BadInput, DataError, EngineError, NotFound

_FORMATS = {
    ".csv": "CSV",
    ".tsv": "CSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".json": "JSON",
    ".jsonl": "JSON",
    ".ndjson": "JSON",
}
_MAGIC = {
    b"PAR1": "Parquet",
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\x1f\x8b": "gzip",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF",
}


def open_file(path: Path, kinds: Mapping[str, Kind] | None, engine: Engine | None) -> tuple[Engine, exp.Query]:
    """Open a file, or a folder of Parquet files; ``kinds`` says what a text file's columns are to be read as."""
    path = path.expanduser().absolute()
    kind = format_of(path)
    if engine is None or isinstance(engine, DuckDB):
        embedded = engine or DuckDB()
        name = embedded.new_name(path.name)
        {"CSV": load_csv, "Parquet": _open_parquet, "JSON": _open_json}[kind](path, kinds, embedded, name)
        return embedded, exp.select("*").from_(sql.table(name))
    from discreet.engines.spark import Spark

    if isinstance(engine, Spark):
        return engine, engine.open_file(path, kinds)
    raise BadInput(
        f"{engine.title} does not open files.", hint="Load the file into it, or leave engine out to use DuckDB."
    )


def format_of(path: Path) -> str:
    """What the file is: by its name, and by its first bytes if they say otherwise."""
    if not path.exists():
        raise NotFound(f"There is no file {path}.")
    if path.is_dir():
        if not any(path.glob("**/*.parquet")):
            raise DataError(f"The folder {path} holds no Parquet file.", hint="Name a file.")
        return "Parquet"
    suffixes = [suffix.lower() for suffix in path.suffixes] or [""]
    packed = suffixes[-1] == ".gz" and len(suffixes) > 1
    kind = _FORMATS.get(suffixes[-2] if packed else suffixes[-1])
    with path.open("rb") as file:
        start = file.read(16)
    found = next((what for magic, what in _MAGIC.items() if start.startswith(magic)), None)
    if kind is None:
        raise BadInput(
            f"{path.name} is not read: " + (f"it is {found}." if found else "its name does not say what it is."),
            hint=f"Names end in one of {', '.join(_FORMATS)} (CSV and JSON also with .gz); export it as one of these.",
        )
    if path.stat().st_size == 0:
        raise DataError(f"{path.name} is empty.")
    expected = "gzip" if packed else kind if kind == "Parquet" else None
    if found != expected:
        raise DataError(
            f"{path.name} is not {expected or kind}: its first bytes are those of {found or 'something else'}.",
            hint="Give the file the name that fits it, or export it again.",
        )
    return kind


def _open_parquet(path: Path, _: Mapping[str, Kind] | None, engine: DuckDB, name: str) -> None:
    """A view: Parquet is read where it lies, as much of it as a question needs."""
    place = path
    if path.is_dir():
        place /= "*.parquet" if any(path.glob("*.parquet")) else "**/*.parquet"
    try:
        engine.run(f"CREATE VIEW {sql.table(name).sql('duckdb')} AS FROM read_parquet({_text(place)})")
        require_plain(engine.schema(exp.select("*").from_(sql.table(name))).names, path.name)
    except EngineError as error:
        raise _unreadable(path, error) from error


def _open_json(path: Path, kinds: Mapping[str, Kind] | None, engine: DuckDB, name: str) -> None:
    """Objects, one a line or in a list. With ``kinds`` all values are read as text first, so none is guessed."""
    try:
        found = engine.run(f"DESCRIBE FROM read_json({_text(path)}, sample_size = -1)")
        names = [str(row[0]) for row in found]
        require_plain(names, path.name)
        if kinds is None:
            odd = [sql.column(row[0]).sql("duckdb") for row in found if row[1] in ("JSON", "UUID", "TIME")]
            replaced = ", ".join(f"CAST({column} AS VARCHAR) AS {column}" for column in odd)
            shown = f"* REPLACE ({replaced})" if odd else "*"
            source = f"SELECT {shown} FROM read_json({_text(path)}, sample_size = -1)"  # noqa: S608
            engine.run(f"CREATE TABLE {sql.table(name).sql('duckdb')} AS {source}")
            return
        columns = ", ".join(f"{sql.text(column, 'duckdb')}: 'VARCHAR'" for column in names)
        raw = f"{name} as text"
        source = f"read_json({_text(path)}, columns = {{{columns}}})"
        numbered = f"SELECT *, row_number() OVER () AS {ROW} FROM {source}"  # noqa: S608
        engine.run(f"CREATE TABLE {sql.table(raw).sql('duckdb')} AS {numbered}")
        wanted = {column: kinds.get(column, Kind.TEXT) for column in names}
        text = exp.select("*").from_(sql.table(raw))
        try:
            engine.store(name, typed(engine, text, wanted, path.name, numbered=True))
        finally:
            engine.run(f"DROP TABLE {sql.table(raw).sql('duckdb')}")
    except EngineError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: EngineError) -> DataError:
    return DataError(
        f"{path.name} could not be read: {error.message.partition(': ')[2]}",
        hint="The file is damaged or not what its name says; export it again.",
    )


def _text(path: Path) -> str:
    return sql.text(str(path), "duckdb")
