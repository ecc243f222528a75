"""Resampling (Heer 1993): the value of rank j becomes the average of those of rank j in several bootstrap samples.

What stays. The ranks, and the mean on average, since that of each bootstrap sample is. The average of samples is
smoother than the data: tails come in a little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.noise.masking import Generator, generator
from discreet.verbs.publish.mask.values import Cells, numbers, on_grid, replaced, written
from discreet.verbs.publish.masking import NUMERIC, Masked, chosen


@dataclass(frozen=True)
class Resample:
    """``samples``: how many bootstrap samples are averaged."""

    name: ClassVar[str] = "resample"
    samples: int = 1
    columns: Sequence[str] = ()

    def __post_init__(self) -> None:
        if type(self.samples) is not int or self.samples < 1:
            raise BadInput(f"samples is a whole number, at least 1, got {self.samples!r}.")

    def mask(self, table: Table, seed: int | None = None) -> Masked:
        """All rows at once, each column by itself; NULLs stay."""
        names = chosen(table.card, self.columns, NUMERIC, self.name)
        rng, rows = generator(seed), table.payload()
        for name in names:
            rows = replaced(rows, name, self._resampled(rows.column(name), rng))
        return Masked(
            rows,
            {"columns": list(names), "samples": self.samples, "mean_unchanged_on_average": True},
            (f"{', '.join(names)}: rank by rank, values are averages over {self.samples} bootstrap samples.",),
            (
                "Ranks stay as they were: who was first is first, and values change little in large tables.",
                "Whoever knows a person's rank in a column finds the person.",
            ),
        )

    def _resampled(self, cells: Cells, rng: Generator) -> Cells:
        found = numbers(cells)
        count = len(found.values)
        drawn = np.zeros(count)
        for _ in range(self.samples):
            drawn += np.sort(found.values[rng.integers(0, count, count)]) if count else 0.0
        shuffled = rng.permutation(count)
        made = np.empty(count)
        made[shuffled[np.argsort(found.values[shuffled], kind="stable")]] = drawn / self.samples
        return written(on_grid(made, cells.type, rng), cells, found.there)
