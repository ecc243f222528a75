"""A declared rectangle of the map, as points on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.directed_rounding import sqrt_upper
from discreet.core.exact import Number, exact
from discreet.errors import BadInput, DataError
from discreet.verbs.collect.domain import Codes, Floats

Points = NDArray[np.int64]
"""A row for each point: steps east and north of the corner."""
_MAX_POINTS = 1 << 24
_EARTH_METRES = 6_371_008.8
"""Mean radius of the Earth, metres."""


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
        """Parameters, as plain data."""
        return {"width": str(self.width), "height": str(self.height), "step": str(self.step)}

    def nearest(self, metres: ArrayLike) -> Points:
        """Nearest point to each place, given by metres east and north of the corner."""
        given = np.asarray(metres, dtype=np.float64)
        if given.shape[-1:] != (2,) or np.isnan(given).any():
            raise DataError("A place is metres east and metres north.", hint="Leave out places that are not known.")
        return self.cut(np.rint(np.clip(given / float(self.step), -(2.0**52), 2.0**52)).astype(np.int64))

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
