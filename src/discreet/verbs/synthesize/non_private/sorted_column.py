"""A column in sorted order, and synthetic cells made at places of that order.

Whatever is made is a place in the order of the original's cells: a whole number is the cell that is there, and any
number between two of them is between their values. So the kinds of values, and what is missing, come out as they went
in. What few people share is not given out as it is, however many rows they have: a number is drawn from around its
place, and in place of a text that the card does not list stands another. How far the largest numbers of a few people
lie is not given out either: they are coded, and so are the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Column
from discreet.core.kind import ORDERED, Kind
from discreet.errors import DataError
from discreet.noise.masking import Generator
from discreet.verbs.publish.mask.values import Array, Cells, numbers, round_at_random, write_numbers

_DECIMALS = 6
"""Real numbers that have no more decimals than this keep to as many."""


@dataclass(frozen=True)
class SortedColumn:
    """Cells of a column and their codes: 0 is missing, and from 1 on values, in their order if they have one."""

    name: str
    cells: Cells
    codes: Array
    ordered: bool
    least: int
    """Values of fewer people are not released as they are; 0: all are."""
    listed: Array
    """Whether the card lists the value of each code."""
    between: bool
    """Whether there are values between others: not if the card lists all there are."""
    people: Array
    """Number of the person of each row."""

    @classmethod
    def of(cls, column: Column, cells: Cells, least: int, people: Array) -> SortedColumn:
        """A column of a table; numbers, dates and times are in order, and what is not finite is missing."""
        plain = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
        if pa.types.is_floating(plain.type):
            plain = pc.if_else(pc.is_inf(plain), pa.scalar(None, plain.type), plain)
        ordered = column.kind in ORDERED
        codes = np.zeros(len(plain), np.int64)
        if ordered:
            found = numbers(plain)
            codes[found.there] = np.unique(found.values, return_inverse=True)[1] + 1
        else:
            encoded: Any = pc.dictionary_encode(plain)
            codes = np.asarray(pc.fill_null(pc.add(encoded.indices, 1), 0), np.int64)
        listed = np.zeros(int(codes.max(initial=1)) + 1, dtype=bool)
        listed[codes[_known(column, plain)]] = True
        return cls(column.name, plain, codes, ordered, least, listed, ordered and column.categories is None, people)

    @cached_property
    def counts(self) -> Array:
        """Number of rows of each code."""
        return np.bincount(self.codes, minlength=2)

    @cached_property
    def shared(self) -> Array:
        """Number of people of each code."""
        most = int(self.people.max(initial=0)) + 1
        return np.bincount(np.unique(self.codes * most + self.people) // most, minlength=len(self.counts))

    @cached_property
    def order(self) -> Array:
        """The rows by their codes, what is missing first."""
        return np.argsort(self.codes, kind="stable")

    @cached_property
    def place(self) -> Array:
        """Position of each row in the order."""
        place = np.empty(len(self.codes), np.int64)
        place[self.order] = np.arange(len(self.codes))
        return place

    @property
    def missing(self) -> int:
        """Number of cells that are missing or not finite."""
        return int(self.counts[0])

    @property
    def many(self) -> bool:
        """Whether there are enough different values for a parametric distribution."""
        return self.between and bool(self.counts[1:].max() * 10 < len(self.codes) - self.missing)

    def reordered(self, rank: Array) -> SortedColumn:
        """Reorder the codes: ``rank`` is the new code of each."""
        listed = np.empty(len(rank), dtype=bool)
        listed[rank] = self.listed
        return replace(self, codes=rank[self.codes], listed=listed)

    def around(self, donors: Array, below: Array, above: Array, rng: Generator) -> Array:
        """The places of these rows; of a number that few share any place near by, of a text any other at all.

        Near by is halfway to the next rows ``below`` and ``above``, but at least as many places as must share a value.
        """
        at = self.place[donors].astype(np.float64)
        few = self._rare[self.place[donors]]
        if not self.between:
            at[few] = rng.choice(self._common, int(few.sum())) if few.any() else 0
            return at
        down, up = (np.abs(at - self.place[other])[few] / 2 for other in (below, above))
        moved = at[few] + rng.uniform(-np.maximum(down, self.least), np.maximum(up, self.least))
        low, width = self.missing - 0.5, len(self.codes) - self.missing
        at[few] = low + width - np.abs((moved - low) % (2 * width) - width)  # beyond an end it turns back
        return at

    def at(self, places: Array, rng: Generator) -> Cells:
        """The cells at ``places`` of the order; of numbers that few share, what lies between them."""
        nearest = np.clip(np.rint(places).astype(np.int64), 0, len(self.codes) - 1)
        few = self._rare[nearest]
        if not self.between:
            nearest[few] = _closest(nearest[few], self._common) if few.any() else 0
        cells = self.cells.take(pa.array(self.order[nearest], pa.int64()))
        return self.holding(self._between(places[few]), cells, few, rng) if self.between and few.any() else cells

    def _between(self, places: Array) -> Array:
        """Numbers between those that are at ``places``.

        A value that few share lies in the middle of its places, one that many share at both ends of them; from one to
        the next it is a straight line. Beyond the first and the last it turns back: so that what few share is met
        only by chance, be it the largest of all.
        """
        first = np.flatnonzero(np.diff(self.codes[self.order], prepend=-1))
        first = first[first >= self.missing]
        last = np.append(first[1:], len(self.codes)) - 1
        middle = (first + last) / 2
        ends = [np.where(self._rare[first], middle, end) for end in (first, last)]
        known, which = np.unique(ends, return_index=True)
        if len(known) < 2:
            raise self._none()
        places = np.where(places < known[0], 2 * known[0] - places, places)
        places = np.where(places > known[-1], 2 * known[-1] - places, places)
        return np.asarray(np.interp(places, known, np.tile(self.coded(self._sorted[first]), 2)[which]))

    def coded(self, values: Array) -> Array:
        """Numbers of this column, with those of the few people who have the largest and the smallest coded."""
        low, high = self._ends
        return np.clip(values, low, high)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Bounds of bottom and top coding.

        With ``least`` of 5: the mean of the fifth to ninth largest, each person's largest, which tells of five people
        at least and of no one beyond them; but no less than the largest number that this many people share.
        """
        there = slice(self.missing, None)
        if not self.least or not self.between or self.missing == len(self.codes):
            return -np.inf, np.inf
        values, who = self._sorted[there], self.people[self.order][there]
        common = values[~self._rare[there]]
        low = -_beyond(-values, who, self.least, -common)
        high = _beyond(values, who, self.least, common)
        return (low, high) if low <= high else (float(np.mean(values.clip(high, low))),) * 2

    def holding(self, values: Array, cells: Cells, where: Array, rng: Generator) -> Cells:
        """``cells`` with other numbers at some places, as precise as the column is."""
        if not where.any():
            return cells
        if self.decimals is not None:
            values = np.round(values, self.decimals)
        mask = pa.array(where)
        some = cells.filter(mask)
        made = write_numbers(round_at_random(values, cells.type, rng), some, np.ones(len(some), dtype=bool))
        replaced: Cells = pc.replace_with_mask(cells, mask, made)
        return replaced

    @cached_property
    def decimals(self) -> int | None:
        """Number of decimals of real numbers, if few: those that are drawn would else stand out by having more."""
        if not pa.types.is_floating(self.cells.type):
            return None
        values = self._sorted[self.missing :]
        return next((d for d in range(_DECIMALS + 1) if np.array_equal(np.round(values, d), values)), None)

    @cached_property
    def _sorted(self) -> Array:
        """Values by place; NaN where there is none."""
        values = np.full(len(self.codes), np.nan)
        found = numbers(self.cells)
        values[found.there] = found.values
        return values[self.order]

    @cached_property
    def _rare(self) -> Array:
        """Whether too few people share the value at each place."""
        rare = (self.shared < self.least) & ~self.listed
        rare[0] = False
        return rare[self.codes[self.order]]

    @property
    def _common(self) -> Array:
        """The places of all values that may be given out as they are; an error if there are none."""
        found = np.flatnonzero(~self._rare[self.missing :]) + self.missing
        if not len(found):
            raise self._none()
        return found

    def _none(self) -> DataError:
        return DataError(
            f"Fewer than {self.least} people share any value of {self.name!r}, so none can be released.",
            hint='Declare its categories on the card if they are public, or role = "identifier".',
        )


def rare_values_step(least: int) -> str:
    """For the recipe."""
    return (
        f"Numbers shared by fewer than {least} people are redrawn between their neighbours, and the {least} "
        "largest and smallest are top- and bottom-coded; rarer texts that the card does not list are "
        "replaced by others."
    )


def _beyond(values: Array, people: Array, least: int, common: Array) -> float:
    """Above what the largest values are coded."""
    largest = np.full(int(people.max()) + 1, -np.inf)
    np.maximum.at(largest, people, values)
    falling = -np.sort(-largest[np.isfinite(largest)])
    some = falling[least - 1 : 2 * least - 1]
    return float(max(some.mean() if len(some) else falling[-1], common.max(initial=-np.inf)))


def _known(column: Column, cells: Cells) -> Array:
    """Whether the card lists the value of each cell."""
    if column.kind is Kind.BOOLEAN:
        return np.ones(len(cells), dtype=bool)
    if column.categories is None or "categories" in column.from_data:
        return np.zeros(len(cells), dtype=bool)
    listed = pc.is_in(cells, pa.array(list(column.categories), cells.type))
    return np.asarray(listed.to_numpy(zero_copy_only=False), dtype=bool)


def _closest(places: Array, among: Array) -> Array:
    """The closest of some rising places to each of others."""
    after = np.minimum(np.searchsorted(among, places), len(among) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(among[after] - places < places - among[before], among[after], among[before])
