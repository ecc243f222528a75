"""An audit by canaries in one run: whoever sees a measurement guesses who is in it, and is right no more often than the
promise lets them (Steinke, Nasr, Jagielski 2023).

Each canary is in the rows with a fair coin, and adds as much as a row may to a place of its own. Of the figure there
the likelihood ratio says whether it is in. So many canaries make the bound sharp: with noise a fifth too small, which
is a loss of five quarters, guesses are right more often than chance explains at 1e-9. Every learner measures by these
three functions alone, and ``tests/contract/test_coupled_replay.py`` adds up what its measurements lose together.
"""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import binom
from tests.noise.bits import Repeatable

from discreet.core.loss import Concentrated, Pure
from discreet.verbs.learn.private import meter
from discreet.verbs.learn.private.coding import CodedRows
from discreet.verbs.learn.private.meter import Allowance, Meter, Noisy, noise_for

CANARIES, FALSE_ALARM = 15_000, 1e-9
_WIDE = 50
"""Canaries of one measurement of products, which are as many as all pairs of them."""
PROMISES: dict[str, tuple[Allowance, float]] = {
    "pure": (Pure(1), 1 / (1 + np.exp(-1))),
    "concentrated": (Concentrated("1/2"), NormalDist().cdf(1 / 2)),
}
"""With how large a chance a guess is right, at most: of a figure with Laplace noise, and with Gaussian noise."""


def histograms(found: Meter, who: np.ndarray, canaries: int) -> Noisy:
    return found.histograms([lambda part: who[part]], [canaries], Fraction(1))


def sums(found: Meter, who: np.ndarray, canaries: int) -> Noisy:
    return found.sums(lambda part: [(who[part], np.full(len(who[part]), 9.0))], canaries, 1.0, Fraction(1))


def products(found: Meter, who: np.ndarray, canaries: int) -> Noisy:
    own = np.stack([np.arange(canaries)] * 2)
    return found.products(lambda part: np.eye(canaries, dtype=np.int64)[who[part]] * 8, own, 8, 1, Fraction(1))


MEASURED = {"histograms": (histograms, CANARIES), "sums": (sums, CANARIES), "products": (products, _WIDE)}


def guesses(what: str, allowance: Allowance) -> tuple[int, int]:
    """How many guesses are made, and how many are right: where Laplace noise leaves more doubt, none is made."""
    measured, canaries = MEASURED[what]
    low, high = (0.0, 1.0) if isinstance(allowance, Pure) else (0.5, 0.5)
    coins, bits = np.random.default_rng(1), Repeatable(2)
    made = right = 0
    for _ in range(CANARIES // canaries):
        there = coins.integers(0, 2, canaries) > 0
        who = np.flatnonzero(there)
        rows = CodedRows((np.zeros(len(who), np.uint16),), np.zeros(len(who), np.int64))
        figures = np.round(measured(Meter(rows, allowance, 1, bits), who, canaries).sums, 9)
        sure = (figures <= low) | (figures >= high)
        made += int(sure.sum())
        right += int(((figures >= high) == there)[sure].sum())
    return made, right


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("what", MEASURED)
def test_guesses_are_right_no_more_often_than_is_promised_and_hardly_less(what: str, promise: str) -> None:
    allowance, chance = PROMISES[promise]
    made, right = guesses(what, allowance)
    assert made > CANARIES / 2
    assert right <= binom.isf(FALSE_ALARM, made, chance)
    assert right >= binom.ppf(FALSE_ALARM, made, chance), "the noise is larger than it has to be"


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("what", MEASURED)
def test_a_planted_fault_of_a_quarter_is_caught(what: str, promise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    allowance, chance = PROMISES[promise]
    short = Fraction(4, 5)
    monkeypatch.setattr(
        meter,
        "noise_for",
        lambda allowance, share, most, total, squares: noise_for(
            allowance, share, most, short * total, short**2 * squares
        ),
    )
    made, right = guesses(what, allowance)
    assert right > binom.isf(FALSE_ALARM, made, chance)
