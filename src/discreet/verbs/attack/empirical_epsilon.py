"""The epsilon that an attack proves a lower bound of: whoever tells members from others so well is not more private.

Under (epsilon, delta)-differential privacy any test for membership has TPR <= e^epsilon FPR + delta, and the same of
those it clears (Kairouz, Oh and Viswanath 2015, "The composition theorem for differential privacy"). Rates that were
counted bound the true ones by the intervals of Clopper and Pearson (Jagielski, Ullman and Oprea 2020, "Auditing
differentially private machine learning").
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import BadInput
from discreet.verbs.attack.finding import clopper_pearson

Array = npt.NDArray[Any]

_LIMITS = 500
"""So many thresholds are tried at most."""


@dataclass(frozen=True)
class EffectiveEpsilon:
    """With ``confidence``, the loss is at least ``epsilon``."""

    epsilon: float
    confidence: float
    threshold: float
    """Scores above it are called members."""
    tpr: float
    """The share of members who are called so."""
    fpr: float
    """The share of others who are."""


def effective_epsilon(
    members: Array, others: Array, *, confidence: float = 0.95, delta: float = 0.0
) -> EffectiveEpsilon:
    """A lower bound of epsilon from scores (larger: more like a member), each from an independent run.

    Why this is valid: the threshold, and whether members or others are counted on, are chosen by every other score; the
    bound is computed from the rest, which the choice knows nothing of. Both rates are within their one-sided limits
    with ``confidence``, by the union bound.
    """
    groups = [_finite(scores) for scores in (members, others)]
    if any(len(scores) < 4 for scores in groups):
        raise BadInput("An effective epsilon needs at least 4 scores of members, and of others.")
    first, second = ((groups[0][half::2], groups[1][half::2]) for half in (0, 1))

    def bound(half: tuple[Array, Array], threshold: float, cleared: bool) -> float:
        """What the counts prove: by members called so or, if ``cleared``, by others who are not."""
        called, wrongly = half[0] > threshold, half[1] > threshold
        hits, errors = (~wrongly, ~called) if cleared else (called, wrongly)
        low = clopper_pearson(int(hits.sum()), len(hits), confidence)[0] - delta
        high = clopper_pearson(int(errors.sum()), len(errors), confidence)[1]
        return math.log(low / high) if low > 0 else -math.inf

    values = np.unique(np.concatenate(first))
    limits = values[:: -(-len(values) // _LIMITS)]
    chosen = max(itertools.product(limits.tolist(), (False, True)), key=lambda one: bound(first, *one))
    tpr, fpr = (float((scores > chosen[0]).mean()) for scores in second)
    return EffectiveEpsilon(max(bound(second, *chosen), 0.0), confidence, chosen[0], tpr, fpr)


def _finite(scores: Array) -> Array:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or np.isnan(values).any():
        raise BadInput("Scores are a list of numbers.")
    return values
