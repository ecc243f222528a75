"""Row-wise expressions, rewritten so that no row can make them fail.

An error that one person's row causes and another's does not would tell something about that person, so there
are none: numbers are bounded before they are computed with, a divisor cannot be zero, casts cannot fail. What is
not listed here is refused by name, never passed on.

Whole numbers are exactly within their bounds. Doubles are so up to rounding, which a difference and a division
after it can make large; so they are cut to their bounds where they are divided by, put into a root or a logarithm,
or become whole numbers again. Dates are within their bounds, as days; what has none lies in the years 1 to 9999,
and is NULL where it does not.

Whatever engines do differently (halves, missing texts in CONCAT, months, LIKE's escapes) is written out in what they
do alike, so that an answer does not depend on where the rows live.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from discreet.errors import BadQuery
from discreet.verbs.ask.columns import Columns
from discreet.verbs.ask.scalar import choices, conditions, curves, dates, literals, numbers, spans, texts
from discreet.verbs.ask.scalar.reader import Reader, Rule, said
from discreet.verbs.ask.value import WEIGHT, Value

_RULES: dict[type[exp.Expr], Rule] = {
    exp.Column: Reader.column,
    exp.Paren: lambda reader, node: reader.of(node.this),
    **literals.RULES,
    **numbers.RULES,
    **curves.RULES,
    **conditions.RULES,
    **choices.RULES,
    **texts.RULES,
    **dates.RULES,
    **spans.RULES,
}


_HEAVIEST = 5_000


def scalar(node: exp.Expr, columns: Columns) -> Value:
    """What ``node`` computes for a row with these columns.

    Engines replace a column of a SELECT inside by what it was computed of, wherever it is used: a few SELECTs that use
    what is inside twice would make trees without end. So how many nodes there are then is known beforehand.
    """
    value = Reader(columns, _RULES).of(node)
    weights = {one.value.sql.name: one.value.weight for one in columns.known}
    parts = value.sql.walk()
    weight = sum(weights.get(one.name, 1) if isinstance(one, exp.Column) else 1 for one in parts)
    if weight > _HEAVIEST:
        raise BadQuery(
            f"{said(node)} is too long, with all that the SELECTs inside compute for it.",
            hint="Use what a SELECT inside computes less often.",
        )
    if not isinstance(value.sql, exp.Column):
        value.sql.meta[WEIGHT] = weight
    return replace(value, weight=weight)
