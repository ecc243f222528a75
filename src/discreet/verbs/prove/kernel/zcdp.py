"""From what draws in lockstep cost to (epsilon, delta), rounded so that the promise is never too good."""

from __future__ import annotations

from fractions import Fraction

from discreet.verbs.prove.kernel import curve
from discreet.verbs.prove.kernel.layout import Layout
from discreet.verbs.prove.kernel.powers import below_exp
from discreet.verbs.prove.syntax import Sample

_ORDERS = (Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), *map(Fraction, range(1, 257)))


def gaussian(layout: Layout) -> bool:
    """Whether all noise that may be moved is Gaussian: then the curve of Gaussian noise holds, which is exact."""
    draws = [site.statement for site, _ in layout.sites]
    return all(isinstance(one, Sample) and one.distribution in ("Gaussian", "Bernoulli", "Uniform") for one in draws)


def delta_within(layout: Layout, rho: Fraction, epsilon: Fraction) -> Fraction:
    """A delta for which draws that cost ``rho`` in zCDP along every path give (epsilon, delta)."""
    return curve.delta_of(rho, epsilon) if gaussian(layout) else delta_of(rho, epsilon)


def delta_of(rho: Fraction, epsilon: Fraction) -> Fraction:
    """A delta for which rho-zCDP gives (epsilon, delta).

    For every order a > 1 (Canonne, Kamath and Steinke 2020, Proposition 12, as a bound for Rényi privacy):
    delta = e^((a - 1)(a rho - epsilon)) / (a - 1) * (1 - 1/a)^a. Orders whose exponent is not below 0 are left out;
    1 / below_exp(-exponent) is then above the power, and (1 - 1/a)^a <= 1/e, which is below 3/8.
    """
    best = Fraction(1)
    for order in (1 + above for above in _ORDERS):
        exponent = (order - 1) * (epsilon - order * rho)
        if exponent > 0:
            best = min(best, 1 / below_exp(exponent) / (order - 1) * Fraction(3, 8))
    return best
