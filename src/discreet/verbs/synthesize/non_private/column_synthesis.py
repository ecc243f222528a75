"""Columns made anew from what was learnt of the rows: what all ways to learn them have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from discreet.core.catalogue import parameter
from discreet.core.table import Table
from discreet.verbs.synthesize.non_private.sorted_column import Learnt
from discreet.verbs.synthesize.non_private.synthesizer import Parts, people_of, require_people


@dataclass(frozen=True)
class Lesson:
    """What is learnt from."""

    parts: Parts
    rows: pa.Table
    """All columns that will be released."""
    learnt: Mapping[str, Learnt]
    """The columns that are given, and then those that are made."""
    count: int
    """How many rows are made."""


@dataclass(frozen=True)
class Anew:
    """``columns`` are made anew (default: all but those given), depending on the columns ``given``, which stay as they
    are; without either, all are made."""

    columns: Sequence[str] = parameter("Columns that are made; by default all others.", default=(), clause="on")
    given: Sequence[str] = parameter("Columns that stay as they are.", default=(), clause="given")
    rows: int | None = parameter("Rows that are made; by default as many as there are.", default=None, kw_only=True)

    def _lesson(self, table: Table, crowd: int, least: int) -> Lesson:
        """The table as it is learnt from, which must be of ``crowd`` people; what fewer than ``least`` share stays."""
        parts = Parts.of(table.card, self.columns, self.given)
        require_people(table, crowd)
        everything = table.fetch()
        people = people_of(table.card, everything)
        used = (*parts.given, *parts.made)
        learnt = {name: Learnt.of(table.card[name], everything.column(name), least, people) for name in used}
        rows = everything.select([name for name in table.columns if name in (*parts.made, *parts.kept)])
        return Lesson(parts, rows, learnt, parts.rows(self.rows, rows.num_rows))
