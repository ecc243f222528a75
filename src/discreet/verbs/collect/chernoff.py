"""Chernoff–Hoeffding bounds on the share of heads among independent coins (Hoeffding 1963, Theorem 1).

n coins of mean probability p have a share of heads as far from p as s, on the same side, with probability at most
e**-(n KL(s, p)).
"""

from __future__ import annotations

from math import log

import numpy as np

from discreet.verbs.collect.domain import Floats


def kl_divergence(share: float, probability: float) -> float:
    """Kullback–Leibler divergence of two coins."""
    heads = share * log(share / probability) if share > 0 else 0.0
    return heads + ((1 - share) * log((1 - share) / (1 - probability)) if share < 1 else 0.0)


def chernoff_threshold(probability: float, coins: float, limit: float) -> float:
    """Smallest share of heads whose probability is at most e**-limit; above 1 if there is none."""
    if coins * kl_divergence(1.0, probability) < limit:
        return 2.0
    low, high = probability, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if coins * kl_divergence(middle, probability) >= limit else (middle, high)
    return high


def log_tail_bounds(shares: Floats, probabilities: Floats, n: int) -> Floats:
    """Logarithm of the bound for each share of heads among ``n`` coins of each mean probability."""
    with np.errstate(divide="ignore", invalid="ignore"):
        heads = np.where(shares > 0, shares * np.log(shares / probabilities), 0.0)
        tails = np.where(shares < 1, (1 - shares) * np.log((1 - shares) / (1 - probabilities)), 0.0)
    logs: Floats = -n * (heads + tails)
    return logs
