"""Files: what they are by their name and first bytes, how DuckDB reads them, and how text becomes typed columns.

CSV is read with nothing guessed that can go wrong silently: the delimiter is read off the header; every row must have
as many fields as the header; an empty field is NULL. All values are read as text first, and then given their kinds:
strictly, with nothing rounded or guessed, and alike on every engine that opens files. A value must look exactly like
one of its kind. Booleans are true/false, t/f, yes/no or 1/0; dates and times are ISO 8601 without a zone; a decimal has
at most 18 digits after the point.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from sqlglot import exp

from discreet.core import sql
from discreet.core.engine import Engine
from discreet.core.kind import MOST_DECIMALS, NOT_FINITE, TYPES, Kind
from discreet.core.text import CODES, number, words
from discreet.core.text_format import FileLayout
from discreet.engines.duckdb import DuckDB
from discreet.engines.text_files import ROW, open_text, require_plain
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
        {"CSV": _open_text, "Parquet": _open_parquet, "JSON": _open_json}[kind](path, kinds, embedded, name)
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


def _open_text(path: Path, kinds: Mapping[str, Kind] | None, engine: DuckDB, name: str) -> None:
    """A text file, by its layout; without ``kinds`` they are guessed from the values."""
    _, text, names = open_text(path, FileLayout(), engine)
    try:
        kinds = guessed(engine, text, names) if kinds is None else kinds
        wanted = {column: kinds.get(column, Kind.TEXT) for column in names}
        engine.store(name, typed(engine, text, wanted, path.name, numbered=True))
    finally:
        engine.run(f"DROP TABLE {text.args['from_'].this.sql('duckdb')}")


def unreadable(path: Path, error: EngineError) -> DataError:
    """Why a file could not be read, as its holder would say it."""
    return DataError(
        f"{path.name} could not be read: {error.message.partition(': ')[2]}",
        hint="The file is damaged or not what its name says; export it again.",
    )


def _text(path: Path) -> str:
    return sql.text(str(path), "duckdb")


# -- text into typed columns

_TRUE = ("true", "t", "yes", "1")
_LARGEST = "1.7976931348623157e308"


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
