"""Parts of a geometric draw: negative binomial draws of shape 1 / parts, of which so many add up to a geometric.

P(X = k) is in proportion to c(k) e**-(k / scale) on 0, 1, 2, …, with c(k) = ∏ ((i - 1) · parts + 1) / (i · parts) over
i = 1 … k. Its generating function is ((1 - q) / (1 - qz))**(1 / parts) with q = e**-(1 / scale), that root of the
geometric law's; so ``parts`` independent draws add up to a geometric draw of that scale, exactly.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.errors import BadInput
from discreet.noise.chain import all_heads
from discreet.noise.entropy import SYSTEM, Entropy, Integers
from discreet.noise.geometric import geometrics

LARGEST_SCALE = 2**36
_TABLE, _BLOCK, _SPARE = 256, 1 << 16, 32


def polyas(scale: Fraction, parts: int, count: int, entropy: Entropy = SYSTEM) -> Integers:
    """``count`` draws of shape 1 / parts.

    Why this is right: a geometric draw k is kept with probability c(k), which is at most 1; then k is drawn in
    proportion to c(k) e**-(k / scale). Up to 256 the chance c(k) is compared with a uniform real number of which as
    many bits are drawn as it takes; beyond, the rest of the product is so many coins with rational chances, all
    heads.
    """
    if scale > LARGEST_SCALE:
        raise BadInput(
            f"Parts of noise are drawn up to a scale of 2**36, not {float(scale):.3g}.",
            hint="Declare fewer decimals, narrower bounds or a larger epsilon.",
        )
    drawn = np.empty(count, dtype=np.int64)
    have = 0
    kept = min(1.0, float(1 / (scale + 1))) ** (1 - 1 / parts)
    while have < count:
        wanted = int((count - have) / kept) + _SPARE
        size = min(1 << wanted.bit_length(), _BLOCK)  # the same again, whatever the last digit of a float is
        found = _kept(geometrics(scale, size, entropy), parts, entropy)
        taken = found[: count - have]
        drawn[have : have + taken.size] = taken
        have += taken.size
    return drawn


def _kept(proposed: Integers, parts: int, entropy: Entropy) -> Integers:
    edges = _edges(parts)
    place = np.minimum(proposed, _TABLE)
    words = entropy.words(proposed.size)
    keep = (words < edges[place]) | (place == 0)
    for i in np.flatnonzero((words == edges[place]) & (place != 0)):
        keep[i] = entropy.falls_below(_chance(int(place[i]), parts), int(words[i]), 64)
    for i in np.flatnonzero(keep & (proposed > _TABLE)):
        keep[i] = all_heads(_TABLE + 1, int(proposed[i]), lambda k: ((k - 1) * parts + 1, k * parts), entropy)
    found: Integers = proposed[keep]
    return found


def _chance(k: int, parts: int) -> Fraction:
    chance = Fraction(1)
    for i in range(1, k + 1):
        chance *= Fraction((i - 1) * parts + 1, i * parts)
    return chance


@lru_cache(maxsize=64)
def _edges(parts: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """c(k) in units of 2**-64, cut down; c(0) = 1 does not fit and is not looked up."""
    above = below = 1
    edges = [2**64 - 1]
    for k in range(1, _TABLE + 1):
        above, below = above * ((k - 1) * parts + 1), below * k * parts
        edges.append(min((above << 64) // below, 2**64 - 1))
    return np.array(edges, dtype=np.uint64)
