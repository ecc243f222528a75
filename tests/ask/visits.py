"""A small bounded table with everything a question can meet, and answers without noise."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.sql import arrow_type
from discreet.core.table import Table
from discreet.noise.entropy import Entropy

CARD = Card(
    "visits",
    (
        Column("person", Kind.INTEGER),
        Column("age", Kind.INTEGER, bounds=(0, 120)),
        Column("change", Kind.INTEGER, bounds=(-51, 50)),
        Column("income", Kind.REAL, bounds=(0.0, 1000.0)),
        Column("paid", Kind.DECIMAL, bounds=(Decimal(-100), Decimal(100))),
        Column("city", Kind.TEXT, categories=("Oslo", "it's", "Ümeå", "Nowhere")),
        Column("grade", Kind.INTEGER, categories=(1, 2, 3, 5)),
        Column("member", Kind.BOOLEAN, categories=(False, True)),
        Column("born", Kind.DATE, bounds=(dt.date(1920, 1, 1), dt.date(2020, 12, 31))),
        Column("seen", Kind.TIMESTAMP),
        Column("note", Kind.TEXT),
    ),
    unit="person",
    rows_per_unit=3,
)
PEOPLE_CARD = Card(
    "people",
    (
        Column("person", Kind.INTEGER),
        Column("home", Kind.TEXT, categories=("Oslo", "it's", "Ümeå")),
        Column("height", Kind.REAL, bounds=(0.5, 2.5)),
    ),
    unit="person",
    rows_per_unit=1,
)
TOWNS_CARD = Card(
    "towns",
    (
        Column("town", Kind.TEXT, categories=("Oslo", "it's", "Rome")),
        Column("land", Kind.TEXT, categories=("north", "south", "nowhere")),
        Column("size", Kind.INTEGER, bounds=(0, 9)),
        Column("far", Kind.REAL, bounds=(-1.0, 7.0)),
        Column("since", Kind.DATE),
    ),
    public=True,
)
TOWNS = [
    ("Oslo", "north", 5, 0.1, dt.date(1048, 1, 1)),
    ("it's", "south", 3, None, dt.date(1900, 2, 28)),
    ("it's", "north", None, 6.7, dt.date(1048, 1, 1)),
    ("Rome", "south", 9, 3.3, None),
    (None, "nowhere", 1, 1.0, None),
]
PEOPLE = 14
MORE = [
    (i + 2, None if i % 5 == 4 else ("Oslo", "it's", "Ümeå")[i % 3], None if i == 3 else 1.5 + 0.07 * i)
    for i in range(PEOPLE)
]
ROWS = [
    (
        i % PEOPLE,
        None if i % 11 == 5 else 7 * i % 121,
        13 * i % 102 - 51,
        None if i % 9 == 4 else 0.1 + 271.31 * i % 999,
        None if i % 10 == 3 else Decimal(37 * i % 20000 - 9000) / 100,
        None if i % 12 == 7 else ("Oslo", "it's", "Ümeå")[i * i % 3],
        (1, 2, 3)[i % 3],
        None if i % 8 == 1 else i % 5 < 2,
        None if i % 13 == 9 else dt.date(1940, 2, 28) + dt.timedelta(days=701 * i),
        dt.datetime(2024, 2, 28, 23, 59) + dt.timedelta(hours=7 * i, minutes=i),
        None if i % 14 == 2 else ("", "Flu", "flu ", "cold%", "naïve", "back\\slash", "a_b")[i % 7],
    )
    for i in range(3 * PEOPLE)
]


TABLES = {"visits": (CARD, ROWS), "people": (PEOPLE_CARD, MORE), "towns": (TOWNS_CARD, TOWNS)}


def columns(card: Card, rows: Iterable[tuple[object, ...]]) -> pa.Table:
    """Rows in the types of a card's columns; decimals have two digits behind the point."""
    values = list(zip(*rows, strict=True)) or [()] * len(card.columns)
    types = [arrow_type(column.kind, scale=2) for column in card.columns]
    names = [column.name for column in card.columns]
    return pa.table([pa.array(list(one), type_) for one, type_ in zip(values, types, strict=True)], names=names)


def loaded(engine: Engine, card: Card, rows: Iterable[tuple[object, ...]], name: str) -> Table:
    """A table of these rows on an engine. They must keep what the card promises."""
    engine.load(name, columns(card, rows))
    shown = [sql.column(column.name) for column in card.columns]
    return Table(card, engine, exp.select(*shown).from_(sql.table(name)))


class Silent(Entropy):
    """Every noise drawn from it is zero, and every choice is the likeliest: for tests of what noise is added to."""

    def __init__(self) -> None:
        self._turn = 0

    def bits(self, count: int) -> int:
        return 0

    def below(self, n: int) -> int:
        return self._turn % n

    def flip_exp_ratio(self, a: int, b: int) -> bool:
        return a == 0

    def flip_exp(self, x: Fraction) -> bool:
        self._turn = 0 if x == 0 else self._turn + 1
        return x == 0
