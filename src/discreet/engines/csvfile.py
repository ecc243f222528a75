"""CSV into DuckDB, with nothing guessed that can go wrong silently.

The delimiter is read off the header; every row must have as many fields as the header; an empty field is NULL.
All values are read as text first, and then given their kinds (see ``typed.py``).
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.engines.duckdb import DuckDB
from discreet.engines.headers import require_plain
from discreet.engines.text_casts import ROW, guessed, typed
from discreet.errors import DataError, EngineError

_DELIMITERS = ",;\t|"
_NUMBER = r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?"


@dataclass(frozen=True)
class Layout:
    """A CSV file, the names in its header, and what stands between them."""

    path: Path
    header: tuple[str, ...]
    delimiter: str


def load_csv(path: Path, kinds: Mapping[str, Kind] | None, engine: DuckDB, name: str) -> None:
    """Make a table ``name`` of a CSV file's rows."""
    layout = layout_of(path)
    raw = f"{name} as text"
    try:
        _load_text(layout, engine, raw)
        row = sql.named(sql.column("rowid") + 1, ROW)
        text = exp.select(exp.Star(), row).from_(sql.table(raw))
        kinds = guessed(engine, text, layout.header) if kinds is None else kinds
        wanted = {column: kinds.get(column, Kind.TEXT) for column in layout.header}
        engine.store(name, typed(engine, text, wanted, path.name, numbered=True))
    finally:
        engine.run(f"DROP TABLE IF EXISTS {sql.table(raw).sql('duckdb')}")


def layout_of(path: Path) -> Layout:
    """The column names, and the delimiter that splits them into most."""
    try:
        with _open(path) as file:
            start = file.read(1 << 20)
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error
    except (OSError, EOFError) as error:
        raise DataError(f"{path.name} could not be read: {error}.") from error
    if "\0" in start:
        raise DataError(f"{path.name} is not a text file: it has zero bytes.")
    try:
        rows = [next(csv.reader(io.StringIO(start, newline=""), delimiter=d), []) for d in _DELIMITERS]
    except csv.Error as error:
        raise DataError(f"The first line of {path.name} is no header: {error}.") from error
    header = max(rows, key=len)
    if not any(header):
        raise DataError(f"The first line of {path.name} is empty.", hint="Begin with the names of the columns.")
    if all(re.fullmatch(_NUMBER, cell) for cell in header):
        raise DataError(
            f"The first line of {path.name} looks like data, not like column names.",
            hint="Add a first line with the names of the columns.",
        )
    require_plain(header, path.name)
    return Layout(path, tuple(header), _DELIMITERS[rows.index(header)])


def _open(path: Path) -> TextIO:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _load_text(layout: Layout, engine: DuckDB, name: str) -> None:
    columns = ", ".join(f"{sql.text(column, 'duckdb')}: 'VARCHAR'" for column in layout.header)
    path, delimiter = (sql.text(value, "duckdb") for value in (str(layout.path), layout.delimiter))
    try:
        engine.run(
            f"CREATE TABLE {sql.table(name).sql('duckdb')} AS FROM read_csv({path}, auto_detect = false, "
            f"header = true, delim = {delimiter}, quote = '\"', escape = '\"', null_padding = false, "
            f"strict_mode = true, max_line_size = 16000000, columns = {{{columns}}})"
        )
    except EngineError as error:
        raise _explained(error, layout) from error


def _explained(error: EngineError, layout: Layout) -> DataError:
    """Why the file could not be read, as its holder would say it."""
    text = str(error.__cause__)
    line = re.search(r"Line: (\d+)", text)
    place = f"{layout.path.name}, line {line[1]}" if line else layout.path.name
    if re.search(r"unicode|utf-?8|encod", text, re.IGNORECASE):
        return _not_utf8(layout.path, place)
    fields = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if fields:
        return DataError(
            f"{place}: {fields[2]} fields where the header has {fields[1]}.",
            hint="Every line needs the same number of fields; a text with the delimiter in it needs quotes.",
        )
    if re.search(r"quote", text, re.IGNORECASE):
        return DataError(f"{place}: a quoted text does not end.", hint="Close the quotes, or double those inside.")
    return DataError(f"{place}: {text.strip().splitlines()[0]}")


def _not_utf8(path: Path, place: str | None = None) -> DataError:
    with path.open("rb") as file:
        wide = file.read(2) in (b"\xff\xfe", b"\xfe\xff")
    is_what, encoding = ("It is UTF-16", "UTF-16") if wide else ("If it is Western Windows text", "WINDOWS-1252")
    return DataError(
        f"{place or path.name} is not UTF-8 text.",
        hint=f"{is_what}; convert it: iconv -f {encoding} -t UTF-8 {path.name} > new-{path.name}",
    )
