"""Privacy amplification by shuffling: reports lose much less when no one knows whose is whose.

Why this is right (Feldman, McMillan, Talwar 2021, "Hiding among the clones"). Take two answers of one person. A report
that is ε-private can be written for them as a mixture of two distributions Q and R: for the one answer Q with a weight
of w = e**ε / (e**ε + 1) and R with 1 - w, for the other the reverse. Whatever another person answers, each report is at
least e**-ε times as likely as for either answer, so that with probability e**-ε theirs is drawn of (Q + R) / 2: a
*clone*. Of n - 1 others, C are clones, C being binomial, and A of these are of Q, a fair coin each. To tell the two
answers apart from shuffled reports is no easier than to tell

    (A + Δ, C - A + 1 - Δ)  from  (A + 1 - Δ, C - A + Δ),        Δ = 1 with probability w.

Given C, the likelihood ratio grows with the first number, so the best test is a threshold, and δ for an ε' is a sum
over C of two binomial tails. It is worked out here to floating-point precision, with what that may be off by added:
probabilities of C outside a range are bounded by Chernoff and count in full. ε' is then the least that is found,
rounded up.

For ε = 1, a million people and δ = 10**-6 this gives 0.00433, where 0.0046 is reported elsewhere; how that was worked
out is not known to us. Ours is sound for this pair: its δ is that of the definition where all cases can be gone
through, and for a million people another program, which adds up library tails and tries the thresholds one by one,
finds 0.99998 * 10**-6 at it (the tests have both). The bound of 2023, with more clones, is smaller still, and is not
here: its proof does not follow from the argument above.

``people`` is the number of those whose reports are really random and really shuffled: anyone who works with the
collector or makes reports up hides no one and must not be counted.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, expm1, lgamma, log, log1p, pi, sqrt
from typing import Any

import numpy as np

from discreet.core.compiled import njit
from discreet.core.exact import Number, exact
from discreet.core.loss import Approximate
from discreet.errors import BadInput
from discreet.verbs.collect.confidence_intervals import kl_divergence
from discreet.verbs.collect.domain import Floats
from discreet.verbs.collect.report_distribution import require_epsilon

_MAX_PEOPLE = 10**9
"""Largest number of people that is computed with; more hide each other no worse."""
_TAIL_ERROR = 1e-8
"""Relative error that is added to tails: ten times that of a million steps of a few roundings each."""
_EPSILON_STEP = Fraction(1, 2**30)
"""Step of the search for the amplified epsilon."""


def amplify_by_shuffling(epsilon: Number, people: int, delta: Number) -> Approximate:
    """Loss of one person in the shuffled reports of many, each of which alone loses ``epsilon``."""
    local, small = require_epsilon(epsilon), exact(delta, "delta")
    if not 0 < small < 1:
        raise BadInput(f"delta must be between 0 and 1, got {delta}.", hint="Well below one over the number of people.")
    if people < 1:
        raise BadInput(f"The number of people must be at least 1, not {people}.")
    aim = float(small) * (1 - 1e-12)
    low, high = 0, int(local / _EPSILON_STEP)  # ε itself needs no shuffling
    distribution = clone_distribution(float(local), min(people, _MAX_PEOPLE), aim / 1e6)
    while low < high:
        middle = (low + high) // 2
        if delta_at(float(local), float(middle * _EPSILON_STEP), *distribution) <= aim:
            high = middle
        else:
            low = middle + 1
    return Approximate(min(high * _EPSILON_STEP, local), small)


def clone_distribution(local: float, people: int, spare: float) -> tuple[int, Floats, float]:
    """Distribution of the number of clones: first number, probabilities, and a bound on the rest."""
    others, probability = people - 1, exp(-local) * (1 - 1e-12)
    mean = others * probability
    low = _edge(others, probability, 0, int(mean), spare)
    high = _edge(others, probability, others, min(int(mean) + 1, others), spare)
    numbers = np.arange(low, high + 1, dtype=np.float64)
    return low, _binomial(numbers, float(others), probability), 2 * spare


def delta_at(local: float, epsilon: float, low: int, probabilities: Floats, others: float) -> float:
    """Upper bound of δ at an ε'."""
    other = 1 / (exp(local) + 1)  # 1 - w; the differences below would cancel where ε is large or ε' next to it
    lean = expm1(local + epsilon) / (expm1(local) * (1 + exp(epsilon)))
    response_rates, costs = other * exp(epsilon) * expm1(local - epsilon), other * expm1(local + epsilon)
    return float(_sum(lean, response_rates, costs, low, probabilities)) + others


def _edge(trials: int, probability: float, far: int, near: int, spare: float) -> int:
    """Number nearest to the mean, on one side, beyond which the probability is at most ``spare`` (Chernoff)."""
    if trials * kl_divergence(far / trials if trials else 0.0, probability) <= -log(spare):
        return far
    while abs(far - near) > 1:
        middle = (far + near) // 2
        if trials * kl_divergence(middle / trials, probability) > -log(spare):
            far = middle
        else:
            near = middle
    return far


@njit(cache=True)
def _binomial(numbers: Any, trials: float, probability: float) -> Any:
    """Binomial probabilities to a part in 10**13 or so, by Loader's saddle points, which do not cancel (2000)."""
    result = np.empty(numbers.size)
    for index in range(numbers.size):
        result[index] = _binomial_probability(numbers[index], trials, probability)
    return result


@njit(cache=True)
def _binomial_probability(k: float, n: float, p: float) -> float:
    if k == 0:
        return exp(n * log1p(-p))
    if k == n:
        return exp(n * log(p))
    main = (
        _stirling_error(n)
        - _stirling_error(k)
        - _stirling_error(n - k)
        - _deviance(k, n * p)
        - _deviance(n - k, n * (1 - p))
    )
    return exp(main) * sqrt(n / (2 * pi * k * (n - k)))


@njit(cache=True)
def _stirling_error(n: float) -> float:
    """Difference of ln n! and Stirling's formula."""
    if n < 16:
        return lgamma(n + 1) - (n + 0.5) * log(n) + n - 0.5 * log(2 * pi)
    s = n * n
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / s) / s) / s) / s) / n


@njit(cache=True)
def _deviance(x: float, mean: float) -> float:
    """Deviance x ln(x / mean) + mean - x, without cancelling where they are near."""
    if abs(x - mean) < 0.1 * (x + mean):
        v = (x - mean) / (x + mean)
        total, term, k = (x - mean) * v, 2 * x * v, 1
        while True:
            term *= v * v
            k += 2
            more = total + term / k
            if more == total:
                return total
            total = more
    return x * log(x / mean) + mean - x


@njit(cache=True)
def _sum(lean: float, response_rates: float, costs: float, low: int, probabilities: Any) -> float:
    """Sum over the number c of clones of its probability times max(P - e**ε' Q, 0), and its rounding error.

    That difference is above 0 from c + 1 times ``lean`` heads on, and always if all are heads; there it is
    ``gains`` = w - e**ε' (1 - w) for those of whom the person is one, less ``costs`` = e**ε' w - (1 - w) for those
    of whom not.

    ``tail`` is the probability that c fair coins have ``first`` heads or more, ``point`` that they have one less. From
    one c to the next, and from one threshold to the next, both move by exact steps of one term each; where they have
    become so small that what they are off by would count, they are worked out anew.
    """
    total, c = 0.0, low
    first = min(int(np.floor((c + 1) * lean)), c) + 1
    tail, point = _tail(c, first)
    most = tail + point
    for index in range(probabilities.size):
        wanted = min(int(np.floor((c + 1) * lean)), c) + 1
        while first < wanted:  # one threshold further
            point *= (c - first + 1) / first
            tail = max(tail - point, 0.0)
            first += 1
        if tail + point < most / 16:
            tail, point = _tail(c, first)
            most = 0.0
        most = max(most, tail + point)
        gain, cost = response_rates * (tail + point), costs * tail
        total += probabilities[index] * (gain - cost + _TAIL_ERROR * (gain + cost))
        tail += point / 2  # one coin more
        point *= (c + 1) / (2.0 * (c + 2 - first))
        c += 1
    return total


@njit(cache=True)
def _tail(c: int, first: int) -> Any:
    """Probability of ``first`` heads or more of c fair coins, and of one less."""
    if first - 1 > c:
        return 0.0, 0.0
    point = _binomial_probability(float(first - 1), float(c), 0.5) if c > 0 else 1.0
    tail, term, k = 0.0, point, first
    while k <= c:
        term *= (c - k + 1) / k
        tail += term
        if term <= 1e-18 * tail:
            break
        k += 1
    return tail, point
