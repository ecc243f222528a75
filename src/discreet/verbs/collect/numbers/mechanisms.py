"""Local mechanisms for the mean of a number: Duchi's, piecewise, square wave, hybrid and discrete Laplace.

**Duchi's mechanism (Duchi and others 2018): one of two extremes, the upper the likelier the larger the number.** Why
this is private. The upper outcome has probability 1/2 + (2 i - s) u at point i of s, the lower one the rest. These lie
between 1/2 - s u and 1/2 + s u, whose quotient is at most e**ε when u <= (e**ε - 1) / (2 s (e**ε + 1)); u is that,
rounded down to a multiple of 2**-64. Probabilities go up evenly with i, so the estimate is unbiased without any
rounding. It is the most accurate where ε is small, and the shortest: one bit.

**Piecewise and square wave: a window around the own number, or any other outcome.** There are m points and m - 1 + w
outcomes; the window of a point is the w outcomes from its own place on. A device reports an outcome of its window, all
alike, with probability p, and otherwise one of the m - 1 others, all alike.

Why this is private. An outcome has probability p / w in the window and of (1 - p) / (m - 1) outside; these differ by at
most e**ε when p <= w e**ε / (w e**ε + m - 1), and p is that, rounded down. Every window is as wide, so this holds for
all pairs, at every width. The mean outcome goes up evenly with the point, so that a straight line through it makes the
mean unbiased.

The *piecewise* mechanism (Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019) takes w = s e**-(ε/2), which is best for
means. The *square wave* (Li, Wang, Lopuhaä-Zwakenberg, Škorić, Li 2020) takes the width at which an outcome says most
about the number, which is best for its distribution.

**Hybrid (Wang and others 2019): Duchi's or piecewise, by a coin that depends on no number.** Why this is private: which
of the two was used is reported, and has nothing to do with the number; each of them loses at most ε, and one of them is
used. Why it is better: Duchi's error is largest in the middle of the grid and the window's at its ends, so that a
mixture is less wrong at worst. Theory's best share of windows is 1 - e**-(ε/2), and none where ε is below 0.61.

**Discrete Laplace: noise of whole steps, cut to the grid.** Why this is private. Noise x has a probability in
proportion to q**|x| with q = e**-(ε / s), so two points at most s steps apart differ by a factor of at most e**ε;
cutting what comes out to the grid is done to what is private already. The table that is drawn from is checked as such
(see channels).

Why it is unbiased though it is cut. Beyond an end, noise goes on geometrically and without memory: anyone who is cut to
the end was on average q / (1 - q) steps beyond it, wherever they came from. So that is what an end says. Each report
says the mean of what it stands for: cutting loses nothing but noise, and it takes no more than a code of the grid.

**Channels: tables of probabilities in whole 2**-64ths, from which a report is drawn by one look-up.** A uniform word of
64 bits is compared with the running sums of the answer's row, so that each report has exactly its probability. Theory's
probabilities are irrational: they are cut to whole parts, and what that leaves over goes to the likeliest report.
Whether the promise still holds is not argued but checked, on every column of the table that is drawn from; where it
does not, the table is made again for a slightly smaller loss, until it does.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.catalogue import declare
from discreet.core.compiled import njit
from discreet.core.exact import exp_lower, exp_minus
from discreet.core.families import MEAN_PROTOCOLS
from discreet.errors import BadInput
from discreet.noise.entropy import Entropy, Words
from discreet.verbs.collect.domain import Codes, Floats
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.report_distribution import DENOMINATOR, Matrix, PublicChoice, ReportDistribution, round_down

_MIN_EPSILON = Fraction(61, 100)
"""Epsilon up to which Duchi's mechanism alone is best."""
_WEIGHT_BITS = 160
Weights = Sequence[Sequence[int]]


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
        return (entropy.words(codes.size) < self._edges[codes]).astype(np.int64)


@dataclass(frozen=True, init=False)
class Window(MeanProtocol):
    """A mechanism that reports an outcome of a window around the own number, or another."""

    @property
    @abstractmethod
    def width(self) -> int:
        """w: number of outcomes of a window."""

    @property
    def outcomes(self) -> int:
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


@declare(MEAN_PROTOCOLS, "hybrid", rank=3, paper="Wang and others 2019", init=False)
class Hybrid(MeanProtocol):
    """Hybrid mechanism, for means at any loss; reports 0 and 1 are Duchi's, the others are piecewise."""

    @cached_property
    def duchi(self) -> Duchi:
        return Duchi(self.grid, self.epsilon)

    @cached_property
    def piecewise(self) -> Piecewise:
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
        return self.duchi.report_values + self.piecewise.report_values

    @cached_property
    def probabilities(self) -> Floats:
        share = float(self.share)
        return np.hstack([(1 - share) * self.duchi.probabilities, share * self.piecewise.probabilities])

    def draw(self, codes: Codes, entropy: Entropy) -> Codes:
        window = entropy.flips(self.share, codes.size)
        report_codes = np.empty_like(codes)
        report_codes[~window] = self.duchi.draw(codes[~window], entropy)
        report_codes[window] = 2 + self.piecewise.draw(codes[window], entropy)
        return report_codes


@declare(MEAN_PROTOCOLS, "laplace", rank=0, init=False)
class Laplace(MeanProtocol):
    """Discrete Laplace mechanism: better than the others only where ε is very large."""

    @cached_property
    def _kept(self) -> tuple[Channel, Fraction]:
        return rounded_channel(self._weights, self.epsilon)

    @property
    def channel(self) -> Channel:
        """Channel that reports are drawn from."""
        return self._kept[0]

    @property
    def report_distribution(self) -> Matrix:
        """Matrix of points by reported points."""
        return self.channel.report_distribution

    @cached_property
    def report_values(self) -> tuple[Fraction, ...]:
        """Values of the reports: each point itself, but for the ends."""
        q = Fraction(self._shrink(self._kept[1]), 1 << _WEIGHT_BITS)
        beyond = q / (1 - q)
        return (-beyond, *map(Fraction, range(1, self.grid.steps)), self.grid.steps + beyond)

    def draw(self, codes: Codes, entropy: Entropy) -> Codes:
        return self.channel.draw(codes, entropy)

    def _shrink(self, epsilon: Fraction) -> int:
        """q in whole 2**-160ths."""
        return exp_minus(epsilon / self.grid.steps, _WEIGHT_BITS)[1]

    def _weights(self, epsilon: Fraction) -> list[list[int]]:
        """Weights: (1 - q) q**|i - j| between the ends, and at an end all that lies beyond."""
        s, q, one = self.grid.steps, self._shrink(epsilon), 1 << _WEIGHT_BITS
        powers = [one]
        for _ in range(s):
            powers.append(powers[-1] * q >> _WEIGHT_BITS)
        inner = [power * (one - q) >> _WEIGHT_BITS for power in powers]
        return [[powers[i], *(inner[abs(i - j)] for j in range(1, s)), powers[s - i]] for i in range(s + 1)]


@dataclass(frozen=True)
class Channel:
    """A row for each answer with the probability of each report in whole 2**-64ths."""

    parts: tuple[tuple[int, ...], ...]

    @cached_property
    def report_distribution(self) -> Matrix:
        """Probability of each report given each answer."""
        return Matrix(tuple(tuple(Fraction(part, DENOMINATOR) for part in row) for row in self.parts))

    @property
    def reports(self) -> int:
        return len(self.parts[0])

    def keeps_to(self, epsilon: Fraction) -> bool:
        """Whether no report is more than e**epsilon times as likely for one answer as for another, exactly."""
        odds = exp_lower(epsilon)
        columns = [(max(column), min(column)) for column in zip(*self.parts, strict=True)]
        return all(most * odds.denominator <= least * odds.numerator for most, least in columns)

    @cached_property
    def _sums(self) -> Words:
        """Cumulative sums of each row without the last, which is one."""
        edges = np.zeros((len(self.parts), self.reports - 1), dtype=np.uint64)
        for row, parts in enumerate(self.parts):
            total = 0
            for index, part in enumerate(parts[:-1]):
                total += part
                edges[row, index] = total
        return edges

    def draw(self, codes: Codes, entropy: Entropy) -> Codes:
        """Draw a report for each answer."""
        drawn = np.empty(codes.size, dtype=np.int64)
        _look_up(self._sums, codes, entropy.words(codes.size), drawn)
        return drawn


def to_units(weights: Sequence[int]) -> tuple[int, ...]:
    """Convert weights to probabilities in whole 2**-64ths; the rest goes to the likeliest."""
    total = sum(weights)
    parts = [weight * DENOMINATOR // total for weight in weights]
    parts[max(range(len(parts)), key=parts.__getitem__)] += DENOMINATOR - sum(parts)
    return tuple(parts)


def rounded_channel(weights: Callable[[Fraction], Weights], epsilon: Fraction) -> tuple[Channel, Fraction]:
    """A channel that keeps to ``epsilon``, and the slightly smaller loss that its weights were computed for."""
    for digits in (60, 50, 40, 30, 20):
        less = epsilon * (1 - Fraction(1, 1 << digits))
        channel = Channel(tuple(map(to_units, weights(less))))
        if channel.keeps_to(epsilon):
            return channel, less
    raise BadInput("These probabilities are too small to draw from.", hint="Use fewer steps or a smaller epsilon.")


@njit(cache=True)
def _look_up(sums: Any, codes: Any, words: Any, drawn: Any) -> None:
    """Number of cumulative sums of each row that are at most the word."""
    for at in range(codes.size):
        row, word = sums[codes[at]], words[at]
        low, high = 0, row.size
        while low < high:
            middle = (low + high) // 2
            if row[middle] <= word:
                low = middle + 1
            else:
                high = middle
        drawn[at] = low
