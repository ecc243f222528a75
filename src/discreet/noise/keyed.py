"""Random bits that come out the same again: HMAC-SHA256 of a secret, in counter mode.

Why this is as good as fair bits, to whoever does not know the secret: HMAC-SHA256 is a pseudo-random function, so that
its values at different counters, for different labels, cannot be told from independent fair bits. A device that
is to give the same answer again keeps 32 secret bytes for ever, and not a list of what it said.

It is for that alone: bits of the same label are the same bits, so each label may be used for one draw.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from discreet.errors import BadInput
from discreet.noise.entropy import Entropy

_LEAST = 16


class Keyed(Entropy):
    """A stream of bits that the secret and the label decide, always the same from its beginning."""

    __slots__ = ("_key", "_left", "_next")

    def __init__(self, secret: bytes, label: Iterable[bytes]) -> None:
        if len(secret) < _LEAST:
            raise BadInput(
                f"A device's secret has at least {_LEAST} bytes.", hint="Draw 32 once, and keep them for ever."
            )
        self._key = hmac.digest(secret, b"".join(len(part).to_bytes(8, "big") + part for part in label), "sha256")
        self._left, self._next = b"", 0

    def bytes(self, count: int) -> bytes:
        """The next ``count`` bytes of the stream."""
        blocks = [self._left]
        have = len(self._left)
        while have < count:
            blocks.append(hmac.digest(self._key, self._next.to_bytes(8, "big"), "sha256"))
            self._next += 1
            have += len(blocks[-1])
        whole = b"".join(blocks)
        self._left = whole[count:]
        return whole[:count]
