"""Suppression of special uniques: cells of small combinations of values that no one else has.

A *minimal sample unique* of a row is a set of columns in which no one has the same values, and of which no part is
already unique (Elliot, Manning and Ford 2002, SUDA). For every row cells are suppressed until each of its minimal
sample uniques of at most ``size`` columns has lost one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.catalogue import Checked, declare, parameter
from discreet.core.families import MASKING
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.verbs.attack.suda import minimal_uniques
from discreet.verbs.publish.mask.masker import Masked, columns_to_mask
from discreet.verbs.publish.mask.values import Array, with_column


@declare(MASKING, "suppress-uniques", example="suppress-uniques size=3", paper="Elliot and others 2002")
class SuppressUniques(Checked):
    """Values suppressed until no one is unique by a few of them."""

    name: ClassVar[str]
    size: int = parameter("Maximum number of a person's values that an intruder knows.", default=3, least=1)
    columns: Sequence[str] = parameter("Columns to mask; default: all quasi-identifiers.", default=(), clause="on")

    def mask(self, table: Table, seed: int | None = None) -> Masked:
        """All rows at once. Nothing is random, so a seed changes nothing."""
        names = columns_to_mask(table.card, self.columns, frozenset(Kind), self.name)
        rows = table.payload()
        found = minimal_uniques(rows, names, self.size)
        gone = _cells_to_suppress(found, rows.num_rows, len(names))
        for place, name in enumerate(names):
            cells = rows.column(name)
            empty = pa.scalar(None, cells.type)
            rows = with_column(rows, name, pc.if_else(pa.array(gone[:, place]), empty, cells))
        affected = int(gone.any(axis=1).sum())
        return Masked(
            rows,
            {
                "columns": list(names),
                "size": self.size,
                "suppressed_cells": {name: int(gone[:, place].sum()) for place, name in enumerate(names)},
                "rows_with_suppressed_cells": affected,
            },
            (
                f"{int(gone.sum()):,} cells in {affected:,} rows were suppressed: no released row shows a "
                "combination "
                f"of up to {self.size} values of {', '.join(names)} that no other row could have.",
            ),
            (
                f"An intruder who knows more than {self.size} values of a person may still find the row.",
                "A suppressed cell counts as any value; but suppression reveals that the value was rare.",
                "A unique pattern of suppressed cells may identify a person.",
                "Two people who share a combination are enough: this is not k-anonymity for k above 2.",
            ),
        )


def _cells_to_suppress(found: dict[tuple[int, ...], Array], rows: int, columns: int) -> Array:
    """Cells to suppress: for each row, greedily, the column that breaks the most of its remaining uniques."""
    gone = np.zeros((rows, columns), np.bool_)
    left = dict(found)
    while left:
        score = np.zeros((rows, columns), np.int64)
        for subset, who in left.items():
            for place in subset:
                score[who, place] += 1
        worst = np.flatnonzero(score.any(axis=1))
        gone[worst, score[worst].argmax(axis=1)] = True
        left = {subset: who[~gone[who][:, list(subset)].any(axis=1)] for subset, who in left.items()}
        left = {subset: who for subset, who in left.items() if len(who)}
    return gone
