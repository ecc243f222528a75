"""Roots, logarithms and exponentials of bounded numbers.

Why no row can make them fail: the argument is cut to its bounds first, and those are where the curve is defined and
neither overflows nor underflows. Curves grow, so the value lies between the curve at both bounds, worked out in
rationals and rounded outwards to 40 bits: engines are off in the last of 53 at most, and may differ in it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from discreet.core.directed_rounding import exp_lower, exp_upper, ln_lower, ln_upper, sqrt_lower, sqrt_upper
from discreet.core.kind import Kind
from discreet.errors import BadQuery
from discreet.verbs.ask.scalar.reader import SAFE, Reader, Rule, computed, said, within
from discreet.verbs.ask.value import Interval, Value, cut_to

_BITS = 40
_LEAST = Fraction(1e-30)
_LOWEST, _HIGHEST = Fraction(-100), Fraction(36)


def root(reader: Reader, node: exp.Sqrt) -> Value:
    """A square root of what is not negative."""
    return _curve(reader, node, lambda x: (sqrt_lower(x), sqrt_upper(x)), (Fraction(0), SAFE))


def logarithm(reader: Reader, node: exp.Ln) -> Value:
    """A natural logarithm of what is positive."""
    return _curve(reader, node, lambda x: (ln_lower(x), ln_upper(x)), (_LEAST, SAFE))


def exponential(reader: Reader, node: exp.Exp) -> Value:
    """A power of e."""
    return _curve(reader, node, lambda x: (exp_lower(x), exp_upper(x)), (_LOWEST, _HIGHEST))


def _curve(reader: Reader, node: exp.Expr, curve: Callable[[Fraction], Interval], defined: Interval) -> Value:
    value = reader.number(node.this)
    low, high = (Fraction(float(end)) for end in within(value))
    if low < defined[0] or high > defined[1]:
        raise BadQuery(
            f"{said(node)}: the number in it is not always between {float(defined[0]):g} and {float(defined[1]):g}.",
            hint="Bound it first, for example LN(GREATEST(x, 1)) or EXP(LEAST(x, 10)).",
        )
    cut = value.as_double if value.is_double_column else cut_to(value.as_double, low, high)
    return computed(node, type(node)(this=cut), (_outwards(curve(low)[0], -1), _outwards(curve(high)[1], 1)), Kind.REAL)


def _outwards(end: Fraction, way: int) -> Fraction:
    """The next number of about 40 bits below (-1) or above (1): a double exactly."""
    if not end:
        return end
    unit = Fraction(2) ** (end.numerator.bit_length() - end.denominator.bit_length() - _BITS)
    return (end // unit if way < 0 else -(-end // unit)) * unit + way * unit


RULES: dict[type[exp.Expr], Rule] = {exp.Sqrt: root, exp.Ln: logarithm, exp.Exp: exponential}
