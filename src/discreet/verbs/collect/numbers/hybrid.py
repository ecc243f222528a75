"""Duchi's coin or the piecewise window, by a coin that hangs on no number (Wang and others 2019).

Why this is private: which of the two was used is reported, and has nothing to do with the number; each of them loses at
most ε, and one of them is used. Why it is better: Duchi's error is largest in the middle of the grid and the window's
at its ends, so that a mixture is less wrong at worst. Theory's best share of windows is 1 - e**-(ε/2), and none where ε
is below 0.61.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.noise.entropy import Entropy
from discreet.verbs.collect.domain import Codes, Floats
from discreet.verbs.collect.numbers.duchi import Duchi
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.numbers.window import Piecewise
from discreet.verbs.collect.probability import round_down
from discreet.verbs.collect.report_distribution import PublicChoice, ReportDistribution

_LEAST = Fraction(61, 100)


@dataclass(frozen=True, init=False)
class Hybrid(MeanProtocol):
    """For means at any loss. Reports 0 and 1 are Duchi's, those after them are the window's."""

    name = "hybrid"

    @cached_property
    def duchi(self) -> Duchi:
        """The coin."""
        return Duchi(self.grid, self.epsilon)

    @cached_property
    def piecewise(self) -> Piecewise:
        """The window."""
        return Piecewise(self.grid, self.epsilon)

    @cached_property
    def share(self) -> Fraction:
        """The chance that the window is used: a multiple of 2**-64."""
        return round_down(Fraction(-math.expm1(-float(self.epsilon) / 2))) if self.epsilon > _LEAST else Fraction(0)

    @cached_property
    def report_distribution(self) -> ReportDistribution:
        """Either, as far as it is used; which one is public."""
        return PublicChoice(
            (self.duchi.report_distribution, self.piecewise.report_distribution)
            if self.share
            else (self.duchi.report_distribution,)
        )

    @cached_property
    def report_values(self) -> tuple[Fraction, ...]:
        """What either says."""
        return self.duchi.report_values + self.piecewise.report_values

    @cached_property
    def probabilities(self) -> Floats:
        """A row for each point: how likely each report is, as figures."""
        share = float(self.share)
        return np.hstack([(1 - share) * self.duchi.probabilities, share * self.piecewise.probabilities])

    def draw(self, codes: Codes, entropy: Entropy) -> Codes:
        """By one of the two."""
        window = entropy.flips(self.share, codes.size)
        report_codes = np.empty_like(codes)
        report_codes[~window] = self.duchi.draw(codes[~window], entropy)
        report_codes[window] = 2 + self.piecewise.draw(codes[window], entropy)
        return report_codes
