"""Shuffled reports: the bound against brute force, against what coin flips really lose, and against known figures."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from discreet.errors import BadInput
from discreet.verbs.collect.shuffling import amplify_by_shuffling, clone_distribution, delta_at


def brute(local: float, people: int, epsilon: float) -> float:
    """δ by its definition, over every pair of numbers that can be seen."""
    w, r = math.exp(local) / (math.exp(local) + 1), math.exp(-local)
    delta = 0.0
    for c in range(people):
        clone = math.comb(people - 1, c) * r**c * (1 - r) ** (people - 1 - c)
        for a in range(c + 2):
            heads = [math.comb(c, k) / 2**c if 0 <= k <= c else 0.0 for k in (a - 1, a)]
            one, other = w * heads[0] + (1 - w) * heads[1], (1 - w) * heads[0] + w * heads[1]
            delta += clone * max(one - math.exp(epsilon) * other, 0)
    return delta


def coins(local: float, people: int, epsilon: float) -> float:
    """δ of shuffled coin flips, where all the others say 0: what can really be told of how many said 1."""
    p = math.exp(local) / (math.exp(local) + 1)
    others = [math.comb(people - 1, k) * (1 - p) ** k * p ** (people - 1 - k) for k in range(people)]
    delta = 0.0
    for k in range(people + 1):
        low, high = others[k - 1] if k else 0.0, others[k] if k < people else 0.0
        one, zero = p * low + (1 - p) * high, (1 - p) * low + p * high
        delta += max(one - math.exp(epsilon) * zero, 0)
    return delta


@pytest.mark.parametrize("local", [0.1, 1, 3, 8])
@pytest.mark.parametrize("people", [1, 2, 3, 40, 120])
def test_delta_is_that_of_the_definition(local: float, people: int) -> None:
    distribution = clone_distribution(local, people, 1e-15)
    for share in (0, 0.05, 0.3, 0.8, 0.999):
        true = brute(local, people, share * local)
        result = delta_at(local, share * local, *distribution)
        assert true * (1 - 1e-12) <= result <= true * (1 + 1e-4) + 3e-15


@pytest.mark.parametrize(("local", "people"), [(8.0, 3), (20.0, 5)])
def test_next_to_the_local_loss_nothing_cancels(local: float, people: int) -> None:
    """One other clone at most matters there: δ is that of nobody else, by a series that does not cancel."""
    for gap in (1e-6, 1e-8, 2e-9):
        exact = -math.expm1((local - gap) - local) * math.exp(local) / (math.exp(local) + 1)
        alone = exact * (1 - math.exp(-local)) ** (people - 1)
        assert (
            alone * (1 - 1e-7)
            <= delta_at(local, local - gap, *clone_distribution(local, people, 1e-25))
            <= exact * 1.01
        )


@pytest.mark.parametrize("local", [0.5, 1.0986, 3])
@pytest.mark.parametrize("people", [10, 500])
def test_coin_flips_lose_no_more(local: float, people: int) -> None:
    for delta in (1e-3, 1e-6):
        loss = amplify_by_shuffling(local, people, delta)
        assert coins(local, people, float(loss.epsilon)) <= delta


def by_library(local: float, people: int, epsilon: float, tried: range) -> float:
    """δ as a sum over the number of clones, with binomial tails of SciPy's: another program for the same pair.

    Given C, A + Δ is at least a threshold with a chance of w P(A >= t - 1) + (1 - w) P(A >= t) for the one answer and
    the reverse for the other. All thresholds so far above the middle are tried, and the best must lie between them.
    Neighbouring C differ by so little that every 29th stands for as many.
    """
    w, spread, step = math.exp(local) / (math.exp(local) + 1), binom(people - 1, math.exp(-local)), 29
    number = np.arange(spread.ppf(1e-14), spread.isf(1e-14) + 1, step)
    best, at = np.zeros(number.size), np.zeros(number.size)
    for above in tried:
        first = np.floor((number + 1) / 2) + above
        one, other = binom.sf(first - 2, number, 0.5), binom.sf(first - 1, number, 0.5)
        gain = w * one + (1 - w) * other - math.exp(epsilon) * ((1 - w) * one + w * other)
        best, at = np.maximum(best, gain), np.where(gain > best, above, at)
    assert tried[0] < at.min() <= at.max() < tried[-1]
    return step * float(spread.pmf(number) @ best)


def test_a_million_people_by_another_program() -> None:
    people, delta = 10**6, 1e-6
    epsilon = float(amplify_by_shuffling(1, people, delta).epsilon)
    assert epsilon == pytest.approx(0.0043345, abs=1e-7)
    assert (1 - 1e-4) * delta < by_library(1, people, epsilon, range(830, 900)) <= delta
    assert by_library(1, people, 0.95 * epsilon, range(780, 860)) > 1.5 * delta


@pytest.mark.parametrize(("local", "anchor", "formula"), [(1, 0.0046, 0.0238), (math.log(3), 0.0052, 0.0270)])
def test_a_million_people(local: float, anchor: float, formula: float) -> None:
    """Known figures: the closed form (there without its logarithm), and a numerical bound that ours is 4 to 6 % below.

    That is no error on our side: ``brute`` has the definition, and ``by_library`` the same for a million.
    """
    people, delta = 10**6, 1e-6
    closed = math.log1p(
        math.expm1(local)
        / (math.exp(local) + 1)
        * (8 * math.sqrt(math.exp(local) * math.log(4 / delta) / people) + 8 * math.exp(local) / people)
    )
    assert math.expm1(closed) == pytest.approx(formula, abs=6e-5)
    result = float(amplify_by_shuffling(local, people, delta).epsilon)
    assert 0.93 * anchor < result < anchor < closed


def test_it_is_rounded_up_and_the_least_that_is_found() -> None:
    loss = amplify_by_shuffling(1, 10**4, "1e-6")
    distribution = clone_distribution(1, 10**4, 1e-12)
    assert loss.delta == Fraction(1, 10**6)
    assert delta_at(1, float(loss.epsilon), *distribution) <= 1e-6
    assert delta_at(1, float(loss.epsilon) - 3e-9, *distribution) > 1e-6


def test_more_people_hide_better_and_nobody_is_ever_worse_off() -> None:
    losses = [
        amplify_by_shuffling(2, people, 1e-6).epsilon for people in (1, 2, 10, 10**3, 10**5, 10**7, 10**9, 10**15)
    ]
    assert losses == sorted(losses, reverse=True)
    assert 1.99 < losses[0] <= 2
    assert losses[-1] == losses[-2] < Fraction(1, 1000)
    assert 19.99 < amplify_by_shuffling(20, 1000, 1e-6).epsilon <= 20


@pytest.mark.parametrize(("people", "delta"), [(0, 1e-6), (10, 0), (10, 1)])
def test_what_makes_no_sense_is_refused(people: int, delta: float) -> None:
    with pytest.raises(BadInput):
        amplify_by_shuffling(1, people, delta)
