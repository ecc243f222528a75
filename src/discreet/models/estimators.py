"""Population uniques: estimates from the equivalence-class sizes of a sample.

A histogram says of each class size how many classes of the sample have it. As in Dankar, El Emam, Neisa and Roffey
(2012), "Estimating the re-identification risk of clinical data sets".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

Histogram = Mapping[int, int]
"""Number of equivalence classes of each size."""

_SMALL_SAMPLE = 0.1
"""Sampling fraction up to which Pitman's estimator is preferred."""
_ROUNDS = 60
"""Number of bisection steps."""
_DEVIATIONS = 4
"""Largest deviation of a class count from its fit, standard deviations."""
_DISAGREE = 2
"""Ratio of two estimates above which they disagree."""


def zayatz(sizes: Histogram, people: int) -> float:
    """Zayatz's estimator (1991), by the probability that a sample unique is a population unique (Bayes's rule).

    The share of classes of each size in the population is taken to be as in the sample; how many rows of a class of the
    population are in the sample follows a hypergeometric distribution.
    """
    unique, rows = sizes.get(1, 0), _rows(sizes)
    if not unique:
        return 0.0
    alone = sum(many * _one_drawn(size, rows, people) for size, many in sizes.items())
    return unique * unique * _one_drawn(1, rows, people) / alone * people / rows


def pitman(sizes: Histogram, people: int) -> float:
    """Estimate by Pitman's sampling formula, fitted by maximum likelihood (Hoshino 2001).

    The expected number of uniques is N (θ + α)…(θ + α + N - 2) / (θ + 1)…(θ + N - 1), of which Hoshino gives the limit
    Γ(θ + 1) / Γ(θ + α) N^α; the exact value never exceeds N.
    """
    unique, rows, classes = sizes.get(1, 0), _rows(sizes), sum(sizes.values())
    if not unique or rows == people:
        return float(unique)
    if classes == rows:
        return float(people)  # no one shares a class: θ grows without bound
    return _expected(1, people, *_pitman_law(_frozen(sizes)))


def pitman_fits(sizes: Histogram) -> bool:
    """Whether Pitman's distribution, fitted to a sample, reproduces its numbers of classes of one to five rows.

    About: within four standard deviations of a Poisson variable. Where it is not so, the population is of another kind,
    such as a tenth of unique people among large classes, and the fitted distribution says nothing about it.
    """
    rows, classes = _rows(sizes), sum(sizes.values())
    if not sizes.get(1) or classes == rows:
        return True
    law = _pitman_law(_frozen(sizes))
    seen = ((sizes.get(size, 0), _expected(size, rows, *law)) for size in range(1, 6) if size <= rows)
    return all(abs(many - expected) <= _DEVIATIONS * math.sqrt(max(expected, 1)) for many, expected in seen)


def slide_negative_binomial(sizes: Histogram, people: int) -> float:
    """Slide negative binomial (SNB) estimate: class sizes less one are NB (Chen and Keller-McNulty 1998).

    The number K of classes is estimated by Shlosser's method as modified by Haas and Stokes (1998); the distribution's
    two parameters by equating the expected numbers of unique rows and of pairs in the sample with those there are. NaN,
    if no parameters do.
    """
    unique, pairs, drawn = sizes.get(1, 0), sizes.get(2, 0), _rows(sizes) / people
    if not unique or drawn >= 1:
        return float(unique)
    if not pairs:
        return math.nan
    classes = _classes_of_population(sizes, drawn)

    def over(b: float) -> float:
        """Expected minus observed number of sample uniques, with the parameter that fits the pairs."""
        a, x = _shape(b, drawn, pairs / unique), (1 - drawn) * (1 - b)
        return classes * drawn * math.pow(b / (1 - x), a) * (a * x / (1 - x) + 1) - unique

    grid = [step / 1000 for step in range(1, 1000)]
    for low, high in pairwise(grid):
        if over(low) < 0 <= over(high):
            root = _falling_root(lambda b: -over(b), low, high)
            return classes * math.pow(root, _shape(root, drawn, pairs / unique))
    return math.nan


def dankar(sizes: Histogram, people: int) -> float:
    """Decision rule of Dankar and others (2012): Pitman for samples of up to 10 %, else the smaller of Zayatz and SNB.

    It jumps at a tenth, where the one estimate gives way to the others: by a factor of two or three, where the
    distributions behind them do not fit.
    """
    if _rows(sizes) <= _SMALL_SAMPLE * people:
        return pitman(sizes, people)
    slide = slide_negative_binomial(sizes, people)
    other = zayatz(sizes, people)
    return other if math.isnan(slide) else min(slide, other)


ESTIMATORS: dict[str, Callable[[Histogram, int], float]] = {
    "dankar": dankar,
    "pitman": pitman,
    "zayatz": zayatz,
    "snb": slide_negative_binomial,
}


@dataclass(frozen=True)
class Estimates:
    """Estimated shares of population uniques, by every estimator, from one sample."""

    shares: Mapping[str, float]
    """Estimated share by estimator; one that finds no parameters is left out."""
    alone: float
    """Share of sample uniques among the rows.

    On average no smaller share of the people is unique, whatever the population is like: anyone who is unique in it is
    unique in every sample that they are in.
    """
    unfit: tuple[str, ...]
    """Estimators whose distribution does not fit the sample."""

    @property
    def largest(self) -> float:
        """The largest estimate; at least the share of sample uniques where a distribution does not fit."""
        return max(*self.shares.values(), self.alone if self.unfit else 0.0)

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest estimate."""
        return min(self.shares.values()), max(self.shares.values())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to doubt the estimates, as full sentences."""
        low, high = self.range
        said = []
        if self.unfit:
            said.append(
                f"The rows do not fit the model behind {' and '.join(self.unfit)}: estimates may be far too low."
            )
        if high > _DISAGREE * low:
            said.append(f"The estimators disagree: {low:.3g} to {high:.3g}.")
        return tuple(said)


def estimates(sizes: Histogram, people: int) -> Estimates:
    """Estimates by every estimator, for a population of ``people``."""
    said = {name: min(estimate(sizes, people) / people, 1.0) for name, estimate in ESTIMATORS.items()}
    rows = _rows(sizes)
    unfit = [name for name, share in said.items() if math.isnan(share)]
    if rows < people and not pitman_fits(sizes):
        unfit.insert(0, "pitman")
    shares = {name: share for name, share in said.items() if not math.isnan(share)}
    return Estimates(shares, sizes.get(1, 0) / rows if rows else 0.0, tuple(unfit))


def digamma(x: float) -> float:
    """The logarithmic derivative of the gamma function, for x > 0."""
    below = 0.0
    while x < 10:
        below += 1 / x
        x += 1
    y = 1 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))
    return math.log(x) - 0.5 / x - series - below


def _rows(sizes: Histogram) -> int:
    return sum(size * many for size, many in sizes.items())


def _one_drawn(size: int, rows: int, people: int) -> float:
    """Probability that exactly one member of a population class is among ``rows`` drawn of ``people``."""
    chance = size * rows / people
    for other in range(size - 1):
        chance *= max(people - rows - other, 0) / (people - 1 - other)
        if chance < 1e-300:
            return 0.0
    return chance


def _frozen(sizes: Histogram) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(sizes.items()))


@lru_cache(maxsize=64)
def _pitman_law(sizes: tuple[tuple[int, int], ...]) -> tuple[float, float]:
    """Maximum-likelihood α and θ of Pitman's formula; some rows share a class, and some do not."""
    rows, classes = sum(size * many for size, many in sizes), sum(many for _, many in sizes)

    def slope(alpha: float) -> float:
        """Of the likelihood, along alpha, at the best theta for it."""
        theta = _theta(alpha, rows, classes)
        drawn = sum(many * (digamma(size - alpha) - digamma(1 - alpha)) for size, many in sizes if size > 1)
        return (classes - 1 - theta * _harmonic(alpha, theta, classes)) / alpha - drawn

    alpha = _falling_root(slope, 1e-4, 1 - 1e-9)
    return alpha, _theta(alpha, rows, classes)


def _expected(size: int, people: int, alpha: float, theta: float) -> float:
    """Expected number of classes of a size among ``people``, by Pitman's formula."""
    ways = math.lgamma(people + 1) - math.lgamma(size + 1) - math.lgamma(people - size + 1)
    within = math.lgamma(size - alpha) - math.lgamma(1 - alpha)
    grown = math.lgamma(theta + alpha + people - size) - math.lgamma(theta + people)
    return math.exp(ways + within + grown + math.lgamma(theta + 1) - math.lgamma(theta + alpha))


def _harmonic(alpha: float, theta: float, count: int) -> float:
    """The sum of 1 / (θ + iα) for i from 1 to below ``count``."""
    start = theta / alpha
    return (digamma(start + count) - digamma(start + 1)) / alpha


def _theta(alpha: float, rows: int, classes: int) -> float:
    """Maximum-likelihood θ for an α: where the two sums of Pitman's formula have the same derivative."""

    def slope(theta: float) -> float:
        return _harmonic(alpha, theta, classes) - _harmonic(1, theta, rows)

    high = 1.0
    while slope(high) > 0 and high < 1e15:
        high *= 4
    return _falling_root(slope, -alpha * (1 - 1e-9), high)


def _falling_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Root of a function that is positive at ``low`` and negative at ``high``; the nearer end if there is none."""
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _classes_of_population(sizes: Histogram, drawn: float) -> float:
    """Number of classes in the population, by Haas and Stokes's modification (1998) of Shlosser's estimator."""
    left, twice = 1 - drawn, 1 - drawn * drawn
    unseen = sum(many * left**size for size, many in sizes.items())
    alone = sum(many * size * drawn * left ** (size - 1) for size, many in sizes.items())
    again = sum(many * size * drawn * drawn * twice ** (size - 1) for size, many in sizes.items())
    once = sum(many * (twice**size - left**size) for size, many in sizes.items())
    return sum(sizes.values()) + sizes.get(1, 0) * again / once * (unseen / alone) ** 2


def _shape(b: float, drawn: float, ratio: float) -> float:
    """First parameter of the negative binomial distribution, given the second and the ratio of pairs to uniques."""
    x = (1 - drawn) * (1 - b)
    bound = ratio * 2 * (1 - x) / (drawn * (1 - b))
    half = 2 - x - bound * x
    return (math.sqrt(half * half + 4 * x * bound * (1 - x)) - half) / (2 * x)
