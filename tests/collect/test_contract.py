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
from discreet.core.loss import Pure
from discreet.errors import BadInput, DataError, NotFound
from discreet.verbs.collect.estimate import Estimate
from discreet.verbs.collect.frequency.count_mean_sketch import Sketch
from discreet.verbs.collect.frequency_oracle import Client, Tally
from discreet.verbs.collect.loss_audit import audit
from discreet.verbs.collect.protocol_choice import PROTOCOLS, from_dict, to_dict
from discreet.verbs.collect.report_distribution import Alike, worst

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
    "coins": lambda: PROTOCOLS["coins"](2),
    "cms": lambda: PROTOCOLS["cms"](12, 1, functions=4, buckets=16),
    "hcms": lambda: PROTOCOLS["hcms"](12, 1, functions=4, buckets=16),
}


LAST = {client.name: place for place, client in enumerate(SMALL)}
"""The example of each protocol that bad reports are made for."""


@cache
def all_reports(place: int) -> Every:
    return every(SMALL[place])


def named(place: int) -> str:
    return f"{SMALL[place].name}-{len(SMALL[place].domain)}-{place}"


small = pytest.mark.parametrize("place", range(len(SMALL)), ids=named)
independent = [place for place, client in enumerate(SMALL) if not isinstance(client, Sketch)]


def test_every_protocol_is_here() -> None:
    assert {client.name for client in SMALL} == set(PROTOCOLS) == set(BAD)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_says_why_it_is_private(name: str) -> None:
    said = sys.modules[PROTOCOLS[name].__module__].__doc__ or ""
    assert "Why this is private" in " ".join(said.split())


@small
def test_the_promise_is_true_and_little_is_given_away(place: int) -> None:
    client = SMALL[place]
    found = audit(client)
    assert found.holds
    assert found.epsilon == pytest.approx(float(client.epsilon), rel=1e-9)
    assert client.loss == Pure(client.epsilon)


@small
def test_answers_that_are_said_to_be_alike_are(place: int) -> None:
    """The symmetric audit beside that of all pairs, and of every pair in both orders."""
    law, d = SMALL[place].law, len(SMALL[place].domain)
    full = whole(law)
    assert worst(law)[0] == worst(full)[0]
    assert full.answers == law.answers == d
    if isinstance(law, Alike):
        assert {full.ratio(i, j) for i in range(d) for j in range(d) if i != j} == {law.ratio(0, 1)}
        assert law.pair.ratio(0, 1) == law.pair.ratio(1, 0)


@pytest.mark.parametrize("name", ["grr", "oue", "subset", "pgr", "olh", "hadamard", "hcms"])
def test_many_values_are_audited_in_a_moment(name: str) -> None:
    begun, client = process_time(), PROTOCOLS[name](5000, 1)
    assert audit(client).holds
    assert process_time() - begun < 5  # of all pairs it would be minutes


@small
def test_the_law_is_that_of_all_reports(place: int) -> None:
    """Each answer's chances add up to one, and their quotients are as the audit says."""
    found = all_reports(place)
    assert all(sum(row) == 1 for row in found.chances)
    largest = max(
        one / other
        for i, row in enumerate(found.chances)
        for j, beside in enumerate(found.chances)
        if i != j
        for one, other in zip(row, beside, strict=True)
        if one
    )
    assert largest == audit(found.client).ratio


@small
def test_a_report_supports_the_own_value_with_p_and_another_with_q_exactly(place: int) -> None:
    found = all_reports(place)
    d = len(found.client.domain)
    for answer, row in enumerate(found.chances):
        for value in range(d):
            supported = sum(chance for chance, told in zip(row, found.supports[:, value], strict=True) if told)
            assert supported == (found.client.own_of(value) if value == answer else found.client.other_of(value))


@dataclass
class Expected:
    """A tally of what is expected of so many people."""

    client: Client
    people: NDArray[np.int64]

    @property
    def reports(self) -> int:
        return int(self.people.sum())

    @property
    def supports(self) -> NDArray[np.float64]:
        owns, others = self.chances
        return np.array(
            [
                float(int(n) * own + (self.reports - int(n)) * other)
                for n, own, other in zip(self.people, owns, others, strict=True)
            ]
        )

    @property
    def chances(self) -> tuple[list[Fraction], list[Fraction]]:
        every = range(len(self.client.domain))
        return [self.client.own_of(value) for value in every], [self.client.other_of(value) for value in every]


def crowd(d: int) -> NDArray[np.int64]:
    """Nobody has the first value, most have the last."""
    return 1000 * np.arange(d) ** 2


@small
def test_the_estimate_is_unbiased(place: int) -> None:
    expected = Expected(SMALL[place], crowd(len(SMALL[place].domain)))
    estimate = Estimate.of(expected, 0.95)
    np.testing.assert_allclose(estimate.counts, expected.people, rtol=0, atol=1e-9 * expected.reports)


@pytest.mark.parametrize("place", independent, ids=named)
def test_the_variance_is_that_of_the_law(place: int) -> None:
    """Of reports that are independent of each other; for shared functions see frequency/test_sketch.py."""
    client = SMALL[place]
    expected = Expected(client, crowd(len(client.domain)))
    owns, others = expected.chances
    exact = [
        (int(n) * p * (1 - p) + (expected.reports - int(n)) * q * (1 - q)) / (p - q) ** 2
        for n, p, q in zip(expected.people, owns, others, strict=True)
    ]
    found = client.variances(expected.reports, expected.people / expected.reports)
    np.testing.assert_allclose(found, np.array(exact, dtype=float), rtol=1e-9)
    share = expected.people[0] / expected.reports
    assert client.variance(expected.reports, share) == pytest.approx(float(exact[0]), rel=1e-9)


@small
@pytest.mark.parametrize("answer", [0, -1])
def test_devices_draw_by_the_law(place: int, answer: int) -> None:
    """Chi-square over all reports; those that are rare are taken together."""
    found, n = all_reports(place), 30_000
    client = found.client
    drawn = client.randomize([client.domain.values[answer]] * n, entropy=Repeatable(place))
    told, often = np.unique(np.asarray(drawn.to_numpy(zero_copy_only=False)), return_counts=True)
    numbers = {report: index for index, report in enumerate(found.reports.to_numpy(zero_copy_only=False).tolist())}
    seen = np.zeros(len(numbers))
    seen[[numbers[report] for report in told.tolist()]] = often
    mean = n * np.array(found.chances[answer], dtype=float)
    assert not seen[mean == 0].any()
    rare = mean < 5
    seen, mean = np.append(seen[~rare], seen[rare].sum()), np.append(mean[~rare], mean[rare].sum())
    kept = mean > 0
    off = ((seen[kept] - mean[kept]) ** 2 / mean[kept]).sum()
    assert stats.chi2.sf(off, kept.sum() - 1) > FALSE_POSITIVE


@pytest.mark.parametrize("name", PROTOCOLS)
def test_bars_cover_at_the_stated_rate(name: str) -> None:
    """Each survey has its own functions, where there are public ones."""
    surveys, n, confidence = 200, 2000, 0.9
    made = LARGE.get(name, lambda: PROTOCOLS[name](12, 1))
    clients = [made() for _ in range(surveys)] if "cms" in name else [made()] * surveys
    d = len(clients[0].domain)
    answers = np.minimum(np.random.default_rng(1).geometric(0.5, n) - 1, d - 1)
    people, entropy = np.bincount(answers, minlength=d), Repeatable(2)
    alone = together = 0
    for client in clients:
        estimate = client.estimate(client.randomize(answers, entropy=entropy), confidence=confidence)
        off = np.abs(estimate.counts - people)
        alone += off[1] <= estimate.bars[1]
        together += (off <= estimate.together).all()
    least, most = stats.binom.ppf([FALSE_POSITIVE, 1 - FALSE_POSITIVE], surveys, confidence)
    assert least <= alone <= most
    assert together >= least


@small
def test_counts_merge_like_reports(place: int) -> None:
    found = all_reports(place)
    client, reports = found.client, found.reports
    whole = client.tally().add(reports)
    half = len(reports) // 3 + 1
    parts = client.tally().add(reports.slice(half)).merge(client.tally().add(reports.slice(0, half)))
    chunks = client.tally().add(pa.chunked_array([reports.slice(0, 1), reports.slice(1)], client.report_type))
    for other in (parts, chunks, Tally.from_dict(client, loads(dumps(whole.to_dict())))):
        assert other.reports == whole.reports == len(reports)
        assert other.counts.tolist() == whole.counts.tolist()
    assert whole.supports.tolist() == found.supports.sum(axis=0).tolist()
    assert whole.counts.size == client.kept


@small
def test_no_reports_are_no_reports(place: int) -> None:
    client = SMALL[place]
    none = client.randomize([])
    assert none.type == client.report_type
    assert client.tally().add(none).reports == 0
    with pytest.raises(BadInput, match="no reports"):
        client.estimate(none)


@small
def test_bad_reports_are_refused_and_change_nothing(place: int) -> None:
    client = SMALL[place]
    tally = client.tally().add(all_reports(place).reports)
    before = tally.to_dict()
    with pytest.raises(DataError, match="is missing"):
        tally.add(pa.array([None], client.report_type))
    with pytest.raises(DataError, match="A report of"):
        tally.add(pa.array(["yes"]))
    if place == LAST[client.name]:
        for bad in BAD[client.name]:
            chunks = [all_reports(place).reports, pa.array([bad], client.report_type)]
            with pytest.raises(DataError, match="A report"):
                tally.add(pa.chunked_array(chunks))
    assert tally.to_dict() == before


@small
def test_a_protocol_is_written_down_and_read_again(place: int) -> None:
    client = SMALL[place]
    if type(client) is not PROTOCOLS[client.name]:
        client = PROTOCOLS[client.name](4, 1)
    again = from_dict(loads(dumps(to_dict(client))))
    assert again == client
    assert repr(again) == repr(client)
    assert hash(again) == hash(client)


def test_what_is_no_protocol_is_refused() -> None:
    written = to_dict(PROTOCOLS["rappor"](3, 1))
    with pytest.raises(NotFound, match="no protocol"):
        from_dict(written | {"protocol": "os.system"})
    with pytest.raises(BadInput, match="forever"):
        from_dict(written | {"with": {"epsilon": "1"}})
    with pytest.raises(BadInput, match="not what it should be"):
        from_dict(written | {"with": {"epsilon": 1.0, "forever": "2"}})


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if name != "coins"])
@pytest.mark.parametrize("epsilon", ["1/1000", "7", "20"])
def test_any_loss_can_be_kept_to(name: str, epsilon: str) -> None:
    """From next to nothing to next to no protection; the exact audit again."""
    more = {"functions": 2, "buckets": 4} if name in ("cms", "hcms") else {}
    twice = name in ("rappor", "l-grr", "l-osue", "loloha")
    more |= {"forever": "20"} if twice and epsilon == "7" else {}
    if twice and epsilon == "20":
        with pytest.raises(BadInput, match="forever"):
            PROTOCOLS[name](5, epsilon, forever=20)
        return
    found = audit(PROTOCOLS[name](5, epsilon, **more))
    assert found.holds
