"""Interval disclosure: nobody is named, but a released value tells within narrow limits what the true one was."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.catalogue import register
from discreet.core.families import ATTACKS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.verbs.attack.finding import Finding, failed, share
from discreet.verbs.attack.linkage_matrix import see
from discreet.verbs.attack.scope import not_linked

Array = npt.NDArray[Any]


class Width(Enum):
    """In what an interval's width is measured."""

    RANK = "rank"
    """In all so many per cent of the released rows, half of them to each side of the value's rank; equal values share
    the middle of their ranks (RSID)."""
    DEVIATION = "standard deviation"
    """To each side so many per cent of the released standard deviation (SDID)."""


@dataclass(frozen=True)
class IntervalDisclosure:
    """How often the true value lies within so many per cent of the released one, averaged over widths, columns and
    people (Domingo-Ferrer and Torra 2001).

    Only numbers and dates have intervals; a NULL on either side discloses nothing, and counts as a miss. Guessing is to
    look around the released value of somebody else.
    """

    width: Width = Width.RANK
    columns: tuple[str, ...] = ()
    """The columns to look at (default: the quasi-identifiers)."""
    widths: tuple[float, ...] = tuple(range(1, 11))
    """Per cent."""

    @property
    def name(self) -> str:
        return f"interval disclosure by {self.width.value}"

    def applies(self, release: Release[Any]) -> str | None:
        """For rows whose values were changed."""
        return not_linked(release)

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """The share of values that lie in their intervals."""
        narrow, wide = min(self.widths), max(self.widths)
        knows = (
            f"The attacker knows which released row is whose, and looks around each number: {narrow:g} to {wide:g} % "
            f"by {self.width.value}."
        )
        try:
            sight = see(release, known, links, self.columns)
            if not sight.numeric.any():
                raise DataError("No column that both sides have holds numbers.")
        except BadInput as problem:
            return failed(self.name, knows, str(problem))
        sight = sight.only(sight.numeric)
        inside, chance = np.zeros(len(sight.known)), []
        by_column = {}
        for name, true, shown in zip(sight.columns, sight.known.T, sight.shown.T, strict=True):
            own = np.where(sight.truth >= 0, shown[sight.truth], np.nan)
            hits, guessed = self._around(true, shown, own)
            by_column[name] = float(hits.mean())
            inside += hits
            chance.append(guessed)
        meaning = (
            f"The share of numbers that lie within {narrow:g} to {wide:g} % (by {self.width.value}) of the released "
            "one; 0 is best, 1 means that every number is given away almost exactly."
        )
        baseline = float(np.mean(chance))
        details = {"width": self.width.value, "columns": by_column, "people": len(inside)}
        return share(self.name, knows, inside / len(sight.columns), baseline, meaning, details=details)

    def _around(self, true: Array, shown: Array, own: Array) -> tuple[Array, float]:
        """Of each person the share of widths within which the true value is, and the mean of that for strangers."""
        there, values = np.sort(shown[~np.isnan(shown)]), np.sort(true[~np.isnan(true)])
        hits, chance = np.zeros(len(true)), 0.0
        for per_cent in self.widths:
            low, high = ends(self.width, per_cent, there, own)
            with_row = ~np.isnan(own)
            hits += with_row & (low <= true) & (true <= high)
            caught = np.searchsorted(values, high[with_row], "right") - np.searchsorted(values, low[with_row], "left")
            chance += float(caught.sum()) / len(true) ** 2
        return hits / len(self.widths), chance / len(self.widths)


register(ATTACKS, "interval disclosure by rank", IntervalDisclosure, preset={"width": Width.RANK}, rank=14)
register(
    ATTACKS, "interval disclosure by standard deviation", IntervalDisclosure, preset={"width": Width.DEVIATION}, rank=15
)


def ends(width: Width, per_cent: float, shown: Array, around: Array) -> tuple[Array, Array]:
    """The ends of the intervals ``around`` some of the released values; ``shown`` are all of them, in order.

    By rank, an interval reaches no farther than its share of the rows. Among more rows with the same value it is that
    value alone: to start from the ends of such a group would make it the wider, the coarser the release is.
    """
    if width is Width.DEVIATION:
        reach = per_cent / 100 * float(shown.std())
        return around - reach, around + reach
    reach, last = per_cent * len(shown) / 200, len(shown) - 1
    middle = (np.searchsorted(shown, around, "left") + np.searchsorted(shown, around, "right") - 1) / 2
    low, high = np.ceil(middle - reach).clip(0, last), np.floor(middle + reach).clip(0, last)
    return shown[low.astype(np.int64)], shown[high.astype(np.int64)]
