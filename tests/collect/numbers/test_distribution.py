"""Distributions by square waves."""

from __future__ import annotations

import numpy as np
import pytest
from tests.noise.bits import Repeatable

from discreet.errors import BadInput
from discreet.verbs.collect.numbers.distribution import distribution, distribution_of
from discreet.verbs.collect.numbers.grid import Grid
from discreet.verbs.collect.numbers.window import SquareWave

GRID = Grid(0, 100, 100)


def test_the_likeliest_distribution_behind_what_is_expected_is_the_true_one() -> None:
    protocol = SquareWave(Grid(0, 1, 4), 3)
    true = np.array([0.1, 0.2, 0.4, 0.25, 0.05])
    found = distribution_of(protocol, np.rint(1e9 * true @ protocol.chances).astype(np.int64), way="em")
    np.testing.assert_allclose(found.shares, true, atol=1e-3)
    assert found.n == pytest.approx(1e9, abs=10)
    assert found.mean == pytest.approx(true @ [0, 0.25, 0.5, 0.75, 1], abs=1e-3)


def test_smoothing_helps_where_numbers_are_spread_smoothly() -> None:
    values = np.clip(np.random.default_rng(1).normal(40, 15, 100_000), 0, 100)
    protocol = SquareWave(GRID, 1)
    reports = protocol.randomize(values, entropy=Repeatable(1))
    true = np.cumsum(np.bincount(np.rint(values).astype(int), minlength=101)) / len(values)
    off = {way: np.abs(distribution(protocol, reports, way=way).cdf - true).max() for way in ("em", "ems")}
    assert off["ems"] < 0.02
    assert off["ems"] < off["em"]
    smooth = distribution(protocol, reports)
    assert smooth.way == "ems"
    assert smooth.table().column_names == ["value", "share", "cdf"]
    assert smooth.shares.sum() == pytest.approx(1)
    assert smooth.quantile(0.5) == pytest.approx(40, abs=2)
    assert (smooth.quantile(0), smooth.quantile(1)) == (0, 100)
    assert protocol.estimate(reports).mean == pytest.approx(
        values.mean(), abs=3 * protocol.estimate(reports).deviation + 1
    )


def test_what_is_no_way_is_refused() -> None:
    protocol = SquareWave(GRID, 1)
    reports = protocol.randomize(np.arange(100))
    with pytest.raises(BadInput, match="em"):
        distribution(protocol, reports, way="power")
    with pytest.raises(BadInput, match="quantile"):
        distribution(protocol, reports).quantile(1.1)
