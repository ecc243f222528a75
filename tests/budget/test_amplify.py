"""Subsampling: the formula, its edges, and an exact check on randomised response."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.budget.amplify import subsampled
from discreet.core.directed_rounding import ln_lower, ln_upper
from discreet.core.loss import Approximate, Concentrated, Pure, Renyi
from discreet.errors import BadInput, NoPromise

rates = st.fractions(0, 1, max_denominator=10**6)


@settings(deadline=None)
@given(st.fractions(0, 60, max_denominator=1000), rates)
def test_the_formula_is_rounded_up_a_little(epsilon: Fraction, rate: Fraction) -> None:
    found = subsampled(Pure(epsilon), rate)
    assert isinstance(found, Pure)
    true = math.log1p(float(rate) * math.expm1(float(epsilon)))
    assert found.epsilon <= epsilon
    assert float(found.epsilon) == pytest.approx(true, rel=1e-12)


@settings(deadline=None)
@given(st.integers(2, 1000), rates)
def test_randomised_response_on_a_sample_loses_no_more_and_not_much_less(odds: int, rate: Fraction) -> None:
    """Yes or no, told truly with odds r to 1 by whoever is sampled; the answer is a fair coin without them."""
    full = Pure(ln_upper(Fraction(odds)))
    with_them, without = Fraction(odds, odds + 1), Fraction(1, 2)
    yes = rate * with_them + (1 - rate) * without
    no = 1 - yes
    worst = max(yes / without, without / no)
    found = subsampled(full, rate)
    assert isinstance(found, Pure)
    assert ln_lower(worst) <= found.epsilon


def test_a_delta_shrinks_with_the_rate() -> None:
    found = subsampled(Approximate(1, "1e-6"), "0.01")
    assert isinstance(found, Approximate)
    assert found.delta == Fraction("1e-8")
    assert float(found.epsilon) == pytest.approx(0.01703686323617)


@pytest.mark.parametrize("loss", [Pure(3), Approximate(3, "0.5")])
def test_a_full_sample_earns_nothing_and_an_empty_one_everything(loss: Pure | Approximate) -> None:
    assert subsampled(loss, 1) == loss
    nothing = subsampled(loss, 0)
    assert isinstance(nothing, Pure | Approximate)
    assert nothing.epsilon == 0


def test_a_huge_epsilon_is_left_alone() -> None:
    assert subsampled(Pure(10**6), "0.1") == Pure(10**6)


def test_what_has_no_bound_is_refused() -> None:
    for loss in (Concentrated(1), Renyi([(2, 1)])):
        with pytest.raises(NoPromise):
            subsampled(loss, "0.1")
    with pytest.raises(BadInput, match="between 0 and 1"):
        subsampled(Pure(1), "1.1")
