"""Losses restated, and amplified by subsampling: never understated."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.budget.convert import largest_concentrated, subsampled, to_approximate, to_concentrated
from discreet.core.exact import ln_lower, ln_upper
from discreet.core.loss import Approximate, Concentrated, Pure, Renyi
from discreet.errors import BadInput, NoPromise

rhos = st.fractions(Fraction(1, 10**8), 10**3, max_denominator=10**9)
deltas = st.integers(1, 30).map(lambda n: Fraction(1, 10**n))
CONTEXT = Context(prec=60)


def decimal(x: Fraction) -> Decimal:
    return CONTEXT.divide(Decimal(x.numerator), Decimal(x.denominator))


def at_order(t: Decimal, rho: Decimal, delta: Decimal) -> Decimal:
    """The ε of ρ-zCDP at order 1 + t, by Proposition 12 of Canonne, Kamath and Steinke, to sixty digits."""
    c = CONTEXT
    order = c.add(1, t)
    log = c.add(c.ln(delta), c.ln(order))
    return c.subtract(c.add(c.multiply(order, rho), c.ln(c.divide(t, order))), c.divide(log, t))


@settings(deadline=None)
@given(rhos, deltas)
def test_rho_is_restated_at_the_best_order_and_rounded_up(rho: Fraction, delta: Fraction) -> None:
    found = to_approximate(Concentrated(rho), delta)
    middle = math.sqrt(math.log(1 / delta) / rho)
    grid = [Decimal(middle * 1.2**step) for step in range(-60, 5)]
    best = max(min(at_order(t, decimal(rho), decimal(delta)) for t in grid), Decimal(0))
    assert found.delta == delta
    assert float(found.epsilon) <= float(best) * (1 + 1e-12)  # no other order does better
    low, high = 0.0, 2 * middle + 1  # around the zero of ρt² = ln(1/δ) - ln(1 + t)
    for _ in range(200):
        t = (low + high) / 2
        low, high = (t, high) if float(rho) * t * t + math.log1p(t) < math.log(1 / delta) else (low, t)
    exactly = max(at_order(Decimal(low), decimal(rho), decimal(delta)), Decimal(0))
    assert found.epsilon >= Fraction(exactly) * (1 - Fraction(1, 10**20)) - Fraction(1, 10**20)


@settings(deadline=None)
@given(rhos, deltas)
def test_it_is_never_worse_than_the_textbook_bound(rho: Fraction, delta: Fraction) -> None:
    textbook = float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / delta))
    assert float(to_approximate(Concentrated(rho), delta).epsilon) <= textbook


@pytest.mark.parametrize("sigma", [0.3, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("delta", ["0.1", "1e-3", "1e-6", "1e-10"])
def test_gaussian_noise_keeps_what_its_rho_promises(sigma: float, delta: str) -> None:
    """Gaussian noise is 1/(2σ²)-zCDP, and its true δ at any ε is known (Balle and Wang 2018)."""

    def phi(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    epsilon = float(to_approximate(Concentrated(1 / (2 * Fraction(sigma) ** 2)), delta).epsilon)
    true = phi(1 / (2 * sigma) - epsilon * sigma) - math.exp(epsilon) * phi(-1 / (2 * sigma) - epsilon * sigma)
    assert true <= float(delta)
    assert true > float(delta) / 30 or epsilon == 0  # and it is not far from needed


@settings(deadline=None)
@given(rhos, deltas)
def test_the_largest_rho_stays_within_the_limit_and_nearly_fills_it(rho: Fraction, delta: Fraction) -> None:
    limit = to_approximate(Concentrated(rho), delta)
    found = largest_concentrated(limit)
    assert to_approximate(found, delta).epsilon <= limit.epsilon
    if limit.epsilon:
        assert abs(found.rho / rho - 1) < Fraction(1, 10**9)
        more = Concentrated(found.rho * (1 + Fraction(1, 10**6)))
        assert to_approximate(more, delta).epsilon > limit.epsilon


@pytest.mark.parametrize(("rho", "delta"), [("1e-300", "1e-300"), ("1e300", "0.5"), ("1e-9", "1e-900"), ("5", "0.999")])
def test_extreme_numbers_are_no_trouble(rho: str, delta: str) -> None:
    found = to_approximate(Concentrated(rho), delta)
    assert largest_concentrated(found).rho * (1 + Fraction(1, 10**6)) >= 0
    assert to_approximate(largest_concentrated(found), delta).epsilon <= found.epsilon


def test_a_renyi_curve_is_restated_by_its_best_point() -> None:
    curve = [(order, Fraction(order, 10)) for order in (2, 4, 8, 16, 32, 64)]
    whole = to_approximate(Renyi(curve), "1e-6")
    each = [to_approximate(Renyi([point]), "1e-6").epsilon for point in curve]
    assert whole.epsilon == min(each)
    t = Decimal(7)
    by_hand = at_order(t, Decimal("0.1"), Decimal("1e-6"))
    assert abs(each[2] - Fraction(by_hand)) < Fraction(1, 10**15)


def test_a_curve_of_a_rho_cannot_beat_that_rho() -> None:
    curve = Renyi((1 + Fraction(n, 10), (1 + Fraction(n, 10)) * Fraction("0.3")) for n in range(1, 300))
    best, rho = to_approximate(curve, "1e-5").epsilon, to_approximate(Concentrated("0.3"), "1e-5").epsilon
    assert rho <= best <= rho * Fraction("1.001")


def test_what_has_an_epsilon_keeps_it() -> None:
    assert to_approximate(Pure("1/3"), "1e-6") == Approximate("1/3", 0)
    assert to_approximate(Approximate(1, "1e-9"), "1e-6") == Approximate(1, "1e-9")
    assert to_approximate(Concentrated(0), "1e-6") == Approximate(0, "1e-6")


def test_pure_becomes_half_its_square() -> None:
    assert to_concentrated(Pure("0.5")) == Concentrated("1/8")


@pytest.mark.parametrize("delta", [0, 1, 2])
def test_without_a_delta_between_nought_and_one_there_is_no_restatement(delta: int) -> None:
    with pytest.raises(NoPromise, match="between 0 and 1"):
        to_approximate(Concentrated(1), delta)
    with pytest.raises(NoPromise, match="between 0 and 1"):
        to_approximate(Renyi([(2, 1)]), delta)


def test_a_pure_limit_has_no_rho() -> None:
    with pytest.raises(NoPromise):
        largest_concentrated(Approximate(1, 0))


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
