"""Multiplicative noise: every value times a random factor around 1, so that large values change more.

What stays. Means, on average, since the factor's mean is 1; and signs. Second moments are (1 + alpha²) times the
original ones, which an analyst who has the recipe takes back: Var(X) = (Var(X') - alpha² mean²) / (1 + alpha²).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log1p, sqrt
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import MASKING
from discreet.core.kind import NUMBERS
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.noise.masking import Generator
from discreet.verbs.publish.mask.masker import MaskingPlan, columns_to_mask, mask_rows, with_numbers
from discreet.verbs.publish.mask.values import numbers, unit_of


@declare(MASKING, "multiply", example="multiply alpha=0.1")
class Multiply:
    """Multiplicative noise: every value times a random factor around 1."""

    name: ClassVar[str]
    alpha: float = parameter("Standard deviation of the factor.", above=0)
    columns: Sequence[str] = parameter("Columns to mask; default: all quasi-identifiers.", default=(), clause="on")
    law: Literal["log-normal", "uniform"] = parameter("Distribution of the factor.", default="log-normal")

    mask = mask_rows

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.law == "uniform" and self.alpha >= 1 / sqrt(3):
            raise BadInput(
                f"A uniform factor with standard deviation {self.alpha} could be 0 or less.",
                hint="Take alpha below 0.577, or the log-normal distribution.",
            )

    def plan(self, table: Table) -> MaskingPlan:
        """The columns; nothing is taken from the rows."""
        names = columns_to_mask(table.card, self.columns, NUMBERS, self.name)
        parameters = {
            "columns": list(names),
            "alpha": self.alpha,
            "law": self.law,
            "factor_mean": 1.0,
            "factor_variance": self.alpha**2,
        }
        steps = [
            f"{', '.join(names)}: each value was multiplied by a {self.law} factor with mean 1 and standard "
            "deviation "
            f"{self.alpha:g}.",
            f"Second moments are {1 + self.alpha**2:.6g} times too large: Var(X) = (Var(X') - {self.alpha**2:.6g} × "
            f"mean²) / {1 + self.alpha**2:.6g}.",
        ]
        if any(unit_of(table.schema.field(name).type) for name in names):
            steps.append("Whole numbers were rounded up or down at random, which adds at most 1/4 to their variance.")
        return MaskingPlan(
            names,
            parameters,
            tuple(steps),
            (
                "Zeros and signs are unchanged.",
                "Small values change little, and are protected little.",
                "Noise averages out over several rows, columns or releases about the same person.",
            ),
        )

    def batch(self, state: Any, rows: pa.RecordBatch, rng: Generator) -> pa.RecordBatch:
        """Some rows, each value multiplied by its factor."""
        for name in state:
            if self.law == "uniform":
                half = sqrt(3) * self.alpha
                factor = rng.uniform(1 - half, 1 + half, rows.num_rows)
            else:
                spread = log1p(self.alpha**2)
                factor = np.exp(rng.normal(-spread / 2, sqrt(spread), rows.num_rows))
            found = numbers(rows.column(name))
            rows = with_numbers(rows, name, found.values * factor[found.there], found.there, rng)
        return rows
