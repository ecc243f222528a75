"""Can a released row be told from an original one? (Woo, Reiter, Oganian and Karr 2009)"""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np

from discreet.core.optional import extra
from discreet.errors import DataError
from discreet.utility.cells import Array, spread
from discreet.utility.metric import Figure
from discreet.utility.pair import Pair

_PRODUCTS = 12
"""With more numeric columns, products of two are left out."""
_CATEGORIES = 20
_MOST = 50_000


def propensity(pair: Pair) -> Figure:
    """A logistic model guesses of every row which side it is from, by its values, their squares and products. The
    figure is the mean square of (guess − share), in proportion to what a model that is always right would get.

    0: the sides cannot be told apart by such a model; 1: every row can.
    """
    a, b = (side[:: -(-len(side) // _MOST)] for side in (pair.original, pair.released))
    guess, used = guesses(a, b, pair.numeric)
    return Figure(apart(guess, len(b)), {"columns used": float(used)})


def apart(guess: Array, released: int) -> float:
    """The mean square of (guess − share), as a share of its most: of rows of which the last ``released`` are so."""
    share = released / len(guess)
    return float(np.mean((guess - share) ** 2) / (share * (1 - share)))


def guesses(a: Array, b: Array, numeric: tuple[bool, ...]) -> tuple[Array, int]:
    """Of every row of both sides how likely it is of the second, by a model of both, and by how many columns, not
    counting those that follow from others."""
    with extra("attack"):
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
    x = described(np.concatenate([a, b]), numeric, len(a))
    if not x.shape[1]:
        raise DataError("No column varies.")
    side = np.repeat([0, 1], [len(a), len(b)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # sides far apart are never told apart surely enough
        found = LogisticRegression(C=100.0, max_iter=200).fit(x, side).predict_proba(x)[:, 1]
    around = x - x.mean(axis=0)
    return np.asarray(found), int(np.linalg.matrix_rank(around.T @ around, hermitian=True))


def described(rows: Array, numeric: tuple[bool, ...], count: int) -> Array:
    """What a model sees of rows: numbers in the standard deviations of the first ``count`` of them, their squares and
    products; the commonest categories, and whether something is missing, as 0 and 1."""
    numbers, marks = [], []
    for values, number in zip(rows.T, numeric, strict=True):
        gone = np.isnan(values)
        marks.append(gone.astype(float))
        if number:
            mine = values[:count]
            scaled = (values - np.nanmean(mine)) / (spread(mine) or 1.0)
            numbers.append(np.clip(np.where(gone, 0.0, scaled), -100.0, 100.0))
        else:
            kinds, counts = np.unique(values[~gone], return_counts=True)
            common = kinds[np.argsort(-counts, kind="stable")][:_CATEGORIES]
            marks += [(values == kind).astype(float) for kind in common]
    found = [*numbers, *(column**2 for column in numbers), *marks]
    if len(numbers) <= _PRODUCTS:
        found += [one * other for one, other in combinations(numbers, 2)]
    kept = [column for column in found if np.ptp(column) > 0]
    return np.column_stack(kept) if kept else np.zeros((len(rows), 0))
