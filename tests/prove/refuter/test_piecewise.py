"""Piecewise functions against quadrature and against sums written out."""

from fractions import Fraction
from math import exp, isclose

import pytest

from discreet.verbs.prove.refuter.arithmetic import (
    BallArithmetic,
    Intractable,
    Logarithm,
    RationalArithmetic,
    ball,
    ball_precision,
    bounds,
    load_flint,
)
from discreet.verbs.prove.refuter.piecewise import density
from discreet.verbs.prove.refuter.symbolic import NoiseDraw

BALLS, HALVES = BallArithmetic(), RationalArithmetic(Fraction(2))
LN2 = Logarithm(Fraction(2))


def masses(reach=60):
    """Chances of the discrete Laplace distribution with e^(-1/b) = 1/2."""
    return {k: Fraction(1, 3) * Fraction(1, 2) ** abs(k) for k in range(-reach, reach + 1)}


def test_densities_have_total_one():
    for noise in (
        NoiseDraw("Laplace", Fraction(3, 2)),
        NoiseDraw("Exp", Fraction(2)),
        NoiseDraw("DLaplace", Fraction(3)),
    ):
        total = density(BALLS, noise).total()
        assert total.contains(1)
        assert float(total.rad()) < 1e-12
    assert density(HALVES, NoiseDraw("DLaplace", 1 / LN2)).total() == 1


@pytest.mark.parametrize(("slope", "constant"), [("1", "0"), ("-1", "1/3"), ("1/2", "-2")])
def test_an_integral_between_lines_is_what_quadrature_gives(slope, constant):
    from scipy.integrate import quad

    lower = (Fraction(slope), Fraction(constant))
    laplace, wide = density(BALLS, NoiseDraw("Laplace", Fraction(1))), density(BALLS, NoiseDraw("Laplace", Fraction(2)))
    upper = (Fraction(1), Fraction(1))
    inner = laplace.integral([lower], [upper], whole=False)

    def by_hand(x):
        low, high = (float(slope) * x + float(constant) for slope, constant in (lower, upper))
        return quad(lambda y: exp(-abs(y)) / 2, low, high, points=[0])[0] if low < high else 0.0

    for x in (Fraction(-7, 2), Fraction(-2, 5), Fraction(1, 7), Fraction(5, 4), Fraction(4)):
        assert isclose(float(inner.at(x)), by_hand(float(x)), abs_tol=1e-12)
    both = float(wide.times(inner).total())
    assert isclose(both, quad(lambda x: exp(-abs(x) / 2) / 4 * by_hand(x), -60, 60, limit=400)[0], abs_tol=1e-7)


def test_sums_of_integers_are_exact():
    law = masses()
    function = density(HALVES, NoiseDraw("DLaplace", 1 / LN2))
    inner = function.integral([(Fraction(1), Fraction(1))], [(Fraction(-1), Fraction(9))], whole=True)
    for x in range(-6, 8):
        assert inner.at(Fraction(x)) == sum((law[k] for k in range(x + 1, 9 - x + 1)), Fraction(0))
    squared = function.times(inner).times(function)  # rates that cancel give polynomials
    expected = sum(law[x] ** 2 * sum((law[k] for k in range(x + 1, 9 - x + 1)), Fraction(0)) for x in range(-25, 5))
    assert abs(squared.total() - expected) < Fraction(1, 2**40)


def test_polynomials_appear_where_rates_cancel():
    law = masses()
    function = density(HALVES, NoiseDraw("DLaplace", 1 / LN2))
    convolved = function.times(
        function.along((Fraction(-1), Fraction(5)), whole=True)
    ).total()  # the chance that two draws add up to 5
    assert abs(convolved - sum(law[k] * law[5 - k] for k in range(-50, 51))) < Fraction(1, 2**40)


def test_continuous_noise_has_no_rational_chances():
    with pytest.raises(Intractable):
        density(HALVES, NoiseDraw("Laplace", 1 / LN2))


def test_a_jump_is_no_point_to_take_a_density_at():
    function = density(BALLS, NoiseDraw("Exp", Fraction(1)))
    assert float(function.at(Fraction(-1))) == 0
    with pytest.raises(Intractable):
        function.at(Fraction(0))


def test_bounds_of_balls_are_short_and_never_inside():
    with ball_precision():
        part = ball(Fraction(1, 1009))
        low, high = bounds(part)
        assert low < Fraction(1, 1009) < high
        assert high - low < Fraction(1, 2**190)
        assert high.denominator.bit_length() < 210
        assert bounds(part - part)[0] == 0, "a chance is not below 0"
        assert bounds(ball(Fraction(-(10**12))).exp()) == (0, Fraction(1, 2**4000))
        assert bounds(ball(Fraction(2**300))) == (2**300, 2**300)
        assert bounds(ball(Fraction(0))) == (0, 0)
        for number in (ball(Fraction(10**12)).exp(), load_flint().arb("inf"), load_flint().arb("nan")):
            with pytest.raises(Intractable):
                bounds(number)
