"""Post-processing of frequency estimates: named steps that make them consistent, and may bias them.

An unbiased count may be below 0, and all of them need not add up to the number of people. Each step here repairs that
in its own way (Wang, Lopuhaä-Zwakenberg, Li, Skoric, Li 2020); none looks at a report, so none costs privacy. A step is
written down in the estimate, whose error bars stay those of the unbiased figures.

* *norm-sub*: the same amount is taken from every figure, so that those above 0 add up to n; the others become 0.
* *norm-cut*: figures below 0 become 0, and then the smallest, as long as those left still add up to n.
* *base-cut*: whatever its own error bar cannot tell from 0 becomes 0, by the bars that hold together.
* *cls*: constrained least squares: the figures that are not below 0, add up to n and are nearest, each distance being
  measured in its own standard deviations. With equal deviations it is norm-sub.
* *power*: figures are taken to follow a power law, whose exponent is the one that makes them likeliest, and each
  becomes what is expected of it under that distribution (Jia and Gong 2019). A guess about the world, good for words
  and bad for shares.
* *ibu*: the limit of the iterative Bayesian update (Agrawal and Aggarwal 2001), that is, the likeliest figures given
  how often each value was supported. A report that supports several values counts as one for each; where every report
  supports one value, as in GRR, this is the exact likelihood. The limit is found at once: it is the supports times a
  factor, less what others' reports give, and 0 where that is below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from discreet.verbs.collect.domain import Floats

if TYPE_CHECKING:
    from discreet.verbs.collect.estimate import FrequencyEstimate

_POWER_LAW_EXPONENTS = np.linspace(1.05, 4, 60)
_QUADRATURE_POINTS = 400
_VALUES_PER_BATCH = 1 << 12


def norm_sub(estimate: FrequencyEstimate) -> Floats:
    """Subtract the same amount from all counts and cut them at 0, so that they add up to n."""
    return _filled(estimate.counts, np.ones_like(estimate.counts), estimate.n)


def norm_cut(estimate: FrequencyEstimate) -> Floats:
    """Keep the largest counts that add up to n, and set the others to 0."""
    order = np.argsort(-estimate.counts, kind="stable")
    largest = np.maximum(estimate.counts[order], 0)
    kept = np.cumsum(largest) - largest < estimate.n
    counts = np.zeros_like(estimate.counts)
    counts[order[kept]] = largest[kept]
    return counts


def base_cut(estimate: FrequencyEstimate) -> Floats:
    """Set counts that their error bar cannot tell from 0 to 0."""
    return np.where(estimate.counts > estimate.error_bars_together, estimate.counts, 0.0)


def cls(estimate: FrequencyEstimate) -> Floats:
    """Constrained least squares: the nearest possible counts, each moved in proportion to its variance."""
    return _filled(estimate.counts, estimate.deviations**2, estimate.n)


def ibu(estimate: FrequencyEstimate) -> Floats:
    """Limit of the iterative Bayesian update: the counts that make the supports likeliest."""
    p, q = estimate.oracle.probabilities
    supports = np.maximum(estimate.n * q + estimate.counts * (p - q), 0)
    return _filled(-estimate.n * q / (p - q), np.where(supports > 0, supports / (p - q), 1e-300), estimate.n)


def power(estimate: FrequencyEstimate) -> Floats:
    """Posterior mean of each count under a power law fitted to all of them."""
    edges = np.geomspace(0.5, estimate.n + 0.5, _QUADRATURE_POINTS + 1)
    points, widths = np.sqrt(edges[:-1] * edges[1:]), np.diff(edges)
    weights = widths * points ** -_POWER_LAW_EXPONENTS[:, None]
    weights /= weights.sum(axis=1, keepdims=True)
    likelihoods = np.zeros(len(_POWER_LAW_EXPONENTS))
    for part in _parts(estimate):
        likelihoods += np.log(np.maximum(_kernel(estimate, part, points) @ weights.T, 1e-300)).sum(axis=0)
    prior, counts = weights[likelihoods.argmax()], np.empty_like(estimate.counts)
    for part in _parts(estimate):
        near = _kernel(estimate, part, points) * prior
        counts[part] = near @ points / near.sum(axis=1)
    return counts


STEPS: Mapping[str, Callable[[FrequencyEstimate], Floats]] = {
    "norm-sub": norm_sub,
    "norm-cut": norm_cut,
    "base-cut": base_cut,
    "cls": cls,
    "power": power,
    "ibu": ibu,
}


def _filled(levels: Floats, slopes: Floats, total: float) -> Floats:
    """Compute max(level + slope t, 0) for the t at which they add up to the total; slopes are above 0.

    Each counts from t = -level / slope on, so their sum grows with t by straight pieces: the right one is looked up.
    """
    starts = -levels / slopes
    order = np.argsort(starts, kind="stable")
    level, slope = np.cumsum(levels[order]), np.cumsum(slopes[order])
    at = (total - level) / slope
    last = np.flatnonzero(at >= starts[order])[-1]
    filled: Floats = np.maximum(levels + slopes * at[last], 0)
    return filled


def _parts(estimate: FrequencyEstimate) -> list[slice]:
    """Slices of a few thousand counts."""
    return [slice(start, start + _VALUES_PER_BATCH) for start in range(0, len(estimate.counts), _VALUES_PER_BATCH)]


def _kernel(estimate: FrequencyEstimate, part: slice, points: Floats) -> Floats:
    """Normal likelihood of each count at each point, scaled so that the largest is 1."""
    away = (estimate.counts[part, None] - points) / estimate.deviations[part, None]
    logs = -(away**2) / 2
    near: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    return near
