"""Rounding to multiples of a base: to the nearest, or up or down at random so that the mean is unbiased."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.core.card import Card
from discreet.core.catalogue import Checked, declare, parameter
from discreet.core.families import MASKING
from discreet.core.kind import NUMBERS
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.noise.masking import Generator
from discreet.verbs.publish.mask.masker import MaskingPlan, columns_to_mask, mask_rows, with_cells
from discreet.verbs.publish.mask.values import numbers, unit_of, whole_units, write_numbers


@declare(MASKING, "round", example="round base=5")
class Round(Checked):
    """Values rounded to multiples of a base."""

    name: ClassVar[str]
    base: float | Mapping[str, float] = parameter("Base: all values become multiples of it.", above=0)
    columns: Sequence[str] = parameter("Columns to mask; default: all quasi-identifiers.", default=(), clause="on")
    at_random: bool = parameter("Whether to round up or down at random (unbiased).", default=False)

    mask = mask_rows

    def plan(self, table: Table) -> MaskingPlan:
        """The base of each column; the rows are not read."""
        bases = self._bases(table.card)
        for name, base in bases.items():
            unit = unit_of(table.schema.field(name).type)
            if unit is not None and abs(base / unit - round(base / unit)) > 1e-9 * base / unit:
                raise BadInput(
                    f"Multiples of {base:g} are not valid values of {name!r}.", hint=f"Choose a multiple of {unit:g}."
                )
        listed = ", ".join(f"{name} ({base:g})" for name, base in bases.items())
        how = "up or down at random (unbiased)" if self.at_random else "to the nearest"
        moments = {"mean_unchanged_on_average": True} if self.at_random else {}
        return MaskingPlan(
            bases,
            {"columns": list(bases), "base": bases, "at_random": self.at_random, **moments},
            (f"Values were rounded {how} multiple of their base: {listed}.",),
            (
                f"Every value is known up to {'its base' if self.at_random else 'half its base'}.",
                "Isolated values stay unique.",
            ),
        )

    def batch(self, state: Any, rows: pa.RecordBatch, rng: Generator) -> pa.RecordBatch:
        """A batch of rows, rounded."""
        for name, base in state.items():
            cells = rows.column(name)
            found = numbers(cells)
            scaled = found.values / base
            if self.at_random:
                near = np.rint(scaled)
                scaled = np.where(np.abs(scaled - near) < 1e-9, near, np.floor(scaled + rng.random(len(scaled))))
            made = whole_units(np.rint(scaled) * base, cells.type)
            rows = with_cells(rows, name, write_numbers(made, cells, found.there))
        return rows

    def _bases(self, card: Card) -> dict[str, float]:
        named = tuple(self.base) if isinstance(self.base, Mapping) else ()
        names = columns_to_mask(card, tuple(self.columns) or named, NUMBERS, self.name)
        if not isinstance(self.base, Mapping):
            return dict.fromkeys(names, self.base)
        if set(names) != set(named):
            raise BadInput(f"Bases are given for {', '.join(named)}, but the columns are {', '.join(names)}.")
        return dict(self.base)
