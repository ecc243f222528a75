"""Figures of a table as facts: which rows each cell adds up, and within which interval its value is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Role
from discreet.core.programs import Numbers
from discreet.errors import DataError
from discreet.releases.facts import Choice, FactSide, Figures
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension
from discreet.verbs.tabulate.tables.gather import Measure
from discreet.verbs.tabulate.tables.sides import Side, side


def table_figures(
    what: Measure,
    table: CrossTable,
    by: Sequence[str],
    known: tuple[Numbers, Numbers],
    choice: Choice,
    *,
    value: str | None,
    share: Fraction | None,
    declared: bool = False,
) -> Figures:
    """The cells of ``table``, made ``by`` columns, of whose values everyone knows the least and the most.

    If the rows were chosen by what not everyone knows, that someone is among them is told, too. Codes are those that
    occur, so that a code tells that someone has it, unless they are ``declared``, and a code that is not there that
    no one does.
    """
    sides = [side(what.rows, asked) for asked in by]
    for one, dimension in zip(sides, table.dimensions, strict=True):
        if not set(one.dimension.codes) <= set(dimension.codes):
            raise DataError("The table changed while it was summed.", hint="Try again.")
    codes = np.stack(np.unravel_index(np.arange(table.size), table.shape), 1)
    found = [_fact_side(one, dimension) for one, dimension in zip(sides, table.dimensions, strict=True)]
    low, high = (one.astype(np.float64) for one in known)
    if value is None and not declared:
        for n, (side_, dimension) in enumerate(zip(found, table.dimensions, strict=True)):
            if side_.tells or choice.condition is not None:
                totals = np.delete(codes, n, axis=1).sum(axis=1) == 0  # over all other sides
                low = np.where(totals & np.isin(codes[:, n], dimension.leaves), np.maximum(low, 1.0), low)
    more = choice.condition is not None or (value is not None and what.rows.count() < choice.rows.count())
    if more:  # anyone who was not chosen, or has no amount, adds nothing: that is told, too
        found = list(map(_with_rest, found))
        rest, whole = ([len(side_.covers) - last for side_ in found] for last in (2, 1))
        nobody = np.array([[*whole[:n], rest[n], *whole[n + 1 :]] for n in range(len(found))], np.int64)
        codes = np.concatenate([codes, nobody])
        low, high = (np.concatenate([one, np.zeros(len(nobody))]) for one in (low, high))
    if choice.condition is not None:
        found.append(choice.side)
        codes = np.concatenate([codes, np.zeros((len(codes), 1), np.int64)], axis=1)
    return Figures(
        choice.rows if more else what.rows,
        tuple(found),
        codes,
        low,
        high,
        measure=value or "",
        decimals=table.decimals,
        amount=exp.Coalesce(this=what.value.copy(), expressions=[sql.literal(0)]) if value is not None else None,
        nonnegative=not what.negative and not (value and what.rows.card[value].may_be_negative),
        share=share,
    )


def _with_rest(side: FactSide) -> FactSide:
    """A side with a leaf for rows that add nothing and have a code that is not in the table, a code for it, and one for
    all leaves."""

    def find(columns: Sequence[Any]) -> Numbers:
        leaf = side.find(columns)
        return np.where(leaf < 0, side.leaves, leaf)

    covers = (*side.covers, np.array([side.leaves]), np.arange(side.leaves + 1))
    return replace(side, find=find, leaves=side.leaves + 1, covers=covers)


def _fact_side(found: Side, dimension: Dimension) -> FactSide:
    """A side of the table: what is not a quasi-identifier is what it tells."""
    level = found.levels[0]
    assert level is not None  # noqa: S101  # the finest level comes first
    leaves = {int(place): number for number, place in enumerate(dimension.leaves)}
    below: list[list[int]] = [[] for _ in dimension.codes]
    for place in range(len(dimension) - 1, -1, -1):
        if place in leaves:
            below[place].append(leaves[place])
        if place:
            below[dimension.parents[place]] += below[place]

    def find(columns: Sequence[pa.ChunkedArray[Any]]) -> Numbers:
        places = found.find(level, columns[0])
        codes = np.array([leaves.get(dimension.places[code], -1) for code in found.dimension.codes])
        return np.where(places >= 0, codes[places], -1)

    told = () if found.column.role is Role.QUASI else (found.column.name,)
    covers = tuple(np.array(sorted(one), np.int64) for one in below)
    return FactSide(dimension.name, told, (found.at(level),), find, len(leaves), covers)
