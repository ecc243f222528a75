"""The truncated rank mechanism, and the worked case of the noisy answers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from tests.noise.bits import check_law

from discreet.errors import BadInput
from discreet.noise.rank import Rank


def test_the_noisy_answers_of_the_worked_case() -> None:
    assert Rank((30, 40, 50)).distribution(40) == {30: Fraction(1, 4), 40: Fraction(1, 2), 50: Fraction(1, 4)}
    assert Rank((60, 90, 100)).distribution(100) == {60: Fraction(1, 7), 90: Fraction(2, 7), 100: Fraction(4, 7)}


@pytest.mark.parametrize("truth", [60, 90, 100])
@pytest.mark.parametrize("factor", [2, "3/2"])
def test_answers_follow_the_law_on_every_path(truth: int, factor: str | int) -> None:
    mechanism = Rank((60, 90, 100), factor)
    true = {value: float(p) for value, p in mechanism.distribution(truth).items()}
    check_law(lambda entropy: mechanism.answer(truth, entropy), true)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("factor", [2, "5/4"])
@pytest.mark.parametrize("steps", [1, 2, 10])
def test_the_loss_is_the_largest_there_is(count: int, factor: str | int, steps: int) -> None:
    mechanism = Rank(range(count), factor)
    laws = [mechanism.distribution(truth) for truth in range(count)]
    ratios = [
        laws[i][value] / laws[j][value]
        for i in range(count)
        for j in range(count)
        if abs(i - j) <= steps
        for value in range(count)
    ]
    assert math.exp(mechanism.loss(steps).epsilon) == pytest.approx(max(ratios))
    assert mechanism.loss(steps).epsilon >= math.log(max(ratios)) - 1e-15


def test_a_step_costs_more_than_the_factor_because_the_ends_have_fewer_neighbours() -> None:
    """From 30 to 40 the answer 30 goes from 4/7 to 1/4: a factor of 16/7, not of 2."""
    assert float(Rank((30, 40, 50)).loss().epsilon) == pytest.approx(math.log(16 / 7))


def test_the_error_is_the_smallest_that_holds_for_every_truth() -> None:
    mechanism = Rank((30, 40, 50))
    assert [mechanism.error(beta) for beta in (0.6, 0.5, 0.43, 0.42, 0.15, 0.14)] == [0, 0 + 0, 1, 1, 1, 2]


@pytest.mark.parametrize("values", [(), (1, 1)])
def test_values_must_be_declared_once_each(values: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match="each once"):
        Rank(values)


def test_wrong_factors_truths_and_steps_are_refused() -> None:
    with pytest.raises(BadInput, match="above 1"):
        Rank((1, 2), 1)
    with pytest.raises(BadInput, match="not one of the declared"):
        Rank((1, 2)).answer(3)
    with pytest.raises(BadInput, match="steps"):
        Rank((1, 2)).loss(0)
