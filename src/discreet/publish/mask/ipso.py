"""IPSO, information preserving statistical obfuscation (Burridge 2003): confidential columns drawn from a regression.

y on x (with a constant) has coefficients B and residual covariance S. Then (Handbook on Statistical Disclosure Control,
3.4) A publishes xB; B publishes xB + r, where r is normal with covariance S and made orthogonal to x, so that whoever
fits the published y to x finds B again; C also turns r so that they find S again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.noise.masking import Generator, generator
from discreet.publish.mask.given import matrix_of, regressors, require_given
from discreet.publish.mask.values import Array, on_grid, replaced, written
from discreet.publish.masking import NUMERIC, Masked, chosen

_KEPT = {
    "A": "the regression coefficients on what is given",
    "B": "the regression coefficients on what is given",
    "C": "the regression coefficients on what is given, and the covariances of the residuals",
}


@dataclass(frozen=True)
class Ipso:
    """``columns`` are made anew, depending on the columns ``given``, which stay as they are."""

    name: ClassVar[str] = "ipso"
    version: Literal["A", "B", "C"] = "C"
    columns: Sequence[str] = ()
    given: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.version not in _KEPT:
            raise BadInput(f"IPSO is A, B or C, not {self.version!r}.")

    def mask(self, table: Table, seed: int | None = None) -> Masked:
        """All rows at once. NULLs stay, and their rows do not count for what is preserved."""
        names = chosen(table.card, self.columns, NUMERIC, self.name)
        require_given(table.card, self.given, names)
        rng, rows = generator(seed), table.payload()
        y = matrix_of(rows, names)
        made = self._drawn(y, regressors(table.card, rows, self.given), rng)
        for place, name in enumerate(names):
            cells, there = rows.column(name), ~np.isnan(y[:, place])
            drawn = on_grid(made[there, place], cells.type, rng)
            rows = replaced(rows, name, written(drawn, cells, there))
        on = f" on {', '.join(self.given)}" if self.given else ""
        return Masked(
            rows,
            {
                "columns": list(names),
                "given": list(self.given),
                "version": self.version,
                "preserved": _KEPT[self.version],
            },
            (
                f"{', '.join(names)}: drawn anew from their linear regression{on} (IPSO-{self.version}).",
                f"Kept exactly for real numbers, on average for whole ones: {_KEPT[self.version]}.",
            ),
            (
                "What is given stays as it is, and may single people out.",
                "Rows of extreme people pull the regression towards themselves, and so leave a trace.",
                *(("Without residuals, rows alike in what is given become equal.",) if self.version == "A" else ()),
                "What is not linear in the data is lost.",
            ),
        )

    def _drawn(self, y: Array, x: Array, rng: Generator) -> Array:
        complete = ~np.isnan(y).any(axis=1)
        count = int(complete.sum())
        x_full, y_full = x[complete], y[complete]
        coefficients = np.linalg.lstsq(x_full, y_full, rcond=None)[0] if count else np.zeros((x.shape[1], y.shape[1]))
        fitted: Array = x @ coefficients
        if self.version == "A":
            return fitted
        spare = count - np.linalg.matrix_rank(x_full) if count else 0
        if spare < y.shape[1]:
            raise DataError(f"{count:,} complete rows are too few to draw {y.shape[1]} columns anew.")
        residual = y_full - x_full @ coefficients
        covariance = residual.T @ residual / count
        drawn = rng.standard_normal((len(y), y.shape[1])) @ _root(covariance).T
        inside = _orthogonal(drawn[complete], x_full)
        if self.version == "C":
            raw = _orthogonal(rng.standard_normal((count, y.shape[1])), x_full)
            inside = raw @ np.linalg.inv(np.linalg.cholesky(raw.T @ raw)).T @ _root(count * covariance).T
        drawn[complete] = inside
        return fitted + drawn


def _orthogonal(drawn: Array, x: Array) -> Array:
    """What no regression on ``x`` explains."""
    left: Array = drawn - x @ np.linalg.lstsq(x, drawn, rcond=None)[0]
    return left


def _root(covariance: Array) -> Array:
    """L with LLᵗ = covariance. By eigenvalues: a constant column has no Cholesky factor."""
    values, vectors = np.linalg.eigh(covariance)
    root: Array = vectors * np.sqrt(np.maximum(values, 0.0))
    return root
