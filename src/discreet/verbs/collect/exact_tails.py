"""How far a figure may be from the truth where few reports decide: exact tails, since the normal law is not near there.

A number of supporting reports is a sum of independent coins. Where its variance is small (a large ε, rare values) it
takes a few whole numbers only, and the normal law is wrong by as much as the error that is allowed. Two tests are exact
there, each with half of the error to either side (Clopper and Pearson 1934):

* ``reach_of_people``: of n people, c flip a coin of chance p and the others one of chance q. The sum of two binomial
  numbers has a tail that is added up; it moves one way with c, so the c that are not refuted lie between two.
* ``reach_of_coins``: the coins' chances are not known, their mean is asked for. Of all coins with that mean, equal ones
  have the heaviest tails, from one report beyond the mean on (Hoeffding 1956, Theorem 4), and nearer to it no test
  refutes anything whose error is below one half: so the interval of equal coins holds for all. Coins that a fair sample
  of people flips, drawn without repeats, are such coins: the generating function of their sum has real roots only
  (Vatutin and Mikhailov 1982), which is to say that it is that of independent ones.

Bars are never narrower than by the normal law.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import exp, lgamma, log, log1p, sqrt

import numpy as np

from discreet.verbs.collect.domain import Counts, Floats

NORMAL_LAW_VARIANCE = 25.0
"""From so large a variance on, in reports squared, the normal law will do, with what is added for skewness."""
_DEVIATIONS = 12
"""Beyond so many deviations and as many reports more, a binomial tail is below 1e-16."""


def exact_count_error_bound(supports: Counts, n: int, own: Floats, other: Floats, error: float) -> Floats:
    """How far each estimated number of people is off at most, given by how many reports supported it."""
    result = np.zeros(len(supports))
    for index, (heads, p, q) in enumerate(zip(supports, own, other, strict=True)):
        result[index] = _people(int(heads), n, float(p), float(q), error / 2)
    return result


def exact_share_error_bound(heads: Counts, n: Counts | int, error: float) -> Floats:
    """How far the mean chance of n coins, so many of which fell heads, is from their share at most."""
    pairs = zip(heads.tolist(), np.broadcast_to(n, heads.shape).tolist(), strict=True)
    return np.array([_coins(each, of, error / 2) for each, of in pairs])


@lru_cache(maxsize=1 << 14)
def _people(heads: int, n: int, p: float, q: float, error: float) -> float:
    """The farther end of the numbers of people that are not refuted."""
    estimate = (heads - n * q) / (p - q)
    most = _last(lambda c: _at_most(heads, n, c, p, q) > error, 0, n)
    fewest = n - _last(lambda c: 1 - _at_most(heads - 1, n, n - c, p, q) > error, 0, n)
    return max(most - estimate, estimate - fewest, 0.0)


@lru_cache(maxsize=1 << 14)
def _coins(heads: int, n: int, error: float) -> float:
    """The farther end of the chances that are not refuted: the upper one, of heads or of tails, whichever are fewer.

    Fewer heads than these are as many times less likely each as a quotient says that hangs on the chance by one factor.
    """
    seen = min(heads, n - heads)
    down = np.arange(seen, max(0, seen - _DEVIATIONS * (1 + int(sqrt(seen)))), -1)
    terms, steps = np.cumprod(np.concatenate([[1.0], down / (n - down + 1)])), np.arange(down.size + 1)
    ways, low, high = lgamma(n + 1) - lgamma(seen + 1) - lgamma(n - seen + 1), seen / n, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        here = exp(ways + seen * log(middle) + (n - seen) * log1p(-middle))
        held = here * float(terms @ ((1 - middle) / middle) ** steps) > error
        low, high = (middle, high) if held else (low, middle)
    return high - seen / n


def _last(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The last number for which something holds that holds up to there; the first if it never does."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _at_most(heads: int, n: int, c: int, p: float, q: float) -> float:
    """The chance that c coins of chance p and n - c of chance q have so many heads or fewer."""
    first, mine = _binomial(c, p)
    other, theirs = _binomial(n - c, q)
    below = np.concatenate([[0.0], np.cumsum(theirs)])
    left = np.clip(heads - first - np.arange(mine.size) - other + 1, 0, theirs.size)
    return float(mine @ below[left])


@lru_cache(maxsize=1 << 12)
def _binomial(n: int, probability: float) -> tuple[int, Floats]:
    """The chances of heads of n coins, from the first number on that counts: each by its quotient to the likeliest."""
    if n == 0 or probability <= 0 or probability >= 1:
        return (n if probability >= 1 else 0), np.ones(1)
    top = min(int((n + 1) * probability), n)
    wide = _DEVIATIONS + int(_DEVIATIONS * sqrt(n * probability * (1 - probability)))
    low, high = max(0, top - wide), min(n, top + wide)
    up, down = np.arange(top, high), np.arange(top, low, -1)
    odds = probability / (1 - probability)
    above, below = np.cumprod((n - up) / (up + 1) * odds), np.cumprod(down / (n - down + 1) / odds)
    probabilities = np.concatenate([below[::-1], [1.0], above])
    return low, probabilities / probabilities.sum()
