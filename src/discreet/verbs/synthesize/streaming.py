"""Synthetic rows drawn a block at a time: row by row, or for units with several rows; in memory or in a file.

Nothing here but ``units_of`` looks at the data, so it costs no privacy.

Units with several rows have two models. The model of people has a row for each unit: what is the same in all of its
rows, and how many it has. The model of rows has all columns. A synthetic person is drawn from the first; its rows are
those of the second that have the person's codes. What rows of one person have in common beyond that is not modelled.

Why this is private: a unit's row in the table of people follows from its own rows alone, so adding or removing a unit
changes the counts of people by one, and those of rows by up to r. Each model has half of the allowance, of which the
meter keeps account. Drawing and matching look at what was drawn alone: they lose nothing more.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import prod
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.release import Rows
from discreet.core.release_extras import SYNTHETIC
from discreet.core.table import Table
from discreet.noise.masking import Generator
from discreet.releases.method import rows_per_unit
from discreet.verbs.publish.recoding import unused_name
from discreet.verbs.synthesize.domain import Domain
from discreet.verbs.synthesize.graph.model import Model
from discreet.verbs.synthesize.structural_zeros import Impossible

HELD = 1 << 21
"""Largest number of rows held in memory; more are written to a file."""
_BLOCK = 1 << 18
_TRIES = 32
"""Attempts to draw other values for the same codes of a model."""
_ROUNDS = 4
"""Attempts to draw whole rows again."""
_MOST_CELLS = 1 << 24
"""Cells that are counted, in all."""
Codes: TypeAlias = NDArray[np.integer]
Drawn: TypeAlias = tuple[Codes, pa.Table]


@dataclass(frozen=True)
class Source:
    """A fitted model to draw rows from."""

    model: Model
    domain: Domain
    """The codes of the model."""
    fine: Domain
    """The codes before any were merged."""
    impossible: Impossible

    def drawn(self, rows: int, rng: Generator) -> Iterator[Drawn]:
        """Blocks of rows, as fine codes and as values.

        Of rows that cannot be, other values with the same codes of the model are drawn: what the model says of its
        codes was measured, and stays. Where there seem to be none, the whole row is drawn again; if that does not help
        either, it is left out.
        """
        for block in self.model.blocks(rows, rng, _BLOCK):
            found, left = list[Drawn](), cast("Codes", block)
            for round_ in range(_ROUNDS):
                if round_ and len(left):
                    left = self.model.sample(len(left), rng)
                for _ in range(_TRIES):
                    if len(left):
                        drawn, left = self._draw_possible(left, rng)
                        found.append(drawn)
            yield np.concatenate([codes for codes, _ in found]), pa.concat_tables([values for _, values in found])

    def _draw_possible(self, block: Codes, rng: Generator) -> tuple[Drawn, Codes]:
        """Values for rows of the model's codes: those that can be, and the codes of those that cannot."""
        codes = self.domain.refined(block, rng)
        values = self.fine.decoded(codes, rng)
        wrong = np.zeros(len(codes), np.bool_)
        wrong[self.impossible.met(values)] = True
        if not wrong.any():
            return (codes, values), block[:0]
        return (codes[~wrong], values.filter(pa.array(~wrong))), block[wrong]


@dataclass
class Tally:
    """Counts of drawn codes and pairs of codes."""

    domain: Domain
    rows: int = 0
    counts: dict[tuple[int, ...], NDArray[np.int64]] = field(init=False)

    def __post_init__(self) -> None:
        sizes = self.domain.sizes
        self.counts = {
            columns: np.zeros([sizes[place] for place in columns], np.int64) for columns in tallied_columns(self.domain)
        }

    def add(self, codes: Codes) -> None:
        """Count some more."""
        self.rows += len(codes)
        wide = codes.astype(np.int64, order="F")
        for columns, counts in self.counts.items():
            at = np.ravel_multi_index(tuple(wide[:, place] for place in columns), counts.shape)
            self.counts[columns] += np.bincount(at, minlength=counts.size).reshape(counts.shape)


def tallied_columns(domain: Domain) -> list[tuple[int, ...]]:
    """The columns, and pairs of columns, that are counted: the smallest first, as long as there is room."""
    room, found = _MOST_CELLS, list[tuple[int, ...]]()
    wanted = [one for k in (1, 2) for one in combinations(range(len(domain.sizes)), k)]
    for columns in sorted(wanted, key=lambda one: prod(domain.sizes[place] for place in one)):
        room -= prod(domain.sizes[place] for place in columns)
        if room >= 0:
            found.append(columns)
    return sorted(found, key=wanted.index)


@contextmanager
def write_blocks(
    blocks: Iterable[Drawn], schema: pa.Schema, tally: Tally, expected: int
) -> Iterator[Callable[[Mapping[str, object]], pa.Table | Rows]]:
    """Draw and count all blocks; the function given attaches metadata to the rows and returns them.

    Of many rows no more than a block is in memory: they go to a file, which moves where its release is saved. Where
    the block under ``with`` fails, the file is gone.
    """
    if expected <= HELD:
        held = [values for codes, values in _tally_blocks(blocks, tally)]
        rows = pa.concat_tables([schema.empty_table(), *held]).combine_chunks()
        yield lambda about: rows.replace_schema_metadata({SYNTHETIC: json.dumps(about)})
        return
    with ExitStack() as undo:
        handle, name = tempfile.mkstemp(prefix="discreet-", suffix=".parquet")
        undo.callback(Path(name).unlink)
        os.close(handle)
        writer = pq.ParquetWriter(name, schema, compression="zstd")
        undo.callback(writer.close)
        for _, values in _tally_blocks(blocks, tally):
            writer.write_table(values)

        def finished(about: Mapping[str, object]) -> Rows:
            writer.add_key_value_metadata({SYNTHETIC: json.dumps(about)})
            writer.close()
            return Rows(Path(name))

        yield finished
        undo.pop_all()


def _tally_blocks(blocks: Iterable[Drawn], tally: Tally) -> Iterator[Drawn]:
    for codes, values in blocks:
        tally.add(codes)
        yield codes, values


_MATCHING_ROUNDS = 12
"""Attempts to find rows with a person's codes."""
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
        found, others = self._matching_rows(_flat_codes(codes[whose, :-1], sizes), places, sizes, rng)
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

    def _matching_rows(
        self, wanted: NDArray[np.int64], places: Sequence[int], sizes: Sequence[int], rng: Generator
    ) -> tuple[NDArray[np.int64], pa.Table]:
        """For each person's codes a row with the same ones; where none turns up, any row."""
        left = np.arange(len(wanted))
        order, codes, values = [left[:0]], [np.empty((0, len(self.rows.fine.sizes)), np.int64)], []
        for round_ in range(_MATCHING_ROUNDS):
            for drawn, table in self.rows.drawn(_MORE * len(left), rng) if len(left) else ():
                wants, has = _pairs(wanted[left], _flat_codes(drawn[:, places].astype(np.int64), sizes))
                if round_ == _MATCHING_ROUNDS - 1:
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
        wanted * many + _occurrence_numbers(wanted),
        there * many + _occurrence_numbers(there),
        assume_unique=True,
        return_indices=True,
    )
    return one, other


def _occurrence_numbers(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of earlier occurrences of each number."""
    order = np.argsort(numbers, kind="stable")
    ranked = np.arange(len(numbers)) - np.searchsorted(numbers[order], numbers[order])
    found = np.empty(len(numbers), np.int64)
    found[order] = ranked
    return found


def _flat_codes(codes: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.int64]:
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
