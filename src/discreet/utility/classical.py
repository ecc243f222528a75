"""Differences between original and released values, and between what is computed of them.

Domingo-Ferrer and Torra (2001); Handbook on Statistical Disclosure Control, 3.5.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.errors import DataError
from discreet.utility.cells import Array, centred, spread
from discreet.utility.metric import Figure
from discreet.utility.pair import Pair


def il1(pair: Pair) -> Figure:
    """IL1: the mean of |x − x'| / (√2 S), S being the column's standard deviation in the original (Mateo-Sanz et al.).

    0: nobody's numbers changed. About 0.8: everybody has a stranger's. There is no upper end. Values that the original
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
        raise DataError("Nobody has a number in the original.")
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
        raise DataError("No released row is anybody's.")
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
    found: Array = np.where(explained > 1e-12, loads / np.where(explained > 1e-12, explained, 1.0), 0.0)
    return found
