"""Rows that were made and cannot be, by what the card calls impossible: they are made again.

A table is made anew as a whole, and of the rows that cannot be, those at the same places are taken: what is kept stays
with its row, and copies stay apart. A synthesizer does not know the conditions, so its rows are those it would make if
others did not come up. What remains wrong is left out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from discreet.core.table import Table
from discreet.core.text import number
from discreet.noise.masking import Draws
from discreet.verbs.publish.mask.bounds import limits_of, within
from discreet.verbs.publish.mask.values import Array
from discreet.verbs.synthesize.non_private.synthesizer import Synthesizer, Synthetic
from discreet.verbs.synthesize.zeros import Impossible

_AGAIN = 6


def possible(table: Table, synthesizer: Synthesizer, seed: int | None) -> Synthetic:
    """Rows within their bounds, none of which the card calls impossible."""
    made = _bounded(table, synthesizer, seed)
    impossible = Impossible.among(table.card, made.rows.schema)
    rows, wrong = made.rows, impossible.met(made.rows)
    first, seeds = len(wrong), Draws.of(seed)
    for again in range(1, _AGAIN + 1):
        if not len(wrong):
            break
        other = _bounded(table, synthesizer, int(seeds.at(again).integers(2**63))).rows
        if other.num_rows != rows.num_rows:
            break
        rows = _exchanged(rows, other, wrong)
        wrong = impossible.met(rows)
    kept = np.ones(rows.num_rows, np.bool_)
    kept[wrong] = False
    steps = list(made.steps)
    if first:
        said = f"{number(first, 'row')} that the card calls impossible {'was' if first == 1 else 'were'} made again"
        never = f"; {len(wrong):,} of them, which would not come out otherwise, were left out" if len(wrong) else ""
        steps.append(f"{said}{never}.")
    left_out = [f"What the card calls impossible is not kept to: {text}." for text in impossible.left_out]
    return replace(
        made,
        rows=rows if kept.all() else rows.filter(pa.array(kept)),
        steps=tuple(steps),
        not_promised=(*made.not_promised, *left_out),
    )


def _bounded(table: Table, synthesizer: Synthesizer, seed: int | None) -> Synthetic:
    made = synthesizer.synthesize(table, seed)
    return replace(made, rows=within(made.rows, limits_of(table.card, made.parameters)))


def _exchanged(rows: pa.Table, other: pa.Table, places: Array) -> pa.Table:
    """The rows, at some places those of another table."""
    at = np.arange(rows.num_rows)
    at[places] = rows.num_rows + places
    return pa.concat_tables([rows, other]).take(at)
