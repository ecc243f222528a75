"""What a device's report can be, and how likely each is for each answer: exactly, so that a promise can be checked.

A law says for every answer how likely every report is. It is given in the form that the device draws it in: a matrix,
or coins that are flipped independently, or a public choice (a hash function, say) with a law for each outcome. Its
*worst ratio* is the largest quotient of two answers' chances of one report; ε is its logarithm, and a report that one
answer can give and another cannot makes it infinite.

Most protocols treat all answers alike: if any two of them change places, so do some reports, and chances stay what they
are. Then the quotients of one pair of answers are those of every pair (``Alike``), and a law of thousands of answers is
audited as exactly, and in a moment. Reports whose chances have the same quotient for that pair may be taken together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from typing import Protocol, TypeAlias

Ratio: TypeAlias = Fraction | None
"""``None``: infinite."""
Worst: TypeAlias = tuple[Ratio, tuple[int, int]]
"""A ratio, and two answers that have it."""


class Law(Protocol):
    """How likely each report is for each answer."""

    @property
    def answers(self) -> int:
        """How many answers it is given for."""

    def ratio(self, one: int, other: int) -> Ratio:
        """The largest quotient of a report's chances under two answers."""


@dataclass(frozen=True)
class Matrix:
    """A row for each answer, in it the chance of each report. Rows add up to one."""

    rows: tuple[tuple[Fraction, ...], ...]

    def __post_init__(self) -> None:
        assert all(sum(row) == 1 for row in self.rows), "chances add up to one"  # noqa: S101

    @property
    def answers(self) -> int:
        """How many answers it is given for."""
        return len(self.rows)

    def ratio(self, one: int, other: int) -> Ratio:
        """The largest quotient of a report's chances under two answers."""
        return _largest(zip(self.rows[one], self.rows[other], strict=True))

    def worst(self, among: Sequence[int]) -> Worst:
        """The largest among some: that of some report, between the answers that make it most and least likely."""
        largest, at = Fraction(1), (among[0], among[0])
        for report in range(len(self.rows[0])):
            chances = {answer: self.rows[answer][report] for answer in among}
            high, low = max(among, key=chances.__getitem__), min(among, key=chances.__getitem__)
            if chances[high] == 0:
                continue
            if chances[low] == 0:
                return None, (high, low)
            if chances[high] / chances[low] > largest:
                largest, at = chances[high] / chances[low], (high, low)
        return largest, at


@dataclass(frozen=True)
class Coins:
    """Coins that are flipped independently: a row for each answer, in it each coin's chance of heads."""

    heads: tuple[tuple[Fraction, ...], ...]

    @property
    def answers(self) -> int:
        """How many answers it is given for."""
        return len(self.heads)

    def ratio(self, one: int, other: int) -> Ratio:
        """Coins are independent, so that the largest quotient is the product of every coin's."""
        whole = Fraction(1)
        for a, b in zip(self.heads[one], self.heads[other], strict=True):
            if a == b:
                continue
            each = _largest([(a, b), (1 - a, 1 - b)])
            if each is None:
                return None
            whole *= each
        return whole


@dataclass(frozen=True)
class Public:
    """A choice that hangs on no answer and is reported too, with a law for each of its outcomes.

    The chance of an outcome cancels in every quotient, so the worst outcome is what counts.
    """

    outcomes: tuple[Law, ...]

    @property
    def answers(self) -> int:
        """How many answers it is given for."""
        return self.outcomes[0].answers

    def ratio(self, one: int, other: int) -> Ratio:
        """The largest quotient over all outcomes."""
        found = [law.ratio(one, other) for law in self.outcomes]
        return None if None in found else max(each for each in found if each is not None)


@dataclass(frozen=True)
class Sent:
    """Answers that are first sent to those of another law, several to one perhaps."""

    law: Law
    to: tuple[int, ...]

    @property
    def answers(self) -> int:
        """How many answers it is given for."""
        return len(self.to)

    def ratio(self, one: int, other: int) -> Ratio:
        """That of what they are sent to."""
        return Fraction(1) if self.to[one] == self.to[other] else self.law.ratio(self.to[one], self.to[other])


@dataclass(frozen=True)
class Together:
    """Several reports about one answer, drawn independently of each other: quotients multiply."""

    parts: tuple[Law, ...]

    @property
    def answers(self) -> int:
        """How many answers it is given for."""
        return self.parts[0].answers

    def ratio(self, one: int, other: int) -> Ratio:
        """The product of the parts' quotients."""
        whole = Fraction(1)
        for part in self.parts:
            each = part.ratio(one, other)
            if each is None:
                return None
            whole *= each
        return whole


@dataclass(frozen=True)
class Alike:
    """Answers of which any two are as any other two, in either order: reports can be renamed such that one pair's
    chances become the other's."""

    pair: Law
    """The law of two of them; reports with equal quotients may be one report there."""
    answers: int
    """How many there are."""
    make: Callable[[], Law] = field(repr=False, compare=False)
    """Makes the law of all of them."""

    @cached_property
    def whole(self) -> Law:
        """The law of all of them, which may be large: for whoever does not believe that they are alike."""
        return self.make()

    def ratio(self, one: int, other: int) -> Ratio:
        """That of every two."""
        return Fraction(1) if one == other else self.pair.ratio(0, 1)


def response(own: Fraction, answers: int) -> Alike:
    """Randomised response: the own answer with one chance, every other with an equal part of what is left.

    To the two answers of a pair all further ones are one report: it is as likely for either.
    """
    lie, every = (1 - own) / (answers - 1), range(answers)
    rest = (answers - 2) * lie
    pair = Matrix(((own, lie, rest), (lie, own, rest)))
    return Alike(pair, answers, lambda: Matrix(tuple(tuple(own if x == y else lie for y in every) for x in every)))


def worst(law: Law, among: Sequence[int] | None = None) -> Worst:
    """The worst ratio of a law, of all its answers or some of them, and two answers that have it."""
    answers = range(law.answers) if among is None else among
    match law:
        case Matrix():
            return law.worst(answers)
        case Alike() if len(answers) > 1:
            return law.pair.ratio(0, 1), (answers[0], answers[1])
        case Public():
            found = [worst(each, answers) for each in law.outcomes]
            return max(found, key=lambda one: (one[0] is None, one[0] or 0))
        case Sent():
            sent = {law.to[answer]: answer for answer in reversed(answers)}
            ratio, (one, other) = worst(law.law, sorted(sent))
            return ratio, (sent[one], sent[other])
    largest: Fraction = Fraction(1)
    at = (answers[0], answers[0])
    for pair in permutations(answers, 2):
        each = law.ratio(*pair)
        if each is None:
            return None, pair
        if each > largest:
            largest, at = each, pair
    return largest, at


def _largest(pairs: Sequence[tuple[Fraction, Fraction]] | zip[tuple[Fraction, Fraction]]) -> Ratio:
    """The largest quotient; chances that are both 0 belong to a report that is never made."""
    worst = Fraction(0)
    for a, b in pairs:
        if a == 0:
            continue
        if b == 0:
            return None
        worst = max(worst, a / b)
    return worst
