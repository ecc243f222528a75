"""What an auditor sees who only watches macro-tables: never more than the claimed loss, unless noise is too small.

As in tests/statistical/noise/test_audit.py: Clopper and Pearson's intervals around how often an event happens on two
neighbours give a lower bound on the loss that is wrong once in a thousand million times.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.special import betaincinv
from tests.noise.bits import Repeatable

from discreet.core.loss import Pure
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.tabulate.private.counts import NoisyCounts

FALSE_ALARM = 1e-9
RUNS = 5_000
CLAIM = Pure(2)
TOO_SMALL = Fraction(2, 3)


def counts(part: Fraction) -> NoisyCounts:
    """Two columns of two values, each counted for half of the claim; or with only ``part`` of the noise."""
    return NoisyCounts({"a": (0, 1), "b": (0, 1)}, (("a",), ("b",)), (DiscreteLaplace(part),) * 2)


def loss_at_least(part: Fraction) -> float:
    """A lower bound on the loss: with or without one row, how often nobody is seen where it is, in both tables."""
    made, entropy, seen = counts(part), Repeatable(1), []
    for there in (0, 1):
        row = np.array([there, 0])
        noisy = np.stack([noise.add_all(np.tile(row, (RUNS, 1)), entropy) for noise in made.noises])
        agreed = [made.agreed(list(one)) for one in np.moveaxis(noisy, 1, 0)]
        seen.append(sum(max(one[0][0], one[1][0]) <= 0 for one in agreed))
    few, many = sorted(seen)
    least = betaincinv(many, RUNS - many + 1, FALSE_ALARM / 2)
    most = betaincinv(few + 1, RUNS - few, 1 - FALSE_ALARM / 2)
    return math.log(least / most)


def test_the_loss_seen_is_within_the_claim() -> None:
    assert counts(Fraction(1)).loss() == CLAIM
    assert 0.5 * float(CLAIM.epsilon) < loss_at_least(Fraction(1)) <= float(CLAIM.epsilon)


def test_noise_that_is_too_small_is_caught() -> None:
    assert loss_at_least(TOO_SMALL) > float(CLAIM.epsilon)
