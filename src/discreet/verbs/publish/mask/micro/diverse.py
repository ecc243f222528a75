"""Diversity of a confidential column within a group, as Numba kernels check it. Import this where it is needed only.

Computed in floating point, to steer by; whether groups are diverse enough, the models say exactly in the end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit

Array = npt.NDArray[Any]

ANY, DISTINCT, ENTROPY, RECURSIVE = 0, 1, 2, 3
_SMALL = 1e-12
_FEW = 1e12
"""More than any group has records, and small enough that adding one value still changes it."""


class Rule(NamedTuple):
    """At least ``l`` values; or an entropy of at least log ``l``; or the most frequent value rarer than ``c`` times the
    ``l``-th most frequent and all rarer ones together."""

    kind: int
    l: float  # noqa: E741  # the literature's name
    c: float
    values: int
    """Number of values of the column."""


NO_RULE = Rule(ANY, 1.0, 1.0, 0)


@njit(cache=True)
def tally(members: Array, codes: Array, rule: Rule) -> Array:
    """Count of each value among the members of a group; empty without a rule."""
    counts = np.zeros(rule.values, np.int64)
    if rule.kind != ANY:
        for point in members:
            counts[codes[point]] += 1
    return counts


@njit(cache=True)
def satisfied(counts: Array, rule: Rule) -> bool:
    """Whether a group in which the values come so often is diverse enough."""
    if rule.kind == DISTINCT:
        return _worth(counts, rule) >= rule.l
    if rule.kind == ENTROPY:
        return bool(_worth(counts, rule) >= np.log(rule.l) - _SMALL)
    return rule.kind == ANY or _worth(counts, rule) > 0


@njit(cache=True)
def helps(counts: Array, rule: Rule) -> Array:
    """For each value whether one more record with it brings the group nearer to being diverse enough.

    That depends on nothing but how often the value is there already, so it is tried once for each frequency.
    """
    now, most = _worth(counts, rule), 0
    for count in counts:
        most = max(most, count)
    tried = np.zeros(most + 1, np.int64)
    wanted = np.zeros(len(counts), np.bool_)
    for value in range(len(counts)):
        often = counts[value]
        if tried[often] == 0:
            counts[value] += 1
            tried[often] = 1 if _worth(counts, rule) > now + _SMALL else -1
            counts[value] -= 1
        wanted[value] = tried[often] > 0
    return wanted


@njit(cache=True)
def _worth(counts: Array, rule: Rule) -> float:
    """The figure that the rule bounds from below."""
    size, distinct, total, top = 0.0, 0.0, 0.0, 0.0
    for count in counts:
        if count > 0:
            size += count
            distinct += 1.0
            total += count * np.log(count)
            top = max(top, count)
    if rule.kind == DISTINCT:
        return distinct
    if rule.kind == ENTROPY:
        return float(np.log(size) - total / size)
    if distinct < rule.l:
        return distinct - _FEW
    rest, most = counts.copy(), size
    for _ in range(int(rule.l) - 1):
        at = np.argmax(rest)
        most -= rest[at]
        rest[at] = 0
    return rule.c * most - top
