"""Many coins with rational chances, and whether all of them fall heads: products of rationals as exact chances."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, TypeAlias

import numpy as np

from discreet.noise.entropy import Entropy, Flags, Integers

Coin: TypeAlias = Callable[[Any], tuple[Any, Any]]
"""The chance of coin i as (a, b), read a / b, of an integer i or an array of them; 0 <= a <= b, 0 < b < 2**62."""
_FEW, _BLOCK = 96, 1 << 16


def all_heads(first: int, last: int, coin: Coin, entropy: Entropy) -> bool:
    """True with exactly the product of the chances of the coins ``first`` to ``last``; 1 if there are none."""
    if last - first < _FEW:
        return all(entropy.flip_ratio(*coin(i)) for i in range(first, last + 1))
    size = _FEW
    while first <= last:
        stop = min(first + size, last + 1)
        if not heads(np.arange(first, stop), coin, entropy).all():
            return False
        first, size = stop, min(4 * size, _BLOCK)
    return True


def heads_before_tails(a: int, b: int, entropy: Entropy) -> int:
    """How often in a row a coin of chance a / b falls heads: a geometric draw of rational ratio."""
    if b < _FEW * (b - a):
        return next(k for k in count() if not entropy.flip_ratio(a, b))
    had, size = 0, _FEW
    while (fell := heads(np.arange(size), lambda i: (a, b), entropy)).all():
        had, size = had + size, min(4 * size, _BLOCK)
    return had + int(np.argmin(fell))


def heads(places: Integers, coin: Coin, entropy: Entropy) -> Flags:
    """One coin for each place.

    Why this is right: a uniform 64-bit word below the largest multiple of b has a uniform remainder; other words
    are drawn again.
    """
    a, b = (np.broadcast_to(np.asarray(side, dtype=np.uint64), places.shape) for side in coin(places))
    most = np.uint64(2**64 - 1)
    highest = most - (most % b + np.uint64(1)) % b
    drawn = entropy.words(places.size).copy()
    while (again := np.flatnonzero(drawn > highest)).size:
        drawn[again] = entropy.words(again.size)
    found: Flags = drawn % b < a
    return found
