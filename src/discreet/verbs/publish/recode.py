"""Rows as a recoding leaves them, by a query on their engine: nothing is held here, however many there are.

A recoding says what becomes of each combination of quasi-identifiers. DuckDB and Spark carry it out where the rows
lie; rows of PostgreSQL are brought to an embedded DuckDB first, which spills to disk what does not fit in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.sql import kind_of
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.errors import BadInput
from discreet.verbs.publish.recoding import Names, Recoding

_PREFIX = "discreet_"


def recoded(table: Table, recoding: Recoding) -> Table:
    """What of ``table`` may leave: recoded, without suppressed rows, identifiers and unit, ordered by content.

    The order tells nothing, because it hangs on nothing but what is in the rows themselves.
    """
    table = at_hand(table)
    columns = published_columns(table.card)
    names = [column.name for column in columns]
    labelled = Labelled.of(table, recoding, _PREFIX)
    shown_as = [
        sql.named(sql.column(labelled.labels[name].name), name) if name in labelled.labels else sql.column(name)
        for name in names
    ]
    rows = exp.select(*shown_as).from_(labelled.relation.subquery("r")).where(sql.column(labelled.kept))
    if recoding.added is not None and recoding.added.num_rows:
        more = exp.select(*map(sql.column, names)).from_(shown(table.engine, recoding.added).subquery("a"))
        rows = exp.select(*map(sql.column, names)).from_(exp.union(rows, more, distinct=False).subquery("u"))
    order = [exp.Ordered(this=sql.column(name), desc=False, nulls_first=False) for name in names]
    card = table.card.without_unit(labelled.column(column) for column in columns)
    return Table(card, table.engine, rows.order_by(*order))


def at_hand(table: Table) -> Table:
    """The table on an engine that can recode: its own, or an embedded DuckDB with a copy of its rows."""
    if table.engine.lends:
        return table
    engine = DuckDB()
    engine.load("rows", cast("pa.Table", table.stream()))  # DuckDB reads a stream as it reads a table
    return replace(table, engine=engine, relation=exp.select(*map(sql.column, table.columns)).from_(sql.table("rows")))


def published_columns(card: Card) -> tuple[Column, ...]:
    """The columns that leave: all but identifiers and the unit."""
    if card.unit is not None and card[card.unit].role is Role.QUASI:
        raise BadInput(
            f"{card.unit!r} is the unit and a quasi-identifier at once: it cannot stay and leave.",
            hint='Give it role = "identifier".',
        )
    found = tuple(c for c in card.columns if c.role is not Role.IDENTIFIER and c.name != card.unit)
    if not found:
        raise BadInput(f"Every column of {card.name} is an identifier: there is nothing to publish.")
    return found


@dataclass(frozen=True)
class Labelled:
    """All rows, with the labels that a recoding gives them beside what they hold."""

    relation: exp.Select
    labels: Mapping[str, Column]
    """For each quasi-identifier the column its labels are in."""
    kept: str
    """The column that says whether a row leaves."""

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
        raise BadInput("A recoding has levels, or a mapping of values to labels; this one has neither.")

    def column(self, column: Column) -> Column:
        """A column as it is on the card of what leaves: one whose values became labels is text."""
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
    dropped = _numbered(recoding.dropped.select(list(levels))).append_column(
        "gone", pa.array([True] * recoding.dropped.num_rows)
    )
    stays = sql.named(exp.column("gone", table="m").is_(exp.null()), kept)
    keys = [label.name for label in labels.values()]
    return Labelled(_joined(coarse, keys, dropped, [stays]), labels, kept)


def _by_mapping(table: Table, mapping: pa.Table, prefix: str) -> Labelled:
    names = table.quasi()
    called = Names.of(names)
    given = _numbered(mapping.select(list(names)))
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
    return Labelled(_joined(table, names, given, [*beside, sql.named(stays, kept)]), labels, kept)


def _joined(table: Table, keys: Iterable[str], given: pa.Table, beside: Iterable[exp.Expr]) -> exp.Select:
    """All rows, and what is ``beside`` them in ``given``, whose columns k0, k1, … equal the keys, NULL included."""
    same = [
        exp.NullSafeEQ(this=exp.column(name, table="t", quoted=True), expression=exp.column(f"k{place}", table="m"))
        for place, name in enumerate(keys)
    ]
    columns = [sql.named(exp.column(name, table="t", quoted=True), name) for name in table.columns]
    rows = exp.select(*columns, *beside).from_(table.relation.subquery("t", copy=True))
    return rows.join(shown(table.engine, given).subquery("m"), on=exp.and_(*same), join_type="left")


def _numbered(table: pa.Table) -> pa.Table:
    """The same columns as k0, k1, …, so that no name of the rows is met twice."""
    return table.rename_columns([f"k{place}" for place in range(table.num_columns)])


def shown(engine: Engine, data: pa.Table) -> exp.Select:
    """The query that shows ``data`` on ``engine``, for as long as the engine is open."""
    return engine.lend(data)
