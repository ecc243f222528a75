"""Discrete Laplace mechanism on a device: noise of whole steps, cut to the grid.

Why this is private. Noise x has a probability in proportion to q**|x| with q = e**-(ε / s), so two points at most s
steps apart differ by a factor of at most e**ε; cutting what comes out to the grid is done to what is private already.
The table that is drawn from is checked as such (``channel``).

Why it is unbiased though it is cut. Beyond an end, noise goes on geometrically and without memory: whoever is cut to
the end was on average q / (1 - q) steps beyond it, wherever they came from. So that is what an end says. Each report
says the mean of what it stands for: cutting loses nothing but noise, and it takes no more than a code of the grid.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

from discreet.core.catalogue import declare
from discreet.core.directed_rounding import exp_minus
from discreet.core.families import MEAN_PROTOCOLS
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.domain import Codes
from discreet.verbs.collect.numbers.channel import Channel, rounded_channel
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.report_distribution import Matrix

_WEIGHT_BITS = 160


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
        """Draw from the channel."""
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
