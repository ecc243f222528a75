"""Interface of masking methods, and masking a row at a time: in memory, from a stream, or on Spark's workers.

Masking changes values, so that a row no longer is its person's, and keeps what analysts need. No method promises
anything by itself: how much an intruder still learns is measured (see ``attack/``), with all that the recipe says in
the intruder's hands (Kerckhoffs). What a method does *not* do is therefore part of what it returns.

Record-wise methods see rows in blocks, each with random numbers of its own, so that in memory and from a stream the
same seed gives the same rows. On Spark a block is a batch of a partition: the same seed gives the same rows as long as
Spark divides them alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.optional import extra
from discreet.core.sql import canonical
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.noise.masking import Draws, Generator
from discreet.verbs.publish.mask.values import Array, Limits, clamp_to_bounds, limits_of, round_at_random, write_numbers
from discreet.verbs.publish.recoding import published_columns

BLOCK = 1 << 16
"""Rows of a block, which share the source of their random numbers."""


@dataclass(frozen=True)
class Masked:
    """The masked rows, in the original's row order, and what the recipe says of them."""

    rows: pa.Table
    """All columns that will be released: no identifiers, no unit."""
    parameters: Mapping[str, Any]
    """For the recipe: everything an attacker may know. Method, parameters, columns, declared moments."""
    steps: tuple[str, ...]
    """For the recipe, as sentences."""
    not_promised: tuple[str, ...]
    """Limits of the protection, as sentences."""


@runtime_checkable
class Masker(Protocol):
    """Interface of masking methods: change values so that rows are no longer those of people."""

    name: ClassVar[str]
    """The recipe's method, and what the command line calls it."""

    def mask(self, table: Table, seed: int | None = None) -> Masked:
        """The rows of ``table``, masked; the same ones for the same seed."""


@dataclass(frozen=True)
class MaskingPlan:
    """Parameters of a record-wise method, computed from aggregates before any row is masked."""

    state: Any
    """Parameters for every row. They travel to Spark's workers: plain data and arrays."""
    parameters: Mapping[str, Any]
    steps: tuple[str, ...]
    not_promised: tuple[str, ...]


@runtime_checkable
class RecordMasker(Masker, Protocol):
    """Interface of record-wise methods, which see one row at a time: tables larger than memory stream through them."""

    def plan(self, table: Table) -> MaskingPlan:
        """The parameters that rows are masked by: aggregates on the engine, never rows."""

    def batch(self, state: Any, rows: pa.RecordBatch, rng: Generator) -> pa.RecordBatch:
        """Some rows (released columns only), masked."""


def columns_to_mask(card: Card, columns: Sequence[str], kinds: AbstractSet[Kind], method: str) -> tuple[str, ...]:
    """The columns to mask: those named, or else all quasi-identifiers of a kind the method can mask."""
    can = f"{method} masks {', '.join(kind.value for kind in Kind if kind in kinds)} columns"
    if not columns:
        found = tuple(c.name for c in card.having(Role.QUASI) if c.kind in kinds and c.name != card.unit)
        if not found:
            raise BadInput(
                f"{can}, and the card of {card.name} has no such quasi-identifier.", hint="Name the columns to mask."
            )
        return found
    require_names(columns)
    for name in columns:
        require_released(card, card[name])
        if card[name].kind not in kinds:
            raise BadInput(f"{can}; {name!r} is {card[name].kind.value}.", hint="Leave it out, or use another method.")
    return tuple(columns)


def require_names(columns: Sequence[str]) -> None:
    """An error unless columns are a list of different names."""
    if isinstance(columns, str):
        raise BadInput(f"Columns must be a list of names, not the text {columns!r}.", hint=f"Write [{columns!r}].")
    if len(set(columns)) < len(columns):
        raise BadInput(f"A column is named twice: {', '.join(columns)}.")


def require_released(card: Card, column: Column) -> None:
    """An error for a column that is never released."""
    if column.role is Role.IDENTIFIER or column.name == card.unit:
        raise BadInput(f"{column.name!r} is not released, so it cannot be masked.", hint="Leave it out.")


def require_given(card: Card, given: Sequence[str], masked: Sequence[str], what: str = "masked and given") -> None:
    """An error unless ``given`` are released columns that are not masked themselves."""
    for name in given:
        require_released(card, card[name])
        if name in masked:
            raise BadInput(f"{name!r} cannot be {what} at once.")


def mask_rows(masker: RecordMasker, table: Table, seed: int | None = None) -> Masked:
    """All rows at once: ``mask`` of a record-wise method."""
    plan = masker.plan(table)
    rows = pa.Table.from_batches(
        _mask_blocks(masker, plan, table.payload().to_batches(), seed), schema=_released_schema(table)
    )
    return Masked(rows, plan.parameters, plan.steps, plan.not_promised)


def stream(masker: RecordMasker, plan: MaskingPlan, table: Table, seed: int | None) -> pa.RecordBatchReader:
    """The rows, masked a block at a time and kept within the card's bounds, in the order they come in."""
    coming = table.engine.stream(_released_query(table))
    limits = limits_of(table.card, plan.parameters)
    made = (clamp_to_bounds(batch, limits) for batch in _mask_blocks(masker, plan, coming, seed))
    return pa.RecordBatchReader.from_batches(_released_schema(table), made)


def on_workers(masker: RecordMasker, plan: MaskingPlan, table: Table, seed: int | None) -> exp.Select:
    """The query that shows the rows masked by Spark's workers, which need discreet installed as they need pyarrow."""
    limits = limits_of(table.card, plan.parameters)
    return table.engine.mapped(
        _released_query(table), _worker(masker, plan.state, Draws.of(seed), _released_schema(table), limits)
    )


def with_numbers(rows: pa.RecordBatch, name: str, values: Array, there: Array, rng: Generator) -> pa.RecordBatch:
    """Replace the numbers of a column that are ``there``, rounded at random to its type."""
    cells = rows.column(name)
    return with_cells(rows, name, write_numbers(round_at_random(values, cells.type, rng), cells, there))


def with_cells(rows: pa.RecordBatch, name: str, cells: Any) -> pa.RecordBatch:
    """Replace the cells of one column."""
    columns = [cells if field.name == name else rows.column(i) for i, field in enumerate(rows.schema)]
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)


def _worker(
    masker: RecordMasker, state: Any, draws: Draws, schema: pa.Schema, limits: Limits
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with extra("spark"):
            from pyspark import TaskContext

        task = TaskContext.get()
        for number, batch in enumerate(batches):
            key = (task.partitionId() if task else 0, number)
            plain = pa.RecordBatch.from_arrays(
                [c.cast(f.type) for c, f in zip(batch.columns, schema, strict=True)], schema=schema
            )
            made = clamp_to_bounds(masker.batch(state, plain, draws.at(*key)), limits)
            back = [c.cast(f.type) for c, f in zip(made.columns, batch.schema, strict=True)]
            yield pa.RecordBatch.from_arrays(back, schema=batch.schema)

    return work


def _mask_blocks(
    masker: RecordMasker, plan: MaskingPlan, batches: Iterable[pa.RecordBatch], seed: int | None
) -> Iterator[pa.RecordBatch]:
    draws = Draws.of(seed)
    for number, block in enumerate(_blocks(batches)):
        yield masker.batch(plan.state, block, draws.at(number))


def _blocks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Cut rows into blocks of ``BLOCK``, however they come."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        rest = batch
        while rows + rest.num_rows >= BLOCK:
            cut = BLOCK - rows
            yield _concatenate([*held, rest.slice(0, cut)])
            held, rows, rest = [], 0, rest.slice(cut)
        if rest.num_rows:
            held.append(rest)
            rows += rest.num_rows
    if held:
        yield _concatenate(held)


def _concatenate(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    return parts[0] if len(parts) == 1 else pa.Table.from_batches(parts).combine_chunks().to_batches()[0]


def _released_query(table: Table) -> exp.Select:
    return table.query(*(sql.column(column.name) for column in published_columns(table.card)))


def _released_schema(table: Table) -> pa.Schema:
    return canonical(table.engine.schema(_released_query(table)))
