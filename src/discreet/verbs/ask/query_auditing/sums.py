"""The auditor of sums (and averages, whose counts are public) of real numbers that could be anything.

What it keeps: no combination of all answers about a column tells anything of one person's values alone: not one of
them, not their sum, not a difference between two of them. Then, for every person, there are other numbers that give
the very same answers: the span's complement has a direction in which each of that person's values moves.

The decision does not even look at past answers: the sets are enough (Chin and Özsoyoğlu 1982).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.verbs.ask.query_auditing.auditor import Part, Verdict
from discreet.verbs.ask.query_auditing.classes import Classes, Ints
from discreet.verbs.ask.query_auditing.span import Span


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
