"""Randomised response: keep a code, or replace it by one of the others, all equally likely.

Which of the others it is, is an even number below d - 1, found exactly: 32 random bits times d - 1, of which the upper
half counts, and which is drawn again where the lower half would favour somebody (Lemire 2019).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.compiled import njit
from discreet.noise.entropy import Entropy, Flags
from discreet.verbs.collect.domain import Codes


def randomized_response(codes: Codes, probability: Fraction, d: int, entropy: Entropy) -> Codes:
    """Keep each code with a probability, else move it by 1 to d - 1 round all ``d`` of them."""
    report_codes, heads = codes.copy(), entropy.flips(probability, codes.size)
    done = 0
    while done < codes.size:
        lies = codes.size - done - int(np.count_nonzero(heads[done:]))
        done = _move(report_codes, done, heads, d, entropy.words((lies + 1) // 2 + 1).view(np.uint32))
    return report_codes


@njit(cache=True)
def _move(report_codes: Codes, done: int, heads: Flags, d: int, random: Any) -> int:
    """Move the codes that are not kept, from ``done`` on; return how far the random numbers lasted."""
    others, at = np.uint64(d - 1), 0
    uneven = np.uint64(0x100000000) % others
    for row in range(done, report_codes.size):
        if heads[row]:
            continue
        while True:
            if at == random.size:
                return row
            product = np.uint64(random[at]) * others
            at += 1
            if product & np.uint64(0xFFFFFFFF) >= uneven:
                break
        moved = report_codes[row] + np.int64(1) + np.int64(product >> np.uint64(32))
        report_codes[row] = moved - d if moved >= d else moved
    return report_codes.size
