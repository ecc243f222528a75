"""A private Bayesian network: every column given a few others, its parents (PrivBayes).

Zhang, Cormode, Procopiuc, Srivastava, Xiao 2014. Columns join one at a time; which one, and with which parents among
those that are in already, is chosen by how far the counts are from what they would be if the column did not depend on
the parents. The paper's score, mutual information, may change by about ln n / n when one row changes, and two of the
distributions in its better scores are the data's own. Here the counts are compared with what is known *without* the
data: the model's counts of the parents times the column's measured shares. So only one side of the distance moves, by
one for each row that comes or goes.

Parents are taken from within one clique of the tree so far. Then the network is a junction tree as it grows, no larger
than its largest family, and it is fitted and drawn from exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.verbs.synthesize.graph.fitting import fit
from discreet.verbs.synthesize.graph.measurement import Measurement
from discreet.verbs.synthesize.graph.model import Model
from discreet.verbs.synthesize.select import independent
from discreet.verbs.synthesize.select.workload import USUAL_ERROR, Columns, size

if TYPE_CHECKING:
    from discreet.verbs.synthesize.spending import Meter

CHOICES = Fraction(1, 8)
"""The part of what is left that is spent on choosing."""
LARGEST = 1 << 20
"""Cells that all families may have together."""
USEFUL = 4.0
"""Fewest rows a cell of a family holds on average, in standard deviations of its noise."""


def select(meter: Meter, known: Sequence[Measurement], parents: int = 3) -> list[Measurement]:
    """Marginals of every column but one with its parents, at most this many.

    Why this is private: it only asks the meter, for shares that add up to what the meter has left. There is one
    choice and one measurement for each column but the first, and those that are too wide to be joined with any (what
    that saves goes to the columns alone); which candidates there are and what they are compared with follows from
    sizes and earlier answers. A score is the distance between true and expected counts
    (the sum of absolute differences), and moves by at most one for each row (``Meter.choose``).
    """
    sizes, found = meter.sizes, list[Measurement]()
    if len(sizes) == 1:
        return independent.select(meter, known)
    choice, share = (part * meter.left / (len(sizes) - 1) for part in (CHOICES, 1 - CHOICES))
    noise = meter.deviation(share)
    model = alone = fit(sizes, known)
    root = max(range(len(sizes)), key=lambda column: sizes[column])
    families: list[Columns] = [(root,)]
    joined = {root}
    while len(joined) < len(sizes):
        limit = model.total / (USEFUL * noise)
        room = LARGEST - sum(size(sizes, family) for family in families)
        candidates = [
            (column, of)
            for column in range(len(sizes))
            if column not in joined
            for of in _parents(sizes, families, column, parents, limit)
            if size(sizes, (column, *of)) <= room
        ]
        if not candidates:  # all that is left is too wide: it begins another tree
            root = max(set(range(len(sizes))) - joined, key=lambda column: sizes[column])
            families.append((root,))
            joined.add(root)
            continue
        wholes = [tuple(sorted((column, *of))) for column, of in candidates]
        at = meter.choose(
            wholes,
            [_independent_counts(model, alone, column, of) for column, of in candidates],
            [1] * len(wholes),
            [USUAL_ERROR * noise * size(sizes, columns) for columns in wholes],
            choice,
        )
        joined.add(candidates[at][0])
        families.append(wholes[at])
        found.append(meter.measure(wholes[at], share))
        model = fit(sizes, [*known, *found], start=model)
    return found + independent.select(meter, known) if meter.left else found


def _parents(
    sizes: tuple[int, ...], families: list[Columns], column: int, most: int, limit: float
) -> Iterator[Columns]:
    """Sets of parents within one family, none within another, that leave enough rows a cell; or single ones."""
    found: set[Columns] = set()
    for k in range(most, 0, -1):
        for family in families:
            for of in itertools.combinations(family, k):
                small = k == 1 or size(sizes, (column, *of)) <= limit
                if small and not any(set(of) <= set(larger) for larger in found):
                    found.add(of)
                    yield of


def _independent_counts(model: Model, alone: Model, column: int, of: Columns) -> NDArray[np.float64]:
    """The counts of a family, in the order of its columns, if the column had nothing to do with its parents."""
    apart = np.multiply.outer(alone.marginal((column,)) / alone.total, model.marginal(of))
    return np.moveaxis(apart, 0, sorted((column, *of)).index(column))
