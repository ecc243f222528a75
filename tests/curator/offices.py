"""An office whose salaries are audited."""

import numpy as np
import pyarrow as pa

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.loss import Pure
from discreet.curator.curator import Curator

CARD = Card(
    "staff",
    (
        Column("who", Kind.INTEGER, Role.IDENTIFIER),
        Column("city", Kind.TEXT, Role.QUASI),
        Column("age", Kind.INTEGER, Role.QUASI, bounds=(18, 70)),
        Column("salary", Kind.INTEGER, Role.SENSITIVE, bounds=(0, 1_000_000), required=True),
        Column("bonus", Kind.REAL, Role.SENSITIVE, bounds=(0.0, 1e6), required=True),
        Column("paid", Kind.DECIMAL, Role.SENSITIVE, bounds=(0, 9999), required=True),
        Column("ill", Kind.BOOLEAN, Role.SENSITIVE, required=True),
        Column("diagnosis", Kind.TEXT, Role.SENSITIVE),
    ),
    unit="who",
    rows_per_unit=1,
)
WATCHED = {"salary": "sum", "bonus": "extremes", "paid": "sum", "ill": "bounded=1:look"}
BY = ("who", "city", "age")


def staff(people=30, seed=0):
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "who": np.arange(people),
            "city": [("Rome", "Milan", "Turin")[one % 3] for one in range(people)],
            "age": 20 + np.arange(people),
            "salary": random.integers(1000, 9000, people),
            "bonus": random.random(people) * 1000,
            "paid": pa.array([f"{one}.25" for one in range(people)]).cast(pa.decimal128(10, 2)),
            "ill": np.arange(people) % 4 == 1,
            "diagnosis": ["flu"] * people,
        }
    )


def office(folder, data=None, watched=WATCHED, by=BY, **options):
    curator = Curator.create(folder, {"staff": (data or staff(), CARD)}, Pure(3), **options)
    if watched:
        curator.audit("staff", watched, by=by)
    return curator
