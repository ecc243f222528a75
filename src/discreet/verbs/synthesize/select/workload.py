"""The workload: the marginals that synthetic data should be right about, and what measuring others tells of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

Columns: TypeAlias = tuple[int, ...]

USUAL_ERROR = math.sqrt(2 / math.pi)
"""The mean of the absolute value of Gaussian noise, as a part of its standard deviation."""


def ways(columns: int, k: int) -> list[Columns]:
    """All sets of k columns."""
    return list(itertools.combinations(range(columns), k))


def closure(workload: Iterable[Columns]) -> list[Columns]:
    """The sets of the workload and all sets within them, the smallest first."""
    found = {part for one in workload for k in range(1, len(one) + 1) for part in itertools.combinations(one, k)}
    return sorted(found, key=lambda columns: (len(columns), columns))


def relevance(candidate: Columns, workload: Iterable[Columns]) -> int:
    """Relevance of a candidate to the workload: columns in common, over all sets of the workload."""
    inside = set(candidate)
    return sum(len(inside.intersection(one)) for one in workload)


def size(sizes: Sequence[int], columns: Columns) -> int:
    """Number of cells of a marginal."""
    return math.prod(sizes[column] for column in columns)
