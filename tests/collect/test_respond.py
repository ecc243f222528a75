"""Randomised response, bit by bit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.noise.entropy import Entropy
from discreet.verbs.collect.frequency.randomized_response import randomized_response

TRUE, LIE = 0, 2**64 - 1


class Given(Entropy):
    """Words that were chosen, one after the other."""

    def __init__(self, words: list[int]) -> None:
        self.left = b"".join(word.to_bytes(8, "little") for word in words)

    def bytes(self, count: int) -> bytes:
        taken, self.left = self.left[:count], self.left[count:]
        assert len(taken) == count
        return taken


def two(one: int, other: int) -> int:
    """A word of two halves."""
    return one | other << 32


def test_steps_are_even_and_what_would_favour_one_is_drawn_again() -> None:
    """Of 2**32 numbers, 0 alone is left out for three others: the rest are a third each, up to their edges."""
    third = (2**32 - 1) // 3
    last = 3 * third
    assert [number * 3 >> 32 for number in (1, third, third + 1, 2 * third, 2 * third + 1, last)] == [0, 0, 1, 1, 2, 2]
    coins = [LIE, LIE, TRUE, LIE, LIE, LIE]
    steps = [two(1, 0), two(third + 1, third), two(last, 7), two(1, 1)]
    given = Given([*coins, *steps, two(2 * third + 1, 5), two(0, 0)])
    report_codes = randomized_response(np.array([0, 0, 1, 3, 3, 2]), Fraction(1, 2), 4, given)
    assert report_codes.tolist() == [1, 2, 1, 0, 2, 3]


def test_numbers_that_do_not_last_are_followed_by_more() -> None:
    given = Given([LIE, LIE, 0, 0, 0, two(2**32 - 1, 0), two(5, 5), 0])
    assert randomized_response(np.array([2, 3]), Fraction(1, 2), 4, given).tolist() == [1, 0]
    assert given.left == b""


def test_with_two_codes_there_is_one_other() -> None:
    assert randomized_response(np.array([0, 1, 0]), Fraction(1, 2), 2, Given([LIE, LIE, TRUE, 0, 0])).tolist() == [
        1,
        0,
        0,
    ]
