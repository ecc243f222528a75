"""Two coins: the lecture's case, and a second coin that is not fair."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.noise.bits import Repeatable

from discreet.errors import BadInput
from discreet.verbs.collect.frequency.randomized_response import Coins
from discreet.verbs.collect.protocol import audit


def test_two_fair_coins_lose_ln_3() -> None:
    coins = Coins()
    assert coins.domain.values == ("no", "yes")
    assert (coins.p_own, coins.q_other) == (Fraction(3, 4), Fraction(1, 4))
    assert audit(coins).ratio == 3
    assert 0 < float(coins.epsilon) - math.log(3) < 1e-11
    assert audit(coins).holds


def test_the_lecture_s_figures() -> None:
    """Of 1000 people 300 mean yes; 400 say it on average, and 400 are read as 300."""
    coins = Coins()
    reports = coins.randomize(["yes"] * 300 + ["no"] * 700, entropy=Repeatable(1))
    assert set(reports.to_pylist()) == {0, 1}
    document = sum(reports.to_pylist())
    assert coins.estimate(reports).counts.tolist() == pytest.approx([1000 - 2 * (document - 250), 2 * (document - 250)])


def test_a_second_coin_that_is_not_fair_gives_values_chances_of_their_own() -> None:
    coins = Coins(truth="1/2", heads="9/10")
    assert (coins._p(0), coins._q(0)) == (Fraction(11, 20), Fraction(1, 20))
    assert (coins._p(1), coins._q(1)) == (Fraction(19, 20), Fraction(9, 20))
    assert audit(coins).ratio == 11
    assert coins.parameters == {"truth": "1/2", "heads": "9/10"}
    yes, no = coins.variance(1000, 0.0), coins.variances(1000, np.array([1.0, 0.0]))[0]
    assert yes == pytest.approx(1000 * 0.05 * 0.95 / 0.25)
    assert no == pytest.approx(1000 * 0.55 * 0.45 / 0.25)


def test_coins_that_protect_nobody_are_refused() -> None:
    for truth, heads in ((0, "1/2"), (1, "1/2"), ("1/2", 0), ("1/2", 1)):
        with pytest.raises(BadInput, match="coin's chance"):
            Coins(truth=truth, heads=heads)
    with pytest.raises(BadInput, match="two values"):
        Coins("abc")
    with pytest.raises(BadInput, match="epsilon"):
        Coins(heads="1e-12")
