"""People of mixed columns, and what may be made of them: a copy, another sample, strangers, columns one by one."""

from functools import cache

import numpy as np
import pyarrow as pa

import discreet as dc

N = 800


@cache
def people(seed=1, n=N):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=n)
    age = np.round(40 + 10 * base + 4 * rng.normal(size=n)).astype(int)
    ill = np.where(base + 0.4 * rng.normal(size=n) > 0.4, "yes", "no")
    rows = pa.table(
        {
            "age": pa.array(age),
            "cost": pa.array(np.exp(base + 0.5 * rng.normal(size=n)), mask=np.arange(n) % 13 == 0),
            "seen": pa.array((18_000 + 100 * base + 50 * rng.normal(size=n)).astype("int32")).cast(pa.date32()),
            "town": pa.array(np.where(rng.random(n) < 0.6, np.where(base > 0, "a", "b"), "c").tolist()),
            "ill": pa.array(ill.tolist()),
        }
    )
    columns = (
        dc.Column("age", dc.Kind.INTEGER, dc.Role.QUASI),
        dc.Column("cost", dc.Kind.REAL),
        dc.Column("seen", dc.Kind.DATE),
        dc.Column("town", dc.Kind.TEXT, dc.Role.QUASI, categories=("c", "b", "a")),
        dc.Column("ill", dc.Kind.TEXT, dc.Role.SENSITIVE),
    )
    return dc.read(rows, card=dc.Card("people", columns))


def copy(table):
    return table.payload()


def sample(table, seed=5, rows=None):
    """As many rows drawn with replacement."""
    mine = table.payload()
    return mine.take(np.random.default_rng(seed).integers(0, mine.num_rows, rows or mine.num_rows))


def one_by_one(table, seed=6):
    """Every column shuffled by itself."""
    rng, mine = np.random.default_rng(seed), table.payload()
    return pa.table({name: mine[name].take(rng.permutation(mine.num_rows)) for name in mine.column_names})


def release(rows, method="synthesize", **said):
    return dc.Release(rows, dc.Statement(unit="person"), dc.Recipe(method, said), title="people, synthetic")
