"""Comparisons and conditions, each true, false or NULL as in SQL; and CASE, IF, COALESCE and NULLIF, which choose."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import MOMENTS, Kind
from discreet.errors import BadQuery
from discreet.verbs.ask.scalar.dates import as_moment_beside
from discreet.verbs.ask.value import MANY, Reader, Rule, Value, given, hull, said, search

_ESCAPE = "!"


def compare(reader: Reader, node: exp.Binary) -> Value:
    """Two values of one kind, compared."""
    left, right = comparable(node, reader.of(node.this), reader.of(node.expression))
    return _condition(type(node)(this=left, expression=right))


def distinct(reader: Reader, node: exp.NullSafeEQ | exp.NullSafeNEQ) -> Value:
    """Whether two values differ, where NULL is a value like any other."""
    missing = [isinstance(side, exp.Null) for side in (node.this, node.expression)]
    if any(missing):
        other = node.expression if missing[0] else node.this
        same: exp.Expr = exp.paren(reader.of(other).sql.copy()).is_(exp.null())
    else:
        left, right = comparable(node, reader.of(node.this), reader.of(node.expression))
        same = exp.paren(exp.NullSafeEQ(this=left, expression=right))
    return _condition(exp.not_(same) if isinstance(node, exp.NullSafeNEQ) else same)


def both(reader: Reader, node: exp.And | exp.Or) -> Value:
    """AND, OR."""
    return _condition(type(node)(this=reader.truth(node.this), expression=reader.truth(node.expression)))


def inverse(reader: Reader, node: exp.Not) -> Value:
    """NOT."""
    return _condition(exp.not_(reader.truth(node.this)))


def is_(reader: Reader, node: exp.Is) -> Value:
    """IS NULL of anything; IS TRUE and IS FALSE of a condition, which are never NULL."""
    value, what = reader.of(node.this), node.expression
    if isinstance(what, exp.Null):
        return _condition(exp.paren(value.sql.copy()).is_(exp.null()))
    if not (isinstance(what, exp.Boolean) and value.kind is Kind.BOOLEAN):
        raise BadQuery(f"{said(node)}: IS NULL applies to any value, IS TRUE and IS FALSE to conditions.")
    known = exp.Coalesce(this=value.sql.copy(), expressions=[exp.Boolean(this=not what.this)])
    return _condition(known if what.this else exp.not_(known))


def between(reader: Reader, node: exp.Between) -> Value:
    """Two comparisons."""
    value = reader.of(node.this)
    ends = [reader.of(node.args[key]) for key in ("low", "high")]
    low, high = (comparable(node, value, end) for end in ends)
    return _condition(
        exp.And(
            this=exp.GTE(this=low[0], expression=low[1]),
            expression=exp.LTE(this=high[0], expression=high[1]),
        )
    )


def among(reader: Reader, node: exp.In) -> Value:
    """One of a list. With NULL in the list it is never false, as in SQL."""
    if not node.expressions:
        raise BadQuery("IN takes a list of values: x IN (1, 2).")
    if len(node.expressions) > MANY:
        raise BadQuery(f"IN with {len(node.expressions):,} values is too long.", hint=f"The limit is {MANY:,} values.")
    value = reader.of(node.this)
    listed = [as_moment_beside(reader.of(one), value) for one in node.expressions if not isinstance(one, exp.Null)]
    if any(one.kind is not value.kind and not (one.number and value.number) for one in listed):
        raise BadQuery(f"{said(node.this)} is {value.kind.value}; the values in its list are not.")
    whole = all(one.kind is Kind.INTEGER or not one.number for one in (value, *listed))
    here, *there = [exp.paren(one.sql.copy()) if whole else one.as_double for one in (value, *listed)]
    if len(listed) < len(node.expressions):
        there.append(exp.null())
    return _condition(exp.In(this=here, expressions=there))


def like(reader: Reader, node: exp.Like | exp.ILike | exp.Escape) -> Value:
    """A text against a pattern. ILIKE compares in lower case, as LOWER makes it."""
    found = node.this if isinstance(node, exp.Escape) else node
    if not (isinstance(found, exp.Like | exp.ILike) and set(found.args) <= {"this", "expression", "negate"}):
        raise BadQuery(f"{said(node)}: ESCAPE belongs to LIKE.")
    if not (isinstance(found.expression, exp.Literal) and found.expression.is_string):
        raise BadQuery("LIKE takes a text in quotes.")
    value, wanted = reader.text(found.this), _pattern(found.expression.name, node)
    text: exp.Expr = exp.paren(value.sql.copy())
    pattern: exp.Expr = sql.literal(wanted)
    if isinstance(found, exp.ILike):
        text, pattern = exp.Lower(this=text), exp.Lower(this=pattern)
    matched = search(exp.Like(this=text, expression=pattern), value, wanted)
    if isinstance(node, exp.Escape):
        matched = exp.Escape(this=matched, expression=sql.literal(_ESCAPE))
    return _condition(exp.not_(exp.paren(matched)) if found.args.get("negate") else matched)


def _pattern(text: str, node: exp.Expr) -> str:
    """The pattern, with an escape that no engine has a meaning of its own for."""
    if not isinstance(node, exp.Escape):
        if "\\" in text:
            raise BadQuery(
                "LIKE with a backslash means different things on different engines.",
                hint="Name an escape character: LIKE '10!%' ESCAPE '!'.",
            )
        return text
    mark = node.expression.name if isinstance(node.expression, exp.Literal) else ""
    if len(mark) != 1 or mark in "%_":
        raise BadQuery(f"{said(node)}: ESCAPE takes one character in quotes, other than % and _.")
    made, characters = "", iter(text)
    for character in characters:
        if character != mark:
            made += _ESCAPE * 2 if character == _ESCAPE else character
            continue
        escaped = next(characters, "")
        if not escaped or escaped not in ("%", "_", mark):
            raise BadQuery(f"{said(node)}: after {mark!r} comes %, _ or {mark!r} again.")
        made += _ESCAPE + escaped if escaped in ("%", "_", _ESCAPE) else escaped
    return made


def comparable(node: exp.Expr, left: Value, right: Value) -> tuple[exp.Expr, exp.Expr]:
    """Two values as they can be compared."""
    if {left.kind, right.kind} & MOMENTS:
        left, right = as_moment_beside(left, right), as_moment_beside(right, left)
    if left.number and right.number and not left.kind is right.kind is Kind.INTEGER:
        return left.as_double, right.as_double  # two decimals may have no common type that holds both
    if left.kind is right.kind or {left.kind, right.kind} <= MOMENTS:
        return exp.paren(left.sql.copy()), exp.paren(right.sql.copy())
    raise BadQuery(f"{said(node)} compares {left.kind.value} with {right.kind.value}.")


def equal(node: exp.Expr, left: Value, right: Value) -> exp.Expr:
    """Whether two values of one kind are equal."""
    one, other = comparable(node, left, right)
    return exp.EQ(this=one, expression=other)


def _condition(made: exp.Expr) -> Value:
    return Value(made, Kind.BOOLEAN, domain=(False, True))


def case(reader: Reader, node: exp.Case | exp.If) -> Value:
    """CASE, with conditions or with values of an operand; IF."""
    branches = node.args.get("ifs") or [node]
    operand = reader.of(node.this) if isinstance(node, exp.Case) and node.this is not None else None
    default = node.args.get("default") if isinstance(node, exp.Case) else node.args.get("false")
    conditions = [
        reader.truth(branch.this) if operand is None else equal(branch, operand, reader.of(branch.this))
        for branch in branches
    ]
    results = [branch.args["true"] for branch in branches] + [default or exp.null()]
    values = [None if isinstance(result, exp.Null) else reader.of(result) for result in results]
    kind, shown = _alike(node, [value for value in values if value is not None])
    each = [exp.null() if value is None else shown(value) for value in values]
    chosen = exp.case()
    for condition, result in zip(conditions, each, strict=False):
        chosen = chosen.when(condition.copy(), result.copy(), copy=False)  # not all of it for every branch
    return _one_of(chosen.else_(each[-1]), kind, [value for value in values if value is not None])


def coalesce(reader: Reader, node: exp.Coalesce) -> Value:
    """The first that is not NULL."""
    values = [reader.of(one) for one in (node.this, *node.expressions) if not isinstance(one, exp.Null)]
    kind, shown = _alike(node, values)
    first, *others = map(shown, values)
    return _one_of(exp.Coalesce(this=first, expressions=others), kind, values)


def nullif(reader: Reader, node: exp.Nullif) -> Value:
    """A value, or NULL where it equals another. A whole number is then no longer the end of its bounds it equals."""
    value, other = reader.of(node.this), reader.of(node.expression)
    made = exp.case().when(equal(node, value, other), exp.null()).else_(value.sql.copy())
    within, gone = value.within, given(other)
    if value.kind is Kind.INTEGER and within is not None and within[0] < within[1]:
        within = (within[0] + (gone == within[0]), within[1] - (gone == within[1]))
    return Value(made, value.kind, within, value.domain, longest=value.characters)


def _alike(node: exp.Expr, values: list[Value]) -> tuple[Kind, Callable[[Value], exp.Expr]]:
    """The kind of several values that stand for one, and how to write each as that kind."""
    if not values:
        raise BadQuery(f"{said(node)} has no value.")
    kinds = {value.kind for value in values}
    if all(value.number for value in values) and (len(kinds) > 1 or Kind.DECIMAL in kinds):
        return Kind.REAL, lambda value: value.as_double
    if len(kinds) > 1:
        raise BadQuery(f"The branches of {said(node)} are of different kinds.")
    return kinds.pop(), lambda value: value.sql.copy()


def _one_of(made: exp.Expr, kind: Kind, values: list[Value]) -> Value:
    domains = {id(value.domain): value.domain for value in values}.values()  # one that stands often is read once
    known = [domain for domain in domains if domain is not None]
    whole = len(known) == len(domains) and kind is not Kind.REAL
    domain = tuple(dict.fromkeys(one for d in known for one in d)) if whole else None
    longest = max(value.characters for value in values)
    return Value(made, kind, hull(*(value.within for value in values)), domain, longest=longest)


RULES: dict[type[exp.Expr], Rule] = {
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), compare),
    exp.NullSafeEQ: distinct,
    exp.NullSafeNEQ: distinct,
    exp.And: both,
    exp.Or: both,
    exp.Not: inverse,
    exp.Is: is_,
    exp.Between: between,
    exp.In: among,
    exp.Like: like,
    exp.ILike: like,
    exp.Escape: like,
    exp.Case: case,
    exp.If: case,
    exp.Coalesce: coalesce,
    exp.Nullif: nullif,
}
