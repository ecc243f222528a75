"""What an auditor sees who only watches answers: never more than the claimed loss, unless noise is 1.25 × too small.

Each mechanism runs on two neighbouring inputs, x = 0 and x = 1. From how often an event happens on each, Clopper and
Pearson's intervals give a lower bound on the loss that is wrong once in a thousand million times.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import betaincinv
from tests.noise.bits import Repeatable

from discreet.core.loss import Pure
from discreet.noise.entropy import Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.selection import Exponential, PermuteAndFlip
from discreet.noise.sparse_vector import SparseVector

FALSE_ALARM = 1e-9
AS_CLAIMED, TOO_SMALL = Fraction(1), Fraction(4, 5)


@dataclass(frozen=True)
class Case:
    """What is claimed, and whether the telling event happens on x, when the noise is ``part`` of what it should be."""

    name: str
    claim: Pure
    happens: Callable[[Fraction, int, Entropy], bool]
    runs: int = 20_000


def sparse(part: Fraction) -> SparseVector:
    return SparseVector(Fraction(1, 4) / part, 2 / part)


def told(session: SparseVector, x: int, entropy: Entropy) -> bool:
    """Below, below, then above: the figures told as below fall by one, the other rises by one."""
    started = session.start(0, entropy)
    return not started.above(2 - x) and not started.above(2 - x) and started.above(-1 + x)


CASES = [
    Case("Laplace", DiscreteLaplace("1/2").loss(), lambda k, x, e: DiscreteLaplace(k / 2).add(x, e) <= 0),
    Case(
        "exponential",
        Exponential(1).loss(1),
        lambda k, x, e: Exponential(k).choose((x, *[1 - x] * 20), e) == 0,
        runs=100_000,
    ),
    Case("permute", PermuteAndFlip(1).loss(1), lambda k, x, e: PermuteAndFlip(k).choose((2 - x, x), e) == 1),
]


def loss_at_least(case: Case, part: Fraction) -> float:
    """A lower bound on the loss, from runs on both neighbours, the likelier one first."""
    entropy = Repeatable(1)
    few, many = sorted(sum(case.happens(part, x, entropy) for _ in range(case.runs)) for x in (0, 1))
    least = betaincinv(many, case.runs - many + 1, FALSE_ALARM / 2)
    most = betaincinv(few + 1, case.runs - few, 1 - FALSE_ALARM / 2)
    return math.log(least / most)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_loss_seen_is_within_the_claim(case: Case) -> None:
    seen = loss_at_least(case, AS_CLAIMED)
    assert 0.5 * float(case.claim.epsilon) < seen <= float(case.claim.epsilon)


@pytest.mark.slow  # that the check above would notice hangs on the check alone
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_noise_that_is_too_small_is_caught(case: Case) -> None:
    assert loss_at_least(case, TOO_SMALL) > float(case.claim.epsilon)


def test_sparse_vector_is_within_its_claim() -> None:
    """Its worst events are too rare to be seen here; tests/noise/test_sparse_vector.py has them by calculation."""
    case = Case("sparse vector", sparse(AS_CLAIMED).loss(), lambda k, x, e: told(sparse(k), x, e))
    assert 0 < loss_at_least(case, AS_CLAIMED) <= float(case.claim.epsilon)


def divergence_at_least(noise: DiscreteGaussian, shift: int) -> float:
    """A lower bound on the divergence of order 1, which is at most ρ, from twenty intervals of answers."""
    runs, bins = 400_000, 20
    zero, one = (noise.add_all(np.full(runs, shift * x), Repeatable(2 + x)) for x in (0, 1))
    edges = np.quantile(zero, np.linspace(0, 1, bins + 1)[1:-1])
    alarm = FALSE_ALARM / (2 * bins)
    total = 0.0
    for i in range(bins):
        a, b = (int((np.searchsorted(edges, side) == i).sum()) for side in (zero, one))
        least = betaincinv(a, runs - a + 1, alarm)
        most_a, most_b = (betaincinv(count + 1, runs - count, 1 - alarm) for count in (a, b))
        ratio = math.log(least / most_b)
        total += least * ratio if ratio > 0 else most_a * ratio
    return total


def test_the_gaussian_is_within_its_claim_and_noise_that_is_too_small_is_caught() -> None:
    noise, shift = DiscreteGaussian(100), 20
    claim = float(noise.loss(shift).rho)
    assert 0.5 * claim < divergence_at_least(noise, shift) <= claim
    assert divergence_at_least(DiscreteGaussian(100 * TOO_SMALL**2), shift) > claim
