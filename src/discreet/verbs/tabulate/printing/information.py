"""Information loss of a table by suppression or perturbation."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.core.text import number
from discreet.errors import BadInput
from discreet.verbs.tabulate.method import Intervals, Protection
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import Numbers


@dataclass(frozen=True)
class HiddenLoss:
    """Information lost by hiding cells. Shares are from 0 to 1, widths are in multiples of the hidden figure."""

    cells: int
    primary: int
    """Cells hidden because they are sensitive."""
    secondary: int
    """Cells hidden so that those cannot be computed."""
    share: float
    """Of the cells that are hidden."""
    weight: float
    """Of the secondary cells together."""
    weight_share: float
    """Of all hidden cells, of the weight of all cells."""
    width: float | None = None
    """Of an interval an intruder can compute, the median over hidden cells that are not 0 and whose interval ends."""
    unbounded: int | None = None
    """Hidden cells whose interval has no end."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        said = (
            f"{number(self.primary + self.secondary, 'cell')} of {self.cells:,} suppressed ({self.share:.1%}), "
            f"{self.primary:,} of them sensitive; {self.weight_share:.1%} of the total weight"
        )
        return said if self.width is None else f"{said}; median interval {self.width:.2f} times the figure"


@dataclass(frozen=True)
class ChangedLoss:
    """Information lost by changing figures. ``inner`` cells are those that are no total of others."""

    cells: int
    changed: int
    mean_absolute: float
    max_absolute: float
    """In the figures of the table."""
    mean_relative: float
    max_relative: float
    """Of the figures that are not 0."""
    chi_square: float
    """The sum of squared changes over figures, of inner cells that are not 0."""
    hellinger: float | None
    """Between the inner cells as two distributions, from 0 to 1; ``None`` if some figure is negative or all are 0."""
    mean_share: float
    max_share: float
    """By how much the part of a total that one of its parts makes changed, where both totals are above 0."""
    rank_correlation: float | None
    """Spearman's, of the inner cells; ``None`` if all true ones, or all printed ones, are the same and some changed."""
    gaps: int
    """Relations that do not hold."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        adds = "it adds up" if not self.gaps else f"{number(self.gaps, 'total')} not the sum of the parts"
        return (
            f"{self.changed:,} of {number(self.cells, 'figure')} changed, by {self.mean_relative:.1%} on "
            f"average and {self.max_relative:.1%} at most; shares by {self.max_share:.2%} at most; {adds}"
        )


def hidden_loss(
    cells: Cells,
    protection: Protection,
    hidden: Numbers,
    weights: Numbers,
    intervals: Intervals | None = None,
) -> HiddenLoss:
    """Information lost by hiding these cells, which have these weights."""
    added = hidden & ~protection.sensitive
    whole = float(weights.sum())
    width = unbounded = None
    if intervals is not None:
        wide = (intervals.high - intervals.low)[hidden]
        figures = np.abs(cells.values[hidden])
        told = np.isfinite(wide) & (figures > 0)
        width = float(np.median(wide[told] / figures[told])) if told.any() else None
        unbounded = int((~np.isfinite(wide)).sum())
    return HiddenLoss(
        len(cells),
        int((hidden & protection.sensitive).sum()),
        int(added.sum()),
        float(hidden.mean()) if len(cells) else 0.0,
        float(weights[added].sum()),
        float(weights[hidden].sum()) / whole if whole > 0 else 0.0,
        width,
        unbounded,
    )


def changed_loss(cells: Cells, values: Numbers) -> ChangedLoss:
    """Information lost by printing these values instead of the cells' own."""
    if values.shape != cells.values.shape:
        raise BadInput(f"A table of {len(cells)} cells is compared with {values.size} figures.")
    true, off = cells.values.astype(np.float64), np.abs(values - cells.values).astype(np.float64)
    relative = off[true != 0] / np.abs(true[true != 0])
    inner = _inner(cells)
    here, there = true[inner], values[inner].astype(np.float64)
    base = here != 0
    shares = _share_changes(cells, values)
    scale = 10.0**-cells.decimals
    return ChangedLoss(
        len(cells),
        int((off > 0).sum()),
        float(off.mean()) * scale if len(off) else 0.0,
        float(off.max(initial=0.0)) * scale,
        float(relative.mean()) if len(relative) else 0.0,
        float(relative.max(initial=0.0)),
        float(((there - here)[base] ** 2 / np.abs(here[base])).sum()) * scale,
        _hellinger(here, there),
        float(shares.mean()) if len(shares) else 0.0,
        float(shares.max(initial=0.0)),
        _rank_correlation(here, there),
        int(np.count_nonzero(cells.relations.astype(np.int64) @ values)),
    )


def _inner(cells: Cells) -> Numbers:
    """The cells that are no total."""
    totals = cells.relations.indices[cells.relations.data > 0]
    inner = np.ones(len(cells), np.bool_)
    inner[totals] = False
    return inner


def _share_changes(cells: Cells, values: Numbers) -> Numbers:
    """For each part of each total, by how much its share of the total changed."""
    relations = cells.relations.tocoo()
    row, column, sign = relations.row, relations.col, relations.data
    total = np.empty(relations.shape[0], np.int64)
    total[row[sign > 0]] = column[sign > 0]
    part, of = column[sign < 0], total[row[sign < 0]]
    known = (cells.values[of] > 0) & (values[of] > 0)
    part, of = part[known], of[known]
    apart: Numbers = values[part] / values[of] - cells.values[part] / cells.values[of]
    return np.abs(apart)


def _hellinger(here: Numbers, there: Numbers) -> float | None:
    if min(here.min(initial=0.0), there.min(initial=0.0)) < 0 or not (here.sum() > 0 and there.sum() > 0):
        return None
    apart = np.sqrt(here / here.sum()) - np.sqrt(there / there.sum())
    return float(np.sqrt(apart @ apart / 2))


def _rank_correlation(here: Numbers, there: Numbers) -> float | None:
    if np.array_equal(here, there):
        return 1.0
    if (here == here[0]).all() or (there == there[0]).all():
        return None
    return float(np.corrcoef(_ranks(here), _ranks(there))[0, 1])


def _ranks(values: Numbers) -> Numbers:
    """Ranks of values; equal values share the mean of their ranks."""
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(times) - (times - 1) / 2)[place]
