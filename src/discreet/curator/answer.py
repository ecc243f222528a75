"""An answer: a release, what it cost, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import pyarrow as pa

from discreet.core.loss import Loss
from discreet.core.release import Release
from discreet.core.statement import Statement

_SHOWN = 20


@dataclass(frozen=True)
class Left:
    """What may still be spent on a table."""

    analyst: Loss
    """By the analyst."""
    table: Loss
    """By all together."""

    def __str__(self) -> str:
        return f"{self.analyst} for the analyst, {self.table} for the table"


@dataclass(frozen=True, repr=False)
class Answer:
    """What a question gets. Every figure that is known to be off by so much has its ``<column>_error`` beside it."""

    release: Release[pa.Table]
    identity: str
    """What it is kept under: the same for the same question of the same tables at the same loss."""
    left_on: Mapping[str, Left]
    """What is left on each private table that the question is about."""
    free: bool
    """Whether nothing was charged for it, because it had been answered before."""

    @property
    def table(self) -> pa.Table:
        """The figures and their error bars, at 95 % confidence."""
        return self.release.payload

    @property
    def left(self) -> Left:
        """What is left on the table that the question is about; on the first of them, if it is about several."""
        return next(iter(self.left_on.values()))

    @property
    def price(self) -> Loss:
        """What was charged when it was first given, to each table."""
        assert self.statement.loss is not None  # noqa: S101  # every answer promises one
        return self.statement.loss

    @property
    def statement(self) -> Statement:
        """What is promised to everybody in the data."""
        return self.release.statement

    def __str__(self) -> str:
        names = self.table.column_names
        rows = [[_shown(value) for value in row.values()] for row in self.table.slice(0, _SHOWN).to_pylist()]
        widths = [max(len(row[place]) for row in [names, *rows]) for place in range(len(names))]
        lines = [
            "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in [names, *rows]
        ]
        if self.table.num_rows > _SHOWN:
            lines.append(f"… {self.table.num_rows:,} rows in all")
        return "\n".join([*lines, self.cost])

    @property
    def cost(self) -> str:
        """What it cost and what is left, in a sentence."""
        paid = "Answered before, so it is free." if self.free else f"It cost {self.price}."
        left = [f"{left} ({table})" if len(self.left_on) > 1 else str(left) for table, left in self.left_on.items()]
        return f"{paid} Left: {'; '.join(left)}."

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.cost)}</p>{self.release._repr_html_()}"


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
