"""Noise on a declared grid: what can come out never tells what went in."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.noise.bits import FixedBits, Repeatable

from discreet.core.loss import Concentrated, Pure
from discreet.errors import BadInput
from discreet.noise.grid import Figure, GridGaussian, GridLaplace, OnGrid, nearest_step, steps_apart

MECHANISMS = [GridLaplace("1/2", "1/8"), GridGaussian("1/4", "0.1")]
each_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
fractions = st.fractions(min_value=-1000, max_value=1000, max_denominator=1000)


@given(fractions, fractions, st.fractions(min_value=Fraction(1, 100), max_value=50, max_denominator=100))
def test_figures_are_never_further_apart_on_the_grid_than_declared(a: Fraction, b: Fraction, grid: Fraction) -> None:
    if a != b:
        assert abs(nearest_step(a, grid) - nearest_step(b, grid)) <= steps_apart(abs(a - b), grid)


def test_sensitivity_is_rounded_up_to_the_grid() -> None:
    assert GridLaplace(1, "0.25").loss("0.3") == Pure("1/2")
    assert GridGaussian(1, "0.25").loss("0.3") == Concentrated("1/8")
    assert GridLaplace.for_loss(Pure("1/2"), "0.3", "0.25").scale == 1
    assert GridGaussian.for_loss(Concentrated("1/8"), "0.3", "0.25").sigma_squared == 1


@each_mechanism
@pytest.mark.parametrize("pair", [(0, 1), (0.0, 0.1), (Decimal("0.3"), Fraction(1, 3))])
def test_the_precision_attack_fails(mechanism: OnGrid, pair: tuple[Figure, Figure]) -> None:
    """Neighbours 0 and 1: every answer that comes out of one can come out of the other, and is on the grid."""
    first, second = ({mechanism.add(figure, Repeatable(seed)) for seed in range(300)} for figure in pair)
    assert all((answer / mechanism.grid).denominator == 1 for answer in first | second)
    shift = (nearest_step(pair[1], mechanism.grid) - nearest_step(pair[0], mechanism.grid)) * mechanism.grid
    assert {answer + shift for answer in first} == second


def test_the_precision_attack_succeeds_on_floating_point() -> None:
    """What the grid protects from: most sums with 1 cannot be sums with 0.1, bit for bit."""
    noise = [0.1 * seed + 1e-9 for seed in range(1, 300)]
    with_one = {1 + value for value in noise}
    with_tenth = {0.1 + value for value in noise}
    assert any(value - 1 not in {v - 0.1 for v in with_tenth} for value in with_one)


@each_mechanism
@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), Decimal("NaN"), Decimal("-Infinity")])
def test_figures_that_are_not_finite_are_refused(mechanism: OnGrid, wrong: Figure) -> None:
    with pytest.raises(BadInput, match="not finite"):
        mechanism.add(wrong, FixedBits(b""))


@each_mechanism
def test_errors_and_variances_are_in_the_unit_of_the_figure(mechanism: OnGrid) -> None:
    assert mechanism.error(0.05) == (mechanism.noise.error(0.05) + Fraction(1, 2)) * mechanism.grid
    assert mechanism.variance == pytest.approx(mechanism.noise.variance * float(mechanism.grid) ** 2)


def test_halves_go_up_on_both_sides_of_zero() -> None:
    assert [nearest_step(Fraction(x, 2), Fraction(1)) for x in (-3, -1, 1, 3)] == [-1, 0, 1, 2]


@pytest.mark.parametrize("grid", [0, -1, "x"])
def test_a_grid_is_above_zero(grid: object) -> None:
    for made in (GridLaplace, GridGaussian):
        with pytest.raises(BadInput, match="grid"):
            made(1, grid)
