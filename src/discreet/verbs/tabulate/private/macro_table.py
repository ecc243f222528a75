"""Macro-tables: counts by declared columns, all at once, under one privacy loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import pyarrow as pa

from discreet.budget.dp_statement import BETA, kept_rows, loss_of, promised, require_drawable, rows_per_unit
from discreet.core.card import Card
from discreet.core.exact import Number
from discreet.core.report import Picture, bars
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.parameters import whole as whole_number
from discreet.releases.method import Method
from discreet.verbs.tabulate.private.plan import Plan
from discreet.verbs.tabulate.private.top_down import require_fits
from discreet.verbs.tabulate.tables.crosstable import CrossTable

_BARS = 24
_WIDEST = 2.0**30  # of a deviation: sums of a million cells are still told apart to small parts of one


@dataclass(frozen=True)
class MacroTable(Method[pa.Table]):
    """Counts by every set of columns in ``by``, with totals over each column and, with ``levels``, within each.

    Why this is private: the counts get their noise from ``NoisyCounts``, where it is argued; the rest is made of
    noisy counts and declarations.

    The result has a row a cell: a code of each column, NULL where the cell is over all of its values, the count ``n``
    and its error bar ``n_error``. A cell that several tables share is there once. With ``whole``, counts are whole
    numbers, none is below zero, and every total is exactly the sum of its parts; without, they are the figures of
    least squares, which are right on average and add up as far as floating point goes.
    """

    name: ClassVar[str] = "macro-table"
    by: Sequence[Sequence[str]]
    epsilon: Number | None = None
    rho: Number | None = None
    levels: bool = True
    whole: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.by, str) or any(isinstance(columns, str) for columns in self.by):
            raise BadInput("A macro-table is by lists of columns.", hint=f"Such as [{list(self.by)!r}].")
        object.__setattr__(self, "by", tuple(tuple(columns) for columns in self.by))

    @classmethod
    def every(
        cls,
        columns: Sequence[str],
        ways: int = 2,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        levels: bool = True,
        whole: bool = True,
    ) -> MacroTable:
        """The tables by every ``ways`` of the columns."""
        if isinstance(columns, str):
            raise BadInput("Tables are by a list of columns.", hint=f"Such as [{columns!r}].")
        if whole_number(ways, "ways") > len(columns):
            raise BadInput(f"There are no tables by {ways} of {len(columns)} columns.")
        return cls(list(combinations(columns, ways)), epsilon, rho, levels, whole)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The columns of each table, and what is printed of them."""
        return {"by": [list(columns) for columns in self.by], "levels": self.levels, "whole": self.whole}

    def steps(self, card: Card) -> tuple[str, ...]:
        """What is done, in words."""
        plan = self.plan(card)
        counted = ", ".join(called(columns) or "all rows" for columns in plan.counts.sets)
        done = [
            kept_rows(card),
            f"rows without a declared value in one of the columns were left out; counted with exact noise: {counted}; "
            "what was counted was made to agree by weighted least squares",
        ]
        if not self.whole:
            return (*done, "the error bars hold with 95 % confidence, each for its own cell")
        return (
            *done,
            "counts were made whole numbers, none below zero: the total first, then what tables share, then the rest, "
            "level by level; that they are, and that every total is exactly the sum of its parts, was checked; "
            "counts near zero are too large on average",
            "the error bars hold with 95 % confidence, each for its own cell: that of least squares, cut at zero, and "
            "how far the printed count is from it",
        )

    def promise(self, card: Card) -> Statement:
        """The loss that was asked for; an error if the error bars cannot be worked out."""
        plan = self.plan(card)
        counts = plan.counts
        for noise in counts.noises:
            require_drawable(noise)
            if self.whole and noise.variance > _WIDEST**2:
                raise BadInput("So little loss makes so much noise that no whole numbers are made of it.")
        for columns in plan.workload.printed:
            plan.errors(columns)
        return promised(counts.loss(rows_per_unit(card)), card)

    def expected_errors(self, card: Card) -> Mapping[str, float | None]:
        """The error bar of a cell without totals, for each table, before it is made whole."""
        precision = self.plan(card).counts.precision
        return {called(columns): precision.error(dict.fromkeys(columns, 1), BETA) for columns in self.by}

    def run(self, table: Table, entropy: Entropy = SYSTEM) -> pa.Table:
        """Count on the engine, add noise, make everything agree, and print it."""
        plan = self.plan(table.card)
        agreed = plan.counts.agreed(plan.counts.measure(table, entropy))
        near = {columns: plan.counts.table(agreed, columns) for columns in plan.workload.printed}
        leaves = plan.whole(near) if self.whole else near
        return pa.concat_tables([plan.shown(one, near[one], leaves[one]) for one in plan.workload.printed])

    def pictures(self, payload: pa.Table) -> tuple[Picture, ...]:
        """The counts as bars, if there are few enough to be read."""
        rows = payload.to_pylist()
        if len(rows) > _BARS:
            return ()
        names = [name for name in payload.column_names if name not in ("n", "n_error")]
        labels = [called(str(row[name]) for name in names if row[name] is not None) or "all" for row in rows]
        return (bars(f"Counts by {', '.join(map(called, self.by))}", labels, [round(row["n"]) for row in rows]),)

    def tables(self, card: Card, payload: pa.Table) -> tuple[CrossTable, ...]:
        """The result as one table for each set of columns, to be laid out or worked on; it must be in whole numbers."""
        plan = self.plan(card)
        if not self.whole or payload.num_rows != plan.workload.cells:
            raise BadInput("This is not a result of this macro-table in whole numbers.")
        return plan.tables(payload.column("n").to_numpy())

    def plan(self, card: Card) -> Plan:
        """What will be counted and printed of a table with this card; an error if it cannot be made."""
        plan = Plan.of(card, self.by, loss_of(self.epsilon, self.rho), levels=self.levels)
        if self.whole:
            require_fits(plan.workload.tables)
        return plan


def called(columns: Iterable[str]) -> str:
    """What a table by these columns is called."""
    return " × ".join(columns)
