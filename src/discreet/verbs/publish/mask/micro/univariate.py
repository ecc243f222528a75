"""The best groups of one column, compiled. Import this where it is needed only.

Hansen and Mukherjee (2003): in the best grouping groups are runs of the sorted values, of k to 2k - 1 each, so the best
is a shortest path over the places where a run may end. Which start is best for an end never moves back as the end moves
on, since the cost of a run obeys the quadrangle inequality; so the ends are done in blocks of k, whose starts are all
known before, and in a block by bisection: k log k steps for k ends, n log k in all.

Sums are taken anew in each block, from its own first value: over the whole column they would drown small differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit

Array = npt.NDArray[Any]


def optimal(values: Array, k: int) -> Array:
    """For each value its group, from 0 in the order of the values; at least ``k`` values, finite."""
    order = np.argsort(values, kind="stable")
    of = np.empty(len(values), np.int64)
    of[order] = _numbered(_starts(values[order], k))
    return of


@njit(cache=True)
def _starts(values: Array, k: int) -> Array:
    """For each end from k on where its last run starts; ends are exclusive."""
    count = len(values)
    cost, start = np.full(count + 1, np.inf), np.zeros(count + 1, np.int64)
    cost[0] = 0.0
    sums, squares = np.zeros(3 * k + 1), np.zeros(3 * k + 1)
    for first in range(k, count + 1, k):
        base, last = max(first - 2 * k + 1, 0), min(first + k, count + 1) - 1
        for place in range(base, last):
            value = values[place] - values[base]
            sums[place - base + 1] = sums[place - base] + value
            squares[place - base + 1] = squares[place - base] + value * value
        stride = 1
        while stride <= last - first:
            stride *= 2
        while stride > 0:
            for end in range(first + stride - 1, last + 1, 2 * stride):
                low = start[end - stride] if end - stride >= first else base
                high = start[end + stride] if end + stride <= last else end - k
                for one in range(max(low, end - 2 * k + 1), min(high, end - k) + 1):
                    part = sums[end - base] - sums[one - base]
                    total = cost[one] + squares[end - base] - squares[one - base] - part * part / (end - one)
                    if total < cost[end]:
                        cost[end], start[end] = total, one
            stride //= 2
    return start


@njit(cache=True)
def _numbered(start: Array) -> Array:
    """The run of each place, numbered from the first."""
    of, end, groups = np.empty(len(start) - 1, np.int64), len(start) - 1, 0
    while end > 0:
        groups += 1
        for place in range(start[end], end):
            of[place] = -groups
        end = start[end]
    for place in range(len(of)):
        of[place] += groups
    return of
