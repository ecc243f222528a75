"""Resampling (Heer 1993): the value of rank j becomes the average of those of rank j in several bootstrap samples.

What stays. The ranks, and the mean on average, since that of each bootstrap sample is. The average of samples is
smoother than the data: tails come in a little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from discreet.core.catalogue import Checked, declare, parameter
from discreet.core.families import MASKING
from discreet.core.kind import NUMBERS
from discreet.core.table import Table
from discreet.noise.masking import Generator, generator
from discreet.verbs.publish.mask.masker import Masked, columns_to_mask
from discreet.verbs.publish.mask.values import Cells, numbers, round_at_random, with_column, write_numbers


@declare(MASKING, "resample", example="resample samples=3", paper="Heer 1993")
class Resample(Checked):
    """The value of each rank becomes the average of that rank in several bootstrap samples."""

    name: ClassVar[str]
    samples: int = parameter("Number of bootstrap samples that are averaged.", default=1, least=1)
    columns: Sequence[str] = parameter("Columns to mask; default: all quasi-identifiers.", default=(), clause="on")

    def mask(self, table: Table, seed: int | None = None) -> Masked:
        """All rows at once, each column by itself; NULLs stay."""
        names = columns_to_mask(table.card, self.columns, NUMBERS, self.name)
        rng, rows = generator(seed), table.payload()
        for name in names:
            rows = with_column(rows, name, self._resample_column(rows.column(name), rng))
        return Masked(
            rows,
            {"columns": list(names), "samples": self.samples, "mean_unchanged_on_average": True},
            (f"{', '.join(names)}: rank by rank, values are averages over {self.samples} bootstrap samples.",),
            (
                "Ranks are unchanged, and values change little in large tables.",
                "An intruder who knows a person's rank in a column finds the person.",
            ),
        )

    def _resample_column(self, cells: Cells, rng: Generator) -> Cells:
        found = numbers(cells)
        count = len(found.values)
        drawn = np.zeros(count)
        for _ in range(self.samples):
            drawn += np.sort(found.values[rng.integers(0, count, count)]) if count else 0.0
        shuffled = rng.permutation(count)
        made = np.empty(count)
        made[shuffled[np.argsort(found.values[shuffled], kind="stable")]] = drawn / self.samples
        return write_numbers(round_at_random(made, cells.type, rng), cells, found.there)
