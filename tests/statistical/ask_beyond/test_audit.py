"""What an auditor sees who only watches answers: never more than the claimed loss, unless noise is 1.25 × too small.

As in tests/statistical/noise/test_audit.py: Clopper and Pearson's intervals around how often an event happens on two
neighbours give a lower bound on the loss that is wrong once in a thousand million times.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.special import betaincinv
from tests.noise.bits import Repeatable

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.core.loss import Pure
from discreet.noise.continual import TreeCounter
from discreet.noise.entropy import SYSTEM, Entropy, Integers
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.ask.bounds import BoundsSearch
from discreet.verbs.ask.tree import Tree
from discreet.verbs.ask.value import Interval, Value

FALSE_ALARM = 1e-9
RUNS = 8_000
TOO_SMALL = Fraction(4, 5)
LEFT_OUT = 1e-6
ENDS = (Fraction(0), Fraction(1))


@dataclass(frozen=True)
class Case:
    """What is claimed, and whether the telling event happens on x, when the noise is ``part`` of what it should be."""

    name: str
    claim: Pure
    happens: Callable[[Fraction, int, Entropy], bool]


def tree(part: Fraction, x: int, entropy: Entropy) -> bool:
    """Nobody is seen in the first slice."""
    return Tree(3, 3, DiscreteLaplace(part / 2)).measure([x, 4, 4], entropy).count(0, 1) <= 0


def counter(part: Fraction, x: int, entropy: Entropy) -> bool:
    """Nobody is seen after the first step, nor after the second, which is counted anew."""
    made = TreeCounter(3, DiscreteLaplace(part))
    first = made.advance(made.start(), x, entropy)
    return first[1] <= 0 and made.advance(first, 0, entropy)[1] <= 0


CASES = [
    Case("tree", Tree(3, 3, DiscreteLaplace("1/2")).loss(), tree),
    Case("counter", Pure(2), counter),
]


def loss_at_least(case: Case, part: Fraction) -> float:
    """A lower bound on the loss, from runs on both neighbours, the likelier one first."""
    entropy = Repeatable(1)
    few, many = sorted(sum(case.happens(part, x, entropy) for _ in range(RUNS)) for x in (0, 1))
    least = betaincinv(many, RUNS - many + 1, FALSE_ALARM / 2)
    most = betaincinv(few + 1, RUNS - few, 1 - FALSE_ALARM / 2)
    return math.log(least / most)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_loss_seen_is_within_the_claim(case: Case) -> None:
    seen = loss_at_least(case, Fraction(1))
    assert 0.5 * float(case.claim.epsilon) < seen <= float(case.claim.epsilon)


@pytest.mark.slow  # that the check above would notice hangs on the check alone
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_noise_that_is_too_small_is_caught(case: Case) -> None:
    assert loss_at_least(case, TOO_SMALL) > float(case.claim.epsilon)


def test_the_claim_of_the_counter_is_what_it_says() -> None:
    assert TreeCounter(3, DiscreteLaplace(1)).loss() == Pure(2)


class Chosen(DiscreteLaplace):
    """Noise that was chosen beforehand."""

    chosen: tuple[int, ...] = ()

    def add_all(self, values: Integers, entropy: Entropy = SYSTEM) -> Integers:
        return values + np.array(self.chosen)


def outcomes(counts: tuple[int, ...], scale: float) -> dict[Interval | None, float]:
    """The probability of every outcome of a search made for a scale of 1/2, when the noise has another.

    Noise beyond 8 is left out, so a probability is what is found, or more by less than ``LEFT_OUT``.
    """
    law: dict[Interval | None, float] = defaultdict(float)
    reach = range(-8, 9)
    zero = sum(math.exp(-abs(x) / scale) for x in range(-100, 101))
    noise = Chosen("1/2")
    search = BoundsSearch(ENDS, noise, Fraction(9, 10))
    for chosen in product(reach, repeat=3):
        object.__setattr__(noise, "chosen", chosen)
        law[search.choose(counts)] += math.exp(-sum(map(abs, chosen)) / scale) / zero**3
    assert sum(law.values()) > 1 - LEFT_OUT
    return law


def worst_loss(scale: float) -> float:
    """A lower bound on the largest logarithm of a ratio between neighbours, whichever way."""
    worst = 0.0
    for counts in [(0, 0, 0), (20, 0, 1), (1, 2, 0), (20, 20, 2)]:
        here = outcomes(counts, scale)
        for place in range(3):
            there = outcomes(tuple(n + (i == place) for i, n in enumerate(counts)), scale)
            for one, other in ((here, there), (there, here)):
                worst = max(
                    worst, *(math.log(p / (other[outcome] + LEFT_OUT)) for outcome, p in list(one.items()) if p)
                )
    return worst


@pytest.mark.slow
def test_the_outcomes_of_a_search_for_bounds_are_within_the_claim_by_calculation() -> None:
    claim = float(BoundsSearch(ENDS, DiscreteLaplace("1/2")).loss().epsilon)
    assert claim == 2
    assert 0.7 * claim < worst_loss(1 / 2) <= claim
    assert worst_loss(1 / 4) > claim


def test_the_promise_of_the_bounds_is_kept() -> None:
    """With probability 1 - beta the bounds leave few rows outside, and are no wider than they must be."""
    search = BoundsSearch.for_loss(Pure(1), Value(sql.column("x"), Kind.INTEGER))
    counts = np.zeros(search.slices, dtype=np.int64)
    counts[40:52] = [1, 0, 2, 900, 900, 900, 60, 30, 15, 8, 4, 2]
    entropy, runs, broken = Repeatable(9), 1000, 0
    for _ in range(runs):
        found = search.choose(counts, entropy)
        assert found is not None
        low, high = (search.ends.index(end) for end in found)
        kept = counts[high + 1 :].sum() <= search.outside and counts[: low + 1].sum() <= search.outside
        broken += not (kept and counts[high:].sum() and counts[: low + 2].sum())
    assert betaincinv(broken, runs - broken + 1, FALSE_ALARM) <= search.beta if broken else True
