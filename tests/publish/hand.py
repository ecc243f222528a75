"""Recodings made by hand, a small table with everything in it, and classes counted in plain Python."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.dates import Dates
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.verbs.publish.recoding import Recoding

CARD = Card(
    "people",
    (
        Column("id", Kind.INTEGER, Role.IDENTIFIER),
        Column("age", Kind.INTEGER, Role.QUASI, bounds=(0, 120), hierarchy=Intervals(widths=(10, 20))),
        Column("born", Kind.DATE, Role.QUASI, hierarchy=Dates(levels=("year", "decade"))),
        Column("sex", Kind.TEXT, Role.QUASI, categories=("f", "m")),
        Column("gone", Kind.REAL, note="a name that recoding uses inside"),
        Column("disease", Kind.TEXT, Role.SENSITIVE),
    ),
    unit="id",
    rows_per_unit=1,
)
ROWS: list[tuple[Any, ...]] = [
    (1, 23, dt.date(2001, 5, 5), "f", 1.5, "flu"),
    (2, 27, dt.date(2001, 7, 1), "f", None, "cold"),
    (3, 27, dt.date(2003, 7, 1), None, 2.5, "flu"),
    (4, 31, dt.date(1992, 1, 1), None, 2.5, None),
    (5, None, None, "m", 0.25, "flu"),
    (6, None, None, "m", 0.25, "flu"),
    (7, 38, dt.date(1990, 1, 1), "m", -1.0, "it's"),
    (8, 80, dt.date(1941, 12, 31), "m", 4.0, "cold"),
]


def people() -> pa.Table:
    """The rows as Arrow."""
    types = (pa.int64(), pa.int64(), pa.date32(), pa.string(), pa.float64(), pa.string())
    columns = [pa.array(cells, type_) for cells, type_ in zip(zip(*ROWS, strict=True), types, strict=True)]
    return pa.table(dict(zip([column.name for column in CARD.columns], columns, strict=True)))


def recoding(**said: Any) -> Recoding:
    """A recoding of which only some things matter."""
    plain = {
        "levels": None,
        "dropped": None,
        "mapping": None,
        "suppressed": 0,
        "loss": 0.5,
        "quality": {"granularity": 0.5},
        "parameters": {},
        "steps": ("done by hand",),
        "optimal": False,
        "gap": None,
    }
    return Recoding(**(plain | said))


@dataclass(frozen=True)
class Fixed:
    """A recoder that has made up its mind."""

    found: Recoding

    @property
    def own_labels(self) -> bool:
        return self.found.mapping is not None

    def recode(self, table: Table, require: Sequence[Any], progress: Any = None) -> Recoding:
        return self.found


def at_levels(levels: Mapping[str, int], dropped: pa.Table | None = None, suppressed: int = 0) -> Fixed:
    """A recoder that takes these levels."""
    lost = {f"loss of {name}": 0.25 * level for name, level in levels.items()}
    return Fixed(recoding(levels=levels, dropped=dropped, suppressed=suppressed, quality={"granularity": 0.5, **lost}))


def class_sizes(rows: pa.Table, names: Sequence[str]) -> Counter[tuple[Any, ...]]:
    """How many rows have each combination of values."""
    return Counter(tuple(row[name] for name in names) for row in rows.to_pylist())
