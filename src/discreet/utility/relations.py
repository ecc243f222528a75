"""What analysts find out about columns together: correlations, regressions, clusters."""

from __future__ import annotations

import numpy as np

from discreet.errors import DataError
from discreet.utility.cells import Array, means, spread
from discreet.utility.classical import correlations as correlated
from discreet.utility.metric import Figure
from discreet.utility.pair import Pair

_CLUSTERS = 5
_ROUNDS = 100
_MOST = 20_000
_SURE = 1.96


def correlations(pair: Pair) -> Figure:
    """The mean difference of correlations, over all pairs of numbers, halved so that 1 is the most there can be."""
    x, y = pair.numbers
    if x.shape[1] < 2:
        raise DataError("There are fewer than two columns of numbers.")
    above = np.triu_indices(x.shape[1], 1)
    apart = np.abs(correlated(x) - correlated(y))[above] / 2
    names = pair.number_names
    each = {f"{names[i]} × {names[j]}": float(v) for i, j, v in zip(*above, apart, strict=True)}
    return Figure(float(apart.mean()), dict(sorted(each.items(), key=lambda one: -one[1])[:10]))


def overlap(pair: Pair) -> Figure:
    """How far the confidence intervals of regression coefficients overlap (Karr et al. 2006): every number is
    explained by all others, and the share of each interval that lies in the other one is averaged.

    1: whoever fits models to the release finds the same. 0: all intervals lie elsewhere.
    """
    x, y = pair.numbers
    if x.shape[1] < 2:
        raise DataError("There are fewer than two columns of numbers.")
    mean, scale = means(x), np.array([spread(column) for column in x.T])
    varied = scale > 0
    if varied.sum() < 2:
        raise DataError("There are fewer than two columns of numbers that vary.")
    x, y = ((side[:, varied] - mean[varied]) / scale[varied] for side in (x, y))
    if min(len(x), len(y)) <= x.shape[1] + 1:
        raise DataError("There are too few rows to fit a regression.")
    names = [name for name, varies in zip(pair.number_names, varied, strict=True) if varies]
    each = {}
    for place, name in enumerate(names):
        a, b = _intervals(x, place), _intervals(y, place)
        inside = np.minimum(a[1], b[1]) - np.maximum(a[0], b[0])
        same = np.isclose(a, b, rtol=1e-9, atol=1e-12).all(axis=0)
        wide = np.maximum(a[1] - a[0], 1e-300), np.maximum(b[1] - b[0], 1e-300)
        shares = np.where(same, 1.0, np.maximum(inside, 0.0) * (1 / wide[0] + 1 / wide[1]) / 2)
        each[f"on {name}"] = float(shares.mean())
    return Figure(float(np.mean([*each.values()])), each)


def clusters(pair: Pair) -> Figure:
    """Whether who has the release alone divides the original people as who has the original does: k-means on both
    sides, the original people given to the nearest centres of each, and the two divisions compared by the adjusted Rand
    index (Hubert and Arabie 1985). 1: the same division; 0: as alike as any two by chance."""
    x, y = pair.numbers
    mean, scale = means(x), np.array([spread(column) for column in x.T])
    x, y = (_sorted((side - mean) / np.where(scale > 0, scale, 1.0)) for side in (x, y))
    if not x.any() or len(x) < 2 * _CLUSTERS or len(y) < 2 * _CLUSTERS:
        raise DataError("All rows are alike, or there are too few to be divided.")
    mine, theirs = _nearest(x, _centres(x)), _nearest(x, _centres(y))
    return Figure(_agreement(mine, theirs), {"clusters": float(len(np.unique(mine)))})


def _sorted(x: Array) -> Array:
    """In an order that is the rows' own: equal rows in another order give the same clusters."""
    return np.asarray(x[np.lexsort(x.T)][:: -(-len(x) // _MOST)])


def _centres(x: Array) -> Array:
    """k-means, from equal parts along the first principal component: nothing in it is random."""
    along = x @ np.linalg.eigh(np.atleast_2d(np.cov(x.T)))[1][:, -1]
    centres = np.stack([x[part].mean(axis=0) for part in np.array_split(np.argsort(along, kind="stable"), _CLUSTERS)])
    for _ in range(_ROUNDS):
        of = _nearest(x, centres)
        sizes = np.bincount(of, minlength=_CLUSTERS)
        sums = np.stack([np.bincount(of, column, _CLUSTERS) for column in x.T], axis=1)
        moved = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
        if np.allclose(moved, centres, rtol=0, atol=1e-9):
            break
        centres = moved
    return np.asarray(centres)


def _nearest(x: Array, centres: Array) -> Array:
    apart = np.stack([((x - centre) ** 2).sum(axis=1) for centre in centres], axis=1)
    return np.asarray(apart.argmin(axis=1))


def _agreement(a: Array, b: Array) -> float:
    """The adjusted Rand index."""

    def pairs(counts: Array) -> float:
        return float((counts * (counts - 1) / 2).sum())

    both = np.bincount(a * _CLUSTERS + b, minlength=_CLUSTERS**2).reshape(_CLUSTERS, _CLUSTERS)
    together, mine, theirs = pairs(both), pairs(both.sum(axis=1)), pairs(both.sum(axis=0))
    chance = mine * theirs / pairs(np.array([len(a)]))
    most = (mine + theirs) / 2
    return (together - chance) / (most - chance) if most > chance else 1.0


def _intervals(x: Array, place: int) -> Array:
    """The lower and upper ends of the coefficients' 95 % intervals, shape (2, coefficients)."""
    rest = np.column_stack([np.ones(len(x)), np.delete(x, place, axis=1)])
    inverse = np.linalg.pinv(rest.T @ rest)
    found = inverse @ rest.T @ x[:, place]
    left = x[:, place] - rest @ found
    reach = _SURE * np.sqrt(np.maximum(np.diag(inverse), 0.0) * (left @ left) / (len(x) - rest.shape[1]))
    return np.stack([found - reach, found + reach])[:, 1:]
