"""Figures on a grid with noise, and the clamped mean."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.noise.bits import FixedBits, Repeatable, check_law

from discreet.core.loss import Concentrated, Pure
from discreet.errors import BadInput, NoPromise
from discreet.noise.grid import _LN_2, ClampedMean, Figure, GridGaussian, GridLaplace, OnGrid, nearest_step, steps_apart
from discreet.noise.laplace import DiscreteLaplace

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
    with pytest.raises(BadInput, match="finite figures"):
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


INCOMES = [1000, 2000, 3000, 2000, 1000, 6000, 2000, 10000, 2000, 4000]


def distribution(steps: int, epsilon: float, total: int, count: int) -> list[float]:
    """The probability of each point of the grid, from the definition."""
    if count == 0:
        end = math.exp(-epsilon / 2)
        return [end / 2, *[(1 - end) / (steps - 1)] * (steps - 1), end / 2]
    q = math.exp(-epsilon / (steps + 1.5))

    def below(z: int) -> float:
        """P(noise < z)."""
        return q ** (1 - z) / (1 + q) if z <= 0 else 1 - q**z / (1 + q)

    def at_least(z: int) -> float:
        """P(noise >= z): not as 1 - below, which loses the tail."""
        return below(1 - z)

    bounds = [count * i - count // 2 - total for i in range(steps + 1)] + [count * (steps + 1) - count // 2 - total]
    middle = [_between(bounds[i], bounds[i + 1], below, at_least) for i in range(1, steps)]
    return [below(bounds[1]), *middle, at_least(bounds[steps])]


def _between(low: int, high: int, below, at_least) -> float:  # type: ignore[no-untyped-def]
    return below(high) - below(low) if high <= 0 else at_least(low) - at_least(high)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 1.5, 3.0, 10.0])
@pytest.mark.parametrize("steps", [4, 5, 9])
def test_no_neighbours_differ_by_more_than_the_loss(steps: int, epsilon: float) -> None:
    claim = float(ClampedMean(0, steps, 1, epsilon).loss().epsilon)
    worst = 0.0
    for count in (0, 1, 2, 3, 4, 7):
        for total in range(count * steps + 1):
            here = distribution(steps, epsilon, total, count)
            assert math.fsum(here) == pytest.approx(1)
            for added in range(steps + 1):
                there = distribution(steps, epsilon, total + added, count + 1)
                worst = max(worst, *(abs(math.log(a / b)) for a, b in zip(here, there, strict=True)))
    assert 0.7 * claim < worst <= claim + 1e-9


@pytest.mark.parametrize("steps", [4, 6, 7, 12, 60, 400])
def test_from_no_row_to_one_nothing_is_lost_that_is_not_promised(steps: int) -> None:
    for epsilon in (0.001, 0.1, 0.5, 1.0, 1.2, 1.4, 1.6, 2.0, 3.0, 5.0, 20.0):
        claim = float(ClampedMean(0, steps, 1, epsilon).loss().epsilon)
        empty = distribution(steps, epsilon, 0, 0)
        for row in {0, 1, steps // 2, steps - 1, steps}:
            one = distribution(steps, epsilon, row, 1)
            assert max(abs(math.log(a / b)) for a, b in zip(empty, one, strict=True)) <= claim + 1e-9


def test_less_than_ln_2_cannot_be_promised_and_here_is_why() -> None:
    """One row at the top, and one more at the bottom: the answer leaves the ends twice as often."""
    steps, epsilon = 1000, 0.1
    alone, both = (distribution(steps, epsilon, steps, count) for count in (1, 2))
    ratio = (1 - both[0] - both[-1]) / (1 - alone[0] - alone[-1])
    assert ratio == pytest.approx(2, rel=0.01)
    assert ratio > math.exp(epsilon)
    with pytest.raises(NoPromise, match="ln 2"):
        ClampedMean.for_loss(Pure("0.69"), 0, 1000, 1)


@pytest.mark.parametrize(("total", "count"), [(0, 0), (0, 1), (3, 1), (4, 1), (5, 2), (9, 3)])
def test_the_mean_follows_the_law_on_every_path(total: int, count: int) -> None:
    mechanism = ClampedMean(0, 4, 1, "11/2")
    true = {Fraction(i): p for i, p in enumerate(distribution(4, 5.5, total, count))}
    check_law(lambda entropy: mechanism.mean_of_sum(total, count, entropy), true, rest=1e-2)


def test_without_rows_the_ends_have_the_probability_of_the_worked_case() -> None:
    mechanism = ClampedMean(2000, 4000, 500, 1)
    end = math.exp(-1 / 2) / 2
    true = {Fraction(2000): end, Fraction(4000): end} | {
        Fraction(point): (1 - 2 * end) / 3 for point in (2500, 3000, 3500)
    }
    check_law(lambda entropy: mechanism.mean([], entropy), true)


def test_the_ten_incomes_never_leave_their_interval_and_pile_up_at_its_ends() -> None:
    mechanism = ClampedMean.for_loss(Pure("1.2"), 2000, 4000, 1)
    entropy = Repeatable(1)
    drawn = [mechanism.mean(INCOMES, entropy) for _ in range(10_000)]
    assert all(2000 <= answer <= 4000 and answer.denominator == 1 for answer in drawn)
    law = distribution(2000, float(mechanism.epsilon), 7000, 10)
    for point, p, beside in ((2000, law[0], law[1]), (4000, law[-1], law[-2])):
        assert p > 100 * beside
        assert 10_000 * p > 5
        assert abs(drawn.count(point) - 10_000 * p) < 6.2 * math.sqrt(10_000 * p)
    far = mechanism.error("0.001", 10)
    assert sum(abs(answer - 2700) > far for answer in drawn) <= 40


def test_the_noise_is_the_least_that_keeps_the_loss() -> None:
    assert ClampedMean.for_loss(Pure(2), 0, 10, 1).epsilon == Fraction(2)
    made = ClampedMean.for_loss(Pure(1), 0, 10, 1)
    assert made.loss() == Pure(1)
    assert float(made.epsilon) == pytest.approx(2 - 2 * math.log(2))


def test_values_are_cut_to_the_bounds_and_put_on_the_grid() -> None:
    mechanism = ClampedMean("-1", 1, "0.1", 1)
    assert [mechanism.steps(value) for value in (-5, -1, -0.96, 0.0, Fraction(1, 3), 1, 10**9)] == [
        0, 0, 0, 10, 13, 20, 20,
    ]  # fmt: skip


@pytest.mark.parametrize(("low", "high", "grid"), [(0, 1, "0.3"), (0, 1, "1/2"), (1, 0, "0.1"), (0, 0, 1)])
def test_the_grid_must_divide_the_interval(low: int, high: int, grid: str) -> None:
    with pytest.raises(BadInput, match="whole number of steps"):
        ClampedMean(low, high, grid, 1)


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(BadInput, match="count"):
        ClampedMean(0, 4, 1, 1).mean_of_sum(0, -1)


def test_a_loss_of_exactly_ln_2_is_too_little() -> None:
    with pytest.raises(NoPromise, match="ln 2"):
        ClampedMean.for_loss(Pure(_LN_2), 0, 10, 1)
    assert ClampedMean.for_loss(Pure(_LN_2 + Fraction(1, 10**9)), 0, 10, 1).epsilon == Fraction(2, 10**9)


def test_the_error_of_a_mean_is_the_noise_over_the_rows_and_a_step() -> None:
    mechanism = ClampedMean(0, 10, "1/2", 1)
    noise = DiscreteLaplace(Fraction(43, 2))
    assert mechanism.error("0.05", 4) == (Fraction(noise.error("0.05"), 4) + 1) / 2
    with pytest.raises(BadInput, match="count"):
        mechanism.error("0.05", 0)


@pytest.mark.parametrize("noise", [-100, -6, 0, 1, 100])
def test_a_sum_with_noise_is_divided_and_cut(monkeypatch: pytest.MonkeyPatch, noise: int) -> None:
    """Three rows that are 10 steps together: (10 + noise) / 3 to the nearest, within 0 to 10."""
    monkeypatch.setattr(DiscreteLaplace, "draw", lambda self, entropy: noise)
    assert ClampedMean(0, 10, 1, 1).mean_of_sum(10, 3) == round(max(0, min(10, (10 + noise) / 3)))
    assert ClampedMean(0, 10, 1, 1).mean_of_sum(10 + 10**6, 3) == max(0, min(10, (30 + noise + 1) // 3))
    assert ClampedMean(0, 10, 1, 1).mean_of_sum(-5, 3) == max(0, min(10, (noise + 1) // 3))


def test_a_mean_is_in_the_unit_of_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DiscreteLaplace, "draw", lambda self, entropy: 0)
    mechanism = ClampedMean(1000, 3000, 500, 1)
    assert mechanism.mean([1500, 2000, 2500]) == 2000
    assert mechanism.mean([0, 0]) == 1000
    assert mechanism.mean([3000, 9000]) == 3000
    assert ClampedMean(-1, 1, "1/4", 1).mean([-1, 0, Fraction(1, 2), 1]) == Fraction(1, 4)
