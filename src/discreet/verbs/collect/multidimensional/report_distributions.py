"""Laws of reports about several answers at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.verbs.collect.report_distribution import Law, Ratio


@dataclass(frozen=True)
class Separate:
    """A report about each question, drawn independently of each other: quotients multiply."""

    parts: tuple[Law, ...]
    all_answers: tuple[tuple[int, ...], ...]
    """What is answered to each question, for every answer to all of them."""

    @property
    def answers(self) -> int:
        """How many answers it is given for."""
        return len(self.all_answers)

    def ratio(self, one: int, other: int) -> Ratio:
        """The product of the questions' quotients."""
        whole = Fraction(1)
        for part, a, b in zip(self.parts, self.all_answers[one], self.all_answers[other], strict=True):
            if a != b:
                each = part.ratio(a, b)
                if each is None:
                    return None
                whole *= each
        return whole


@dataclass(frozen=True)
class Hidden:
    """One question, drawn evenly, is reported truly by its matrix, the others are made up; which one is not told.

    A report y of answers x has a chance of Π_j f_j(y_j) times the mean over j of P_j(y_j | x_j) / f_j(y_j), where f_j
    is what is made up. So the quotient of two answers is that of two sums over questions, of which each can be chosen
    by itself.
    """

    truths: tuple[tuple[Fraction, Fraction], ...]
    """For each question the chances of the own value and of any other."""
    made_up: tuple[tuple[Fraction, ...], ...]
    """For each question the chances of what is made up; none is 0."""
    all_answers: tuple[tuple[int, ...], ...]

    @property
    def answers(self) -> int:
        """How many answers it is given for."""
        return len(self.all_answers)

    def ratio(self, one: int, other: int) -> Ratio:
        """The largest quotient of two sums.

        It is found by Dinkelbach's rule: given a quotient that is reached, each question takes the value that goes
        beyond it most; that reaches more, unless it was the largest already. Quotients grow and values are few.
        """
        choices = [
            [self._terms(question, value, a, b) for value in range(len(self.made_up[question]))]
            for question, (a, b) in enumerate(zip(self.all_answers[one], self.all_answers[other], strict=True))
        ]
        return largest_quotient(choices)

    def _terms(self, question: int, value: int, a: int, b: int) -> tuple[Fraction, Fraction]:
        own, lie = self.truths[question]
        made_up = self.made_up[question][value]
        return (own if value == a else lie) / made_up, (own if value == b else lie) / made_up


def largest_quotient(choices: Sequence[Sequence[tuple[Fraction, Fraction]]]) -> Fraction:
    """The largest quotient of two sums, to which every list gives one of its pairs; the lower terms are above 0."""
    best = Fraction(0)
    while True:
        taken = [max(pairs, key=lambda pair: pair[0] - best * pair[1]) for pairs in choices]
        found = sum((pair[0] for pair in taken), Fraction(0)) / sum((pair[1] for pair in taken), Fraction(0))
        if found <= best:
            return best
        best = found
