"""Full-domain generalisation the slow way, in plain Python: every combination of levels, every row, every model.

Shares nothing with what it checks but the names of models and measures.
"""

import itertools
import math
import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.hierarchy import LevelCodes
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.models.classes import Spread
from discreet.utility.quality import Classification, ClassSize, Discernibility, Entropy, Granularity, Precision
from discreet.verbs.publish.tuples import Tuples


@dataclass(frozen=True)
class Case:
    """Rows of quasi-identifiers and one sensitive value, and for each column the labels of each value upwards."""

    rows: tuple[tuple[tuple[str | None, ...], str], ...]
    paths: tuple[dict[str, tuple[str, ...]] | None, ...]

    @property
    def names(self):
        return [f"q{i}" for i in range(len(self.paths))]

    @property
    def heights(self):
        return [1 if paths is None else len(next(iter(paths.values()))) for paths in self.paths]

    def card(self):
        columns = [
            Column(name, Kind.TEXT, Role.QUASI, hierarchy=None if paths is None else Taxonomy(list(paths.values())))
            for name, paths in zip(self.names, self.paths, strict=True)
        ]
        return Card("case", (*columns, Column("s", Kind.TEXT, Role.SENSITIVE)))

    def data(self):
        columns = {name: pa.array([q[i] for q, _ in self.rows], pa.string()) for i, name in enumerate(self.names)}
        return pa.table(columns | {"s": pa.array([s for _, s in self.rows], pa.string())})

    def tuples(self):
        """The same as a search takes it, put together by hand."""
        counted = Counter(quasi for quasi, _ in self.rows)
        order = sorted(counted, key=lambda quasi: [(value is None, value or "") for value in quasi])
        values, codes, levels, shares = [], [], [], []
        for column, height in enumerate(self.heights):
            own = sorted({quasi[column] for quasi in counted}, key=lambda value: (value is None, value or ""))
            values.append(pa.array(own, pa.string()))
            codes.append([own.index(quasi[column]) for quasi in order])
            labels = [[self.label(column, value, level) for value in own] for level in range(height + 1)]
            first = [list(dict.fromkeys(one)) for one in labels]
            numbers = [[names.index(label) for label in one] for names, one in zip(first, labels, strict=True)]
            levels.append(LevelCodes(np.array(numbers, np.int32), tuple(pa.array(one, pa.string()) for one in first)))
            every = range(height + 1)
            shares.append(np.array([[self.share(column, value, level) for value in own] for level in every]))
        spread = Counter((order.index(quasi), value) for quasi, value in self.rows)
        domain = sorted({value for _, value in self.rows})
        lines = sorted((place, domain.index(value), count) for (place, value), count in spread.items())
        classes, places, counts = (np.array(part, np.int64) for part in zip(*lines, strict=True))
        return Tuples(
            tuple(self.names),
            tuple(values),
            np.array(codes, np.int32),
            np.array([counted[quasi] for quasi in order], np.int64),
            tuple(levels),
            tuple(shares),
            {"s": Spread(self.card()["s"], pa.array(domain), classes, places, counts)},
        )

    def share(self, column, value, level):
        """How much of its domain the label of a value covers."""
        domain = self.domain(column)
        label = self.label(column, value, level)
        under = sum(self.label(column, other, level) == label for other in domain)
        return (under - 1) / max(len(domain) - 1, 1)

    def label(self, column, value, level):
        """None stays None below the top."""
        if level == self.heights[column]:
            return "*"
        if level == 0 or value is None:
            return value
        return self.paths[column][value][level]

    def domain(self, column):
        """All values there are, declared or not."""
        seen = {q[column] for q, _ in self.rows}
        return seen | set(self.paths[column] or ())

    def classes(self, levels):
        """The places of the rows of each class."""
        found = defaultdict(list)
        for place, (quasi, _) in enumerate(self.rows):
            found[tuple(self.label(c, value, levels[c]) for c, value in enumerate(quasi))].append(place)
        return dict(found)


def random_case(rng: random.Random) -> Case:
    """A few columns with taxonomies of any shape, or none; skewed values, some missing."""
    columns = rng.choice([1, 2, 3, 3, 4])
    paths = tuple(_taxonomy(rng, i) if rng.random() < 0.85 else None for i in range(columns))
    pools = [list(known) if known is not None else ["u", "v", "w"] for known in paths]
    missing = rng.choice([0.0, 0.0, 0.15])
    skew = rng.choice([0.3, 1.0, 3.0])
    count = rng.choice([1, 6, 20, 40, 60])

    def draw(pool):
        return None if rng.random() < missing else pool[int(len(pool) * rng.random() ** skew)]

    values = "abcd"[: rng.choice([1, 2, 3, 4, 4])]
    rows = tuple((tuple(draw(pool) for pool in pools), rng.choice(values)) for _ in range(count))
    return Case(rows, paths)


def _taxonomy(rng, column):
    leaves = [f"{column}{letter}" for letter in "abcdefg"[: rng.randint(2, 7)]]
    parts, paths = [[leaf] for leaf in leaves], {leaf: [leaf] for leaf in leaves}
    for level in range(rng.randint(0, 2)):
        merged = defaultdict(list)
        groups = rng.randint(1, len(parts))
        for part in parts:
            merged[rng.randrange(groups)] += part
        parts = list(merged.values())
        for number, part in enumerate(parts):
            for leaf in part:
                paths[leaf].append(f"{column}-{level}-{number}")
    return {leaf: tuple(path) for leaf, path in paths.items()}


def kept_classes(case, levels, holds):
    """The classes that stay when all that break a model go, round after round; ``holds(sensitive values of a class,
    those of all)``."""
    left = case.classes(levels)
    while True:
        everybody = [case.rows[place][1] for places in left.values() for place in places]
        fine = {
            label: places
            for label, places in left.items()
            if all(test([case.rows[place][1] for place in places], everybody) for test in holds)
        }
        if len(fine) == len(left):
            return fine
        left = fine


def best(case, holds, measure, share, choices=None):
    """The least loss of all combinations of levels, and those that have it: ``(None, [])`` if none will do."""
    limit = min(math.floor(Fraction(share) * len(case.rows)), len(case.rows) - 1)
    choices = choices or [range(height + 1) for height in case.heights]
    least, found = None, []
    for levels in itertools.product(*choices):
        kept = kept_classes(case, levels, holds)
        gone = len(case.rows) - sum(map(len, kept.values()))
        if gone > limit:
            continue
        loss = measure(case, levels, kept)
        if least is None or loss < least - 1e-9:
            least, found = loss, [levels]
        elif abs(loss - least) <= 1e-9:
            found.append(levels)
    return least, found


# Models: does a class hold them?


def at_least(k):
    return lambda values, everybody: len(values) >= k


def distinct(l):  # noqa: E741
    return lambda values, everybody: len(set(values)) >= l


def entropy(l):  # noqa: E741
    def test(values, everybody):
        n = len(values)
        product = math.prod(c**c for c in Counter(values).values())
        return product * l**n <= n**n

    return test


def recursive(c, l):  # noqa: E741
    def test(values, everybody):
        counts = sorted(Counter(values).values(), reverse=True)
        return len(counts) >= l and counts[0] < Fraction(c) * sum(counts[l - 1 :])

    return test


def share_at_most(alpha, k):
    return lambda values, everybody: len(values) >= k and max(Counter(values).values()) <= Fraction(alpha) * len(values)


def close(t):
    def test(values, everybody):
        here, whole = Counter(values), Counter(everybody)
        apart = sum(abs(Fraction(here[v], len(values)) - Fraction(whole[v], len(everybody))) for v in whole)
        return apart / 2 <= Fraction(t)

    return test


def at_most_rows(most):
    return lambda values, everybody: len(values) <= most


# Measures: what is lost?


def granularity(mean):
    def measure(case, levels, kept):
        staying = {place for places in kept.values() for place in places}
        columns = []
        for column, level in enumerate(levels):
            shares = {value: case.share(column, value, level) for value in case.domain(column)}
            total = sum(shares[q[column]] if place in staying else 1 for place, (q, _) in enumerate(case.rows))
            columns.append(total / len(case.rows))
        if mean == "geometric":
            return math.prod(1 + x for x in columns) ** (1 / len(columns)) - 1
        return sum(columns) / len(columns)

    return measure


def precision(case, levels, kept):
    staying = sum(map(len, kept.values()))
    height = sum(level / top for level, top in zip(levels, case.heights, strict=True)) / len(levels)
    return (staying * height + len(case.rows) - staying) / len(case.rows)


def bits(case, levels, kept):
    staying = {place for places in kept.values() for place in places}
    total = 0.0
    for column, level in enumerate(levels):
        values = [quasi[column] for quasi, _ in case.rows]
        labels = [case.label(column, value, level) for value in values]
        of_value, of_label = Counter(values), Counter(labels)
        total -= sum(math.log2(of_value[v] / of_label[label]) for v, label in zip(values, labels, strict=True))
        gone = Counter(label for place, label in enumerate(labels) if place not in staying)
        total -= sum(count * math.log2(count / gone.total()) for count in gone.values())
    return total


def discernibility(case, levels, kept):
    staying = sum(map(len, kept.values()))
    return sum(len(places) ** 2 for places in kept.values()) + (len(case.rows) - staying) * len(case.rows)


def class_size(case, levels, kept):
    staying = sum(map(len, kept.values()))
    return len(case.rows) / (len(kept) + (staying < len(case.rows)))


def wrong(case, levels, kept):
    right = sum(max(Counter(case.rows[place][1] for place in places).values()) for places in kept.values())
    return (len(case.rows) - right) / len(case.rows)


MEASURES = [
    (Granularity(), granularity("arithmetic")),
    (Granularity("geometric"), granularity("geometric")),
    (Precision(), precision),
    (Entropy(), bits),
    (Discernibility(), discernibility),
    (ClassSize(), class_size),
    (Classification("s"), wrong),
]
