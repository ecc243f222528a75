"""IPSO, information preserving statistical obfuscation (Burridge 2003): confidential columns drawn from a regression.

y on x (with a constant) has coefficients B and residual covariance S. Then (Handbook on Statistical Disclosure Control,
3.4) A publishes xB; B publishes xB + r, where r is normal with covariance S and made orthogonal to x, so that anyone
who fits the published y to x finds B again; C also turns r so that they find S again.

Who is alone in a category of x is met exactly by the fit, and r has to be 0 there: A, B and C would all publish the
true value. How far x singles a row out is its leverage, 1 for who is alone and 1/n for one of n: 1/2 is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from discreet.core.card import Card
from discreet.core.catalogue import Checked, declare, parameter
from discreet.core.families import MASKING
from discreet.core.kind import NUMBERS
from discreet.core.table import Table
from discreet.errors import DataError
from discreet.noise.masking import Generator, generator
from discreet.verbs.publish.mask.masker import Masked, columns_to_mask, require_given
from discreet.verbs.publish.mask.moments import matrix_of, regressors, root
from discreet.verbs.publish.mask.values import Array, round_at_random, with_column, write_numbers

_KEPT = {
    "A": "the regression coefficients on the given columns",
    "B": "the regression coefficients on the given columns",
    "C": "the regression coefficients on the given columns, and the covariances of the residuals",
}
_LARGEST = 0.5 - 1e-9
"""The leverage of one of two, less what rounding may take from it."""


@declare(MASKING, "ipso", paper="Burridge 2003")
class Ipso(Checked):
    """Confidential numbers drawn from their regression on columns that stay unchanged."""

    name: ClassVar[str]
    version: Literal["A", "B", "C"] = parameter("Statistics that a regression on the release reproduces.", default="C")
    columns: Sequence[str] = parameter("Columns to draw.", default=(), clause="on")
    given: Sequence[str] = parameter("Regressors of the drawn columns.", default=(), clause="given")

    def mask(self, table: Table, seed: int | None = None) -> Masked:
        """All rows at once. NULLs stay, and their rows do not count for what is preserved."""
        names = columns_to_mask(table.card, self.columns, NUMBERS, self.name)
        require_given(table.card, self.given, names)
        rng, rows = generator(seed), table.payload()
        y = matrix_of(rows, names)
        made = self._draw(y, regressors(table.card, rows, self.given), rng)
        _require_crowds(table.card, rows, self.given, y)
        for place, name in enumerate(names):
            cells, there = rows.column(name), ~np.isnan(y[:, place])
            drawn = round_at_random(made[there, place], cells.type, rng)
            rows = with_column(rows, name, write_numbers(drawn, cells, there))
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
                f"{', '.join(names)}: redrawn from their linear regression{on} (IPSO-{self.version}).",
                f"Preserved exactly for real numbers, on average for whole ones: {_KEPT[self.version]}.",
            ),
            (
                "Given columns are unchanged and may single people out.",
                *(
                    ("The mean of all who share a given category is preserved, even for three people.",)
                    if self.given
                    else ()
                ),
                "Outliers influence the regression and so leave a trace.",
                *(("Without residuals, rows with equal given values become equal.",) if self.version == "A" else ()),
                "Non-linear relations are lost.",
            ),
        )

    def _draw(self, y: Array, x: Array, rng: Generator) -> Array:
        complete = ~np.isnan(y).any(axis=1)
        count = int(complete.sum())
        x_full, y_full = x[complete], y[complete]
        coefficients = np.linalg.lstsq(x_full, y_full, rcond=None)[0] if count else np.zeros((x.shape[1], y.shape[1]))
        fitted: Array = x @ coefficients
        if self.version == "A":
            return fitted
        spare = count - np.linalg.matrix_rank(x_full) if count else 0
        if spare < y.shape[1]:
            raise DataError(f"{count:,} complete rows are too few to redraw {y.shape[1]} columns.")
        residual = y_full - x_full @ coefficients
        covariance = residual.T @ residual / count
        drawn = rng.standard_normal((len(y), y.shape[1])) @ root(covariance).T
        inside = _orthogonal_part(drawn[complete], x_full)
        if self.version == "C":
            raw = _orthogonal_part(rng.standard_normal((count, y.shape[1])), x_full)
            inside = raw @ np.linalg.inv(np.linalg.cholesky(raw.T @ raw)).T @ root(count * covariance).T
        drawn[complete] = inside
        return fitted + drawn


def _orthogonal_part(drawn: Array, x: Array) -> Array:
    """The part that no regression on ``x`` explains."""
    return np.asarray(drawn - x @ np.linalg.lstsq(x, drawn, rcond=None)[0])


def _require_crowds(card: Card, rows: pa.Table, given: Sequence[str], y: Array) -> None:
    """An error if the given columns single someone out, so that the regression meets that person's values."""
    complete = ~np.isnan(y).any(axis=1)

    def single_out(names: Sequence[str]) -> bool:
        return bool(_leverage(regressors(card, rows, names)[complete]).max(initial=0.0) > _LARGEST)

    if not single_out(given):
        return
    if single_out(()):
        raise DataError(f"{int(complete.sum()):,} complete rows are too few to redraw columns.")
    blamed = [name for name in given if single_out([name])]
    named = ", ".join(repr(name) for name in blamed or given) + ("" if blamed or len(given) == 1 else " together")
    raise DataError(
        f"Given {named}, a person is unique, one of two, or an outlier, and IPSO would publish their values.",
        hint="Pool rare categories until each has three complete rows, top-code outliers, or use fewer given columns.",
    )


def _leverage(x: Array) -> Array:
    """The diagonal of the projection on x. By singular values: columns of ``x`` may follow from others."""
    if not len(x):
        return np.zeros(0)
    left, size, _ = np.linalg.svd(x, full_matrices=False)
    counted = size > size.max() * max(x.shape) * np.finfo(np.float64).eps
    return np.asarray((left[:, counted] ** 2).sum(axis=1))
