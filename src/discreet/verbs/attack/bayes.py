"""Which row is most probably whose, under normal noise, compiled. Import this where it is needed only."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit

Array = npt.NDArray[Any]
Number: TypeAlias = Any
"""A number, Python's or NumPy's: compiled code does not tell them apart."""


@njit(cache=True)
def likeliest(people: Array, rows: Array, same: Array, others: Array, truth: Array) -> tuple[Array, Array]:
    """Of each person how many rows are equally and most probably theirs, and whether the true one is among them.

    Noise has unit variance in every column; ``same`` and ``others`` hold what noise does not change. The
    evidence for a row is the logarithm of its likelihood given the person, less that given anybody.
    """
    anybody = np.full(len(rows), -np.inf)
    for other in range(len(rows)):
        highest, total = -np.inf, 0.0
        for one in range(len(people)):
            fit = _fit(people[one], rows[other], same[one], others[other])
            if fit > highest:
                total = total * np.exp(highest - fit) + 1.0 if total > 0.0 else 1.0
                highest = fit
            elif fit > -np.inf:
                total += np.exp(fit - highest)
        if total > 0.0:
            anybody[other] = highest + np.log(total)
    ties, found = np.zeros(len(people), np.int64), np.zeros(len(people), np.bool_)
    for one in range(len(people)):
        best = -np.inf
        for other in range(len(rows)):
            fit = _fit(people[one], rows[other], same[one], others[other])
            if fit > -np.inf:
                evidence = fit - anybody[other]
                if evidence > best:
                    best, ties[one], found[one] = evidence, 1, other == truth[one]
                elif evidence == best:
                    ties[one] += 1
                    found[one] = found[one] or other == truth[one]
    return ties, found


@njit(cache=True, inline="always")
def _fit(person: Array, row: Array, same: Array, other: Array) -> Number:
    for column in range(len(same)):
        if same[column] != other[column]:
            return -np.inf
    total = 0.0
    for column in range(len(person)):
        difference = person[column] - row[column]
        total += difference * difference
    return -0.5 * total
