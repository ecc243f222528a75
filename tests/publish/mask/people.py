"""A table with a column of every kind, missing values and a constant, for tests of masking."""

import datetime as dt
from base64 import b64decode
from decimal import Decimal
from functools import cache
from re import findall

import numpy as np
import pyarrow as pa

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.engines.read import read

CARD = Card(
    "people",
    (
        Column("id", Kind.INTEGER, Role.IDENTIFIER),
        Column("age", Kind.INTEGER, Role.QUASI),
        Column("weight", Kind.REAL, Role.QUASI),
        Column("height", Kind.REAL, Role.QUASI),
        Column("income", Kind.DECIMAL, Role.QUASI),
        Column("born", Kind.DATE, Role.QUASI),
        Column("seen", Kind.TIMESTAMP, Role.OTHER),
        Column("town", Kind.TEXT, Role.QUASI),
        Column("smokes", Kind.BOOLEAN, Role.SENSITIVE),
        Column("same", Kind.REAL, Role.OTHER),
    ),
)
MONEY, MOMENT = pa.decimal128(38, 2), pa.timestamp("us")


def rows(count=400, seed=1):
    draw = np.random.default_rng(seed)
    height = draw.normal(170, 9, count)
    weight = 0.9 * (height - 100) + draw.normal(0, 6, count)
    age = draw.integers(18, 90, count)
    gap = np.arange(count) % 17 == 3
    first = dt.date(1950, 1, 1)
    moment = dt.datetime(2020, 1, 1)
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "age": pa.array(age, pa.int64(), mask=gap),
            "weight": pa.array(weight, mask=np.roll(gap, 1)),
            "height": pa.array(height),
            "income": pa.array([Decimal(int(x)).scaleb(-2) for x in draw.lognormal(12, 1, count)], MONEY),
            "born": pa.array([first + dt.timedelta(int(d)) for d in draw.integers(0, 20_000, count)], pa.date32()),
            "seen": pa.array([moment + dt.timedelta(seconds=int(s)) for s in draw.integers(0, 10**7, count)], MOMENT),
            "town": pa.array(
                [("Linz", "Graz", "Wien", "Ried")[t] for t in draw.integers(0, 4, count)], pa.string(), mask=gap
            ),
            "smokes": pa.array(draw.random(count) < 0.3),
            "same": pa.array(np.full(count, 7.5)),
        }
    )


@cache
def people(count=400, seed=1):
    return read(rows(count, seed), CARD)


def drawn(page):
    """The drawings of a page, as text."""
    return "".join(b64decode(one).decode() for one in findall(r"base64,([A-Za-z0-9+/=]+)", page))
