"""Numbers of people as integers that are added: declared bounds, declared decimals, nothing lost on the way.

A number is counted in units of 10**-decimals, as it is written: the float 0.15 is fifteen hundredths. A number with
more decimals than were declared, or outside the bounds, is an error before anything is sent: never rounded, and never
cut, silently.

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

from discreet.errors import BadInput, DataError, NotDeclared
from discreet.noise.parameters import signed
from discreet.verbs.combine.terms import Terms

Units: TypeAlias = NDArray[np.int64]
"""Numbers counted in units."""
Plain: TypeAlias = int | Decimal

MOST_ROWS = 2**32
"""A party brings no more rows: known beforehand, so that totals fit."""
_WIDEST = 2**62
_MOST_DECIMALS = 18
_SURE = 2.0**50
"""Below it a float is the nearest to so many units for one number of units only."""


@dataclass(frozen=True)
class Grid:
    """Which numbers may come: from ``low`` to ``high``, both in units of 10**-decimals."""

    low: int
    high: int
    decimals: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.decimals <= _MOST_DECIMALS:
            raise BadInput(f"There are 0 to {_MOST_DECIMALS} decimals, not {self.decimals}.")
        if self.low > self.high:
            raise BadInput(f"The bounds {self.low} and {self.high} are the wrong way round.")
        if max(abs(self.low), abs(self.high)) >= _WIDEST:
            raise BadInput("The bounds have too many digits.", hint="Declare fewer decimals or narrower bounds.")

    @classmethod
    def between(cls, low: Fraction | str, high: Fraction | str, decimals: int = 0) -> Grid:
        """The grid between two bounds, which must lie on it."""
        ends = []
        for bound in (low, high):
            units = signed(bound, "a bound") * 10**decimals
            if units.denominator != 1:
                raise BadInput(f"The bound {bound} has more than {decimals} decimals.", hint="Declare more decimals.")
            ends.append(int(units))
        return cls(ends[0], ends[1], decimals)

    @classmethod
    def of(cls, terms: Terms) -> Grid:
        """The grid that the terms declare."""
        if terms.low is None or terms.high is None:
            raise NotDeclared(
                f"{terms.function.split()[0]} needs the bounds of the numbers, declared by all beforehand.",
                hint="Say --bounds 0:100000. They are never read off the data.",
            )
        return cls.between(terms.low, terms.high, terms.decimals)

    @property
    def wide(self) -> int:
        """How far the bounds are apart."""
        return self.high - self.low

    @property
    def farthest(self) -> int:
        """The largest distance from zero."""
        return max(abs(self.low), abs(self.high))

    def units(self, numbers: Sequence[Any] | NDArray[Any], what: str) -> Units:
        """Numbers counted in units; DataError if one is missing, has too many decimals, or is outside the bounds."""
        values = np.asarray(numbers)
        if values.dtype.kind in "iub":
            found = self._whole(values)
        elif values.dtype.kind == "f":
            found = self._floats(values, what)
        else:
            found = np.array([self._unit(value, what) for value in numbers], dtype=object)
        outside = np.flatnonzero((found < self.low) | (found > self.high))
        if outside.size:
            raise DataError(
                f"{what} has {outside.size:,} of {found.size:,} numbers outside the declared bounds "
                f"{self.plain(self.low)} to {self.plain(self.high)}, the first in row {outside[0] + 1}.",
                hint="All parties agreed on the bounds: mend the number, or agree on other bounds.",
            )
        return found.astype(np.int64)

    def plain(self, units: int) -> Plain:
        """So many units as a number a person reads."""
        return Decimal(units).scaleb(-self.decimals) if self.decimals else units

    def fraction(self, units: int | Fraction) -> Fraction:
        """So many units as an exact rational."""
        return Fraction(units) / self._times

    @property
    def _times(self) -> int:
        return int(10**self.decimals)

    def _whole(self, values: NDArray[Any]) -> NDArray[Any]:
        times = self._times
        if values.dtype.kind == "u" or (
            values.size and max(abs(int(values.min())), int(values.max())) * times >= _WIDEST
        ):
            return np.array([int(value) * times for value in values], dtype=object)
        scaled: NDArray[Any] = values.astype(np.int64) * times
        return scaled

    def _floats(self, values: NDArray[Any], what: str) -> NDArray[Any]:
        """A float that is the nearest to so many units is that many; the others go by their digits."""
        with np.errstate(over="ignore", invalid="ignore"):
            nearest = np.rint(values.astype(np.float64) * 10.0**self.decimals)
            sure = (np.abs(nearest) < _SURE) & ((nearest / 10.0**self.decimals).astype(values.dtype) == values)
        found = np.where(sure, nearest, 0).astype(np.int64)
        if sure.all():
            return found
        mixed = found.astype(object)
        for place in np.flatnonzero(~sure):
            mixed[place] = self._unit(values[place], what)
        return mixed

    def _unit(self, value: Any, what: str) -> int:
        try:
            exact = Fraction(Decimal(str(value).strip()) if isinstance(value, str | float | np.floating) else value)
        except (ValueError, TypeError, ArithmeticError, OverflowError):
            raise DataError(
                f"{what} has a value that is missing or no number: {_written(value)}.",
                hint="Leave such rows out of the input.",
            ) from None
        units = exact * self._times
        if units.denominator != 1:
            raise DataError(
                f"{what} has {_written(value)}: more decimals than the {self.decimals} that were declared.",
                hint=_more(exact),
            )
        return int(units)


def _written(value: Any) -> str:
    return str(value) if isinstance(value, int | float | Decimal | Fraction | np.number) else repr(value)


def _more(value: Fraction) -> str:
    """How a value can be brought: with as many decimals as it has, if it has an end."""
    for count in range(_MOST_DECIMALS + 1):
        if (value * 10**count).denominator == 1:
            return f"Agree on --decimals {count} (in Python decimals={count}), or round it."
    return "Round it to the decimals that were declared."


def summed(units: Units) -> int:
    """The sum, exactly, however large."""
    return (int((units >> 32).sum()) << 32) + int((units & 0xFFFFFFFF).sum())


def product(left: Units, right: Units) -> int:
    """The sum of the products, exactly, however large."""
    if not left.size:
        return 0
    most = int(np.abs(left).max()) * int(np.abs(right).max()) * left.size
    return int(left @ right) if most < _WIDEST else int(left.astype(object) @ right.astype(object))
