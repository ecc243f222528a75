"""Exponentials, logarithms and roots are bounded on the side that was asked for, and near the truth."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.exact import (
    EXP_ERROR,
    exp_lower,
    exp_minus,
    exp_minus_between,
    exp_upper,
    ln_lower,
    ln_upper,
    round_down,
    round_up,
    sqrt_lower,
    sqrt_upper,
)

positive = st.one_of(
    st.fractions(min_value=Fraction(1, 10**9), max_value=10**9),
    st.integers(1, 10**400).map(Fraction),
    st.integers(1, 10**400).map(lambda n: Fraction(1, n)),
    st.integers(1, 10**40).map(lambda n: 1 + Fraction(1, n)),
)


def ln(x: Fraction) -> Fraction:
    """ln x to 80 digits, by other means."""
    context = Context(prec=120, Emax=9999, Emin=-9999)
    return Fraction(context.ln(context.divide(Decimal(x.numerator), Decimal(x.denominator))))


@settings(deadline=None)
@given(positive)
def test_a_logarithm_lies_between_its_bounds_and_they_are_near(x: Fraction) -> None:
    low, high = ln_lower(x), ln_upper(x)
    slack = Fraction(1, 10**80)
    assert low - slack <= ln(x) <= high + slack
    assert 0 <= high - low < Fraction(1, 2**170)


def test_the_logarithm_of_one_is_exactly_nothing() -> None:
    assert ln_lower(Fraction(1)) == ln_upper(Fraction(1)) == 0


@pytest.mark.parametrize("x", [Fraction(2), Fraction(1, 2), Fraction(3), Fraction(4, 3)])
def test_the_bounds_are_strict_where_the_truth_is_irrational(x: Fraction) -> None:
    assert ln_lower(x) < ln_upper(x)


@settings(deadline=None)
@given(st.one_of(positive, st.just(Fraction(0))))
def test_a_root_lies_between_its_bounds_and_they_are_near(x: Fraction) -> None:
    root = sqrt_lower(x)
    assert root * root <= x <= sqrt_upper(x) ** 2
    assert sqrt_upper(x) <= root * (1 + Fraction(1, 2**60))
    assert x == 0 or x < (root * (1 + Fraction(1, 2**60))) ** 2


@pytest.mark.parametrize("x", [Fraction(0), Fraction(4), Fraction(1, 4), Fraction(9, 16), Fraction(10**100)])
def test_the_root_of_a_square_is_exact(x: Fraction) -> None:
    assert sqrt_lower(x) ** 2 == sqrt_upper(x) ** 2 == x


@settings(deadline=None)
@given(positive, st.integers(4, 80))
def test_rounding_goes_down_by_less_than_the_last_bit(value: Fraction, bits: int) -> None:
    assert value * (1 - Fraction(1, 2 ** (bits - 1))) < round_down(value, bits) <= value


@settings(deadline=None)
@given(positive, st.integers(min_value=4, max_value=80))
def test_rounding_goes_up_by_less_than_the_last_bit(value: Fraction, bits: int) -> None:
    assert value <= round_up(value, bits) < value * (1 + Fraction(1, 2 ** (bits - 1)))


@pytest.mark.parametrize("bits", [1, 2, 64])
@pytest.mark.parametrize("power", [-200, -1, 0, 1, 200])
def test_rounding_leaves_what_fits_and_moves_a_hair_to_the_next_number(bits: int, power: int) -> None:
    fits, step = Fraction(2) ** power * (2**bits - 1), Fraction(2) ** power
    hair = fits / 2**300
    assert round_up(fits, bits) == round_down(fits, bits) == fits
    assert round_down(fits + hair, bits) == fits < round_up(fits + hair, bits) <= fits + step
    assert fits - step <= round_down(fits - hair, bits) < fits == round_up(fits - hair, bits)


def test_nothing_stays_nothing() -> None:
    assert round_down(Fraction(0)) == round_up(Fraction(0)) == 0


def test_the_root_of_a_number_beside_a_square_is_on_its_side() -> None:
    hair = Fraction(1, 2**120)
    assert sqrt_lower(4 + hair) <= 2 + hair / 4 and sqrt_upper(4 + hair) > 2
    assert sqrt_lower(4 - hair) < 2 and sqrt_upper(4 - hair) >= 2 - hair / 2
    assert sqrt_lower(Fraction(2)) ** 2 < 2 < sqrt_upper(Fraction(2)) ** 2


@given(st.fractions(min_value=0, max_value=300))
def test_a_power_of_e_lies_between_its_bounds_and_they_are_near(x: Fraction) -> None:
    bound = exp_upper(x)
    context = Context(prec=80)
    true = Fraction(context.exp(context.divide(Decimal(x.numerator), Decimal(x.denominator))))
    slack = true / 10**75  # what 80 digits can be wrong by
    assert true - slack <= bound <= true * EXP_ERROR + slack
    assert bound / EXP_ERROR <= exp_lower(x) <= true + slack
    assert exp_lower(-x) * bound == exp_upper(-x) * exp_lower(x) == 1


def test_e_itself_is_bounded_from_above_to_forty_digits() -> None:
    digits = Fraction("2.7182818284590452353602874713526624977572")  # cut off, so below e
    assert digits < exp_upper(Fraction(1)) < digits + Fraction(1, 10**40)


def test_e_to_the_zero_is_exactly_one() -> None:
    assert exp_lower(Fraction(0)) == exp_upper(Fraction(0)) == 1


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


def test_logarithms_of_very_large_numbers() -> None:
    assert float(ln_upper(Fraction(2) ** 100_000) / 100_000) == pytest.approx(0.6931471805599453)
    assert float(ln_upper(Fraction(3**1000, 2**1000))) == pytest.approx(405.4651081081644)
