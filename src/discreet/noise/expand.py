"""Many random bits at once: a fresh key from the kernel for every request, stretched by AES-256 in counter mode.

Why this is as good as the kernel's own bits: the kernel's generator is itself a cipher stretched from a key. A key and
a first counter of 48 bytes are asked of it for each request and forgotten with it, so nothing is buffered or kept,
and anyone who tells these bits from fair ones tells AES-256 from a random permutation. It gives some gigabytes a second
where the kernel gives a quarter of one, which counts where a million devices are played on one machine. Without the
extra ``collect``, which brings the cipher, all bits are the kernel's.
"""

from __future__ import annotations

from discreet.core.optional import extra
from discreet.errors import MissingPart
from discreet.noise.entropy import Entropy

_FEW = 1 << 12
"""Size below which asking the kernel is faster, bytes."""


class Expanded(Entropy):
    """The operating system's randomness, stretched where much of it is wanted."""

    __slots__ = ()

    def bytes(self, count: int) -> bytes:
        if count < _FEW:
            return super().bytes(count)
        try:
            with extra("collect"):
                from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        except MissingPart:
            return super().bytes(count)
        cipher = Cipher(algorithms.AES256(super().bytes(32)), modes.CTR(super().bytes(16)))
        return cipher.encryptor().update(bytes(count))


BULK = Expanded()
"""For draws by the million."""
