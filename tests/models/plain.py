"""The models once more, in plain Python on plain rows, written from the papers: what the fast ones are checked against.

A row is (key, value). Figures are of one class: its values, and those of the whole table.
"""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
from scipy.optimize import linprog

from discreet.core.card import Column
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.models.classes import Classes, Spread, domain_of

TREE = Taxonomy.from_tree({"ab": ["a", "b"], "cde": {"cd": ["c", "d"], "e": []}})
PATHS = {path[0]: [*path, "*"] for path in TREE.paths} | {None: [None] * 3 + ["*"]}


def groups(rows):
    """The values of each class, in the order of keys; NULL last."""
    found = {}
    for key, value in rows:
        found.setdefault(key, []).append(value)
    return dict(sorted(found.items(), key=lambda pair: (pair[0] is None, pair[0] or 0)))


def made(rows, column=None, people=None, outside=0):
    """Classes from plain rows, without an engine."""
    column = column or Column("s", Kind.TEXT)
    classes = groups(rows)
    kind = pa.string() if column.kind is Kind.TEXT else pa.int64()
    domain = domain_of(column, pa.array([value for _, value in rows], kind))
    code = {value: place for place, value in enumerate(domain.to_pylist())}
    lines = [
        (place, code[value], count)
        for place, values in enumerate(classes.values())
        for value, count in Counter(values).items()
    ]
    lines = np.array(sorted(lines), dtype=np.int64).reshape(-1, 3)
    spread = Spread(column, domain, lines[:, 0].copy(), lines[:, 1].copy(), lines[:, 2].copy())
    sizes = np.array([len(values) for values in classes.values()], dtype=np.int64)
    labels = pa.table({"q": pa.array(list(classes), pa.int64())})
    population = None if people is None else np.array([people[key] for key in classes], dtype=np.int64)
    return Classes(sizes, {"s": spread}, labels, population, outside)


def entropy(values, _whole):
    share = [count / len(values) for count in Counter(values).values()]
    return math.exp(-sum(p * math.log(p) for p in share))


def recursive(l):  # noqa: E741
    def figure(values, _whole):
        falling = sorted(Counter(values).values(), reverse=True)
        rest = sum(falling[l - 1 :])
        return falling[0] / rest if rest else math.inf

    return figure


def moved(values, whole, distance):
    """The earth mover's distance, as the linear program it is."""
    names = sorted(set(whole), key=lambda value: (value is None, str(value)))
    p, q = Counter(values), Counter(whole)
    cost = [distance(one, other) for one in names for other in names]
    size = len(names)
    rows = []
    for place in range(size):
        rows.append([1.0 if cell // size == place else 0.0 for cell in range(size * size)])
    for place in range(size):
        rows.append([1.0 if cell % size == place else 0.0 for cell in range(size * size)])
    sums = [p[name] / len(values) for name in names] + [q[name] / len(whole) for name in names]
    return linprog(cost, A_eq=rows, b_eq=sums).fun


def equal(values, whole):
    return moved(values, whole, lambda one, other: float(one != other))


def ordered(values, whole):
    rank = {value: place for place, value in enumerate(sorted(set(whole), key=lambda v: (v is None, v)))}
    return moved(values, whole, lambda one, other: abs(rank[one] - rank[other]) / max(len(rank) - 1, 1))


def hierarchical(values, whole):
    def distance(one, other):
        if one == other:
            return 0
        meet = next(level for level in range(1, 4) if PATHS[one][level] == PATHS[other][level] != None)  # noqa: E711
        return meet / 3

    return moved(values, whole, distance)


def gains(values, whole):
    """(q - p) / p of every value of the table, exactly, with p."""
    p, q = Counter(whole), Counter(values)
    for value, count in p.items():
        share = Fraction(count, len(whole))
        yield (Fraction(q[value], len(values)) - share) / share, share


def beta(values, whole):
    return float(max(gain for gain, _ in gains(values, whole)))


def enhanced(values, whole, limit):
    """Whether no gain is above its own bound."""
    return all(gain <= min(limit, -math.log(p)) + 1e-9 for gain, p in gains(values, whole))


def disclosure(values, whole):
    return max(abs(math.log2(gain + 1)) if gain > -1 else math.inf for gain, _ in gains(values, whole))
