"""Ranges and quantiles by intervals of all lengths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.collect.reports import every
from tests.noise.bits import Repeatable

from discreet.core.loss import Pure
from discreet.errors import BadInput, DataError
from discreet.verbs.collect.frequency_oracle import Tally
from discreet.verbs.collect.loss_audit import audit
from discreet.verbs.collect.numbers.grid import Grid
from discreet.verbs.collect.numbers.ranges import RangeEstimate, Ranges
from discreet.verbs.collect.question_sampling import OneOf, short, support_table

FALSE_POSITIVE = 1e-6


def test_levels_go_from_cells_to_a_few_long_intervals() -> None:
    assert Ranges(Grid(0, 1, 256), 1).lengths == (1, 4, 16, 64)
    assert Ranges(Grid(0, 1, 20), 1, fanout=3).lengths == (1, 3, 9)
    names = [client.name for client in Ranges(Grid(0, 1, 256), 1).levels.clients]
    assert names == ["hadamard", "hadamard", "hadamard", "grr"]


@pytest.mark.parametrize(("cells", "fanout", "epsilon"), [(2, 2, "1"), (20, 3, "1/2"), (16, 4, "3")])
def test_the_promise_is_true(cells: int, fanout: int, epsilon: str) -> None:
    protocol = Ranges(Grid(0, 1, cells), epsilon, fanout)
    found = audit(protocol)
    assert found.holds
    assert found.epsilon == pytest.approx(float(protocol.epsilon), rel=1e-9)
    assert protocol.loss == Pure(epsilon)


@pytest.mark.parametrize("d", [2, 5, 20])
def test_what_a_report_supports_is_what_its_protocol_says(d: int) -> None:
    client = short(d, Ranges(Grid(0, 1, 2), 1).epsilon)
    assert support_table(client).tolist() == every(client).supports.astype(bool).tolist()


@pytest.mark.parametrize(("cells", "fanout"), [(20, 3), (16, 4), (5, 2)])
def test_estimates_are_unbiased(cells: int, fanout: int) -> None:
    """Of what is expected on each level, the true shares come back."""
    protocol = Ranges(Grid(0, 1, cells), 1, fanout)
    true = np.arange(1, cells + 1) / np.arange(1, cells + 1).sum()
    told = []
    for people, (length, client) in enumerate(zip(protocol.lengths, protocol.levels.clients, strict=True), 1):
        on_level = np.add.reduceat(true, np.arange(0, cells, length))
        told.append(1000 * people * on_level @ np.array(every(client).chances, dtype=float))
    found = RangeEstimate(protocol, tuple(told), 0.95)
    np.testing.assert_allclose(found.shares, true, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.cdf[0], np.cumsum(true), rtol=0, atol=1e-9)
    assert found.between(0, 1).share == pytest.approx(1)
    assert found.between(0, 1).bar == pytest.approx(0, abs=1e-6)


def test_bars_and_quantiles_cover_at_the_stated_rate() -> None:
    surveys, n, entropy = 120, 2000, Repeatable(3)
    protocol = Ranges(Grid(0, 32, 32), 2)
    values = np.random.default_rng(2).gamma(3, 3, n).clip(0, 31.9)
    below, median = (values < 9).mean(), np.ceil(np.sort(values)[n // 2 - 1])
    shares = quantiles = 0
    for _ in range(surveys):
        found = protocol.estimate(protocol.randomize(values, entropy=entropy), confidence=0.9)
        figure, middle = found.between(0, 9), found.quantile(0.5)
        shares += abs(figure.share - below) <= figure.bar
        quantiles += middle.low <= median <= middle.high
        assert middle.low <= middle.value <= middle.high
    least, most = stats.binom.ppf([FALSE_POSITIVE, 1 - FALSE_POSITIVE], surveys, 0.9)
    assert least <= shares <= most
    assert quantiles >= least


def test_levels_agree_and_are_better_together() -> None:
    """A range of many cells has a smaller error than its cells alone would give."""
    protocol = Ranges(Grid(0, 64, 64), 1)
    found = protocol.estimate(protocol.randomize(np.arange(50_000) % 64, entropy=Repeatable(1)))
    parts = [found.between(at, at + 16) for at in (0, 16, 32, 48)]
    assert sum(part.share for part in parts) == pytest.approx(1)
    assert found.between(3, 61).bar < found.between(3, 4).bar * np.sqrt(58) / 3
    assert found.n == 50_000
    table = found.table().to_pydict()
    assert table["below"][:2] == [1, 2]
    assert table["cdf"][-1] == pytest.approx(1)
    assert table["cdf_error"][31] == pytest.approx(found.between(0, 32).bar)
    assert Tally(protocol).add(protocol.randomize([1.0, 2.0])).reports == 2


def test_devices_draw_each_level_as_often() -> None:
    protocol = Ranges(Grid(0, 1, 20), 1, 3)
    told = protocol.count(protocol.randomize(np.full(30_000, 0.33), entropy=Repeatable(4)))
    parts = protocol.levels.apart(told)
    chances = [
        np.array(every(client).chances[6 // length], dtype=float) / 3
        for client, length in zip(protocol.levels.clients, protocol.lengths, strict=True)
    ]
    mean = 30_000 * np.concatenate(chances)
    assert stats.chi2.sf(((np.concatenate(parts) - mean) ** 2 / mean).sum(), mean.size - 1) > FALSE_POSITIVE


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(BadInput, match="cells"):
        Ranges(Grid(0, 1, 2000), 1)
    with pytest.raises(BadInput, match="two by two"):
        Ranges(Grid(0, 1, 20), 1, 1)
    protocol = Ranges(Grid(0, 1, 20), 1)
    with pytest.raises(BadInput, match="no reports"):
        protocol.estimate(protocol.randomize([0.5]))
    found = protocol.estimate(protocol.randomize(np.linspace(0, 1, 100)))
    with pytest.raises(BadInput, match="no cell"):
        found.between(0.5, 0.51)
    with pytest.raises(BadInput, match="quantile"):
        found.quantile(1)
    with pytest.raises(DataError, match="report"):
        protocol.count(protocol.randomize([0.5]).cast("uint64"))
    assert OneOf(protocol.levels.clients) == protocol.levels
