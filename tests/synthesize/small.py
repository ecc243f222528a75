"""A small table with a column of every kind, and bits that can be repeated."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind

EVERY_KIND = Card(
    "people",
    (
        Column("sex", Kind.TEXT, Role.QUASI, categories=("F", "M")),
        Column("age", Kind.INTEGER, Role.QUASI, bounds=(0, 110), required=True),
        Column("cost", Kind.DECIMAL, bounds=(Decimal(0), Decimal("999.99"))),
        Column("change", Kind.REAL, bounds=(-1.0, 3.0)),
        Column("day", Kind.DATE, bounds=(dt.date(2020, 1, 1), dt.date(2026, 1, 1))),
        Column("moment", Kind.TIMESTAMP, bounds=(dt.datetime(2020, 1, 1), dt.datetime(2026, 1, 1))),
        Column("member", Kind.BOOLEAN),
        Column("dose", Kind.DECIMAL, categories=(Decimal("0.5"), Decimal("1.25"), Decimal(2))),
        Column("grade", Kind.INTEGER, bounds=(1, 6)),
    ),
)
