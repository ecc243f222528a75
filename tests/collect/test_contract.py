"""What every frequency protocol keeps to: small ones exactly, by all their reports; larger ones by simulation."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from time import process_time

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.collect.reports import SMALL, Every, every, whole
from tests.noise.bits import Repeatable

from discreet.core.document import dumps, loads
from discreet.core.families import FREQUENCY_ORACLES
from discreet.core.loss import Pure
from discreet.errors import BadInput, DataError, NotFound
from discreet.verbs.collect.frequency.count_mean_sketch import CountMeanSketch
from discreet.verbs.collect.frequency.randomized_response import Coins
from discreet.verbs.collect.frequency_oracle import FrequencyEstimate, FrequencyOracle, ReportTally
from discreet.verbs.collect.protocol import audit
from discreet.verbs.collect.protocol_choice import frequency_oracle
from discreet.verbs.collect.report_distribution import SymmetricAnswers, worst_ratio

FALSE_POSITIVE = 1e-6
BAD = {
    "coins": [2],
    "grr": [7],
    "sue": [b"\x20"],
    "oue": [b"\x40"],
    "rappor": [b"\x08"],
    "blh": [b"\x07" + bytes(8), bytes(4) + b"\x07" + bytes(4), bytes(8) + b"\x02"],
    "olh": [bytes(8) + b"\x04"],
    "subset": [b"\x00\x00", b"\xff\x00", b"\x07\x80"],
    "hadamard": [16],
    "cms": [b"\x1b\x00\x00", b"\x00\x00\x04"],
    "hcms": [b"\x1b\x00\x00\x00", b"\x00\x00\x04\x00"],
    "pgr": [200],
    "l-grr": [7],
    "l-osue": [b"\x40"],
    "loloha": [bytes(8) + b"\x04"],
}
LARGE = {
    "coins": lambda: frequency_oracle("coins")(2),
    "cms": lambda: frequency_oracle("cms")(12, 1, functions=4, buckets=16),
    "hcms": lambda: frequency_oracle("hcms")(12, 1, functions=4, buckets=16),
}


LAST = {oracle.name: index for index, oracle in enumerate(SMALL)}
"""The example of each protocol that bad reports are made for."""


@cache
def all_reports(index: int) -> Every:
    return every(SMALL[index])


def named(index: int) -> str:
    return f"{SMALL[index].name}-{len(SMALL[index].domain)}-{index}"


small = pytest.mark.parametrize("index", range(len(SMALL)), ids=named)
independent = [index for index, oracle in enumerate(SMALL) if not isinstance(oracle, CountMeanSketch)]


def test_every_protocol_is_here() -> None:
    assert {oracle.name for oracle in SMALL} == set(FREQUENCY_ORACLES.names()) == set(BAD)


@pytest.mark.parametrize("name", FREQUENCY_ORACLES.names())
def test_a_protocol_says_why_it_is_private(name: str) -> None:
    document = sys.modules[frequency_oracle(name).__module__].__doc__ or ""
    assert "Why this is private" in " ".join(document.split())


@small
def test_the_promise_is_true_and_little_is_given_away(index: int) -> None:
    oracle = SMALL[index]
    result = audit(oracle)
    assert result.holds
    assert result.epsilon == pytest.approx(float(oracle.epsilon), rel=1e-9)
    assert oracle.loss == Pure(oracle.epsilon)


@small
def test_answers_that_are_said_to_be_alike_are(index: int) -> None:
    """The symmetric audit beside that of all pairs, and of every pair in both orders."""
    distribution, d = SMALL[index].report_distribution, len(SMALL[index].domain)
    full = whole(distribution)
    assert worst_ratio(distribution)[0] == worst_ratio(full)[0]
    assert full.answers == distribution.answers == d
    if isinstance(distribution, SymmetricAnswers):
        assert {full.ratio(i, j) for i in range(d) for j in range(d) if i != j} == {distribution.ratio(0, 1)}
        assert distribution.pair.ratio(0, 1) == distribution.pair.ratio(1, 0)


@pytest.mark.parametrize("name", ["grr", "oue", "subset", "pgr", "olh", "hadamard", "hcms"])
def test_many_values_are_audited_in_a_moment(name: str) -> None:
    begun, oracle = process_time(), frequency_oracle(name)(5000, 1)
    assert audit(oracle).holds
    assert process_time() - begun < 5  # of all pairs it would be minutes


@small
def test_the_law_is_that_of_all_reports(index: int) -> None:
    """Each answer's chances add up to one, and their quotients are as the audit says."""
    result = all_reports(index)
    assert all(sum(row) == 1 for row in result.probabilities)
    largest = max(
        one / other
        for i, row in enumerate(result.probabilities)
        for j, beside in enumerate(result.probabilities)
        if i != j
        for one, other in zip(row, beside, strict=True)
        if one
    )
    assert largest == audit(result.oracle).ratio


@small
def test_a_report_supports_the_own_value_with_p_and_another_with_q_exactly(index: int) -> None:
    result = all_reports(index)
    d = len(result.oracle.domain)
    for answer, row in enumerate(result.probabilities):
        for value in range(d):
            supported = sum(
                probability
                for probability, report_codes in zip(row, result.supports[:, value], strict=True)
                if report_codes
            )
            p, q = p_and_q(result.oracle, value)
            assert supported == (p if value == answer else q)


def p_and_q(oracle: FrequencyOracle, value: int) -> tuple[Fraction, Fraction]:
    """p and q of one value: where the second coin is not fair, each has its own."""
    return (oracle._p(value), oracle._q(value)) if isinstance(oracle, Coins) else (oracle.p_own, oracle.q_other)


@dataclass
class Expected:
    """A tally of what is expected of so many people."""

    oracle: FrequencyOracle
    people: NDArray[np.int64]

    @property
    def reports(self) -> int:
        return int(self.people.sum())

    @property
    def supports(self) -> NDArray[np.float64]:
        owns, others = self.probabilities
        return np.array(
            [
                float(int(n) * own + (self.reports - int(n)) * other)
                for n, own, other in zip(self.people, owns, others, strict=True)
            ]
        )

    @property
    def probabilities(self) -> tuple[list[Fraction], list[Fraction]]:
        every = range(len(self.oracle.domain))
        pairs = [p_and_q(self.oracle, value) for value in every]
        return [p for p, _ in pairs], [q for _, q in pairs]


def crowd(d: int) -> NDArray[np.int64]:
    """Nobody has the first value, most have the last."""
    return 1000 * np.arange(d) ** 2


@small
def test_the_estimate_is_unbiased(index: int) -> None:
    expected = Expected(SMALL[index], crowd(len(SMALL[index].domain)))
    estimate = FrequencyEstimate.of(expected, 0.95)
    np.testing.assert_allclose(estimate.counts, expected.people, rtol=0, atol=1e-9 * expected.reports)


@pytest.mark.parametrize("index", independent, ids=named)
def test_the_variance_is_that_of_the_law(index: int) -> None:
    """Of reports that are independent of each other; for shared functions see frequency/test_sketch.py."""
    oracle = SMALL[index]
    expected = Expected(oracle, crowd(len(oracle.domain)))
    owns, others = expected.probabilities
    exact = [
        (int(n) * p * (1 - p) + (expected.reports - int(n)) * q * (1 - q)) / (p - q) ** 2
        for n, p, q in zip(expected.people, owns, others, strict=True)
    ]
    result = oracle.variances(expected.reports, expected.people / expected.reports)
    np.testing.assert_allclose(result, np.array(exact, dtype=float), rtol=1e-9)
    share = expected.people[0] / expected.reports
    assert oracle.variance(expected.reports, share) == pytest.approx(float(exact[0]), rel=1e-9)


@small
@pytest.mark.parametrize("answer", [0, -1])
def test_devices_draw_by_the_law(index: int, answer: int) -> None:
    """Chi-square over all reports; those that are rare are taken together."""
    result, n = all_reports(index), 30_000
    oracle = result.oracle
    drawn = oracle.randomize([oracle.domain.values[answer]] * n, entropy=Repeatable(index))
    report_codes, count_outcomes = np.unique(np.asarray(drawn.to_numpy(zero_copy_only=False)), return_counts=True)
    numbers = {report: index for index, report in enumerate(result.reports.to_numpy(zero_copy_only=False).tolist())}
    seen = np.zeros(len(numbers))
    seen[[numbers[report] for report in report_codes.tolist()]] = count_outcomes
    mean = n * np.array(result.probabilities[answer], dtype=float)
    assert not seen[mean == 0].any()
    rare = mean < 5
    seen, mean = np.append(seen[~rare], seen[rare].sum()), np.append(mean[~rare], mean[rare].sum())
    kept = mean > 0
    off = ((seen[kept] - mean[kept]) ** 2 / mean[kept]).sum()
    assert stats.chi2.sf(off, kept.sum() - 1) > FALSE_POSITIVE


@pytest.mark.parametrize("name", FREQUENCY_ORACLES.names())
def test_bars_cover_at_the_stated_rate(name: str) -> None:
    """Each survey has its own functions, where there are public ones."""
    surveys, n, confidence = 200, 2000, 0.9
    made = LARGE.get(name, lambda: frequency_oracle(name)(12, 1))
    oracles = [made() for _ in range(surveys)] if "cms" in name else [made()] * surveys
    d = len(oracles[0].domain)
    answers = np.minimum(np.random.default_rng(1).geometric(0.5, n) - 1, d - 1)
    people, entropy = np.bincount(answers, minlength=d), Repeatable(2)
    alone = together = 0
    for oracle in oracles:
        estimate = oracle.estimate(oracle.randomize(answers, entropy=entropy), confidence=confidence)
        off = np.abs(estimate.counts - people)
        alone += off[1] <= estimate.error_bars[1]
        together += (off <= estimate.error_bars_together).all()
    least, most = stats.binom.ppf([FALSE_POSITIVE, 1 - FALSE_POSITIVE], surveys, confidence)
    assert least <= alone <= most
    assert together >= least


@small
def test_counts_merge_like_reports(index: int) -> None:
    result = all_reports(index)
    oracle, reports = result.oracle, result.reports
    whole = oracle.tally().add(reports)
    half = len(reports) // 3 + 1
    parts = oracle.tally().add(reports.slice(half)).merge(oracle.tally().add(reports.slice(0, half)))
    chunks = oracle.tally().add(pa.chunked_array([reports.slice(0, 1), reports.slice(1)], oracle.report_type))
    for other in (parts, chunks, ReportTally.from_dict(oracle, loads(dumps(whole.to_dict())))):
        assert other.reports == whole.reports == len(reports)
        assert other.counts.tolist() == whole.counts.tolist()
    assert whole.supports.tolist() == result.supports.sum(axis=0).tolist()
    assert whole.counts.size == oracle.counter_length


@small
def test_no_reports_are_no_reports(index: int) -> None:
    oracle = SMALL[index]
    none = oracle.randomize([])
    assert none.type == oracle.report_type
    assert oracle.tally().add(none).reports == 0
    with pytest.raises(BadInput, match="no reports"):
        oracle.estimate(none)


@small
def test_bad_reports_are_refused_and_change_nothing(index: int) -> None:
    oracle = SMALL[index]
    tally = oracle.tally().add(all_reports(index).reports)
    before = tally.to_dict()
    with pytest.raises(DataError, match="is missing"):
        tally.add(pa.array([None], oracle.report_type))
    with pytest.raises(DataError, match="A report of"):
        tally.add(pa.array(["yes"]))
    if index == LAST[oracle.name]:
        for bad in BAD[oracle.name]:
            chunks = [all_reports(index).reports, pa.array([bad], oracle.report_type)]
            with pytest.raises(DataError, match="A report"):
                tally.add(pa.chunked_array(chunks))
    assert tally.to_dict() == before


def test_a_name_that_is_no_protocol_is_refused() -> None:
    with pytest.raises(NotFound, match="no protocol"):
        frequency_oracle("os.system")


@pytest.mark.parametrize("name", [name for name in FREQUENCY_ORACLES.names() if name != "coins"])
@pytest.mark.parametrize("epsilon", ["1/1000", "7", "20"])
def test_any_loss_can_be_kept_to(name: str, epsilon: str) -> None:
    """From next to nothing to next to no protection; the exact audit again."""
    more = {"functions": 2, "buckets": 4} if name in ("cms", "hcms") else {}
    twice = name in ("rappor", "l-grr", "l-osue", "loloha")
    more |= {"permanent_epsilon": "20"} if twice and epsilon == "7" else {}
    if twice and epsilon == "20":
        with pytest.raises(BadInput, match="permanent_epsilon"):
            frequency_oracle(name)(5, epsilon, permanent_epsilon=20)
        return
    result = audit(frequency_oracle(name)(5, epsilon, **more))
    assert result.holds
