"""Duchi's mechanism: one of two extremes, the upper the likelier the larger the number (Duchi and others 2018).

Why this is private. The upper outcome has probability 1/2 + (2 i - s) u at point i of s, the lower one the rest. These
lie between 1/2 - s u and 1/2 + s u, whose quotient is at most e**ε when u <= (e**ε - 1) / (2 s (e**ε + 1)); u is that,
rounded down to a multiple of 2**-64. Probabilities go up evenly with i, so the estimate is unbiased without any
rounding. It is the most accurate where ε is small, and the shortest: one bit.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.core.catalogue import declare
from discreet.core.directed_rounding import exp_lower
from discreet.core.families import MEAN_PROTOCOLS
from discreet.noise.entropy import Entropy, Words
from discreet.verbs.collect.domain import Codes
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.probability import DENOMINATOR, round_down
from discreet.verbs.collect.report_distribution import Matrix


@declare(MEAN_PROTOCOLS, "duchi", rank=1, paper="Duchi and others 2018", init=False)
class Duchi(MeanProtocol):
    """Duchi's mechanism: one bit, for means at a small loss."""

    @cached_property
    def slope(self) -> Fraction:
        """u: increase of the probability with half a step, rounded down."""
        odds = exp_lower(self.epsilon)
        return round_down((odds - 1) / (2 * self.grid.steps * (odds + 1)))

    def upper(self, point: int) -> Fraction:
        """Probability of the upper outcome."""
        return Fraction(1, 2) + (2 * point - self.grid.steps) * self.slope

    @cached_property
    def report_distribution(self) -> Matrix:
        """Matrix of the lower and the upper outcome."""
        probabilities = map(self.upper, range(self.grid.steps + 1))
        return Matrix(tuple((1 - probability, probability) for probability in probabilities))

    @cached_property
    def report_values(self) -> tuple[Fraction, ...]:
        """Values as far below and above the middle as makes the mean unbiased."""
        middle, distance = Fraction(self.grid.steps, 2), 1 / (4 * self.slope)
        return middle - distance, middle + distance

    @cached_property
    def _edges(self) -> Words:
        return np.array([int(self.upper(point) * DENOMINATOR) for point in range(self.grid.steps + 1)], dtype=np.uint64)

    def draw(self, codes: Codes, entropy: Entropy) -> Codes:
        """Draw a coin for each."""
        return (entropy.words(codes.size) < self._edges[codes]).astype(np.int64)
