"""A day of places: its budget, its test, and its error."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from tests.noise.bits import Repeatable

from discreet.core.loss import Pure
from discreet.errors import BadInput, DataError
from discreet.verbs.collect.locations.planar_laplace import UNIT, Region
from discreet.verbs.collect.locations.trajectory import PredictiveTrajectory, Trajectory

REGION = Region(2000, 2000, 50)
INDEPENDENT = Trajectory(REGION, "1.386", 200, 24)
PREDICTIVE = PredictiveTrajectory(REGION, "1.386", 200, 24, near=200, fresh=3)


def commuters(n: int) -> np.ndarray:
    home, work = np.random.default_rng(1).uniform(0, 2000, (2, n, 1, 2))
    hour = np.arange(24)[None, :, None]
    return np.where((hour >= 9) & (hour < 17), work, home)


def test_a_day_s_losses_add_up_to_its_budget() -> None:
    """Every point's loss with a step of a metre, in exact rationals: at most the day's, and nearly that."""
    spent = [
        INDEPENDENT.noise.per_metre * 24,
        PREDICTIVE.noise.per_metre * PREDICTIVE.fresh + PREDICTIVE.test.per_metre * 23,
    ]
    for day, each in zip((INDEPENDENT, PREDICTIVE), spent, strict=True):
        assert each == day.per_metre
        assert day.loss_per_day == Pure("1.386") == day.loss_at(200)
        assert 2 * day.loss_at(100).epsilon > day.epsilon > day.loss_at(100).epsilon


@pytest.mark.parametrize("steps_away", [0, 3, 8])
def test_the_test_is_a_coin_with_the_stated_chance(steps_away: int) -> None:
    """P(N + noise <= edge) for discrete Laplace noise of the stated rate, in closed form."""
    n, q = 20_000, math.exp(-float(PREDICTIVE.test.rate))
    indices = np.tile([[10 + steps_away, 10]], (n, 1))
    predicted = np.full(n, REGION.codes(np.array([10, 10])))
    passed = PREDICTIVE.is_near(indices, predicted, Repeatable(steps_away)).sum()
    room = 4 * UNIT - steps_away * UNIT
    probability = 1 - q ** (room + 1) / (1 + q) if room >= 0 else q**-room / (1 + q)
    assert stats.binomtest(int(passed), n, probability).pvalue > 1e-6


def test_no_more_points_are_fresh_than_were_paid_for() -> None:
    days = np.random.default_rng(2).uniform(0, 2000, (500, 24, 2))
    report_codes = PREDICTIVE.randomize(days, entropy=Repeatable(1))
    assert report_codes.type == PREDICTIVE.report_type
    codes = report_codes.flatten().to_numpy().reshape(500, 24)
    assert ((np.diff(codes.astype(int), axis=1) != 0).sum(axis=1) <= PREDICTIVE.fresh - 1).all()


def test_staying_where_one_is_makes_the_error_smaller() -> None:
    days = commuters(1000)
    off = []
    for day in (INDEPENDENT, PREDICTIVE):
        codes = day.randomize(days, entropy=Repeatable(3)).flatten().to_numpy().astype(np.int64)
        off.append(np.linalg.norm(REGION.metres(codes).reshape(days.shape) - days, axis=-1).mean())
    assert off[1] < 0.8 * off[0]


def test_what_is_no_day_is_refused() -> None:
    with pytest.raises(BadInput, match="points per day"):
        Trajectory(REGION, 1, 100, 0)
    with pytest.raises(BadInput, match="distance in metres"):
        Trajectory(REGION, 1, 0, 5)
    for wrong in ({"fresh": 0}, {"fresh": 9}, {"for_tests": 1}, {"for_tests": 0}):
        with pytest.raises(BadInput, match="predictive"):
            PredictiveTrajectory(REGION, 1, 100, 8, **({"near": 100, "fresh": 2} | wrong))
    for wrong in (np.zeros((3, 23, 2)), np.zeros((24, 2))):
        with pytest.raises(DataError, match="A day needs 24"):
            INDEPENDENT.randomize(wrong)
    assert PREDICTIVE.parameters["fresh"] == 3
    assert INDEPENDENT.parameters["points"] == 24
