"""Powers of e are held between two integers, tightly."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.noise.powers import exp_minus, exp_minus_between, log_upper

CONTEXT = Context(prec=120)


def true_exp_minus(x: Fraction) -> Fraction:
    """To 110 digits and more."""
    return Fraction(CONTEXT.exp(CONTEXT.minus(CONTEXT.divide(Decimal(x.numerator), Decimal(x.denominator)))))


@given(st.fractions(min_value=0, max_value=60), st.integers(min_value=64, max_value=256))
def test_both_bounds_hold_and_are_close(x: Fraction, bits: int) -> None:
    low, high = exp_minus(x, bits)
    true = true_exp_minus(x) * 2**bits
    assert low - Fraction(1, 10**20) <= true <= high + Fraction(1, 10**20)
    assert high - low <= 2


@pytest.mark.parametrize("x", ["0", "1/1000000000000", "1/2", "1", "63/64", "64", "1000", "16384", "1000000"])
def test_the_extremes(x: str) -> None:
    low, high = exp_minus(Fraction(x), 64)
    assert 0 <= low <= high <= 2**64
    assert high - low <= 2
    low, high = exp_minus_between(Fraction(x))
    assert 0 <= low <= high <= 1
    assert high <= low * (1 + Fraction(1, 2**60)) or Fraction(x) > 16384


@pytest.mark.parametrize("x", ["1e-12", "1e-24", "1e-30", "1e-40"])
def test_what_a_small_power_takes_off_one_does_not_cancel(x: str) -> None:
    low, high = exp_minus_between(Fraction(x))
    true = 1 - true_exp_minus(Fraction(x))
    assert true * (1 - Fraction(1, 2**60)) <= 1 - high <= true <= 1 - low <= true * (1 + Fraction(1, 2**60))


@given(st.fractions(min_value=1, max_value=10**6))
def test_logarithms_are_never_understated_and_hardly_overstated(ratio: Fraction) -> None:
    bound = log_upper(ratio)
    true = Fraction(CONTEXT.ln(CONTEXT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))))
    assert true - Fraction(1, 10**100) <= bound <= true * (1 + Fraction(1, 2**45)) + Fraction(1, 2**45)


def test_logarithms_of_very_large_numbers() -> None:
    assert log_upper(Fraction(1)) == 0
    assert float(log_upper(Fraction(2) ** 100_000) / 100_000) == pytest.approx(0.6931471805599453)
    assert float(log_upper(Fraction(3**1000, 2**1000))) == pytest.approx(405.4651081081644)
