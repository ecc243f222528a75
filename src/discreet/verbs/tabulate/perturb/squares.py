"""Weighted least squares under linear relations and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core.optional import extra
from discreet.errors import EngineError
from discreet.verbs.tabulate.optional_imports import sparse

_Numbers = np.ndarray[Any, Any]
_ROUNDS = 500
_NEAR = 1e-7
_STIFF = 1e-6
"""How much a number at its bound counts as free: enough for prices to be found when all are at their bounds."""


def least_squares(relations: Any, weights: _Numbers, least: _Numbers, most: _Numbers) -> _Numbers:
    """The real x with ``relations @ x == 0`` and ``least <= x <= most`` of least ``weights @ x**2``.

    There must be such an x. It is found by Newton's method on the dual problem (Qi and Sun 2006): for given prices of
    the relations each x is a clipped quotient, and the prices are right when the relations hold. The dual value goes
    up in every round, so the rounds cannot cycle. A weight of 0 counts as one very small.
    """
    with extra("tabulate"):
        from scipy.sparse.linalg import splu

    lib = sparse()
    matrix = relations.astype(np.float64).tocsr()
    weights = np.maximum(weights, 1e-9 * max(float(weights.max(initial=0.0)), 1e-300))
    weights = weights / np.median(weights)

    def at(prices: _Numbers) -> tuple[_Numbers, float]:
        x = np.clip(-(matrix.T @ prices) / (2 * weights), least, most)
        return x, float(weights @ x**2 + prices @ (matrix @ x))

    prices = np.zeros(matrix.shape[0])
    x, value = at(prices)
    for _ in range(_ROUNDS):
        off = matrix @ x
        if _far(off) <= _NEAR * (1 + _far(x)):
            return x
        free = np.where((x > least) & (x < most), 1.0, _STIFF) / (2 * weights)
        curve = (matrix @ lib.diags_array(free) @ matrix.T).tocsc()
        slack = _STIFF**2 * lib.diags_array(curve.diagonal() + _STIFF, format="csc")
        step = splu(curve + slack).solve(off)
        length = 1.0
        while True:
            moved, found = at(prices + length * step)
            if found >= value + 1e-4 * length * float(step @ off) or _far(matrix @ moved) < _far(off) / 2:
                break
            length /= 2
        prices, x, value = prices + length * step, moved, found
    raise EngineError("The least squares were not found.")


def _far(numbers: _Numbers) -> float:
    return float(np.abs(numbers).max(initial=0.0))
