"""Arithmetic, rounding, roots, logarithms and exponentials, with bounds that follow from the bounds of the parts.

Why no row can make a root, a logarithm or an exponential fail: the argument is cut to its bounds first, and those are
where the curve is defined and neither overflows nor underflows. Curves grow, so the value lies between the curve at
both bounds, worked out in rationals and rounded outwards to 40 bits: engines are off in the last of 53 at most, and may
differ in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from sqlglot import exp

from discreet.core import sql
from discreet.core.exact import exp_lower, exp_upper, ln_lower, ln_upper, sqrt_lower, sqrt_upper
from discreet.core.kind import Kind
from discreet.errors import BadQuery
from discreet.verbs.ask.scalar import dates
from discreet.verbs.ask.value import (
    MANY,
    SAFE,
    TINY,
    Interval,
    Reader,
    Rule,
    Value,
    add,
    computed,
    cut_to,
    ends,
    given,
    half_bounded,
    largest,
    multiply,
    number,
    said,
    within,
)

_HIGHEST_POWER = 8
_BITS = 40
_LEAST = Fraction(1e-30)
_LOWEST, _HIGHEST = Fraction(-100), Fraction(36)


def negative(reader: Reader, node: exp.Neg) -> Value:
    """The other sign."""
    value = reader.number(node.this)
    low, high = within(value)
    return computed(node, exp.Neg(this=exp.paren(value.sql.copy())), (-high, -low), value.kind)


def plus(reader: Reader, node: exp.Add) -> Value:
    """A sum; or a date some days or months later."""
    if isinstance(node.expression, exp.Interval):
        return dates.later(reader, node)
    left, right = reader.of(node.this), reader.of(node.expression)
    if left.kind is Kind.DATE:
        return dates.days_later(node, left, right, 1)
    return _arithmetic(node, left, right, add)


def minus(reader: Reader, node: exp.Sub) -> Value:
    """A difference; of two dates, in days; or a date some days or months earlier."""
    if isinstance(node.expression, exp.Interval):
        return dates.later(reader, node)
    left, right = reader.of(node.this), reader.of(node.expression)
    if left.kind is right.kind is Kind.DATE:
        return dates.days_between(node, right, left)
    if left.kind is Kind.DATE:
        return dates.days_later(node, left, right, -1)
    return _arithmetic(node, left, right, lambda a, b: add(a, (-b[1], -b[0])))


def times(reader: Reader, node: exp.Mul) -> Value:
    """A product."""
    return _arithmetic(node, reader.of(node.this), reader.of(node.expression), multiply)


def power(reader: Reader, node: exp.Pow) -> Value:
    """A number times itself, several times. An even power is not negative."""
    value, times_ = reader.number(node.this), given(reader.of(node.expression))
    if times_ is None or not 1 <= times_ <= _HIGHEST_POWER:
        raise BadQuery(
            f"{said(node)}: the exponent must be a constant whole number from 1 to {_HIGHEST_POWER}.",
            hint="Use SQRT for square roots, and divide 1 by a positive power for a negative one.",
        )
    made = value
    for _ in range(int(times_) - 1):
        made = _arithmetic(node, made, value, multiply)
    low, high = (end ** int(times_) for end in within(value))
    if times_ % 2 == 0:
        crosses = within(value)[0] <= 0 <= within(value)[1]
        low, high = Fraction(0) if crosses else min(low, high), max(low, high)
    return computed(node, made.sql, (low, high), made.kind)


def divided(reader: Reader, node: exp.Div) -> Value:
    """A quotient by what cannot be zero."""
    left, right = reader.number(node.this), reader.number(node.expression)
    a, b = within(left), within(right)
    if b[0] <= 0 <= b[1]:
        raise BadQuery(
            f"{said(node.expression)} could be zero on some row, so nothing is divided by it.",
            hint="Bound it away from zero, for example with GREATEST(…, 1), or NULLIF(…, 0) for whole numbers from 0.",
        )
    divisor, nearest_ = _factor(right), sql.literal(float(min(b, key=abs)))
    beyond = divisor < nearest_ if b[0] > 0 else divisor > nearest_
    cut = exp.case().when(beyond, nearest_.copy()).else_(divisor.copy())
    quotient = multiply(a, (1 / b[1], 1 / b[0]))
    return computed(node, exp.Div(this=_factor(left), expression=cut), quotient, Kind.REAL)


def absolute(reader: Reader, node: exp.Abs) -> Value:
    """The distance from zero."""
    value = reader.number(node.this)
    low, high = within(value)
    least = Fraction(0) if low <= 0 <= high else min(abs(low), abs(high))
    return computed(node, exp.Abs(this=value.sql.copy()), (least, largest((low, high))), value.kind)


def sign(reader: Reader, node: exp.Sign) -> Value:
    """-1, 0 or 1. A double that was computed may be rounded across zero, so its bounds say nothing here."""
    value = reader.number(node.this)
    exact = value.kind is Kind.INTEGER or value.is_double_column
    low, high = ((end > 0) - (end < 0) for end in (value.within if exact and value.within else (-1, 1)))
    double, zero = value.as_double, sql.literal(0.0)
    made = exp.case().when(double > zero, sql.literal(1)).when(double.copy() < zero.copy(), sql.literal(-1))
    made = made.when(exp.EQ(this=double.copy(), expression=zero.copy()), sql.literal(0))
    return Value(made, Kind.INTEGER, (Fraction(low), Fraction(high)), tuple(range(low, high + 1)))


def rounded(reader: Reader, node: exp.Round | exp.Floor | exp.Ceil) -> Value:
    """A whole number: the nearest, the next below, or the next above."""
    if node.args.get("decimals") is not None:
        raise BadQuery("Rows are rounded to whole numbers only.", hint="Round the answer: ROUND(AVG(x), 1).")
    value = reader.number(node.this)
    if isinstance(node, exp.Round):
        return nearest(node, value)
    return _whole(node, value, type(node)(this=value.as_double))


def nearest(node: exp.Expr, value: Value) -> Value:
    """The nearest whole number, halves away from zero (engines differ on halves, so none is asked)."""
    double, half = value.as_double, sql.literal(0.5)
    up, down = exp.Floor(this=double + half), exp.Ceil(this=double.copy() - half.copy())
    return _whole(node, value, exp.case().when(double.copy() < sql.literal(0.0), down).else_(up))


def extreme(reader: Reader, node: exp.Least | exp.Greatest) -> Value:
    """The least or greatest of several; NULL if one is, on every engine.

    Bounds may come from here: LEAST(GREATEST(x, 0), 100) lies in 0 to 100 whatever x is.
    """
    values = [reader.number(one) for one in (node.this, *node.expressions)]
    kind = Kind.INTEGER if all(value.kind is Kind.INTEGER for value in values) else Kind.REAL
    parts = [value.sql.copy() if kind is Kind.INTEGER else value.as_double for value in values]
    picked = type(node)(this=parts[0], expressions=parts[1:], ignore_nulls=True)  # else written with each part twice
    missing = exp.or_(*(part.copy().is_(exp.null()) for part in parts))
    lows, highs = zip(*map(ends, values), strict=True)
    known = min if isinstance(node, exp.Least) else max
    low, high = (_of_known(known, found, every) for found, every in ((lows, known is min), (highs, known is max)))
    return half_bounded(exp.case().when(exp.not_(missing), picked), kind, low, high)


def bucket(reader: Reader, node: exp.WidthBucket) -> Value:
    """Which of ``n`` equal buckets a number is in: 1 to n, 0 below and n + 1 from the end on."""
    value = reader.number(node.this)
    given_ = [within(reader.number(node.args.get(key))) for key in ("min_value", "max_value", "num_buckets")]
    low, high, count = (end[0] for end in given_)
    if not (all(a == b for a, b in given_) and low < high and count.denominator == 1 and 1 <= count <= MANY):
        raise BadQuery(f"{said(node)}: expected a lower bound, a higher one, and 1 to {MANY:,} buckets, all constants.")
    width = (high - low) / count
    place = exp.Floor(this=exp.paren(value.as_double + sql.literal(float(width - low))) / sql.literal(float(width)))
    whole = exp.cast(place, exp.DType.BIGINT)
    inside = exp.Least(this=whole, expressions=[sql.literal(int(count))], ignore_nulls=True)
    chosen = exp.case().when(value.as_double < sql.literal(float(low)), sql.literal(0))
    chosen = chosen.when(value.as_double >= sql.literal(float(high)), sql.literal(int(count) + 1))
    chosen = chosen.when(value.sql.copy().is_(exp.null()).not_(), inside)
    return Value(chosen, Kind.INTEGER, (Fraction(0), count + 1), tuple(range(int(count) + 2)))


def remainder(reader: Reader, node: exp.Mod) -> Value:
    """The remainder of a whole number by a given one; its sign is the dividend's."""
    value, by = reader.number(node.this), reader.number(node.expression)
    divisor = given(by)
    if value.kind is not Kind.INTEGER or not divisor:
        raise BadQuery(f"{said(node)}: % needs a whole number, and a constant whole divisor other than 0.")
    low, high = within(value)
    most = abs(divisor) - 1
    between = (-most if low < 0 else Fraction(0), most if high > 0 else Fraction(0))
    rest = exp.paren(exp.Mod(this=exp.paren(value.sql.copy()), expression=by.sql.copy()))
    domain = tuple(range(int(between[0]), int(between[1]) + 1)) if between[1] - between[0] < MANY else None
    return Value(rest, Kind.INTEGER, between, domain)


def whole_quotient(reader: Reader, node: exp.IntDiv) -> Value:
    """How many times a given number goes into a whole one; what is below zero is cut towards it, as engines do."""
    value, by = reader.number(node.this), reader.number(node.expression)
    divisor = given(by)
    if value.kind is not Kind.INTEGER or not divisor or largest(within(value)) > SAFE:
        raise BadQuery(
            f"{said(node)}: // needs a whole number, and a constant whole divisor other than 0.",
            hint="Use FLOOR(x / y) for others.",
        )
    ends = sorted(Fraction(int(end / divisor)) for end in within(value))
    rest = exp.Mod(this=exp.paren(value.sql.copy()), expression=by.sql.copy())
    multiple = exp.cast(exp.paren(value.sql.copy()) - exp.paren(rest), exp.DType.DOUBLE)
    made = exp.cast(exp.Div(this=multiple, expression=sql.literal(float(divisor))), exp.DType.BIGINT)
    domain = tuple(range(int(ends[0]), int(ends[1]) + 1)) if ends[1] - ends[0] < MANY else None
    return Value(made, Kind.INTEGER, (ends[0], ends[1]), domain)


def _of_known(
    known: Callable[[Iterable[Fraction]], Fraction], found: Sequence[Fraction | None], every: bool
) -> Fraction | None:
    """The least of several is at least the least of their lower ends, and at most any upper end that is known."""
    there = [end for end in found if end is not None]
    return None if not there or (every and len(there) < len(found)) else known(there)


def _whole(node: exp.Expr, value: Value, made: exp.Expr) -> Value:
    """What was rounded, within whole bounds as an integer."""
    if value.kind is Kind.INTEGER:
        return value
    low, high = within(value)
    edges = (Fraction(low // 1), Fraction(-(-high // 1)))
    exact = value.is_double_column and isinstance(node, exp.Floor | exp.Ceil)  # adding a half may round up
    inside = made if exact else cut_to(made, *edges)
    return computed(node, exp.cast(inside, exp.DType.BIGINT), edges, Kind.INTEGER)


def _arithmetic(node: exp.Expr, left: Value, right: Value, where: Callable[[Interval, Interval], Interval]) -> Value:
    for side, value in ((node.this, left), (node.expression, right)):
        number(side, value)
    whole = left.kind is right.kind is Kind.INTEGER
    product = isinstance(node, exp.Mul | exp.Pow)
    sides = [value.sql.copy() if whole else _factor(value) if product else value.as_double for value in (left, right)]
    operator = exp.Mul if product else type(node)
    together = exp.paren(operator(this=sides[0], expression=sides[1]))
    return computed(node, together, where(within(left), within(right)), Kind.INTEGER if whole else Kind.REAL)


def _factor(value: Value) -> exp.Expr:
    """A number as it can be multiplied and divided, on no row with an underflow: PostgreSQL fails on one."""
    far = largest(within(value))
    if far and not TINY <= far <= 1 / TINY:
        raise BadQuery(f"{value.name or 'A factor'} is too large or too small to compute.")
    return value.snapped


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
            f"{said(node)}: its argument is not always between {float(defined[0]):g} and {float(defined[1]):g}.",
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


RULES: dict[type[exp.Expr], Rule] = {
    exp.Neg: negative,
    exp.Add: plus,
    exp.Sub: minus,
    exp.Mul: times,
    exp.Pow: power,
    exp.Div: divided,
    exp.Abs: absolute,
    exp.Sign: sign,
    exp.Round: rounded,
    exp.Floor: rounded,
    exp.Ceil: rounded,
    exp.Least: extreme,
    exp.Greatest: extreme,
    exp.WidthBucket: bucket,
    exp.Mod: remainder,
    exp.IntDiv: whole_quotient,
    exp.Sqrt: root,
    exp.Ln: logarithm,
    exp.Exp: exponential,
}
