"""Generalised randomised response over any number of values (GRR).

Why this is private. The own value is reported with probability p, every other with (1 - p) / (d - 1); the two differ by
a factor of at most e**ε when p <= e**ε / (e**ε + d - 1), and p is that, rounded down. With p = 3/4 and two values it is
the lecture's two fair coins: heads, tell the truth; tails, answer by the second coin; ε = ln 3 (Warner 1965, Kairouz,
Bonawitz and Ramage 2016).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import pyarrow as pa

from discreet.core.catalogue import declare
from discreet.core.directed_rounding import exp_lower
from discreet.core.families import FREQUENCY_ORACLES
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.domain import Codes, Counts
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.probability import round_down
from discreet.verbs.collect.randomized_response import randomized_response
from discreet.verbs.collect.report_arrays import count_outcomes, integer_type, to_integer_reports
from discreet.verbs.collect.report_distribution import SymmetricAnswers, randomized_response_distribution


@declare(FREQUENCY_ORACLES, "grr", rank=0, paper="Kairouz, Bonawitz and Ramage 2016", init=False)
class GRR(FrequencyOracle):
    """Generalised randomised response: the most accurate oracle where there are few values."""

    operations = 4

    @cached_property
    def p_own(self) -> Fraction:
        """p: probability of reporting the own value, rounded down."""
        odds = exp_lower(self.epsilon)
        return round_down(odds / (odds + len(self.domain) - 1))

    @cached_property
    def q_other(self) -> Fraction:
        """q: an equal part of the rest for each other value."""
        return (1 - self.p_own) / (len(self.domain) - 1)

    @cached_property
    def report_distribution(self) -> SymmetricAnswers:
        """Randomised response: the own value with p, every other with q."""
        return randomized_response_distribution(self.p_own, len(self.domain))

    @cached_property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: the index of a value."""
        return integer_type(len(self.domain))

    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """Draw the own value, or a step of 1 to d - 1 further round the list."""
        report_codes = randomized_response(codes, self.p_own, len(self.domain), entropy)
        return to_integer_reports(report_codes, len(self.domain))

    def count(self, reports: pa.Array[Any]) -> Counts:
        """Count the reports that name each value."""
        return count_outcomes(reports.to_numpy(), len(self.domain), "A report names an unknown value.")
