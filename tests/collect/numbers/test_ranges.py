"""Ranges and quantiles by intervals of all lengths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.collect.reports import every
from tests.noise.bits import Repeatable

from discreet.core.loss import Pure
from discreet.errors import BadInput, DataError
from discreet.verbs.collect.frequency_oracle import ReportTally
from discreet.verbs.collect.numbers.grid import NumberGrid
from discreet.verbs.collect.numbers.ranges import RangeEstimate, Ranges
from discreet.verbs.collect.protocol import audit
from discreet.verbs.collect.question_sampling import QuestionSampling, compact_oracle, support_table

FALSE_POSITIVE = 1e-6


def test_levels_go_from_cells_to_a_few_long_intervals() -> None:
    assert Ranges(NumberGrid(0, 1, 256), 1).lengths == (1, 4, 16, 64)
    assert Ranges(NumberGrid(0, 1, 20), 1, fanout=3).lengths == (1, 3, 9)
    names = [oracle.name for oracle in Ranges(NumberGrid(0, 1, 256), 1).sampling.oracles]
    assert names == ["hadamard", "hadamard", "hadamard", "grr"]


@pytest.mark.parametrize(("cells", "fanout", "epsilon"), [(2, 2, "1"), (20, 3, "1/2"), (16, 4, "3")])
def test_the_promise_is_true(cells: int, fanout: int, epsilon: str) -> None:
    protocol = Ranges(NumberGrid(0, 1, cells), epsilon, fanout)
    result = audit(protocol)
    assert result.holds
    assert result.epsilon == pytest.approx(float(protocol.epsilon), rel=1e-9)
    assert protocol.loss == Pure(epsilon)


@pytest.mark.parametrize("d", [2, 5, 20])
def test_what_a_report_supports_is_what_its_protocol_says(d: int) -> None:
    oracle = compact_oracle(d, Ranges(NumberGrid(0, 1, 2), 1).epsilon)
    assert support_table(oracle).tolist() == every(oracle).supports.astype(bool).tolist()


@pytest.mark.parametrize(("cells", "fanout"), [(20, 3), (16, 4), (5, 2)])
def test_estimates_are_unbiased(cells: int, fanout: int) -> None:
    """Of what is expected on each level, the true shares come back."""
    protocol = Ranges(NumberGrid(0, 1, cells), 1, fanout)
    true = np.arange(1, cells + 1) / np.arange(1, cells + 1).sum()
    report_codes = []
    for people, (length, oracle) in enumerate(zip(protocol.lengths, protocol.sampling.oracles, strict=True), 1):
        on_level = np.add.reduceat(true, np.arange(0, cells, length))
        report_codes.append(1000 * people * on_level @ np.array(every(oracle).probabilities, dtype=float))
    result = RangeEstimate(protocol, tuple(report_codes), 0.95)
    np.testing.assert_allclose(result.shares, true, rtol=0, atol=1e-9)
    np.testing.assert_allclose(result.cdf[0], np.cumsum(true), rtol=0, atol=1e-9)
    assert result.between(0, 1).share == pytest.approx(1)
    assert result.between(0, 1).error_bar == pytest.approx(0, abs=1e-6)


def test_bars_and_quantiles_cover_at_the_stated_rate() -> None:
    surveys, n, entropy = 120, 2000, Repeatable(3)
    protocol = Ranges(NumberGrid(0, 32, 32), 2)
    values = np.random.default_rng(2).gamma(3, 3, n).clip(0, 31.9)
    below, median = (values < 9).mean(), np.ceil(np.sort(values)[n // 2 - 1])
    shares = quantiles = 0
    for _ in range(surveys):
        result = protocol.estimate(protocol.randomize(values, entropy=entropy), confidence=0.9)
        figure, middle = result.between(0, 9), result.quantile(0.5)
        shares += abs(figure.share - below) <= figure.error_bar
        quantiles += middle.low <= median <= middle.high
        assert middle.low <= middle.value <= middle.high
    least, most = stats.binom.ppf([FALSE_POSITIVE, 1 - FALSE_POSITIVE], surveys, 0.9)
    assert least <= shares <= most
    assert quantiles >= least


def test_levels_agree_and_are_better_together() -> None:
    """A range of many cells has a smaller error than its cells alone would give."""
    protocol = Ranges(NumberGrid(0, 64, 64), 1)
    result = protocol.estimate(protocol.randomize(np.arange(50_000) % 64, entropy=Repeatable(1)))
    parts = [result.between(at, at + 16) for at in (0, 16, 32, 48)]
    assert sum(part.share for part in parts) == pytest.approx(1)
    assert result.between(3, 61).error_bar < result.between(3, 4).error_bar * np.sqrt(58) / 3
    assert result.n == 50_000
    table = result.table().to_pydict()
    assert table["below"][:2] == [1, 2]
    assert table["cdf"][-1] == pytest.approx(1)
    assert table["cdf_error"][31] == pytest.approx(result.between(0, 32).error_bar)
    assert ReportTally(protocol).add(protocol.randomize([1.0, 2.0])).reports == 2


def test_devices_draw_each_level_as_often() -> None:
    protocol = Ranges(NumberGrid(0, 1, 20), 1, 3)
    report_codes = protocol.count(protocol.randomize(np.full(30_000, 0.33), entropy=Repeatable(4)))
    parts = protocol.sampling.split_counts(report_codes)
    probabilities = [
        np.array(every(oracle).probabilities[6 // length], dtype=float) / 3
        for oracle, length in zip(protocol.sampling.oracles, protocol.lengths, strict=True)
    ]
    mean = 30_000 * np.concatenate(probabilities)
    assert stats.chi2.sf(((np.concatenate(parts) - mean) ** 2 / mean).sum(), mean.size - 1) > FALSE_POSITIVE


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(BadInput, match="cells"):
        Ranges(NumberGrid(0, 1, 2000), 1)
    with pytest.raises(BadInput, match="fanout must be"):
        Ranges(NumberGrid(0, 1, 20), 1, 1)
    protocol = Ranges(NumberGrid(0, 1, 20), 1)
    with pytest.raises(BadInput, match="no reports"):
        protocol.estimate(protocol.randomize([0.5]))
    result = protocol.estimate(protocol.randomize(np.linspace(0, 1, 100)))
    with pytest.raises(BadInput, match="no cell"):
        result.between(0.5, 0.51)
    with pytest.raises(BadInput, match="quantile"):
        result.quantile(1)
    with pytest.raises(DataError, match="report"):
        protocol.count(protocol.randomize([0.5]).cast("uint64"))
    assert QuestionSampling(protocol.sampling.oracles) == protocol.sampling
