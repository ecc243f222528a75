"""Masking a row at a time: in memory, from a stream that is never held, or on Spark's workers.

Rows go in blocks, each with random numbers of its own, so that in memory and from a stream the same seed gives the same
rows. On Spark a block is a batch of a partition: the same seed gives the same rows as long as Spark divides them alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.optional import extra
from discreet.core.sql import canonical
from discreet.core.table import Table
from discreet.noise.masking import Draws
from discreet.verbs.publish.mask.bounds import Limits, limits_of, within
from discreet.verbs.publish.masking import Masked, Plan, RecordMasker
from discreet.verbs.publish.recode import published_columns

BLOCK = 1 << 16
"""Rows that share their random numbers' source."""


def mask_rows(masker: RecordMasker, table: Table, seed: int | None) -> Masked:
    """All rows at once: what ``mask`` of a record-wise masker does."""
    plan = masker.plan(table)
    rows = pa.Table.from_batches(_masked(masker, plan, table.payload().to_batches(), seed), schema=_schema(table))
    return Masked(rows, plan.parameters, plan.steps, plan.not_promised)


def stream(masker: RecordMasker, plan: Plan, table: Table, seed: int | None) -> pa.RecordBatchReader:
    """The rows, masked a block at a time and kept within the card's bounds, in the order they come in."""
    coming = table.engine.stream(_released(table))
    limits = limits_of(table.card, plan.parameters)
    made = (within(batch, limits) for batch in _masked(masker, plan, coming, seed))
    return pa.RecordBatchReader.from_batches(_schema(table), made)


def on_workers(masker: RecordMasker, plan: Plan, table: Table, seed: int | None) -> exp.Select:
    """The query that shows the rows masked by Spark's workers, which need discreet installed as they need pyarrow."""
    limits = limits_of(table.card, plan.parameters)
    return table.engine.mapped(_released(table), _worker(masker, plan.state, Draws.of(seed), _schema(table), limits))


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
            made = within(masker.batch(state, plain, draws.at(*key)), limits)
            back = [c.cast(f.type) for c, f in zip(made.columns, batch.schema, strict=True)]
            yield pa.RecordBatch.from_arrays(back, schema=batch.schema)

    return work


def _masked(
    masker: RecordMasker, plan: Plan, batches: Iterable[pa.RecordBatch], seed: int | None
) -> Iterator[pa.RecordBatch]:
    draws = Draws.of(seed)
    for number, block in enumerate(_blocks(batches)):
        yield masker.batch(plan.state, block, draws.at(number))


def _blocks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, ``BLOCK`` at a time, however they come."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        rest = batch
        while rows + rest.num_rows >= BLOCK:
            cut = BLOCK - rows
            yield _one([*held, rest.slice(0, cut)])
            held, rows, rest = [], 0, rest.slice(cut)
        if rest.num_rows:
            held.append(rest)
            rows += rest.num_rows
    if held:
        yield _one(held)


def _one(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(parts) == 1:
        return parts[0]
    return pa.Table.from_batches(parts).combine_chunks().to_batches()[0]


def _released(table: Table) -> exp.Select:
    return table.query(*(sql.column(column.name) for column in published_columns(table.card)))


def _schema(table: Table) -> pa.Schema:
    return canonical(table.engine.schema(_released(table)))


def swapped_in(rows: pa.RecordBatch, name: str, cells: Any) -> pa.RecordBatch:
    """The same rows with other cells in one column."""
    columns = [cells if field.name == name else rows.column(i) for i, field in enumerate(rows.schema)]
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)
