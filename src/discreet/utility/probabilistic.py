"""Probabilistic information loss: were the released statistics as far off only by chance? (Mateo-Sanz et al. 2005)

A statistic θ of the original table is what a sample of that size would give with variance Var θ; if the released θ'
is off by what a sample would be off anyway, little is lost. The loss of one statistic is the probability that a sample
is nearer: 2Φ(|θ' − θ| / √Var θ) − 1, from 0 to 1. Variances are large-sample ones, of the original (Mateo-Sanz,
Domingo-Ferrer and Sebé 2005).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.utility.cells import Array, centred, means, spread
from discreet.utility.pair import Pair

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
    from math import erf, sqrt

    return float(
        np.mean(
            [
                erf(abs(o) / sqrt(2 * v)) if v > 0 else float(o != 0)
                for o, v in zip(np.atleast_1d(off), np.atleast_1d(variance), strict=True)
            ]
        )
    )
