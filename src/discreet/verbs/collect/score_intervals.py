"""Score intervals (Wilson 1927): error bars of figures whose variance depends on the true figure.

A true figure that is x away from the estimate is refuted where x² > z² variance(estimate + x). To take the variance at
the estimate instead is wrong where it is small: with a large ε, or few people, nobody may have reported a rare value,
and its variance then seems to be 0 though people have it. Where few reports decide, the normal law itself is not near
enough, and exact tails are taken (``exact_tails``).
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from discreet.verbs.collect.domain import Counts, Floats
from discreet.verbs.collect.exact_tails import NORMAL_LAW_VARIANCE, exact_count_error_bound, exact_share_error_bound


def normal_quantile(error: float) -> float:
    """Number of standard deviations that a normal figure exceeds, to either side, with probability ``error``."""
    return -NormalDist().inv_cdf(error / 2)


def score_bound(z: float, variance: Floats, slope: Floats, bend: Floats | float = 0.0) -> Floats:
    """Largest distance x, to the worse side, with x² <= z² (variance + slope x - bend x²).

    These are the variance at the estimate, how fast it grows with the figure, and how its growth slows down.
    """
    lean, widen = z**2 * np.abs(slope), 1 + z**2 * np.asarray(bend)
    reached: Floats = (lean + np.sqrt(lean**2 + 4 * widen * z**2 * variance)) / (2 * widen)
    return reached


def share_error_bound(error: float, share: Floats, n: Counts | int) -> Floats:
    """Largest distance of the mean probability of n coins from their share of heads."""
    reached = score_bound(normal_quantile(error), share * (1 - share) / n, (1 - 2 * share) / n, 1 / n)
    few, coins = n * share * (1 - share) < NORMAL_LAW_VARIANCE, np.broadcast_to(n, share.shape)
    if few.any():
        exact = exact_share_error_bound(np.rint(share * n).astype(np.int64)[few], coins[few], error)
        reached[few] = np.maximum(reached[few], exact)
    return reached


def count_error_bound(
    error: float, supports: Counts, n: int, probabilities: tuple[Floats, Floats], variances: Floats
) -> Floats:
    """Largest error of each estimated number of people, of n, by the number of reports that support each value.

    ``variances`` are those at the estimate, which may have more in them than the coins. What lies (z² - 1) / 6 of the
    skewness farther off is added, as the normal law has none (Cornish and Fisher 1938): a sum of coins has a third
    moment of at most its variance times 1 - 2 p or 1 - 2 q, whichever is farther from 0.
    """
    own, other = probabilities
    z, rise = normal_quantile(error), own - other
    own_noise, noise = own * (1 - own), other * (1 - other)
    skewed = np.maximum(np.abs(1 - 2 * own), np.abs(1 - 2 * other)) * max(z**2 - 1, 0) / 6 / rise
    reached = score_bound(z, variances, (own_noise - noise) / rise**2) + skewed
    people = np.clip((supports - n * other) / rise, 0, n)
    few = people * own_noise + (n - people) * noise < NORMAL_LAW_VARIANCE
    if few.any():
        exact = exact_count_error_bound(supports[few], n, own[few], other[few], error)
        reached[few] = np.maximum(reached[few], exact)
    return reached
