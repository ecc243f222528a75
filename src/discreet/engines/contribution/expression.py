"""Row-wise expressions: what may be computed of a single row, and NULL where that fails.

Why this is private: an expression that is let through is made of the nodes listed here alone. Each of them is a
function of the columns of one row: none reads another row or a table, none draws a random number, none tells the time.
So what is computed for a row depends on that row only. An expression that fails on a row (an overflow, a root of a
negative number, a cast) is NULL there (``TRY``): whether a question has an answer depends on nobody's values.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from discreet.core import sql
from discreet.errors import BadQuery

_ROW_WISE = frozenset(
    {
        exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Cast, exp.TryCast, exp.DataType,
        exp.DataTypeParam, exp.Var, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.EQ, exp.NEQ, exp.LT,
        exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between, exp.Like,
        exp.Escape, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Least, exp.Greatest, exp.Abs, exp.Floor, exp.Ceil,
        exp.Sqrt, exp.Ln, exp.Exp, exp.Lower, exp.Upper, exp.Trim, exp.DPipe, exp.Length, exp.Substring,
        exp.StrPosition, exp.StartsWith, exp.Extract, exp.DateDiff, exp.Interval, exp.Anonymous,
    }
)  # fmt: skip
_FUNCTIONS = frozenset({"MAKE_DATE"})
"""Functions that sqlglot has no class for."""


def row_wise(expression: exp.Expr, columns: Collection[str]) -> exp.Expr:
    """The expression, NULL on rows on which it fails; an error unless it reads nothing but these columns of a row."""
    for node in expression.walk():
        if type(node) not in _ROW_WISE or (isinstance(node, exp.Anonymous) and node.name not in _FUNCTIONS):
            raise BadQuery(f"{expression.sql()[:60]} cannot be used on rows.")
        if isinstance(node, exp.Column) and (node.table or node.name not in columns):
            raise BadQuery(f"There is no column {node.sql()[:60]} here.")
    plain = isinstance(expression, exp.Column | exp.Literal | exp.Boolean | exp.Null)
    return expression.copy() if plain else sql.attempt(expression.copy())


def clamped(number: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    """A number between two others. NULL stays NULL; NaN becomes ``high`` or NULL, whatever an engine holds of it."""
    inside = exp.Between(this=number.copy(), low=low.copy(), high=high.copy())
    below, above = exp.LT(this=number.copy(), expression=low), exp.GT(this=number.copy(), expression=high)
    cases = ((inside, number), (below, low), (above, high))  # of most rows nothing but the first is asked
    return exp.Case(ifs=[exp.If(this=condition, true=then.copy()) for condition, then in cases])
