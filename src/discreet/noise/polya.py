"""Parts of a geometric draw: negative binomial draws of shape 1 / parts, which add up to a geometric draw.

With q = e**-(1 / scale) and r = 1 / parts the generating function of a part is ((1 - q) / (1 - qz))**r, that root of
the geometric distribution's; so ``parts`` independent draws add up to a geometric draw of that scale, exactly.

Its logarithm is the sum over k = 1, 2, … of r (q**k / k) (z**k - 1). So a part is the sum of the points of a Poisson
process on 1, 2, … with the rate r q**k / k at k. Such a process is drawn exactly, from another one with rates that
are nowhere less and that add up to a rational, by keeping each point with the ratio of the two:

- At k from 2**j to below 2**(j + 1) the other rate is r / 2**j, which adds up to r for each such block. A point
  there is uniform, and kept with the chance (2**j / k) q**k. The last block begins at or above 8 times the scale.
- Beyond, block i = 9, 10, … has a rate of r / 2**i in all, which adds up to r / 256: of the points of another r, one
  of 256 is taken. A point there is kept with (2**j / k) · 2**i q**k. Since k is at least 16 · 2**(i - 9) times the
  scale, and so i times, q**k is e**-i times another such power, and the chance that of i coins that fall heads with
  2 / e, and of a last one.

So a draw takes about the binary logarithm of the scale of steps, over ``parts``, however wide the distribution is.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np

from discreet.noise.additive import LARGEST_DRAW, require_array_scale
from discreet.noise.entropy import SYSTEM, Entropy, Integers
from discreet.noise.laplace import geometrics
from discreet.noise.poisson import heads, poisson

_BLOCK = 1 << 15
_RARE = 8
"""Halvings after which points beyond the last block are looked at one by one."""


def polyas(scale: Fraction, parts: int, count: int, entropy: Entropy = SYSTEM) -> Integers:
    """``count`` draws of shape 1 / parts."""
    require_array_scale(scale)
    drawn = np.zeros(count, dtype=np.int64)
    for first in range(0, count, _BLOCK):
        some = drawn[first : first + _BLOCK]
        rows, blocks = _proposed(scale, parts, some.size, entropy)
        inside = blocks <= _last(scale)
        np.add.at(some, *_inside(scale, rows[inside], blocks[inside], entropy))
        beyond = rows[~inside]
        for row in beyond[entropy.shorts(beyond.size) < 1 << (16 - _RARE)]:
            some[row] += min(_beyond(scale, entropy), LARGEST_DRAW >> 4)
    return drawn


def _last(scale: Fraction) -> int:
    """The first block that begins at or above 8 times the scale."""
    return (ceil(scale) - 1).bit_length() + 3


def _proposed(scale: Fraction, parts: int, count: int, entropy: Entropy) -> tuple[Integers, Integers]:
    """Points for each of ``count`` draws and each of its blocks, of rate 1 / parts each: their draws and their blocks.

    Why this is right: points of a Poisson process fall independently, here each on one of rate · parts places; so
    each place has a rate of 1 / parts of its own, and those that stand for nothing are left out.
    """
    blocks = _last(scale) + 2
    rate = -(-count * blocks // parts)
    places = entropy.many_below(rate * parts, poisson(rate, entropy))
    rows, found = np.divmod(places[places < count * blocks], blocks)
    return rows, found


def _inside(scale: Fraction, rows: Integers, blocks: Integers, entropy: Entropy) -> tuple[Integers, Integers]:
    """The points that are kept: their draws and where they lie. A geometric draw is k or more with chance q**k."""
    low = np.int64(1) << blocks
    points = low + (entropy.words(rows.size) & (low - 1).astype(np.uint64)).astype(np.int64)
    kept = (geometrics(scale, rows.size, entropy) >= points) & heads(points, lambda k: (low, k), entropy)
    return rows[kept], points[kept]


def _beyond(scale: Fraction, entropy: Entropy) -> int:
    """Where a point beyond the last block lies; 0 if it is not kept."""
    halvings = _RARE + 1
    while entropy.bits(1):
        halvings += 1
    block = _last(scale) + halvings - _RARE
    point = (1 << block) + entropy.bits(block)
    left = point * scale.denominator - halvings * scale.numerator
    kept = (
        all(_flip_two_over_e(entropy) for _ in range(halvings))
        and entropy.flip_exp_ratio(left, scale.numerator)
        and entropy.flip_ratio(1 << block, point)
    )
    return point if kept else 0


def _flip_two_over_e(entropy: Entropy) -> bool:
    """True with probability 2 / e = 1 - 1/3 + 1/(3·4) - …: of coins with 1/3, 1/4, … the first to fail is odd."""
    k = 3
    while entropy.flip_ratio(1, k):
        k += 1
    return k % 2 == 1
