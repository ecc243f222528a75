"""Suppression audit of a release: an intruder's intervals, from what is printed alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.programs import Numbers, Program
from discreet.core.release import Release
from discreet.errors import BadInput, DataError
from discreet.releases.method import Progress, silent
from discreet.verbs.tabulate.intruder.audit import intervals, recoverable
from discreet.verbs.tabulate.method import Intervals
from discreet.verbs.tabulate.printing.printed import PublishedTable
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import written

LEAST = "least_hidden"
"""The recipe's word for the least that a hidden figure can be, in units of the last decimal, if everyone knows."""
_SECONDS = 600.0
_SLACK = 1e-6
_EXACT_BELOW = 2**53
_MOST_DECIMALS = 18


@dataclass(frozen=True, eq=False)
class AuditResult:
    """Every hidden cell and what an intruder can tell of it; with the holder's file, also what was asked for."""

    cells: Cells
    hidden: Numbers
    intervals: Intervals
    short: Numbers | None = None
    """The sensitive cells that can be told more closely than their rule allows; ``None`` if the rules are not known."""

    @cached_property
    def recovered(self) -> Numbers:
        """The hidden cells that anyone can compute exactly."""
        return recoverable(self.cells, self.hidden)

    def rows(self) -> pa.Table:
        """A row for each hidden cell: its codes, and the smallest and largest possible figure."""
        which = np.flatnonzero(self.hidden)
        told: dict[str, Any] = {
            "cell": [self.cells.name(int(cell)) for cell in which],
            "low": self._figures(self.intervals.low[which]),
            "high": self._figures(self.intervals.high[which]),
        }
        if self.short is not None:
            told["short"] = np.isin(which, self.short)
        return pa.table(told)

    def __str__(self) -> str:
        lines = [f"{int(self.hidden.sum()):,} of {len(self.cells):,} cells are suppressed."]
        for cell in self.recovered.tolist():
            figure = written(self.intervals.low[cell], self.cells.decimals)
            lines.append(f"{self.cells.name(cell)} can be computed: {figure}.")
        if not len(self.recovered):
            lines.append("None of them can be computed exactly.")
        if self.short is not None:
            names = ", ".join(self.cells.name(int(cell)) for cell in self.short[:5])
            lines.append(
                f"Computable more closely than their rules allow: {names}{', …' if len(self.short) > 5 else ''}."
                if len(self.short)
                else "Every sensitive cell keeps the interval that its rule requires."
            )
        return "\n".join(lines)

    def _figures(self, ends: Numbers) -> pa.Array[Any]:
        return pa.array(ends / 10**self.cells.decimals, pa.float64())


def audit(release: Release[pa.Table], holder: pa.Table | None = None, *, progress: Progress = silent) -> AuditResult:
    """What an intruder can compute for every hidden cell of a released table.

    ``holder`` is the file that its holder kept: with it the intervals are also compared with what the rules ask for.
    """
    shown, hidden = _shown(release)
    least = release.recipe.parameters.get(LEAST)
    if least is not None and (type(least) not in (int, float) or not abs(least) < _EXACT_BELOW):
        raise DataError(f"The recipe's {LEAST} is not a figure.")
    lower = np.where(hidden, -np.inf if least is None else float(least), shown.lower)
    cells = replace(shown, lower=lower)
    kept = None if holder is None else _holder_columns(holder, cells, hidden)
    cells = replace(cells, values=_possible(cells, hidden) if kept is None else kept[0])
    if len(cells.broken()):
        raise DataError(
            "The published figures do not add up.", hint="Only tables with suppressed cells can be audited."
        )
    told = intervals(cells, hidden, progress=progress)
    if kept is None:
        return AuditResult(cells, hidden, told)
    values, sensitive, below, above = kept
    low, high = values - below * (1 - _SLACK), values + above * (1 - _SLACK)
    return AuditResult(cells, hidden, told, np.flatnonzero(sensitive & ((told.low > low) | (told.high < high))))


def _holder_columns(holder: pa.Table, cells: Cells, hidden: Numbers) -> list[Numbers]:
    """Of each cell its value, whether it is sensitive, and its levels below and above; an error unless this is the
    file of what is printed."""
    kinds = {"value": pa.int64(), "sensitive": pa.bool_(), "below": pa.float64(), "above": pa.float64()}
    known = set(holder.column_names)
    if holder.num_rows != len(cells) or any(
        name not in known or holder.column(name).null_count or holder.schema.field(name).type != kind
        for name, kind in kinds.items()
    ):
        raise BadInput("The holder's copy does not belong to this release.")
    columns = [holder.column(name).to_numpy() for name in kinds]
    if hidden.any() and (columns[0] != cells.values)[~hidden].any():
        raise BadInput("The holder's copy does not belong to this release: its published figures differ.")
    return columns


def _shown(release: Release[pa.Table]) -> tuple[Cells, Numbers]:
    """The printed cells, and which of them are hidden."""
    try:
        printed = PublishedTable.read(release)
        shown = Cells.of(*printed.tables)
        if not 0 <= shown.decimals <= _MOST_DECIMALS:
            raise ValueError(shown.decimals)
    except (LookupError, ArithmeticError, TypeError, ValueError, AttributeError):
        raise DataError(
            "The rows of this release do not match its recipe.",
            hint="Use an unchanged folder that `discreet tabulate` wrote.",
        ) from None
    hidden = np.zeros(len(shown), bool)
    for mask, place in zip(printed.hidden, shown.places, strict=True):
        hidden[place] = mask.ravel()
    return shown, hidden


def _possible(cells: Cells, hidden: Numbers) -> Numbers:
    """Some whole figures for the hidden cells with which everything adds up."""
    values = cells.values.copy()
    which = np.flatnonzero(hidden)
    if not len(which):
        return values
    relations = cells.relations[:, which]
    whole = -(cells.relations.astype(np.int64) @ np.where(hidden, 0, values))
    if max(np.abs(values).max(), np.abs(whole).max(initial=0)) >= _EXACT_BELOW:
        raise DataError(
            "The figures are too large to find suppressed values that add up exactly.",
            hint="Give its holder's copy.",
        )
    rest = whole.astype(np.float64)
    program = Program(np.zeros(len(which)), relations, rest, rest, cells.lower[which], np.inf, integral=True)
    found = program.solve_whole(_SECONDS)
    if found.x is None:
        raise DataError(
            "No values of the suppressed cells were found that make this table add up.",
            hint="If this is the released table, give its holder's copy.",
        )
    values[which] = np.rint(found.x).astype(np.int64)
    return values
