"""Optimal remapping of noisy places by a public prior.

A *prior* is a public weight for every point of the region. Given a noisy point z, the probability that somebody at x
made it is in proportion to e**-(λ N(z - x)), exactly and for every x alike, so the posterior is the prior times that.
The device then reports, instead of z, the point whose expected distance from the true one is least under the posterior
(Chatzikokolakis, Elsalamouny, Palamidessi 2017). Why this costs nothing: it looks at z and at what is public, not at
the place. It must look at z before it is cut to the region, which tells more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from discreet.errors import BadInput
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.verbs.collect.domain import Codes, Floats
from discreet.verbs.collect.locations.planar_laplace import PlanarLaplace, lengths
from discreet.verbs.collect.locations.region import Points
from discreet.verbs.collect.report_arrays import to_integer_reports

_MAX_POINTS = 4096
_POINTS_PER_BATCH = 256


@dataclass(frozen=True, eq=False)
class Remap:
    """A mechanism, and a public prior weight for every point of its region, in the order of their numbers."""

    mechanism: PlanarLaplace
    prior: Floats

    def __post_init__(self) -> None:
        points = len(self.mechanism.region)
        if points > _MAX_POINTS:
            raise BadInput(f"At most {_MAX_POINTS:,} points can be weighed, not {points:,}.", hint="Take longer steps.")
        wrong = self.prior.shape != (points,) or not np.isfinite(self.prior).all() or (self.prior < 0).any()
        if wrong or self.prior.sum() == 0:
            raise BadInput("A prior has a weight for every point of the region, none below 0 and not all 0.")

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
