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
from discreet.verbs.collect.domain import Codes
from discreet.verbs.collect.numbers.duchi import Duchi
from discreet.verbs.collect.numbers.grid import Floats
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.numbers.window import Piecewise
from discreet.verbs.collect.probability import down
from discreet.verbs.collect.report_distribution import Law, Public

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
        return down(Fraction(-math.expm1(-float(self.epsilon) / 2))) if self.epsilon > _LEAST else Fraction(0)

    @cached_property
    def law(self) -> Law:
        """Either, as far as it is used; which one is public."""
        return Public((self.duchi.law, self.piecewise.law) if self.share else (self.duchi.law,))

    @cached_property
    def said(self) -> tuple[Fraction, ...]:
        """What either says."""
        return self.duchi.said + self.piecewise.said

    @cached_property
    def chances(self) -> Floats:
        """A row for each point: how likely each report is, as figures."""
        share = float(self.share)
        return np.hstack([(1 - share) * self.duchi.chances, share * self.piecewise.chances])

    def draw(self, codes: Codes, entropy: Entropy) -> Codes:
        """By one of the two."""
        window = entropy.flips(self.share, codes.size)
        told = np.empty_like(codes)
        told[~window] = self.duchi.draw(codes[~window], entropy)
        told[window] = 2 + self.piecewise.draw(codes[window], entropy)
        return told
