"""CSV into DuckDB, with nothing guessed that can go wrong silently.

The delimiter is read off the header; every row must have as many fields as the header; every column is read
as what the card says. Without a card a column is an integer, a real, a date, … only if every value is, and
text otherwise (a number with a leading zero is text, and so is a column called zip or phone). An empty field is NULL.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.core.names import CODES, words
from discreet.engines.duckdb import DuckDB
from discreet.engines.headers import require_plain
from discreet.errors import DataError, EngineError

_DELIMITERS = ",;\t|"
_TYPES = {
    Kind.INTEGER: "BIGINT",
    Kind.REAL: "DOUBLE",
    Kind.DECIMAL: "DECIMAL(38, 9)",
    Kind.TEXT: "VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}
_NUMBER = r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?"
_PATTERNS = {  # in order of preference; a value must match and convert
    Kind.BOOLEAN: r"(?i)(true|false)",
    Kind.INTEGER: r"[+-]?(0|[1-9]\d*)",
    Kind.REAL: rf"(?i)({_NUMBER}|nan|[+-]?inf(inity)?)",
    Kind.DATE: r"\d{4}-\d{2}-\d{2}",
    Kind.TIMESTAMP: r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?",
}


@dataclass(frozen=True)
class Layout:
    """A CSV file, the names in its header, and what stands between them."""

    path: Path
    header: tuple[str, ...]
    delimiter: str


def load_csv(path: Path, kinds: Mapping[str, Kind] | None, engine: DuckDB, name: str) -> None:
    """Make a table ``name`` of a CSV file's rows."""
    layout = layout_of(path)
    if kinds is None:
        kinds = _infer(layout, engine)
    types = {column: _TYPES[kinds.get(column, Kind.TEXT)] for column in layout.header}
    try:
        _load(engine, name, layout, types)
    except EngineError as error:
        raise _explained(error, layout, kinds, engine) from error


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
        raise DataError(
            f"{path.name} is not a text file: it has zero bytes.",
            hint="If it is UTF-16, convert it: iconv -f UTF-16 -t UTF-8",
        )
    rows = [next(csv.reader(start.splitlines(keepends=True), delimiter=d), []) for d in _DELIMITERS]
    header = max(rows, key=len)
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


def _load(engine: DuckDB, name: str, layout: Layout, types: Mapping[str, str]) -> None:
    columns = ", ".join(f"{_text(column)}: {_text(type_)}" for column, type_ in types.items())
    engine.run(
        f"CREATE TABLE {sql.table(name).sql('duckdb')} AS FROM read_csv({_text(str(layout.path))}, "
        f"auto_detect = false, header = true, delim = {_text(layout.delimiter)}, quote = '\"', escape = '\"', "
        f"null_padding = false, strict_mode = true, max_line_size = 16000000, columns = {{{columns}}})"
    )


@contextmanager
def _as_text(layout: Layout, engine: DuckDB) -> Iterator[Callable[[Iterable[str]], tuple[Any, ...]]]:
    """The file as a table of text, and a way to ask for aggregates of it."""
    _load(engine, "discreet_text", layout, dict.fromkeys(layout.header, "VARCHAR"))
    yield lambda figures: engine.run(f"SELECT {', '.join(figures)} FROM discreet_text")[0]  # noqa: S608
    engine.run("DROP TABLE discreet_text")


def _infer(layout: Layout, engine: DuckDB) -> dict[str, Kind]:
    """The narrowest kind that every value of a column is."""
    try:
        with _as_text(layout, engine) as ask:
            found = iter(ask(f"bool_and({_is(kind, column)})" for column in layout.header for kind in _PATTERNS))
    except EngineError as error:
        raise _explained(error, layout, {}, engine) from error
    kinds = {}
    for column in layout.header:
        holds = [kind for kind in _PATTERNS if next(found)]
        kinds[column] = holds[0] if holds and not words(column) & CODES else Kind.TEXT
    return kinds


def _is(kind: Kind, column: str) -> str:
    value = sql.column(column).sql("duckdb")
    matches = f"regexp_full_match({value}, {_text(_PATTERNS[kind])})"
    return f"CASE WHEN {value} IS NOT NULL THEN {matches} AND TRY_CAST({value} AS {_TYPES[kind]}) IS NOT NULL END"


def _explained(error: EngineError, layout: Layout, kinds: Mapping[str, Kind], engine: DuckDB) -> DataError:
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
    if re.search(r"quote", text, re.IGNORECASE) and "convert" not in text.lower():
        return DataError(f"{place}: a quoted text does not end.", hint="Close the quotes, or double those inside.")
    wrong = _misfits(layout, kinds, engine)
    if wrong:
        return DataError(
            f"{layout.path.name} does not hold what its card says:{''.join(wrong)}",
            hint="\nMend the values, or change the kind on the card.",
        )
    return DataError(f"{place}: {text.strip().splitlines()[0]}")


def _misfits(layout: Layout, kinds: Mapping[str, Kind], engine: DuckDB) -> list[str]:
    """For each column, how many values are not of its kind, and the first of them."""
    typed = {column: kinds[column] for column in layout.header if kinds.get(column, Kind.TEXT) is not Kind.TEXT}
    wrong = []
    with _as_text(layout, engine) as ask:
        for column, kind in typed.items():
            value = sql.column(column).sql("duckdb")
            bad = f"FILTER ({value} IS NOT NULL AND TRY_CAST({value} AS {_TYPES[kind]}) IS NULL)"
            count, row, first = ask([f"count(*) {bad}", f"min(rowid) {bad}", f"arg_min({value}, rowid) {bad}"])
            if count:
                values = "1 value is" if count == 1 else f"{count:,} values are"
                wrong.append(f"\n  {column}: {values} not {kind.value}, the first on line {row + 2}: {first!r}")
    return wrong


def _not_utf8(path: Path, place: str | None = None) -> DataError:
    return DataError(
        f"{place or path.name} is not UTF-8 text.",
        hint=f"If it is Latin-1 (Western Windows), convert it: iconv -f WINDOWS-1252 -t UTF-8 {path.name}",
    )


def _text(value: str) -> str:
    return exp.Literal.string(value).sql("duckdb")
