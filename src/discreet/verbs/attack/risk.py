"""Disclosure risk as one figure, DR = ½ ID + ¼ DLD + ¼ PLD, and interval disclosure (Domingo-Ferrer and Torra 2001)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from discreet.core.catalogue import register
from discreet.core.families import ATTACKS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.verbs.attack.distance import DistanceLinkage
from discreet.verbs.attack.finding import (
    Array,
    Attack,
    Finding,
    Outcome,
    failed_finding,
    reason_not_linkable,
    share_finding,
)
from discreet.verbs.attack.linkage import linkage_data
from discreet.verbs.attack.probabilistic import ProbabilisticLinkage


@dataclass(frozen=True)
class DisclosureRisk:
    """Disclosure risk of a release, in shares from 0 (best) to 1."""

    interval: float
    """ID: the mean of the interval disclosure by rank and by standard deviation."""
    distance: float
    """DLD: distance linkage."""
    probabilistic: float
    """PLD: probabilistic linkage."""

    @property
    def total(self) -> float:
        """DR: half interval disclosure, a quarter each distance and probabilistic linkage."""
        return self.interval / 2 + self.distance / 4 + self.probabilistic / 4


def disclosure_risk(
    release: Release[Any], known: Table, links: Array, sets: Sequence[tuple[str, ...]] = ((),)
) -> DisclosureRisk:
    """The risk of ``release``. ``sets`` are the sets of columns a linking attacker may know: both linkages are averaged
    over them (default: the quasi-identifiers, all at once). Intervals are of all quasi-identifiers."""

    def mean(attacks: Sequence[Attack]) -> float:
        findings = [attack.run(release, known, links) for attack in attacks]
        for finding in findings:
            if finding.outcome is Outcome.FAILED:
                raise DataError(f"The risk cannot be measured: {finding.meaning}")
        return float(np.mean([finding.figure for finding in findings]))

    return DisclosureRisk(
        mean([IntervalDisclosure(width) for width in Width]),
        mean([DistanceLinkage(columns) for columns in sets]),
        mean([ProbabilisticLinkage(columns) for columns in sets]),
    )


class Width(Enum):
    """Unit of an interval's width."""

    RANK = "rank"
    """Per cent of the released rows, half of them to each side of the value's rank; equal values share the middle of
    their ranks (RSID)."""
    DEVIATION = "standard deviation"
    """Per cent of the released standard deviation, to each side (SDID)."""


@dataclass(frozen=True)
class IntervalDisclosure:
    """How often the true value lies in a narrow interval around the released one, averaged over widths, columns and
    people: no one is named, but values are revealed.

    Only numbers and dates have intervals; a NULL on either side discloses nothing, and counts as a miss. Guessing is to
    look around the released value of someone else.
    """

    width: Width = Width.RANK
    columns: tuple[str, ...] = ()
    """Columns to look at (default: the quasi-identifiers)."""
    widths: tuple[float, ...] = tuple(range(1, 11))
    """Widths of the intervals, per cent."""

    @property
    def name(self) -> str:
        return f"interval disclosure by {self.width.value}"

    def applies(self, release: Release[Any]) -> str | None:
        """For rows whose values were changed."""
        return reason_not_linkable(release)

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """The share of values that lie in their intervals."""
        narrow, wide = min(self.widths), max(self.widths)
        knows = (
            "The attacker knows which released row is whose, and takes an interval around each number: "
            f"{narrow:g} to {wide:g} % "
            f"by {self.width.value}."
        )
        try:
            data = linkage_data(release, known, links, self.columns)
            if not data.numeric.any():
                raise DataError("No column that both sides have holds numbers.")
        except BadInput as problem:
            return failed_finding(self.name, knows, str(problem))
        data = data.with_columns(data.numeric)
        inside, chance = np.zeros(len(data.known)), []
        by_column = {}
        for name, true, shown in zip(data.columns, data.known.T, data.released.T, strict=True):
            own = np.where(data.truth >= 0, shown[data.truth], np.nan)
            hits, guessed = self._around(true, shown, own)
            by_column[name] = float(hits.mean())
            inside += hits
            chance.append(guessed)
        meaning = (
            f"Share of numbers that lie within {narrow:g} to {wide:g} % (by {self.width.value}) of the released "
            "one; 0 is best, 1 means that every number is almost exactly revealed."
        )
        baseline = float(np.mean(chance))
        details = {"width": self.width.value, "columns": by_column, "people": len(inside)}
        return share_finding(self.name, knows, inside / len(data.columns), baseline, meaning, details=details)

    def _around(self, true: Array, shown: Array, own: Array) -> tuple[Array, float]:
        """Share of widths within which each person's true value is, and the mean of that for strangers."""
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
    """Ends of the intervals ``around`` some of the released values; ``shown`` are all of them, in order.

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
