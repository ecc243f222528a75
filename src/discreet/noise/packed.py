"""Bernoulli bits in words of 64, with an exact probability that is a multiple of 2**-64.

Why this is right. A uniform number below one is written bit by bit, and compared with the chance p from its first
binary digit on. As long as they agree nothing is settled; where p has a 1 and the number a 0 it is below p (heads),
where p has a 0 and the number a 1 it is not (tails). A word holds one bit of 64 such numbers, so that three operations
take all of them a digit further. On average it takes seven words; after 64 digits, the last of p, anyone who still
agrees is equal to p and so not below it. No number is looked at further than it must be, and none is rounded.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.core.compiled import njit
from discreet.errors import BadInput
from discreet.noise.entropy import Entropy, Words
from discreet.noise.expand import BULK

DIGITS = 64
"""Bits in a word, and binary digits of a probability."""
_CHUNK = 1 << 13
"""Words drawn at a time: few enough for the processor's cache."""


def packed_flips(chance: Fraction, words: int, entropy: Entropy = BULK) -> Words:
    """``words`` words of 64 bits, each bit 1 with probability ``chance``, a multiple of 2**-64 below 1."""
    scaled = chance * 2**DIGITS
    if scaled.denominator != 1 or not 0 <= scaled < 2**DIGITS:
        raise BadInput(f"A coin's probability must be a multiple of 2**-64 between 0 and 1, got {chance}.")
    digits, made = np.uint64(int(scaled)), np.empty(words, dtype=np.uint64)
    done = 0
    while done < words:
        wanted = min(words - done, _CHUNK)
        random = entropy.words(8 * wanted + DIGITS)
        done = _fill(made, done, digits, random)
    return made


@njit(cache=True)
def _fill(made: Words, done: int, digits: np.uint64, random: Words) -> int:
    """Fill ``made`` from index ``done`` until the random words run out; the index reached."""
    at = 0
    while done < made.size and at + DIGITS <= random.size:
        open_, heads, rest = ~np.uint64(0), np.uint64(0), digits
        while open_ and rest:
            drawn = random[at]
            at += 1
            if rest >> np.uint64(63):
                heads |= open_ & ~drawn
                open_ &= drawn
            else:
                open_ &= ~drawn
            rest <<= np.uint64(1)
        made[done] = heads
        done += 1
    return done
