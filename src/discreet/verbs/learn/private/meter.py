"""Sums over private rows with exact noise: the only place where learners see more of the rows than noise lets through.

Why this is private. The rows are those of a bounded table: a unit has at most r of them, and adding or removing a unit
changes no other row. What a row adds to the sums of one measurement is a vector of whole numbers that depends on that
row's own codes and on what is public: declarations and earlier answers of this meter. Its length is bounded here, where
rows are added up, whatever a learner says:

* a row adds 1 to one cell of each histogram, so c histograms change by c in all for a row, and by √c in Euclidean
  distance;
* any other vector is shortened to a declared length, put on a grid by rounding towards zero, and then its length is
  worked out again in whole numbers: a row whose vector is still too long adds nothing, and neither does one that names
  a place twice, where two entries would add up to more than their length;
* products are of whole numbers of a row that are clamped one by one, and a row whose numbers are too long adds nothing.

Of a row, floats are used for functions of that row alone, with operations that give the same result wherever the row
stands (+, -, ×, ÷, square roots; exponentials from a table): no one's row can change what another one adds. Sums of
whole numbers below 2**53 are exact in any order.

So a unit changes a measurement by at most r times the bound of a row (triangle inequality), and exact discrete noise
loses Pure(r · bound / scale) or Concentrated((r · bound)² / 2σ²) (``noise/laplace.py``, ``noise/gaussian.py``). Each
measurement has a share of the allowance that was fixed beforehand; shares add up to at most one, or nothing more is
measured. What is asked may depend on earlier answers (Rogers, Roth, Ullman, Vadhan 2016; Whitehouse, Ramdas, Rogers,
Wu 2023). So all measurements together lose the allowance at most, and whatever is made of them loses nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.core.exact import round_up
from discreet.core.loss import Concentrated, Pure
from discreet.errors import NoPromise
from discreet.noise.deviation import Noise
from discreet.noise.entropy import Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.learn.frame import CategoryFeature, Feature, Figures
from discreet.verbs.learn.private.coding import CodedRows, Codes, Coding

Allowance: TypeAlias = Pure | Concentrated
Slots: TypeAlias = Sequence[tuple[Codes, Figures]]
"""The vectors of some rows: entry by entry, the place and the value in each row; all other places are 0. Places of a
row rise from entry to entry: a row in which they do not adds nothing."""
GRID = 1 << 16
"""Steps of the grid in the longest vector."""
_LARGEST = 2**53


@dataclass(frozen=True)
class Noisy:
    """Sums with noise, as numbers, and the deviation of the noise of each."""

    sums: Figures
    deviation: float


class Meter:
    """Noisy sums over rows, each for a share of an allowance.

    Why this is private: the argument is at the head of this module.
    """

    def __init__(self, rows: CodedRows, allowance: Allowance, most: int, entropy: Entropy) -> None:
        """``most`` is how many rows a unit may have."""
        self._rows = rows
        self._allowance = allowance
        self._most = most
        self._entropy = entropy
        self._left = Fraction(1)

    def histograms(self, cells: Sequence[Callable[[slice], Codes]], sizes: Sequence[int], share: Fraction) -> Noisy:
        """Counts of the cells of several histograms, one after the other; each row is in one cell of each."""
        counts = [np.zeros(size, np.int64) for size in sizes]
        for part in self._rows.parts():
            for place, cell in enumerate(cells):
                at = cell(part)
                counts[place] += np.bincount(at[(at >= 0) & (at < sizes[place])], minlength=sizes[place])
        return self._noisy(np.concatenate(counts), len(cells), len(cells), share)

    def sums(self, slots: Callable[[slice], Slots], size: int, length: float, share: Fraction) -> Noisy:
        """Sums of a vector of each row, which is shortened to ``length``."""
        euclidean = isinstance(self._allowance, Concentrated)
        total = np.zeros(size, np.float64)
        limit = length
        for part in self._rows.parts():
            entries = slots(part)
            limit = length if euclidean else length * sqrt(len(entries))
            for at, steps in _on_grid(entries, size, limit, euclidean=euclidean):
                total += np.bincount(at, steps, size)
        found = self._noisy(_exact(total), GRID, GRID**2, share)
        return Noisy(found.sums * (limit / GRID), found.deviation * (limit / GRID))

    def products(self, entries: Callable[[slice], Codes], pairs: Codes, unit: int, most: int, share: Fraction) -> Noisy:
        """Sums of products of pairs of whole numbers of a row, each number at most ``unit`` in size.

        ``entries`` has a line of whole numbers for each row. One whose squares add up to more than ``most`` units
        squared, or whose sizes to more than ``most`` units, adds nothing. ``pairs`` has two lines: which numbers are
        multiplied, none of them twice. With Σx² <= m u² and x² <= u², the squares of all products of two add up to
        (Σx²)² / 2 + Σx⁴ / 2 <= (m² + m) u⁴ / 2, and their sizes to (m² + m) u² / 2 in the same way.
        """
        ordered = {(min(pair), max(pair)) for pair in pairs.T.tolist()}
        if len(ordered) < pairs.shape[1]:
            raise NoPromise("A product of two numbers cannot be added up twice in one measurement.")
        held: Figures | None = None
        for part in self._rows.parts():
            rows = np.clip(entries(part), -unit, unit).astype(np.int64)
            there = ((rows**2).sum(axis=1) <= most * unit**2) & (np.abs(rows).sum(axis=1) <= most * unit)
            rows = rows[there].astype(np.float64)
            held = rows.T @ rows + (0.0 if held is None else held)
        assert held is not None  # noqa: S101  # there is one part at least
        half = (most**2 + most) // 2
        found = self._noisy(_exact(held[pairs[0], pairs[1]]), half * unit**2, half * unit**4, share)
        return Noisy(found.sums / unit**2, found.deviation / unit**2)

    def _noisy(self, sums: Codes, total: int, squares: int, share: Fraction) -> Noisy:
        """Sums with noise, of which a row adds at most ``total`` in all, and ``squares`` in squares."""
        if not 0 < share <= self._left:
            raise NoPromise(f"A share of {share} cannot be spent where {self._left} of the allowance is left.")
        self._left -= share
        noise = noise_for(self._allowance, share, self._most, total, squares)
        return Noisy(noise.add_all(sums, self._entropy).astype(np.float64), sqrt(noise.variance))


@dataclass(frozen=True)
class Lesson:
    """What a learner is given: a meter, rows for functions of one row, and how they are coded."""

    meter: Meter
    rows: CodedRows
    """Only for functions that are handed to the meter: nothing else may look at them."""
    codings: tuple[Coding, ...]
    target: Coding | None

    @property
    def aim(self) -> Feature:
        """The column to predict."""
        assert self.target is not None  # noqa: S101  # a learner without a target does not ask
        return self.target.feature

    @property
    def classes(self) -> tuple[Any, ...]:
        """The values of the column to predict, if it has few."""
        return self.aim.values if isinstance(self.aim, CategoryFeature) else ()


def noise_for(allowance: Allowance, share: Fraction, most: int, total: int, squares: int) -> Noise:
    """The least noise that loses a share of an allowance, rounded up a little where it takes too many digits.

    A unit has ``most`` rows, of which each changes the sums by ``total`` in all, and by ``squares`` in squares.
    """
    if isinstance(allowance, Pure):
        return DiscreteLaplace(round_up(Fraction(most * total) / (allowance.epsilon * share)))
    return DiscreteGaussian(round_up(Fraction(most**2 * squares) / (2 * allowance.rho * share)))


def _on_grid(
    entries: Slots, places: int, limit: float, *, euclidean: bool
) -> Iterator[tuple[Codes, NDArray[np.int64]]]:
    """The vectors in steps of the grid, none longer than ``GRID`` steps.

    Rounding goes towards zero, which makes no vector longer; what floats made of it is checked in whole numbers.
    """
    norm = np.zeros(len(entries[0][1]))
    for _, value in entries:
        norm = norm + (value * value if euclidean else np.abs(value))
    norm = np.sqrt(norm) if euclidean else norm
    factor = GRID / np.maximum(norm, limit)
    steps = [np.trunc(np.nan_to_num(value * factor, nan=0.0, posinf=0.0, neginf=0.0)) for _, value in entries]
    whole = [np.clip(one, -GRID, GRID).astype(np.int64) for one in steps]
    size = np.zeros(len(norm), np.int64)
    there, last = np.ones(len(norm), np.bool_), np.full(len(norm), -1, np.int64)
    for (at, _), one in zip(entries, whole, strict=True):
        size += one * one if euclidean else np.abs(one)
        there &= at > last
        last = at
    there &= (size <= (GRID * GRID if euclidean else GRID)) & (last < places)
    for (at, _), one in zip(entries, whole, strict=True):
        yield at[there], one[there]


def _exact(total: NDArray[np.float64]) -> Codes:
    if np.abs(total).max(initial=0.0) >= _LARGEST:
        raise NoPromise("There are too many rows to add them up exactly.")
    return total.astype(np.int64)
