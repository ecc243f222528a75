"""The auditor of sums of numbers whose bounds are known, such as truths (counted as 0 and 1) and shares.

Known bounds tell: if ten truths add up to 0, all ten are known. For any set such an answer is possible, so an auditor
that denies whatever *might* turn out to tell would have to deny everything. This one looks, at last, and keeps its
denials harmless in another way.

What it keeps: at every moment, for every person, among all numbers between the bounds that fit all answers and denials
so far, there are two as far apart as ``width``. Of truths, with a width of 1: both are still possible.

Let P be all that fits the answers so far, and s the answer to a question. In the slices of P by s, how far somebody's
value can range is a concave function of s. So the answers after which everybody still ranges over ``width`` are an
interval, and those that tell too much, U, lie at the ends of what s can be.

1. Without looking: if the slices at both ends leave everybody ``width``, U is empty, and the question is answered.
2. Without looking: else suppose it were denied. Then s is in U, which holds the slice at an end that tells too much. If
   over these slices (one or both) somebody's values no longer lie ``width`` apart, the question is denied now. Whoever
   asks can work this out: it tells nothing.
3. Else it is looked at. An answer outside U is given. One in U is denied, and the column is closed for good: nothing is
   answered after the one denial that depends on the data, so nothing can be put together with it.

Several sets are weighed by their sum: a slice by all sets' answers lies in one by the sum, and ranges no wider in it.
The slices by the sum show whether a denial is harmless, but not that U is empty: where neither tells, it is denied.

Ranges are found by linear programming, over class sums: the members of a class can trade places, so of a class of m
whose sum ranges over [l, h] each ranges over [l - (m - 1) · high, h - (m - 1) · low], cut to the bounds. For real
numbers that is exact up to the solver's tolerance, for which a little more than ``width`` is asked. Whole numbers and
truths could be told where real numbers are not; for them all sets asked about must be nested or apart. Then the
constraints are totally unimodular (a laminar family), so every end that the program finds is reached in whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.ask.audited.auditor import Part, Verdict
from discreet.ask.audited.classes import Bools, Classes, Ints
from discreet.errors import MissingPart

_Numbers = NDArray[np.float64]
_MOST_CLASSES = 150
_TOLERANCE = 1e-6


class Bounded:
    """See ``Auditor``. Everybody has one row."""

    def __init__(self, classes: Classes, low: Fraction, high: Fraction, width: Fraction, *, whole: bool) -> None:
        self._classes = classes
        self._low, self._span = low, high - low
        share = float(width / self._span)
        self._width = share - _TOLERANCE if whole else share + _TOLERANCE
        """As a share of all that the bounds allow."""
        self._whole = whole
        self._asked: list[Bools] = []
        self._answers: list[float] = []
        self._closed = False

    def widen(self, parents: Ints) -> None:
        """See ``Auditor``."""
        self._asked = [np.concatenate((one, one[parents])) for one in self._asked]

    def weigh(self, parts: Sequence[Part]) -> Verdict:
        """The steps 1 and 2 above."""
        sets = [part.asked for part in parts if part.asked.any()]
        if not sets:
            return Verdict.ANSWER
        total = np.logical_or.reduce(sets)
        if self._closed or self._classes.count > _MOST_CLASSES or (self._whole and self._crosses([*sets, total])):
            return Verdict.DENY
        ends = [self._end(total, sign) for sign in (1, -1)]
        slices = [self._ranges([total], [end]) if end is not None else None for end in ends]
        if any(one is None for one in slices):
            return Verdict.DENY
        telling = [one for one in slices if one is not None and not self._wide(one)]
        if not telling and len(sets) == 1:
            return Verdict.ANSWER
        if not telling:
            return Verdict.DENY
        around = np.stack([np.min([one[0] for one in telling], axis=0), np.max([one[1] for one in telling], axis=0)])
        return Verdict.LOOK if self._wide(around) else Verdict.DENY

    def bears(self, parts: Sequence[Part], answers: Sequence[Fraction]) -> bool:
        """Step 3: whether everybody still ranges over the width."""
        ranges = self._ranges(*self._vectors(parts, answers))
        return ranges is not None and self._wide(ranges)

    def learn(self, parts: Sequence[Part], answers: Sequence[Fraction]) -> None:
        """See ``Auditor``."""
        asked, scaled = self._vectors(parts, answers)
        self._asked += asked
        self._answers += scaled

    def close(self) -> None:
        """Nothing is answered any more."""
        self._closed = True

    def _vectors(self, parts: Sequence[Part], answers: Sequence[Fraction]) -> tuple[list[Bools], list[float]]:
        """Sets, and their sums as if the bounds were 0 and 1."""
        both = [(part.asked, answer) for part, answer in zip(parts, answers, strict=True) if part.asked.any()]
        sizes = [int(self._classes.rows[asked].sum()) for asked, _ in both]
        scaled = [
            float((answer - size * self._low) / self._span) for (_, answer), size in zip(both, sizes, strict=True)
        ]
        return [asked for asked, _ in both], scaled

    def _crosses(self, sets: Sequence[Bools]) -> bool:
        """Whether two sets, of these or of those before, overlap and neither lies in the other."""
        return any(
            bool((one & other).any() and (one & ~other).any() and (other & ~one).any())
            for one in sets
            for other in (*sets, *self._asked)
        )

    def _wide(self, ranges: _Numbers) -> bool:
        return bool((ranges[1] - ranges[0] >= self._width).all())

    def _end(self, total: Bools, sign: int) -> float | None:
        found = self._solved(sign * total.astype(np.float64), [], [])
        return None if found is None else sign * found

    def _ranges(self, sets: list[Bools], sums: list[float]) -> _Numbers | None:
        """Between what a member of each class ranges, if these sums are given too; ``None``: it could not be found."""
        ends = np.empty((2, self._classes.count))
        for place, members in enumerate(self._classes.rows):
            one = np.zeros(self._classes.count)
            for row, sign in enumerate((1, -1)):
                one[place] = sign
                found = self._solved(one, sets, sums)
                if found is None:
                    return None
                ends[row, place] = sign * found
            ends[0, place] = max(0.0, ends[0, place] - (members - 1))
            ends[1, place] = min(1.0, ends[1, place])
        return ends

    def _solved(self, costs: _Numbers, sets: list[Bools], sums: list[float]) -> float | None:
        """The least cost among class sums that fit all answers; ``None``: the solver found none."""
        try:
            from scipy.optimize import linprog
        except ImportError:
            raise MissingPart("SciPy, which audits bounded sums,", "attack") from None
        rows: list[Any] = [*self._asked, *sets]
        fits = {"A_eq": np.array(rows, dtype=np.float64), "b_eq": [*self._answers, *sums]} if rows else {}
        found = linprog(costs, bounds=[(0, int(size)) for size in self._classes.rows], method="highs", **fits)
        return float(found.fun) if found.status == 0 else None
