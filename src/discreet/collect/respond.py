"""Randomised response: keep a code, or move on to one of the others, all alike."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.collect.domain import Codes
from discreet.noise.entropy import Entropy


def respond(codes: Codes, chance: Fraction, d: int, entropy: Entropy) -> Codes:
    """Each code with the chance, else a step of 1 to d - 1 further round all ``d`` of them."""
    lies = np.flatnonzero(~entropy.flips(chance, codes.size))
    told = codes.copy()
    if lies.size:
        told[lies] = (codes[lies] + 1 + entropy.many_below(d - 1, lies.size)) % d
    return told
