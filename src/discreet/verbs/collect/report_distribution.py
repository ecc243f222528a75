"""Report distributions: the exact probability of each report given each answer, so that a claim can be checked.

A distribution is given in the form that the device draws it in: a matrix, independent bits, or a public choice (a hash
function, say) with a distribution for each outcome. Its *worst ratio* is the largest quotient of two answers'
probabilities of one report; ε is its logarithm, and a report that one answer can give and another cannot makes it
infinite.

Most protocols are symmetric in the answers: if any two of them change places, so do some reports, and probabilities
stay what they are. Then the quotients of one pair of answers are those of every pair (``SymmetricAnswers``), and a
distribution over thousands of answers is audited as exactly, and in a moment. Reports whose probabilities have the same
quotient for that pair may be taken together.

**Probabilities that a device can draw by.** What theory asks for (e**ε / (e**ε + d - 1), say) is irrational. A device
draws by a multiple of 2**-64 beside it, on the side that reveals less; the collector's estimate uses the probabilities
that are really drawn by, so it is unbiased, and the audit finds a loss that is below the claim by next to nothing,
never above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from typing import Protocol, TypeAlias

from discreet.core.exact import EXP_ERROR, Number, exact, ln_upper
from discreet.errors import BadInput

Ratio: TypeAlias = Fraction | None
"""A quotient of probabilities; ``None``: infinite."""
WorstRatio: TypeAlias = tuple[Ratio, tuple[int, int]]
"""A ratio, and two answers that have it."""
DENOMINATOR = 1 << 64
"""Denominator of every probability that a device draws by."""
_MIN_EPSILON = Fraction(1, 1 << 20)
"""Smallest epsilon: below it, rounding to 2**-64ths could exceed epsilon itself where there are very many values."""
_MAX_EPSILON = 20


class ReportDistribution(Protocol):
    """Probability of each report given each answer."""

    @property
    def answers(self) -> int:
        """Number of answers."""

    def ratio(self, one: int, other: int) -> Ratio:
        """Largest quotient of a report's probabilities under two answers."""


@dataclass(frozen=True)
class Matrix:
    """A row for each answer with the probability of each report; rows add up to one."""

    rows: tuple[tuple[Fraction, ...], ...]

    def __post_init__(self) -> None:
        assert all(sum(row) == 1 for row in self.rows), "probabilities add up to one"  # noqa: S101

    @property
    def answers(self) -> int:
        return len(self.rows)

    def ratio(self, one: int, other: int) -> Ratio:
        return largest_ratio(zip(self.rows[one], self.rows[other], strict=True))

    def worst(self, among: Sequence[int]) -> WorstRatio:
        """Worst ratio among some answers: for some report, between those that make it most and least likely."""
        largest, pair = Fraction(1), (among[0], among[0])
        for report in range(len(self.rows[0])):
            probabilities = {answer: self.rows[answer][report] for answer in among}
            high, low = max(among, key=probabilities.__getitem__), min(among, key=probabilities.__getitem__)
            if probabilities[high] == 0:
                continue
            if probabilities[low] == 0:
                return None, (high, low)
            if probabilities[high] / probabilities[low] > largest:
                largest, pair = probabilities[high] / probabilities[low], (high, low)
        return largest, pair


@dataclass(frozen=True)
class IndependentBits:
    """Bits that are drawn independently: a row for each answer with the probability that each bit is 1."""

    ones: tuple[tuple[Fraction, ...], ...]

    @property
    def answers(self) -> int:
        return len(self.ones)

    def ratio(self, one: int, other: int) -> Ratio:
        """Product of the largest quotients of every bit, since bits are independent."""
        pairs = zip(self.ones[one], self.ones[other], strict=True)
        return product_of_ratios(largest_ratio([(a, b), (1 - a, 1 - b)]) for a, b in pairs if a != b)


@dataclass(frozen=True)
class PublicChoice:
    """A choice that depends on no answer and is reported too, with a distribution for each of its outcomes.

    The probability of an outcome cancels in every quotient, so the worst outcome is what counts.
    """

    outcomes: tuple[ReportDistribution, ...]

    @property
    def answers(self) -> int:
        return self.outcomes[0].answers

    def ratio(self, one: int, other: int) -> Ratio:
        """Largest quotient over all outcomes."""
        return max((outcome.ratio(one, other) for outcome in self.outcomes), key=_order)


@dataclass(frozen=True)
class MappedAnswers:
    """Answers that are first mapped to those of another distribution, several to one perhaps."""

    distribution: ReportDistribution
    to: tuple[int, ...]
    """The answer that each answer is mapped to."""

    @property
    def answers(self) -> int:
        return len(self.to)

    def ratio(self, one: int, other: int) -> Ratio:
        """Largest quotient under the answers that two are mapped to."""
        return Fraction(1) if self.to[one] == self.to[other] else self.distribution.ratio(self.to[one], self.to[other])


@dataclass(frozen=True)
class IndependentReports:
    """Several reports about one answer, drawn independently of each other: quotients multiply."""

    parts: tuple[ReportDistribution, ...]

    @property
    def answers(self) -> int:
        return self.parts[0].answers

    def ratio(self, one: int, other: int) -> Ratio:
        """Product of the parts' quotients."""
        return product_of_ratios(part.ratio(one, other) for part in self.parts)


@dataclass(frozen=True)
class SymmetricAnswers:
    """Answers of which every ordered pair is alike: renaming reports turns one pair's probabilities into another's."""

    pair: ReportDistribution
    """Distribution for two of the answers; reports with equal quotients may be one report there."""
    answers: int
    """Number of answers."""
    make: Callable[[], ReportDistribution] = field(repr=False, compare=False)
    """Makes the distribution for all answers."""

    @cached_property
    def whole(self) -> ReportDistribution:
        """Distribution for all answers, which may be large: to check the symmetry by."""
        return self.make()

    def ratio(self, one: int, other: int) -> Ratio:
        """Largest quotient under two answers, which is that of every two."""
        return Fraction(1) if one == other else self.pair.ratio(0, 1)


def randomized_response_distribution(own: Fraction, answers: int) -> SymmetricAnswers:
    """Randomised response: the own answer with one probability, every other with an equal part of the rest.

    To the two answers of a pair all further ones are one report: it is as likely for either.
    """
    lie, every = (1 - own) / (answers - 1), range(answers)
    rest = (answers - 2) * lie
    pair = Matrix(((own, lie, rest), (lie, own, rest)))
    return SymmetricAnswers(
        pair, answers, lambda: Matrix(tuple(tuple(own if x == y else lie for y in every) for x in every))
    )


def worst_ratio(distribution: ReportDistribution, among: Sequence[int] | None = None) -> WorstRatio:
    """Worst ratio over all answers or some of them, and two answers that have it."""
    answers = range(distribution.answers) if among is None else among
    match distribution:
        case Matrix():
            return distribution.worst(answers)
        case SymmetricAnswers() if len(answers) > 1:
            return distribution.pair.ratio(0, 1), (answers[0], answers[1])
        case PublicChoice():
            return max((worst_ratio(d, answers) for d in distribution.outcomes), key=lambda worst: _order(worst[0]))
        case MappedAnswers():
            origin = {distribution.to[answer]: answer for answer in reversed(answers)}
            ratio, (one, other) = worst_ratio(distribution.distribution, sorted(origin))
            return ratio, (origin[one], origin[other])
    pairs = [(answers[0], answers[0]), *permutations(answers, 2)]
    ratios = ((distribution.ratio(*pair), pair) for pair in pairs)
    return max(ratios, key=lambda pair: _order(pair[0]))


def largest_ratio(pairs: Iterable[tuple[Fraction, Fraction]]) -> Ratio:
    """Largest quotient of pairs of probabilities; where both are 0, the report is never made."""
    worst = Fraction(0)
    for a, b in pairs:
        if a == 0:
            continue
        if b == 0:
            return None
        worst = max(worst, a / b)
    return worst


def product_of_ratios(ratios: Iterable[Ratio]) -> Ratio:
    """Product of quotients; infinite if one of them is."""
    product = Fraction(1)
    for ratio in ratios:
        if ratio is None:
            return None
        product *= ratio
    return product


def _order(ratio: Ratio) -> tuple[bool, Fraction]:
    """Sort key that puts infinite ratios last."""
    return ratio is None, ratio or Fraction(0)


def require_epsilon(number: Number) -> Fraction:
    """An epsilon for local randomisation, exactly: from a millionth to 20."""
    epsilon = exact(number, "epsilon")
    if not _MIN_EPSILON <= epsilon <= _MAX_EPSILON:
        raise BadInput(
            f"epsilon must lie between 0 and 20 for local randomisation, got {number}.",
            hint="For example 1; two fair coins have ln 3, about 1.0986. The minimum is 0.000001.",
        )
    return epsilon


def round_down(probability: Fraction) -> Fraction:
    """The multiple of 2**-64 at or below a probability."""
    return Fraction(probability.numerator * DENOMINATOR // probability.denominator, DENOMINATOR)


def round_up(probability: Fraction) -> Fraction:
    """The multiple of 2**-64 at or above a probability."""
    return Fraction(-(-probability.numerator * DENOMINATOR // probability.denominator), DENOMINATOR)


def epsilon_claim(ratio: Fraction) -> Fraction:
    """Smallest epsilon to claim for a worst ratio: its logarithm, rounded up to 12 decimals.

    ``exp_lower`` of it is not below the ratio, so that an audit of the claim holds.
    """
    decimals = 10**12
    return Fraction(-(-ln_upper(ratio * EXP_ERROR) * decimals // 1), decimals)
