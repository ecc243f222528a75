"""Information loss: differences between original and released values, and between what is computed of them.

Classical differences: Domingo-Ferrer and Torra (2001); Handbook on Statistical Disclosure Control, 3.5. Further
marginal counts, and what analysts compute of several columns: correlations, regressions, clusters.

Probabilistic information loss: were the released statistics as far off only by chance? A statistic θ of the original
table is what a sample of that size would give with variance Var θ; if the released θ' is off by what a sample would be
off anyway, little is lost. The loss of one statistic is the probability that a sample is nearer: 2Φ(|θ' − θ| / √Var θ)
− 1, from 0 to 1. Variances are large-sample ones, of the original (Mateo-Sanz, Domingo-Ferrer and Sebé 2005).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, islice
from math import comb, erf, sqrt

import numpy as np

from discreet.errors import DataError
from discreet.utility.pair import Array, Figure, Pair, centred, means, spread


def il1(pair: Pair) -> Figure:
    """IL1: the mean of |x − x'| / (√2 S), S being the column's standard deviation in the original (Mateo-Sanz et al.).

    0: no one's numbers changed. About 0.8: everyone has a stranger's. There is no upper end. Values that the original
    lacks are left out; one that was taken away counts as a stranger's. Columns that do not vary count as soon as they
    are not what they were.
    """
    x, y = _linked_numbers(pair)
    wide = np.array([spread(column, ddof=1) for column in x.T])
    apart = np.abs(x - y)
    scaled = np.where(wide > 0, apart / (np.sqrt(2) * np.where(wide > 0, wide, 1.0)), (apart > 0) / np.sqrt(2))
    scaled[np.isnan(y) & ~np.isnan(x)] = np.sqrt(2 / np.pi)  # what normal values that are strangers' differ by
    each = np.array([np.nanmean(column) if (~np.isnan(column)).any() else np.nan for column in scaled.T])
    if np.isnan(each).all():
        raise DataError("The original has no numbers.")
    return Figure(float(np.nanmean(each)), dict(zip(pair.number_names, each.tolist(), strict=True)))


def classical(pair: Pair) -> Figure:
    """The mean of the mean variations of the classical table, which is in the details.

    A mean variation is a difference in proportion to the original figure: 0 is best, there is no upper end.
    """
    found = table(pair)
    return Figure(
        float(np.mean([row["variation"] for row in found.values()])),
        {f"{what}: {how}": value for what, row in found.items() for how, value in row.items()},
    )


def table(pair: Pair) -> Mapping[str, Mapping[str, float]]:
    """Mean square error, mean absolute error and mean variation of: values (if it is known which row is whose),
    covariances, correlations, correlations with principal components, communalities (of the first), and the weights of
    the columns in the principal components. Components count by the share of the variance they explain."""
    found = {}
    if pair.links is not None:
        x, y = _linked_numbers(pair)
        there = ~np.isnan(x) & ~np.isnan(y)
        found["values"] = _errors(x[there], y[there])
    x, y = pair.numbers
    upper = np.triu_indices(x.shape[1])
    found["covariances"] = _errors(_covariances(x)[upper], _covariances(y)[upper])
    r, s = correlations(x), correlations(y)
    if len(r) < 2:
        return found
    above = np.triu_indices(len(r), 1)
    found["correlations"] = _errors(r[above], s[above])
    (loads, shares), (others, _) = _components(r), _components(s)
    others = others * np.where((loads * others).sum(axis=0) < 0, -1.0, 1.0)  # the sign of a component means nothing
    weights = np.broadcast_to(shares, loads.shape)
    found["correlations with components"] = _errors(loads, others, weights)
    found["communalities"] = _errors(loads[:, 0] ** 2, others[:, 0] ** 2)
    found["component weights"] = _errors(_scores(loads), _scores(others), weights)
    return found


def correlations(x: Array) -> Array:
    """The correlations of the columns; a constant correlates with itself alone."""
    a = centred(x)
    wide = np.sqrt((a**2).mean(axis=0))
    z = a / np.where(wide > 0, wide, 1.0)
    found: Array = z.T @ z / len(z)
    np.fill_diagonal(found, 1.0)
    return found


def _covariances(x: Array) -> Array:
    a = centred(x)
    return np.asarray(a.T @ a / (len(a) - 1))


def _linked_numbers(pair: Pair) -> tuple[Array, Array]:
    which = np.array(pair.numeric, dtype=bool)
    if not which.any():
        raise DataError("No column that both sides have holds numbers.")
    x, y = pair.linked
    if not len(x):
        raise DataError("No released row is linked to a person.")
    return x[:, which], y[:, which]


def _errors(a: Array, b: Array, weights: Array | None = None) -> dict[str, float]:
    weights = np.ones_like(a) if weights is None else weights
    total = max(float(weights.sum()), 1e-300)
    apart = np.abs(a - b)
    varied = np.where(a != 0, apart / np.where(a != 0, np.abs(a), 1.0), (apart > 0).astype(float))
    return {
        "square": float((weights * apart**2).sum() / total),
        "absolute": float((weights * apart).sum() / total),
        "variation": float((weights * varied).sum() / total),
    }


def _components(r: Array) -> tuple[Array, Array]:
    """The correlations of columns (rows) with principal components (columns), and the share each explains."""
    values, vectors = np.linalg.eigh(r)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    return vectors * np.sqrt(values), values / values.sum()


def _scores(loads: Array) -> Array:
    """The weights of standardised columns in components of unit variance; of a component without variance, none."""
    explained = (loads**2).sum(axis=0)
    return np.asarray(np.where(explained > 1e-12, loads / np.where(explained > 1e-12, explained, 1.0), 0.0))


_LEVELS = np.arange(1, 20) / 20
"""Of the quantiles: 5 to 95 %."""


def pil(pair: Pair) -> float:
    """The mean loss of means, variances, covariances, correlations and quantiles, each family counting the same.

    0 is best: nothing moved more than it would by sampling; 1 is worst: every statistic is off by many of its
    standard errors. It says nothing about single records.
    """
    return float(np.mean([*families(pair).values()]))


def families(pair: Pair) -> Mapping[str, float]:
    """The mean loss within each family of statistics."""
    x, y = pair.numbers
    n = len(x)
    a, b = centred(x), centred(y)
    v, w = (a**2).mean(axis=0), (b**2).mean(axis=0)
    found = {
        "means": _loss(means(y) - means(x), v / n),
        "variances": _loss(w - v, ((a**4).mean(axis=0) - v**2) / n),
        "quantiles": _quantiles(x, y),
    }
    pairs = [(i, j) for i in range(x.shape[1]) for j in range(i)]
    if pairs:
        covariances, correlations = zip(*(_together(a[:, i], a[:, j], b[:, i], b[:, j]) for i, j in pairs), strict=True)
        found |= {"covariances": float(np.mean(covariances)), "correlations": float(np.mean(correlations))}
    return found


def _together(a: Array, c: Array, b: Array, d: Array) -> tuple[float, float]:
    """The losses of the covariance and of the correlation of two centred columns: of the original (``a``, ``c``), of
    the release (``b``, ``d``)."""
    n = len(a)
    m11, m20, m02 = float((a * c).mean()), float((a * a).mean()), float((c * c).mean())
    m22 = float((a**2 * c**2).mean())
    n11, n20, n02 = float((b * d).mean()), float((b * b).mean()), float((d * d).mean())
    covariance = _loss(n11 - m11, (m22 - m11**2) / n)
    if m20 == 0 or m02 == 0:  # a constant correlates with nothing
        return covariance, 0.0 if n20 == 0 or n02 == 0 else 1.0
    r = m11 / np.sqrt(m20 * m02)
    s = n11 / np.sqrt(n20 * n02) if n20 and n02 else 0.0
    # The delta method's variance, written so that it holds for r = 0, too: that of the mean of
    # z₁z₂ − r (z₁² + z₂²) / 2, where z are the standardised columns.
    z, u = a / np.sqrt(m20), c / np.sqrt(m02)
    return covariance, _loss(s - r, float((z * u - r * (z**2 + u**2) / 2).var()) / n)


def _quantiles(x: Array, y: Array) -> float:
    """By the density at the quantile: of the original, by a normal kernel of Silverman's width."""
    found = []
    for mine, theirs in zip(x.T, y.T, strict=True):
        at, there = np.quantile(mine, _LEVELS), np.quantile(theirs, _LEVELS)
        wide = min(spread(mine), float(np.subtract(*np.quantile(mine, [0.75, 0.25]))) / 1.349 or np.inf)
        if wide == 0:
            found.append(float(np.mean(at != there)))
            continue
        width = 0.9 * wide * len(mine) ** -0.2
        density = np.array([np.exp(-(((mine - q) / width) ** 2) / 2).mean() for q in at]) / (width * np.sqrt(2 * np.pi))
        found.append(_loss(there - at, _LEVELS * (1 - _LEVELS) / (len(mine) * np.maximum(density, 1e-300) ** 2)))
    return float(np.mean(found))


def _loss(off: Array | float, variance: Array | float) -> float:
    """The mean of 2Φ(|off| / √variance) − 1; what does not vary is lost as soon as it is off at all."""
    each = zip(np.atleast_1d(off), np.atleast_1d(variance), strict=True)
    return float(np.mean([erf(abs(o) / sqrt(2 * v)) if v > 0 else float(o != 0) for o, v in each]))


_PARTS = {1: 10, 2: 5, 3: 3}
"""Number of quantile bins of numbers, by the number of columns taken together: fewer for more columns, so
that what differs is not mere chance."""
_MOST_SETS = 500
"""Largest number of sets of columns compared."""


def marginals(pair: Pair, ways: int) -> Figure:
    """The mean total variation distance of ``ways`` columns together."""
    width = len(pair.columns)
    if width < ways:
        raise DataError(f"There are fewer than {ways} columns.")
    parts = [_parts(pair, place, _PARTS[ways]) for place in range(width)]
    step = -(-comb(width, ways) // _MOST_SETS)
    found = {}
    for places in islice(combinations(range(width), ways), 0, None, step):
        a, b = (_key([parts[place][side] for place in places]) for side in (0, 1))
        found[" × ".join(pair.columns[place] for place in places)] = _variation(a, b)
    worst = dict(sorted(found.items(), key=lambda one: -one[1])[:10])
    return Figure(float(np.mean([*found.values()])), worst)


def _parts(pair: Pair, place: int, most: int) -> tuple[Array, Array]:
    """The column of both sides as whole numbers from 0; NULL is a part of its own."""
    a, b = pair.original[:, place], pair.released[:, place]
    if pair.numeric[place]:
        borders = np.unique(np.nanquantile(a, np.arange(1, most) / most, method="inverted_cdf"))
        cut = (np.where(np.isnan(side), 0, 1 + np.searchsorted(borders, side, "right")) for side in (a, b))
        first, second = cut
        return first.astype(np.int64), second.astype(np.int64)
    return np.nan_to_num(a + 1).astype(np.int64), np.nan_to_num(b + 1).astype(np.int64)


def _key(columns: list[Array]) -> Array:
    """Several columns as one whole number; the columns of both sides must be cut alike."""
    key = columns[0]
    for column in columns[1:]:
        key = key * (1 << 20) + column
    return key


def _variation(a: Array, b: Array) -> float:
    _, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    most = int(codes.max()) + 1
    p, q = (np.bincount(side, minlength=most) / len(side) for side in (codes[: len(a)], codes[len(a) :]))
    return float(np.abs(p - q).sum() / 2)


_CLUSTERS = 5
_ROUNDS = 100
_MOST_ROWS = 20_000
_SURE = 1.96


def correlation_change(pair: Pair) -> Figure:
    """The mean difference of correlations, over all pairs of numbers, halved so that 1 is the most there can be."""
    x, y = pair.numbers
    if x.shape[1] < 2:
        raise DataError("There are fewer than two columns of numbers.")
    above = np.triu_indices(x.shape[1], 1)
    apart = np.abs(correlations(x) - correlations(y))[above] / 2
    names = pair.number_names
    each = {f"{names[i]} × {names[j]}": float(v) for i, j, v in zip(*above, apart, strict=True)}
    return Figure(float(apart.mean()), dict(sorted(each.items(), key=lambda one: -one[1])[:10]))


def overlap(pair: Pair) -> Figure:
    """How far the confidence intervals of regression coefficients overlap (Karr et al. 2006): every number is
    explained by all others, and the share of each interval that lies in the other one is averaged.

    1: anyone who fits models to the release finds the same. 0: all intervals lie elsewhere.
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
        raise DataError("All rows are equal, or there are too few to cluster.")
    mine, theirs = _nearest(x, _centres(x)), _nearest(x, _centres(y))
    return Figure(_agreement(mine, theirs), {"clusters": float(len(np.unique(mine)))})


def _sorted(x: Array) -> Array:
    """In an order that is the rows' own: equal rows in another order give the same clusters."""
    return np.asarray(x[np.lexsort(x.T)][:: -(-len(x) // _MOST_ROWS)])


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
