"""How far a figure may be from the truth, where its variance hangs on the truth: score intervals (Wilson 1927).

A true figure that is x away from the estimate is refuted where x² > z² variance(estimate + x). To take the variance at
the estimate instead is wrong where it is small: with a large ε, or few people, nobody may have told a rare value, and
its variance then seems to be 0 though people have it.
"""

from __future__ import annotations

import numpy as np

from discreet.collect.numbers.grid import Floats


def reach(z: float, variance: Floats, slope: Floats, bend: Floats | float = 0.0) -> Floats:
    """The largest distance x, to the worse side, with x² <= z² (variance + slope x - bend x²).

    These are the variance at the estimate, how fast it grows with the figure, and how its growth slows down.
    """
    lean, widen = z**2 * np.abs(slope), 1 + z**2 * np.asarray(bend)
    reached: Floats = (lean + np.sqrt(lean**2 + 4 * widen * z**2 * variance)) / (2 * widen)
    return reached


def reach_of_share(z: float, share: Floats, n: Floats | float) -> Floats:
    """The same for the chance of n coins, a share of which fell heads."""
    return reach(z, share * (1 - share) / n, (1 - 2 * share) / n, 1 / n)
