"""A secret of 32 bytes in shares, of which any ``threshold`` give it and fewer give nothing (Shamir 1979).

Why fewer give nothing: the secret is a polynomial's value at 0, its other coefficients are uniform modulo a prime;
for any ``threshold - 1`` values elsewhere and any secret there is exactly one polynomial, so every secret is equally
likely. A share carries the point it belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from discreet.errors import BadInput
from discreet.noise.entropy import Entropy

PRIME = 2**256 + 297
"""The smallest prime above 2**256."""
_POINT, _VALUE = 2, 33
SIZE = _POINT + _VALUE
"""How many bytes a share has."""


def split(secret: bytes, holders: Sequence[str], threshold: int, entropy: Entropy) -> dict[str, bytes]:
    """A share for each holder; the first holder's point is 1."""
    if not 1 <= threshold <= len(holders) < 1 << 8 * _POINT:
        raise BadInput(f"A secret is not shared among {len(holders)} so that {threshold} are enough.")
    whole = [int.from_bytes(secret, "big"), *(entropy.below(PRIME) for _ in range(threshold - 1))]
    return {
        holder: point.to_bytes(_POINT, "big") + _value(whole, point).to_bytes(_VALUE, "big")
        for point, holder in enumerate(holders, 1)
    }


def join(shares: Mapping[str, bytes], threshold: int) -> bytes:
    """The secret that these shares are of; BadInput if they are of none."""
    points = {}
    for share in shares.values():
        if not isinstance(share, bytes) or len(share) != SIZE:
            raise BadInput(f"A share is {SIZE} bytes.")
        points[int.from_bytes(share[:_POINT], "big")] = int.from_bytes(share[_POINT:], "big")
    if len(points) < threshold or 0 in points or any(value >= PRIME for value in points.values()):
        raise BadInput(f"These shares do not give the secret: {threshold} different ones are needed.")
    used = sorted(points)[:threshold]
    secret = sum(points[point] * weight for point, weight in zip(used, _weights(tuple(used)), strict=True))
    if (secret := secret % PRIME) >> 256:
        raise BadInput("These shares are not all of the same secret.")
    return secret.to_bytes(32, "big")


def _value(polynomial: Sequence[int], point: int) -> int:
    value = 0
    for coefficient in reversed(polynomial):
        value = (value * point + coefficient) % PRIME
    return value


@lru_cache(maxsize=64)
def _weights(points: tuple[int, ...]) -> tuple[int, ...]:
    """How much the value at each point counts for the value at 0 (Lagrange); the same for all secrets."""
    weights = []
    for point in points:
        above = below = 1
        for other in points:
            if other != point:
                above, below = above * other % PRIME, below * (other - point) % PRIME
        weights.append(above * pow(below, -1, PRIME) % PRIME)
    return tuple(weights)
