"""The loops of auditing that run over every row or every class: splitting classes, and elimination modulo a prime."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core.compiled import njit

PRIME = 2**31 - 1
"""A Mersenne prime: products of two residues fit 62 bits, and their remainder needs no division."""
_Numbers = np.ndarray[Any, Any]


@njit(cache=True)
def split(labels: _Numbers, member: _Numbers, classes: int) -> tuple[_Numbers, _Numbers]:
    """Give the members of every class that is only partly asked about a label of their own, in place.

    Returned are the class each new label was split off, and which classes (old and new) are asked about.
    """
    inside = np.zeros(classes, np.int64)
    outside = np.zeros(classes, np.int64)
    for row in range(labels.size):
        if member[row]:
            inside[labels[row]] += 1
        else:
            outside[labels[row]] += 1
    renamed = np.full(classes, -1, np.int64)
    parents = np.empty(classes, np.int64)
    new = 0
    for one in range(classes):
        if inside[one] and outside[one]:
            renamed[one] = classes + new
            parents[new] = one
            new += 1
    asked = np.zeros(classes + new, np.bool_)
    for one in range(classes):
        asked[one] = inside[one] > 0 and outside[one] == 0
    asked[classes:] = True
    if new:
        for row in range(labels.size):
            if member[row] and renamed[labels[row]] >= 0:
                labels[row] = renamed[labels[row]]
    return parents[:new].copy(), asked


@njit(cache=True)
def owners(labels: _Numbers, owner: _Numbers, classes: int) -> tuple[_Numbers, _Numbers, _Numbers]:
    """The rows of every class, and the lowest and the highest of those whose rows they are."""
    rows = np.zeros(classes, np.int64)
    low = np.full(classes, np.iinfo(np.int64).max, np.int64)
    high = np.full(classes, -1, np.int64)
    for row in range(labels.size):
        label = labels[row]
        rows[label] += 1
        low[label] = min(low[label], owner[row])
        high[label] = max(high[label], owner[row])
    return rows, low, high


@njit(cache=True)
def subtract(target: _Numbers, times: int, row: _Numbers) -> None:
    """Take ``times`` a row off another, modulo the prime. All are residues."""
    factor = np.uint64(PRIME - times)
    prime = np.uint64(PRIME)
    for place in range(target.size):
        # below 2**31 + 2**62, so two foldings leave at most the prime itself
        made = np.uint64(target[place]) + factor * np.uint64(row[place])
        made = (made & prime) + (made >> np.uint64(31))
        made = (made & prime) + (made >> np.uint64(31))
        target[place] = np.uint32(0) if made == prime else np.uint32(made)


@njit(cache=True)
def only_where(row: _Numbers, low: _Numbers, high: _Numbers, person: int) -> bool:
    """Whether a row is zero on every class that has a row of anyone but this person."""
    for place in range(row.size):  # noqa: SIM110  # Numba compiles no generators
        if row[place] and not (low[place] == person and high[place] == person):
            return False
    return True
