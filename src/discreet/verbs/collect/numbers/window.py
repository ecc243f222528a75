"""Piecewise and square-wave mechanisms: a window around the own number, or any other outcome.

There are m points and m - 1 + w outcomes; the window of a point is the w outcomes from its own place on. A device
reports an outcome of its window, all alike, with probability p, and otherwise one of the m - 1 others, all alike.

Why this is private. An outcome has probability p / w in the window and of (1 - p) / (m - 1) outside; these differ by at
most e**ε when p <= w e**ε / (w e**ε + m - 1), and p is that, rounded down. Every window is as wide, so this holds for
all pairs, at every width. The mean outcome goes up evenly with the point, so that a straight line through it makes the
mean unbiased.

The *piecewise* mechanism (Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019) takes w = s e**-(ε/2), which is best for
means. The *square wave* (Li, Wang, Lopuhaä-Zwakenberg, Škorić, Li 2020) takes the width at which an outcome says most
about the number, which is best for its distribution.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.core.catalogue import declare
from discreet.core.directed_rounding import exp_lower
from discreet.core.families import MEAN_PROTOCOLS
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.domain import Codes, Floats
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.probability import round_down
from discreet.verbs.collect.report_distribution import Matrix


@dataclass(frozen=True, init=False)
class Window(MeanProtocol):
    """A mechanism that reports an outcome of a window around the own number, or another."""

    @property
    @abstractmethod
    def width(self) -> int:
        """w: number of outcomes of a window."""

    @property
    def outcomes(self) -> int:
        """Number of possible reports."""
        return self.grid.steps + self.width

    @cached_property
    def inside(self) -> Fraction:
        """p: probability of an outcome of the window, rounded down."""
        most = self.width * exp_lower(self.epsilon)
        return round_down(most / (most + self.grid.steps))

    @cached_property
    def report_distribution(self) -> Matrix:
        """Matrix of points by outcomes: the window of each, and the rest."""
        s, w = self.grid.steps, self.width
        near, far = self.inside / w, (1 - self.inside) / s
        return Matrix(tuple((far,) * i + (near,) * w + (far,) * (s - i) for i in range(s + 1)))

    @cached_property
    def probabilities(self) -> Floats:
        """Probability of each report, as floating-point numbers: a row for each point."""
        s, w = self.grid.steps, self.width
        own = np.arange(s + w) - np.arange(s + 1)[:, None]
        return np.where((own >= 0) & (own < w), float(self.inside / w), float((1 - self.inside) / s))

    @cached_property
    def report_values(self) -> tuple[Fraction, ...]:
        """Values of the reports by a straight line: outcome j stands for (j - level) / rise steps."""
        s, w, n = self.grid.steps, self.width, self.outcomes
        far = (1 - self.inside) / s
        rise = self.inside - far * w
        level = self.inside * Fraction(w - 1, 2) + far * Fraction(n * (n - 1) - w * (w - 1), 2)
        return tuple((j - level) / rise for j in range(n))

    def draw(self, codes: Codes, entropy: Entropy) -> Codes:
        """Draw an outcome of the window, or one of the others."""
        report_codes = codes + entropy.many_below(self.width, codes.size)
        out = np.flatnonzero(~entropy.flips(self.inside, codes.size))
        other = entropy.many_below(self.grid.steps, out.size)
        report_codes[out] = other + self.width * (other >= codes[out])
        return report_codes


@declare(MEAN_PROTOCOLS, "piecewise", rank=2, paper="Wang and others 2019", init=False)
class Piecewise(Window):
    """Piecewise mechanism, for means at a larger loss: the error is smallest in the middle."""

    @cached_property
    def width(self) -> int:
        """w: s e**-(ε/2), rounded."""
        return max(1, round(self.grid.steps * math.exp(-float(self.epsilon) / 2)))


@declare(MEAN_PROTOCOLS, "square-wave", rank=4, paper="Li and others 2020", init=False)
class SquareWave(Window):
    """Square wave, for distributions."""

    @cached_property
    def width(self) -> int:
        """w: (ε e**ε - e**ε + 1) / (e**ε (e**ε - 1 - ε)) of the steps, rounded."""
        epsilon = max(float(self.epsilon), 1e-3)  # below, the two differences cancel, and the limit 1 is near
        rest = math.expm1(epsilon)
        share = (epsilon * (rest + 1) - rest) / ((rest + 1) * (rest - epsilon))
        return max(1, round(self.grid.steps * share))
