"""Recodings: how the quasi-identifiers are rewritten, at what loss, and the rows that result.

A recoding says what becomes of each combination of quasi-identifiers. DuckDB and Spark apply it where the rows are, by
a query, however many there are; rows of PostgreSQL are copied to an embedded DuckDB first, which spills to disk what
does not fit in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol, cast

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.exact import Number, exact
from discreet.core.identifiers import hold_back, require_rows_of_people
from discreet.core.kind import Kind
from discreet.core.sql import kind_of
from discreet.core.table import Table
from discreet.core.text import meant
from discreet.engines.duckdb import DuckDB
from discreet.errors import BadInput, NotFound
from discreet.models.model import Model
from discreet.releases.method import Progress


@dataclass(frozen=True)
class Recoding:
    """A rewriting of the quasi-identifiers: by ``levels`` of their hierarchies, or by a ``mapping`` of tuples."""

    levels: Mapping[str, int] | None = None
    """The level of each quasi-identifier, where every value of a column is at one level."""
    dropped: pa.Table | None = None
    """With ``levels``: the labels of the classes that are suppressed, a column for each quasi-identifier; where people
    have several rows, the units of those who are suppressed."""
    mapping: pa.Table | None = None
    """Each distinct tuple of original values (columns named as the quasi-identifiers), its new labels (the same
    names with ``_new``) and whether it is ``kept``; see ``Names``."""
    suppressed: int = 0
    """Number of rows that are suppressed."""
    loss: float = 0.0
    """Loss by the quality measure that was asked for."""
    quality: Mapping[str, float] = field(default_factory=dict)
    """Figures for the report, by the name of the measure."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """For the recipe."""
    steps: tuple[str, ...] = ()
    """For the recipe, as sentences."""
    optimal: bool = False
    """Whether it is proved that no recoding of this kind loses less."""
    gap: float | None = None
    """Upper bound on what another recoding could lose less; ``None`` if unknown."""
    added: pa.Table | None = None
    """Dummy rows to append, with all released columns."""
    caveats: tuple[str, ...] = ()
    """Limits of the models' protection under this recoding, for the statement."""


@dataclass(frozen=True)
class Names:
    """Column names of a mapping, all different whatever the quasi-identifiers are called."""

    new: Mapping[str, str]
    """For each quasi-identifier the column of its new labels."""
    kept: str

    @classmethod
    def of(cls, quasi: Sequence[str]) -> Names:
        taken = list(quasi)
        new = {}
        for name in quasi:
            new[name] = unused_name(f"{name}_new", taken)
            taken.append(new[name])
        return cls(new, unused_name("kept", taken))


class Recoder(Protocol):
    """Interface of recoding methods: make a table satisfy privacy models."""

    @property
    def own_labels(self) -> bool:
        """Whether each class gets labels of its own, so that only the ``mapping`` says what became of whom."""

    def recode(self, table: Table, require: Sequence[Model], progress: Progress | None = None) -> Recoding:
        """The best recoding found for which all models hold; an error if there is none."""


def unused_name(name: str, taken: Iterable[str]) -> str:
    """``name`` with underscores appended until no taken name equals it, ignoring case as SQL does."""
    known = {one.casefold() for one in taken}
    while name.casefold() in known:
        name += "_"
    return name


def require_quasi(named: Iterable[str], quasi: Sequence[str]) -> None:
    """An error if a name is no quasi-identifier."""
    for name in named:
        if name not in quasi:
            raise NotFound(f"{name!r} is not a quasi-identifier{meant(name, quasi)}; these are {', '.join(quasi)}.")


def require_levels(name: str, given: object, levels: range | None, height: int) -> range:
    """The levels that were ``given`` for a column; an error if they are not among those it has."""
    if not levels or not 0 <= levels[0] <= levels[-1] <= height:
        raise BadInput(
            f"The levels of {name!r} go from 0 to {height}, got {given!r}.",
            hint=f"Use one level, or two (finest and coarsest), such as (0, {height}).",
        )
    return levels


def allowed_suppressions(suppress: Number, rows: int) -> int:
    """Number of ``rows`` that may be suppressed if a share of them may: exact, rounded down."""
    share = exact(suppress, "suppress")
    if share > Fraction(1):
        raise BadInput(f"suppress must be a share of the rows from 0 to 1, got {suppress}.", hint="For 5 % write 0.05.")
    return int(share * rows)


_PREFIX = "discreet_"


def recode_rows(table: Table, recoding: Recoding, beside: Sequence[str] = ()) -> Table:
    """The released rows: recoded, without suppressed rows, identifiers and unit, ordered by content.

    The order reveals nothing, because it depends only on what is in the rows themselves. Columns ``beside`` are added
    as they are (a dummy row has none): for the holder, who must know whose rows these are.
    """
    table = on_recoding_engine(table)
    columns = (*published_columns(table.card), *(table.card[name] for name in beside))
    names = [column.name for column in columns]
    labelled = Labelled.of(table, recoding, _PREFIX)
    shown_as = [
        sql.named(sql.column(labelled.labels[name].name), name) if name in labelled.labels else sql.column(name)
        for name in names
    ]
    rows = exp.select(*shown_as).from_(labelled.relation.subquery("r")).where(sql.column(labelled.kept))
    if recoding.added is not None and recoding.added.num_rows:
        added = recoding.added.column_names
        dummy = [sql.column(name) if name in added else sql.named(exp.null(), name) for name in names]
        more = exp.select(*dummy).from_(table.engine.lend(recoding.added).subquery("a"))
        rows = exp.select(*map(sql.column, names)).from_(exp.union(rows, more, distinct=False).subquery("u"))
    card = table.card.without_unit(labelled.column(column) for column in columns)
    return Table(card, table.engine, rows.order_by(*content_keys(names[: len(names) - len(beside)])))


def content_keys(names: Iterable[str]) -> list[exp.Ordered]:
    """Keys that order rows by what is in these columns."""
    return [exp.Ordered(this=sql.column(name), desc=False, nulls_first=False) for name in names]


def on_recoding_engine(table: Table) -> Table:
    """The table on an engine that can recode: its own, or an embedded DuckDB with a copy of its rows."""
    if table.engine.lends:
        return table
    engine = DuckDB()
    engine.load("rows", cast("pa.Table", table.stream()))  # DuckDB reads a stream as it reads a table
    return replace(table, engine=engine, relation=exp.select(*map(sql.column, table.columns)).from_(sql.table("rows")))


def with_row_numbers(rows: pa.RecordBatchReader, name: str) -> pa.RecordBatchReader:
    """Add the number of each row, from 0, in one more column."""

    def numbered() -> Iterator[pa.RecordBatch]:
        seen = 0
        for batch in rows:
            counted = pa.array(np.arange(seen, seen + batch.num_rows))
            seen += batch.num_rows
            yield pa.RecordBatch.from_arrays([*batch.columns, counted], schema=schema)

    schema = rows.schema.append(pa.field(name, pa.int64()))
    return pa.RecordBatchReader.from_batches(schema, numbered())


def require_table(table: object, verb: str) -> None:
    """An error for what is no table with its card."""
    if not isinstance(table, Table):
        raise BadInput(
            f"{verb} takes a table with its card, not a {type(table).__name__}.",
            hint="Open it first: dc.read(source, card).",
        )


def prepare(table: Table, named: set[str], *, quasi: bool) -> Table:
    """The table that a release is made of: rows of people, without undeclared identifiers, on an engine that recodes.

    ``named`` are columns that someone asked for by name, which are not held back.
    """
    require_rows_of_people(table)
    table = on_recoding_engine(hold_back(table, named, quasi=quasi))
    published_columns(table.card)
    return table


def published_columns(card: Card) -> tuple[Column, ...]:
    """The released columns: all but identifiers and the unit."""
    if card.unit is not None and card[card.unit].role is Role.QUASI:
        raise BadInput(
            f"{card.unit!r} cannot be both the unit and a quasi-identifier.",
            hint='Give it role = "identifier".',
        )
    found = tuple(c for c in card.columns if c.role is not Role.IDENTIFIER and c.name != card.unit)
    if not found:
        raise BadInput(f"Every column of {card.name} is an identifier: there is nothing to publish.")
    return found


@dataclass(frozen=True)
class Labelled:
    """A relation of all rows with the labels that a recoding gives them in additional columns."""

    relation: exp.Select
    labels: Mapping[str, Column]
    """For each quasi-identifier the column its labels are in."""
    kept: str
    """The column that says whether a row is released."""

    @classmethod
    def of(cls, table: Table, recoding: Recoding, prefix: str) -> Labelled:
        """The columns of ``table``, and those of the labels under names that begin with ``prefix`` (and underscores,
        if one of the table's own does)."""
        while any(name.casefold().startswith(prefix) for name in table.columns):
            prefix += "_"
        if recoding.levels is not None:
            return _by_levels(table, recoding, prefix)
        if recoding.mapping is not None:
            return _by_mapping(table, recoding.mapping, prefix)
        raise BadInput("A recoding needs levels, or a mapping of values to labels.")

    def column(self, column: Column) -> Column:
        """A column as it is on the card of the release: one whose values became labels is text."""
        label = self.labels.get(column.name)
        if label is None or replace(label, name=column.name, role=column.role) == column:
            return column
        return Column(column.name, label.kind, column.role, note=column.note)


def _by_levels(table: Table, recoding: Recoding, prefix: str) -> Labelled:
    levels = {name: (recoding.levels or {})[name] for name in table.quasi()}
    copies = {
        name: replace(table.card[name], name=f"{prefix}{place}", role=Role.OTHER) for place, name in enumerate(levels)
    }
    beside = [sql.named(sql.column(name), copy.name) for name, copy in copies.items()]
    doubled = Table(
        replace(table.card, columns=(*table.card.columns, *copies.values())),
        table.engine,
        table.query(*map(sql.column, table.columns), *beside),
    )
    coarse = doubled.generalize({copies[name].name: level for name, level in levels.items()})
    labels = {name: coarse.card[copy.name] for name, copy in copies.items()}
    kept, names = prefix + "kept", list(coarse.columns)
    if recoding.dropped is None or not recoding.dropped.num_rows:
        every = exp.select(*map(sql.column, names), sql.named(exp.true(), kept))
        return Labelled(every.from_(coarse.relation.subquery("t")), labels, kept)
    whole = recoding.dropped.column_names == [table.card.unit]  # people, whatever their rows are
    keys = {str(table.card.unit): str(table.card.unit)} if whole else {n: one.name for n, one in labels.items()}
    dropped = _with_key_names(recoding.dropped.select(list(keys))).append_column(
        "gone", pa.array([True] * recoding.dropped.num_rows)
    )
    stays = sql.named(exp.column("gone", table="m").is_(exp.null()), kept)
    return Labelled(_join_labels(coarse, keys.values(), dropped, [stays]), labels, kept)


def _by_mapping(table: Table, mapping: pa.Table, prefix: str) -> Labelled:
    names = table.quasi()
    called = Names.of(names)
    given = _with_key_names(mapping.select(list(names)))
    labels, beside = {}, []
    for place, name in enumerate(names):
        cells, label = mapping.column(called.new[name]), f"{prefix}{place}"
        given = given.append_column(f"v{place}", cells)
        beside.append(sql.named(exp.column(f"v{place}", table="m"), label))
        changed = cells.type != mapping.column(name).type
        kind = kind_of(cells.type) or Kind.TEXT
        labels[name] = Column(label, kind) if changed else replace(table.card[name], name=label)
    kept = prefix + "kept"
    stays = exp.Coalesce(this=exp.column("kept", table="m"), expressions=[exp.false()])
    given = given.append_column("kept", mapping.column(called.kept))
    return Labelled(_join_labels(table, names, given, [*beside, sql.named(stays, kept)]), labels, kept)


def _join_labels(table: Table, keys: Iterable[str], given: pa.Table, beside: Iterable[exp.Expr]) -> exp.Select:
    """All rows, joined with the columns ``beside`` of ``given``, whose k0, k1, … equal the keys, NULL included."""
    same = [
        exp.NullSafeEQ(this=exp.column(name, table="t", quoted=True), expression=exp.column(f"k{place}", table="m"))
        for place, name in enumerate(keys)
    ]
    columns = [sql.named(exp.column(name, table="t", quoted=True), name) for name in table.columns]
    rows = exp.select(*columns, *beside).from_(table.relation.subquery("t", copy=True))
    return rows.join(table.engine.lend(given).subquery("m"), on=exp.and_(*same), join_type="left")


def _with_key_names(table: pa.Table) -> pa.Table:
    """Rename the columns to k0, k1, …, so that no name of the rows is met twice."""
    return table.rename_columns([f"k{place}" for place in range(table.num_columns)])
