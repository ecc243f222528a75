"""Transition matrices for PRAM. Row k: what becomes of category k, and with what chance."""

from __future__ import annotations

import math

import numpy as np

from discreet.core.programs import Program
from discreet.errors import BadInput
from discreet.verbs.publish.mask.values import Array


def require_transition(matrix: Array, size: int, name: str) -> Array:
    """The matrix, if its rows are chances that add up to 1 and there is one for each category."""
    if matrix.shape != (size, size):
        raise BadInput(f"{name}: the matrix has shape {matrix.shape}, and there are {size} categories.")
    if not np.isfinite(matrix).all() or (matrix < 0).any() or (np.abs(matrix.sum(axis=1) - 1) > 1e-9).any():
        raise BadInput(f"{name}: every row of a transition matrix is chances that add up to 1.")
    return matrix


def evenly(size: int, keep: float) -> Array:
    """Stay with chance ``keep``, or else become any other category, all alike."""
    matrix = np.full((size, size), (1 - keep) / (size - 1))
    np.fill_diagonal(matrix, keep)
    return matrix


def invariant(matrix: Array, counts: Array) -> Array:
    """The matrix followed by its Bayes inverse: draw by it, then draw an original that could have given this.

    Why this is right: the Bayes inverse takes the shown shares back to the original ones, whatever the matrix is; so
    their product takes the original ones to themselves (Gouweleeuw et al. 1998, two-stage PRAM).
    """
    counts = np.asarray(counts, dtype=np.float64)
    joint = counts[:, None] * matrix
    shown = joint.sum(axis=0)
    safe = np.where(shown > 0, shown, 1.0)
    back = np.where(shown[:, None] > 0, joint.T / safe[:, None], np.eye(len(counts)))
    made: Array = matrix @ back
    return made


def least_moved(counts: Array, keep: float, name: str) -> Array:
    """Of all invariant matrices that hide with ``keep``, the one that moves values least on average.

    A linear program: a flow from shares to the same shares, with |i - j| for the cost of a way. No way takes more than
    ``keep`` of either end, so that no category becomes another (or stays), and none that is shown was another (or the
    same), with a greater chance: whoever sees it and knows the matrix names the true one with ``keep`` at best. A bound
    on who stays alone would let a small ``keep`` flip categories almost for sure.

    There is such a matrix if and only if ``keep`` is no less than the largest share: then all rows may be the shares
    themselves; else, as shown and true shares are the same, some shown category must be the commonest with a greater
    chance. Categories that nobody has stay out of it.
    """
    there = np.flatnonzero(counts > 0)
    shares = counts[there] / counts.sum()
    if keep < shares.max():
        raise BadInput(
            f"{name}: keep={keep:g} is less than the share of the commonest category: no matrix that keeps the counts "
            "hides so well, as naming that category is right more often.",
            hint=f"Take keep of at least {math.ceil(1000 * shares.max()) / 1000:g}, or how='invariant'.",
        )
    size = len(there)
    cost = np.abs(np.subtract.outer(there, there)).astype(np.float64)
    rows, columns = np.kron(np.eye(size), np.ones(size)), np.kron(np.ones(size), np.eye(size))
    most = keep * np.minimum.outer(shares, shares).ravel()
    ends = np.r_[shares, shares]
    found = Program(cost.ravel(), np.vstack([rows, columns]), ends, ends, 0.0, most).solve()
    if found.x is None:
        raise BadInput(f"{name}: no matrix was found: {found.status.value}.", hint="Take how='invariant'.")
    flow = np.maximum(found.x.reshape(size, size), 0.0)
    matrix = np.eye(len(counts))
    matrix[np.ix_(there, there)] = flow / flow.sum(axis=1, keepdims=True)
    return matrix


def changing(matrix: Array, counts: Array) -> float:
    """The share of rows that change, on average."""
    total = float(counts.sum())
    return float(counts @ (1 - np.diag(matrix)) / total) if total else 0.0
