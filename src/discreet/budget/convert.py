"""Privacy losses restated in another kind; never understated."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.core.exact import Number, exact, ln_lower, ln_upper, round_down, round_up
from discreet.core.loss import Approximate, Concentrated, Loss, Pure, Renyi
from discreet.errors import NoPromise


def to_approximate(loss: Loss, delta: Number) -> Approximate:
    """``loss`` as (ε, δ) at the δ that is given, with the least ε known; what has an ε already keeps it.

    Why this is private: a mechanism whose Rényi divergence of order α is at most τ is (ε, δ)-private for

        ε = τ + ln((α - 1)/α) - (ln δ + ln α)/(α - 1)

    (Canonne, Kamath, Steinke 2020, Proposition 12), and at 0 where that is negative, since δ falls as ε
    grows. It holds at *every* order, so any order may be chosen by any means. Of a Rényi curve the best of
    its points is taken. Under ρ-zCDP τ = αρ, and with t = α - 1 the derivative by t is ρ - (ln(1/δ) -
    ln(1 + t))/t², which grows with t: its one zero is the best order. It is found in floats; the bound at
    it is worked out in rationals, rounded up.
    """
    if isinstance(loss, Pure):
        return Approximate(loss.epsilon, 0)
    if isinstance(loss, Approximate):
        return loss
    bound = _positive(delta)
    if isinstance(loss, Renyi):
        epsilon = min(found + _excess(order, bound) for order, found in loss.curve)
    elif loss.rho == 0:
        epsilon = Fraction(0)
    else:
        rho, log = _float(loss.rho), _float(ln_upper(1 / bound))
        order = _order(lambda t: rho * t * t + math.log1p(t) - log)
        epsilon = order * loss.rho + _excess(order, bound)
    return Approximate(round_up(epsilon) if epsilon > 0 else 0, bound)


def largest_concentrated(limit: Approximate) -> Concentrated:
    """The largest ρ, rounded down, whose restatement at the limit's δ stays within its ε.

    Why this is right: ρ is within at order α if αρ + c(α) <= ε, with c as in ``to_approximate``; so any
    order gives a sound ρ = (ε - c(α))/α. Its derivative has the sign of (1 + t)(ln(1/δ) - ln(1 + t))/t² +
    c - ε, which falls as t = α - 1 grows, because c is convex: its one zero is the best order. A hair is
    taken off, so that restating ρ, which rounds up, comes out within the limit too.
    """
    delta = _positive(limit.delta)
    epsilon, log = _float(limit.epsilon), _float(ln_lower(1 / delta))

    def past(t: float) -> float:
        excess = math.log(t) - math.log1p(t) + (log - math.log1p(t)) / t
        return epsilon - excess - (1 + t) * (log - math.log1p(t)) / t / t

    order = _order(past)
    rho = (limit.epsilon - _excess(order, delta)) / order
    return Concentrated(round_down(max(rho, Fraction(0)) * (1 - Fraction(1, 2**50))))


def _excess(order: Fraction, delta: Fraction) -> Fraction:
    """c(α) = ln((α - 1)/α) + (ln(1/δ) - ln α)/(α - 1), rounded up."""
    t = order - 1
    return ln_upper(t / order) + (ln_upper(1 / delta) - ln_lower(order)) / t


def _order(past: Callable[[float], float]) -> Fraction:
    """1 + t at the zero of a function that grows with t, by bisection on ln t."""
    low, high = -40.0, 300.0
    for _ in range(64):
        middle = (low + high) / 2
        if past(math.exp(middle)) < 0:
            low = middle
        else:
            high = middle
    return 1 + Fraction(math.exp(low))


def _positive(delta: Number) -> Fraction:
    found = exact(delta, "delta")
    if not 0 < found < 1:
        raise NoPromise(
            f"A concentrated or Rényi loss can be restated as (ε, δ) at a δ between 0 and 1, not at {found}.",
            hint="Choose a δ well below 1 / number of people, such as 1e-6.",
        )
    return found


def _float(value: Fraction) -> float:
    """Float close to ``value``, for choices only, so numbers beyond the range of floats may be clamped."""
    return float(min(value, Fraction(10**150)))
