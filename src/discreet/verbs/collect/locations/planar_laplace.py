"""Planar Laplace mechanism on a grid, drawn exactly (geo-indistinguishability), and optimal remapping.

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

A place is first taken to the nearest point of the grid, and two places that are r metres apart to points that may be r
+ √2 steps apart (two on either side of a border are taken to points a whole step apart, however near they are). So it
is within R metres and √2 steps that points lose ε: then the promise is about the places themselves.

**Remapping by a public prior.** A *prior* is a public weight for every point of the region. Given a noisy point z, the
probability that someone at x made it is in proportion to e**-(λ N(z - x)), exactly and for every x alike, so the
posterior is the prior times that. The device then reports, instead of z, the point whose expected distance from the
true one is least under the posterior (Chatzikokolakis, Elsalamouny, Palamidessi 2017). Why this costs nothing: it looks
at z and at what is public, not at the place. It must look at z before it is cut to the region, which tells more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.core.exact import Number, exact, exp_upper, sqrt_lower, sqrt_upper
from discreet.core.loss import Pure
from discreet.errors import BadInput, DataError
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.noise.laplace import DiscreteLaplace, geometrics
from discreet.verbs.collect.domain import Codes, Floats, plain_fields, set_fields
from discreet.verbs.collect.report_arrays import in_batches, integer_type, require_confidence, to_integer_reports

Points = NDArray[np.int64]
"""A row for each point: steps east and north of the corner."""
_MAX_POINTS = 1 << 24
_EARTH_METRES = 6_371_008.8
"""Mean radius of the Earth, metres."""
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
_MAX_REMAP_POINTS = 4096
_POINTS_PER_BATCH = 256


@dataclass(frozen=True, init=False)
class Region:
    """A rectangle of ``width`` by ``height`` metres, with a point every ``step`` metres."""

    width: Fraction
    height: Fraction
    step: Fraction

    def __init__(self, width: Number, height: Number, step: Number) -> None:
        for name, number in (("width", width), ("height", height), ("step", step)):
            object.__setattr__(self, name, exact(number, name))
        if not 0 < self.step <= max(self.width, self.height):
            raise BadInput(f"A step is above 0 and fits into the region, got {step} metres.")
        if len(self) > _MAX_POINTS:
            raise BadInput(f"A region has at most {_MAX_POINTS:,} points, not {len(self):,}.", hint="Use longer steps.")

    @cached_property
    def across(self) -> int:
        """Number of points from west to east."""
        return int(self.width / self.step) + 1

    @cached_property
    def up(self) -> int:
        """Number of points from south to north."""
        return int(self.height / self.step) + 1

    def __len__(self) -> int:
        return self.across * self.up

    @property
    def diameter(self) -> Fraction:
        """Largest distance of two points, metres, rounded up."""
        return self.step * sqrt_upper(Fraction((self.across - 1) ** 2 + (self.up - 1) ** 2))

    @property
    def blur(self) -> Fraction:
        """Largest increase of the distance of two places by rounding them to points, metres, rounded up.

        Along either axis each place moves by half a step at most, so together by a step.
        """
        return self.step * sqrt_upper(Fraction(2))

    @property
    def parameters(self) -> dict[str, Any]:
        return plain_fields(self)

    def nearest(self, metres: ArrayLike) -> Points:
        """Nearest point to each place, given by metres east and north of the corner."""
        places = np.asarray(metres, dtype=np.float64)
        if places.shape[-1:] != (2,) or np.isnan(places).any():
            raise DataError("A place must be metres east and metres north.", hint="Leave out unknown places.")
        return self.cut(np.rint(np.clip(places / float(self.step), -(2.0**52), 2.0**52)).astype(np.int64))

    def cut(self, points: Points) -> Points:
        """Nearest point of the region to each point."""
        return np.clip(points, 0, [self.across - 1, self.up - 1])

    def codes(self, points: Points) -> Codes:
        """Number of each point of the region, from south to north and each row from west to east."""
        codes: Codes = points[..., 1] * self.across + points[..., 0]
        return codes

    def points(self, codes: Codes) -> Points:
        """Points with given numbers."""
        return np.stack([codes % self.across, codes // self.across], axis=-1)

    def metres(self, codes: Codes) -> Floats:
        """Metres east and north of the points with given numbers."""
        return self.points(codes).astype(np.float64) * float(self.step)


def metres_from(latitudes: ArrayLike, longitudes: ArrayLike, corner: tuple[float, float]) -> Floats:
    """Convert degrees to metres east and north of a corner, given by its latitude and longitude.

    The map is flat and true along the corner's parallel: within a city that is off by a part in some thousands.
    """
    north = np.radians(np.asarray(latitudes, dtype=np.float64) - corner[0]) * _EARTH_METRES
    east = (
        np.radians(np.asarray(longitudes, dtype=np.float64) - corner[1])
        * _EARTH_METRES
        * math.cos(math.radians(corner[0]))
    )
    return np.stack([east, north], axis=-1)


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
            raise BadInput("epsilon and its distance in metres must be above 0.", hint="For example ln 4 within 200 m.")
        if self._axis.scale > _MAX_SCALE:
            raise BadInput("The noise is thousands of steps long.", hint="Use longer steps or a larger epsilon.")

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
        require_confidence(confidence)
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
            raise BadInput("This loss is too small to draw from.", hint="Use longer steps or a larger epsilon.")
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
        accepted = steps[geometrics(1 / rate, tries, entropy) >= spare][: count - have]
        made[have : have + len(accepted)] = accepted
        have += len(accepted)
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


@dataclass(frozen=True, eq=False)
class Remap:
    """A mechanism, and a public prior weight for every point of its region, in the order of their numbers."""

    mechanism: PlanarLaplace
    prior: Floats

    def __post_init__(self) -> None:
        points = len(self.mechanism.region)
        if points > _MAX_REMAP_POINTS:
            raise BadInput(
                f"At most {_MAX_REMAP_POINTS:,} points can be weighed, not {points:,}.", hint="Take longer steps."
            )
        wrong = self.prior.shape != (points,) or not np.isfinite(self.prior).all() or (self.prior < 0).any()
        if wrong or self.prior.sum() == 0:
            raise BadInput("A prior needs a weight of at least 0 for every point of the region, not all 0.")

    def posterior(self, noisy: Points) -> Floats:
        """Posterior probability of every point of the region, a row for each noisy point."""
        apart = lengths(noisy[:, None] - self._points)
        logs = np.log(self.prior, where=self.prior > 0, out=np.full(len(self.prior), -np.inf))
        weights = logs - float(self.mechanism.rate) * apart
        likely: Floats = np.exp(weights - weights.max(axis=1, keepdims=True))
        posterior: Floats = likely / likely.sum(axis=1, keepdims=True)
        return posterior

    def apply(self, noisy: Points) -> Codes:
        """Number of the point with the smallest expected distance, for each noisy point."""
        different, which = np.unique(noisy, axis=0, return_inverse=True)
        best = np.empty(len(different), dtype=np.int64)
        for at in range(0, len(different), _POINTS_PER_BATCH):
            part = slice(at, at + _POINTS_PER_BATCH)
            best[part] = (self.posterior(different[part]) @ self._distances).argmin(axis=1)
        return best[which]

    def randomize(self, metres: ArrayLike, *, entropy: Entropy = BULK) -> pa.Array[Any]:
        """Randomise places and remap the reports: as private as the reports."""
        region = self.mechanism.region
        noisy = self.mechanism.noisy(region.nearest(metres), entropy)
        return to_integer_reports(self.apply(noisy), len(region))

    @cached_property
    def _points(self) -> Points:
        return self.mechanism.region.points(np.arange(len(self.mechanism.region)))

    @cached_property
    def _distances(self) -> Floats:
        """Distances of all pairs of points of the region, steps."""
        squares = ((self._points[:, None] - self._points) ** 2).sum(axis=-1)
        distances: Floats = np.sqrt(squares.astype(np.float64))
        return distances
