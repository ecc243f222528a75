"""Quantiles, chosen privately among equal slices of the declared bounds.

Why this is private: a slice scores -|below (d - a) - above a| for the quantile a/d, where ``below`` and ``above``
count the rows in lower and higher slices twice, and those in the slice itself once. A row changes one of them by two,
or both by one, so a score changes by at most 2 max(a, d - a) a row; added up over all groups a unit is in, by
rows_per_unit times that. The mechanism is run in every group, and loses in each in proportion to the unit's rows
there, so its rows in all groups together count (McSherry and Talwar 2007; Smith 2011 for quantiles).

A slice's own rows count half on each side: so the slice with the best score is the one that the quantile is in, where
neighbours have as many rows. If they were left out, it would be the next one for a quarter of all quartiles.

For an epsilon it is permute-and-flip, which is never worse than the exponential mechanism (McKenna and Sheldon 2020);
for a rho the exponential mechanism, whose range is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.core.loss import Pure
from discreet.engines.contribution import OwnedRows
from discreet.engines.measures import COUNT, cell_counts
from discreet.errors import BadQuery
from discreet.noise.entropy import Entropy
from discreet.noise.selection import Exponential, PermuteAndFlip, Selection
from discreet.verbs.ask.mode import Mode
from discreet.verbs.ask.value import Interval, Value, largest

SLICES = 1024
"""Number of slices of the declared bounds."""
SLICE = "slice"
_EXTREME = Fraction(2) ** 900
"""Largest absolute value of a bound; its inverse is the smallest width."""


@dataclass(frozen=True)
class Quantile:
    """Plan of the quantile ``share`` of a value; the engine computes each row's slice."""

    slice: exp.Expr
    slices: int
    share: Fraction
    within: Interval
    whole: bool
    """Whether each slice is one integer."""
    rows_per_unit: int

    @property
    def sensitivity(self) -> int:
        """Sensitivity: largest change of the scores by one unit, summed over all groups."""
        a, d = self.share.numerator, self.share.denominator
        return 2 * max(a, d - a) * self.rows_per_unit

    def value(self, chosen: int) -> float:
        """Midpoint of a slice, or its integer."""
        low, high = self.within
        if self.whole:
            return float(low + chosen)
        return float(low + (high - low) * Fraction(2 * chosen + 1, 2 * self.slices))

    def mechanism(self, loss: Pure, *, bounded_range: bool) -> Selection:
        """The mechanism that loses so much; for a rho its range must be bounded."""
        kind = Exponential if bounded_range else PermuteAndFlip
        return kind.for_loss(loss, self.sensitivity)

    def choose(self, counts: np.ndarray[Any, Any], mechanism: Selection, entropy: Entropy) -> float:
        """Draw a slice, given the number of rows in each."""
        return self.value(mechanism.choose(self.scores(counts).tolist(), entropy))

    def best(self, counts: np.ndarray[Any, Any]) -> float:
        """The slice with the best score, without noise: for rows that are private already."""
        return self.value(int(self.scores(counts).argmax()))

    def scores(self, counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The score of each slice, given the number of rows in each."""
        a, d = self.share.numerator, self.share.denominator
        below = 2 * np.cumsum(counts) - counts
        above = 2 * counts.sum() - below
        scores: np.ndarray[Any, Any] = -np.abs(below * (d - a) - above * a)
        return scores


def quantile(value: Value, within: Interval, share: Fraction, rows: OwnedRows) -> Quantile:
    """Plan for a quantile of ``value`` within declared bounds."""
    low, high = within
    width = high - low
    if width and not (width >= 1 / _EXTREME and largest(within) <= _EXTREME):
        raise BadQuery("The declared bounds are too wide or too small to compute quantiles.")
    if value.kind is Kind.INTEGER and width < 4 * SLICES:
        shifted = exp.paren(value.sql.copy() - int(low)) if low else value.sql.copy()
        return Quantile(shifted, int(width) + 1, share, within, True, rows.most)
    scale = sql.literal(float(SLICES / width)) if width else sql.literal(0.0)
    place = exp.Floor(this=exp.paren(value.snapped - sql.literal(float(low))) * scale)
    cut = exp.case().when(place < 0, sql.literal(0.0)).when(place.copy() >= SLICES, sql.literal(float(SLICES - 1)))
    return Quantile(cut.else_(place.copy()), SLICES, share, within, False, rows.most)


Choice = Quantile | Mode
"""What is chosen in every group, given how many of its rows are in each slice."""


def slice_query(choice: Choice, keys: Mapping[str, Value], rows: OwnedRows) -> exp.Select:
    """Query for the number of rows in each slice of each group."""
    whole = exp.cast(choice.slice.copy(), exp.DType.BIGINT)
    return cell_counts(rows, {name: value.sql for name, value in keys.items()} | {SLICE: whole})


def counts_by_group(
    choice: Choice, found: Iterable[Mapping[str, Any]], keys: Sequence[str]
) -> dict[tuple[Any, ...], np.ndarray[Any, Any]]:
    """Counts of all slices by group, for groups that have rows; NULL is in no slice."""
    counts: dict[tuple[Any, ...], np.ndarray[Any, Any]] = {}
    for row in found:
        if row[SLICE] is not None:
            group = tuple(row[key] for key in keys)
            slices = counts.setdefault(group, np.zeros(choice.slices, dtype=np.int64))
            slices[min(max(row[SLICE], 0), choice.slices - 1)] += row[COUNT]
    return counts
