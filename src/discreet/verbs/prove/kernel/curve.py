"""The exact delta of Gaussian noise, enclosed by whole numbers: nothing here is a float.

A mechanism that adds Gaussian noise sigma to what differs by s is (epsilon, delta)-private exactly for
delta = Phi(m/2 - epsilon/m) - e^epsilon Phi(-m/2 - epsilon/m), where m = s / sigma (Balle and Wang 2018, Theorem 8).

The same holds for many draws, each moved by what follows from those before it (``draws.py``, in lockstep), if all noise
that is moved is Gaussian and the squares t_j^2 = (s_j / sigma_j)^2 add up to at most m^2 along every path. Add one more
draw at the end that fills up the sum to exactly m^2, and nobody loses anything by it. The logarithm of the ratio of
both densities is then S + m^2/2 in the first run and S - m^2/2 in the second, where S is the sum of t_j g_j and the g_j
are the standard normal draws. As t_j is known before g_j is drawn, E exp(iuS + u^2/2 sum t_j^2) = 1 by taking the
expectations one after the other, last draw first. The sum is m^2, so E exp(iuS) = exp(-u^2 m^2 / 2): S is normal with
variance m^2, as it is for one draw moved by m sigma, and delta depends on that ratio's distribution alone.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

_ONE = 1 << 220
"""Numbers are whole multiples of 1/_ONE, rounded down in a lower bound and up in an upper one."""
_TERMS = 60
_FAR = 30
_PI = 3141592653589793238462643383279502884197169399375105820974944
"""The first digits of pi, cut off."""
_DIGITS = 10**60


def delta_of(rho: Fraction, epsilon: Fraction) -> Fraction:
    """A number not below the delta for m^2 = 2 rho (1 if these make no sense). It grows with m, which is rounded up."""
    if rho <= 0 or epsilon < 0:
        return Fraction(0 if rho == 0 and epsilon >= 0 else 1)
    ratio = Fraction(isqrt(_up(2 * rho * _ONE * _ONE)) + 1, _ONE)
    near, far = ratio / 2 - epsilon / ratio, -ratio / 2 - epsilon / ratio
    high, less = _normal(near)[1], _normal(far)[0]
    if less > 0:  # then far is not below -_FAR, so that epsilon is below _FAR^2 / 2, however large the claim may be
        high -= _exp(epsilon)[0] * less // _ONE
    return min(Fraction(1), max(Fraction(0), Fraction(high, _ONE)))


def _up(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _normal(value: Fraction) -> tuple[int, int]:
    """Phi(value), between two multiples: 1/2 + exp(-x^2/2) (x + x^3/3 + x^5/15 + ...) / sqrt(2 pi), for x >= 0."""
    if value < 0:
        low, high = _normal(-value)
        return _ONE - high, _ONE - low
    if value > _FAR:
        return _normal(Fraction(_FAR))[0], _ONE
    down, up = value.numerator * _ONE // value.denominator, _up(value * _ONE)
    lows, highs = _odd(down, round_up=False), _odd(up, round_up=True)
    least, most = _exp(Fraction(down * down, 2 * _ONE * _ONE))[0], _exp(Fraction(up * up, 2 * _ONE * _ONE))[1]
    root = isqrt(2 * _PI * _ONE * _ONE // _DIGITS), isqrt(2 * (_PI + 1) * _ONE * _ONE // _DIGITS + 1) + 1
    half = _ONE // 2
    return half + lows * _ONE * _ONE // (most * root[1]), half - (-highs * _ONE * _ONE // (least * root[0]))


def _odd(value: int, *, round_up: bool) -> int:
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
    for count in range(1, _TERMS):
        least, most = least * over // (under * count), -(-most * over // (under * count))
        low, high = low + least, high + most
    high += most  # the rest is less than the last term
    for _ in range(halvings):
        low, high = low * low // _ONE, -(-high * high // _ONE)
    return low, high
