"""Losses restated: never understated."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.budget.convert import largest_concentrated, to_approximate
from discreet.core.loss import Approximate, Concentrated, Pure, Renyi
from discreet.errors import NoPromise

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


@pytest.mark.parametrize("delta", [0, 1, 2])
def test_without_a_delta_between_nought_and_one_there_is_no_restatement(delta: int) -> None:
    with pytest.raises(NoPromise, match="between 0 and 1"):
        to_approximate(Concentrated(1), delta)
    with pytest.raises(NoPromise, match="between 0 and 1"):
        to_approximate(Renyi([(2, 1)]), delta)


def test_a_pure_limit_has_no_rho() -> None:
    with pytest.raises(NoPromise):
        largest_concentrated(Approximate(1, 0))
