"""Poisson draws of a whole rate, exact and without logarithms: P(X = k) in proportion to rate**k / k!.

They are made of coins with rational chances: whether all of many fall heads has the product as its exact chance.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from math import isqrt
from typing import Any, TypeAlias

import numpy as np

from discreet.errors import BadInput
from discreet.noise.entropy import SYSTEM, Entropy, Flags, Integers

LARGEST_RATE = 2**44
Coin: TypeAlias = Callable[[Any], tuple[Any, Any]]
"""The chance of coin i as (a, b), read a / b, of an integer i or an array of them; 0 <= a <= b, 0 < b < 2**62."""
_FEW, _BLOCK = 96, 1 << 16
"""Coins flipped one by one at most, and in one array at most."""


def poisson(rate: int, entropy: Entropy = SYSTEM) -> int:
    """One draw; its cost grows with the root of the rate.

    Why this is right: with n the rate, P(n + j) / P(n) is the product of n / (n + i) over i = 1 … j, and P(n - 1 -
    j) / P(n) that of (n - i) / n. For j below a width w either is at most 1; from w on at most q**(j - w), with q =
    n / (n + w + 1) above and (n - w) / n below, since every further factor is at most q. So j is proposed from four
    pieces, each in proportion to its bound: uniform below w, geometric of ratio q from w on, on each side. The
    weights of the pieces are rational: w, and 1 / (1 - q). What is proposed is kept with the ratio of the two, which
    is a product of rationals: that many coins, all heads.
    """
    if not 1 <= rate <= LARGEST_RATE:
        raise BadInput(
            f"Poisson noise needs a rate between 1 and 2**44, not {rate}.",
            hint="Declare fewer decimals, narrower bounds or a larger epsilon.",
        )
    wide = isqrt(rate) + 1
    inside = min(wide, rate)
    even = (wide + 1) * inside
    weights = (wide * even, (rate + wide + 1) * inside, wide * even, rate * (wide + 1))
    while True:
        piece, left = 0, entropy.below(sum(weights))
        while left >= weights[piece]:
            left -= weights[piece]
            piece += 1
        found = _above(rate, wide, piece == 1, entropy) if piece < 2 else _below(rate, wide, piece == 3, entropy)
        if found is not None:
            return found


def _above(rate: int, wide: int, tail: bool, entropy: Entropy) -> int | None:
    """A value from the rate up, or nothing if it is not kept."""
    edge = rate + wide + 1
    j = wide + heads_before_tails(rate, edge, entropy) if tail else entropy.below(wide)
    near = all_heads(1, min(j, wide), lambda i: (rate, rate + i), entropy)
    return rate + j if near and all_heads(wide + 1, j, lambda i: (edge, rate + i), entropy) else None


def _below(rate: int, wide: int, tail: bool, entropy: Entropy) -> int | None:
    """A value below the rate, or nothing if it is not kept."""
    edge = max(rate - wide, 0)
    j = wide + heads_before_tails(edge, rate, entropy) if tail else entropy.below(wide)
    if j >= rate:
        return None
    near = all_heads(1, min(j, wide), lambda i: (rate - i, rate), entropy)
    return rate - 1 - j if near and all_heads(wide + 1, j, lambda i: (rate - i, edge), entropy) else None


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
