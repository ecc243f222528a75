"""Upper bounds of delta from the cost of draws in lockstep, by integer arithmetic without floats.

A mechanism that adds Gaussian noise sigma to what differs by s is (epsilon, delta)-private exactly for
delta = Phi(m/2 - epsilon/m) - e^epsilon Phi(-m/2 - epsilon/m), where m = s / sigma (Balle and Wang 2018, Theorem 8).

The same holds for many draws, each moved by what follows from those before it (``distribution_rules.py``, in lockstep),
if all noise that is moved is Gaussian and the squares t_j^2 = (s_j / sigma_j)^2 add up to at most m^2 along every path.
Add one more draw at the end that fills up the sum to exactly m^2, and no one loses anything by it. The logarithm of the
ratio of both densities is then S + m^2/2 in the first run and S - m^2/2 in the second, where S is the sum of t_j g_j
and the g_j are the standard normal draws. As t_j is known before g_j is drawn, E exp(iuS + u^2/2 sum t_j^2) = 1 by
taking the expectations one after the other, last draw first. The sum is m^2, so E exp(iuS) = exp(-u^2 m^2 / 2): S is
normal with variance m^2, as it is for one draw moved by m sigma, and delta depends on that ratio's distribution alone.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from discreet.verbs.prove.kernel.distribution_rules import rule_of
from discreet.verbs.prove.kernel.exp_bounds import exp_below
from discreet.verbs.prove.kernel.layout import ProgramLayout
from discreet.verbs.prove.syntax import Sample

_ONE = 1 << 220
"""Numbers are whole multiples of 1/_ONE, rounded down in a lower bound and up in an upper one."""
_SERIES_TERMS = 60
_TAIL_DEVIATIONS = 30
_PI = 3141592653589793238462643383279502884197169399375105820974944
"""The first digits of pi, cut off."""
_PI_SCALE = 10**60


def gaussian_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """An upper bound of the delta for m^2 = 2 rho (1 if these make no sense). It grows with m, which is rounded up."""
    if rho <= 0 or epsilon < 0:
        return Fraction(0 if rho == 0 and epsilon >= 0 else 1)
    ratio = Fraction(isqrt(_ceil(2 * rho * _ONE * _ONE)) + 1, _ONE)
    near, far = ratio / 2 - epsilon / ratio, -ratio / 2 - epsilon / ratio
    high, less = _normal(near)[1], _normal(far)[0]
    if less > 0:  # then far >= -_TAIL_DEVIATIONS: epsilon is below _TAIL_DEVIATIONS^2 / 2, however large the claim
        high -= _exp(epsilon)[0] * less // _ONE
    return min(Fraction(1), max(Fraction(0), Fraction(high, _ONE)))


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _normal(value: Fraction) -> tuple[int, int]:
    """Phi(value), between two multiples: 1/2 + exp(-x^2/2) (x + x^3/3 + x^5/15 + ...) / sqrt(2 pi), for x >= 0."""
    if value < 0:
        low, high = _normal(-value)
        return _ONE - high, _ONE - low
    if value > _TAIL_DEVIATIONS:
        return _normal(Fraction(_TAIL_DEVIATIONS))[0], _ONE
    down, up = value.numerator * _ONE // value.denominator, _ceil(value * _ONE)
    lows, highs = _odd_series(down, round_up=False), _odd_series(up, round_up=True)
    least, most = _exp(Fraction(down * down, 2 * _ONE * _ONE))[0], _exp(Fraction(up * up, 2 * _ONE * _ONE))[1]
    root = isqrt(2 * _PI * _ONE * _ONE // _PI_SCALE), isqrt(2 * (_PI + 1) * _ONE * _ONE // _PI_SCALE + 1) + 1
    half = _ONE // 2
    return half + lows * _ONE * _ONE // (most * root[1]), half - (-highs * _ONE * _ONE // (least * root[0]))


def _odd_series(value: int, *, round_up: bool) -> int:
    """x + x^3/3 + x^5/15 + ...; where the terms halve at least, all that follow are less than the last."""
    square = value * value
    term = total = value
    odd = 1
    while term > 1 or square > odd * _ONE * _ONE // 2:
        odd += 2
        term = -(-term * square // (odd * _ONE * _ONE)) if round_up else term * square // (odd * _ONE * _ONE)
        total += term
        if not term:
            break
    return total + term if round_up else total


def _exp(value: Fraction) -> tuple[int, int]:
    """e^value for value >= 0, between two multiples: the series at value / 2^k < 1, squared k times."""
    halvings = (value.numerator // value.denominator).bit_length()
    over, under = value.numerator, value.denominator << halvings
    low = high = least = most = _ONE
    for count in range(1, _SERIES_TERMS):
        least, most = least * over // (under * count), -(-most * over // (under * count))
        low, high = low + least, high + most
    high += most  # the rest is less than the last term
    for _ in range(halvings):
        low, high = low * low // _ONE, -(-high * high // _ONE)
    return low, high


_ORDERS = (Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), *map(Fraction, range(1, 257)))


def all_gaussian(layout: ProgramLayout) -> bool:
    """Whether all noise that may be moved is Gaussian: then the curve of Gaussian noise holds, which is exact."""
    draws = [site.statement for site, _ in layout.sites]
    return all(isinstance(one, Sample) and rule_of(one.distribution).gaussian_curve for one in draws)


def delta_bound(layout: ProgramLayout, rho: Fraction, epsilon: Fraction) -> Fraction:
    """A delta for which draws that cost ``rho`` in zCDP along every path give (epsilon, delta)."""
    return gaussian_delta(rho, epsilon) if all_gaussian(layout) else zcdp_delta(rho, epsilon)


def zcdp_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """A delta for which rho-zCDP gives (epsilon, delta).

    For every order a > 1 (Canonne, Kamath and Steinke 2020, Proposition 12, as a bound for Rényi privacy):
    delta = e^((a - 1)(a rho - epsilon)) / (a - 1) * (1 - 1/a)^a. Orders whose exponent is not below 0 are left out;
    1 / exp_below(-exponent) is then above the power, and (1 - 1/a)^a <= 1/e, which is below 3/8.
    """
    best = Fraction(1)
    for order in (1 + above for above in _ORDERS):
        exponent = (order - 1) * (epsilon - order * rho)
        if exponent > 0:
            best = min(best, 1 / exp_below(exponent) / (order - 1) * Fraction(3, 8))
    return best
