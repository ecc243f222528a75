"""Logarithms and roots lie on the side that was asked for, and near the truth."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.budget.bounds import ln_lower, ln_upper, round_down, sqrt_lower

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
def test_a_root_is_not_overstated_and_hardly_understated(x: Fraction) -> None:
    root = sqrt_lower(x)
    assert root * root <= x
    assert x == 0 or x < (root * (1 + Fraction(1, 2**60))) ** 2


@pytest.mark.parametrize("x", [Fraction(4), Fraction(1, 4), Fraction(9, 16), Fraction(10**100)])
def test_the_root_of_a_square_is_exact(x: Fraction) -> None:
    assert sqrt_lower(x) ** 2 == x


@settings(deadline=None)
@given(positive, st.integers(4, 80))
def test_rounding_goes_down_by_less_than_the_last_bit(value: Fraction, bits: int) -> None:
    assert value * (1 - Fraction(1, 2 ** (bits - 1))) < round_down(value, bits) <= value


def test_nothing_stays_nothing() -> None:
    assert round_down(Fraction(0)) == 0
