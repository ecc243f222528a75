"""Text files and workbooks as tables of texts: every value as it is written, every row numbered.

Nothing is guessed here that can go wrong silently: every row must have as many fields as the header, and every byte
must be one of the encoding. DuckDB reads UTF-8 where it lies; other encodings, mixed ends of lines and fixed widths are
written anew in a stream first, into a folder that is gone when they are loaded.
"""

from __future__ import annotations

import csv
import io
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.engine import Engine
from discreet.core.text_format import FileLayout, TextFormat
from discreet.engines.duckdb import DuckDB
from discreet.engines.layout import DELIMITERS, HEADER_CHARACTERS, MOST_COLUMNS, NUMBER, cut, decoded, head
from discreet.engines.text_values import ROW
from discreet.engines.workbooks import (
    cell_text,
    is_statistical,
    is_workbook,
    sheet_rows,
    statistical_rows,
)
from discreet.errors import DataError, EngineError

_ROWS_AT_ONCE = 20_000
_UTF8 = ("utf-8", "utf8", "utf-8-sig", "us-ascii", "ascii")


def open_text(
    path: Path,
    layout: FileLayout,
    engine: Engine | None = None,
    *,
    columns: Sequence[str] = (),
    formats: Mapping[str, TextFormat] | None = None,
) -> tuple[Engine, exp.Select, tuple[str, ...]]:
    """Open a text file, a workbook, or a folder of text files: the engine, the query that shows every column as text
    and ``ROW``, and the names of the columns.

    ``columns`` are the names if there is no header (else column1, column2, …). ``formats`` say how a workbook's numbers
    and dates are to be written, for columns that hold texts too. An engine that is not DuckDB is lent the rows.
    """
    embedded = engine if isinstance(engine, DuckDB) else DuckDB()
    name = embedded.new_name(f"{path.name} as text")
    parts, tabular = parts_of_folder(path), is_workbook(path) or is_statistical(path)
    try:
        names = [
            _load_sheet(part, layout, embedded, name, columns, formats=formats or {})
            if tabular
            else _load_csv(part, layout, embedded, name, columns, new=part is parts[0])
            for part in parts
        ]
    except BaseException:
        embedded.run(f"DROP TABLE IF EXISTS {sql.table(name).sql('duckdb')}")
        raise
    place: exp.Expr = sql.column("rowid") + 1
    if "rowid" in map(str.casefold, names[0]):  # which hides DuckDB's own
        place = exp.Window(this=exp.RowNumber())
    row = [] if tabular else [sql.named(place, ROW)]
    text = exp.select(exp.Star(), *row).from_(sql.table(name))
    if engine is None or engine is embedded:
        return embedded, text, names[0]
    lent = engine.lend(embedded.fetch(text))
    embedded.close()
    return engine, lent, names[0]


def parts_of_folder(path: Path) -> list[Path]:
    """The files of a folder in the order of their names, without hidden ones; or the file alone."""
    return [path] if path.is_file() else sorted(one for one in path.iterdir() if one.name[:1] not in "._")


def is_plain(path: Path, layout: FileLayout) -> bool:
    """Whether any reader of CSV can read a file as it is: UTF-8, and a header in its first line."""
    usual = layout.header in (None, 1) and not (layout.skip or layout.widths)
    return path.is_file() and usual and (layout.encoding or "utf-8").lower() in _UTF8


def _load_sheet(
    path: Path,
    layout: FileLayout,
    engine: DuckDB,
    name: str,
    columns: Sequence[str],
    *,
    formats: Mapping[str, TextFormat],
) -> tuple[str, ...]:
    """Make a table of a sheet's rows."""
    names, rows = statistical_rows(path) if is_statistical(path) else _sheet(path, layout, columns)
    require_plain(names, path.name)
    columns_sql = ", ".join(f"{sql.column(one).sql('duckdb')} VARCHAR" for one in names)
    engine.run(f"CREATE TABLE {sql.table(name).sql('duckdb')} ({columns_sql}, {ROW} BIGINT)")
    written = [formats.get(one, TextFormat()) for one in names]
    while part := list(islice(rows, _ROWS_AT_ONCE)):
        texts = zip(*(map(cell_text, cells, written) for _, cells in part), strict=True)
        arrays = [pa.array(list(one), pa.string()) for one in texts]
        engine.append(name, pa.table([*arrays, pa.array([row for row, _ in part])], names=[*names, ROW]))
    return names


def _load_csv(
    path: Path, layout: FileLayout, engine: DuckDB, name: str, columns: Sequence[str], *, new: bool
) -> tuple[str, ...]:
    """Make a table of a file's rows, or add them to it."""
    target = sql.table(name).sql("duckdb")
    names, delimiter = header_of(path, layout, columns)
    if not new:
        before = tuple(row[0] for row in engine.run(f"DESCRIBE {target}"))
        if names != before:
            raise DataError(
                f"{path.name} has different columns from the files before it: {', '.join(names)}.",
                hint=f"All files of a folder need the same columns in the same order: {', '.join(before)}.",
            )
    make = f"CREATE TABLE {target} AS" if new else f"INSERT INTO {target}"
    with _plain(path, layout) as plain:
        try:
            engine.run(f"{make} {_csv(plain, layout, names, delimiter)}")
        except EngineError as error:
            if "invalid state" not in str(error.__cause__):
                raise _explained(error, path) from error
            with _rewritten(path, layout) as again:  # the ends of lines are mixed
                try:
                    engine.run(f"{make} {_csv(again, layout, names, delimiter)}")
                except EngineError as error_again:
                    raise _explained(error_again, path) from error_again
    return names


def _csv(path: Path, layout: FileLayout, names: Sequence[str], delimiter: str) -> str:
    """DuckDB's SELECT of a file's fields as texts."""
    columns = ", ".join(f"{sql.text(one, 'duckdb')}: 'VARCHAR'" for one in names)
    header = 1 if layout.header is None else layout.header
    place, mark, quote = (
        sql.text(one, "duckdb")
        for one in (str(path), delimiter, '"' if layout.quote is None or layout.widths else layout.quote)
    )
    return (
        f"SELECT * FROM read_csv({place}, auto_detect = false, header = {header > 0}, skip = {max(header - 1, 0)}, "  # noqa: S608
        f"delim = {mark}, quote = {quote}, escape = {quote}, null_padding = false, strict_mode = true, "
        f"max_line_size = 16000000, columns = {{{columns}}})" + (f" OFFSET {layout.skip}" if layout.skip else "")
    )


@contextmanager
def _plain(path: Path, layout: FileLayout) -> Iterator[Path]:
    """The file, or a copy in UTF-8 with a delimiter."""
    if not layout.widths and (layout.encoding or "utf-8").lower() in _UTF8:
        yield path
        return
    with _rewritten(path, layout) as copy:
        yield copy


@contextmanager
def _rewritten(path: Path, layout: FileLayout) -> Iterator[Path]:
    """A copy of a text file in UTF-8, with one end of lines, and fields of fixed widths as CSV."""
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        copy = Path(folder, "copy.csv")
        with copy.open("w", encoding="utf-8", newline="") as file:
            if not layout.widths:
                file.writelines(_one_line_end(decoded(path, layout.encoding)))
            else:
                csv.writer(file, lineterminator="\n").writerows(_cut_lines(path, layout))
        yield copy


def _one_line_end(parts: Iterable[str]) -> Iterator[str]:
    """The text with every end of a line as a line feed."""
    kept = ""
    for part in parts:
        text = kept + part
        kept = "\r" if text.endswith("\r") else ""
        yield text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")
    yield kept and "\n"


def _lines(path: Path, encoding: str | None) -> Iterator[str]:
    """The lines of a text file."""
    rest = ""
    for part in _one_line_end(decoded(path, encoding)):
        *lines, rest = (rest + part).split("\n")
        yield from lines
    if rest:
        yield rest


def _cut_lines(path: Path, layout: FileLayout) -> Iterator[list[str]]:
    """The fields of every line from the header on; a line that is longer than its fields is an error."""
    widths, header = layout.widths or (), 1 if layout.header is None else layout.header
    for number, line in enumerate(_lines(path, layout.encoding), 1):
        if number < header:
            yield []
        elif line[sum(widths) :].strip():
            raise DataError(
                f"{path.name}, line {number}: {len(line)} characters, more than the {sum(widths)} of the "
                "declared widths.",
                hint="Check the widths on the card.",
            )
        elif line.strip():
            yield cut(line, widths)


# -- column names


def header_of(path: Path, layout: FileLayout, columns: Sequence[str] = ()) -> tuple[tuple[str, ...], str]:
    """The names of a text file's columns, and its delimiter: as declared, or what splits the header into most."""
    header = 1 if layout.header is None else layout.header
    start = head(path, layout.encoding)
    lines = io.StringIO(start, newline=None if "\n" not in start else "")
    for _ in range(header - 1):
        lines.readline()
    rest = lines.read()
    if layout.widths:
        first, delimiter = cut(rest.partition("\n")[0], layout.widths), ","
    else:
        first, delimiter = _first_row(rest, layout, path, header)
    if len(start) == HEADER_CHARACTERS and "\n" not in rest:
        raise DataError(f"{path.name}: the header line is longer than {HEADER_CHARACTERS:,} characters.")
    if len(first) > MOST_COLUMNS:
        raise DataError(
            f"{path.name} has {len(first):,} columns; the limit is {MOST_COLUMNS:,}.", hint="Is the delimiter right?"
        )
    if not header:
        return _made_up(path, len(first), columns), delimiter
    if not any(first):
        raise DataError(f"{_the_line(header)} of {path.name} is empty.", hint="Start with a line of column names.")
    if all(re.fullmatch(NUMBER, cell) for cell in first):
        raise DataError(
            f"{_the_line(header)} of {path.name} looks like data, not like column names.",
            hint="Add a first line with the names of the columns, or declare on the card that there is none: "
            "file = { header = 0 }.",
        )
    require_plain(first, path.name)
    return tuple(first), delimiter


def _the_line(header: int) -> str:
    return "The first line" if header == 1 else f"Line {header}"


def _first_row(text: str, layout: FileLayout, path: Path, header: int) -> tuple[list[str], str]:
    marks = layout.delimiter or DELIMITERS
    quote: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if layout.quote == "" else {"quotechar": layout.quote or '"'}
    try:
        rows = [next(csv.reader(io.StringIO(text, newline=""), delimiter=mark, **quote), []) for mark in marks]
    except csv.Error as error:
        raise DataError(f"{_the_line(header)} of {path.name} is not a header: {error}.") from error
    first = max(rows, key=len)
    return first, marks[rows.index(first)]


def _made_up(path: Path, width: int, columns: Sequence[str]) -> tuple[str, ...]:
    """The card's columns, or made-up names, for a file without a header."""
    if columns and len(columns) != width:
        raise DataError(
            f"{path.name} has {width} fields in a row, and its card {len(columns)} columns.",
            hint="Without a header the card must name all columns, in order.",
        )
    return tuple(columns) or tuple(f"column{place}" for place in range(1, width + 1))


def _sheet(
    path: Path, layout: FileLayout, columns: Sequence[str]
) -> tuple[tuple[str, ...], Iterator[tuple[int, list[Any]]]]:
    """The names of a sheet's columns, and its rows below the header."""
    rows = sheet_rows(path, layout.sheet)
    header = 1 if layout.header is None else layout.header
    for number, cells in rows:
        if len(cells) > MOST_COLUMNS:
            raise DataError(f"{path.name} has {len(cells):,} columns; the limit is {MOST_COLUMNS:,}.")
        if number >= header:
            break
    else:
        raise DataError(
            f"{path.name} has no row {header} on its sheet.", hint="Declare on the card which row has the column names."
        )
    if not header:
        return _made_up(path, len(cells), columns), chain([(number, cells)], rows)
    if number > header:
        raise DataError(
            f"Row {header} of {path.name} is empty.", hint="Declare on the card which row has the column names."
        )
    names = tuple(cell_text(cell, TextFormat()) or "" for cell in cells)
    return names, islice(rows, layout.skip or 0, None)


def require_plain(names: Sequence[str], what: str) -> None:
    """Raise an error unless every column has a name and no two have the same one (case does not count)."""
    empty = [str(position) for position, name in enumerate(names, 1) if not name.strip()]
    if empty:
        raise DataError(
            f"{what} has columns without a name: number {', '.join(empty)}.", hint="Give each column a name."
        )
    if ROW in map(str.casefold, names):
        raise DataError(f"{what} has a column {ROW}, a name that discreet uses itself.", hint="Rename it.")
    seen: dict[str, str] = {}
    twice = []
    for name in names:
        if name.casefold() in seen:
            twice.append(f"{seen[name.casefold()]!r} and {name!r}")
        seen[name.casefold()] = name
    if twice:
        raise DataError(
            f"{what} has columns of the same name: {', '.join(twice)}.",
            hint="SQL ignores case; rename one of each.",
        )


# -- what is wrong, and where


def places(path: Path, layout: FileLayout, rows: Iterable[int]) -> dict[int, str]:
    """Where the rows with these numbers are, in words: the line of a text file that they begin in, or their row."""
    wanted = set(rows)
    found = {row: f"row {row}" for row in wanted}
    if is_workbook(path):
        return found
    number = 0
    for part in parts_of_folder(path):
        inside = "" if part is path else f"{part.name}, "
        try:
            for line in _row_lines(part, layout):
                number += 1
                if number in wanted:
                    found[number] = f"{inside}line {line}"
                if number >= max(wanted, default=0):
                    return found
        except csv.Error:  # a field is too long to look for
            break
    return found


def _row_lines(path: Path, layout: FileLayout) -> Iterator[int]:
    """The line in which each row below the header begins."""
    header = 1 if layout.header is None else layout.header
    lines = _lines(path, layout.encoding)
    if layout.widths:
        rows: Iterator[int] = (number for number, line in enumerate(lines, 1) if number >= header and line.strip())
    else:
        names, delimiter = header_of(path, layout)
        for _ in range(header - 1):
            next(lines)
        rows = _csv_lines((f"{line}\n" for line in lines), layout, delimiter, header, single=len(names) == 1)
    yield from islice(rows, (1 if header else 0) + (layout.skip or 0), None)


def _csv_lines(lines: Iterator[str], layout: FileLayout, delimiter: str, header: int, *, single: bool) -> Iterator[int]:
    quote: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if layout.quote == "" else {"quotechar": layout.quote or '"'}
    reader = csv.reader(lines, delimiter=delimiter, **quote)
    begin = max(header, 1)
    for row in reader:
        if row or single:
            yield begin
        begin = max(header, 1) + reader.line_num


def _explained(error: EngineError, path: Path) -> DataError:
    """Why the file could not be read, as its holder would say it."""
    text = str(error.__cause__)
    line = re.search(r"Line: (\d+)", text)
    place = f"{path.name}, line {line[1]}" if line else path.name
    if re.search(r"unicode|utf-?8|encod", text, re.IGNORECASE):
        for _ in decoded(path, None):  # which says where
            pass
    fields = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if fields:
        return DataError(
            f"{place}: {fields[2]} fields where the header has {fields[1]}.",
            hint="Every line needs the same number of fields; a text that contains the delimiter needs quotes.",
        )
    if re.search(r"maximum line size", text, re.IGNORECASE):
        return DataError(f"{place}: the row is longer than 16,000,000 bytes.", hint="Is a quotation mark left open?")
    if re.search(r"quote", text, re.IGNORECASE):
        return DataError(f"{place}: a quoted text does not end.", hint="Close the quotes, or double those inside.")
    return DataError(f"{place}: {text.strip().splitlines()[0]}")
