"""Files: what they are by their name and first bytes, how DuckDB reads them, and how text becomes typed columns.

CSV is read with nothing guessed that can go wrong silently: the delimiter is read off the header; every row must have
as many fields as the header; an empty field is NULL. All values are read as text first, and then given their kinds:
strictly, with nothing rounded or guessed, and alike on every engine that opens files. A value must look exactly like
one of its kind. Booleans are true/false, t/f, yes/no or 1/0; dates and times are ISO 8601 without a zone; a decimal has
at most 18 digits after the point.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from sqlglot import exp

from discreet.core import sql
from discreet.core.engine import Engine
from discreet.core.kind import MOST_DECIMALS, NOT_FINITE, TYPES, Kind
from discreet.core.text import CODES, number, words
from discreet.engines.duckdb import DuckDB
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
        raise unreadable(path, error) from error


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
        raise unreadable(path, error) from error


def unreadable(path: Path, error: EngineError) -> DataError:
    """Why a file could not be read, as its holder would say it."""
    return DataError(
        f"{path.name} could not be read: {error.message.partition(': ')[2]}",
        hint="The file is damaged or not what its name says; export it again.",
    )


def _text(path: Path) -> str:
    return sql.text(str(path), "duckdb")


# -- CSV

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
        with _open_text(path) as file:
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


def _open_text(path: Path) -> TextIO:
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


# -- column names


def require_plain(names: Sequence[str], what: str) -> None:
    """Raise an error unless every column has a name and no two have the same one (case does not count)."""
    empty = [str(position) for position, name in enumerate(names, 1) if not name.strip()]
    if empty:
        raise DataError(
            f"{what} has columns without a name: number {', '.join(empty)}.", hint="Give each column a name."
        )
    seen: dict[str, str] = {}
    twice = []
    for name in names:
        if name.casefold() in seen:
            twice.append(f"{seen[name.casefold()]!r} and {name!r}")
        seen[name.casefold()] = name
    if twice:
        raise DataError(
            f"{what} has columns of the same name: {', '.join(twice)}.",
            hint="SQL does not tell upper and lower case apart; rename one of each.",
        )


# -- text into typed columns

_TRUE = ("true", "t", "yes", "1")
_LARGEST = "1.7976931348623157e308"
ROW = "discreet_row"
"""The column of a text relation that numbers its rows, where the engine can."""


def typed(engine: Engine, text: exp.Query, kinds: Mapping[str, Kind], what: str, *, numbered: bool) -> exp.Select:
    """The query that gives ``text``'s columns their kinds; an error that lists all that do not fit."""
    figures = [figure for name, kind in kinds.items() for figure in _figures(name, kind, numbered)]
    answers = iter(sql.aggregates(engine, text, figures))
    shown: list[exp.Expr] = []
    wrong = []
    for name, kind in kinds.items():
        if kind is Kind.TEXT:
            shown.append(sql.column(name))
            continue
        count, first, row, scale = (next(answers) for _ in range(4))
        if count:
            values = number(count, "value is", "values are")
            place = f" (row {row})" if row else ""
            wrong.append(f"\n  {name}: {values} not {kind.value}, such as {first!r}{place}")
        shown.append(sql.named(_converted(name, kind, scale or 0), name))
    if wrong:
        raise DataError(
            f"{what} does not hold what its card says:{''.join(wrong)}",
            hint="\nMend the values, or change the kind on the card.",
        )
    return exp.select(*shown).from_(text.subquery("text"))


def guessed(engine: Engine, text: exp.Query, names: Iterable[str]) -> dict[str, Kind]:
    """The narrowest kind that every value of a column is; text where there is none, and for zip codes and the like."""
    names = list(names)
    candidates = [kind for kind in Kind if TYPES[kind].guess]
    figures = [sql.count_if(_looks(sql.column(name), TYPES[kind].guess)) for name in names for kind in candidates]
    filled = [exp.Count(this=sql.column(name)) for name in names]
    fits = [sql.count_if(_misfit(sql.column(name), kind)) for name in names for kind in candidates]
    answers = sql.aggregates(engine, text, [*figures, *filled, *fits])
    kinds, width = {}, len(candidates)
    for place, name in enumerate(names):
        here = slice(place * width, (place + 1) * width)
        count = answers[len(figures) + place]
        misfits = answers[len(figures) + len(names) :][here]
        holds = [k for k, n, bad in zip(candidates, answers[here], misfits, strict=True) if n == count and not bad]
        kinds[name] = holds[0] if count and holds and not words(name) & CODES else Kind.TEXT
    return kinds


def _figures(name: str, kind: Kind, numbered: bool) -> Iterable[exp.Expr]:
    """How many values do not fit, one of them, its row, and the most digits after a point."""
    if kind is Kind.TEXT:
        return
    value = sql.column(name)
    misfit = _misfit(value, kind)
    row = sql.column(ROW) if numbered else exp.null()
    first = exp.case().when(misfit.copy(), value.copy())
    yield sql.count_if(misfit)
    yield exp.ArgMin(this=first, expression=exp.case().when(misfit.copy(), row)) if numbered else exp.Min(this=first)
    yield exp.Min(this=exp.case().when(misfit.copy(), row))
    if kind is Kind.DECIMAL:
        point = exp.StrPosition(this=value.copy(), substr=sql.literal("."))
        yield exp.Max(this=exp.case().when(point > 0, exp.Length(this=value.copy()) - point.copy()))
    else:
        yield exp.null()


def _misfit(value: exp.Column, kind: Kind) -> exp.Expr:
    """Whether a value (not NULL) is none of its kind: by its looks, or because there is no such date or number."""
    fits = _looks(value, TYPES[kind].text)
    if kind is not Kind.BOOLEAN:
        cast = exp.TryCast(this=value.copy(), to=sql.sql_type(kind, scale=MOST_DECIMALS))
        fits = exp.and_(fits, cast.is_(exp.null()).not_())
        if kind is Kind.REAL:
            beyond = exp.Abs(this=cast.copy()) > exp.cast(sql.literal(_LARGEST), exp.DType.DOUBLE)
            fits = exp.and_(fits, exp.or_(beyond.not_(), _looks(value, NOT_FINITE)))
    return exp.and_(value.copy().is_(exp.null()).not_(), exp.not_(fits))


def _converted(name: str, kind: Kind, scale: int) -> exp.Expr:
    value = sql.column(name)
    if kind is Kind.BOOLEAN:
        known = exp.Lower(this=value.copy()).isin(*_TRUE)
        return exp.case().when(value.is_(exp.null()).not_(), known)
    return exp.cast(value, sql.sql_type(kind, scale=scale))


def _looks(value: exp.Column, pattern: str) -> exp.Expr:
    return exp.RegexpLike(this=value.copy(), expression=sql.literal(f"^({pattern})$"))
