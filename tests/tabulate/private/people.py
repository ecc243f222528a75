"""A few people with declared columns, some of whom lack a value: small enough to be worked through by hand."""

from __future__ import annotations

import pyarrow as pa
import sqlglot

from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.engine import Engine
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.core.table import Table

CITIES = ("Oslo", "Paris", "Rome")
PEOPLE: list[tuple[object, ...]] = [
    (1, "Oslo", True, 2),
    (1, "Rome", False, 0),
    (2, "Oslo", True, 1),
    (3, None, True, 1),
    (4, "Rome", None, 2),
    (5, "Bern", True, 2),
    (6, "Paris", False, 2),
]
CARD = Card(
    "people",
    (
        Column("who", Kind.INTEGER),
        Column(
            "city",
            Kind.TEXT,
            categories=CITIES,
            hierarchy=Taxonomy.from_tree({"north": ["Oslo"], "south": ["Paris", "Rome"]}),
        ),
        Column("ill", Kind.BOOLEAN),
        Column("visits", Kind.INTEGER, bounds=(0, 2)),
        Column("income", Kind.REAL, bounds=(0, 1)),
    ),
    unit="who",
    rows_per_unit=2,
)


def people(engine: Engine, name: str, rows: list[tuple[object, ...]] = PEOPLE) -> Table:
    """The people as a table of the engine."""
    columns = dict(zip(("who", "city", "ill", "visits"), zip(*rows, strict=True), strict=True))
    data = pa.table({name: list(values) for name, values in columns.items()} | {"income": [0.5] * len(rows)})
    engine.load(name, data)
    return Table(CARD, engine, sqlglot.exp.select(*map(sql.column, data.column_names)).from_(sql.table(name)))
