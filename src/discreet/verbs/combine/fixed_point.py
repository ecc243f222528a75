"""Fixed-point encoding: values with declared bounds and decimals as exact integers.

A value is counted in units of 10**-decimals, as it is written: the float 0.15 is fifteen hundredths. A value with more
decimals than declared, or outside the bounds, is an error before anything is sent: nothing is rounded or cut silently.

Why nothing can overflow: what a party adds lies between bounds that all parties know, and the group of a sum is the
smallest that holds as many times their difference as there are parties; so the sum is told exactly by its remainder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.core.exact import signed
from discreet.errors import BadInput, DataError, NotDeclared
from discreet.verbs.combine.terms import Terms

Units: TypeAlias = NDArray[np.int64]
"""Values counted in units of 10**-decimals."""
Plain: TypeAlias = int | Decimal

MAX_PARTY_ROWS = 2**32
"""Maximum number of rows of a party: known beforehand, so that totals fit."""
_MAX_UNITS = 2**62
_MAX_DECIMALS = 18
_UNAMBIGUOUS_UNITS = 2.0**50
"""Below this many units, a float is nearest to one number of units only."""


@dataclass(frozen=True)
class FixedPoint:
    """Values from ``low`` to ``high``, both in units of 10**-decimals."""

    low: int
    high: int
    decimals: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.decimals <= _MAX_DECIMALS:
            raise BadInput(f"There are 0 to {_MAX_DECIMALS} decimals, not {self.decimals}.")
        if self.low > self.high:
            raise BadInput(f"The lower bound {self.low} is above the upper bound {self.high}.")
        if max(abs(self.low), abs(self.high)) >= _MAX_UNITS:
            raise BadInput("The bounds have too many digits.", hint="Declare fewer decimals or narrower bounds.")

    @classmethod
    def between(cls, low: Fraction | str, high: Fraction | str, decimals: int = 0) -> FixedPoint:
        """The encoding between two bounds, which must have no more decimals."""
        ends = []
        for bound in (low, high):
            units = signed(bound, "a bound") * 10**decimals
            if units.denominator != 1:
                raise BadInput(f"The bound {bound} has more than {decimals} decimals.", hint="Declare more decimals.")
            ends.append(int(units))
        return cls(ends[0], ends[1], decimals)

    @classmethod
    def from_terms(cls, terms: Terms) -> FixedPoint:
        """The encoding that the terms declare."""
        if terms.low is None or terms.high is None:
            raise NotDeclared(
                f"{terms.function.split()[0]} needs the bounds of the numbers, declared by all beforehand.",
                hint="Write --bounds 0:100000. They are never taken from the data.",
            )
        return cls.between(terms.low, terms.high, terms.decimals)

    @property
    def width(self) -> int:
        """Distance between the bounds, in units."""
        return self.high - self.low

    @property
    def magnitude(self) -> int:
        """Largest absolute value, in units."""
        return max(abs(self.low), abs(self.high))

    def encode(self, numbers: Sequence[Any] | NDArray[Any], what: str) -> Units:
        """Values in units; DataError if one is missing, has too many decimals, or is outside the bounds."""
        values = np.asarray(numbers)
        if values.dtype.kind in "iub":
            units = self._whole(values)
        elif values.dtype.kind == "f":
            units = self._floats(values, what)
        else:
            units = np.array([self._unit(value, what) for value in numbers], dtype=object)
        outside = np.flatnonzero((units < self.low) | (units > self.high))
        if outside.size:
            raise DataError(
                f"{what} has {outside.size:,} of {units.size:,} numbers outside the declared bounds "
                f"{self.decode(self.low)} to {self.decode(self.high)}, the first in row {outside[0] + 1}.",
                hint="All parties agreed on the bounds: correct the number, or agree on other bounds.",
            )
        return units.astype(np.int64)

    def decode(self, units: int) -> Plain:
        """A number of units as the value people read."""
        return Decimal(units).scaleb(-self.decimals) if self.decimals else units

    def fraction(self, units: int | Fraction) -> Fraction:
        """A number of units as an exact rational."""
        return Fraction(units) / self._times

    @property
    def _times(self) -> int:
        return int(10**self.decimals)

    def _whole(self, values: NDArray[Any]) -> NDArray[Any]:
        times = self._times
        if values.dtype.kind == "u" or (
            values.size and max(abs(int(values.min())), int(values.max())) * times >= _MAX_UNITS
        ):
            return np.array([int(value) * times for value in values], dtype=object)
        scaled: NDArray[Any] = values.astype(np.int64) * times
        return scaled

    def _floats(self, values: NDArray[Any], what: str) -> NDArray[Any]:
        """Floats in units: exact where the float is nearest to one number of units, by their digits elsewhere."""
        with np.errstate(over="ignore", invalid="ignore"):
            nearest = np.rint(values.astype(np.float64) * 10.0**self.decimals)
            sure = (np.abs(nearest) < _UNAMBIGUOUS_UNITS) & (
                (nearest / 10.0**self.decimals).astype(values.dtype) == values
            )
        exact = np.where(sure, nearest, 0).astype(np.int64)
        if sure.all():
            return exact
        mixed = exact.astype(object)
        for place in np.flatnonzero(~sure):
            mixed[place] = self._unit(values[place], what)
        return mixed

    def _unit(self, value: Any, what: str) -> int:
        try:
            exact = Fraction(Decimal(str(value).strip()) if isinstance(value, str | float | np.floating) else value)
        except (ValueError, TypeError, ArithmeticError, OverflowError):
            raise DataError(
                f"{what} has a missing or non-numeric value: {_written(value)}.",
                hint="Remove such rows from the input.",
            ) from None
        units = exact * self._times
        if units.denominator != 1:
            raise DataError(
                f"{what} has {_written(value)}: more than the {self.decimals} declared decimals.",
                hint=_decimals_hint(exact),
            )
        return int(units)


def _written(value: Any) -> str:
    return str(value) if isinstance(value, int | float | Decimal | Fraction | np.number) else repr(value)


def _decimals_hint(value: Fraction) -> str:
    """Advice on a value with too many decimals."""
    for count in range(_MAX_DECIMALS + 1):
        if (value * 10**count).denominator == 1:
            return f"Agree on --decimals {count} (in Python decimals={count}), or round it."
    return "Round it to the decimals that were declared."


def exact_sum(units: Units) -> int:
    """Exact sum, however large."""
    return (int((units >> 32).sum()) << 32) + int((units & 0xFFFFFFFF).sum())


def exact_dot(left: Units, right: Units) -> int:
    """Exact sum of products, however large."""
    if not left.size:
        return 0
    most = int(np.abs(left).max()) * int(np.abs(right).max()) * left.size
    return int(left @ right) if most < _MAX_UNITS else int(left.astype(object) @ right.astype(object))
