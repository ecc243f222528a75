"""Hybrid mechanism: Duchi's or piecewise, by a coin that depends on no number (Wang and others 2019).

Why this is private: which of the two was used is reported, and has nothing to do with the number; each of them loses at
most ε, and one of them is used. Why it is better: Duchi's error is largest in the middle of the grid and the window's
at its ends, so that a mixture is less wrong at worst. Theory's best share of windows is 1 - e**-(ε/2), and none where ε
is below 0.61.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.core.catalogue import declare
from discreet.core.families import MEAN_PROTOCOLS
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.domain import Codes, Floats
from discreet.verbs.collect.numbers.duchi import Duchi
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.numbers.window import Piecewise
from discreet.verbs.collect.probability import round_down
from discreet.verbs.collect.report_distribution import PublicChoice, ReportDistribution

_MIN_EPSILON = Fraction(61, 100)
"""Epsilon up to which Duchi's mechanism alone is best."""


@declare(MEAN_PROTOCOLS, "hybrid", rank=3, paper="Wang and others 2019", init=False)
class Hybrid(MeanProtocol):
    """Hybrid mechanism, for means at any loss; reports 0 and 1 are Duchi's, the others are piecewise."""

    @cached_property
    def duchi(self) -> Duchi:
        """Duchi's mechanism."""
        return Duchi(self.grid, self.epsilon)

    @cached_property
    def piecewise(self) -> Piecewise:
        """The piecewise mechanism."""
        return Piecewise(self.grid, self.epsilon)

    @cached_property
    def share(self) -> Fraction:
        """Probability that the piecewise mechanism is used: a multiple of 2**-64."""
        return (
            round_down(Fraction(-math.expm1(-float(self.epsilon) / 2))) if self.epsilon > _MIN_EPSILON else Fraction(0)
        )

    @cached_property
    def report_distribution(self) -> ReportDistribution:
        """A public choice of the mechanism."""
        return PublicChoice(
            (self.duchi.report_distribution, self.piecewise.report_distribution)
            if self.share
            else (self.duchi.report_distribution,)
        )

    @cached_property
    def report_values(self) -> tuple[Fraction, ...]:
        """Values of the reports of both mechanisms."""
        return self.duchi.report_values + self.piecewise.report_values

    @cached_property
    def probabilities(self) -> Floats:
        """Probability of each report, as floating-point numbers: a row for each point."""
        share = float(self.share)
        return np.hstack([(1 - share) * self.duchi.probabilities, share * self.piecewise.probabilities])

    def draw(self, codes: Codes, entropy: Entropy) -> Codes:
        """Draw by one of the two."""
        window = entropy.flips(self.share, codes.size)
        report_codes = np.empty_like(codes)
        report_codes[~window] = self.duchi.draw(codes[~window], entropy)
        report_codes[window] = 2 + self.piecewise.draw(codes[window], entropy)
        return report_codes
