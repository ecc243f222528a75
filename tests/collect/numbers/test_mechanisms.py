"""Means: what every protocol for them keeps to, exactly by its law and by simulation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.noise.bits import Repeatable

from discreet.core.exact import exp_lower
from discreet.core.families import MEAN_PROTOCOLS
from discreet.core.loss import Pure
from discreet.errors import BadInput, DataError
from discreet.verbs.collect.frequency_oracle import ReportTally
from discreet.verbs.collect.numbers.grid import NumberGrid
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.numbers.mechanisms import Channel, Hybrid, Laplace, rounded_channel, to_units
from discreet.verbs.collect.protocol import audit
from discreet.verbs.collect.protocol_choice import choose_mean_protocol
from discreet.verbs.collect.report_distribution import Matrix, PublicChoice

FALSE_POSITIVE = 1e-6
SMALL = NumberGrid(-3, 5, 8)
protocols = pytest.mark.parametrize("name", MEAN_PROTOCOLS.names())


def rows(protocol: MeanProtocol) -> list[list[Fraction]]:
    """The exact chance of each report for each point."""
    distribution = protocol.report_distribution
    if isinstance(protocol, Hybrid):
        assert isinstance(distribution, PublicChoice)
        duchi, window = protocol.duchi.report_distribution.rows, protocol.piecewise.report_distribution.rows
        share = protocol.share
        return [
            [(1 - share) * one for one in a] + [share * one for one in b] for a, b in zip(duchi, window, strict=True)
        ]
    assert isinstance(distribution, Matrix)
    return [list(row) for row in distribution.rows]


@protocols
@pytest.mark.parametrize("epsilon", ["1/100", "1", "5", "20"])
@pytest.mark.parametrize("steps", [1, 2, 8])
def test_the_promise_is_true_and_little_is_given_away(name: str, epsilon: str, steps: int) -> None:
    protocol = MEAN_PROTOCOLS.entry(name).kind(NumberGrid(0, 1, steps), epsilon)
    result = audit(protocol)
    assert result.holds
    assert result.epsilon == pytest.approx(float(protocol.epsilon), rel=1e-5)
    assert protocol.loss == Pure(epsilon)


@protocols
def test_the_promise_is_true_on_a_finer_grid(name: str) -> None:
    """The largest chance of a report over the least, over all points at once."""
    protocol = MEAN_PROTOCOLS.entry(name).kind(NumberGrid(0, 100, 60), 1)
    for distribution in (
        protocol.report_distribution.outcomes
        if isinstance(protocol.report_distribution, PublicChoice)
        else [protocol.report_distribution]
    ):
        columns = zip(*distribution.rows, strict=True)
        assert max(max(column) / min(column) for column in columns) <= exp_lower(Fraction(1))


@protocols
@pytest.mark.parametrize("epsilon", ["1/10", "1", "6"])
def test_reports_say_the_number_on_average(name: str, epsilon: str) -> None:
    protocol = MEAN_PROTOCOLS.entry(name).kind(SMALL, epsilon)
    for point, row in enumerate(rows(protocol)):
        mean = sum(probability * document for probability, document in zip(row, protocol.report_values, strict=True))
        assert mean == point if name != "laplace" else abs(mean - point) < Fraction(1, 10**9)


@protocols
def test_the_variance_is_that_of_the_law(name: str) -> None:
    protocol = MEAN_PROTOCOLS.entry(name).kind(SMALL, 1)
    np.testing.assert_allclose(protocol.probabilities, np.array(rows(protocol), dtype=float), rtol=1e-12)
    exact = [
        sum(
            probability * (document - point) ** 2
            for probability, document in zip(row, protocol.report_values, strict=True)
        )
        for point, row in enumerate(rows(protocol))
    ]
    np.testing.assert_allclose(protocol.variances, np.array(exact, dtype=float), rtol=1e-9)


@protocols
@pytest.mark.parametrize("point", [0, 3, 8])
def test_devices_draw_by_the_law(name: str, point: int) -> None:
    protocol, n = MEAN_PROTOCOLS.entry(name).kind(SMALL, 1), 30_000
    drawn = protocol.randomize(np.full(n, SMALL.value(point)), entropy=Repeatable(point))
    mean = n * np.array(rows(protocol)[point], dtype=float)
    off = ((protocol.count(drawn) - mean) ** 2 / mean).sum()
    assert stats.chi2.sf(off, len(mean) - 1) > FALSE_POSITIVE


@protocols
def test_bars_cover_at_the_stated_rate(name: str) -> None:
    surveys, n, entropy = 200, 1000, Repeatable(7)
    protocol = MEAN_PROTOCOLS.entry(name).kind(NumberGrid(0, 100), 1)
    values = np.random.default_rng(1).gamma(2, 10, n)
    true, covered = np.clip(values, 0, 100).mean(), 0
    for _ in range(surveys):
        result = protocol.estimate(protocol.randomize(values, entropy=entropy), confidence=0.9)
        covered += abs(result.mean - true) <= result.error_bar
    least, most = stats.binom.ppf([FALSE_POSITIVE, 1 - FALSE_POSITIVE], surveys, 0.9)
    assert least <= covered <= most


@protocols
def test_counts_merge_and_bad_reports_are_refused(name: str) -> None:
    protocol = MEAN_PROTOCOLS.entry(name).kind(SMALL, 1)
    reports = protocol.randomize(np.linspace(-3, 5, 999))
    assert reports.type == protocol.report_type
    halves = protocol.count(reports.slice(0, 400)) + protocol.count(reports.slice(400))
    chunks = pa.chunked_array([reports.slice(0, 10), reports.slice(10)])
    assert protocol.count(reports).tolist() == halves.tolist() == protocol.count(chunks).tolist()
    assert ReportTally(protocol).add(chunks).counts.tolist() == halves.tolist()
    assert protocol.estimate_counts(halves) == protocol.estimate(reports)
    assert "999 reports" in str(protocol.estimate(reports))
    for bad in (pa.array([protocol.outcomes], protocol.report_type), pa.array(["x"]), pa.array([None], pa.uint8())):
        with pytest.raises(DataError, match="report"):
            protocol.count(bad)
    with pytest.raises(BadInput, match="no reports"):
        protocol.estimate(protocol.randomize([]))
    with pytest.raises(BadInput, match="Confidence"):
        protocol.estimate(reports, confidence=1)


@protocols
def test_a_protocol_is_made_again_of_its_parameters(name: str) -> None:
    protocol = MEAN_PROTOCOLS.entry(name).kind(NumberGrid("-1/3", 2, 7), "1/2")
    assert MEAN_PROTOCOLS.entry(name).kind(NumberGrid(**protocol.parameters), str(protocol.epsilon)) == protocol
    assert hash(MEAN_PROTOCOLS.entry(name).kind(NumberGrid("-1/3", 2, 7), "1/2")) == hash(protocol)


def test_theory_s_variances_are_met() -> None:
    """From -1 to 1: Duchi ((e+1)/(e-1))² - x²; piecewise at its worst; cut Laplace noise below all Laplace noise."""
    grid, e = NumberGrid(-1, 1), math.e
    worst = {name: float(MEAN_PROTOCOLS.entry(name).kind(grid, 1).variances.max()) for name in MEAN_PROTOCOLS.names()}
    assert worst["duchi"] == pytest.approx(((e + 1) / (e - 1)) ** 2, rel=1e-3)
    half = math.exp(0.5)
    assert worst["piecewise"] == pytest.approx(1 / (half - 1) + (half + 3) / (3 * (half - 1) ** 2), rel=1e-2)
    assert worst["laplace"] < 6 < 8
    assert choose_mean_protocol(grid, 1).name == "hybrid"
    assert choose_mean_protocol(grid, 10).name in ("piecewise", "hybrid")


def test_ends_of_laplace_stand_for_all_that_lies_beyond() -> None:
    document = Laplace(NumberGrid(0, 4, 4), 4).report_values
    q = math.exp(-1)
    assert list(map(float, document)) == pytest.approx([-q / (1 - q), 1, 2, 3, 4 + q / (1 - q)])


def test_a_table_is_checked_and_drawn_by_its_parts() -> None:
    channel = Channel((to_units([1, 3]), to_units([3, 1])))
    assert channel.report_distribution.rows == ((Fraction(1, 4), Fraction(3, 4)), (Fraction(3, 4), Fraction(1, 4)))
    assert channel.keeps_to(Fraction("1.0987"))
    assert not channel.keeps_to(Fraction("1.0986"))
    with pytest.raises(BadInput, match="too small"):
        rounded_channel(lambda epsilon: [[1, 10**30], [10**30, 1]], Fraction(1))
