"""An answer: a release, what it cost, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.core.loss import Loss, Pure
from discreet.core.markup import markup, tag
from discreet.core.release import Release
from discreet.core.statement import Statement

ON_SYNTHETIC = "ask-synthetic"
"""Method of an answer by a synthetic stand-in, in a recipe."""
KEPT = ".synthetic"
"""Folder of a workspace for the latest answers by stand-ins."""
MARK = "synthetic"
"""The column of such an answer that says so in every row, wherever its rows are taken."""
BANNER = "SYNTHETIC"
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
    """The answer to a question. A figure whose error is known has it beside it, as ``<column>_error``."""

    release: Release[pa.Table]
    identity: str
    """What it is kept under: the same for the same question of the same tables at the same loss."""
    left_on: Mapping[str, Left]
    """What is left on each private table that the question is about."""
    free: bool
    """Whether nothing was charged for it: it had been answered before, or is made of a synthetic stand-in."""

    @property
    def synthetic(self) -> bool:
        """Whether it is about people who never existed: the budget did not cover it, and the table's synthetic stand-in
        was asked instead."""
        return is_synthetic(self.release)

    @property
    def table(self) -> pa.Table:
        """The figures and their error bars, at 95 % confidence; if it is synthetic, a column ``synthetic`` says so."""
        return self.release.payload

    @property
    def left(self) -> Left:
        """What is left on the table that the question is about; on the first of them, if it is about several."""
        return next(iter(self.left_on.values()))

    @property
    def price(self) -> Loss:
        """What each table was charged when it was first given; nothing for a synthetic answer."""
        if self.synthetic:
            return Pure(0)
        assert self.statement.loss is not None  # noqa: S101  # every answer promises one
        return self.statement.loss

    @property
    def statement(self) -> Statement:
        """What is promised to everyone in the data."""
        return self.release.statement

    def __str__(self) -> str:
        said, table = [banner(self.release)] if self.synthetic else [], figures(self.release)
        names = [f"{name} ({MARK})" for name in table.column_names] if self.synthetic else table.column_names
        rows = [[_shown(value) for value in row.values()] for row in table.slice(0, _SHOWN).to_pylist()]
        widths = [max(len(row[place]) for row in [names, *rows]) for place in range(len(names))]
        lines = [
            "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in [names, *rows]
        ]
        if self.table.num_rows > _SHOWN:
            lines.append(f"… {self.table.num_rows:,} rows in all")
        return "\n".join([*said, *lines, self.cost])

    @property
    def cost(self) -> str:
        """What it cost and what is left, in a sentence."""
        paid = "Answered before, so it is free." if self.free else f"It cost {self.price}."
        if self.synthetic:
            paid = "The budget does not cover it, so a synthetic stand-in answered: that is free."
        left = [f"{left} ({table})" if len(self.left_on) > 1 else str(left) for table, left in self.left_on.items()]
        return f"{paid} Left: {'; '.join(left)}."

    def __repr__(self) -> str:
        return f"<Answer {self.release.title!r}: {self.table.num_rows:,} rows, {'free' if self.free else self.price}>"

    def _repr_html_(self) -> str:
        said = tag("p", tag("strong", banner(self.release))) if self.synthetic else None
        return markup(said, tag("p", self.cost), self.release._repr_html_())


def is_synthetic(release: Release[Any]) -> bool:
    """Whether a release is an answer by a synthetic stand-in."""
    return release.recipe.method == ON_SYNTHETIC


def banner(release: Release[Any]) -> str:
    """What must be seen before the figures of an answer that is synthetic."""
    name = release.recipe.parameters["table"]
    return (
        f"{BANNER}: these figures are about people who never existed. The budget does not cover the question, so the "
        f"synthetic stand-in of {name} answered it, which had been released for {release.statement.loss}."
    )


def marked(table: pa.Table) -> pa.Table:
    """A table of figures about people who never existed, with a column behind the others that says so in every row."""
    name = MARK
    while name in table.column_names:
        name += "_"
    return table.append_column(name, pa.repeat(True, table.num_rows))


def figures(release: Release[pa.Table]) -> pa.Table:
    """What an answer says, without the column that marks it: for where every figure is marked beside it."""
    names = release.payload.column_names
    return release.payload.select(names[:-1]) if is_synthetic(release) else release.payload


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
