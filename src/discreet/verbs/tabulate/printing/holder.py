"""Holder's copy of a table: which cells are sensitive and why, and what an intruder can compute of each.

None of it may leave: which of the hidden cells are sensitive tells an intruder where a single respondent is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.markup import Markup, listed, markup, more
from discreet.core.report import heading, listing, pairs, section, styled
from discreet.core.text import number
from discreet.verbs.tabulate.printing.html import headed, laid_out
from discreet.verbs.tabulate.protection import Intervals, Protection
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, written

_Numbers = np.ndarray[Any, Any]
_LISTED = 200
_LEGEND = Markup(
    '<p><span style="background:#b3261e;color:#fff;padding:2px 8px">sensitive</span> by a rule, '
    '<span style="background:#f2c27b;color:#241a05;padding:2px 8px">added</span> to protect them. '
    "Point at a cell to see why, and what an intruder can tell.</p>"
)


@dataclass(frozen=True, eq=False, repr=False)
class TableHolder:
    """The true table beside what is printed of it."""

    cells: Cells
    protection: Protection
    values: _Numbers
    """What is printed."""
    hidden: _Numbers
    intervals: Intervals | None
    """What an intruder can compute of every cell; ``None`` where figures were changed and not hidden."""
    exposures: Sequence[str] = ()
    """What attackers would have learned from the table as it was."""
    facts: Sequence[tuple[str, str]] = ()
    """Figures about what was lost."""
    secret: bytes | None = field(default=None, repr=False)
    """What the secret numbers of records were made of, where they were: to be kept for the next table."""

    @property
    def added(self) -> _Numbers:
        """The cells that were hidden to protect others."""
        return self.hidden & ~self.protection.sensitive

    def __str__(self) -> str:
        return "\n".join(f"{name}: {told}" for name, told in self.in_figures())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.fragment("The table, for its holder alone")

    def rows(self) -> pa.Table:
        """A row a cell, in the order of the released rows: the true figure, what is sensitive and why, and what can be
        computed. Figures are in whole units of the last decimal."""
        whole = np.where(self.hidden, 0, self.values)
        told: dict[str, Any] = {
            "value": pa.array(self.cells.values),
            "printed": pa.array(whole, mask=self.hidden),
            "hidden": pa.array(self.hidden),
            "sensitive": pa.array(self.protection.sensitive),
            "below": pa.array(self.protection.below),
            "above": pa.array(self.protection.above),
            "reason": pa.array([self._reason(cell) or None for cell in range(len(self.cells))], pa.string()),
        }
        if self.intervals is not None:
            told |= {"low": pa.array(self.intervals.low), "high": pa.array(self.intervals.high)}
        return pa.table(told)

    def fragment(self, title: str) -> Markup:
        """All of it as HTML."""
        count = len(self.cells.tables)
        tables = [headed(self.cells.tables[one], self._laid_out(one), count) for one in range(count)]
        sections = [
            heading(title, "For its holder alone"),
            section("The table", _LEGEND, tables),
            section("In figures", pairs(self.in_figures())),
        ]
        if self.hidden.any():
            sections.append(section("What an intruder can tell of the hidden cells", self._told_of_hidden()))
        if self.exposures:
            found = listed(self.exposures, _LISTED)
            sections.append(section("What would have been learned from it as it was", found))
        return styled(sections)

    def told(self, table: CrossTable, cell: int) -> tuple[str, str, str]:
        """Of a cell its figure, its kind (sensitive, added, or nothing special), and in words what there is to say."""
        value = table.written(int(self.cells.values[cell]))
        parts = [self._reason(cell)]
        if self.hidden[cell]:
            kind = "sensitive" if self.protection.sensitive[cell] else "added"
            if self.intervals is not None:
                low, high = (table.written(float(end[cell])) for end in (self.intervals.low, self.intervals.high))
                parts.append(f"an intruder can tell that it is between {low} and {high}")
        else:
            kind = ""
            if self.values[cell] != self.cells.values[cell]:
                kind = "sensitive" if self.protection.sensitive[cell] else "added"
                parts.append(f"printed as {table.written(int(self.values[cell]))}")
        return value, kind, "; ".join(filter(None, parts))

    def in_figures(self) -> list[tuple[str, str]]:
        """How many cells there are, are sensitive, are hidden, and what was lost."""
        sensitive = int(self.protection.sensitive.sum())
        facts = [("cells", f"{len(self.cells):,}"), ("sensitive", number(sensitive, "cell"))]
        if self.hidden.any():
            weight = int(np.abs(self.cells.values[self.added]).sum())
            facts.append(
                (
                    "hidden besides",
                    f"{number(int(self.added.sum()), 'cell')}, together {written(weight, self.cells.decimals)}",
                )
            )
        return [*facts, *self.facts]

    def _told_of_hidden(self) -> Markup:
        which = np.flatnonzero(self.hidden)
        rows = []
        for cell in which[:_LISTED].tolist():
            ends = (self.cells.values, *((self.intervals.low, self.intervals.high) if self.intervals else ()))
            figures = [written(float(end[cell]), self.cells.decimals) for end in ends]
            why = self._reason(cell) or "to protect others"
            rows.append([self.cells.name(cell), *figures, why])
        told = ["at least", "at most"] if self.intervals else []
        heads = ["cell", "figure", *told, "why it is hidden"]
        kinds = ["text", "number", *("number" for _ in told), "prose"]
        return markup(listing(heads, kinds, rows), more(len(which), _LISTED))

    def _laid_out(self, place: int) -> Markup:
        table, where = self.cells.tables[place], self.cells.places[place]
        return laid_out(table, self.hidden[where].reshape(table.shape), lambda cell: self.told(table, int(where[cell])))

    def _reason(self, cell: int) -> str:
        return ", ".join(self.protection.reasons.get(cell, ()))
