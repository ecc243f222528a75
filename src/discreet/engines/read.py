"""Open a source (a file, an object in memory, a table of a database) as a `Table` with its card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.arrow import kind_of
from discreet.core.card import Card
from discreet.core.cardfile import load_card
from discreet.core.draft import Draft, draft_card
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.engines.files import open_file
from discreet.engines.headers import require_plain
from discreet.errors import BadInput, DataError, NotFound

_WIDER = {(Kind.INTEGER, Kind.REAL), (Kind.INTEGER, Kind.DECIMAL), (Kind.DECIMAL, Kind.REAL)}
_SQL_TYPE = {Kind.REAL: "DOUBLE", Kind.DECIMAL: "DECIMAL(19, 0)"}


@dataclass(frozen=True)
class Source:
    """Something opened and not yet described by a card."""

    name: str
    engine: Engine
    relation: exp.Query


def read(source: Any, card: Card | str | Path, *, table: str | None = None, engine: Engine | None = None) -> Table:
    """Open ``source`` as the table that ``card`` describes.

    ``source`` is a CSV, Parquet or JSON file (or a folder of Parquet files), an Arrow, pandas or polars
    table, a Spark data frame, or the address of a table: ``postgresql://user@host/database#schema.table``,
    ``sc://host:port#table`` (Spark Connect), ``spark://host:port#table``. ``card`` is a card or the file it
    is in; where that file describes several tables, ``table`` says which (default: the source's own name).
    ``engine`` opens files on another engine than DuckDB.

    The columns are checked against the card here; the values when they are used, or by ``require_valid``.
    """
    if isinstance(card, str | Path):
        card = load_card(card, table or _name_of(source))
    opened = open_source(source, kinds={c.name: c.kind for c in card.columns}, name=card.name, engine=engine)
    return Table(card, opened.engine, _declared(card, opened))


def draft(source: Any, *, name: str | None = None, bounds_from_data: bool = False) -> Draft:
    """Look at ``source`` and draft its card: kinds, suggested roles and hierarchies, each with its reason.

    Bounds and categories are left for a person to declare, unless ``bounds_from_data``: then they are read
    off the data and the card is marked as not private.
    """
    opened = open_source(source, name=name)
    return draft_card(opened.engine, opened.relation, opened.name, bounds_from_data=bounds_from_data)


def open_source(
    source: Any,
    *,
    kinds: Mapping[str, Kind] | None = None,
    name: str | None = None,
    engine: Engine | None = None,
) -> Source:
    """Open ``source`` without a card. ``kinds`` says what a text file's columns are to be read as."""
    if type(source).__module__.startswith("pyspark.sql."):
        from discreet.engines.spark import Spark

        spark = Spark(source.sparkSession)
        return Source(name or "table", spark, spark.view_of(source))
    if hasattr(source, "__arrow_c_stream__"):
        return _open_memory(source, name or "table", engine)
    if not isinstance(source, str | Path):
        raise BadInput(
            f"Cannot read a {type(source).__name__}.",
            hint="Give a file, an Arrow, pandas, polars or Spark table, or a database address.",
        )
    text = str(source)
    scheme, found, _ = text.partition("://")
    if not found:
        opened = open_file(Path(text), kinds, engine)
        return Source(name or _name_of(source), *opened)
    address, _, place = text.partition("#")
    place = place or name or ""
    if not place:
        raise BadInput(f"{scheme}://… names a database but no table.", hint="Add it after a #: …#schema.table")
    if scheme in ("postgresql", "postgres"):
        from discreet.engines.postgres import Postgres

        database: Engine = Postgres(address)
    elif scheme in ("sc", "spark"):
        from discreet.engines.spark import Spark

        database = Spark.at(address)
    else:
        raise BadInput(
            f"No engine is known for {scheme}:// addresses.",
            hint="Known are postgresql://, sc:// and spark://.",
        )
    return Source(place.rpartition(".")[2], database, _everything(place))


def _open_memory(source: Any, name: str, engine: Engine | None) -> Source:
    try:
        data = source if isinstance(source, pa.Table) else pa.table(source)
    except (ValueError, TypeError) as error:  # Arrow's own errors are kinds of these
        raise DataError(
            f"The {type(source).__name__} cannot be read as a table of typed columns: {str(error).rstrip('.')}.",
            hint="Give every column values of one type.",
        ) from error
    require_plain(data.column_names, f"The {type(source).__name__}")
    if engine is not None:
        engine.load(name, data)
        return Source(name, engine, _everything(name))
    embedded = DuckDB()
    embedded.show(name, data)
    return Source(name, embedded, exp.select("*").from_(sql.table(name)))


def _everything(place: str) -> exp.Select:
    """All of a table, given as ``table`` or ``schema.table``."""
    parts = [exp.to_identifier(part, quoted=True) for part in place.split(".")]
    keys = ("this", "db", "catalog")[: len(parts)]
    return exp.select("*").from_(exp.Table(**dict(zip(keys, reversed(parts), strict=False))))


def _declared(card: Card, opened: Source) -> exp.Query:
    """The card's columns of what was opened, each of the kind the card says; all mismatches at once."""
    schema = opened.engine.schema(opened.relation)
    there = {field.name: kind_of(field.type) for field in schema}
    missing = [column.name for column in card.columns if column.name not in there]
    if missing:
        raise NotFound(
            f"The card of {card.name} names columns that are not in the data: {', '.join(missing)}.",
            hint=f"The data has: {', '.join(there)}.",
        )
    shown: list[exp.Expr] = []
    wrong = []
    for column in card.columns:
        kind, value = there[column.name], sql.column(column.name)
        if kind is column.kind:
            shown.append(value)
        elif (kind, column.kind) in _WIDER:
            shown.append(sql.named(exp.cast(value, _SQL_TYPE[column.kind]), column.name))
        else:
            holds = kind.value if kind else str(schema.field(column.name).type)
            wrong.append(f"\n  {column.name}: the card says {column.kind.value}, the data holds {holds}")
    if wrong:
        raise DataError(
            f"The columns of {card.name} are not of the kinds its card declares:{''.join(wrong)}",
            hint="\nChange the kind on the card, or convert the column.",
        )
    return exp.select(*shown).from_(opened.relation.subquery("source"))


def _name_of(source: Any) -> str:
    if isinstance(source, str) and "://" in source:
        return source.partition("#")[2].rpartition(".")[2]
    if isinstance(source, str | Path):
        return Path(source).name.partition(".")[0]
    return ""
