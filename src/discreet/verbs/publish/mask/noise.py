"""Additive noise: normal, with a variance in proportion to the column's own.

What stays. Means, on average; with ``correlated`` also all correlations, because the noise has the covariances of the
data (Kim 1986). The published variance is (1 + k) times the original one; k is in the recipe, so anyone who analyses
the rows divides by it (transparency costs nothing: the noise protects, not secrecy about it).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, pi, sqrt
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import Checked, declare, parameter
from discreet.core.families import MASKING
from discreet.core.kind import NUMBERS
from discreet.core.table import Table
from discreet.noise.masking import Generator
from discreet.verbs.publish.mask.masker import MaskingPlan, columns_to_mask, mask_rows, with_numbers
from discreet.verbs.publish.mask.moments import covariances, root, variances
from discreet.verbs.publish.mask.values import numbers, unit_of


@declare(MASKING, "noise", example="noise alpha=0.1", paper="Kim 1986")
class Noise(Checked):
    """Normal noise with a variance in proportion to the column's own."""

    name: ClassVar[str]
    alpha: float = parameter("Standard deviation of the noise as a share of the column's.", above=0)
    columns: Sequence[str] = parameter("Columns to mask; default: all quasi-identifiers.", default=(), clause="on")
    correlated: bool = parameter("Whether the noise has the covariances of the data.", default=False)

    mask = mask_rows

    def plan(self, table: Table) -> MaskingPlan:
        """The variances of the columns, or their covariances, and the noise that follows from them."""
        names = columns_to_mask(table.card, self.columns, NUMBERS, self.name)
        own = covariances(table, names) if self.correlated else np.diag(variances(table, names))
        k = self.alpha**2
        noise = k * own
        units = [unit_of(table.schema.field(name).type) for name in names]
        sds = [sqrt(noise[i, i]) for i in range(len(names))]
        parameters: dict[str, Any] = {
            "columns": list(names),
            "alpha": self.alpha,
            "k": k,
            "correlated": self.correlated,
            "noise_mean": dict.fromkeys(names, 0.0),
            "noise_variance": {n: rounded_variance(s, u) for n, s, u in zip(names, sds, units, strict=True)},
        }
        if self.correlated:
            parameters["noise_covariance"] = noise.tolist()
        how = "with the covariances of the data, times k" if self.correlated else "independent in every column"
        steps = [
            f"Normal noise with mean 0 and {k:.4g} times the variance was added to {', '.join(names)}, {how}.",
            f"Variances are (1 + k) = {1 + k:.6g} times too large: divide by that.",
        ]
        if any(units):
            steps.append("Whole numbers were rounded up or down at random, which noise_variance includes.")
        return MaskingPlan(
            (names, root(noise)),
            parameters,
            tuple(steps),
            (
                "Outliers stay outliers: noise hides people only among similar ones.",
                "Noise averages out over several rows, columns or releases about the same person.",
                "The recipe gives the variances of the noise, and thereby those of the columns.",
                "Values may become implausible (a negative age) unless the card has bounds.",
            ),
        )

    def batch(self, state: Any, rows: pa.RecordBatch, rng: Generator) -> pa.RecordBatch:
        """Some rows with noise."""
        names, scale = state
        drawn = rng.standard_normal((rows.num_rows, len(names))) @ scale.T
        for place, name in enumerate(names):
            found = numbers(rows.column(name))
            rows = with_numbers(rows, name, found.values + drawn[found.there, place], found.there, rng)
        return rows


def rounded_variance(sd: float, unit: float | None) -> float:
    """The variance of normal noise on a value of a grid, after rounding up or down at random to the grid.

    Why this is right: given the noise, rounding adds f (1 - f) where f is its fractional part in units, which is
    1/6 - Σ cos(2πkf) / (πk)²; and the mean of cos(2πkx) over a normal x is exp(-2(πk sd)²).
    """
    if unit is None or sd == 0:
        return sd**2
    s = sd / unit
    if s < 0.1:  # a noise of a whole unit is out of the question, f is |x|, and the series slow
        return s * sqrt(2 / pi) * unit**2
    added = 1 / 6 - sum(exp(-2 * (pi * k * s) ** 2) / (pi * k) ** 2 for k in range(1, 20))
    return (s**2 + added) * unit**2
