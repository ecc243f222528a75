"""A device remembers by its secret alone."""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import BadInput, DataError
from discreet.noise.stream import Keyed
from discreet.verbs.collect.frequency.grr import GRR
from discreet.verbs.collect.longitudinal.dbitflip import DBitFlip
from discreet.verbs.collect.longitudinal.device import VERSION, Device
from discreet.verbs.collect.longitudinal.l_grr import LGRR
from discreet.verbs.collect.longitudinal.loloha import LOLOHA
from discreet.verbs.collect.longitudinal.rappor import LOSUE, RAPPOR

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
