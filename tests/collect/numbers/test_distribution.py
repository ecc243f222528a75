"""Distributions by square waves."""

from __future__ import annotations

import numpy as np
import pytest
from tests.noise.bits import Repeatable

from discreet.errors import BadInput
from discreet.verbs.collect.numbers.distribution import estimate_distribution, estimate_distribution_from_counts
from discreet.verbs.collect.numbers.grid import NumberGrid
from discreet.verbs.collect.numbers.mechanisms import SquareWave

GRID = NumberGrid(0, 100, 100)


def test_the_likeliest_distribution_behind_what_is_expected_is_the_true_one() -> None:
    protocol = SquareWave(NumberGrid(0, 1, 4), 3)
    true = np.array([0.1, 0.2, 0.4, 0.25, 0.05])
    result = estimate_distribution_from_counts(
        protocol, np.rint(1e9 * true @ protocol.probabilities).astype(np.int64), algorithm="em"
    )
    np.testing.assert_allclose(result.shares, true, atol=1e-3)
    assert result.n == pytest.approx(1e9, abs=10)
    assert result.mean == pytest.approx(true @ [0, 0.25, 0.5, 0.75, 1], abs=1e-3)


def test_smoothing_helps_where_numbers_are_spread_smoothly() -> None:
    values = np.clip(np.random.default_rng(1).normal(40, 15, 100_000), 0, 100)
    protocol = SquareWave(GRID, 1)
    reports = protocol.randomize(values, entropy=Repeatable(1))
    true = np.cumsum(np.bincount(np.rint(values).astype(int), minlength=101)) / len(values)
    off = {
        way: np.abs(estimate_distribution(protocol, reports, algorithm=way).cdf - true).max() for way in ("em", "ems")
    }
    assert off["ems"] < 0.02
    assert off["ems"] < off["em"]
    smooth = estimate_distribution(protocol, reports)
    assert smooth.algorithm == "ems"
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
        estimate_distribution(protocol, reports, algorithm="power")
    with pytest.raises(BadInput, match="quantile"):
        estimate_distribution(protocol, reports).quantile(1.1)
