"""Streams that a secret and a label decide: by their definitions, byte for byte."""

from __future__ import annotations

import hmac

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from discreet.errors import BadInput
from discreet.noise.stream import Keyed, Stream

SECRET = bytes(range(32))
LABEL = (b"one", b"", b"two")
WRITTEN = bytes(7) + b"\3one" + bytes(8) + bytes(7) + b"\3two"


def test_a_stream_is_aes_in_counter_mode_under_an_hkdf_key() -> None:
    key = HKDFExpand(SHA256(), 32, WRITTEN).derive(SECRET)
    wanted = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(bytes(100))
    stream = Stream(SECRET, LABEL)
    assert stream.bytes(1) + stream.bytes(0) + stream.bytes(66) + stream.bytes(33) == wanted


def test_keyed_bits_are_hmacs_of_a_counter() -> None:
    key = hmac.digest(SECRET, WRITTEN, "sha256")
    wanted = b"".join(hmac.digest(key, counter.to_bytes(8, "big"), "sha256") for counter in range(4))
    for cuts in ((128,), (32, 32, 64), (1, 31, 33, 0, 63), (64, 1, 62, 1)):
        keyed = Keyed(SECRET, LABEL)
        assert b"".join(keyed.bytes(count) for count in cuts) == wanted


def test_labels_that_join_alike_are_different() -> None:
    for kind in (Stream, Keyed):
        assert kind(SECRET, (b"ab", b"c")).bytes(16) != kind(SECRET, (b"a", b"bc")).bytes(16)


@pytest.mark.parametrize("length", [0, 15, 16, 31, 32, 33])
def test_secrets_have_their_length(length: int) -> None:
    for kind, allowed in ((Stream, length == 32), (Keyed, length >= 16)):
        if allowed:
            assert len(kind(bytes(length), LABEL).bytes(5)) == 5
        else:
            with pytest.raises(BadInput, match="bytes"):
                kind(bytes(length), LABEL)
