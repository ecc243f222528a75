"""What is missing stays missing, and must not tell anybody apart: who lacks what, and with how many others.

Only rows that lack the same values can look alike. Where too few lack the same, more is left out until enough do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.errors import NoPromise
from discreet.verbs.publish.mask.values import Array

Enough = Callable[[Array], bool]
"""Whether some rows, by number, can be grouped among themselves."""


def patterns(there: Array, enough: Enough) -> list[tuple[Array, Array]]:
    """Rows that have the same columns, such that each set of rows is enough: which columns they have in the end, and
    which rows they are. ``there`` has shape (rows, columns).

    The smallest set that is not enough is put together with the one with which fewest values are left out.
    """
    of = np.zeros(len(there), np.int64)
    for column in there.T:
        of = np.unique(2 * of + column, return_inverse=True)[1]
    members = [np.flatnonzero(of == number) for number in range(of.max(initial=-1) + 1)]
    found = [(there[rows[0]], rows) for rows in members]
    while True:
        short = [one for one in found if not enough(one[1])]
        if not short:
            return found
        if len(found) == 1:
            raise NoPromise(
                "All rows together are too few, or too much alike, to be grouped as asked.",
                hint="Ask for a smaller k or less diversity.",
            )
        one = min(short, key=lambda some: len(some[1]))
        others = [some for some in found if some is not one]
        two = min(others, key=lambda some: _lost(one, some))
        both = (one[0] & two[0], np.sort(np.concatenate([one[1], two[1]])))
        rest = [some for some in others if some is not two]
        same = [some for some in rest if (some[0] == both[0]).all()]
        for some in same:
            both = (both[0], np.sort(np.concatenate([both[1], some[1]])))
        found = [both, *(some for some in rest if not any(some is other for other in same))]


def _lost(one: tuple[Array, Array], two: tuple[Array, Array]) -> int:
    """How many values are left out when two sets are put together."""
    kept = (one[0] & two[0]).sum()
    return int((one[0].sum() - kept) * len(one[1]) + (two[0].sum() - kept) * len(two[1]))
