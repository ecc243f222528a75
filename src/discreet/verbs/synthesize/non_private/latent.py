"""Columns as steps of a normal variable that nobody sees, and how such variables hang together.

A column with few values is taken for a normal variable of which only the step is seen that it fell on. Scores of steps
(the mean of the normal variable within) hang together less than what is behind them, by a law that can be inverted:
with the coefficients c and d of two columns' scores in Hermite polynomials, variables with correlation ρ give scores
with correlation Σ c_k d_k ρ^k (Mehler's formula). Scores rise with the variable, so that this rises with ρ (Slepian
1962), and halving the interval finds ρ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.core.optional import extra
from discreet.verbs.publish.mask.values import Array

_TERMS = 40
_MOST = 0.9999
"""No two columns are taken for one."""
_STEPS = 2_000
"""With more steps than this, a column is as good as the normal variable itself."""


@dataclass(frozen=True)
class Latent:
    """The scores of a column's rows, with mean 0 and variance 1, and their coefficients from the first on."""

    scores: Array
    coefficients: Array

    @classmethod
    def of(cls, codes: Array) -> Latent:
        """Of a column whose codes are in their order."""
        counts = np.bincount(codes)
        here = counts > 0
        edges = quantiles(np.cumsum(counts[here]) / len(codes))[:-1]
        height = np.concatenate([[0.0], np.exp(-(edges**2) / 2) / np.sqrt(2 * np.pi), [0.0]])
        shares = counts[here] / len(codes)
        score = -np.diff(height) / shares
        spread = float(np.sqrt(shares @ score**2))
        full = np.zeros(len(counts))
        if spread == 0.0:
            return cls(full[codes], np.zeros(_TERMS))
        full[here] = score / spread
        coefficients = np.zeros(_TERMS)
        coefficients[0] = spread
        if here.sum() <= _STEPS:
            coefficients = _hermite(edges, height, score / spread)
        return cls(full[codes], coefficients)


def quantiles(shares: Array) -> Array:
    """The normal variable below which these shares lie."""
    with extra("attack"):
        from scipy.special import ndtri
    found: Array = ndtri(shares)
    return found


def below(values: Array) -> Array:
    """The share of a normal variable below these values."""
    with extra("attack"):
        from scipy.special import ndtr

    found: Array = ndtr(values)
    return found


def correlations(columns: list[Latent]) -> Array:
    """The correlations of what is behind the columns, as a matrix that some normal variables have."""
    scores = np.column_stack([one.scores for one in columns])
    seen = scores.T @ scores / len(scores)
    behind = _inverted(seen, np.array([one.coefficients for one in columns]))
    return repaired(behind)


def repaired(matrix: Array) -> Array:
    """The matrix without negative eigenvalues, and ones on its diagonal."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    positive = (vectors * np.maximum(values, 1e-8)) @ vectors.T
    scale = np.sqrt(np.diag(positive))
    made: Array = positive / np.outer(scale, scale)
    return made


def _hermite(edges: Array, height: Array, score: Array) -> Array:
    """∫ h_k φ over a step is the difference of h_(k−1) φ at its ends by √k, for polynomials h of norm 1."""
    coefficients = np.empty(_TERMS)
    before, now = np.zeros(len(edges)), np.ones(len(edges))
    for k in range(1, _TERMS + 1):
        ends = np.concatenate([[0.0], now * height[1:-1], [0.0]])
        coefficients[k - 1] = score @ -np.diff(ends) / np.sqrt(k)
        before, now = now, (edges * now - np.sqrt(k - 1) * before) / np.sqrt(k)
    return coefficients


def _inverted(seen: Array, coefficients: Array) -> Array:
    """For each pair of columns the correlation that is behind what is seen."""
    products = np.einsum("ik,jk->kij", coefficients, coefficients)
    low, high = np.full(seen.shape, -_MOST), np.full(seen.shape, _MOST)
    for _ in range(40):
        middle = (low + high) / 2
        value = np.zeros(seen.shape)
        for product in products[::-1]:
            value = (value + product) * middle
        low, high = np.where(value < seen, middle, low), np.where(value < seen, high, middle)
    found = np.where(products.any(axis=0), (low + high) / 2, 0.0)  # a constant hangs together with nothing
    np.fill_diagonal(found, 1.0)
    return found
