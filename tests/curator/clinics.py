"""A small clinic to ask, and a big one."""

import numpy as np
import pyarrow as pa

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.loss import Approximate
from discreet.curator.curator import Curator

CARD = Card(
    "visits",
    (
        Column("patient", Kind.INTEGER, Role.IDENTIFIER),
        Column("name", Kind.TEXT, Role.IDENTIFIER),
        Column("city", Kind.TEXT, Role.QUASI, categories=("Rome", "Milan", "Turin")),
        Column("street", Kind.TEXT, Role.QUASI),
        Column("income", Kind.REAL, Role.SENSITIVE, bounds=(0.0, 1000.0)),
    ),
    unit="patient",
    rows_per_unit=2,
)
BUDGET = Approximate(3, "1e-6")
COUNT = "SELECT COUNT(*) AS n FROM visits"
CITIES = "SELECT city, COUNT(*) AS n, AVG(income) AS income FROM visits GROUP BY city"


def visits(people=500):
    """Three visits of everyone, one more than counts."""
    who = np.repeat(np.arange(people), 3)
    return pa.table(
        {
            "patient": who,
            "name": [f"n{one}" for one in who],
            "city": [("Rome", "Milan", "Turin")[one % 3] for one in who],
            "street": [f"street {one % 7}" for one in who],
            "income": np.arange(len(who)) % 1000.0,
        }
    )


def clinic(folder, budget=BUDGET, **options):
    return Curator.create(folder, {"visits": (visits(), CARD)}, budget, **options)
