"""SQL text functions: concatenation, substrings, length, search. Characters are Unicode code points on every engine.

Why no question makes texts without end: a text of a column has at most as many characters as its card says, since the
bounded table was cut so; what is made of texts is at most as long as they are together, and longer ones than
``LONGEST_TEXT`` are refused. Whatever makes a text says in the tree how long it can be (``CHARACTERS``), and
``syntax.py`` adds that up over the whole query, in which every WITH stands as often as it is named. This bounds what a
question costs, and privacy does not depend on it. (Some engines' UPPER makes up to three characters of a few letters.)
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.errors import BadQuery
from discreet.verbs.ask.value import (
    CHARACTERS,
    LONGEST_TEXT,
    MANY,
    Reader,
    Rule,
    Value,
    given,
    half_bounded,
    said,
    search,
)


def changed(reader: Reader, node: exp.Lower | exp.Upper | exp.Trim) -> Value:
    """LOWER, UPPER and TRIM of a text."""
    if node.args.get("expression"):
        raise BadQuery(f"{said(node)} cannot be used on rows.", hint="TRIM can only remove spaces.")
    value = reader.text(node.this)
    return made_text(node, type(node)(this=value.sql.copy()), value.characters)


def joined(reader: Reader, node: exp.DPipe) -> Value:
    """Concatenation by ``||``; NULL if either text is."""
    sides = [reader.text(side) for side in (node.this, node.expression)]
    both = exp.DPipe(this=sides[0].sql.copy(), expression=sides[1].sql.copy(), safe=False)
    return made_text(node, both, sides[0].characters + sides[1].characters)


def concatenated(reader: Reader, node: exp.Concat) -> Value:
    """CONCAT of several texts; NULLs are left out, on every engine."""
    first, *others = [reader.text(one) for one in node.expressions]
    made, long = _or_empty(first), first.characters
    for other in others:
        long += other.characters
        made = made_text(node, exp.DPipe(this=made, expression=_or_empty(other), safe=False), long).sql
    return Value(made, Kind.TEXT, longest=long)


def _or_empty(value: Value) -> exp.Expr:
    return exp.Coalesce(this=exp.paren(value.sql.copy()), expressions=[sql.literal("")])


def length(reader: Reader, node: exp.Length) -> Value:
    """LENGTH of a text, characters."""
    value = reader.text(node.this)
    made = exp.cast(exp.Length(this=value.sql.copy()), exp.DType.BIGINT)
    if value.domain is None:
        return half_bounded(made, Kind.INTEGER, Fraction(0), None)
    lengths = sorted({len(str(one)) for one in value.domain})
    return Value(made, Kind.INTEGER, (Fraction(lengths[0]), Fraction(lengths[-1])), tuple(lengths))


def part(reader: Reader, node: exp.Substring) -> Value:
    """SUBSTRING of a text, from a literal start and with an optional literal length."""
    places = [given(reader.of(node.args[key])) for key in ("start", "length") if node.args.get(key) is not None]
    if not places or any(place is None or not 1 <= place <= MANY for place in places):
        raise BadQuery(f"SUBSTRING takes a start and a length, as whole numbers from 1 to {MANY:,}.")
    start, *several = (sql.literal(int(place)) for place in places if place is not None)
    value = reader.text(node.this)
    made = exp.Substring(this=value.sql.copy(), start=start, length=several[0] if several else None)
    return made_text(node, made, min(value.characters, int(places[1] or 0)) if len(places) > 1 else value.characters)


def left(reader: Reader, node: exp.Left) -> Value:
    """LEFT: the first characters of a text."""
    return part(reader, exp.Substring(this=node.this.copy(), start=sql.literal(1), length=node.expression.copy()))


def piece(reader: Reader, node: exp.SplitPart) -> Value:
    """SPLIT_PART: the n-th piece of a text between separators, from 1; an empty text beyond the last."""
    separator, place = _given(node.args.get("delimiter"), node), given(reader.of(node.args.get("part_index")))
    if place is None or not 1 <= place <= MANY:
        raise BadQuery(f"{said(node)}: the number of the piece must be a constant whole number of at least 1.")
    value = reader.text(node.this)
    made = exp.SplitPart(this=value.sql.copy(), delimiter=separator, part_index=sql.literal(int(place)))
    cut = made_text(node, search(made, value, separator.name), value.characters)
    if value.domain is None:
        return cut
    pieces = (str(one).split(separator.name)[int(place) - 1 : int(place)] for one in value.domain)
    return replace(cut, domain=tuple(dict.fromkeys("".join(one) for one in pieces)))


def position(reader: Reader, node: exp.StrPosition) -> Value:
    """Position of a literal in a text, from 1; 0 if it is not found."""
    wanted, value = _given(node.args.get("substr"), node), reader.text(node.this)
    made = search(exp.StrPosition(this=value.sql.copy(), substr=wanted), value, wanted.name)
    return half_bounded(exp.cast(made, exp.DType.BIGINT), Kind.INTEGER, Fraction(0), None)


def starts(reader: Reader, node: exp.StartsWith) -> Value:
    """Whether a text starts with a literal."""
    wanted = _given(node.expression, node)
    made = exp.StartsWith(this=reader.text(node.this).sql.copy(), expression=wanted)
    return Value(made, Kind.BOOLEAN, domain=(False, True))


def made_text(node: exp.Expr, made: exp.Expr, longest: int) -> Value:
    """Text computed by ``node``, with its maximum length in characters."""
    if longest > LONGEST_TEXT:
        raise BadQuery(
            f"{said(node)} could have {longest:,} characters; a text may have {LONGEST_TEXT:,}.",
            hint="Cut the texts first: LEFT(x, 20), or declare max_length on the card.",
        )
    made.meta[CHARACTERS] = longest
    return Value(made, Kind.TEXT, longest=longest)


def _given(node: exp.Expr | None, whole: exp.Expr) -> exp.Expr:
    if not (isinstance(node, exp.Literal) and node.is_string and node.name):
        raise BadQuery(f"{said(whole)}: the text to look for must be in quotes, and not empty.")
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
    exp.SplitPart: piece,
    exp.StrPosition: position,
    exp.StartsWith: starts,
}
