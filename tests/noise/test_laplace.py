"""Geometric draws, one by one and by digits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.noise.bits import FixedBits, Repeatable, check_law

from discreet.errors import BadInput
from discreet.noise.additive import LARGEST_DRAW, LARGEST_SCALE
from discreet.noise.laplace import geometric, geometrics


@pytest.mark.parametrize("scale", ["1", "1/3", "2", "3/2"])
def test_one_draw_follows_the_law_on_every_path(scale: str) -> None:
    q = math.exp(-1 / Fraction(scale))
    check_law(lambda entropy: geometric(Fraction(scale), entropy), {x: (1 - q) * q**x for x in range(100)})


def test_every_digit_comes_from_its_own_table() -> None:
    """Scale 10**6: the rest, then two digits in base 256. Zeros give the digit 0; ones, to the last bit, give 255."""
    zeros, ones = bytes(2), b"\xff" * 10
    assert geometrics(Fraction(10**6), 1, FixedBits(zeros * 3)).tolist() == [0]
    assert geometrics(Fraction(10**6), 1, FixedBits(zeros + ones + ones)).tolist() == [255 + 255 * 256]


def test_draws_fit_an_array_at_the_largest_scale() -> None:
    drawn = geometrics(Fraction(LARGEST_SCALE), 1000, Repeatable(1))
    assert (drawn >= 0).all()
    assert (drawn < LARGEST_DRAW).all()
    with pytest.raises(BadInput, match="64-bit"):
        geometrics(Fraction(LARGEST_SCALE + 1), 1)


@pytest.mark.parametrize("scale", ["1/100", "1", "16", "17", "1000", "4096", "4097", "1000000000000"])
def test_the_mean_is_right_on_every_number_of_digits(scale: str) -> None:
    n = 100_000
    drawn = geometrics(Fraction(scale), n, Repeatable(2)).astype(np.float64)
    half = float(1 / (2 * Fraction(scale)))
    mean = math.exp(-half) / (2 * math.sinh(half)) if half < 300 else 0.0
    deviation = math.sqrt(mean * (1 + mean))
    assert abs(drawn.mean() - mean) <= 6.2 * deviation / math.sqrt(n) + 1e-9
