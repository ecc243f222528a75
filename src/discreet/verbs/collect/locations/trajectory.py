"""Trajectories: a day of places with a privacy budget for the day.

Two days whose places, one by one, are within R metres of each other are told apart by at most ε: that is the promise. A
report of a place has a loss by the metre as in ``planar_laplace``, and losses of a day's reports add up.

* *independent*: each of the day's points has an equal part of ε.
* *predictive* (Chatzikokolakis, Palamidessi, Stronati 2014): people stay where they are for much of the day. The last
  report is taken as a prediction, and the device tests in private whether it is near enough. If so it is reported
  again, and the test is all that is lost; if not, a fresh noisy point is. Every point but the first pays for a test,
  and a declared number of points for noise; when these are used up the rest of the day repeats the last report, which
  costs nothing.

Why the test is private. N(x - z) of a point x from the prediction z differs by at most N(x - y) between x and y; with
discrete Laplace noise of e**-(λ' |n|) the outcome of the test differs by a factor of at most e**(λ' N(x - y)). Which
points were fresh follows from the reports and from coins that were paid for; and whatever they are, the day's losses
stay within ε, as tests and fresh points are counted before they are taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from discreet.core.exact import Number, exact
from discreet.core.loss import Pure
from discreet.errors import BadInput, DataError
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.collect.domain import Codes, plain_fields, set_fields
from discreet.verbs.collect.locations.planar_laplace import UNIT, PlanarLaplace, Points, Region, lengths
from discreet.verbs.collect.report_arrays import integer_type, to_integer_reports


@dataclass(frozen=True, init=False)
class Trajectory:
    """A day of ``points`` places with independent noise; ``epsilon`` is the loss within ``within`` metres."""

    name: ClassVar[str] = "independent"
    region: Region
    epsilon: Fraction
    within: Fraction
    points: int

    def __init__(self, region: Region, epsilon: Number, within: Number, points: int) -> None:
        set_fields(
            self, region=region, epsilon=exact(epsilon, "epsilon"), within=exact(within, "within"), points=points
        )
        if points < 1:
            raise BadInput(f"The number of points per day must be at least 1, got {points}.")
        if not (self.epsilon and self.within):
            raise BadInput("epsilon and its distance in metres must be above 0.")

    @property
    def per_metre(self) -> Fraction:
        """Loss of the day per metre between points of the grid."""
        return self.epsilon / (self.within + self.region.blur)

    @property
    def loss_per_day(self) -> Pure:
        """Largest loss of a day about days whose places are within ``within`` metres, one by one."""
        return Pure(self.epsilon)

    def loss_at(self, metres: Number) -> Pure:
        """Largest loss of a day within another distance."""
        return Pure(self.per_metre * (exact(metres, "metres") + self.region.blur))

    @property
    def parameters(self) -> dict[str, Any]:
        return plain_fields(self)

    @cached_property
    def noise(self) -> PlanarLaplace:
        """Mechanism that draws a fresh point."""
        return PlanarLaplace(self.region, self.epsilon / self.points, self.within)

    @property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: the numbers of all points."""
        return pa.list_(integer_type(len(self.region)), self.points)

    def randomize(self, days: ArrayLike, *, entropy: Entropy = BULK) -> pa.Array[Any]:
        """Randomise days (people by points by metres east and north) into reports."""
        locations = self.region.nearest(days)
        if locations.ndim != 3 or locations.shape[1] != self.points:
            raise DataError(f"A day needs {self.points} places, each given by metres east and metres north.")
        report_codes = to_integer_reports(self._draw(locations, entropy).reshape(-1), len(self.region))
        return pa.FixedSizeListArray.from_arrays(report_codes, self.points)

    def _draw(self, locations: Points, entropy: Entropy) -> Codes:
        return self._fresh(locations, entropy)

    def _fresh(self, locations: Points, entropy: Entropy) -> Codes:
        return self.region.codes(self.region.cut(self.noise.noisy(locations, entropy)))


@dataclass(frozen=True, init=False)
class PredictiveTrajectory(Trajectory):
    """A day of places in which the last report is repeated as long as it is near enough."""

    name = "predictive"
    near: Fraction
    fresh: int
    for_tests: Fraction

    def __init__(
        self,
        region: Region,
        epsilon: Number,
        within: Number,
        points: int,
        *,
        near: Number,
        fresh: int,
        for_tests: Number = Fraction(1, 4),
    ) -> None:
        """``near``: metres; ``fresh``: number of points with fresh noise; ``for_tests``: the tests' share of ε."""
        set_fields(self, near=exact(near, "near"), fresh=fresh, for_tests=exact(for_tests, "for_tests"))
        if not 1 <= fresh <= points or not 0 < self.for_tests < 1 or points < 2:
            raise BadInput(
                "A predictive day has 2 points or more, from one to all of them fresh, and a share of ε for its tests.",
                hint="For example a quarter of ε for tests, and as many fresh points as stops.",
            )
        super().__init__(region, epsilon, within, points)

    @cached_property
    def noise(self) -> PlanarLaplace:
        """Mechanism that draws a fresh point, with an equal part of what tests leave."""
        return PlanarLaplace(self.region, self.epsilon * (1 - self.for_tests) / self.fresh, self.within)

    @cached_property
    def test(self) -> PlanarLaplace:
        """Mechanism with the same loss per metre as a test."""
        return PlanarLaplace(self.region, self.epsilon * self.for_tests / (self.points - 1), self.within)

    def is_near(self, locations: Points, predicted: Codes, entropy: Entropy) -> Any:
        """Test privately whether each place is near its prediction."""
        apart = lengths(locations - self.region.points(predicted))
        edge = int(self.near / self.region.step * UNIT)
        return DiscreteLaplace(1 / self.test.rate).add_all(apart, entropy) <= edge

    def _draw(self, locations: Points, entropy: Entropy) -> Codes:
        report_codes = np.empty(locations.shape[:2], dtype=np.int64)
        report_codes[:, 0] = self._fresh(locations[:, 0], entropy)
        left = np.full(len(locations), self.fresh - 1)
        for at in range(1, self.points):
            report_codes[:, at] = report_codes[:, at - 1]
            asked = np.flatnonzero(left > 0)
            moved = asked[~self.is_near(locations[asked, at], report_codes[asked, at - 1], entropy)]
            report_codes[moved, at] = self._fresh(locations[moved, at], entropy)
            left[moved] -= 1
        return report_codes
