"""Texts: joined, cut, measured, searched. Characters are Unicode's code points, on every engine."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from discreet.ask.scalar.reader import MANY, Reader, Rule, given, half_bounded, said
from discreet.ask.value import Value
from discreet.core import sql
from discreet.core.kind import Kind
from discreet.errors import BadQuery


def changed(reader: Reader, node: exp.Lower | exp.Upper | exp.Trim) -> Value:
    """In other letters, or without spaces at both ends."""
    if node.args.get("expression"):
        raise BadQuery(f"{said(node)} cannot be used on rows.", hint="TRIM takes spaces off, and nothing else.")
    return Value(type(node)(this=reader.text(node.this).sql.copy()), Kind.TEXT)


def joined(reader: Reader, node: exp.DPipe) -> Value:
    """Two texts; NULL if one is."""
    sides = [reader.text(side).sql.copy() for side in (node.this, node.expression)]
    return Value(exp.DPipe(this=sides[0], expression=sides[1], safe=False), Kind.TEXT)


def concatenated(reader: Reader, node: exp.Concat) -> Value:
    """Several texts; those that are NULL are left out, on every engine."""
    parts: list[exp.Expr] = []
    for one in node.expressions:
        text = exp.paren(reader.text(one).sql.copy())
        parts.append(exp.Coalesce(this=text, expressions=[sql.literal("")]))
    made, *others = parts
    for other in others:
        made = exp.DPipe(this=made, expression=other, safe=False)
    return Value(made, Kind.TEXT)


def length(reader: Reader, node: exp.Length) -> Value:
    """How many characters a text has."""
    value = reader.text(node.this)
    made = exp.cast(exp.Length(this=value.sql.copy()), exp.DType.BIGINT)
    if value.domain is None:
        return half_bounded(made, Kind.INTEGER, Fraction(0), None)
    lengths = sorted({len(str(one)) for one in value.domain})
    return Value(made, Kind.INTEGER, (Fraction(lengths[0]), Fraction(lengths[-1])), tuple(lengths))


def part(reader: Reader, node: exp.Substring) -> Value:
    """Characters of a text from a given place on, all of them or so many."""
    places = [given(reader.of(node.args[key])) for key in ("start", "length") if node.args.get(key) is not None]
    if not places or any(place is None or not 1 <= place <= MANY for place in places):
        raise BadQuery(f"SUBSTRING takes a start and a length, as whole numbers from 1 to {MANY:,}.")
    start, *several = (sql.literal(int(place)) for place in places if place is not None)
    made = exp.Substring(this=reader.text(node.this).sql.copy(), start=start, length=several[0] if several else None)
    return Value(made, Kind.TEXT)


def left(reader: Reader, node: exp.Left) -> Value:
    """The first characters of a text."""
    return part(reader, exp.Substring(this=node.this.copy(), start=sql.literal(1), length=node.expression.copy()))


def position(reader: Reader, node: exp.StrPosition) -> Value:
    """Where a given text begins in another, from 1; 0: it is not in it."""
    wanted = _given(node.args.get("substr"), node)
    made = exp.StrPosition(this=reader.text(node.this).sql.copy(), substr=wanted)
    return half_bounded(exp.cast(made, exp.DType.BIGINT), Kind.INTEGER, Fraction(0), None)


def starts(reader: Reader, node: exp.StartsWith) -> Value:
    """Whether a text begins with a given one."""
    wanted = _given(node.expression, node)
    made = exp.StartsWith(this=reader.text(node.this).sql.copy(), expression=wanted)
    return Value(made, Kind.BOOLEAN, domain=(False, True))


def _given(node: exp.Expr | None, whole: exp.Expr) -> exp.Expr:
    if not (isinstance(node, exp.Literal) and node.is_string and node.name):
        raise BadQuery(f"{said(whole)}: what is looked for is a text in quotes, and not empty.")
    return sql.literal(node.name)


RULES: dict[type[exp.Expr], Rule] = {
    exp.Lower: changed,
    exp.Upper: changed,
    exp.Trim: changed,
    exp.DPipe: joined,
    exp.Concat: concatenated,
    exp.Length: length,
    exp.Substring: part,
    exp.Left: left,
    exp.StrPosition: position,
    exp.StartsWith: starts,
}
