"""People whose debts follow a rule that a tree can tell, and a tree that is grown in the slowest and plainest way."""

from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.engines.read import read

CARD = Card(
    "credit",
    (
        Column("name", Kind.TEXT, Role.IDENTIFIER),
        Column("age", Kind.INTEGER, Role.QUASI, bounds=(20, 80)),
        Column("income", Kind.REAL, Role.QUASI, bounds=(0, 100)),
        Column("job", Kind.TEXT, Role.QUASI, categories=("none", "clerk", "farmer")),
        Column("default", Kind.TEXT, Role.SENSITIVE, categories=("no", "yes")),
    ),
)
TEST = {"column": "income", "test": "<", "value": 20.0}
PLANTED = {
    "kind": "tree",
    "target": "default",
    "tree": TEST
    | {
        "yes": {"column": "job", "test": "=", "value": "none", "yes": {"answer": "yes"}, "no": {"answer": "no"}},
        "no": {"answer": "no"},
    },
}
"""Who earns little and has no job does not pay back; one in twenty does otherwise."""


def rows(count=1500, seed=1):
    draw = np.random.default_rng(seed)
    age = draw.integers(20, 81, count)
    income = np.round(draw.uniform(0, 100, count), 1)
    job = draw.choice(["none", "clerk", "farmer"], count)
    truth = ((income < 20) & (job == "none")) ^ (draw.random(count) < 1 / 20)
    names = [f"p{one}" for one in range(count)]
    return pa.table({"name": names, "age": age, "income": income, "job": job, "default": np.where(truth, "yes", "no")})


@cache
def credit(count=1500):
    return read(rows(count), CARD)


def in_order(table):
    """The rows as tuples, in the order in which evidence numbers people: by values, as the card lists them."""
    places = {"job": ("none", "clerk", "farmer"), "default": ("no", "yes")}
    held = table.fetch().select(["age", "income", "job", "default"]).to_pylist()
    coded = [tuple(places[k].index(v) if k in places else v for k, v in row.items()) for row in held]
    order = sorted(range(len(held)), key=coded.__getitem__)
    return [held[one] for one in order]


def thresholds(grid=10):
    ages = sorted({-(-(20 * grid + 60 * j) // grid) for j in range(1, grid)})
    tests = [("age", "<", one) for one in ages]
    tests += [("income", "<", float(f"{100 * j / grid:.12g}")) for j in range(1, grid)]
    return tests + [("job", "=", one) for one in ("none", "clerk", "farmer")]


def passes(row, test):
    column, how, value = test
    return row[column] < value if how == "<" else row[column] == value


def slow_tree(people, depth=3, gain=Fraction(5, 1000)):
    """The same tree by brute force, in fractions: nothing of it is shared with what is tested."""
    return {"kind": "tree", "target": "default", "tree": _grown(people, depth, gain * len(people), len(people))}


def _grown(people, depth, gain, total):
    answer = {"answer": max(("no", "yes"), key=lambda one: sum(row["default"] == one for row in people))}
    best = None
    for test in thresholds():
        yes = [row for row in people if passes(row, test)]
        no = [row for row in people if not passes(row, test)]
        if min(len(yes), len(no)) * 100 < total:
            continue
        pure = _pure(yes) + _pure(no)
        if best is None or pure > best[0]:
            best = pure, test, yes, no
    if depth == 0 or best is None or best[0] - _pure(people) <= gain:
        return answer
    _, (column, how, value), yes, no = best
    below = [_grown(side, depth - 1, gain, total) for side in (yes, no)]
    if below[0] == below[1]:
        return below[0]
    return {"column": column, "test": how, "value": value, "yes": below[0], "no": below[1]}


def _pure(people):
    counts = [sum(row["default"] == one for row in people) for one in ("no", "yes")]
    return Fraction(sum(one * one for one in counts), max(len(people), 1))
