"""Blinded keys: people's keys as points of Curve25519, multiplied by secrets, to be compared and not read.

Two holders blind the same point one after the other, in either order, and get the same bytes: X25519(a, X25519(b, P)) =
X25519(b, X25519(a, P)). Why a blinded key tells nothing to whoever does not know the secret:

- A key's point is found by hashing and trying again until the number is the coordinate of a point *on the curve*. A
  number that is none lies on the curve's twist, multiplication keeps it there, and whoever saw it could rule out half
  of all keys.
- A secret is a multiple of 8 (X25519 clears the low bits itself), so the product lies in the subgroup of prime order
  and tells nothing of the part of the point that lies outside it.
- There, with the hash taken as a random function, blinded points cannot be told from random ones (decisional
  Diffie-Hellman).

How long the search for a point takes depends on the key; nobody but its holder sees that clock.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from discreet.core.optional import extra
from discreet.errors import BadInput

POINT_BYTES = 32
"""Size of a point."""
_PRIME = 2**255 - 19
_A = 486662
_COORDINATE_MASK = (1 << 255) - 1


def normalise_key(key: object) -> str:
    """Normalise a key for comparison: case, Unicode form and white space."""
    if isinstance(key, bool) or not isinstance(key, str | int):
        raise BadInput(
            f"A key is a text or a whole number, not {type(key).__name__}.",
            hint="Fill in or leave out rows without one.",
        )
    text = " ".join(unicodedata.normalize("NFKC", str(key)).casefold().split())
    if not text:
        raise BadInput("A key is empty.", hint="Fill in or leave out rows without one.")
    return text


def digests(keys: Iterable[object], most: int) -> list[bytes]:
    """Hash each normalised key; BadInput if there are more than ``most``, or the same one twice."""
    seen: dict[bytes, object] = {}
    for key in keys:
        digest = hashlib.sha256(b"discreet key\0" + normalise_key(key).encode()).digest()
        if digest in seen:
            raise BadInput(
                f"The keys {seen[digest]!r} and {key!r} are the same.",
                hint="A person may be in one row only; add rows up first.",
            )
        seen[digest] = key
        if len(seen) > most:
            raise BadInput(
                f"There are more than {most:,} keys.", hint="The session allows no more; agree on a larger most=."
            )
    return list(seen)


def points(hashed: Sequence[bytes]) -> list[bytes]:
    """Map each hash to a point of the curve."""
    with extra("combine"):
        from gmpy2 import jacobi
    return [_point(digest, jacobi) for digest in hashed]


def blind(secret: bytes, many: Iterable[bytes]) -> list[bytes]:
    """Multiply each point by the secret; BadInput for one that every secret takes to zero."""
    with extra("combine"):
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    key, read = X25519PrivateKey.from_private_bytes(secret), X25519PublicKey.from_public_bytes
    try:
        return [key.exchange(read(point)) for point in many]
    except ValueError:
        raise BadInput("This is not a point that stands for a key.") from None


def _point(digest: bytes, jacobi: Callable[[int, int], int]) -> bytes:
    tried = 0
    while True:
        u = int.from_bytes(hashlib.sha256(tried.to_bytes(4, "big") + digest).digest(), "little") & _COORDINATE_MASK
        if u < _PRIME and jacobi(((u + _A) * u + 1) * u % _PRIME, _PRIME) == 1:
            return u.to_bytes(POINT_BYTES, "little")
        tried += 1
