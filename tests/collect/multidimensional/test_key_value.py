"""Keys with values: all people with few keys exactly, more of them by simulation."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.noise.bits import Repeatable

from discreet.core.exact import exp_lower
from discreet.core.loss import Pure
from discreet.errors import BadInput, DataError
from discreet.verbs.collect.frequency_oracle import ReportTally
from discreet.verbs.collect.multidimensional.key_value import KeyValue, KeyValueGRR, KeyValueUE
from discreet.verbs.collect.protocol import audit

FALSE_POSITIVE = 1e-6
both = pytest.mark.parametrize("kind", [KeyValueGRR, KeyValueUE])
lengths = pytest.mark.parametrize("length", [1, 2, 4])


@both
@lengths
@pytest.mark.parametrize("epsilon", ["1/100", "1", "10", "20"])
def test_the_promise_is_true_and_little_is_given_away(kind: type[KeyValue], length: int, epsilon: str) -> None:
    protocol = kind(3, epsilon, length=length)
    result = audit(protocol)
    assert result.holds
    assert result.epsilon == pytest.approx(float(protocol.epsilon), rel=1e-9)
    assert protocol.loss == Pure(epsilon)


def everybody(keys: int) -> list[list[tuple[int, int]]]:
    """All that a person can have: of each key nothing, the lowest value or the highest."""
    return [
        [(key, sign) for key, sign in enumerate(signs) if sign is not None]
        for signs in product((None, 0, 1), repeat=keys)
    ]


def bits_row(protocol: KeyValueUE, pairs: list[tuple[int, int]]) -> list[Fraction]:
    """The chance of every report (nothing, minus or plus for each key) of a person, by hand."""
    d, among = len(protocol.keys), max(len(pairs), protocol.length)
    reports = list(product(range(3), repeat=d))
    distribution = protocol.distribution_of(d)
    rows = [distribution.rows[1 + 2 * key + sign] for key, sign in pairs]
    rows += [distribution.rows[0]] * (among - len(pairs))
    return [
        sum((prod(row[key][report_codes] for key, report_codes in enumerate(report)) for row in rows), Fraction(0))
        / among
        for report in reports
    ]


@both
@lengths
def test_nobody_s_reports_differ_more_than_the_law_says(kind: type[KeyValue], length: int) -> None:
    protocol = kind(3, 1, length=length)
    row = protocol.row if isinstance(protocol, KeyValueGRR) else lambda pairs: bits_row(protocol, pairs)
    table = [row(pairs) for pairs in everybody(3)]
    assert all(sum(one) == 1 for one in table)
    worst = max(max(column) / min(column) for column in zip(*table, strict=True))
    assert worst <= exp_lower(Fraction(1))
    assert worst == audit(protocol).ratio or length > 1


@both
def test_devices_draw_by_the_law(kind: type[KeyValue]) -> None:
    """A person with two keys of three and a length of three: one of the three drawn keys is made up."""
    protocol, n = kind(3, 1, low=0, high=10, length=3), 15_000
    drawn = protocol.randomize([{0: 10, 2: 0}] * n, entropy=Repeatable(1))
    pairs = [(0, 1), (2, 0)]
    if isinstance(protocol, KeyValueGRR):
        probabilities, codes = protocol.row(pairs), drawn.to_numpy()
    else:
        probabilities = bits_row(protocol, pairs)
        minus, plus = np.frombuffer(b"".join(drawn.to_pylist()), np.uint8).reshape(-1, 2).T
        codes = sum(((minus >> key & 1) + 2 * (plus >> key & 1)) * 3 ** (2 - key) for key in range(3))
    mean = n * np.array(probabilities, dtype=float)
    seen = np.bincount(codes, minlength=mean.size)
    assert stats.chi2.sf(((seen - mean) ** 2 / mean).sum(), mean.size - 1) > FALSE_POSITIVE


@both
def test_shares_and_means_come_back_exactly(kind: type[KeyValue]) -> None:
    """Of what is expected of people with one, two or no keys."""
    protocol = kind(3, 1, length=2)
    have = [[], [(0, 1)], [(0, 1), (1, 0)], [(0, 0), (1, 0)], [(1, 1)]]
    counts = np.zeros(7)
    for pairs in have:
        if isinstance(protocol, KeyValueGRR):
            report_codes = np.array(protocol.row(pairs), dtype=float)
            counts += 1000 * np.concatenate([[1], report_codes[:6:2], report_codes[1:6:2]])
        else:
            row, reports = np.array(bits_row(protocol, pairs), dtype=float), np.array(list(product(range(3), repeat=3)))
            counts += 1000 * np.concatenate([[1], row @ (reports == 1), row @ (reports == 2)])
    result = protocol.estimate_counts(counts)
    np.testing.assert_allclose(result.shares, [3 / 5, 3 / 5, 0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(result.means[:2], [1 / 3, -1 / 3], rtol=0, atol=1e-9)


@both
def test_bars_and_intervals_cover_at_the_stated_rate(kind: type[KeyValue]) -> None:
    surveys, n, entropy = 100, 1500, Repeatable(3)
    generator = np.random.default_rng(1)
    has = generator.random((n, 3)) < [0.8, 0.4, 0.02]
    values = np.clip(generator.normal([7, 2, 5], 2, (n, 3)), 0, 10)
    starts = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
    keys = np.nonzero(has)[1]
    people = pa.MapArray.from_arrays(starts.astype(np.int32), keys, values[has])
    protocol = kind(3, 3, low=0, high=10, length=3)
    true_mean = values[has[:, 1], 1].mean()
    shares = means = 0
    for _ in range(surveys):
        result = protocol.estimate(protocol.randomize(people, entropy=entropy), confidence=0.9)
        low, high = result.mean_intervals
        shares += abs(result.shares[0] - has[:, 0].mean()) <= result.error_bars[0]
        means += low[1] <= true_mean <= high[1]
        assert low[2] >= 0
        assert high[2] <= 10
    least, most = stats.binom.ppf([FALSE_POSITIVE, 1 - FALSE_POSITIVE], surveys, 0.9)
    assert least <= shares <= most
    assert least <= means <= most


@both
def test_counts_merge_and_bad_reports_are_refused(kind: type[KeyValue]) -> None:
    protocol = kind("abc", 1, length=2)
    reports = protocol.randomize([{"a": 1.0}, {}, {"b": -1, "c": 0.5}, {"a": 0, "b": 0, "c": 0}] * 50)
    assert reports.type == protocol.report_type
    merged = protocol.count(reports.slice(0, 60)) + protocol.count(reports.slice(60))
    assert protocol.count(pa.chunked_array([reports.slice(0, 7), reports.slice(7)])).tolist() == merged.tolist()
    assert ReportTally(protocol).add(reports).counts.tolist() == merged.tolist()
    assert protocol.estimate(reports).table().column_names[:2] == ["key", "share"]
    bad = pa.array([10], pa.uint8()) if kind is KeyValueGRR else pa.array([b"\x01\x01"], pa.binary(2))
    for wrong in (bad, pa.array(["x"]), pa.nulls(1, protocol.report_type)):
        with pytest.raises(DataError, match="report"):
            protocol.count(wrong)
    assert protocol.parameters == {"keys": list("abc"), "low": "-1", "high": "1", "length": 2}


def test_maps_that_are_part_of_a_longer_column_are_read_from_their_start() -> None:
    whole = pa.array([[("a", 1.0)], [("b", -1.0)], [("b", -1.0)]], pa.map_(pa.string(), pa.float64()))
    protocol = KeyValueGRR("ab", 20)
    result = protocol.estimate(protocol.randomize(whole.slice(1), entropy=Repeatable(1)))
    assert result.shares == pytest.approx([0, 1], abs=1e-6)
    assert result.means[1] == pytest.approx(-1, abs=1e-6)
    chunked = pa.chunked_array([whole.slice(0, 1), whole.slice(1)])
    assert len(protocol.randomize(chunked)) == 3


def test_what_would_break_the_promise_is_refused() -> None:
    twice = pa.array([[("a", 1.0), ("a", 1.0)]], pa.map_(pa.string(), pa.float64()))
    with pytest.raises(DataError, match="twice"):
        KeyValueGRR("ab", 1).randomize(twice)
    with pytest.raises(DataError, match="missing"):
        KeyValueGRR("ab", 1).randomize(pa.nulls(1, twice.type))
    with pytest.raises(BadInput, match="length"):
        KeyValueUE("ab", 1, length=0)


def test_many_keys_are_drawn_in_parts() -> None:
    protocol, n = KeyValueUE(200_000, 1), 340
    result = protocol.count(protocol.randomize([{199_999: 1.0}] * n, entropy=Repeatable(1)))
    assert result[0] == n
    signs = result[1:].reshape(2, -1)[:, :-1]
    for plane in signs:
        assert stats.binomtest(int(plane.sum()), n * plane.size, float(protocol.q_other) / 2).pvalue > FALSE_POSITIVE
