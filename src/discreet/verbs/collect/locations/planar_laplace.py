"""Planar Laplace mechanism on a grid, drawn exactly (geo-indistinguishability).

Geo-indistinguishability (Andrés, Bordenabe, Chatzikokolakis, Palamidessi 2013) promises by the metre: a report is at
most e**(ε r / R) times as likely from one place as from another r metres away, where ε is what is lost within R metres.
The nearer two places, the less they are told apart; a whole country is not hidden.

Why this is private. Say N(v) is the length of a step v of the grid in 64ths of a step, rounded *up* to a whole number.
Lengths that are rounded up still keep to the triangle inequality, N(v + w) <= N(v) + N(w). The report z of a point x,
anywhere on the endless grid, has a probability in proportion to e**-(λ N(z - x)), and the proportion is the same for
every x; so of two points x and y it is at most e**(λ N(x - y)) times as likely from one, which is reached at z = x. And
λ is such that λ N(v) never exceeds the promised ε / R times the metres of v; rounding up costs some half of a percent
of ε. What lies beyond the region is then cut to it: that is done to what is private already, and costs nothing, where
drawing among the region's points alone would cost up to twice as much.

Why the draws are exact. Both coordinates are drawn by the discrete Laplace mechanism with e**-(45 λ) a step, since N(v)
>= 64 |v| >= 45 (|a| + |b|) for v = (a, b), and kept with probability e**-(λ (N(v) - 45 (|a| + |b|))): whole multiples
of λ, so that a geometric draw settles it. Three of four are kept.

A place is first taken to the nearest point of the grid, and two places that are r metres apart to points that may be
r + √2 steps apart (two on either side of a border are taken to points a whole step apart, however near they are). So it
is within R metres and √2 steps that points lose ε: then the promise is about the places themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from discreet.core.directed_rounding import exp_upper, sqrt_lower
from discreet.core.exact import Number, exact
from discreet.core.loss import Pure
from discreet.errors import BadInput
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.noise.laplace import DiscreteLaplace, geometrics
from discreet.verbs.collect.domain import Codes, set_fields
from discreet.verbs.collect.locations.region import Points, Region
from discreet.verbs.collect.report_arrays import in_batches, integer_type, to_integer_reports

UNIT = 64
"""Number of parts of a step that lengths are counted in."""
_AXIS_WEIGHT = 45
"""Lower bound of N per step along the axes, in 64ths."""
_DRAWS_PER_BATCH = 1 << 20
_FLOAT_STEPS = 1 << 24
"""Largest number of steps along an axis whose length is computed in floating point."""
_MAX_LENGTH = 1 << 62
_MAX_SCALE = 1 << 16
"""Largest scale of the noise, steps."""
_RATE_BITS = 64


@dataclass(frozen=True, init=False)
class PlanarLaplace:
    """Planar Laplace noise: ``epsilon`` is the loss about places within ``within`` metres of each other."""

    name = "planar-laplace"
    region: Region
    epsilon_within: Fraction
    within: Fraction

    def __init__(self, region: Region, epsilon: Number, within: Number) -> None:
        set_fields(self, region=region, epsilon_within=exact(epsilon, "epsilon"), within=exact(within, "within"))
        if not (self.epsilon_within and self.within):
            raise BadInput("epsilon and the metres it is lost within must be above 0.", hint="ln 4 in 200 m is usual.")
        if self._axis.scale > _MAX_SCALE:
            raise BadInput("The noise is thousands of steps long.", hint="Take longer steps or a larger epsilon.")

    @property
    def per_metre(self) -> Fraction:
        """Loss per metre between points of the grid."""
        return self.epsilon_within / (self.within + self.region.blur)

    def loss_at(self, metres: Number) -> Pure:
        """Largest loss of a report about places at a distance, wherever they lie between points of the grid."""
        return Pure(self.per_metre * (exact(metres, "metres") + self.region.blur))

    @property
    def epsilon(self) -> Fraction:
        """Largest loss about any two points of the region."""
        return self.per_metre * self.region.diameter

    @property
    def loss(self) -> Pure:
        """Privacy loss about any two points of the region."""
        return Pure(self.epsilon)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters, as plain data."""
        return {**self.region.parameters, "epsilon": str(self.epsilon_within), "within": str(self.within)}

    @cached_property
    def rate(self) -> Fraction:
        """λ: loss per 64th of a step, rounded down."""
        most = self.per_metre * self.region.step * _tightest()
        return Fraction(most.numerator << _RATE_BITS, most.denominator).__floor__() * Fraction(1, 1 << _RATE_BITS)

    @property
    def report_distribution(self) -> PlanarReportDistribution:
        """Probability of each report given each point of the region."""
        return PlanarReportDistribution(self)

    @property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: the number of a point of the region."""
        return integer_type(len(self.region))

    def noisy(self, points: Points, entropy: Entropy) -> Points:
        """Add noise to points, anywhere on the endless grid."""
        moved = points + offsets(self.rate, points.size // 2, entropy).reshape(points.shape)
        noisy: Points = np.clip(moved, -_MAX_LENGTH, _MAX_LENGTH)
        return noisy

    def randomize(self, metres: ArrayLike, *, entropy: Entropy = BULK) -> pa.Array[Any]:
        """Randomise places, given by metres east and north of the corner, into points of the region."""
        points = self.region.nearest(metres)
        return in_batches(
            len(points),
            lambda part: to_integer_reports(
                self.region.codes(self.region.cut(self.noisy(points[part], entropy))), len(self.region)
            ),
        )

    def radius(self, confidence: float = 0.95) -> float:
        """Radius, metres, that contains the noise with a confidence, before the cut to the region."""
        if not 0 < confidence < 1:
            raise BadInput(f"Confidence lies between 0 and 1, got {confidence}.")
        low, high, left = 0.0, 1.0, 1 - confidence
        while (1 + high) * math.exp(-high) > left:
            low, high = high, 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if (1 + middle) * math.exp(-middle) > left else (low, middle)
        return high / float(self.rate * UNIT) * float(self.region.step) + float(self.region.step)

    @property
    def _axis(self) -> DiscreteLaplace:
        if self.rate == 0:
            raise BadInput("This loss is too small to be drawn by.", hint="Take longer steps or a larger epsilon.")
        return DiscreteLaplace(1 / (self.rate * _AXIS_WEIGHT))


@dataclass(frozen=True)
class PlanarReportDistribution:
    """Report distribution before the cut to the region, which can only make quotients smaller."""

    mechanism: PlanarLaplace

    @property
    def answers(self) -> int:
        """Number of points of the region."""
        return len(self.mechanism.region)

    def exponent(self, one: int, other: int) -> Fraction:
        """Logarithm of the largest quotient of a report's probabilities under two points, exactly."""
        a, b = self.mechanism.region.points(np.array([one, other]))
        return self.mechanism.rate * int(lengths((a - b)[None])[0])

    def ratio(self, one: int, other: int) -> Fraction:
        """Largest quotient, rounded up by less than a part in 2**150."""
        return exp_upper(self.exponent(one, other))


def lengths(steps: Points) -> Codes:
    """N: length of each vector of the grid in 64ths of a step, rounded up; at most 2**62."""
    a, b = steps[..., 0], steps[..., 1]
    far = (np.abs(a) > _FLOAT_STEPS) | (np.abs(b) > _FLOAT_STEPS)
    squares = UNIT**2 * (np.where(far, 0, a) ** 2 + np.where(far, 0, b) ** 2)
    result: Codes = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    result -= result**2 > squares
    for _ in range(2):  # from the whole number below the root, or from one less, where the float was rounded
        result += result**2 < squares
    for index in zip(*np.nonzero(far), strict=True):
        square = UNIT**2 * (int(a[index]) ** 2 + int(b[index]) ** 2)
        result[index] = min(math.isqrt(square - 1) + 1, _MAX_LENGTH)
    return result


def offsets(rate: Fraction, count: int, entropy: Entropy) -> Points:
    """Draw vectors v with a probability in proportion to e**-(rate N(v)), exactly.

    Beyond 2**55 steps, which have probability less than e**-(2**39), lengths are not told apart.
    """
    axis, made, have = DiscreteLaplace(1 / (rate * _AXIS_WEIGHT)), np.empty((count, 2), dtype=np.int64), 0
    while have < count:
        tries = min(_DRAWS_PER_BATCH, (count - have) * 3 // 2 + 16)
        steps = axis.draws(2 * tries, entropy).reshape(tries, 2)
        spare = lengths(steps) - _AXIS_WEIGHT * np.minimum(np.abs(steps), _MAX_LENGTH // UNIT // 2).sum(axis=1)
        kept = steps[geometrics(1 / rate, tries, entropy) >= spare][: count - have]
        made[have : have + len(kept)] = kept
        have += len(kept)
    return made


@lru_cache(maxsize=1)
def _tightest() -> Fraction:
    """Smallest quotient of a vector's true length and N, rounded down.

    Steps up to 40 along the axes are tried (one of them is below 1/64.4); a longer one has |v| / (64 |v| + 1) or more,
    which is above 1/64.03.
    """
    tried = [(a, b) for a in range(1, 41) for b in range(a + 1)]
    sizes = lengths(np.array(tried)).tolist()
    return min(sqrt_lower(Fraction(a * a + b * b)) / int(size) for (a, b), size in zip(tried, sizes, strict=True))
