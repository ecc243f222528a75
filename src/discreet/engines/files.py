"""Files: what they are by their name and first bytes, how DuckDB and Spark open them, and how a card reads them.

Text files, workbooks and files of statistical packages are read as text first (``text_files.py``) and then given their
kinds, as the card says they are written (``text_values.py``): strictly, and alike on every engine. Parquet and Arrow
files have their own types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import pyarrow as pa
from pyarrow import feather
from sqlglot import exp

from discreet.core import sql
from discreet.core.engine import Engine
from discreet.core.kind import TYPES, Kind
from discreet.core.table import Violation
from discreet.core.text import CODES, words
from discreet.core.text_format import FileLayout, TextFormat
from discreet.engines.duckdb import DuckDB
from discreet.engines.layout import suffix_of
from discreet.engines.text_files import header_of, is_plain, open_text, parts_of_folder, places, require_plain
from discreet.engines.text_values import ROW, Written, looks, misfit, typed
from discreet.engines.workbooks import STATISTICAL, WORKBOOKS, value_labels
from discreet.errors import BadInput, DataError, EngineError, NotFound

if TYPE_CHECKING:
    from discreet.engines.spark import Spark

_FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), "CSV"),
    ".fwf": "fixed width",
    **dict.fromkeys((".parquet", ".pq"), "Parquet"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "JSON"),
    **dict.fromkeys((".arrow", ".feather"), "Arrow"),
    **dict.fromkeys(WORKBOOKS, "a workbook"),
    **dict.fromkeys(STATISTICAL, "a file of a statistical package"),
}
"""Endings of the files that are read, and what they are."""
_PACKABLE = ("CSV", "fixed width", "JSON")
_MAGIC = {
    b"PAR1": "Parquet",
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\x1f\x8b": "gzip",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file",
    b"ARROW1": "Arrow",
    b"FEA1": "Arrow",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF",
}
_FIRST = {
    "Parquet": (b"PAR1",),
    "Arrow": (b"ARROW1", b"FEA1", b"\xff\xff\xff\xff"),
    "a workbook": (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"),
    "gzip": (b"\x1f\x8b",),
}
"""First bytes that a format must have; text files have none of those above."""


class Opened(NamedTuple):
    """A file on an engine, and what its card takes for missing because it does not fit."""

    engine: Engine
    relation: exp.Query
    misfits: tuple[Violation, ...] = ()
    as_written: bool = True
    """Whether texts are still as they are written in the file."""


def open_file(
    path: Path,
    kinds: Mapping[str, Kind] | None,
    engine: Engine | None,
    *,
    formats: Mapping[str, TextFormat] | None = None,
    layout: FileLayout | None = None,
) -> Opened:
    """Open a file, or a folder of Parquet or CSV files.

    ``kinds`` says what a text file's columns are to be read as and ``formats`` how they are written; without ``kinds``
    they are guessed from the values.
    """
    path = path.expanduser().absolute()
    kind = format_of(path)
    if engine is None:
        engine = DuckDB()
        try:
            return open_file(path, kinds, engine, formats=formats, layout=layout)
        except BaseException:
            engine.close()
            raise
    spark = None if isinstance(engine, DuckDB) else _spark(engine)
    try:
        if kind == "Parquet":
            return Opened(engine, spark.open_parquet(path) if spark else _parquet(path, cast("DuckDB", engine)))
        if kind == "Arrow":
            return Opened(engine, engine.lend(_arrow(path)))
        if kind == "JSON" and kinds is None:
            return Opened(engine, spark.open_json(path) if spark else _json(path, cast("DuckDB", engine)))
        return _open_texts(path, kind, kinds, engine, formats or {}, layout or FileLayout())
    except EngineError as error:
        raise unreadable(path, error) from error


def _spark(engine: Engine) -> Spark:
    from discreet.engines.spark import Spark

    if isinstance(engine, Spark):
        return engine
    raise BadInput(
        f"{engine.title} does not open files.", hint="Load the file into it, or leave engine out to use DuckDB."
    )


def format_of(path: Path) -> str:
    """What the file is: by its name, and by its first bytes if they say otherwise."""
    if not path.exists():
        raise NotFound(f"There is no file {path}.")
    if path.is_dir():
        if any(path.glob("**/*.parquet")):
            return "Parquet"
        parts = parts_of_folder(path)
        if not parts or {_FORMATS.get(suffix_of(part)) for part in parts} != {"CSV"}:
            raise DataError(f"The folder {path} holds no Parquet files, and not only CSV files.", hint="Name a file.")
        return "CSV"
    if not path.is_file():
        raise DataError(f"{path} is not a regular file.", hint="Name a file, or a folder of files.")
    kind = _FORMATS.get(suffix_of(path))
    packed = path.suffix.lower() == ".gz"
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise DataError(f"{path.name} could not be read: {error.strerror}.") from error
    found = next((what for magic, what in _MAGIC.items() if start.startswith(magic)), None)
    if kind is None or (packed and kind not in _PACKABLE):
        raise BadInput(
            f"{path.name} cannot be read: " + (f"it is {found}." if found else "its name has no known ending."),
            hint=f"Names end in one of {', '.join(_FORMATS)} (text and JSON also with .gz); export it as one of these.",
        )
    if not start.strip() and len(start) < 16:
        raise DataError(f"{path.name} is empty.")
    expected = "gzip" if packed else kind
    if not start.startswith(_FIRST[expected]) if expected in _FIRST else found is not None and kind in _PACKABLE:
        raise DataError(
            f"{path.name} is not {expected}: its first bytes are those of {found or 'something else'}.",
            hint="Correct the file's name, or export it again.",
        )
    return kind


def _open_texts(  # noqa: PLR0917
    path: Path,
    kind: str,
    kinds: Mapping[str, Kind] | None,
    engine: Engine,
    formats: Mapping[str, TextFormat],
    layout: FileLayout,
) -> Opened:
    """A file that is read as text, given its kinds."""
    where: Callable[[Iterable[int]], Mapping[int, str]] = lambda rows: {row: f"row {row}" for row in rows}  # noqa: E731
    labels: Mapping[str, Mapping[str, str]] = {}
    if kind == "JSON":
        text, names = _json_texts(path, engine)
    elif kind == "CSV" and not isinstance(engine, DuckDB) and is_plain(path, layout):
        text, names = _spark_texts(path, cast("Spark", engine), layout, known=kinds is not None)
    else:
        if kind == "a file of a statistical package":
            labels = value_labels(path)
        else:
            where = partial(places, path, layout)
        _, text, names = open_text(path, layout, engine, columns=tuple(kinds or ()), formats=formats)
    try:
        columns = _columns(engine, text, names, kinds, formats, labels)
        query, misfits = typed(engine, text, columns, path.name, where=where)
        if isinstance(engine, DuckDB):
            name = engine.new_name(path.name)
            engine.store(name, query)
            query = exp.select("*").from_(sql.table(name))
    finally:
        if isinstance(engine, DuckDB):
            engine.run(f"DROP TABLE {text.args['from_'].this.sql('duckdb')}")
    return Opened(engine, query, misfits, as_written=False)


def _columns(  # noqa: PLR0917
    engine: Engine,
    text: exp.Query,
    names: Iterable[str],
    kinds: Mapping[str, Kind] | None,
    formats: Mapping[str, TextFormat],
    labels: Mapping[str, Mapping[str, str]],
) -> dict[str, Written]:
    """What each column is read as. Labels of the file are those of a text column that declares none; without a card,
    of one that has no other codes."""
    columns = {}
    wanted = guessed(engine, text, names) if kinds is None else kinds
    for name in names:
        written = Written(wanted.get(name, Kind.TEXT), formats.get(name, TextFormat()))
        labelled = Written(Kind.TEXT, replace(written.text, labels=labels.get(name)))
        if labelled.text.labels and written.text.labels is None:
            if kinds is None:
                unknown = sql.count_if(misfit(sql.column(name), labelled, engine.dialect))
                written = written if sql.aggregates(engine, text, [unknown])[0] else labelled
            elif written.kind is Kind.TEXT and name in kinds:
                written = labelled
        columns[name] = written
    return columns


def _parquet(path: Path, engine: DuckDB) -> exp.Select:
    """A view: Parquet is read where it lies, as much of it as a question needs."""
    place, name = path, engine.new_name(path.name)
    if path.is_dir():
        place /= "*.parquet" if any(path.glob("*.parquet")) else "**/*.parquet"
    engine.run(f"CREATE VIEW {sql.table(name).sql('duckdb')} AS FROM read_parquet({_text(place)})")
    relation = exp.select("*").from_(sql.table(name))
    require_plain(engine.schema(relation).names, path.name)
    return relation


def _arrow(path: Path) -> pa.Table:
    """An Arrow or Feather file, mapped into memory where it is not compressed; or a stream of Arrow batches."""
    try:
        with path.open("rb") as file:
            streamed = file.read(4) == b"\xff\xff\xff\xff"
            file.seek(0)
            data = pa.ipc.open_stream(file).read_all() if streamed else feather.read_table(path, memory_map=True)
        data.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path.name} could not be read: {error}.", hint="The file is damaged.") from error
    require_plain(data.column_names, path.name)
    return data


def _json(path: Path, engine: DuckDB) -> exp.Select:
    """Objects, one a line or in a list, with the types that they look like."""
    found, name = _json_columns(path, engine), engine.new_name(path.name)
    odd = [sql.column(one).sql("duckdb") for one, type_ in found.items() if type_ in ("JSON", "UUID", "TIME")]
    replaced = ", ".join(f"CAST({column} AS VARCHAR) AS {column}" for column in odd)
    shown = f"* REPLACE ({replaced})" if odd else "*"
    source = f"SELECT {shown} FROM read_json({_text(path)}, sample_size = -1)"  # noqa: S608
    engine.run(f"CREATE TABLE {sql.table(name).sql('duckdb')} AS {source}")
    return exp.select("*").from_(sql.table(name))


def _json_texts(path: Path, engine: Engine) -> tuple[exp.Select, tuple[str, ...]]:
    """All values as text, so that none is guessed."""
    if not isinstance(engine, DuckDB):
        text = _spark(engine).open_json(path, texts=True)
        return _unnumbered(text), tuple(engine.schema(text).names)
    names = tuple(_json_columns(path, engine))
    columns = ", ".join(f"{sql.text(column, 'duckdb')}: 'VARCHAR'" for column in names)
    name = engine.new_name(f"{path.name} as text")
    numbered = f"SELECT *, row_number() OVER () AS {ROW} FROM read_json({_text(path)}, columns = {{{columns}}})"  # noqa: S608
    engine.run(f"CREATE TABLE {sql.table(name).sql('duckdb')} AS {numbered}")
    return exp.select("*").from_(sql.table(name)), names


def _json_columns(path: Path, engine: DuckDB) -> dict[str, str]:
    found = engine.run(f"DESCRIBE FROM read_json({_text(path)}, sample_size = -1)")
    names = {str(row[0]) for row in found}
    if any(re.sub(r"_\d+$", "", one).casefold() in map(str.casefold, names - {one}) for one in names):
        keys = f"SELECT DISTINCT unnest(json_keys(json)) FROM read_json_objects({_text(path)})"  # noqa: S608
        require_plain([str(row[0]) for row in engine.run(keys)], path.name)  # DuckDB calls the second A of a and A A_1
    require_plain([str(row[0]) for row in found], path.name)
    return {str(row[0]): str(row[1]) for row in found}


def _spark_texts(path: Path, engine: Spark, layout: FileLayout, *, known: bool) -> tuple[exp.Select, tuple[str, ...]]:
    """A CSV file that Spark reads by itself; it does not number the rows."""
    if not known:
        raise BadInput(
            "Spark reads a CSV file by its card only.", hint="Draft the card without Spark: leave engine out."
        )
    names, delimiter = header_of(path, layout)
    return _unnumbered(engine.open_csv(path, names, delimiter, '"' if layout.quote is None else layout.quote)), names


def _unnumbered(text: exp.Select) -> exp.Select:
    return exp.select(exp.Star(), sql.named(exp.cast(exp.null(), exp.DType.BIGINT), ROW)).from_(text.subquery("t"))


def unreadable(path: Path, error: EngineError) -> DataError:
    """Why a file could not be read, as its holder would say it."""
    return DataError(
        f"{path.name} could not be read: {error.message.partition(': ')[2]}",
        hint="The file is damaged or not what its name says; export it again.",
    )


def _text(path: Path) -> str:
    return sql.text(str(path), "duckdb")


def guessed(engine: Engine, text: exp.Query, names: Iterable[str]) -> dict[str, Kind]:
    """The narrowest kind that every value of a column is; text where there is none, and for zip codes and the like."""
    names = list(names)
    candidates = [kind for kind in Kind if TYPES[kind].guess]
    figures = [
        sql.count_if(looks(sql.column(name), TYPES[kind].guess, engine.dialect))
        for name in names
        for kind in candidates
    ]
    filled = [exp.Count(this=sql.column(name)) for name in names]
    fits = [
        sql.count_if(misfit(sql.column(name), Written(kind), engine.dialect)) for name in names for kind in candidates
    ]
    answers = sql.aggregates(engine, text, [*figures, *filled, *fits])
    kinds, width = {}, len(candidates)
    for place, name in enumerate(names):
        here = slice(place * width, (place + 1) * width)
        count = answers[len(figures) + place]
        misfits = answers[len(figures) + len(names) :][here]
        holds = [k for k, n, bad in zip(candidates, answers[here], misfits, strict=True) if n == count and not bad]
        kinds[name] = holds[0] if count and holds and not words(name) & CODES else Kind.TEXT
    return kinds
