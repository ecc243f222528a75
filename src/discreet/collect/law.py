"""What a device's report can be, and how likely each is for each answer: exactly, so that a promise can be checked.

A law says for every answer how likely every report is. It is given in the form that the device draws it in: a matrix,
or coins that are flipped independently, or a public choice (a hash function, say) with a law for each outcome. Its
*worst ratio* is the largest quotient of two answers' chances of one report; ε is its logarithm, and a report that one
answer can give and another cannot makes it infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from typing import Protocol, TypeAlias

Ratio: TypeAlias = Fraction | None
"""``None``: infinite."""


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

    @cached_property
    def worst(self) -> tuple[Ratio, tuple[int, int]]:
        """The largest of all: that of some report, between the answers that make it most and least likely."""
        answers, largest, at = range(len(self.rows)), Fraction(1), (0, 0)
        for report in range(len(self.rows[0])):
            chances = [row[report] for row in self.rows]
            high, low = max(answers, key=chances.__getitem__), min(answers, key=chances.__getitem__)
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


def worst(law: Law) -> tuple[Ratio, tuple[int, int]]:
    """The worst ratio of a law, and two answers that have it."""
    match law:
        case Matrix():
            return law.worst
        case Public():
            found = [worst(each) for each in law.outcomes]
            return max(found, key=lambda one: (one[0] is None, one[0] or 0))
    largest: Fraction = Fraction(1)
    at = (0, 0)
    for pair in permutations(range(law.answers), 2):
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
