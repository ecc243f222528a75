"""Row-wise expressions, rewritten so that no row can make them fail.

An error that one person's row causes and another's does not would tell something about that person, so there
are none: numbers are bounded before they are computed with, a divisor cannot be zero, casts cannot fail. What is
not listed here is refused by name, never passed on.

Whole numbers are exactly within their bounds. Doubles are so up to rounding, which a difference and a division
after it can make large; so they are cut to their bounds where they are divided by, or become whole numbers again.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import islice
from typing import Any, NoReturn

from sqlglot import exp

from discreet.ask.value import Value, add, clamped, exponent, hull, largest, multiply
from discreet.core import sql
from discreet.core.kind import Kind
from discreet.errors import BadQuery, NotDeclared

_SAFE = Fraction(2**53)
_TINY = Fraction(1, 2**200)
_MANY = 10_000
_LARGEST_TREE = 5_000
_COMPARE = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_TEXT = (exp.Lower, exp.Upper, exp.Trim)
_READ = {
    *("this", "expression", "expressions", "table", "is_string", "to", "low", "high", "query", "unnest", "field"),
    *("negate", "ifs", "true", "false", "default", "decimals", "start", "length"),
    *("min_value", "max_value", "num_buckets", "safe", "typed", "ignore_nulls"),
}
"""What the rules look at, or may overlook. Anything else in a tree has a meaning that is not known here."""
_PARTS = {"year": None, "quarter": (1, 4), "month": (1, 12), "day": (1, 31), "hour": (0, 23), "minute": (0, 59)}


def scalar(node: exp.Expr, columns: Mapping[str, Value]) -> Value:
    """What ``node`` computes for a row with these columns."""
    return _Scalar(columns).of(node)


class _Scalar:
    def __init__(self, columns: Mapping[str, Value]) -> None:
        self._columns = columns

    def of(self, node: exp.Expr | None) -> Value:
        if node is None:
            raise BadQuery("A part of the question is missing.")
        if any(value and key not in _READ for key, value in node.args.items()):
            return self._unknown(node)
        if isinstance(node, _COMPARE):
            return self._compare(node)
        if isinstance(node, exp.And | exp.Or):
            both = type(node)(this=self._truth(node.this), expression=self._truth(node.expression))
            return Value(both, Kind.BOOLEAN, domain=(False, True))
        if isinstance(node, _TEXT) and not node.args.get("expression"):
            return Value(type(node)(this=self._text(node.this)), Kind.TEXT)
        rule = _RULES.get(type(node))
        if rule is None:
            return self._unknown(node)
        value = rule(self, node)
        if sum(1 for _ in islice(value.sql.walk(), _LARGEST_TREE + 1)) > _LARGEST_TREE:
            raise BadQuery(f"{_said(node)} is too long.")  # some rules use a part twice, and that part another twice
        return value

    def _unknown(self, node: exp.Expr) -> NoReturn:
        raise BadQuery(
            f"{_said(node)} cannot be used on rows.",
            hint="Arithmetic, comparisons, AND/OR/NOT, CASE, IN, BETWEEN, LIKE, COALESCE, EXTRACT and simple text "
            "functions can.",
        )

    # -- leaves

    def column(self, node: exp.Column) -> Value:
        found = self._columns.get(node.name) or self._columns.get(node.name.lower())
        if found is None:
            known = ", ".join(self._columns)
            raise BadQuery(f"There is no column {node.name!r}.", hint=f"There are: {known}.")
        return found

    def literal(self, node: exp.Literal) -> Value:
        if node.is_string:
            return Value(sql.literal(node.name), Kind.TEXT, domain=(node.name,))
        try:
            said = Decimal(node.name)
        except InvalidOperation:
            raise BadQuery(f"{_said(node)} is no number.") from None
        if said and abs(said.adjusted()) > 50:  # before it is written out
            raise BadQuery(f"{_said(node)} is too {'large' if said.adjusted() > 0 else 'small'} to compute with.")
        exact = Fraction(said)
        if abs(exact) > _SAFE:
            raise BadQuery(f"{_said(node)} is too large to compute with.")
        if exact.denominator == 1:
            return Value(sql.literal(int(exact)), Kind.INTEGER, (exact, exact), (int(exact),))
        double = Fraction(float(exact))
        return Value(sql.literal(float(exact)), Kind.REAL, (double, double))

    def boolean(self, node: exp.Boolean) -> Value:
        return Value(exp.Boolean(this=bool(node.this)), Kind.BOOLEAN, domain=(bool(node.this),))

    def null(self, _: exp.Null) -> Value:
        raise BadQuery("NULL can only stand behind IS, or be left out of CASE.")

    def cast(self, node: exp.Cast) -> Value:
        to = node.to
        if (
            isinstance(node.this, exp.Literal)
            and node.this.is_string
            and to.is_type("date", "timestamp", "timestampntz")
        ):
            return _moment(node.this.name, to)
        value = self.of(node.this)
        if to.is_type("double", "float") and value.number:
            return Value(value.as_double, Kind.REAL, value.within)
        if to.is_type("text", "varchar") and value.kind in (Kind.TEXT, Kind.INTEGER, Kind.DATE):
            return Value(exp.cast(value.sql.copy(), exp.DType.TEXT), Kind.TEXT)
        raise BadQuery(
            f"CAST from {value.kind.value} to {to.sql()} could fail on some row.",
            hint="Casts of numbers to DOUBLE, and of integers and dates to TEXT, cannot; ROUND gives integers.",
        )

    def paren(self, node: exp.Paren) -> Value:
        return self.of(node.this)

    # -- numbers

    def negative(self, node: exp.Neg) -> Value:
        value = self._number(node.this)
        low, high = self._within(value)
        return self._computed(node, exp.Neg(this=exp.paren(value.sql.copy())), (-high, -low), value.kind)

    def plus(self, node: exp.Add) -> Value:
        return self._arithmetic(node, add)

    def minus(self, node: exp.Sub) -> Value:
        return self._arithmetic(node, lambda a, b: add(a, (-b[1], -b[0])))

    def times(self, node: exp.Mul) -> Value:
        return self._arithmetic(node, multiply)

    def divided(self, node: exp.Div) -> Value:
        left, right = self._number(node.this), self._number(node.expression)
        a, b = self._within(left), self._within(right)
        if b[0] <= 0 <= b[1]:
            raise BadQuery(
                f"{_said(node.expression)} could be zero on some row, so nothing is divided by it.",
                hint="Bound it away from zero, for example with GREATEST(…, 1).",
            )
        divisor, nearest = self._factor(right), sql.literal(float(min(b, key=abs)))
        beyond = divisor < nearest if b[0] > 0 else divisor > nearest
        cut = exp.case().when(beyond, nearest.copy()).else_(divisor.copy())
        quotient = multiply(a, (1 / b[1], 1 / b[0]))
        return self._computed(node, exp.Div(this=self._factor(left), expression=cut), quotient, Kind.REAL)

    def absolute(self, node: exp.Abs) -> Value:
        value = self._number(node.this)
        low, high = self._within(value)
        least = Fraction(0) if low <= 0 <= high else min(abs(low), abs(high))
        return self._computed(node, exp.Abs(this=value.sql.copy()), (least, largest((low, high))), value.kind)

    def rounded(self, node: exp.Round | exp.Floor | exp.Ceil) -> Value:
        if node.args.get("decimals") is not None:
            raise BadQuery("Rows are rounded to whole numbers only.", hint="Round the answer: ROUND(AVG(x), 1).")
        value = self._number(node.this)
        if value.kind is Kind.INTEGER:
            return value
        low, high = self._within(value)
        shift = sql.literal(0.5)
        inner = value.as_double if not isinstance(node, exp.Round) else value.as_double + shift
        whole = exp.Ceil(this=inner) if isinstance(node, exp.Ceil) else exp.Floor(this=inner)
        edges = (Fraction(low // 1), Fraction(-(-high // 1)))
        inside = whole if value.is_double_column else clamped(whole, *edges)
        return self._computed(node, exp.cast(inside, exp.DType.BIGINT), edges, Kind.INTEGER)

    def extreme(self, node: exp.Least | exp.Greatest) -> Value:
        values = [self._number(one) for one in (node.this, *node.expressions)]
        known = [value.within for value in values if value.within is not None]
        least = isinstance(node, exp.Least)
        kind = Kind.INTEGER if all(value.kind is Kind.INTEGER for value in values) else Kind.REAL
        parts = [value.sql.copy() if kind is Kind.INTEGER else value.as_double for value in values]
        full = hull(*(value.within for value in values))
        whole = None
        if full is not None:
            ends = min if least else max
            whole = (ends(low for low, _ in known), ends(high for _, high in known))
        # NULL makes the whole NULL on every engine, though PostgreSQL and DuckDB would pass it over.
        picked = type(node)(this=parts[0], expressions=parts[1:])
        missing = exp.or_(*(part.copy().is_(exp.null()) for part in parts))
        return Value(exp.case().when(exp.not_(missing), picked), kind, whole)

    def bucket(self, node: exp.WidthBucket) -> Value:
        """Which of ``n`` equal buckets a number is in: 1 to n, 0 below and n + 1 from the end on."""
        value = self._number(node.this)
        given = [self._number(node.args.get(key)) for key in ("min_value", "max_value", "num_buckets")]
        ends = [self._within(end) for end in given]
        low, high, count = (end[0] for end in ends)
        if not (all(a == b for a, b in ends) and low < high and count.denominator == 1 and 1 <= count <= _MANY):
            raise BadQuery(f"{_said(node)}: buckets go from a lower to a higher number, and there are 1 to {_MANY:,}.")
        width = (high - low) / count
        place = exp.Floor(this=exp.paren(value.as_double + sql.literal(float(width - low))) / sql.literal(float(width)))
        inside = exp.Least(this=exp.cast(place, exp.DType.BIGINT), expressions=[sql.literal(int(count))])
        chosen = exp.case().when(value.as_double < sql.literal(float(low)), sql.literal(0))
        chosen = chosen.when(value.as_double >= sql.literal(float(high)), sql.literal(int(count) + 1))
        chosen = chosen.when(value.sql.copy().is_(exp.null()).not_(), inside)
        return Value(chosen, Kind.INTEGER, (Fraction(0), count + 1), tuple(range(int(count) + 2)))

    def remainder(self, node: exp.Mod) -> Value:
        value, by = self._number(node.this), self._number(node.expression)
        given = by.domain is not None and len(by.domain) == 1 and by.domain[0] != 0
        if not (value.kind is by.kind is Kind.INTEGER and given):
            raise BadQuery(f"{_said(node)}: a remainder is that of a whole number by a given one other than 0.")
        low, high = self._within(value)
        most = largest(self._within(by)) - 1
        ends = (-most if low < 0 else Fraction(0), most if high > 0 else Fraction(0))  # the sign is the dividend's
        rest = exp.paren(exp.Mod(this=value.sql.copy(), expression=by.sql.copy()))
        domain = tuple(range(int(ends[0]), int(ends[1]) + 1)) if ends[1] - ends[0] < _MANY else None
        return Value(rest, Kind.INTEGER, ends, domain)

    def named_part(self, node: exp.Year | exp.Month | exp.Day | exp.Quarter) -> Value:
        part = exp.var(type(node).__name__.upper())
        return self.extract(exp.Extract(this=part, expression=node.this.copy()))

    def _arithmetic(self, node: exp.Binary, where: Callable[[Any, Any], Any]) -> Value:
        left, right = self._number(node.this), self._number(node.expression)
        whole = left.kind is right.kind is Kind.INTEGER
        product = isinstance(node, exp.Mul)
        sides = [
            value.sql.copy() if whole else self._factor(value) if product else value.as_double
            for value in (left, right)
        ]
        together = exp.paren(type(node)(this=sides[0], expression=sides[1]))
        within = where(self._within(left), self._within(right))
        return self._computed(node, together, within, Kind.INTEGER if whole else Kind.REAL)

    def _computed(self, node: exp.Expr, made: exp.Expr, within: tuple[Fraction, Fraction], kind: Kind) -> Value:
        far = largest(within)
        if far > _SAFE:
            raise BadQuery(f"{_said(node)} could be as large as {_power(far)}, too large to compute with.")
        if 0 < far < _TINY:
            raise BadQuery(f"{_said(node)} is never larger than {_power(far)}, too small to compute with.")
        return Value(exp.paren(made), kind, within)

    def _factor(self, value: Value) -> exp.Expr:
        """A number as it can be multiplied and divided, on no row with an underflow: PostgreSQL fails on one."""
        far = largest(self._within(value))
        if far and not _TINY <= far <= 1 / _TINY:
            raise BadQuery(f"{value.name or 'A factor'} is too large or too small to compute with.")
        return value.snapped

    def _number(self, node: exp.Expr | None) -> Value:
        value = self.of(node)
        if node is not None and not value.number:
            raise BadQuery(f"{_said(node)} is {value.kind.value}, not a number.")
        return value

    def _within(self, value: Value) -> tuple[Fraction, Fraction]:
        if value.within is None:
            what = f"column {value.name!r}" if value.name else "what is made of a column"
            raise NotDeclared(
                f"To compute with {what}, its bounds must be known, and the card declares none.",
                hint="Declare bounds on the card; discreet does not read them off the data.",
            )
        return value.within

    # -- conditions

    def _compare(self, node: exp.Binary) -> Value:
        left, right = self.of(node.this), self.of(node.expression)
        if left.number and right.number and not left.kind is right.kind is Kind.INTEGER:
            sides = left.as_double, right.as_double  # two decimals may have no common type that holds both
        elif left.kind is right.kind or {left.kind, right.kind} <= {Kind.DATE, Kind.TIMESTAMP}:
            sides = exp.paren(left.sql.copy()), exp.paren(right.sql.copy())
        else:
            raise BadQuery(f"{_said(node)} compares {left.kind.value} with {right.kind.value}.")
        return Value(type(node)(this=sides[0], expression=sides[1]), Kind.BOOLEAN, domain=(False, True))

    def inverse(self, node: exp.Not) -> Value:
        return Value(exp.not_(self._truth(node.this)), Kind.BOOLEAN, domain=(False, True))

    def is_null(self, node: exp.Is) -> Value:
        if not isinstance(node.expression, exp.Null):
            raise BadQuery(f"{_said(node)}: only IS NULL and IS NOT NULL are known.")
        return Value(exp.paren(self.of(node.this).sql.copy()).is_(exp.null()), Kind.BOOLEAN, domain=(False, True))

    def between(self, node: exp.Between) -> Value:
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
        high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
        return self.of(exp.And(this=low, expression=high))

    def among(self, node: exp.In) -> Value:
        if not node.expressions:
            raise BadQuery("IN takes a list of values here, not a subquery.")
        if len(node.expressions) > _MANY:
            raise BadQuery(
                f"IN with {len(node.expressions):,} values is too long.", hint=f"At most {_MANY:,} are taken."
            )
        value = self.of(node.this)
        listed = [self.of(one) for one in node.expressions]
        if any(one.kind is not value.kind and not (one.number and value.number) for one in listed):
            raise BadQuery(f"{_said(node.this)} is {value.kind.value}; the values in its list are not.")
        whole = all(one.kind is Kind.INTEGER or not one.number for one in (value, *listed))
        here, *there = [exp.paren(one.sql.copy()) if whole else one.as_double for one in (value, *listed)]
        inside = exp.In(this=here, expressions=there)
        return Value(inside, Kind.BOOLEAN, domain=(False, True))

    def like(self, node: exp.Like) -> Value:
        if not (isinstance(node.expression, exp.Literal) and node.expression.is_string):
            raise BadQuery("LIKE takes a text in quotes.")
        if "\\" in node.expression.name:
            raise BadQuery("LIKE with a backslash means different things on different engines.")
        pattern = sql.literal(node.expression.name)
        found = exp.Like(this=exp.paren(self._text(node.this)), expression=pattern)
        return Value(exp.not_(found) if node.args.get("negate") else found, Kind.BOOLEAN, domain=(False, True))

    def _truth(self, node: exp.Expr) -> exp.Expr:
        value = self.of(node)
        if value.kind is not Kind.BOOLEAN:
            raise BadQuery(f"{_said(node)} is {value.kind.value}, not a condition.")
        return exp.paren(value.sql.copy())

    # -- choices and texts

    def case(self, node: exp.Case | exp.If) -> Value:
        branches = node.args.get("ifs") or [node]
        operand = node.this if isinstance(node, exp.Case) else None
        default = node.args.get("default") if isinstance(node, exp.Case) else node.args.get("false")
        conditions = [
            branch.this if operand is None else exp.EQ(this=operand.copy(), expression=branch.this.copy())
            for branch in branches
        ]
        results = [branch.args["true"] for branch in branches] + [default or exp.null()]
        values = [None if isinstance(result, exp.Null) else self.of(result) for result in results]
        kind, shown = self._alike(node, [value for value in values if value is not None])
        given = [exp.null() if value is None else shown(value) for value in values]
        chosen = exp.case()
        for condition, result in zip(conditions, given, strict=False):
            chosen = chosen.when(self._truth(condition), result)
        return self._one_of(chosen.else_(given[-1]), kind, [value for value in values if value is not None])

    def coalesce(self, node: exp.Coalesce) -> Value:
        values = [self.of(one) for one in (node.this, *node.expressions)]
        kind, shown = self._alike(node, values)
        first, *others = map(shown, values)
        return self._one_of(exp.Coalesce(this=first, expressions=others), kind, values)

    def _alike(self, node: exp.Expr, values: list[Value]) -> tuple[Kind, Callable[[Value], exp.Expr]]:
        """The kind of several values that stand for one, and how to write each as that kind."""
        if not values:
            raise BadQuery("CASE has no value to give.")
        kinds = {value.kind for value in values}
        if all(value.number for value in values) and (len(kinds) > 1 or Kind.DECIMAL in kinds):
            return Kind.REAL, lambda value: value.as_double
        if len(kinds) > 1:
            raise BadQuery(f"The branches of {_said(node)} are of different kinds.")
        return kinds.pop(), lambda value: value.sql.copy()

    def _one_of(self, node: exp.Expr, kind: Kind, values: list[Value]) -> Value:
        domains = [value.domain for value in values]
        known = [domain for domain in domains if domain is not None]
        whole = len(known) == len(domains) and kind is not Kind.REAL
        domain = tuple(dict.fromkeys(one for d in known for one in d)) if whole else None
        within = hull(*(value.within for value in values)) if values[0].number else None
        return Value(node, kind, within, domain)

    def joined(self, node: exp.DPipe) -> Value:
        both = exp.DPipe(this=self._text(node.this), expression=self._text(node.expression), safe=False)
        return Value(both, Kind.TEXT)

    def length(self, node: exp.Length) -> Value:
        return Value(exp.Length(this=self._text(node.this)), Kind.INTEGER)

    def part(self, node: exp.Substring) -> Value:
        ends = [self.of(end) for end in (node.args.get("start"), node.args.get("length")) if end is not None]
        places = [end.domain[0] for end in ends if end.domain and len(end.domain) == 1]
        if len(places) < 2 or not all(isinstance(place, int) and 1 <= place <= _MANY for place in places):
            raise BadQuery(f"SUBSTRING takes a start and a length, as whole numbers from 1 to {_MANY:,}.")
        start, length = map(sql.literal, places)
        return Value(exp.Substring(this=self._text(node.this), start=start, length=length), Kind.TEXT)

    def _text(self, node: exp.Expr) -> exp.Expr:
        value = self.of(node)
        if value.kind is not Kind.TEXT:
            raise BadQuery(f"{_said(node)} is {value.kind.value}, not text.")
        return value.sql.copy()

    def extract(self, node: exp.Extract) -> Value:
        name = node.name.lower()
        value = self.of(node.expression)
        timed = name in ("hour", "minute")
        if name not in _PARTS or value.kind not in ((Kind.TIMESTAMP,) if timed else (Kind.DATE, Kind.TIMESTAMP)):
            raise BadQuery(f"{_said(node)}: {', '.join(_PARTS)} can be extracted from dates and timestamps.")
        ends = _PARTS[name] or (1, 9999)
        within = (Fraction(ends[0]), Fraction(ends[1]))
        domain = tuple(range(ends[0], ends[1] + 1)) if _PARTS[name] else None
        taken = exp.Extract(this=exp.var(name.upper()), expression=value.sql.copy())
        whole: exp.Expr = exp.cast(taken, exp.DType.BIGINT)
        if domain is None:  # engines know years before the first and after the last; those are no years here
            whole = exp.case().when(exp.Between(this=taken.copy(), **_literals(low=1, high=9999)), whole)
        return Value(whole, Kind.INTEGER, within, domain)


def _moment(text: str, to: exp.DataType) -> Value:
    try:
        if to.is_type("date"):
            return Value(sql.literal(dt.date.fromisoformat(text)), Kind.DATE)
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise BadQuery(f"{text!r} is no date or time.", hint="Write it like 2001-12-31, or 2001-12-31 23:59.") from None
    if moment.tzinfo is not None:
        raise BadQuery(f"{text!r} has a time zone.", hint="Write it in UTC, without one.")
    return Value(sql.literal(moment), Kind.TIMESTAMP)


def _literals(**numbers: int) -> dict[str, exp.Expr]:
    return {name: sql.literal(number) for name, number in numbers.items()}


def _power(far: Fraction) -> str:
    return f"{float(far):.3g}" if _TINY < far < 1 / _TINY else f"2**{exponent(far)}"


def _said(node: exp.Expr) -> str:
    text = node.sql()
    return text if len(text) <= 60 else text[:59] + "…"


_RULES: dict[type[exp.Expr], Callable[[_Scalar, Any], Value]] = {
    exp.Column: _Scalar.column,
    exp.Literal: _Scalar.literal,
    exp.Boolean: _Scalar.boolean,
    exp.Null: _Scalar.null,
    exp.Cast: _Scalar.cast,
    exp.Paren: _Scalar.paren,
    exp.Neg: _Scalar.negative,
    exp.Add: _Scalar.plus,
    exp.Sub: _Scalar.minus,
    exp.Mul: _Scalar.times,
    exp.Div: _Scalar.divided,
    exp.Abs: _Scalar.absolute,
    exp.Round: _Scalar.rounded,
    exp.Floor: _Scalar.rounded,
    exp.Ceil: _Scalar.rounded,
    exp.Least: _Scalar.extreme,
    exp.Greatest: _Scalar.extreme,
    exp.Not: _Scalar.inverse,
    exp.Is: _Scalar.is_null,
    exp.Between: _Scalar.between,
    exp.In: _Scalar.among,
    exp.Like: _Scalar.like,
    exp.Case: _Scalar.case,
    exp.If: _Scalar.case,
    exp.Coalesce: _Scalar.coalesce,
    exp.DPipe: _Scalar.joined,
    exp.Length: _Scalar.length,
    exp.Substring: _Scalar.part,
    exp.Extract: _Scalar.extract,
    exp.Year: _Scalar.named_part,
    exp.Quarter: _Scalar.named_part,
    exp.Month: _Scalar.named_part,
    exp.Day: _Scalar.named_part,
    exp.WidthBucket: _Scalar.bucket,
    exp.Mod: _Scalar.remainder,
}
