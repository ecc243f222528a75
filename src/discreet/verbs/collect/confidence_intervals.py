"""Confidence intervals of counts and shares: score intervals, exact binomial tails and Chernoff bounds.

**Score intervals (Wilson 1927).** A true figure that is x away from the estimate is refuted where x² > z²
variance(estimate + x). To take the variance at the estimate instead is wrong where it is small: with a large ε, or few
people, no one may have reported a rare value, and its variance then seems to be 0 though people have it. Where few
reports decide, the normal approximation itself is not near enough, and exact tails are taken.

**Exact binomial tails.** A number of supporting reports is a sum of independent coins. Where its variance is small (a
large ε, rare values) it takes a few whole numbers only, and the normal approximation is wrong by as much as the error
that is allowed. Two tests are exact there, each with half of the error to either side (Clopper and Pearson 1934):

* ``exact_count_error_bound``: of n people, c flip a coin of probability p and the others one of probability q. The sum
  of two binomial numbers has a tail that is added up; it moves one way with c, so the c that are not refuted lie
  between two.
* ``exact_share_error_bound``: the coins' probabilities are not known, their mean is asked for. Of all coins with that
  mean, equal ones have the heaviest tails, from one report beyond the mean on (Hoeffding 1956, Theorem 4), and nearer
  to it no test refutes anything whose error is below one half: so the interval of equal coins holds for all. Coins that
  a fair sample of people flips, drawn without repeats, are such coins: the generating function of their sum has real
  roots only (Vatutin and Mikhailov 1982), which is to say that it is that of independent ones.

Bars are never narrower than by the normal approximation.

**Chernoff–Hoeffding bounds (Hoeffding 1963, Theorem 1).** n coins of mean probability p have a share of heads as far
from p as s, on the same side, with probability at most e**-(n KL(s, p)).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import exp, lgamma, log, log1p, sqrt
from statistics import NormalDist

import numpy as np

from discreet.verbs.collect.domain import Counts, Floats

MIN_NORMAL_VARIANCE = 25.0
"""Smallest variance, in reports squared, at which the normal approximation is used, with a term for skewness."""
_TAIL_DEVIATIONS = 12
"""Width of the sums, standard deviations, plus as many reports: a tail beyond it is below 1e-16."""


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
    few, coins = n * share * (1 - share) < MIN_NORMAL_VARIANCE, np.broadcast_to(n, share.shape)
    if few.any():
        exact = exact_share_error_bound(np.rint(share * n).astype(np.int64)[few], coins[few], error)
        reached[few] = np.maximum(reached[few], exact)
    return reached


def count_error_bound(
    error: float, supports: Counts, n: int, probabilities: tuple[Floats, Floats], variances: Floats
) -> Floats:
    """Largest error of each estimated number of people, of n, by the number of reports that support each value.

    ``variances`` are those at the estimate, which may have more in them than the coins. What lies (z² - 1) / 6 of the
    skewness farther off is added, as the normal distribution has none (Cornish and Fisher 1938): a sum of coins has a
    third moment of at most its variance times 1 - 2 p or 1 - 2 q, whichever is farther from 0.
    """
    own, other = probabilities
    z, rise = normal_quantile(error), own - other
    own_noise, noise = own * (1 - own), other * (1 - other)
    skewed = np.maximum(np.abs(1 - 2 * own), np.abs(1 - 2 * other)) * max(z**2 - 1, 0) / 6 / rise
    reached = score_bound(z, variances, (own_noise - noise) / rise**2) + skewed
    people = np.clip((supports - n * other) / rise, 0, n)
    few = people * own_noise + (n - people) * noise < MIN_NORMAL_VARIANCE
    if few.any():
        exact = exact_count_error_bound(supports[few], n, own[few], other[few], error)
        reached[few] = np.maximum(reached[few], exact)
    return reached


def exact_count_error_bound(supports: Counts, n: int, own: Floats, other: Floats, error: float) -> Floats:
    """Largest error of each estimated number of people, by the number of reports that supported it."""
    result = np.zeros(len(supports))
    for index, (heads, p, q) in enumerate(zip(supports, own, other, strict=True)):
        result[index] = _people(int(heads), n, float(p), float(q), error / 2)
    return result


def exact_share_error_bound(heads: Counts, n: Counts | int, error: float) -> Floats:
    """Largest distance of the mean probability of n coins from their share of heads."""
    pairs = zip(heads.tolist(), np.broadcast_to(n, heads.shape).tolist(), strict=True)
    return np.array([_coins(each, of, error / 2) for each, of in pairs])


@lru_cache(maxsize=1 << 14)
def _people(heads: int, n: int, p: float, q: float, error: float) -> float:
    """Distance to the farther end of the numbers of people that are not refuted."""
    estimate = (heads - n * q) / (p - q)
    most = _last(lambda c: _at_most(heads, n, c, p, q) > error, 0, n)
    fewest = n - _last(lambda c: 1 - _at_most(heads - 1, n, n - c, p, q) > error, 0, n)
    return max(most - estimate, estimate - fewest, 0.0)


@lru_cache(maxsize=1 << 14)
def _coins(heads: int, n: int, error: float) -> float:
    """Distance to the farther end of the probabilities that are not refuted: the upper one, of the rarer side.

    Fewer heads than these are as many times less likely each as a quotient says that depends on the probability by one
    factor.
    """
    seen = min(heads, n - heads)
    down = np.arange(seen, max(0, seen - _TAIL_DEVIATIONS * (1 + int(sqrt(seen)))), -1)
    terms, steps = np.cumprod(np.concatenate([[1.0], down / (n - down + 1)])), np.arange(down.size + 1)
    ways, low, high = lgamma(n + 1) - lgamma(seen + 1) - lgamma(n - seen + 1), seen / n, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        here = exp(ways + seen * log(middle) + (n - seen) * log1p(-middle))
        plausible = here * float(terms @ ((1 - middle) / middle) ** steps) > error
        low, high = (middle, high) if plausible else (low, middle)
    return high - seen / n


def _last(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Bisection for the last number that satisfies a monotone condition; the first number if none does."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _at_most(heads: int, n: int, c: int, p: float, q: float) -> float:
    """Probability of at most ``heads`` heads among c coins of probability p and n - c of probability q."""
    first, mine = _binomial(c, p)
    other, theirs = _binomial(n - c, q)
    below = np.concatenate([[0.0], np.cumsum(theirs)])
    left = np.clip(heads - first - np.arange(mine.size) - other + 1, 0, theirs.size)
    return float(mine @ below[left])


@lru_cache(maxsize=1 << 12)
def _binomial(n: int, probability: float) -> tuple[int, Floats]:
    """Binomial probabilities from the first number that counts, each by its quotient to the likeliest."""
    if n == 0 or probability <= 0 or probability >= 1:
        return (n if probability >= 1 else 0), np.ones(1)
    top = min(int((n + 1) * probability), n)
    wide = _TAIL_DEVIATIONS + int(_TAIL_DEVIATIONS * sqrt(n * probability * (1 - probability)))
    low, high = max(0, top - wide), min(n, top + wide)
    up, down = np.arange(top, high), np.arange(top, low, -1)
    odds = probability / (1 - probability)
    above, below = np.cumprod((n - up) / (up + 1) * odds), np.cumprod(down / (n - down + 1) / odds)
    probabilities = np.concatenate([below[::-1], [1.0], above])
    return low, probabilities / probabilities.sum()


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
