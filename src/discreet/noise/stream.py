"""Random bits that come out the same again: streams that a secret and a label decide, always from their beginning.

Bits of the same secret and label are the same bits: each label may be used for one purpose.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from discreet.core.optional import extra
from discreet.errors import BadInput
from discreet.noise.entropy import Entropy

_STREAM_BYTES = 32
"""Length of the secret of a stream."""
_DEVICE_BYTES = 16
"""Least length of a device's secret."""


class Stream(Entropy):
    """Bits by the gigabyte: AES-256 in counter mode under a key for one use.

    Why this is as good as fair bits, to anyone who does not know the secret: the key of a stream is HKDF-SHA256 of the
    secret and a label, so that streams under different labels have independent keys, and AES-256 in counter mode cannot
    be told from fair bits. Two parties that share a secret stretch it into the same mask, however long; a party that
    keeps 32 secret bytes can do again, after a crash, exactly what it did.
    """

    __slots__ = ("_cipher",)

    def __init__(self, secret: bytes, label: Iterable[bytes]) -> None:
        if len(secret) != _STREAM_BYTES:
            raise BadInput(f"The secret of a stream has {_STREAM_BYTES} bytes, got {len(secret)}.")
        with extra("combine"):
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        key = hmac.digest(secret, _joined(label) + b"\x01", "sha256")  # HKDF's expansion, which for one block is this
        self._cipher = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()

    def bytes(self, count: int) -> bytes:
        return self._cipher.update(bytes(count))


class Keyed(Entropy):
    """Few bits, without a cipher: HMAC-SHA256 of a secret, in counter mode.

    Why this is as good as fair bits, to anyone who does not know the secret: HMAC-SHA256 is a pseudo-random function,
    so that its values at different counters, for different labels, cannot be told from independent fair bits. A device
    that is to give the same answer again keeps 32 secret bytes for ever, and not a list of what it said.
    """

    __slots__ = ("_key", "_left", "_next")

    def __init__(self, secret: bytes, label: Iterable[bytes]) -> None:
        if len(secret) < _DEVICE_BYTES:
            raise BadInput(
                f"A device's secret has at least {_DEVICE_BYTES} bytes.",
                hint="Draw 32 bytes once, and keep them permanently.",
            )
        self._key = hmac.digest(secret, _joined(label), "sha256")
        self._left, self._next = b"", 0

    def bytes(self, count: int) -> bytes:
        blocks = [self._left]
        have = len(self._left)
        while have < count:
            blocks.append(hmac.digest(self._key, self._next.to_bytes(8, "big"), "sha256"))
            self._next += 1
            have += len(blocks[-1])
        whole = b"".join(blocks)
        self._left = whole[count:]
        return whole[:count]


def _joined(label: Iterable[bytes]) -> bytes:
    """The parts of a label, each with its length before it, so that no two labels read alike."""
    return b"".join(len(part).to_bytes(8, "big") + part for part in label)
