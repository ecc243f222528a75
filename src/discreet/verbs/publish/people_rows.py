"""Rows of people on an embedded engine: numbered, drawn, joined with another table of the same people, or linked.

Rows are copied to an embedded DuckDB, which spills to disk what does not fit in memory: each with its number, so that
the holder's copy says which row of the original a released row was. What is drawn or linked is stored, so that every
later query sees the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Column, Role
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.core.text import number as counted
from discreet.engines.duckdb import DuckDB
from discreet.errors import BadInput, DataError
from discreet.models.classes import require_people, told_apart
from discreet.noise.entropy import Entropy
from discreet.verbs.publish.recoding import content_keys, unused_name, with_row_numbers


def numbered_rows(table: Table) -> tuple[Table, str]:
    """A copy of the rows on an embedded engine, with an identifier that numbers them from 0; and its name."""
    if table.card.unit is None:
        raise BadInput(
            f"The card of {table.card.name} names no unit, so each row is a different person.",
            hint="Declare its unit, or leave people out.",
        )
    engine, name = DuckDB(), unused_name("row_number", table.columns)
    engine.load("rows", cast("pa.Table", with_row_numbers(table.stream(), name)))
    card = replace(table.card, columns=(*table.card.columns, Column(name, Kind.INTEGER, Role.IDENTIFIER)))
    columns = [sql.column(column.name) for column in card.columns]
    return replace(table, card=card, engine=engine, relation=exp.select(*columns).from_(sql.table("rows"))), name


def draw_rows(table: Table, number: str, most: int, entropy: Entropy) -> Table:
    """At most that many rows of each person, every choice of them equally likely, in the order they had."""
    unit = str(table.card.unit)
    found = table.engine.fetch(table.query(sql.column(unit), sql.column(number)))
    _, owner = told_apart(found.select([unit]), ordered=False)
    order = np.lexsort((entropy.words(len(owner)), owner))
    begins = np.flatnonzero(np.diff(owner[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    drawn = found.select([number]).take(np.sort(order[rank < most]))
    chosen = exp.In(this=sql.column(number), query=table.engine.lend(drawn).subquery())
    rows = exp.select(*map(sql.column, table.columns)).from_(table.relation.subquery("t")).where(chosen)
    card = replace(table.card, rows_per_unit=most, groups_per_unit=None)
    return replace(table, card=card, relation=rows.order_by(sql.column(number))).store(table.engine.new_name("drawn"))


def join_people(table: Table, other: Table, there: str) -> Table:
    """Join each row of ``table`` with the rows of ``other`` of the same person.

    A person of ``other`` who has no row in ``table`` gets one, in which the column ``there`` is false. So a person's
    rows are all that both tables tell of them.
    """
    unit, own = str(table.card.unit), str(other.card.unit)
    if other.card.unit is None:
        raise BadInput(f"The card of {other.card.name} names no unit to link it by.", hint="Declare its unit.")
    require_people(other)
    about = [column for column in other.card.columns if column.role is not Role.IDENTIFIER and column.name != own]
    if both := sorted({column.name for column in about} & set(table.columns)):
        raise BadInput(f"{table.card.name} and {other.card.name} both have a column {both[0]!r}.", hint="Rename one.")
    name, whose = table.engine.new_name("people"), exp.column(own, table="o", quoted=True)
    table.engine.load(name, cast("pa.Table", other.stream()))
    mine = [column for column in table.card.columns if column.name != unit]
    first = exp.column(unit, table="t", quoted=True)
    shown = [
        sql.named(whose.copy(), unit),
        *(sql.named(exp.column(column.name, table="o", quoted=True), column.name) for column in about),
        *(sql.named(exp.column(column.name, table="t", quoted=True), column.name) for column in mine),
        sql.named(first.copy().is_(exp.null()).not_(), there),
    ]
    here = exp.alias_(sql.table(name), "o", table=True)
    rows = exp.select(*shown).from_(here)
    rows = rows.join(table.relation.subquery("t"), on=first.eq(whose.copy()), join_type="left")
    people = exp.select(sql.column(own)).from_(sql.table(name)).subquery()
    orphans = table.query(sql.named(sql.count_rows(), "n")).where(
        exp.or_(sql.column(unit).is_(exp.null()), exp.not_(exp.In(this=sql.column(unit), query=people)))
    )
    if lost := int(table.engine.fetch(orphans).column(0)[0].as_py()):
        raise DataError(
            f"{counted(lost, 'row')} of {table.card.name} belong to a {unit} who is not in {other.card.name}.",
            hint="Both tables must have the same people: correct one of them.",
        )
    marker = Column(there, Kind.BOOLEAN, Role.QUASI)
    required = (replace(column, required=False) for column in mine)
    card = replace(table.card, columns=(table.card[unit], *about, *required, marker))
    return replace(table, card=card, relation=rows).store(table.engine.new_name("joined"))


def link_rows(rows: Table, unit: str, number: str, pseudonym: str, entropy: Entropy) -> Table:
    """The rows with a random number per person in place of the unit, ordered by that number and then by content."""
    if pseudonym.casefold() in {name.casefold() for name in rows.columns}:
        raise BadInput(f"There is already a column {pseudonym!r}.", hint="Name the pseudonym: linked as PSEUDONYM.")
    people = rows.histogram(unit).select([unit])
    drawn = np.argsort(entropy.words(people.num_rows), kind="stable") + 1
    key = people.rename_columns(["k"]).append_column("p", pa.array(drawn))
    columns = [column for column in rows.card.columns if column.name != unit]
    shown = [sql.named(exp.column(column.name, table="t", quoted=True), column.name) for column in columns]
    same = exp.column(unit, table="t", quoted=True).eq(exp.column("k", table="m"))
    joined = exp.select(sql.named(exp.column("p", table="m"), pseudonym), *shown).from_(rows.relation.subquery("t"))
    joined = joined.join(rows.engine.lend(key).subquery("m"), on=same)
    joined = joined.order_by(*content_keys([pseudonym, *(c.name for c in columns if c.name != number)]))
    linked = (Column(pseudonym, Kind.INTEGER, Role.IDENTIFIER), *columns)
    card = replace(rows.card, columns=linked, unit=pseudonym)
    return replace(rows, card=card, relation=joined).store(rows.engine.new_name("linked"))
