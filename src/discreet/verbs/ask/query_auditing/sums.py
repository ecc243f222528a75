"""The auditor of sums (and averages, whose counts are public) of real numbers that could be anything.

What it keeps: no combination of all answers about a column tells anything of one person's values alone: not one of
them, not their sum, not a difference between two of them. Then, for every person, there are other numbers that give
the very same answers: the span's complement has a direction in which each of that person's values moves.

The decision does not even look at past answers: the sets are enough (Chin and Özsoyoğlu 1982).

A question for a sum is a vector of zeros and ones, one for each class. What follows from answers about sums of real
numbers is what linear combinations of these vectors give: so someone's rows are told, in part or in a sum, if and only
if a vector other than zero that is zero on everyone else's rows lies in the span. The span is computed modulo a prime.

Why the prime is safe. The vectors kept here are independent modulo the prime p, and span all that was asked over the
rationals (below). Suppose a rational combination of them is zero off one person's rows and is not zero. Multiply it so
that its coefficients are whole numbers without a common factor: then they are not all divisible by p, so modulo p the
combination is not zero either, and it is still zero off that person's rows. So it is found here. The other way round
does not hold: p may find what is not there, and then a question is denied that might have been answered.

A vector that depends on those kept modulo p may not do so over the rationals. Its coefficients modulo p are turned into
fractions and the equation is checked in whole numbers; a vector that fails the check counts as one that tells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.verbs.ask.query_auditing.auditor import Bools, Classes, Ints, Part, Verdict
from discreet.verbs.ask.query_auditing.kernels import PRIME, only_where, subtract

_Residues = NDArray[np.uint32]
_LARGEST = 2**15
"""Fractions with a numerator and denominator below this are found from their residue, each by one residue only."""
_SAFE = 2**40


class Sums:
    """See ``Auditor``."""

    def __init__(self, classes: Classes) -> None:
        self._span = Span(classes)
        self._known = 0
        """How many vectors were answered; those after them are being weighed."""
        self._weighed: Sequence[Part] | None = None

    def widen(self, parents: Ints) -> None:
        """See ``Auditor``."""
        self._span.widen(parents)

    def weigh(self, parts: Sequence[Part]) -> Verdict:
        """Denied if the sums, with all before them, would tell something of one person alone."""
        self._span.drop(self._known)
        right = all(self._span.add(part.asked) for part in parts if part.asked.any())
        self._weighed = parts if right else None
        return Verdict.ANSWER if right and not self._span.tells() else Verdict.DENY

    def bears(self, parts: Sequence[Part], answers: Sequence[Fraction]) -> bool:
        """No answer is worse than another."""
        return True

    def learn(self, parts: Sequence[Part], answers: Sequence[Fraction]) -> None:
        """See ``Auditor``. What was just weighed is there already."""
        if self._weighed is not parts:
            self._span.drop(self._known)
            for part in parts:
                self._span.add(part.asked)
        self._weighed = None
        self._known = self._span.rank

    def close(self) -> None:
        """No denial here is made after a look."""


class Span:
    """Independent vectors in reduced echelon form: in the column of a row's pivot every other row is zero."""

    def __init__(self, classes: Classes) -> None:
        self._classes = classes
        self._rows: list[_Residues] = []
        self._made_of: list[_Residues] = []
        """By row: what it is of the vectors that were added."""
        self._added: list[Bools] = []
        self._pivots: list[int] = []
        self._taken: list[list[int]] = []
        """By vector: what was taken off the rows before it, so that it can be given back."""

    @property
    def rank(self) -> int:
        """How many vectors are kept."""
        return len(self._rows)

    def widen(self, parents: Ints) -> None:
        """New classes, each in the same vectors as its parent."""
        if len(parents):
            self._rows = [np.concatenate((row, row[parents])) for row in self._rows]
            self._added = [np.concatenate((one, one[parents])) for one in self._added]

    def add(self, vector: Bools) -> bool:
        """Add a vector; ``False``: it might not be what the prime says, and must not be answered."""
        left = vector.astype(np.uint32)
        made_of = np.zeros(self.rank + 1, dtype=np.uint32)
        made_of[-1] = 1
        for row, made, pivot in zip(self._rows, self._made_of, self._pivots, strict=True):
            if vector[pivot]:  # zero or one, and no other row touches it
                subtract(left, 1, row)
                subtract(made_of[: len(made)], 1, made)
        found = np.flatnonzero(left)
        if not len(found):
            return self._follows(vector, made_of[:-1])
        pivot = int(found[0])
        inverse = pow(int(left[pivot]), -1, PRIME)
        left, made_of = _times(left, inverse), _times(made_of, inverse)
        taken = [int(row[pivot]) for row in self._rows]
        for place, factor in enumerate(taken):
            made = np.zeros(self.rank + 1, dtype=np.uint32)
            made[: len(self._made_of[place])] = self._made_of[place]
            self._made_of[place] = made
            self._take(place, factor, left, made_of)
        self._rows.append(left)
        self._made_of.append(made_of)
        self._added.append(vector)
        self._pivots.append(pivot)
        self._taken.append(taken)
        return True

    def drop(self, rank: int) -> None:
        """Remove the vectors added last, down to a given number."""
        while self.rank > rank:
            row, made_of, taken = self._rows.pop(), self._made_of.pop(), self._taken.pop()
            self._added.pop()
            self._pivots.pop()
            for place, factor in enumerate(taken):
                self._take(place, PRIME - factor if factor else 0, row, made_of)
                self._made_of[place] = self._made_of[place][:-1]

    def _take(self, place: int, factor: int, row: _Residues, made_of: _Residues) -> None:
        if factor:
            subtract(self._rows[place], factor, row)
            subtract(self._made_of[place], factor, made_of)

    def tells(self) -> bool:
        """Whether a vector of the span is one person's alone.

        The pivots' coordinates of a combination are its coefficients, so it takes no row whose pivot lies on someone
        else's rows: each person is compared with the few rows whose pivots are theirs.
        """
        low, high = self._classes.low, self._classes.high
        theirs: dict[int, list[_Residues]] = {}
        for row, pivot in zip(self._rows, self._pivots, strict=True):
            if low[pivot] == high[pivot]:
                theirs.setdefault(int(low[pivot]), []).append(row)
        for person, rows in theirs.items():
            if len(rows) == 1:
                if only_where(rows[0], low, high, person):
                    return True
            elif _dependent(rows, (low != person) | (high != person)):
                return True
        return False

    def _follows(self, vector: Bools, residues: _Residues) -> bool:
        """Whether a vector is a combination of those that were added over the rationals too."""
        found = [_fraction((PRIME - int(one)) % PRIME) for one in residues]
        if any(one is None for one in found):
            return False
        fractions = [one for one in found if one is not None]
        common = math.lcm(*(bottom for _, bottom in fractions))
        whole = [top * (common // bottom) for top, bottom in fractions]
        if common > _SAFE or sum(map(abs, whole)) > _SAFE:
            return False
        made = np.zeros(len(vector), dtype=np.int64)
        for factor, one in zip(whole, self._added, strict=True):
            if factor:
                made += factor * one
        return bool((made == common * vector).all())


def _times(row: _Residues, factor: int) -> _Residues:
    return ((row.astype(np.uint64) * np.uint64(factor)) % np.uint64(PRIME)).astype(np.uint32)


def _dependent(rows: Sequence[_Residues], elsewhere: Bools) -> bool:
    """Whether a combination of some rows is zero in all these places."""
    kept: list[tuple[_Residues, int]] = []
    for row in rows:
        left = row[elsewhere]
        for other, pivot in kept:
            if left[pivot]:
                subtract(left, int(left[pivot]), other)
        found = np.flatnonzero(left)
        if not len(found):
            return True
        pivot = int(found[0])
        kept.append((_times(left, pow(int(left[pivot]), -1, PRIME)), pivot))
    return False


def _fraction(residue: int) -> tuple[int, int] | None:
    """The one fraction of small numbers with this residue, if there is one (Wang's rational reconstruction)."""
    before: Any = (PRIME, 0)
    now: Any = (residue, 1)
    while now[0] >= _LARGEST:
        quotient = before[0] // now[0]
        before, now = now, (before[0] - quotient * now[0], before[1] - quotient * now[1])
    top, bottom = now if now[1] > 0 else (-now[0], -now[1])
    return (top, bottom) if 0 < bottom < _LARGEST else None
