"""Rows in classes: all rows that the same questions were about are one class.

Every question that was audited is about whole classes, so whatever follows from the answers alone treats the rows of a
class alike. A million people of whom a hundred questions made fifty classes cost the auditors fifty columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.verbs.ask.query_auditing import kernels

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


class Classes:
    """The rows of a table, by which questions were about them. They are only ever split: finer is always right."""

    def __init__(self, owner: NDArray[Any]) -> None:
        """``owner`` says whose row each row is."""
        self._owner = np.ascontiguousarray(owner, dtype=np.int64)
        self._labels = np.zeros(len(owner), dtype=np.int64)
        self.count = 1 if len(owner) else 0
        self._know_owners()

    def _know_owners(self) -> None:
        self.rows: Ints
        """How many rows each class has."""
        self.low: Ints
        """The first of those whose rows they are."""
        self.high: Ints
        """The last of them: the same as the first where a class is one person's alone."""
        self.rows, self.low, self.high = kernels.owners(self._labels, self._owner, self.count)

    def split(self, group: NDArray[Any], groups: int) -> tuple[Ints, Ints]:
        """Split what sets of rows cut through, where ``group`` says which set a row is in (-1: in none).

        Returned are the class that each new one was part of, and the set that each class is in.
        """
        if groups == 1:
            parents, asked = kernels.split(self._labels, group >= 0, self.count)
            of_class = np.where(asked, 0, -1)
        else:
            self._labels, parents, of_class = _paired(self._labels, group, groups, self.count)
        if len(parents):
            self.count += len(parents)
            self._know_owners()
        return parents, of_class

    def alone(self, among: Bools) -> bool:
        """Whether some classes are no more than one person's rows, and not empty."""
        return bool(among.any()) and bool(self.low[among].min() == self.high[among].max())


def _paired(labels: Ints, group: NDArray[Any], groups: int, count: int) -> tuple[Ints, Ints, Ints]:
    """New labels for classes that are cut into several: of each, the first part keeps the label."""
    pairs, places = np.unique(labels * (groups + 1) + group + 1, return_inverse=True)
    parent, of_pair = np.divmod(pairs, groups + 1)
    first = np.ones(len(pairs), dtype=np.bool_)
    first[1:] = parent[1:] != parent[:-1]
    label = np.where(first, parent, 0)
    label[~first] = count + np.arange(int((~first).sum()))
    of_class = np.empty(count + int((~first).sum()), dtype=np.int64)
    of_class[label] = of_pair - 1
    return label[places], parent[~first], of_class
