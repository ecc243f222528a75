"""Cryptographic primitives of protocols: random vectors, keys, agreed seeds, masks, secret shares and digests.

``NumericCrypto`` works on numbers. ``symbolic/`` has another class with the same methods that works on symbols, so that
what a coalition learns is computed from the very code that runs.

Why each is safe: see ``noise/stream.py`` for draws and masks; a seed that two parties agree on is X25519 of their keys,
through HKDF together with the session's digest, so that no one else can compute it and no other session repeats it;
shares are Shamir's over a prime above 2**256.

A digest is for comparing what several parties saw, not for hiding it: anyone who can guess what it is of can tell
whether the guess is right. Protocols only tell digests of what its hearers may know.

**Shamir secret sharing (1979) of 32 bytes: any ``threshold`` shares give the secret, fewer give nothing.** Why fewer
give nothing: the secret is a polynomial's value at 0, its other coefficients are uniform modulo a prime; for any
``threshold - 1`` values elsewhere and any secret there is exactly one polynomial, so every secret is equally likely. A
share carries the point it belongs to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import numpy as np

from discreet.core.optional import extra
from discreet.errors import BadInput
from discreet.noise.entropy import Entropy
from discreet.noise.stream import Stream
from discreet.verbs.combine.effects import MessagePart
from discreet.verbs.combine.group import ModularGroup, Vector

Secret: TypeAlias = Any
"""32 secret bytes (a private key, a seed)."""
Public: TypeAlias = Any
"""The public key of a secret."""
Share: TypeAlias = Any
"""A Shamir share of a secret: a threshold of them gives it, fewer give nothing."""
Digest: TypeAlias = Any
"""A hash by which parties compare what they saw."""
_KEY_BYTES = 32
SHAMIR_PRIME = 2**256 + 297
"""The smallest prime above 2**256."""
_POINT_BYTES, _VALUE_BYTES = 2, 33
SHARE_BYTES = _POINT_BYTES + _VALUE_BYTES
"""Size of a share."""


class Crypto(Protocol):
    """Primitives that a protocol may use. Vectors are only ever added and subtracted."""

    def draw(self, label: str, group: ModularGroup, length: int) -> Vector:
        """A uniform vector that this party alone knows; the same again under the same label."""

    def secret(self, label: str) -> Secret:
        """A fresh secret of this party; the same again under the same label."""

    def public(self, secret: Secret) -> Public:
        """The public key that belongs to a secret."""

    def agree(self, mine: Secret, theirs: Public) -> Secret:
        """The seed that the owners of two keys share, the same for both."""

    def mask(self, seed: Secret, label: str, group: ModularGroup, length: int) -> Vector:
        """A uniform vector that anyone who knows the seed knows; the same for all of them."""

    def split(self, secret: Secret, label: str, holders: Sequence[str], threshold: int) -> dict[str, Share]:
        """A share of the secret for each holder: any ``threshold`` of them give it, fewer give nothing."""

    def join(self, shares: Mapping[str, Share], threshold: int) -> Secret:
        """The secret that these shares are of."""

    def digest(self, group: ModularGroup, *parts: MessagePart) -> Digest:
        """Equal for equal parts (vectors of the group, keys, texts) and different for others; it does not hide them."""

    def fits(self, part: MessagePart, group: ModularGroup, length: int) -> bool:
        """Whether a part of another party's message is a vector of ``length`` elements of the group."""

    def is_public(self, part: MessagePart) -> bool:
        """Whether a part of another party's message has the form of a public key."""

    def is_share(self, part: MessagePart) -> bool:
        """Whether a part of another party's message has the form of a share."""


class NumericCrypto(Crypto):
    """Primitives on numbers. ``secret`` is this party's own for this session, ``session`` the manifest's digest."""

    def __init__(self, secret: bytes, session: bytes) -> None:
        self._secret, self._session = secret, session
        self._last: tuple[bytes, Any, bytes] | None = None

    def stream(self, label: str) -> Stream:
        """This party's own random bits under a label, for draws that are not a vector."""
        return Stream(self._secret, (self._session, label.encode()))

    def draw(self, label: str, group: ModularGroup, length: int) -> Vector:
        return group.unpack(self.stream(label).bytes(group.size(length)), length)

    def secret(self, label: str) -> bytes:
        return self.stream(label).bytes(_KEY_BYTES)

    def public(self, secret: bytes) -> bytes:
        return self._key(secret)[1]

    def agree(self, mine: bytes, theirs: bytes) -> bytes:
        """The seed that the owners of two keys share, the same for both; BadInput if theirs is not a key."""
        with extra("combine"):
            from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        key, public = self._key(mine)
        try:
            shared = key.exchange(X25519PublicKey.from_public_bytes(theirs))
        except (TypeError, ValueError):
            raise BadInput("This is not a public key.") from None
        return Stream(shared, (self._session, *sorted((public, theirs)))).bytes(_KEY_BYTES)

    def mask(self, seed: bytes, label: str, group: ModularGroup, length: int) -> Vector:
        return group.unpack(Stream(seed, (self._session, label.encode())).bytes(group.size(length)), length)

    def split(self, secret: bytes, label: str, holders: Sequence[str], threshold: int) -> dict[str, bytes]:
        return shamir_split(secret, holders, threshold, self.stream(label))

    def join(self, shares: Mapping[str, bytes], threshold: int) -> bytes:
        return shamir_join(shares, threshold)

    def digest(self, group: ModularGroup, *parts: MessagePart) -> bytes:
        digest = hashlib.sha256(self._session)
        for part in parts:
            match part:
                case np.ndarray():
                    sort, data = b"v", group.pack(part)
                case str():
                    sort, data = b"t", part.encode()
                case _:
                    sort, data = b"b", part
            digest.update(sort + len(data).to_bytes(8, "big"))
            digest.update(data)
        return digest.digest()

    def fits(self, part: MessagePart, group: ModularGroup, length: int) -> bool:
        if not isinstance(part, np.ndarray) or part.shape != (length,) or part.dtype != group.dtype:
            return False
        return group.contains(part)

    def is_public(self, part: MessagePart) -> bool:
        return isinstance(part, bytes) and len(part) == _KEY_BYTES

    def is_share(self, part: MessagePart) -> bool:
        return isinstance(part, bytes) and len(part) == SHARE_BYTES

    def _key(self, secret: bytes) -> tuple[Any, bytes]:
        """The private key that a secret is, and its public key; the last is kept, since a party agrees with many."""
        if self._last is None or self._last[0] != secret:
            with extra("combine"):
                from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
            key = X25519PrivateKey.from_private_bytes(secret)
            self._last = secret, key, key.public_key().public_bytes_raw()
        return self._last[1:]


def shamir_split(secret: bytes, holders: Sequence[str], threshold: int, entropy: Entropy) -> dict[str, bytes]:
    """Split a secret into a share for each holder; the first holder's point is 1."""
    if not 1 <= threshold <= len(holders) < 1 << 8 * _POINT_BYTES:
        raise BadInput(f"A secret is not shared among {len(holders)} so that {threshold} are enough.")
    polynomial = [int.from_bytes(secret, "big"), *(entropy.below(SHAMIR_PRIME) for _ in range(threshold - 1))]
    return {
        holder: point.to_bytes(_POINT_BYTES, "big") + _evaluate(polynomial, point).to_bytes(_VALUE_BYTES, "big")
        for point, holder in enumerate(holders, 1)
    }


def shamir_join(shares: Mapping[str, bytes], threshold: int) -> bytes:
    """Reconstruct the secret of these shares; BadInput if they are of none."""
    points = {}
    for share in shares.values():
        if not isinstance(share, bytes) or len(share) != SHARE_BYTES:
            raise BadInput(f"A share is {SHARE_BYTES} bytes.")
        points[int.from_bytes(share[:_POINT_BYTES], "big")] = int.from_bytes(share[_POINT_BYTES:], "big")
    if len(points) < threshold or 0 in points or any(value >= SHAMIR_PRIME for value in points.values()):
        raise BadInput(f"These shares do not give the secret: {threshold} different ones are needed.")
    used = sorted(points)[:threshold]
    secret = sum(points[point] * weight for point, weight in zip(used, _weights(tuple(used)), strict=True))
    if (secret := secret % SHAMIR_PRIME) >> 256:
        raise BadInput("These shares are not all of the same secret.")
    return secret.to_bytes(32, "big")


def _evaluate(polynomial: Sequence[int], point: int) -> int:
    value = 0
    for coefficient in reversed(polynomial):
        value = (value * point + coefficient) % SHAMIR_PRIME
    return value


@lru_cache(maxsize=64)
def _weights(points: tuple[int, ...]) -> tuple[int, ...]:
    """Lagrange weights: how much the value at each point counts for the value at 0."""
    weights = []
    for point in points:
        above = below = 1
        for other in points:
            if other != point:
                above, below = above * other % SHAMIR_PRIME, below * (other - point) % SHAMIR_PRIME
        weights.append(above * pow(below, -1, SHAMIR_PRIME) % SHAMIR_PRIME)
    return tuple(weights)
