"""Releases made by hand, for attacks: a known table, masked rows in another order, and the links between them."""

from functools import cache

import numpy as np
import pyarrow as pa

import discreet as dc

N = 400


@cache
def people(n=N, seed=1, nulls=False):
    """People with three correlated numbers, a date and a text."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=n)
    income = np.exp(base + rng.normal(size=n))
    rows = pa.table(
        {
            "age": pa.array(np.round(40 + 10 * base + 5 * rng.normal(size=n)).astype(int)),
            "income": pa.array(income, mask=np.arange(n) % 10 == 0 if nulls else None),
            "height": pa.array(170 + 10 * rng.normal(size=n)),
            "born": pa.array(rng.integers(0, 20_000, n).astype("int32")).cast(pa.date32()),
            "town": pa.array(rng.choice(["a", "b", "c", None] if nulls else ["a", "b", "c"], n).tolist(), pa.string()),
        }
    )
    return known(rows)


def known(rows, **roles):
    """A table whose columns are all known to the attacker, unless another role is given."""
    kinds = {"int64": dc.Kind.INTEGER, "double": dc.Kind.REAL, "date32[day]": dc.Kind.DATE, "string": dc.Kind.TEXT}
    columns = tuple(
        dc.Column(field.name, kinds[str(field.type)], roles.get(field.name, dc.Role.QUASI)) for field in rows.schema
    )
    return dc.read(rows, card=dc.Card("people", columns))


def release(rows, method="by hand", seed=2, **parameters):
    """A release of ``rows`` in random order, and its links."""
    links = np.random.default_rng(seed).permutation(rows.num_rows)
    return dc.Release(rows.take(links), dc.Statement(unit="a row"), dc.Recipe(method, parameters)), links


def strangers(table, seed=3):
    """Rows with the same columns, each shuffled by itself: nothing is left of anybody."""
    rng = np.random.default_rng(seed)
    rows = table.fetch()
    return pa.table({name: rows[name].take(rng.permutation(rows.num_rows)) for name in rows.column_names})


def noisy(table, alpha, names, seed=4, covariance=None):
    """The rows with normal noise on ``names``, and what a recipe says of it."""
    rng = np.random.default_rng(seed)
    rows = table.fetch()
    spread = np.array([rows[name].to_numpy().std() for name in names])
    covariance = np.diag((alpha * spread) ** 2) if covariance is None else covariance
    noise = rng.multivariate_normal(np.zeros(len(names)), covariance, rows.num_rows)
    for place, name in enumerate(names):
        at = rows.column_names.index(name)
        rows = rows.set_column(at, name, pa.array(rows[name].to_numpy() + noise[:, place]))
    said = {
        "columns": list(names),
        "alpha": alpha,
        "noise_variance": dict(zip(names, np.diag(covariance).tolist(), strict=True)),
    }
    return rows, said


def swapped(rows, p, names, seed=5):
    """Rank swapping by the book: each value with one of the next p % of ranks."""
    rng = np.random.default_rng(seed)
    count = rows.num_rows
    reach = max(1, int(p / 100 * count))
    for name in names:
        values = rows[name].to_numpy()
        order = np.argsort(values, kind="stable")
        ranked, free = values[order], np.ones(count, bool)
        for rank in range(count):
            if free[rank]:
                free[rank] = False
                others = rank + 1 + np.flatnonzero(free[rank + 1 : rank + 1 + reach])
                if len(others):
                    other = rng.choice(others)
                    free[other] = False
                    ranked[[rank, other]] = ranked[[other, rank]]
        made = np.empty_like(values)
        made[order] = ranked
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(made))
    return rows
