"""Coins by the word: all numbers of a few digits at once, and the last digit there is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.noise.bits import FixedBits, Repeatable

from discreet.errors import BadInput
from discreet.noise.packed import DIGITS, _fill, packed_flips

ALL = (1 << 64) - 1


def words(given: list[int]) -> FixedBits:
    """These words first, and then as many zeros as one word of coins may ask for."""
    padded = given + [0] * (8 + DIGITS - len(given))
    return FixedBits(np.array(padded, dtype="<u8").tobytes())


def test_every_number_of_six_digits_is_compared_rightly() -> None:
    """The coin at place i of a word draws the number i / 64: it is heads for all chances above that, and no others."""
    digits = [sum((i >> (5 - digit) & 1) << i for i in range(64)) for digit in range(6)]
    for chance in range(64):
        [made] = packed_flips(Fraction(chance, 64), 1, words(digits))
        assert int(made) == (1 << chance) - 1


def test_the_last_digit_counts() -> None:
    least = Fraction(1, 1 << 64)
    assert packed_flips(least, 1, words([0] * 64)).tolist() == [ALL]
    assert packed_flips(least, 1, words([0] * 63 + [ALL - 1])).tolist() == [1]
    assert packed_flips(1 - least, 1, words([ALL] * 64)).tolist() == [0]
    assert packed_flips(1 - least, 1, words([ALL] * 63 + [ALL - 1])).tolist() == [1]
    assert packed_flips(Fraction(0), 1, words([])).tolist() == [0]


@pytest.mark.parametrize("chance", [Fraction(17, 64), Fraction(2**64 * 269 // 1000, 2**64), Fraction(2**64 - 1, 2**64)])
def test_many_words_have_the_chance_of_one(chance: Fraction) -> None:
    """More than are filled at once; every place by itself, and neighbours independently."""
    count = 70_000
    made = packed_flips(chance, count, Repeatable(1))
    heads = np.bitwise_count(made).sum(dtype=np.int64)
    assert stats.binomtest(int(heads), 64 * count, float(chance)).pvalue > 1e-6
    for shift in (1, 63):
        both = np.bitwise_count(made & (made >> np.uint64(shift))).sum(dtype=np.int64)
        assert stats.binomtest(int(both), (64 - shift) * count, float(chance**2)).pvalue > 1e-6
    both = np.bitwise_count(made[::2] & made[1::2]).sum(dtype=np.int64)
    assert stats.binomtest(int(both), 32 * count, float(chance**2)).pvalue > 1e-6


@pytest.mark.parametrize("wrong", [Fraction(1, 3), Fraction(1), Fraction(-1, 2), Fraction(1, 2**65)])
def test_a_chance_is_one_that_can_be_flipped(wrong: Fraction) -> None:
    with pytest.raises(BadInput, match="multiple of"):
        packed_flips(wrong, 1)


def test_coins_are_put_where_they_belong_and_nowhere_else() -> None:
    """From a place on, to the end of the array, though there are words left; and as far as the words last."""
    buffer = np.full(6, 7, dtype=np.uint64)
    random = np.zeros(10 * DIGITS, dtype=np.uint64)
    half = np.uint64(1 << 63)
    assert _fill(buffer[:4], 1, half, random) == 4
    assert buffer.tolist() == [7, ALL, ALL, ALL, 7, 7]
    for words, filled in ((DIGITS - 1, 0), (DIGITS, 1), (DIGITS + 1, 2), (DIGITS + 2, 3)):
        buffer = np.full(6, 7, dtype=np.uint64)
        assert _fill(buffer, 0, half, random[:words]) == filled
        assert buffer.tolist() == [ALL] * filled + [7] * (6 - filled)
