"""t-closeness: the distribution of sensitive values in a class is close to that in the whole table."""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.card import Column
from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.exact import Number
from discreet.core.families import MODELS
from discreet.core.hierarchy.hierarchy import codes
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import CATEGORICAL
from discreet.errors import BadInput
from discreet.models.classes import Classes, Flags, Integers, Spread
from discreet.models.exact_compare import Floats, Whole, at_most, plain, quotient, wide
from discreet.models.model import Model


class Distance(Enum):
    """Distance between two values, from 0 to 1."""

    EQUAL = "equal"
    """All different values are 1 apart."""
    ORDERED = "ordered"
    """By rank among the values that occur: (i - j) / (m - 1). NULL ranks after the largest."""
    HIERARCHICAL = "hierarchical"
    """By the level at which the column's hierarchy brings them together, over its height. NULL meets others at the
    top."""


@declare(
    MODELS,
    "t-closeness",
    example="t=0.2",
    spelled="[{distance} ]t={t}[ on {on}]",
    paper="Li, Li and Venkatasubramanian 2007",
    init=False,
)
class TCloseness(Model):
    """Values in each class are distributed within distance t of the whole table (Li, Li, Venkatasubramanian 2007).

    The distance between distributions is the earth mover's: how much has to be moved how far. ``distance`` says how far
    values are apart; by default, ordered for numbers, dates and columns with an ``Ordered`` hierarchy; hierarchical for
    texts and codes with another one; else equal. Figures are quotients of whole numbers, and compared as such.

    Why this is private: what an intruder learns from a class, beyond what the whole table tells everyone, is at most
    t. The whole table is taken to be public.

    Monotone: the earth mover's distance to a fixed distribution is convex, so that of a mixture is at most the larger
    of its parts'. Suppressing classes changes the whole, so a class that was close may then not be: see ``settled``.
    """

    t: Fraction = parameter("Maximum distance between the distributions in a class and in the table.", least=0, most=1)
    on: str = parameter("Sensitive column; default: the only one on the card.", column="sensitive")
    distance: Distance | None = parameter("Distance between values; default: by the column's kind.", default=None)
    _trees: dict[int, tuple[pa.Array[Any], list[Integers]]] = field(init=False, repr=False, compare=False)

    meaning = "largest distance from the table"

    def __init__(self, t: Number, on: str, distance: Distance | str | None = None) -> None:
        check_parameters(self, t=t, on=on, distance=distance)
        object.__setattr__(self, "_trees", {})

    @property
    def claim_text(self) -> str:
        by = f" by {self.distance.value} distance" if self.distance else ""
        return f"{plain(self.t)}-close on {self.on}{by}"

    def figures(self, classes: Classes) -> Floats:
        return quotient(*self._moved(classes))

    def breaking(self, classes: Classes) -> Flags:
        return ~at_most(*self._moved(classes), self.t)

    def _moved(self, classes: Classes) -> tuple[Whole, Whole]:
        """For each class, numerator and denominator of its earth mover's distance from the table."""
        spread = classes.spread(self.on)
        if not len(spread.counts):
            return np.zeros(0, np.int64), np.ones(0, np.int64)
        distance = self.distance or usual_distance(spread.column)
        occurring = np.flatnonzero(spread.whole)
        ranks = np.searchsorted(occurring, spread.codes)
        if distance is Distance.ORDERED:
            steps = max(len(occurring) - 1, 1)
            moved = _along(spread, classes.sizes, ranks, spread.whole[occurring])
        else:
            levels = self._levels(spread) if distance is Distance.HIERARCHICAL else [np.arange(len(spread.domain))]
            steps = len(levels)
            moved = np.sum([_across(spread, classes.sizes, nodes) for nodes in levels], axis=0)
        rows = classes.rows
        sizes, moved = wide(classes.sizes, moved, most=rows * rows * steps)
        return moved, sizes * rows * steps

    def _levels(self, spread: Spread) -> list[Integers]:
        """For each level below the top, the node that each value is under."""
        known = self._trees.get(id(spread.domain))
        if known is None or known[0] is not spread.domain:
            if spread.column.hierarchy is None:
                raise BadInput(
                    f"{self.on} has no hierarchy to measure distances by.",
                    hint="Declare one on the card, or use equal or ordered distance.",
                )
            found = codes(spread.column.hierarchy, spread.column.kind, spread.domain)
            self._trees.clear()
            known = spread.domain, [level.astype(np.int64) for level in found.codes[:-1]]
            self._trees[id(spread.domain)] = known
        return known[1]


def usual_distance(column: Column) -> Distance:
    """The distance that fits a column, by its kind and hierarchy."""
    if isinstance(column.hierarchy, Ordered):
        return Distance.ORDERED
    if isinstance(column.hierarchy, Taxonomy):
        return Distance.HIERARCHICAL
    if column.kind in CATEGORICAL:
        return Distance.EQUAL if column.hierarchy is None else Distance.HIERARCHICAL
    return Distance.ORDERED


def _across(spread: Spread, sizes: Integers, nodes: Integers) -> Whole:
    """Mass to move between nodes: the excess of a class in each, times its size and the number of rows.

    Values that meet at level i of h are i / h apart: what is moved between them changes nodes on levels 0 to i - 1, and
    pays 1 / h on each. So the hierarchical distance is the mean over the levels of the equal distance between nodes.
    """
    rows, width = int(sizes.sum()), int(nodes.max(initial=0)) + 1
    whole = np.zeros(width, dtype=np.int64)
    np.add.at(whole, nodes, spread.whole)
    lines, place = np.unique(spread.classes * width + nodes[spread.codes], return_inverse=True)
    counts = np.zeros(len(lines), dtype=np.int64)
    np.add.at(counts, place, spread.counts)
    counts, sizes, whole = wide(counts, sizes, whole, most=rows * rows)
    classes = lines // width
    over = np.maximum(counts * rows - whole[lines % width] * sizes[classes], 0)
    return np.add.reduceat(over, np.flatnonzero(np.diff(classes, prepend=-1)))


def _along(spread: Spread, sizes: Integers, ranks: Integers, whole: Integers) -> Whole:
    """Mass to move along the ranks: the sum over ranks of |class's share up to it - whole's share up to it|.

    Times the class's size and all rows. Between two values of a class its share stays the same while the whole's
    grows, so that each stretch is two sums: up to where the whole overtakes, and from there.
    """
    rows = int(sizes.sum())
    counts, sizes, whole = wide(spread.counts, sizes, whole, most=rows * rows * (len(whole) + 1))
    up_to = np.cumsum(whole)
    sums = np.concatenate([np.zeros(1, up_to.dtype), np.cumsum(up_to)])
    size = sizes[spread.classes]
    total = np.cumsum(counts)
    before = total[spread.starts] - counts[spread.starts]
    reached = total - before[spread.classes]
    last = np.append(spread.starts[1:], len(ranks)) - 1
    ends = np.append(ranks[1:], 0)
    ends[last] = len(whole)
    overtakes = np.searchsorted(up_to, -(-(reached * rows) // size))
    middle = np.clip(overtakes, ranks, ends)
    behind = reached * rows * (middle - ranks) - size * (sums[middle] - sums[ranks])
    ahead = size * (sums[ends] - sums[middle]) - reached * rows * (ends - middle)
    return np.asarray(np.add.reduceat(behind + ahead, spread.starts) + sizes * sums[ranks[spread.starts]])
