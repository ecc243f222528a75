"""The auditor of sums of numbers whose bounds are known, such as truths (counted as 0 and 1) and shares.

Known bounds tell: if ten truths add up to 0, all ten are known. For any set such an answer is possible, so an auditor
that denies whatever *might* turn out to tell would have to deny everything. This one looks, at last, where the holder
agreed to that (``look``). So its denials depend on the data: it is not simulatable. What it keeps is less.

What it keeps: at every moment, for every person, among all numbers between the bounds that fit all answers and denials
so far, there are two as far apart as ``width``. Of truths, with a width of 1: both are still possible. It does not
keep both as likely as before: that a column was closed tells that an answer lay near an end, by which most who were
asked about are likely to have the value of that end.

Let P be all that fits the answers so far, and s the answer to a question. In the slices of P by s, how far someone's
value can range is a concave function of s. So the answers after which everyone still ranges over ``width`` are an
interval, and those that tell too much, U, lie at the ends of what s can be.

0. Without looking: fewer than five people whom the same sets are about are denied, since their answer often lies at an
   end.
1. Without looking: if the slices at both ends leave everyone ``width``, U is empty, and the question is answered.
2. Without looking: else suppose it were denied. Then s is in U, which holds the slice at an end that tells too much. If
   over these slices (one or both) someone's values no longer lie ``width`` apart, the question is denied now. Anyone
   who asks can work this out: it tells nothing.
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

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core.programs import Program, Solver, Status
from discreet.verbs.ask.query_auditing.auditor import Bools, Classes, Ints, Part, Verdict

_Numbers = NDArray[np.float64]
_MOST_CLASSES = 150
_FEWEST = 5
"""Minimum number of people in each class that a question is about, unless it has none."""
_TOLERANCE = 1e-6


class Bounded:
    """See ``Auditor``. Everyone has one row."""

    def __init__(self, classes: Classes, low: Fraction, high: Fraction, width: Fraction, *, whole: bool) -> None:
        Solver()  # if HiGHS is missing, that is said before anything is answered
        self._classes = classes
        self._low, self._span = low, high - low
        self._width = _least_width(width, self._span, whole=whole)
        """As a share of all that the bounds allow."""
        self._whole = whole
        self._asked: list[Bools] = []
        self._answers: list[float] = []
        self._closed = False

    def widen(self, parents: Ints) -> None:
        """See ``Auditor``."""
        self._asked = [np.concatenate((one, one[parents])) for one in self._asked]

    def weigh(self, parts: Sequence[Part]) -> Verdict:
        """The steps 0 to 2 above."""
        if self._closed:
            return Verdict.CLOSED
        sets = [part.asked for part in parts if part.asked.any()]
        if not sets:
            return Verdict.ANSWER
        total = np.logical_or.reduce(sets)
        known = self._known(sets)
        few = bool((known.sizes[known.rows.any(axis=0)] < _FEWEST).any())
        if few or known.classes > _MOST_CLASSES or (self._whole and self._crosses([*sets, total])):
            return Verdict.DENY
        whole = np.logical_or.reduce(known.rows[len(self._asked) :])
        slices = [known.at_end(whole, sign) for sign in (1, -1)]
        telling = [one for one in slices if one is not None and not self._wide(one)]
        if not telling and len(sets) == 1 and None not in slices:
            return Verdict.ANSWER
        if not telling:
            return Verdict.DENY
        around = np.stack([np.min([one.low for one in telling], axis=0), np.max([one.high for one in telling], axis=0)])
        return Verdict.LOOK if self._wide(_Ranges(*around)) else Verdict.DENY

    def bears(self, parts: Sequence[Part], answers: Sequence[Fraction]) -> bool:
        """Step 3: whether everyone still ranges over the width."""
        asked, sums = self._vectors(parts, answers)
        ranges = self._known(asked).given([*self._answers, *sums])
        return ranges is not None and self._wide(ranges)

    def learn(self, parts: Sequence[Part], answers: Sequence[Fraction]) -> None:
        """See ``Auditor``."""
        asked, sums = self._vectors(parts, answers)
        self._asked += asked
        self._answers += sums

    def close(self) -> None:
        """Nothing is answered any more."""
        self._closed = True

    def _vectors(self, parts: Sequence[Part], answers: Sequence[Fraction]) -> tuple[list[Bools], list[float]]:
        """Sets, and their sums as if the bounds were 0 and 1."""
        both = [(part.asked, answer) for part, answer in zip(parts, answers, strict=True) if part.asked.any()]
        sizes = [int(self._classes.rows[asked].sum()) for asked, _ in both]
        sums = [float((answer - size * self._low) / self._span) for (_, answer), size in zip(both, sizes, strict=True)]
        return [asked for asked, _ in both], sums

    def _known(self, sets: Sequence[Bools]) -> _Sums:
        """What is known, over classes that only these sets and those answered here tell apart."""
        rows, place = np.unique(np.array([*self._asked, *sets]), axis=1, return_inverse=True)
        sizes = np.bincount(place.reshape(-1), weights=self._classes.rows).astype(np.float64)
        return _Sums(rows, tuple(self._answers), sizes)

    def _crosses(self, sets: Sequence[Bools]) -> bool:
        """Whether two sets, of these or of those before, overlap and neither lies in the other."""
        return any(
            bool((one & other).any() and (one & ~other).any() and (other & ~one).any())
            for one in sets
            for other in (*sets, *self._asked)
        )

    def _wide(self, ranges: _Ranges) -> bool:
        return bool((ranges.high - ranges.low >= self._width).all())


def _least_width(width: Fraction, span: Fraction, *, whole: bool) -> float:
    """From which computed width on a true one is believed, as a share of the span.

    Whole ends are computed to well within half a unit, if the units are not too small beside the solver's tolerance.
    """
    unit = float(1 / span)
    if whole and unit > 10 * _TOLERANCE:
        return math.ceil(width) * unit - unit / 2
    return float((math.ceil(width) if whole else width) / span) + _TOLERANCE


@dataclass(frozen=True)
class _Ranges:
    """Between what a member of each class ranges."""

    low: _Numbers
    high: _Numbers


@dataclass(frozen=True)
class _Sums:
    """Sums over sets of classes, of numbers from 0 to 1."""

    rows: Bools
    """By set and class."""
    sums: tuple[float, ...]
    """Of the first sets; those of the others are not known."""
    sizes: _Numbers
    """How many people each class has."""

    @property
    def classes(self) -> int:
        return len(self.sizes)

    def at_end(self, total: Bools, sign: int) -> _Ranges | None:
        """The ranges where the sum of a set is the least (or the largest) there can be; ``None``: none was found."""
        known = self.rows[: len(self.sums)]
        end = _least(sign * total.astype(np.float64), known, self.sums, self.sizes)
        return None if end is None else self._ranges(np.vstack((known, total)), (*self.sums, sign * end))

    def given(self, sums: Sequence[float]) -> _Ranges | None:
        """The ranges if these are the sums of all sets."""
        return self._ranges(self.rows, sums)

    def _ranges(self, rows: Bools, sums: Sequence[float]) -> _Ranges | None:
        ends = np.empty((2, self.classes))
        for place in range(self.classes):
            for row, sign in enumerate((1.0, -1.0)):
                costs = np.zeros(self.classes)
                costs[place] = sign
                found = _least(costs, rows, sums, self.sizes)
                if found is None:
                    return None
                ends[row, place] = sign * found
        return _Ranges(np.maximum(0.0, ends[0] - (self.sizes - 1)), np.minimum(1.0, ends[1]))


def _least(costs: _Numbers, rows: Bools, sums: Sequence[float], sizes: _Numbers) -> float | None:
    """The least cost among class sums with these sums over sets; ``None``: the solver found none."""
    found = Program(costs, rows.astype(np.float64), sums, sums, 0.0, sizes).solve()
    return found.value if found.status is Status.OPTIMAL else None
