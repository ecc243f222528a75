"""Long random texts that come out the same again: AES-256 in counter mode under a key for one use.

Why this is as good as fair bits, to whoever does not know the secret: the key of a stream is HKDF-SHA256 of the secret
and a label, so that streams under different labels have independent keys, and AES-256 in counter mode cannot be told
from fair bits. Two parties that share a secret stretch it into the same mask, however long; a party that keeps 32
secret bytes can do again, after a crash, exactly what it did.

Bits of the same secret and label are the same bits: each label may be used for one purpose.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from discreet.core.optional import extra
from discreet.errors import BadInput
from discreet.noise.entropy import Entropy

_BYTES = 32


class Stream(Entropy):
    """A stream of bits that the secret and the label decide, always the same from its beginning."""

    __slots__ = ("_cipher",)

    def __init__(self, secret: bytes, label: Iterable[bytes]) -> None:
        if len(secret) != _BYTES:
            raise BadInput(f"The secret of a stream has {_BYTES} bytes, got {len(secret)}.")
        with extra("combine"):
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        info = b"".join(len(part).to_bytes(8, "big") + part for part in label)
        key = hmac.digest(secret, info + b"\x01", "sha256")  # HKDF's expansion, which for one block is this
        self._cipher = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()

    def bytes(self, count: int) -> bytes:
        """The next ``count`` bytes of the stream."""
        return self._cipher.update(bytes(count))
