"""Open a source (a file, an object in memory, a table of a database) as a `Table` with its card.

Addresses of database tables are taken apart here, and shown without what is secret in them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload
from urllib.parse import urlsplit

import pyarrow as pa
import sqlglot
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, ExposurePolicy, Role
from discreet.core.cardfile import load_card, load_policy
from discreet.core.draft import Draft, Reading, draft_card
from discreet.core.draft_tables import DraftedTable, Drafts, link_drafts
from discreet.core.engine import Engine
from discreet.core.kind import MOMENTS, Kind, Scalar
from discreet.core.sql import arrow_type, kind_of
from discreet.core.table import REGISTER_SUFFIX, Table, Violation
from discreet.core.text_format import FileLayout, TextFormat, declared
from discreet.engines.duckdb import DuckDB
from discreet.engines.files import format_of, open_file
from discreet.engines.layout import detect_layout
from discreet.engines.text_files import open_text, parts_of_folder, require_plain
from discreet.engines.text_values import Written, typed
from discreet.engines.value_formats import as_read, detect
from discreet.errors import BadInput, CardError, DataError, NotFound

if TYPE_CHECKING:
    from discreet.engines.spark import Spark

_CHOOSING = (exp.Where, exp.Having, exp.Qualify)
_CUTTING = (exp.Limit, exp.Offset, exp.Fetch, exp.Except, exp.Intersect)
"""What of a query chooses rows: by conditions, and by others than these."""
_WIDER = {(Kind.INTEGER, Kind.REAL), (Kind.INTEGER, Kind.DECIMAL), (Kind.DECIMAL, Kind.REAL)}


@dataclass(frozen=True)
class Source:
    """An opened source that no card describes yet."""

    name: str
    engine: Engine
    relation: exp.Query
    misfits: tuple[Violation, ...] = ()
    as_written: bool = True
    """Whether texts are still as they are written."""
    listed: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    """Categories that the source itself lists, by column."""


def read(
    source: Any,
    card: Card | Draft | Drafts | str | Path,
    *,
    table: str | None = None,
    engine: DuckDB | Spark | None = None,
) -> Table:
    """Open ``source`` as the table that ``card`` describes.

    ``source`` is a file of rows (docs/engines.md lists the formats) or a folder of them, an Arrow, pandas or polars
    table, a Spark data frame, or the address of a table: ``postgresql://user@host/database#schema.table``,
    ``sc://host:port#table`` (Spark Connect), ``spark://host:port#table``; or of a query, ``postgresql://…#SELECT …``.
    ``card`` is a card, a draft or the file it is in; where that file describes several tables, ``table`` says which
    (default: the source's own name). ``engine`` is the one to open a file on, if not a new DuckDB.

    The columns are checked against the card here; the values when they are used, or by ``require_valid``.
    """
    if isinstance(card, Drafts):
        card = card[table or _name_of(source)]
    card = card.card if isinstance(card, Draft) else card
    registers: tuple[str, ...] = ()
    policy = ExposurePolicy()
    if isinstance(card, str | Path):
        file = Path(card).absolute()
        card = load_card(card, table, default=_name_of(source))
        registers = registers_of(file, card)
        policy = load_policy(file)
    elif not isinstance(card, Card):
        raise BadInput(
            f"A card must be a dc.Card or the path of a card file, not a {type(card).__name__}.",
            hint="dc.draft(source) proposes one.",
        )
    elif table is not None and table != card.name:
        raise NotFound(f"This card describes {card.name}, not {table}.")
    if problems := card.stable_problems():
        raise CardError(f"The card of {card.name}", problems)
    opened = open_source(source, card=card, name=card.name, engine=engine)
    found = replace(_declared(card, opened), source=written_source(source), registers=registers, policy=policy)
    chosen = _conditions_of(source, card)
    if chosen:
        known = {
            name for name in found.columns if name == card.unit or card[name].role in (Role.QUASI, Role.IDENTIFIER)
        }
        used = {column.name for one in chosen for column in one.find_all(exp.Column)}
        blind = [] if used <= known else [exp.Star()]  # those who were not chosen are gone: no later choice sees them
        found = replace(found, chosen=(*chosen, *blind), chosen_by=tuple(sorted(used & known)))
    if isinstance(found.engine, DuckDB):  # rows in memory: number the values that classes are formed of
        for column in (*card.having(Role.QUASI), *card.having(Role.SENSITIVE)):
            found.engine.dictionary_codes(found.relation, [column.name])
    return found


def _conditions_of(source: object, card: Card) -> tuple[exp.Expr, ...]:
    """The conditions by which the query of an address chooses rows, by columns as the card spells them."""
    address = parse_address(source) if isinstance(source, str) else None
    if address is None or not is_query(address.place):
        return ()
    query = sqlglot.parse_one(address.place, dialect="postgres")
    found = [one.this.copy() for one in query.find_all(*_CHOOSING) if not isinstance(one.parent, exp.Filter)]
    spelled = {column.name.casefold(): column.name for column in card.columns}
    for column in [one for condition in found for one in condition.find_all(exp.Column)]:
        column.set("table", None)
        column.set("this", exp.to_identifier(spelled.get(column.name.casefold(), column.name), quoted=True))
    first = any(one.args.get("on") for one in query.find_all(exp.Distinct))
    return (*found, *([exp.Star()] if first or query.find(*_CUTTING) is not None else []))  # by who knows what


def registers_of(file: Path, card: Card) -> tuple[str, ...]:
    """Places of the registers beside the file of a card: its population's, and one from before it declared that.

    Beside the file itself, if the card was opened by a link to it.
    """
    file = file.resolve()
    own, first = (file.with_name(f"{one}{REGISTER_SUFFIX}") for one in (card.population or file.stem, file.stem))
    return (str(own), *([str(first)] if own != first and first.exists() else []))


def written_source(source: object) -> str:
    """A source as recorded in files: a full path, or an address without password; empty for rows in memory."""
    if not isinstance(source, str | Path):
        return ""
    return shown(str(source)) if parse_address(str(source)) else os.path.realpath(source)


@overload
def draft(source: list[Any] | dict[str, Any], *, name: None = None, bounds_from_data: bool = False) -> Drafts: ...
@overload
def draft(
    source: Any, *, name: str | None = None, bounds_from_data: bool = False, sheet: str | None = None
) -> Draft: ...
def draft(
    source: Any, *, name: str | None = None, bounds_from_data: bool = False, sheet: str | None = None
) -> Draft | Drafts:
    """Draft a card for ``source``: kinds, how values are written, roles and hierarchies, each with its reason.

    Bounds and categories are left for a person to declare, unless ``bounds_from_data``: then they are taken from the
    data and the card is marked as not private. ``sheet`` is the sheet of a workbook; by default, the one with the most
    rows.

    Several sources at once, a list of files or addresses or a dictionary of sources by name, are drafted together:
    keys and what refers to them are found, and units proposed.
    """
    if not isinstance(source, list | dict):
        return _drafted(*_open_to_draft(source, name, None, sheet), bounds_from_data).draft
    named = source if isinstance(source, dict) else {_name_of(one): one for one in source}
    if name is not None or len(named) < len(source) or not all(named):
        raise BadInput("Several tables need different names.", hint='Give them by name: draft({"visits": …}).')
    if sheet is not None:
        raise BadInput("A sheet can be chosen for one workbook only.", hint="Draft the workbooks one by one.")
    embedded, databases = DuckDB(), dict[str, Engine]()
    parts = []
    for each, one in named.items():
        opened, file = _open_to_draft(one, each, embedded)
        address = parse_address(one) if isinstance(one, str) else None
        if address is not None:  # tables of one database can be seen by one query
            opened = replace(opened, engine=databases.setdefault(address.database, opened.engine))
        parts.append(_drafted(replace(opened, name=each), file, bounds_from_data))
    return link_drafts(parts)


def _drafted(opened: Source, file: FileLayout | None, bounds_from_data: bool) -> DraftedTable:
    engine = opened.engine
    kinds = {field.name: kind_of(field.type) for field in engine.schema(opened.relation)}
    known = {name: kind for name, kind in kinds.items() if kind is not None}
    if not known:
        raise DataError("No column has a type that a card can describe.")
    texts = [name for name, kind in known.items() if kind is Kind.TEXT]
    source = _with_text_casts(opened.relation, kinds, texts)
    readings = detect(engine, source, texts)
    if file is None:
        readings = {name: _of_typed_source(one) for name, one in readings.items()}
    shown = [as_read(name, readings[name], engine.dialect) if name in readings else sql.column(name) for name in known]
    relation = exp.select(*shown).from_(source.subquery("t"))
    same = {name: (kind, kind) for name, kind in (known | {name: one.kind for name, one in readings.items()}).items()}
    relation = plain(relation, same, engine.dialect)
    made = draft_card(
        engine,
        relation,
        opened.name,
        left_out=tuple(name for name in kinds if name not in known),
        bounds_from_data=bounds_from_data,
        readings=readings,
        listed=opened.listed,
        file=file,
    )
    return DraftedTable(made, engine, relation)


def _of_typed_source(one: Reading) -> Reading:
    """How texts are to be read that their source has as such: as texts, if it could have had numbers or truths."""
    if one.kind is Kind.TEXT or one.kind in MOMENTS or declared(one.text) or one.said:
        as_is = one.kind is Kind.TEXT or declared(one.text)
        return one if as_is else replace(one, text=TextFormat(misfit="error"))  # which says that they are written so
    return Reading(Kind.TEXT)


_AS_TEXT = ("CSV", "fixed width", "a workbook")
"""Files that have nothing but texts, by their format."""


def _open_to_draft(
    source: Any, name: str | None, engine: DuckDB | None, sheet: str | None = None
) -> tuple[Source, FileLayout | None]:
    """Open ``source`` without a card: text files and workbooks with all values as text, and their layout."""
    path = Path(source) if isinstance(source, str | Path) and not parse_address(str(source)) else None
    if path is None or format_of(path.expanduser()) not in _AS_TEXT:
        return open_source(source, name=name, engine=engine), None
    path = path.expanduser().absolute()
    layout = detect_layout(parts_of_folder(path)[0] if path.is_dir() else path, sheet)
    on, text, names = open_text(path, layout, engine)
    return Source(name or _name_of(source), on, exp.select(*map(sql.column, names)).from_(text.subquery("t"))), layout


def open_source(
    source: Any,
    *,
    kinds: Mapping[str, Kind] | None = None,
    card: Card | None = None,
    name: str | None = None,
    engine: DuckDB | Spark | None = None,
) -> Source:
    """Open ``source``; ``kinds`` are the kinds to read a text file's columns as, if no ``card`` says more."""
    formats: dict[str, TextFormat] = {}
    if card is not None:
        kinds = {column.name: column.kind for column in card.columns}
        formats = {column.name: card.text_format(column.name) for column in card.columns}
    if isinstance(source, str | Path):
        address = parse_address(str(source))
        if address is None:
            layout = None if card is None else card.file
            found = open_file(Path(source), kinds, engine, formats=formats, layout=layout)
            return Source(name or _name_of(source), *found)
    if engine is not None and not isinstance(engine, DuckDB):
        raise BadInput("engine= is for files only.", hint="Leave engine out.")
    if type(source).__module__.startswith("pyspark.sql."):
        from discreet.engines.spark import Spark

        spark = Spark(source.sparkSession)
        return Source(name or "table", spark, spark.view_of(source))
    if hasattr(source, "__arrow_c_stream__"):
        return _open_memory(source, name or "table", engine or DuckDB(), kinds or {})
    if not isinstance(source, str | Path) or address is None:
        lazy = " Collect it first." if hasattr(source, "collect") else ""
        raise BadInput(
            f"Cannot read a {type(source).__name__}.",
            hint=f"Give a file, an Arrow, pandas, polars or Spark table, or a database address.{lazy}",
        )
    place = address.place or name or ""
    if is_query(place):
        return Source(name or "query", *_queried(address))
    if not place:
        raise BadInput(f"{shown(str(source))} does not name a table.", hint="Add it after a #: …#schema.table")
    return Source(place.rpartition(".")[2], database(address), _everything(place))


def _queried(address: Address) -> tuple[Engine, exp.Query]:
    from discreet.engines.postgres import Postgres

    if not address.scheme.startswith("postgres"):
        raise BadInput("Only a PostgreSQL address can hold a query.", hint="Name a table, or make a view there.")
    engine = Postgres(address.database)
    return engine, engine.query(address.place)


def database(address: Address) -> Engine:
    """Engine for a database address."""
    if address.scheme.startswith("postgres"):
        from discreet.engines.postgres import Postgres

        return Postgres(address.database)
    from discreet.engines.spark import Spark

    return Spark.at(address.database)


def _open_memory(source: Any, name: str, engine: DuckDB, kinds: Mapping[str, Kind]) -> Source:
    try:
        data = source if isinstance(source, pa.Table) else pa.table(source)
    except (ValueError, TypeError) as error:  # Arrow's own errors are kinds of these
        raise DataError(
            f"The {type(source).__name__} cannot be read as a table of typed columns: {str(error).rstrip('.')}.",
            hint="Give every column values of one type.",
        ) from error
    require_plain(data.column_names, f"The {type(source).__name__}")
    for place, column in enumerate(data.schema):
        if pa.types.is_null(column.type):  # nothing but NULL, which is of every kind
            empty = data.column(place).cast(arrow_type(kinds.get(column.name, Kind.TEXT)))
            data = data.set_column(place, column.name, empty)
        elif pa.types.is_dictionary(column.type) and pa.types.is_string_view(column.type.value_type):  # of polars
            chunks: Any = data.column(place).chunks
            texts = [pa.DictionaryArray.from_arrays(one.indices, one.dictionary.cast(pa.string())) for one in chunks]
            type_: Any = pa.dictionary(column.type.index_type, pa.string())
            data = data.set_column(place, column.name, pa.chunked_array(texts, type_))
    shown_as = engine.new_name(name)
    engine.show(shown_as, data)
    listed: dict[str, tuple[Any, ...]] = {
        name: tuple(one.dictionary.to_pylist())
        for name, values in zip(data.column_names, data.columns, strict=True)
        for one in values.unify_dictionaries().chunks[:1]
        if isinstance(one, pa.DictionaryArray)
    }
    return Source(name, engine, exp.select("*").from_(sql.table(shown_as)), listed=listed)


def _everything(place: str) -> exp.Select:
    """SELECT of a whole table, named ``table`` or ``schema.table``."""
    parts = [exp.to_identifier(part, quoted=True) for part in place.split(".")]
    keys = ("this", "db", "catalog")[: len(parts)]
    return exp.select("*").from_(exp.Table(**dict(zip(keys, reversed(parts), strict=False))))


def _declared(card: Card, opened: Source) -> Table:
    """The card's columns of an opened source, with their declared kinds; reports all mismatches at once."""
    opened = _as_declared(card, opened)
    schema = opened.engine.schema(opened.relation)
    there = {field.name: kind_of(field.type) for field in schema}
    missing = [column.name for column in card.columns if column.name not in there]
    if missing:
        near = {name: get_close_matches(name, there, 1) for name in missing}
        meant = [f"{name} (did you mean {found[0]}?)" if found else name for name, found in near.items()]
        raise NotFound(
            f"The card of {card.name} names columns that are not in the data: {', '.join(meant)}.",
            hint=f"The data has: {', '.join(there)}.",
        )
    wrong = []
    for column in card.columns:
        kind = there[column.name]
        if kind is not column.kind and (kind, column.kind) not in _WIDER:
            holds = kind.value if kind else str(schema.field(column.name).type)
            wrong.append(f"\n  {column.name}: the card says {column.kind.value}, the data holds {holds}")
    if wrong:
        raise DataError(
            f"The columns of {card.name} do not have the kinds that its card declares:{''.join(wrong)}",
            hint="\nChange the kind on the card, declare the format of its texts (format, decimal, …), or convert "
            "the column (pandas turns integers with gaps into reals, and dates into timestamps).",
        )
    kinds = {column.name: (there[column.name], column.kind) for column in card.columns}
    unseen = tuple(name for name in there if name not in kinds)
    relation = plain(opened.relation, kinds, opened.engine.dialect)
    return Table(card, opened.engine, relation, unseen, misfits=opened.misfits)


def _as_declared(card: Card, opened: Source) -> Source:
    """The same source with texts, and numbers that are codes, read as the card says that they are written."""
    formats = {column.name: card.text_format(column.name) for column in card.columns}
    if not opened.as_written or not any(map(declared, formats.values())):
        return opened
    there = {field.name: kind_of(field.type) for field in opened.engine.schema(opened.relation)}
    columns = {
        column.name: Written(column.kind, formats[column.name])
        for column in card.columns
        if declared(formats[column.name])
        and (there.get(column.name) is Kind.TEXT or (formats[column.name].labels and column.name in there))
    }
    text = _with_text_casts(opened.relation, there, columns)
    rest = [name for name in there if name not in columns]
    relation, misfits = typed(opened.engine, text, columns, opened.name, rest=rest)
    return replace(opened, relation=relation, misfits=misfits, as_written=False)


def _with_text_casts(relation: exp.Query, there: Iterable[str], texts: Container[str]) -> exp.Select:
    """A source whose columns ``texts`` are text in SQL, too: codes, and what PostgreSQL prints as text (a UUID)."""
    shown = [sql.named(sql.as_text(sql.column(name)), name) if name in texts else sql.column(name) for name in there]
    return exp.select(*shown).from_(relation.subquery("s"))


def plain(relation: exp.Query, kinds: Mapping[str, tuple[Kind | None, Kind]], dialect: str) -> exp.Select:
    """SELECT of the named columns, converted to their declared kinds.

    Reals that are equal are the same bits: there is one zero and one NaN. Texts that are equal are the same characters.
    A class of equal rows is then called the same anyone who is in it; otherwise its name would be the one of some row.
    """
    selected: list[exp.Expr] = []
    for name, (has, wanted) in kinds.items():
        value: exp.Expr = sql.column(name)
        if wanted is Kind.TEXT:
            value = sql.named(sql.plain_text(value, dialect), name)
        elif has is not wanted:
            value = sql.named(exp.cast(value, "DECIMAL(20, 0)" if wanted is Kind.DECIMAL else "DOUBLE"), name)
        elif wanted is Kind.REAL:
            one = {text: exp.cast(exp.Literal.string(text), "DOUBLE") for text in ("0", "NaN")}
            chosen = exp.Case(this=value, ifs=[exp.If(this=same, true=same.copy()) for same in one.values()])
            value = sql.named(chosen.else_(value.copy()), name)
        selected.append(value)
    return exp.select(*selected).from_(relation.subquery("source"))


def _name_of(source: Any) -> str:
    if not isinstance(source, str | Path):
        return ""
    address = parse_address(str(source))
    if address is None:
        return Path(source).name.partition(".")[0]
    return "" if is_query(address.place) else address.place.rpartition(".")[2]


_SCHEMES = ("postgresql", "postgres", "sc", "spark")


@dataclass(frozen=True)
class Address:
    """Address of a database, with the table or query after ``#`` (``""`` if none)."""

    scheme: str
    database: str
    """The address before ``#``; it may contain a password, so it is never shown."""
    place: str


def is_query(place: str) -> bool:
    """Whether a query stands behind the ``#`` of an address, and no table."""
    return re.match(r"\s*(SELECT|WITH)\s", place, re.IGNORECASE) is not None


def parse_address(source: str) -> Address | None:
    """Parse ``source`` as an address; ``None`` if it is a file name."""
    scheme, found, _ = source.partition("://")
    if not found:
        if re.match(rf"({'|'.join(_SCHEMES)}):", source):
            raise BadInput("This address has no //.", hint="Write it as scheme://host/database#table.")
        return None
    if scheme not in _SCHEMES:
        raise BadInput(
            f"No engine is known for {scheme}:// addresses.", hint="Known are postgresql://, sc:// and spark://."
        )
    database, _, place = source.partition("#")
    if not is_query(place) and re.search(r"[@/:#]", place):
        raise BadInput(
            "The part after # of this address is not a table name.",
            hint="Write #table or #schema.table at the end; a # in a password is written %23.",
        )
    return Address(scheme, database, place)


def shown(source: str) -> str:
    """``source`` as it may be printed: file names unchanged, addresses without user, password and parameters."""
    try:
        address = parse_address(source)
        if address is None:
            return source
        parts = urlsplit(address.database)
        where = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
    except (BadInput, ValueError):
        return "the address given"
    name = parts.path.split(";")[0] if address.scheme.startswith("postgres") else ""
    return f"{address.scheme}://{where}{name}" + (f"#{address.place}" if address.place else "")
