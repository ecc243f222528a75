"""Coins of probability e**-x: every path of the sampler followed, and many coins against one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.noise.bits import FixedBits, Repeatable, check_law

from discreet.noise.entropy import SYSTEM
from discreet.noise.gaussian import flips_exp


@pytest.mark.parametrize("x", ["0", "1/7", "1/2", "2/3", "1", "5/3", "3"])
def test_a_coin_is_exact(x: str) -> None:
    p = math.exp(-Fraction(x))
    check_law(lambda entropy: entropy.flip_exp(Fraction(x)), {True: p, False: 1 - p}, into_coins=True)


def test_a_hopeless_coin_is_settled_at_once() -> None:
    assert not SYSTEM.flip_exp(Fraction(10**30))


def words(*given: int) -> bytes:
    return np.array(given, dtype="<u8").tobytes()


def test_many_coins_ask_exact_arithmetic_where_floating_point_cannot_tell() -> None:
    """x = 1/3: the first 53 bits of one third leave it open whether the uniform number is below."""
    third = (2**53 // 3) << 11
    asked = []

    def exactly(i: int) -> Fraction:
        asked.append(i)
        return Fraction(1, 3)

    # First round: below, open, above. The open one is told by 64 more bits: above. Second round (x/2): above.
    more = 2**64 - 1
    given = words(0, third, third + (1 << 40)) + words(more) + words(2**64 - 1)
    heads = flips_exp(np.full(3, 1 / 3), exactly, FixedBits(given))
    assert asked == [1]
    assert heads.tolist() == [False, True, True]


def test_many_coins_with_a_large_exponent_are_flipped_one_by_one() -> None:
    heads = flips_exp(
        np.array([0.0, 700.0, 0.75]), lambda i: [Fraction(0), Fraction(700), Fraction(3, 4)][i], Repeatable(2)
    )
    assert heads[0]
    assert not heads[1]


@pytest.mark.parametrize("x", ["1/1000", "1/4", "1/2"])
def test_many_coins_have_the_probability_of_one(x: str) -> None:
    n = 200_000
    heads = flips_exp(np.full(n, float(Fraction(x))), lambda i: Fraction(x), Repeatable(3)).sum()
    p = math.exp(-Fraction(x))
    assert abs(heads - n * p) < 6.2 * math.sqrt(n * p * (1 - p))
