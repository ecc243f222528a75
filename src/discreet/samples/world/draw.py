"""Skewed draws, a whole chunk at a time. NumPy's generator, with a seed: plainly not private."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.int64]
Reals: TypeAlias = NDArray[np.float64]


class Choice:
    """A choice among as many options as the weights have columns, with one set of weights a row.

    The cumulative weights of row r lie in (r, r + 1], one row after the other, so that a single binary
    search of r + u answers for all rows at once.
    """

    def __init__(self, weights: Reals) -> None:
        weights = np.atleast_2d(weights)
        self._options = weights.shape[1]
        cumulative = np.cumsum(weights, axis=1)
        cumulative /= cumulative[:, -1:]
        self._ladder = (cumulative + np.arange(len(weights))[:, None]).ravel()

    def draw(self, rng: np.random.Generator, rows: Codes) -> Codes:
        """One option for each entry of ``rows``, by the weights of that row."""
        found = np.searchsorted(self._ladder, rows + rng.random(len(rows)), side="right")
        # r + u may round up to r + 1, one step beyond the row.
        return np.asarray(np.minimum(found - rows * self._options, self._options - 1))

    def draw_many(self, rng: np.random.Generator, size: int) -> Codes:
        """``size`` options by the weights of the first row."""
        return self.draw(rng, np.zeros(size, np.int64))


def zipf(options: int, shift: float) -> Reals:
    """Weights 1 / (rank + shift): few are common, most are rare (Zipf and Mandelbrot)."""
    return 1 / (np.arange(1, options + 1) + shift)


def skewed_counts(rng: np.random.Generator, mean: Reals, shape: float) -> Codes:
    """Counts with this mean and a long tail (Poisson with a gamma mean); a smaller shape is more skewed."""
    return rng.poisson(rng.gamma(shape, mean / shape)).astype(np.int64)
