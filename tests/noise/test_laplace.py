"""Geometric draws, one by one and by digits, and the discrete Laplace made of them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.noise.bits import FixedBits, Heads, Repeatable, check_law

from discreet.errors import BadInput
from discreet.noise import laplace as module
from discreet.noise.additive import LARGEST_DRAW, LARGEST_SCALE
from discreet.noise.entropy import SYSTEM, Entropy, Integers
from discreet.noise.inversion import Law
from discreet.noise.laplace import DiscreteLaplace, _digits, geometric, geometrics, two_sided


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


@pytest.mark.parametrize("scale", ["3/2", "5/4", "2", "1/3"])
def test_a_draw_is_a_uniform_place_and_whole_scales(scale: str) -> None:
    """u below n is kept with e**-(u / n), each whole scale has e**-1, and the d-th part is given: exactly."""
    n, d = Fraction(scale).numerator, Fraction(scale).denominator

    class Whole(Heads):
        def flip_exp_ratio(self, a: int, b: int) -> bool:
            super().flip_exp_ratio(a, b)
            return self.exponent <= Fraction(u, n) + v

    for u in range(n):
        for v in range(4):
            bits = Whole(u)
            assert geometric(Fraction(scale), bits) == (u + n * v) // d
            assert bits.exponent == Fraction(u, n) + v + 1
            assert not bits.script


@pytest.mark.parametrize(
    ("scale", "places"),
    [("1/9", 0), ("16", 0), ("33/2", 1), ("4096", 1), ("8193/2", 2), ("1048576", 2), ("1048577", 3)],
)
def test_digits_add_up_to_the_law_exactly(scale: str, places: int) -> None:
    *digits, top = _digits(Fraction(scale))
    assert [digit.size for digit in digits] == [256] * places
    assert top.size is None
    for x in (0, 1, 255, 256, 257, 65_535, 65_536, 10**7 + 3):
        parts = [x >> 8 * place & 255 for place in range(places)]
        exponent = sum((part * digit.linear for part, digit in zip(parts, digits, strict=True)), Fraction(0))
        assert exponent + (x >> 8 * places) * top.linear == x / Fraction(scale)


def given(monkeypatch: pytest.MonkeyPatch, drawn: dict[Law, list[int]]) -> None:
    """Tables that give what they are told."""

    class Given:
        def __init__(self, law: Law) -> None:
            self.law = law

        def draws(self, count: int, entropy: Entropy) -> Integers:
            assert count == len(drawn[self.law])
            return np.array(drawn[self.law], dtype=np.int64)

    monkeypatch.setattr(module, "table", Given)


def test_digits_are_put_together_and_cut_where_an_array_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, top = _digits(Fraction(10**6))
    most = 2**62 // 2**16
    given(monkeypatch, {one: [7, 0, 255, 255], two: [0, 3, 255, 255], top: [0, 2, most - 1, most]})
    wanted = [7, 3 * 256 + 2 * 65_536, 2**62 - 1, 2**62 - 1]
    assert geometrics(Fraction(10**6), 4, SYSTEM).tolist() == wanted
    [alone] = _digits(Fraction(3))
    given(monkeypatch, {alone: [0, 5, 2**62 - 1, 2**62]})
    assert geometrics(Fraction(3), 4, SYSTEM).tolist() == [0, 5, 2**62 - 1, 2**62 - 1]


def test_a_side_and_a_geometric_draw_make_every_integer_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second side, of weight q, has -1 - g: so -x has q · q**(x - 1), as x has."""
    scale = Fraction(3, 2)
    given(monkeypatch, {Law(1 / scale, size=2): [0, 0, 0, 1, 1, 1], _digits(scale)[0]: [0, 1, 2, 0, 1, 2]})
    assert DiscreteLaplace(scale)._batch(6, SYSTEM).tolist() == [0, 1, 2, -1, -2, -3]


def test_a_sign_is_fair_and_minus_zero_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [3, 3, 0, 0, 2]
    monkeypatch.setattr(module, "geometric", lambda scale, entropy: sizes.pop(0))
    assert two_sided(Fraction(1), Heads(0)) == 3
    assert two_sided(Fraction(1), Heads(1)) == -3
    assert two_sided(Fraction(1), Heads(0)) == 0
    assert two_sided(Fraction(1), Heads(1, 1)) == -2


def test_the_variance_of_narrow_noise() -> None:
    assert DiscreteLaplace("1/600").variance == 0.0
    assert 0 < DiscreteLaplace("1/599").variance < 1e-250
    assert DiscreteLaplace("1/2").variance == pytest.approx(2 * math.exp(-2) / (1 - math.exp(-2)) ** 2)
