"""Units with several rows: a model of people, a model of rows, and rows drawn for each person.

The model of people has a row for each unit: what is the same in all of its rows, and how many it has. The model of rows
has all columns. A synthetic person is drawn from the first; its rows are those of the second that have the person's
codes. What rows of one person have in common beyond that is not modelled.

Why this is private: a unit's row in the table of people follows from its own rows alone, so adding or removing a unit
changes the counts of people by one, and those of rows by up to r. Each model has half of the allowance, of which the
meter keeps account. Drawing and matching look at what was drawn alone: they lose nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.budget.dp_statement import rows_per_unit
from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.noise.masking import Generator
from discreet.verbs.publish.recoding import unused_name
from discreet.verbs.synthesize.streaming import Drawn, Source

_ROUNDS = 12
_MORE = 4
"""Rows drawn for each that is looked for."""


def card_of_units(card: Card, person: Sequence[str]) -> Card:
    """The card of a table with a row for each unit."""
    many = Column(_many(card), Kind.INTEGER, bounds=(1, rows_per_unit(card)), required=True)
    if rows_per_unit(card) == 1:
        many = Column(_many(card), Kind.INTEGER, categories=(1,), required=True)
    return replace(card.without_unit((*(card[name] for name in person), many)), impossible=card.impossible)


def units_of(table: Table, person: Sequence[str]) -> Table:
    """A row for each unit. What should be the same in all of its rows, and is not, is the least of it: whatever the
    rows are, it follows from the unit's own."""
    card = card_of_units(table.card, person)
    shown = [sql.named(_least(card[name]), name) for name in person]
    counted = sql.named(exp.cast(sql.count_rows(), exp.DType.BIGINT), card.columns[-1].name)
    rows = table.query(*shown, counted).group_by(sql.column(str(table.card.unit)))
    return Table(card, table.engine, rows)


@dataclass(frozen=True)
class Households:
    """Models that people and their rows are drawn from."""

    people: Source
    rows: Source
    unit: str

    @property
    def expected(self) -> int:
        """About how many rows there will be."""
        return round(self.rows.model.total)

    def drawn(self, people: int, rng: Generator) -> Iterator[Drawn]:
        """Rows of this many people, numbered by person in the first column; impossible ones are left out.

        A block has the rows of a block of people.
        """
        before = 0
        for codes, values in self.people.drawn(people, rng):
            yield self._block(codes.astype(np.int64), values, before, rng)
            before += len(codes)

    def _block(self, codes: NDArray[np.int64], values: pa.Table, before: int, rng: Generator) -> Drawn:
        """The rows of some people, numbered from ``before`` on."""
        person = self.people.fine.names[:-1]
        whose = np.repeat(np.arange(len(codes)), values.column(len(person)).to_numpy())
        places = [self.rows.fine.names.index(name) for name in person]
        sizes = [self.rows.fine.sizes[place] for place in places]
        found, others = self._matching(_numbered(codes[whose, :-1], sizes), places, sizes, rng)
        found[:, places] = codes[whose, :-1]
        columns = [
            values.column(name).take(whose) if name in person else others.column(name) for name in self.rows.fine.names
        ]
        number = pa.chunked_array([pa.array(before + whose + 1, pa.int64())])
        made = pa.Table.from_arrays([number, *columns], schema=self.schema)
        kept = np.ones(len(whose), np.bool_)
        kept[self.rows.impossible.met(made)] = False  # a person's own value may be another of the same code
        return found[kept], made.filter(pa.array(kept))

    @property
    def schema(self) -> pa.Schema:
        """The Arrow types of what is drawn: the person's number, and what the rows have."""
        return pa.schema([(self.unit, pa.int64()), *self.rows.fine.schema])

    def _matching(
        self, wanted: NDArray[np.int64], places: Sequence[int], sizes: Sequence[int], rng: Generator
    ) -> tuple[NDArray[np.int64], pa.Table]:
        """For each person's codes a row with the same ones; where none turns up, any row."""
        left = np.arange(len(wanted))
        order, codes, values = [left[:0]], [np.empty((0, len(self.rows.fine.sizes)), np.int64)], []
        for round_ in range(_ROUNDS):
            for drawn, table in self.rows.drawn(_MORE * len(left), rng) if len(left) else ():
                wants, has = _pairs(wanted[left], _numbered(drawn[:, places].astype(np.int64), sizes))
                if round_ == _ROUNDS - 1:
                    wants = has = np.arange(min(len(left), len(drawn)))
                order.append(left[wants])
                codes.append(drawn[has].astype(np.int64))
                values.append(table.take(has))
                left = np.delete(left, wants)
        back = np.argsort(np.concatenate(order), kind="stable")
        every = pa.concat_tables([self.rows.fine.schema.empty_table(), *values])
        return np.concatenate(codes)[back], every.take(back)


def _pairs(wanted: NDArray[np.int64], there: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of equal numbers in both, each place once."""
    many = max(len(wanted), len(there), 1)
    _, one, other = np.intersect1d(
        wanted * many + _again(wanted), there * many + _again(there), assume_unique=True, return_indices=True
    )
    return one, other


def _again(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of earlier occurrences of each number."""
    order = np.argsort(numbers, kind="stable")
    ranked = np.arange(len(numbers)) - np.searchsorted(numbers[order], numbers[order])
    found = np.empty(len(numbers), np.int64)
    found[order] = ranked
    return found


def _numbered(codes: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.ravel_multi_index(tuple(codes.T), tuple(sizes)) if len(sizes) else np.zeros(len(codes), np.int64)


def _least(column: Column) -> exp.Expr:
    value = sql.column(column.name)
    if column.kind is not Kind.BOOLEAN:
        return exp.Min(this=value)
    number = exp.case().when(value, sql.literal(1)).when(exp.not_(value), sql.literal(0))
    return exp.EQ(this=exp.Min(this=number), expression=sql.literal(1))


def _many(card: Card) -> str:
    """Name of the column for the number of a unit's rows."""
    return unused_name("rows", [column.name for column in card.columns])
