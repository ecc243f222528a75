"""Protocols over time: exact losses of the two steps, for one report, for several, and for ever.

A device remembers by its secret alone.
"""

from __future__ import annotations

import hmac
import math
from fractions import Fraction
from hashlib import sha256
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.collect.reports import whole
from tests.noise.bits import Repeatable

from discreet.core.exact import exp_lower
from discreet.errors import BadInput, DataError, NoPromise
from discreet.noise.stream import Keyed
from discreet.verbs.collect.frequency.randomized_response import GRR
from discreet.verbs.collect.frequency.unary_encoding import UnaryEncoding
from discreet.verbs.collect.longitudinal.dbitflip import DBitFlip
from discreet.verbs.collect.longitudinal.loloha import LGRR, LOLOHA
from discreet.verbs.collect.longitudinal.memoization import VERSION, Device, MemoizedOracle, power_lower
from discreet.verbs.collect.longitudinal.rappor import LOSUE, RAPPOR, MemoizedUnaryEncoding
from discreet.verbs.collect.protocol import LossAudit, audit
from discreet.verbs.collect.report_distribution import (
    IndependentReports,
    MappedAnswers,
    Matrix,
    ReportDistribution,
    worst_ratio,
)

SOME: list[MemoizedOracle] = [
    LGRR(4, 1, 2),
    LGRR(2, "1/2", 4),
    LOSUE(3, 1, 2),
    LOSUE(3, 2, "5/2"),
    RAPPOR(3, 1),
    RAPPOR(3, "1/2", 4),
    LOLOHA(9, 1, 2),
    LOLOHA(9, 1, 3, buckets=2),
]
KNOWN = {  # version 1: never to be changed
    LGRR("abcd", 1, 2): "eb5b136fc7c0da13",
    LOSUE("abcd", 1, 2): "4adf853dc0040cb6",
    RAPPOR("abcd", 1, 2): "54ab0e7440ecf487",
    LOLOHA("abcd", 1, 2): "54f174a89993de0c",
    DBitFlip("abcd", 1, 2): "94a1645623bfce34",
    LGRR(300, "1/2", 3): "6570df27e5497322",
    LOSUE(130, 2, 5): "f2f56c59809592b7",
    RAPPOR(130, 2, 5): "7f56714fece46135",
    LOLOHA(1000, "1/3", "7/3", 4): "8d06bbf97e5238fd",
    DBitFlip(70, 1, 9): "e5b33d6a13dea2d0",
}
CHANCES = {  # in 2**-64ths
    LGRR("abcd", 1, 2): 13119962536085084704,
    LOSUE("abcd", 1, 2): 9223372036854775808,
    RAPPOR(130, 2, 5): 17047407640960284829,
    LOLOHA(1000, "1/3", "7/3", 4): 14289655912026293080,
}
PROTOCOLS = list(KNOWN)[:5]
SECRETS = [f"the secret of device {number:>4}".encode() for number in range(300)]


def chain(permanent: Matrix, step: list[list[Fraction]], rounds: int) -> Matrix:
    """The law of how often each report was made in so many rounds, of one permanent answer."""
    kinds = range(len(step[0]))
    rows = []
    for row in permanent.rows:
        probabilities = []
        for seen in combinations_with_replacement(kinds, rounds):
            ways = factorial(rounds) // prod(factorial(seen.count(kind)) for kind in kinds)
            probabilities.append(ways * sum(a * prod(step[z][y] for y in seen) for z, a in enumerate(row)))
        rows.append(tuple(probabilities))
    return Matrix(tuple(rows))


def law_of(protocol: MemoizedOracle, rounds: int) -> ReportDistribution:
    """The exact law of so many reports about a value that stays."""
    if isinstance(protocol, LOLOHA):
        return MappedAnswers(
            law_of(protocol.inner, rounds), tuple(v % protocol.buckets for v in range(len(protocol.domain)))
        )
    if isinstance(protocol, LGRR):
        d, s = len(protocol.domain), protocol.p_instantaneous
        step = [[s if z == y else (1 - s) / (d - 1) for y in range(d)] for z in range(d)]
        return chain(whole(protocol.permanent.report_distribution), step, rounds)
    assert isinstance(protocol, MemoizedUnaryEncoding)
    assert isinstance(protocol.permanent, UnaryEncoding)
    s = protocol.p_instantaneous
    bits = []
    for heads in zip(*whole(protocol.permanent.report_distribution).ones, strict=True):
        one = Matrix(tuple((1 - head, head) for head in heads))
        bits.append(chain(one, [[s, 1 - s], [1 - s, s]], rounds))
    return IndependentReports(tuple(bits))


@pytest.mark.parametrize("protocol", SOME, ids=repr)
def test_one_report_is_audited_and_uses_up_what_is_claimed(protocol: MemoizedOracle) -> None:
    result = audit(protocol)
    assert result.holds
    assert result.epsilon == pytest.approx(float(protocol.epsilon), abs=1e-12)
    assert worst_ratio(law_of(protocol, 1))[0] == result.ratio


@pytest.mark.parametrize("protocol", SOME, ids=repr)
def test_several_reports_lose_what_the_exact_law_says(protocol: MemoizedOracle) -> None:
    for rounds in (1, 2, 4):
        ratio = worst_ratio(law_of(protocol, rounds))[0]
        assert ratio is not None
        loss = protocol.loss_of(rounds).epsilon
        assert LossAudit(loss, ratio, (0, 1)).holds
        assert float(loss) == pytest.approx(math.log(ratio), abs=1e-9)


@pytest.mark.parametrize("protocol", SOME, ids=repr)
def test_all_reports_lose_forever_and_no_more(protocol: MemoizedOracle) -> None:
    losses = [float(protocol.loss_of(rounds).epsilon) for rounds in (1, 2, 10, 100, 10**6)]
    assert losses == sorted(losses)
    assert float(protocol.permanent_epsilon) - 1e-9 < losses[-1] <= protocol.permanent_epsilon
    assert audit(protocol.permanent).holds
    assert protocol.permanent_loss.epsilon == protocol.permanent.epsilon == protocol.permanent_epsilon


def test_changes_are_hidden_by_the_second_step_alone() -> None:
    """Two rounds, values (x, x) or (x, y): the exact ratio is within loss_of_changes, and beyond forever."""
    protocol = LGRR(2, "39/10", 4)
    s, a = protocol.p_instantaneous, protocol.permanent.p_own
    report_codes = {True: s, False: 1 - s}

    def probability(seen: tuple[int, ...], values: tuple[int, ...]) -> Fraction:
        whole = Fraction(1)
        for value in set(values):
            rounds = [y for y, at in zip(seen, values, strict=True) if at == value]
            whole *= sum((a if z == value else 1 - a) * prod(report_codes[y == z] for y in rounds) for z in range(2))
        return whole

    assert probability((0,), (0,)) == protocol.p_own
    still, moved = (0,) * 8, (0, 1) * 4
    alternating = (0, 1) * 4
    ratio = probability(alternating, moved) / probability(alternating, still)
    assert exp_lower(protocol.loss_of_changes(8).epsilon) >= ratio
    assert ratio > exp_lower(
        protocol.loss_of_values(2).epsilon
    )  # what the pattern of changes tells, nothing else bounds


def test_values_that_share_a_bucket_are_told_from_those_that_do_not() -> None:
    """Two values, each for some rounds: no number of buckets bounds what that loses, so nothing is promised."""
    protocol, rounds = LOLOHA(100, 1, 2, buckets=2), 20
    s, a = protocol.inner.p_instantaneous, protocol.permanent.p_own
    report_codes = {True: s**rounds, False: (1 - s) ** rounds}  # 0 in all of the first rounds, 1 in all of the others
    shared = sum((a, 1 - a)[kept] * report_codes[kept == 0] * report_codes[kept == 1] for kept in (0, 1))
    moved = sum((a, 1 - a)[kept] * report_codes[kept == 0] for kept in (0, 1)) ** 2  # the second's is the mirror image
    assert moved / shared > exp_lower(4 * protocol.buckets * protocol.permanent_epsilon / 2)
    assert moved / shared <= exp_lower(protocol.loss_of_changes(2 * rounds).epsilon)
    assert protocol.loss_of_values(1) == protocol.permanent_loss
    with pytest.raises(NoPromise, match="share a bucket"):
        protocol.loss_of_values(2)
    assert LGRR(100, 1, 2).loss_of_values(50).epsilon == 100


@pytest.mark.parametrize("protocol", [*SOME, DBitFlip(5, 1, 2)], ids=repr)
def test_a_round_is_estimated(protocol: Any) -> None:
    """All bars together at 1 - 1e-6; a fixed seed."""
    n, d = 20_000, len(protocol.domain)
    codes = np.arange(n) % 7 % d
    estimate = protocol.estimate(protocol.randomize(codes, entropy=Repeatable(3)), confidence=1 - 1e-6)
    assert (np.abs(estimate.counts - np.bincount(codes, minlength=d)) <= estimate.error_bars_together).all()
    assert estimate.counts.sum() == pytest.approx(n, abs=estimate.error_bars_together.sum())


def test_later_rounds_are_made_of_what_is_kept() -> None:
    protocol, entropy = LGRR(4, 1, 6), Repeatable(5)
    codes = np.arange(4000) % 4
    kept = protocol.permanent.draw(codes, entropy)
    rounds = np.stack([protocol.instantaneous_report(kept, entropy).to_numpy() for _ in range(400)])
    count_outcomes = np.array([np.bincount(seen, minlength=4).argmax() for seen in rounds.T])
    assert (count_outcomes == kept.to_numpy()).mean() > 0.99
    estimate = protocol.estimate(protocol.instantaneous_report(kept, entropy), confidence=1 - 1e-6)
    assert (np.abs(estimate.counts - 1000) <= estimate.error_bars_together).all()


def test_powers_are_rounded_down() -> None:
    base = Fraction(1, 3)
    assert base**50 * (1 - Fraction(1, 2**100)) < power_lower(base, 50) <= base**50
    assert power_lower(base, 10**9) == 0


def test_the_first_report_may_not_lose_as_much_as_all() -> None:
    with pytest.raises(BadInput, match="permanent_epsilon must be above epsilon"):
        LGRR(4, 2, 2)
    with pytest.raises(BadInput, match="between 0 and 20"):
        RAPPOR(4, 11)
    with pytest.raises(BadInput, match="number of rounds must be at least 1"):
        LGRR(4, 1, 2).loss_of(0)


class TestDBitFlip:
    """dBitFlipPM: what is spoken of is public, what is told is private, and the estimate knows who spoke."""

    @pytest.mark.parametrize("bits", [1, 2, 5])
    def test_audit(self, bits: int) -> None:
        result = audit(DBitFlip(5, 1, bits))
        assert result.holds
        assert result.epsilon == pytest.approx(1, abs=1e-12)

    def test_unbiased_and_its_variance_given_who_spoke(self) -> None:
        """Every way that 4 of 6 people can speak of a value, and every number of ones: E and Var in rationals."""
        protocol, n, m, have = DBitFlip(5, 1, 2), 6, 4, 2
        p, q = protocol.p_own, protocol.q_other
        mean, square, ways = Fraction(0), Fraction(0), math.comb(n, m)
        for spoke_have in range(have + 1):
            if m - spoke_have > n - have:
                continue
            drawn = Fraction(math.comb(have, spoke_have) * math.comb(n - have, m - spoke_have), ways)
            for ones, probability in enumerate(_ones(spoke_have, m - spoke_have, p, q)):
                figure = n * (Fraction(ones, m) - q) / (p - q)
                mean += drawn * probability * figure
                square += drawn * probability * figure**2
        assert mean == have
        f = Fraction(have, n)
        report_codes = Fraction(n * n, m) * (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (p - q) ** 2
        sampled = Fraction(n * n, m) * f * (1 - f) * (1 - Fraction(m, n)) * Fraction(n, n - 1)
        assert square - mean**2 == report_codes + sampled

    def test_bad_reports_are_refused(self) -> None:
        protocol = DBitFlip(5, 1, 2)
        good = protocol.randomize([1, 2, 3])
        for wrong in (bytes([0b00011, 0b00100]), bytes([0b00111, 0]), bytes([0b1100000, 0])):
            with pytest.raises(DataError):
                protocol.tally().add(type(good).from_buffers(good.type, 1, [None, _buffer(wrong)]))

    def test_nobody_spoke(self) -> None:
        protocol = DBitFlip(200, 1)
        with pytest.raises(BadInput, match="have no reports"):
            protocol.estimate(protocol.randomize([3]))
        with pytest.raises(BadInput, match="must report on 1 to 200"):
            DBitFlip(200, 1, 0)

    def test_all_rounds_are_the_same(self) -> None:
        protocol = DBitFlip(9, 1, 4)
        kept = protocol.randomize(np.arange(9))
        assert protocol.instantaneous_report(kept, Repeatable(1)).equals(kept)
        assert protocol.loss_of(1000) == protocol.permanent_loss == protocol.loss
        assert protocol.loss_of_values(3).epsilon == 3


def _ones(have: int, others: int, p: Fraction, q: Fraction) -> list[Fraction]:
    distribution = [Fraction(1)]
    for probability in [p] * have + [q] * others:
        distribution = [
            (distribution[k] * (1 - probability) if k < len(distribution) else 0)
            + (distribution[k - 1] * probability if k else 0)
            for k in range(len(distribution) + 1)
        ]
    return distribution


def _buffer(content: bytes) -> Any:
    import pyarrow as pa

    return pa.py_buffer(content)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_a_device_remembers(protocol: Any) -> None:
    one, again = (Device(protocol, SECRETS[0], "music") for _ in range(2))
    for value in "abcd":
        assert one.permanent_answer(value).equals(again.permanent_answer(value))
        assert one.report(value).type == protocol.report_type
    others = [Device(protocol, secret, "music").permanent_answer("a") for secret in SECRETS[:50]]
    assert len({str(other) for other in others}) > 1
    assert any(
        not Device(protocol, s, "films")
        .permanent_answer("a")
        .equals(Device(protocol, s, "music").permanent_answer("a"))
        for s in SECRETS[:50]
    )


@pytest.mark.parametrize(("protocol", "known"), KNOWN.items(), ids=repr)
def test_what_devices_remember_never_changes(protocol: Any, known: str) -> None:
    """Else every device out there would give a second permanent answer, and lose as much again."""
    values = protocol.domain.values
    some = [values[index] for index in (0, 1, len(values) // 2, -1)]
    devices = [Device(protocol, secret, "music") for secret in SECRETS[:20]]
    kept = "".join(str(device.permanent_answer(value)[0].as_py()) for device in devices for value in some)
    assert sha256(kept.encode()).hexdigest()[:16] == known


def test_what_devices_draw_by_never_changes() -> None:
    """The version, the label as JSON and the stream, by hand; and the chances to the last bit."""
    assert VERSION == b"discreet device 1"
    document = b'{"protocol":"l-grr","values":["a","b","c","d"],"with":{"epsilon":"1","forever":"2"}}'
    label = (b"discreet device 1", document, b"music", b"value", b"0")
    key = hmac.digest(SECRETS[0], b"".join(len(part).to_bytes(8, "big") + part for part in label), "sha256")
    assert hmac.digest(key, bytes(8), "sha256")[:16].hex() == "082f05e6f646cfb0531dacda0bc76c26"
    permanent = Device(LGRR("abcd", 1, 2), SECRETS[0], "music").permanent_answer("a")
    assert permanent.equals(GRR(4, 2).randomize([0], entropy=Keyed(SECRETS[0], label)))
    assert {protocol: protocol.permanent.p_own * 2**64 for protocol in CHANCES} == CHANCES


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_permanent_answers_have_their_law(protocol: Any) -> None:
    """The estimate of a round by keyed devices is right: all bars at 1 - 1e-6."""
    values = ["abcd"[min(number % 6, 3)] for number in range(len(SECRETS))]
    reports = pa.concat_arrays(
        [Device(protocol, secret, "music").report(value) for secret, value in zip(SECRETS, values, strict=True)]
    )
    estimate = protocol.estimate(reports, confidence=1 - 1e-6)
    true = np.array([values.count(value) for value in "abcd"])
    assert (np.abs(estimate.counts - true) <= estimate.error_bars_together).all()


def test_loloha_keeps_its_function_and_one_answer_for_each_bucket() -> None:
    protocol = LOLOHA(40, 1, 2, buckets=2)
    device = Device(protocol, SECRETS[0], "music")
    kept = {device.permanent_answer(value)[0].as_py() for value in range(40)}
    assert len({row[:8] for row in kept}) == 1
    assert len(kept) <= 2


def test_a_secret_is_not_shown_and_not_short() -> None:
    device = Device(PROTOCOLS[0], b"x" * 32, "music")
    assert "xxx" not in repr(device)
    with pytest.raises(BadInput, match="at least 16 bytes"):
        Device(PROTOCOLS[0], b"short", "music").report("a")
    with pytest.raises(DataError):
        device.report("e")


def test_keyed_bits_are_a_stream() -> None:
    whole = Keyed(b"k" * 16, [b"a", b"bc"]).bytes(1000)
    stream = Keyed(b"k" * 16, [b"a", b"bc"])
    assert b"".join(stream.bytes(count) for count in (1, 31, 32, 33, 403, 500)) == whole
    assert Keyed(b"k" * 16, [b"ab", b"c"]).bytes(32) != whole[:32]
    assert Keyed(b"l" * 16, [b"a", b"bc"]).bytes(32) != whole[:32]
