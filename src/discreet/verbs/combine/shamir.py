"""Shamir secret sharing of 32 bytes: any ``threshold`` shares give the secret, fewer give nothing (Shamir 1979).

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
_POINT_BYTES, _VALUE_BYTES = 2, 33
SHARE_BYTES = _POINT_BYTES + _VALUE_BYTES
"""Size of a share."""


def split(secret: bytes, holders: Sequence[str], threshold: int, entropy: Entropy) -> dict[str, bytes]:
    """Split a secret into a share for each holder; the first holder's point is 1."""
    if not 1 <= threshold <= len(holders) < 1 << 8 * _POINT_BYTES:
        raise BadInput(f"A secret is not shared among {len(holders)} so that {threshold} are enough.")
    polynomial = [int.from_bytes(secret, "big"), *(entropy.below(PRIME) for _ in range(threshold - 1))]
    return {
        holder: point.to_bytes(_POINT_BYTES, "big") + _evaluate(polynomial, point).to_bytes(_VALUE_BYTES, "big")
        for point, holder in enumerate(holders, 1)
    }


def join(shares: Mapping[str, bytes], threshold: int) -> bytes:
    """Reconstruct the secret of these shares; BadInput if they are of none."""
    points = {}
    for share in shares.values():
        if not isinstance(share, bytes) or len(share) != SHARE_BYTES:
            raise BadInput(f"A share is {SHARE_BYTES} bytes.")
        points[int.from_bytes(share[:_POINT_BYTES], "big")] = int.from_bytes(share[_POINT_BYTES:], "big")
    if len(points) < threshold or 0 in points or any(value >= PRIME for value in points.values()):
        raise BadInput(f"These shares do not give the secret: {threshold} different ones are needed.")
    used = sorted(points)[:threshold]
    secret = sum(points[point] * weight for point, weight in zip(used, _weights(tuple(used)), strict=True))
    if (secret := secret % PRIME) >> 256:
        raise BadInput("These shares are not all of the same secret.")
    return secret.to_bytes(32, "big")


def _evaluate(polynomial: Sequence[int], point: int) -> int:
    value = 0
    for coefficient in reversed(polynomial):
        value = (value * point + coefficient) % PRIME
    return value


@lru_cache(maxsize=64)
def _weights(points: tuple[int, ...]) -> tuple[int, ...]:
    """Lagrange weights: how much the value at each point counts for the value at 0."""
    weights = []
    for point in points:
        above = below = 1
        for other in points:
            if other != point:
                above, below = above * other % PRIME, below * (other - point) % PRIME
        weights.append(above * pow(below, -1, PRIME) % PRIME)
    return tuple(weights)
