"""The auditor of largest and smallest values, of real numbers that could be anything, and of which two may be equal.

After some answers for MAX, u(i) is the least answer among the questions that row i is in. The answers are possible if
and only if every question has a row with u(i) equal to its answer: an *extreme*. A row is told if it is a question's
only extreme; here, a question whose extremes are all one person's tells of that person.

A new question about Q is denied if an answer m to it that is possible would tell of someone. Of all possible m two are
worst, and only they are looked at:

* For questions before: those with answers above m lose their extremes in Q, the others lose none. So small m are worst.
  m is possible only from M on, the largest answer whose extremes all lie in Q (minus infinity, if there is none).
  Denied: a question with an answer above M has outside Q extremes of one person alone.
* For the new question: its extremes are the rows in Q with u(i) at least m. So large m are worst: the largest u(i) in
  Q, or anything beyond, where there are rows that were never asked about. Denied: the rows with that u(i) are one
  person's.

MIN is MAX of the negatives. The two are asked of rows apart: where Q holds a row that a MAX was about, MIN could turn
out to be the least u(i) in Q (every value at its u(i) fits all answers), and that would tell who has it.

Several sets at once are answered if none of them was touched before and each holds the rows of two people: whatever
the answers, every set has all its rows for extremes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.verbs.ask.query_auditing.auditor import Bools, Classes, Ints, Part, Verdict


class _Side:
    """What was answered for MAX, or for MIN in negatives."""

    def __init__(self, classes: Classes) -> None:
        self._classes = classes
        self._asked: list[Bools] = []
        self._answers: list[Fraction] = []
        self._least: Ints = np.full(classes.count, -1)
        """By class: which answer is u, or -1."""

    @property
    def touched(self) -> Bools:
        """The classes that were asked about."""
        return self._least >= 0

    def widen(self, parents: Ints) -> None:
        self._asked = [np.concatenate((one, one[parents])) for one in self._asked]
        self._least = np.concatenate((self._least, self._least[parents]))

    def tells(self, asked: Bools) -> bool:
        """Whether a possible answer would tell of someone."""
        ranks = self._ranks()
        least = ranks[self._least]
        from_, single = -1, -1
        for one, rank in zip(self._asked, ranks[:-1], strict=True):
            outside = one & (least == rank) & ~asked
            if not outside.any():
                from_ = max(from_, int(rank))
            elif rank > single and self._classes.alone(outside):
                single = int(rank)
        return single > from_ or self._classes.alone(asked & (least == least[asked].max()))

    def learn(self, asked: Bools, answer: Fraction) -> None:
        self._asked.append(asked)
        self._answers.append(answer)
        ranks = self._ranks()
        self._least[asked & (ranks[self._least] > ranks[-2])] = len(self._answers) - 1

    def _ranks(self) -> Ints:
        """Of every answer its place among all; the last, for what was never asked about, is beyond all."""
        places = {answer: place for place, answer in enumerate(sorted(set(self._answers)))}
        return np.array([*(places[answer] for answer in self._answers), len(places)])


class Extremes:
    """See ``Auditor``."""

    def __init__(self, classes: Classes) -> None:
        self._classes = classes
        self._sides = {"max": _Side(classes), "min": _Side(classes)}

    def widen(self, parents: Ints) -> None:
        """See ``Auditor``."""
        for side in self._sides.values():
            side.widen(parents)

    def weigh(self, parts: Sequence[Part]) -> Verdict:
        """See above; a set of no one tells nothing."""
        some = [part for part in parts if part.asked.any()]
        if len(some) == 1:
            return Verdict.DENY if self._tells(some[0]) else Verdict.ANSWER
        seen = self._sides["max"].touched | self._sides["min"].touched
        for part in some:
            if (seen & part.asked).any() or self._classes.alone(part.asked):
                return Verdict.DENY
            seen = seen | part.asked
        return Verdict.ANSWER

    def _tells(self, part: Part) -> bool:
        other = self._sides["min" if part.aggregate == "max" else "max"]
        return bool((other.touched & part.asked).any()) or self._sides[part.aggregate].tells(part.asked)

    def bears(self, parts: Sequence[Part], answers: Sequence[Fraction]) -> bool:
        """All possible answers were weighed."""
        return True

    def learn(self, parts: Sequence[Part], answers: Sequence[Fraction]) -> None:
        """See ``Auditor``."""
        for part, answer in zip(parts, answers, strict=True):
            if part.asked.any():
                self._sides[part.aggregate].learn(part.asked, answer if part.aggregate == "max" else -answer)

    def close(self) -> None:
        """No denial here is made after a look."""
