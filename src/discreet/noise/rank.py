"""Truncated rank mechanism: a declared value, less likely by a constant factor per rank of distance from the truth."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Generic, TypeVar

from discreet.core.exact import Number, ln_upper, positive, probability, round_up, whole
from discreet.core.loss import Pure
from discreet.errors import BadInput
from discreet.noise.entropy import SYSTEM, Entropy

T = TypeVar("T", bound=Hashable)


class Rank(Generic[T]):
    """Rank mechanism: the probability of a value is proportional to ``factor``**-(its rank distance from the truth).

    Why this is private: let Z(i) be the sum of the weights when the truth has rank i. If it moves from rank i
    to rank j, no weight changes by more than factor**|i - j|, and the weight of rank i does; so no probability
    changes by more than factor**|i - j| · Z(j) / Z(i), and one does. The loss is the logarithm of the largest
    of these over all ranks within reach. It is the exponential mechanism of McSherry and Talwar (2007), with
    the sums computed rather than bounded. They matter: a truth near an end has fewer neighbours, so a step
    costs more than ln(factor). Weights are whole numbers and the draw is exact.
    """

    def __init__(self, values: Sequence[T], factor: Number = 2) -> None:
        self.values = tuple(values)
        self.factor = positive(factor, "factor")
        self._ranks = {value: rank for rank, value in enumerate(self.values)}
        if not self.values or len(self._ranks) < len(self.values):
            raise BadInput("Declare at least one value, in order, each once.")
        if self.factor <= 1:
            raise BadInput(f"The factor must be above 1, got {factor}.", hint="2 halves the probability a rank.")

    def distribution(self, truth: T) -> dict[T, Fraction]:
        """Output distribution: the probability of every value."""
        weights = self._weights(self._rank(truth))
        total = sum(weights)
        return {value: Fraction(weight, total) for value, weight in zip(self.values, weights, strict=True)}

    def answer(self, truth: T, entropy: Entropy = SYSTEM) -> T:
        """Draw a value for ``truth``."""
        weights = self._weights(self._rank(truth))
        drawn = entropy.below(sum(weights))
        return self.values[bisect_right(list(accumulate(weights)), drawn)]

    def loss(self, steps: int = 1) -> Pure:
        """Privacy loss when one unit moves the truth by at most ``steps`` ranks."""
        sums = [sum(self._weights(rank)) for rank in range(len(self.values))]
        reach = min(whole(steps, "steps"), len(sums) - 1)
        ratios = (
            self.factor**step * Fraction(max(sums[i], sums[i + step]), min(sums[i], sums[i + step]))
            for step in range(1, reach + 1)
            for i in range(len(sums) - step)
        )
        return Pure(round_up(ln_upper(max(ratios, default=Fraction(1)))))

    def error(self, beta: Number) -> int:
        """Error bound: the smallest t such that P(the answer is more than t ranks off) <= beta for any truth."""
        allowed = probability(beta, "beta")
        worst = 0
        for rank, truth in enumerate(self.values):
            chances = list(self.distribution(truth).values())
            while sum(chances[: max(rank - worst, 0)]) + sum(chances[rank + worst + 1 :]) > allowed:
                worst += 1
        return worst

    def _rank(self, truth: T) -> int:
        try:
            return self._ranks[truth]
        except KeyError:
            raise BadInput("The true value is not one of the declared values.", hint="Declare all of them.") from None

    def _weights(self, truth: int) -> list[int]:
        most = len(self.values) - 1
        up, down = self.factor.numerator, self.factor.denominator
        return [up ** (most - abs(rank - truth)) * down ** abs(rank - truth) for rank in range(most + 1)]
