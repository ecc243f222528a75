"""A device remembers by its secret alone."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.collect.time.buckets import DBitFlip
from discreet.collect.time.device import Device
from discreet.collect.time.direct import LGRR
from discreet.collect.time.hashing import LOLOHA
from discreet.collect.time.unary import LOSUE, RAPPOR
from discreet.errors import BadInput, DataError
from discreet.noise.keyed import Keyed

KNOWN = {
    LGRR("abcd", 1, 2): "73416832197ad8c5",
    LOSUE("abcd", 1, 2): "ccaed5c8f85a50ac",
    RAPPOR("abcd", 1, 2): "790a2ab0eb44012f",
    LOLOHA("abcd", 1, 2): "d3e3fae3e487de09",
    DBitFlip("abcd", 1, 2): "577cc89a9e2c6edd",
}
PROTOCOLS = list(KNOWN)
SECRETS = [f"the secret of device {number:>4}".encode() for number in range(300)]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_a_device_remembers(protocol: Any) -> None:
    one, again = (Device(protocol, SECRETS[0], "music") for _ in range(2))
    for value in "abcd":
        assert one.remembered(value).equals(again.remembered(value))
        assert one.report(value).type == protocol.report_type
    others = [Device(protocol, secret, "music").remembered("a") for secret in SECRETS[:50]]
    assert len({str(other) for other in others}) > 1
    assert any(
        not Device(protocol, s, "films").remembered("a").equals(Device(protocol, s, "music").remembered("a"))
        for s in SECRETS[:50]
    )


@pytest.mark.parametrize(("protocol", "known"), KNOWN.items(), ids=repr)
def test_what_devices_remember_never_changes(protocol: Any, known: str) -> None:
    """Else every device out there would give a second permanent answer, and lose as much again."""
    devices = [Device(protocol, secret, "music") for secret in SECRETS[:20]]
    kept = "".join(str(device.remembered(value)[0].as_py()) for device in devices for value in "abcd")
    assert sha256(kept.encode()).hexdigest()[:16] == known


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_permanent_answers_have_their_law(protocol: Any) -> None:
    """The estimate of a round by keyed devices is right: all bars at 1 - 1e-6."""
    values = ["abcd"[min(number % 6, 3)] for number in range(len(SECRETS))]
    reports = pa.concat_arrays(
        [Device(protocol, secret, "music").report(value) for secret, value in zip(SECRETS, values, strict=True)]
    )
    estimate = protocol.estimate(reports, confidence=1 - 1e-6)
    true = np.array([values.count(value) for value in "abcd"])
    assert (np.abs(estimate.counts - true) <= estimate.together).all()


def test_loloha_keeps_its_function_and_one_answer_for_each_bucket() -> None:
    protocol = LOLOHA(40, 1, 2, buckets=2)
    device = Device(protocol, SECRETS[0], "music")
    kept = {device.remembered(value)[0].as_py() for value in range(40)}
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
