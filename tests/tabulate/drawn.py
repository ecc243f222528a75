"""Tables drawn at random, small and of many shapes: one to three sides, some with totals within totals."""

from dataclasses import replace
from functools import cache

import numpy as np

from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, summed

SHAPES = 60


def drawn(seed, *, sides=None, codes=4, most=40, least=0, nested=0.4):
    """The cells of one table; ``nested`` is how often a side has totals within its total."""
    shape = empty(seed % SHAPES, sides, codes, nested)
    dimensions = shape.tables[0].dimensions
    inner = np.random.default_rng(seed).integers(least, most, size=[len(one.leaves) for one in dimensions])
    table = CrossTable(dimensions, summed(dimensions, inner))
    lower = np.full(len(shape), 0.0 if inner.min() >= 0 else -np.inf)
    return replace(shape, values=table.values.ravel(), tables=(table,), lower=lower)


@cache
def empty(seed, sides, codes, nested):
    """The cells of a table of zeros."""
    rng = np.random.default_rng(seed)
    count = sides or int(rng.integers(1, 4))
    drawn_sides = (side(rng, "abc"[n], int(rng.integers(2, codes + 1)), rng.random() < nested) for n in range(count))
    dimensions = tuple(drawn_sides)
    return Cells.of(CrossTable(dimensions, np.zeros([len(one) for one in dimensions], np.int64)))


def side(rng, name, codes, nested):
    if not nested:
        return Dimension.flat(name, [f"{name}{code}" for code in range(codes)])
    groups = np.sort(rng.integers(2, size=codes))
    return Dimension.from_paths(name, [(f"{name}{code}", f"{name}-{group}") for code, group in enumerate(groups)])


def relations_hold(cells, values):
    return values.dtype == np.int64 and not (cells.relations.astype(np.int64) @ values).any()
