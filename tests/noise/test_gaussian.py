"""The discrete Gaussian's exponents, and coins of probability e**-x: every path followed, many coins against one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.noise.bits import FixedBits, Heads, Repeatable, check_law

from discreet.noise import gaussian as module
from discreet.noise.entropy import SYSTEM
from discreet.noise.gaussian import DiscreteGaussian, flips_exp
from discreet.noise.inversion import Law


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


@pytest.mark.parametrize("offset", [-2800, -2600, -2, -1, 0, 1, 2, 2600, 2800])
def test_exact_arithmetic_is_asked_within_a_part_in_2_to_the_40(offset: int) -> None:
    """A third is 2730 times 2**-40 of itself in units of 2**-53; either way the outcome is that of the exact third."""
    prefix = 2**53 // 3 + offset
    asked = []

    def exactly(i: int) -> Fraction:
        asked.append(i)
        return Fraction(1, 3)

    below = prefix * 3 < 2**53
    following = words(0) if offset == 0 else b""  # only the place itself is open
    second = words(2**64 - 1) if below else b""  # and the second coin falls tails
    bits = FixedBits(words(prefix << 11) + following + second)
    assert flips_exp(np.array([1 / 3]), exactly, bits).tolist() == [not below]
    assert asked == ([0] if abs(offset) < 2700 else [])
    assert not bits.left


@pytest.mark.parametrize("step", [2**20, 1])
@pytest.mark.parametrize("x", ["1/2", "3/8"])
def test_the_coins_of_a_series_are_x_over_k(x: str, step: int) -> None:
    """Just below x, then just below x / 2, then just above x / 3: the third fails, which is odd.

    One step of 2**-53 off, only exact arithmetic tells.
    """
    exact = Fraction(x)

    def near(k: int, step: int) -> int:
        return (int(exact / k * 2**53) + step) << 11

    for fails in range(1, 6):
        given = [near(k, -step) for k in range(1, fails)] + [near(fails, step)]
        assert flips_exp(np.array([float(exact)]), lambda i: exact, FixedBits(words(*given))).tolist() == [
            fails % 2 == 1
        ]


@pytest.mark.parametrize("sigma_squared", ["1/3", "1", "2", "17/4", "9", "100"])
def test_a_laplace_draw_is_kept_with_exactly_what_makes_it_gaussian(
    monkeypatch: pytest.MonkeyPatch, sigma_squared: str
) -> None:
    variance = Fraction(sigma_squared)
    t = math.isqrt(int(variance)) + 1
    for y in range(-9, 10):
        bits = Heads()
        monkeypatch.setattr(module, "two_sided", lambda scale, entropy, y=y: y if scale == t else None)
        assert DiscreteGaussian(variance).draw(bits) == y
        constant = variance / (2 * t * t)
        assert bits.exponent + Fraction(abs(y), t) == Fraction(y * y) / (2 * variance) + constant


@pytest.mark.parametrize(
    ("sigma_squared", "places"), [("1/3", 0), ("4095", 0), ("4096", 1), ("16383", 1), ("16384", 2), ("1000000", 4)]
)
def test_proposals_are_kept_with_exactly_what_makes_them_gaussian(
    monkeypatch: pytest.MonkeyPatch, sigma_squared: str, places: int
) -> None:
    """The table's weight for y, and the coin for r, have the exponent of x = y · 2**places + r together."""
    variance, b = Fraction(sigma_squared), 1 << places
    pairs = [(y, r, side) for y in (0, 1, 5, 70) for r in sorted({0, 1 % b, b - 1}) for side in (0, 1)]
    squares, exponents = [], {}

    class Given:
        def __init__(self, law: Law) -> None:
            squares.append((law.linear, law.square, law.size))

        def draws(self, count: int, entropy: object) -> np.ndarray:
            return np.array([y for y, _, _ in pairs], dtype=np.int64)

    class Chosen(FixedBits):
        def many_below(self, n: int, count: int) -> np.ndarray:
            assert (n, count) == (b, len(pairs))
            return np.array([r for _, r, _ in pairs], dtype=np.int64)

        def coins(self, count: int) -> np.ndarray:
            return np.array([side == 1 for _, _, side in pairs])

    def flipped(x: np.ndarray, exactly, entropy: object) -> np.ndarray:
        exponents.update({i: exactly(i) for i in range(len(pairs))})
        assert x.tolist() == pytest.approx([float(one) for one in exponents.values()], rel=2**-48)
        return np.ones(len(x), dtype=bool)

    monkeypatch.setattr(module, "table", Given)
    monkeypatch.setattr(module, "flips_exp", flipped)
    drawn = DiscreteGaussian(variance)._batch(len(pairs), Chosen(b""))
    kept = [(y * b + r) * (1 - 2 * side) for y, r, side in pairs if not (side and y == r == 0)]
    assert drawn.tolist() == kept
    assert squares == [(0, Fraction(b * b) / (2 * variance), None)]
    for i, (y, r, _) in enumerate(pairs):
        x = y * b + r
        assert y * y * squares[0][1] + exponents.get(i, 0) == Fraction(x * x) / (2 * variance)


def test_what_a_coin_turns_away_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "flips_exp", lambda x, exactly, entropy: np.zeros(len(x), dtype=bool))
    assert DiscreteGaussian(10_000)._batch(50, Repeatable(1)).size == 0
    assert DiscreteGaussian(10)._batch(50, Repeatable(1)).size > 0


@pytest.mark.parametrize("sigma_squared", [4095, 4096, 5000])
def test_the_tail_of_wide_and_narrow_noise_agree(sigma_squared: int) -> None:
    """From σ = 64 on the tail is the continuous one; below it is summed. Neither is below the truth."""
    noise = DiscreteGaussian(sigma_squared)
    weights = [math.exp(-x * x / (2 * sigma_squared)) for x in range(4000)]
    total = 2 * math.fsum(weights) - 1
    for t in (0, 1, 64, 200, 400):
        true = 2 * math.fsum(weights[t + 1 :]) / total
        assert true * (1 - 1e-12) <= float(noise.tail(t)) <= true * 1.2
        if sigma_squared >= 4096:
            assert float(noise.tail(t)) > math.erfc(t / math.sqrt(2 * sigma_squared)) or (t == 0 and noise.tail(t) == 1)
        if sigma_squared < 4096:
            assert float(noise.tail(t)) == pytest.approx(true, rel=1e-9)
