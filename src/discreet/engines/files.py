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
    """Open a file, or a folder of Parquet files; ``kinds`` says what a CSV file's columns are to be read as."""
    path = path.expanduser().absolute()
    kind = format_of(path)
    if engine is None or isinstance(engine, DuckDB):
        embedded = engine or DuckDB()
        {"CSV": _open_csv, "Parquet": _open_parquet, "JSON": _open_json}[kind](path, kinds, embedded)
        return embedded, exp.select("*").from_(sql.table(path.name))
    from discreet.engines.spark import Spark

    if isinstance(engine, Spark):
        return engine, engine.open_file(path, kinds)
    raise BadInput(
        f"{engine.title} does not open files.",
        hint="Load the file into it, or leave engine out to use DuckDB.",
    )


def format_of(path: Path) -> str:
    """What the file is: by its name, and by its first bytes if they say otherwise."""
    if not path.exists():
        raise NotFound(f"There is no file {path}.")
    if path.is_dir():
        if not any(path.glob("**/*.parquet")):
            raise DataError(f"The folder {path} holds no Parquet file.", hint="Name a file.")
        return "Parquet"
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] == ".gz"
    kind = _FORMATS.get(suffixes[-2] if packed and len(suffixes) > 1 else suffixes[-1] if suffixes else "")
    if kind is None:
        raise BadInput(
            f"{path.name} does not say what it is.",
            hint=f"Its name should end in one of {', '.join(_FORMATS)} (CSV and JSON also with .gz).",
        )
    if path.stat().st_size == 0:
        raise DataError(f"{path.name} is empty.")
    with path.open("rb") as file:
        start = file.read(16)
    found = next((what for magic, what in _MAGIC.items() if start.startswith(magic)), None)
    expected = "gzip" if packed else kind if kind == "Parquet" else None
    if found != expected:
        raise DataError(
            f"{path.name} is not {expected or kind}: its first bytes are those of {found or 'something else'}.",
            hint="Give the file the name that fits it, or export it again.",
        )
    return kind


def _open_csv(path: Path, kinds: Mapping[str, Kind] | None, engine: DuckDB) -> None:
    load_csv(path, kinds, engine, path.name)


def _open_parquet(path: Path, _: Mapping[str, Kind] | None, engine: DuckDB) -> None:
    """A view: Parquet is read where it lies, as much of it as a question needs."""
    place = path / "**/*.parquet" if path.is_dir() else path
    _create(engine, "VIEW", path, f"read_parquet({_text(place)})")


def _open_json(path: Path, _: Mapping[str, Kind] | None, engine: DuckDB) -> None:
    _create(engine, "TABLE", path, f"read_json({_text(path)}, sample_size = -1)")


def _create(engine: DuckDB, what: str, path: Path, source: str) -> None:
    name = sql.table(path.name).sql(engine.dialect)
    try:
        engine.run(f"CREATE {what} {name} AS FROM {source}")
        names = engine.fetch(exp.select("*").from_(sql.table(path.name)).limit(0)).column_names
    except EngineError as error:
        raise DataError(
            f"{path.name} could not be read: {error.message.partition(': ')[2]}",
            hint="The file is damaged or not what its name says; export it again.",
        ) from error
    require_plain(names, path.name)


def _text(path: Path) -> str:
    return exp.Literal.string(str(path)).sql("duckdb")
