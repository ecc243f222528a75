"""Poisson draws of a whole rate, exact and without logarithms: P(X = k) in proportion to rate**k / k!."""

from __future__ import annotations

from math import isqrt

from discreet.errors import BadInput
from discreet.noise.chain import all_heads, heads_before_tails
from discreet.noise.entropy import SYSTEM, Entropy

LARGEST_RATE = 2**44


def poisson(rate: int, entropy: Entropy = SYSTEM) -> int:
    """One draw; its cost grows with the root of the rate.

    Why this is right: with n the rate, P(n + j) / P(n) is the product of n / (n + i) over i = 1 … j, and P(n - 1 -
    j) / P(n) that of (n - i) / n. For j below a width w either is at most 1; from w on at most q**(j - w), with q =
    n / (n + w + 1) above and (n - w) / n below, since every further factor is at most q. So j is proposed from four
    pieces, each in proportion to its bound: uniform below w, geometric of ratio q from w on, on each side. The
    weights of the pieces are rational: w, and 1 / (1 - q). What is proposed is kept with the ratio of the two, which
    is a product of rationals: so many coins, all heads.
    """
    if not 1 <= rate <= LARGEST_RATE:
        raise BadInput(
            f"Poisson noise has a rate between 1 and 2**44, not {rate}.",
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
