"""Interface of auditors, which weigh questions about one column, and the classes of rows that questions were about.

All rows that the same questions were about are one class. Every question that was audited is about whole classes, so
whatever follows from the answers alone treats the rows of a class alike. A million people of whom a hundred questions
made fifty classes cost the auditors fifty columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, Protocol

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


@dataclass(frozen=True)
class Part:
    """One figure that is asked of the column: which, and of which classes."""

    aggregate: str
    """``sum``, ``max`` or ``min``."""
    asked: Bools
    """By class, after all sets of the question were split off."""


class Verdict(Enum):
    """What an auditor says of a question before anyone has looked at its answer."""

    ANSWER = "answer"
    DENY = "deny"
    LOOK = "look"
    """The answer itself decides: only where the holder agreed to that; see ``bounded.py``."""
    CLOSED = "closed"
    """The column was closed by a denial after a look at an answer."""


class Auditor(Protocol):
    """Decides for one column of one table, or for several together. It sees no values: only sets, and answers.

    Why a denial by ``weigh`` tells nothing. It has nothing to go by but what all who ask, together, can know too: the
    sets, which public columns make, and the answers that were given. They could work the denial out themselves, so it
    is no news to them (a simulatable auditor; Kenthapadi, Mishra and Nissim 2005). Of sums and extremes that is all.

    ``bears`` sees an answer that was not given yet, so a denial by it depends on the data: it is not simulatable. Only
    columns that are watched over with ``look`` have it.
    """

    def widen(self, parents: Ints) -> None:
        """Classes were split: the new ones, at the end, are in all the questions that their parents are in."""

    def weigh(self, parts: Sequence[Part]) -> Verdict:
        """Whether all of a question may be answered."""

    def bears(self, parts: Sequence[Part], answers: Sequence[Fraction]) -> bool:
        """Whether these answers may be given, where ``weigh`` said ``LOOK``."""

    def learn(self, parts: Sequence[Part], answers: Sequence[Fraction]) -> None:
        """These were answered."""

    def close(self) -> None:
        """A question was denied after a look at its answer."""
