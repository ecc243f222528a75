"""Holder's copy of a table: which cells are sensitive and why, and what an intruder can compute of each.

None of it may leave: which of the hidden cells are sensitive tells an intruder where a single respondent is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.markup import Markup, listed, markup, more
from discreet.core.report import heading, listing, pairs, section, styled
from discreet.core.text import number
from discreet.verbs.tabulate.method import Intervals, Protection
from discreet.verbs.tabulate.printing.html import CROSS, MOST_CELLS, headed, laid_out
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import Contributions, CrossTable, Dimension, Numbers, written

_LISTED = 200
_LEGEND = Markup(
    '<p><span style="background:#b3261e;color:#fff;padding:2px 8px">sensitive</span> by a rule, '
    '<span style="background:#f2c27b;color:#241a05;padding:2px 8px">added</span> to protect them. '
    "Point at a cell to see why, and what an intruder can compute.</p>"
)
_KINDS = {"": "shown", "added": "hidden", "sensitive": "sensitive"}


@dataclass(frozen=True, eq=False, repr=False)
class TableHolder:
    """The holder's copy of a table: its true figures beside the published ones."""

    cells: Cells
    protection: Protection
    values: Numbers
    """What is printed."""
    hidden: Numbers
    intervals: Intervals | None
    """What an intruder can compute of every cell; ``None`` where figures were changed and not hidden."""
    exposures: Sequence[str] = ()
    """What attackers would have learned from the table as it was."""
    facts: Sequence[tuple[str, str]] = ()
    """Figures about what was lost."""
    secret: bytes | None = field(default=None, repr=False)
    """What the secret numbers of records were made of, where they were: to be kept for the next table."""

    @property
    def added(self) -> Numbers:
        """The cells that were hidden to protect others."""
        return self.hidden & ~self.protection.sensitive

    def __str__(self) -> str:
        return "\n".join(f"{name}: {told}" for name, told in self.in_figures())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.fragment("The original table (confidential)")

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
            heading(title, "Confidential"),
            section("The table", _LEGEND, tables),
            section("In figures", pairs(self.in_figures())),
        ]
        if self.hidden.any():
            sections.append(section("What an intruder can compute of the suppressed cells", self._told_of_hidden()))
        if self.exposures:
            found = listed(self.exposures, _LISTED)
            sections.append(section("What the unprotected table would reveal", found))
        return styled(sections)

    def told(self, table: CrossTable, cell: int) -> tuple[str, str, str]:
        """Of a cell its figure, its kind (sensitive, added, or nothing special), and in words what there is to say."""
        value = table.written(int(self.cells.values[cell]))
        parts = [self._reason(cell)]
        if self.hidden[cell]:
            kind = "sensitive" if self.protection.sensitive[cell] else "added"
            if self.intervals is not None:
                low, high = (table.written(float(end[cell])) for end in (self.intervals.low, self.intervals.high))
                parts.append(f"an intruder can compute that it is between {low} and {high}")
        else:
            kind = ""
            if self.values[cell] != self.cells.values[cell]:
                kind = "sensitive" if self.protection.sensitive[cell] else "added"
                parts.append(f"published as {table.written(int(self.values[cell]))}")
        return value, kind, "; ".join(filter(None, parts))

    def in_figures(self) -> list[tuple[str, str]]:
        """How many cells there are, are sensitive, are hidden, and what was lost."""
        sensitive = int(self.protection.sensitive.sum())
        facts = [("cells", f"{len(self.cells):,}"), ("sensitive", number(sensitive, "cell"))]
        if self.hidden.any():
            weight = int(np.abs(self.cells.values[self.added]).sum())
            facts.append(
                (
                    "secondary suppressions",
                    f"{number(int(self.added.sum()), 'cell')} with a total of {written(weight, self.cells.decimals)}",
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


def view(holder: TableHolder, title: str) -> dict[str, Any]:
    """The tables as the holder's page shows them, cell by cell, and what there is to say. It must never leave.

    A cell has its true ``figure``, what is ``printed`` of it, its ``kind`` (shown; hidden, or changed, to protect
    others; sensitive) and in words ``why``, and what an intruder can tell of it.
    """
    return {
        "title": title,
        "facts": [{"name": name, "told": told} for name, told in holder.in_figures()],
        "tables": [_table(holder, place) for place in range(len(holder.cells.tables))],
        "exposures": list(holder.exposures[:_LISTED]),
    }


def _table(holder: TableHolder, place: int) -> dict[str, Any]:
    table, where = holder.cells.tables[place], holder.cells.places[place]
    *down, across = table.dimensions
    width = len(across)

    def cell(flat: int, total: bool) -> dict[str, Any]:
        one = int(where[flat])
        figure, kind, why = holder.told(table, one)
        printed = CROSS if holder.hidden[one] else table.written(int(holder.values[one]))
        return {"figure": figure, "printed": printed, "kind": _KINDS[kind], "why": why, "total": total}

    rows = []
    if table.size <= MOST_CELLS:
        for row, places in enumerate(product(*(range(len(side)) for side in down))):
            labels = [_label(side, code) for side, code in zip(down, places, strict=True)]
            total = any(label["total"] for label in labels)
            cells = [cell(row * width + at, total or bool(across.parts[at])) for at in range(width)]
            rows.append({"labels": labels, "cells": cells})
    return {
        "sides": [side.name for side in table.dimensions],
        "figure": table.what,
        "size": table.size,
        "too_large": table.size > MOST_CELLS,
        "across": [_label(across, code) for code in range(width)],
        "rows": rows,
    }


def _label(side: Dimension, place: int) -> dict[str, Any]:
    return {"text": side.codes[place], "depth": int(side.depths[place]), "total": bool(side.parts[place])}


@dataclass(frozen=True)
class Exposure:
    """An attack that succeeds on a cell."""

    cell: int
    attack: str
    """``external``, ``internal`` or ``dominance``."""
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def exposed(cells: Cells, protection: Protection) -> tuple[Exposure, ...]:
    """Every attack that would succeed on a sensitive cell if it were printed, in the order of the cells.

    - External: there is a single respondent, and anyone who knows who it is learns their figure.
    - Internal: there are two, and each subtracts their own.
    - Dominance: one contributor has most of the cell. The largest learns what all others have together, and so at most
      each; the second largest learns what the largest has at most.

    Of dominance only what is closer than twice the truth is told. Nothing is told of a cell of which no one knows who
    is in it, be it as safe as it may.
    """
    home, place = cells.homes
    found: list[Exposure] = []
    for cell in np.flatnonzero(protection.sensitive).tolist():
        table = cells.tables[int(home[cell])]
        found += _attacks(cell, cells.name(cell), table, int(place[cell]))
    return tuple(found)


def _attacks(cell: int, name: str, table: CrossTable, place: int) -> Iterator[Exposure]:
    known = _known(table)
    if known is None:
        return
    count = float(known.counts.flat[place])
    value = table.written(int(table.values.flat[place]))
    single = count == 1 if known.sole is None else bool(known.sole.flat[place] >= 0)
    if single:
        learned = f"their figure: {value}" if table.what else "that they are the respondent"
        yield Exposure(
            cell, "external", f"{name}: there is a single respondent; anyone who knows who it is learns {learned}."
        )
    elif count == 2:
        own = f"subtracts their own figure from {value} to get the other's" if table.what else "knows of the other"
        yield Exposure(cell, "internal", f"{name}: there are two respondents, and each {own}.")
    if single or known.largest is None or not table.what:
        return
    ranks = known.largest.reshape(table.size, -1)[place].tolist()
    whole = int(table.values.flat[place] if known.absolute is None else known.absolute.flat[place])
    learned = _dominance(table, whole, count, ranks)
    if learned:
        yield Exposure(cell, "dominance" if count != 2 else "internal", f"{name}: {learned}")


def _dominance(table: CrossTable, whole: int, count: float, ranks: list[int]) -> str:
    """What the largest two learn of each other and the rest, if that is close."""
    first, second = ranks[0], ranks[1] if len(ranks) > 1 else 0
    rest = whole - first
    if first <= 0 or rest - second >= first:
        return ""
    others = f"{count - 1:,g} others together have" if count > 2 else "other has"
    said = f"the respondent who contributed {table.written(first)} knows that the {others} {table.written(rest)}"
    said += ", and each of them no more." if count > 2 else "."
    if second > 0:
        off = 100 * (rest - second) / first
        said += (
            f" The respondent who contributed {table.written(second)} knows that the largest contribution is at most "
            f"{table.written(whole - second)}, which is {f'{off:.3g} % too much' if off else 'exact'}."
        )
    return said


def _known(table: CrossTable) -> Contributions | None:
    """Who is in each cell; a table of counts says so itself."""
    if table.contributions is not None or table.what or table.decimals:
        return table.contributions
    return Contributions(table.values)
