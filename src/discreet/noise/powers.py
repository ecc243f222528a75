"""Powers of e between two integers: what tables, tails and losses are computed from, with every error counted."""

from __future__ import annotations

import math
from fractions import Fraction

_SLACK = Fraction(1, 2**50)
_FAR = 2**14


def exp_minus(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers low and high with ``low <= e**-x * 2**bits <= high``, for x >= 0; they differ by one or two.

    Why this is right: e**-x = (e**-y)**(2**h) with y = x / 2**h <= 1/2, in units of 2**-p. Cutting y down to a
    whole number of units moves e**-y by less than one. Every Taylor term is cut down twice, by less than one
    each time, and carries less than half of the error before it: it is off by less than 3 units. The terms
    shrink and alternate, so what is left out is less than the first of them. Squares are rounded outwards;
    each doubles the error at most, since nothing exceeds 1, and p has bits to spare for that.
    """
    if x == 0:
        return 1 << bits, 1 << bits
    if x > bits:
        return 0, 1
    halvings = int(x).bit_length() + 1
    p = bits + halvings + 24
    y = ((x.numerator << p) // x.denominator) >> halvings
    term = total = 1 << p
    n = 0
    while term:
        n += 1
        term = (term * y >> p) // n
        total += -term if n % 2 else term
    error = 3 * (n + 1) + 1
    low, high = max(total - error, 0), total + error
    for _ in range(halvings):
        low, high = low * low >> p, -(-high * high >> p)
    return low >> (p - bits), min(-(-high >> (p - bits)), 1 << bits)


def exp_minus_between(x: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals around e**-x, for x >= 0; some 64 of their bits agree, unless both are below 2**-16384.

    So do those of 1 - e**-x: of a small x as many bits more are worked out as that difference loses.
    """
    if x > _FAR:
        return Fraction(0), Fraction(1, 1 << _FAR)
    bits = 3 * int(x) // 2 + 80 + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    low, high = exp_minus(x, bits)
    return Fraction(low, 1 << bits), Fraction(high, 1 << bits)


def log_upper(ratio: Fraction) -> Fraction:
    """A rational not below ln(ratio), for ratio >= 1, and above it by less than one part in 2**45.

    Why this is right: ratio = 2**k · rest, with a rest between 1 and 2. For 2 and for the rest the floating-point
    logarithm is a first guess, raised until e to the power of minus the guess, bounded from above, is at most
    one over the number.
    """
    twos = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    twos -= ratio < 1 << twos
    return twos * _small_log_upper(Fraction(2)) + _small_log_upper(ratio / (1 << twos))


def _small_log_upper(ratio: Fraction) -> Fraction:
    if ratio == 1:
        return Fraction(0)
    guess = Fraction(math.log(ratio)) + _SLACK
    while exp_minus_between(guess)[1] * ratio > 1:
        guess += _SLACK
    return guess
