"""Distances of two distributions in the sense of differential privacy."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import TypeVar

from discreet.errors import BadInput
from discreet.verbs.prove.number_text import Enclosure
from discreet.verbs.prove.refuter.arithmetic import BALL_BITS, ball, bounds, load_flint, log
from discreet.verbs.prove.refuter.errors import Intractable
from discreet.verbs.prove.refuter.logarithms import Exact, Logarithm

_T = TypeVar("_T", bound=Hashable)


def skewed_distance(mu: Mapping[_T, Fraction], nu: Mapping[_T, Fraction], eps: Exact) -> Enclosure:
    """The eps-skewed distance: the sum of ``max(0, mu(x) - e^eps nu(x))``.

    It is the least delta with which mu(S) <= e^eps nu(S) + delta for every set S: the set of all x where mu(x) exceeds
    e^eps nu(x) needs as much, and no other set needs more. Exact if e^eps is rational; it falls as eps grows, so that
    bounds of e^eps give bounds of it.
    """
    factor = exp_epsilon(eps)
    low, high = (_distance(mu, nu, one) for one in (factor.high, factor.low))
    return Enclosure(low, high)


def privacy_curve(mu: Mapping[_T, Fraction], nu: Mapping[_T, Fraction]) -> tuple[tuple[Fraction, Fraction], ...]:
    """The skewed distance for every eps >= 0, exactly: pairs ``(e^eps, delta)``, in order.

    As a function of e^eps it is linear from each pair to the next, and constant from the last on, since outcomes leave
    the sum where e^eps passes mu(x) / nu(x).
    """
    ratios = {mu[one] / nu[one] for one in mu if nu.get(one)}
    knots = sorted({Fraction(1), *(ratio for ratio in ratios if ratio > 1)})
    return tuple((knot, _distance(mu, nu, knot)) for knot in knots)


def exp_epsilon(eps: Exact) -> Enclosure:
    """e to the power of ``eps``: exact for 0 and integer multiples of the logarithm of a rational number."""
    if isinstance(eps, Logarithm):
        if eps.degree != 1:
            raise BadInput(f"{eps} is no epsilon.", hint="Give a number, or a logarithm such as ln 3.")
        if eps.factor.denominator == 1:
            exact = eps.base**eps.factor.numerator
            return Enclosure(exact, exact)
    elif eps == 0:
        return Enclosure(Fraction(1), Fraction(1))
    with load_flint().ctx.workprec(BALL_BITS):
        exponent = log(eps.base) * ball(eps.factor) if isinstance(eps, Logarithm) else ball(Fraction(eps))
        try:
            return Enclosure(*bounds(exponent.exp()))
        except Intractable:
            raise BadInput(f"An epsilon of {eps} is too large to reckon with.") from None


def _distance(mu: Mapping[_T, Fraction], nu: Mapping[_T, Fraction], factor: Fraction) -> Fraction:
    excess = (chance - factor * nu.get(one, Fraction(0)) for one, chance in mu.items())
    return sum((one for one in excess if one > 0), Fraction(0))
