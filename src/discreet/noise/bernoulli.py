"""Many coins at once, each with a probability e**-x of its own."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.noise.entropy import Entropy, Flags

_PREFIX = 53
_MARGIN = 2.0**-40


def flips_exp(x: NDArray[np.float64], exactly: Callable[[int], Fraction], entropy: Entropy) -> Flags:
    """One coin for every x >= 0, each true with probability exactly e**-``exactly(i)``.

    ``x[i]`` is what floating point makes of ``exactly(i)``, right to one part in 2**48.

    Why this is right: the loop of ``Entropy.flip_exp``, for x <= 1/2. "A uniform real is below x/k" is decided by the
    first 53 bits of the real, unless they come within one part in 2**40 of x/k, 256 times what x may be
    wrong by; then exact arithmetic decides, with as many more bits as it takes. No floating-point
    rounding reaches the outcome.
    """
    heads = np.ones(x.size, dtype=np.bool_)
    for i in np.flatnonzero(x > 0.5):
        heads[i] = entropy.flip_exp(exactly(int(i)))
    alive = np.flatnonzero(x <= 0.5)
    k = 1
    while alive.size:
        prefix = entropy.words(alive.size) >> np.uint64(64 - _PREFIX)
        u = prefix.astype(np.float64) * 2.0**-_PREFIX
        edge = x[alive] / k
        goes_on = u < edge
        unsure = (u + 2.0**-_PREFIX > edge * (1 - _MARGIN)) & (u < edge * (1 + _MARGIN))
        for i in np.flatnonzero(unsure):
            goes_on[i] = entropy.falls_below(exactly(int(alive[i])) / k, int(prefix[i]), _PREFIX)
        heads[alive[~goes_on]] = k % 2 == 1
        alive = alive[goes_on]
        k += 1
    return heads
