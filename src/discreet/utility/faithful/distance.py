"""How far counts are from each other, and how far others would be: another sample, and columns drawn one by one."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def variation(mine: Array, theirs: Array) -> float:
    """The total variation distance: the share of rows that would have to be elsewhere for the shares to be equal."""
    return float(np.abs(mine / mine.sum() - theirs / theirs.sum()).sum() / 2)


def of_a_sample(mine: Array, rows: int) -> float:
    """How far, on average, ``rows`` drawn from the original with replacement are from it.

    The mean absolute deviation of a binomial count is 2 k C(m, k) pᵏ (1 − p)ᵐ⁻ᵏ⁺¹ with k = ⌊mp⌋ + 1 (De Moivre 1730),
    so that nothing has to be drawn.
    """
    share = mine[mine > 0] / mine.sum()
    share = share[share < 1]
    k = np.minimum(np.floor(rows * share) + 1, rows)
    ways = _log_factorial(np.array([float(rows)])) - _log_factorial(k) - _log_factorial(rows - k)
    log = np.log(2 * k) + ways + k * np.log(share) + (rows - k + 1) * np.log1p(-share)
    return float(np.exp(log).sum() / (2 * rows))


def if_independent(mine: Array) -> float:
    """How far data are from the original that have each column right and nothing else: columns drawn one by one."""
    total = mine.sum()
    sides = [mine.sum(axis=tuple(other for other in range(mine.ndim) if other != axis)) for axis in range(mine.ndim)]
    shares = [side / total for side in sides]
    return float(np.abs(mine / total - reduce(np.multiply.outer, shares)).sum() / 2)


def _log_factorial(n: Array) -> Array:
    """By Stirling's series, which is off by less than 0.001 at 1 and by far less above."""
    safe = np.maximum(n, 1.0)
    found = safe * np.log(safe) - safe + np.log(2 * np.pi * safe) / 2 + 1 / (12 * safe) - 1 / (360 * safe**3)
    return np.where(n > 0, found, 0.0)
