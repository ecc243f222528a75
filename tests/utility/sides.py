"""A small table of people, and what may become of it: each returns rows in another order, and their links."""

from functools import cache

import numpy as np
import pyarrow as pa

import discreet as dc

N = 400
NUMBERS = ("age", "weight", "income")


@cache
def people(nulls=False):
    rng = np.random.default_rng(1)
    base = rng.normal(size=N)
    age = 40 + 10 * base + 5 * rng.normal(size=N)
    rows = {
        "age": pa.array(age),
        "weight": pa.array(70 + 8 * base + 6 * rng.normal(size=N), mask=np.arange(N) % 9 == 0 if nulls else None),
        "income": pa.array(np.exp(base + rng.normal(size=N))),
        "town": pa.array(rng.choice(["a", "b", "c"], N).tolist()),
        "ill": pa.array(np.where(age + 5 * rng.normal(size=N) > 40, "yes", "no").tolist()),
    }
    kinds = dict.fromkeys(NUMBERS, dc.Kind.REAL)
    if nulls:
        rows |= {"same": pa.array(np.full(N, 3.0))}
        kinds["same"] = dc.Kind.REAL
    columns = tuple(
        dc.Column(n, kinds.get(n, dc.Kind.TEXT), dc.Role.SENSITIVE if n == "ill" else dc.Role.QUASI) for n in rows
    )
    return dc.read(pa.table(rows), card=dc.Card("people", columns))


def shuffled(rows, seed=2):
    links = np.random.default_rng(seed).permutation(rows.num_rows)
    return rows.take(links), links


def noisy(table, alpha, seed=3):
    """Noise of ``alpha`` standard deviations on the numbers."""
    rng = np.random.default_rng(seed)
    rows = table.payload()
    for name in NUMBERS:
        values = rows[name].to_numpy()
        made = values + alpha * values.std() * rng.normal(size=len(values))
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(made))
    return shuffled(rows)


def strangers(table, seed=4):
    """Every column shuffled by itself."""
    rng = np.random.default_rng(seed)
    rows = table.payload()
    made = pa.table({name: rows[name].take(rng.permutation(rows.num_rows)) for name in rows.column_names})
    return shuffled(made)


def elsewhere(table, seed=5):
    """Numbers far away that go against each other, one town, and who is ill by lot."""
    rng = np.random.default_rng(seed)
    rows, base = {}, rng.random(N)
    for place, name in enumerate(NUMBERS):
        values = table.payload()[name].to_numpy()
        far = 2 + (-1) ** place * base + 0.1 * rng.random(N)
        rows[name] = pa.array(values.max() + 20 * values.std() * far)
    made = pa.table(rows | {"town": pa.array(["d"] * N), "ill": pa.array(rng.choice(["yes", "no"], N).tolist())})
    return shuffled(made)
