"""Probabilities that a device can draw by: multiples of 2**-64, rounded so that the claimed epsilon holds.

What theory asks for (e**ε / (e**ε + d - 1), say) is irrational. A device draws by a multiple of 2**-64 beside it, on
the side that reveals less; the collector's estimate uses the probabilities that are really drawn by, so it is unbiased,
and the audit finds a loss that is below the claim by next to nothing, never above.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.core.directed_rounding import EXP_ERROR, ln_upper
from discreet.core.exact import Number, exact
from discreet.errors import BadInput

DENOMINATOR = 1 << 64
"""Denominator of every probability that a device draws by."""
_MIN_EPSILON = Fraction(1, 1 << 20)
"""Smallest epsilon: below it, rounding to 2**-64ths could exceed epsilon itself where there are very many values."""
_MAX_EPSILON = 20


def require_epsilon(number: Number) -> Fraction:
    """An epsilon for local randomisation, exactly: from a millionth to 20."""
    epsilon = exact(number, "epsilon")
    if not _MIN_EPSILON <= epsilon <= _MAX_EPSILON:
        raise BadInput(
            f"epsilon must lie between 0 and 20 for local randomisation, got {number}.",
            hint="1 is usual; ln 3, about 1.0986, is what two fair coins give. A millionth is the least.",
        )
    return epsilon


def round_down(probability: Fraction) -> Fraction:
    """The multiple of 2**-64 at or below a probability."""
    return Fraction(probability.numerator * DENOMINATOR // probability.denominator, DENOMINATOR)


def round_up(probability: Fraction) -> Fraction:
    """The multiple of 2**-64 at or above a probability."""
    return Fraction(-(-probability.numerator * DENOMINATOR // probability.denominator), DENOMINATOR)


def epsilon_claim(ratio: Fraction) -> Fraction:
    """Smallest epsilon to claim for a worst ratio: its logarithm, rounded up to 12 decimals.

    ``exp_lower`` of it is not below the ratio, so that an audit of the claim holds.
    """
    decimals = 10**12
    return Fraction(-(-ln_upper(ratio * EXP_ERROR) * decimals // 1), decimals)
