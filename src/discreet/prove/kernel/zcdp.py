"""From zCDP to (epsilon, delta), rounded so that the promise is never too good."""

from __future__ import annotations

from fractions import Fraction

from discreet.prove.kernel.powers import below_exp

_ORDERS = (Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), *map(Fraction, range(1, 257)))


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
