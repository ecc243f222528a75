"""Columns of results: what is known of them without looking, and how error bars follow through arithmetic.

An error bar is kept where it is known: for a figure itself, for what changes by at most a constant times as much
(``x * 2 + 1``, ``ROUND(x)``, ``ABS(x)``, ``LEAST(x, 10)``), and for the quotient of two figures that are made of
different measures. A window or an aggregate of figures has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.verbs.ask.postprocess import ERROR

SINGLE = "discreet_single"
"""Table of the columns that stand for SELECTs of one figure, by which the rest is computed."""
WHOLE_CASTS = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True)
class Bar:
    """What an error bar is made of: that of a figure, times a factor, plus a constant."""

    figure: str
    factor: float = 1.0
    more: float = 0.0
    made_of: frozenset[str] = frozenset()
    """The measures of the figure."""
    foreseen: bool = True
    """Whether it is known before the figures are."""


@dataclass(frozen=True)
class Noisy:
    """A column of a table of noisy figures."""

    sql: exp.Expr
    kind: Kind | None = None
    """Of a key; ``None``: it is a figure, or made of some."""
    error: exp.Expr | None = None
    bars: tuple[Bar, ...] = ()


Find = Callable[[exp.Expr], Noisy | None]
"""The column that an expression is, if it is one."""
_Far = tuple[float, float, Noisy]
"""A factor, a constant and a figure: something is off by the factor times the figure's error, plus the constant."""


@dataclass(frozen=True)
class AnswerColumn:
    """A column of an answer: what the question calls it, and what is known of it."""

    name: str
    noisy: Noisy


@dataclass(frozen=True)
class Answers:
    """A query over tables of noisy figures, whose columns are called as in ``columns``."""

    query: exp.Query
    columns: tuple[AnswerColumn, ...]
    unique: frozenset[frozenset[str]] = frozenset()
    """Sets of columns, by their names inside, that no two rows have in common; the empty set: there is one row."""

    def called(self, table: str) -> list[AnswerColumn]:
        """The columns as those of a table."""
        return [replace(one, noisy=_in_table(one.noisy, table)) for one in self.columns]


def join_singles(query: exp.Select, singles: Sequence[Answers]) -> exp.Select:
    """A query without columns, with answers of one row beside each of its rows; they may have none."""
    for place, one in enumerate(singles):
        table = one.query.subquery(f"{SINGLE}{place}", copy=True)
        if query.args.get("from_") is None:
            query = query.from_(table, copy=False)
        else:
            query = query.join(table, on=exp.true(), join_type="left", copy=False)
    return query


def single(node: exp.Expr, singles: Sequence[Answers]) -> Noisy | None:
    """The column of an answer of one figure, if an expression stands for one."""
    if not isinstance(node, exp.Column) or node.table != SINGLE or node.name not in map(str, range(len(singles))):
        return None
    place = int(node.name)
    return singles[place].called(f"{SINGLE}{place}")[0].noisy


def renamed(column: AnswerColumn, called: str) -> AnswerColumn:
    """A column as it is called outside of the SELECT that computes it."""
    error = None if column.noisy.error is None else sql.column(f"{called}{ERROR}")
    return replace(column, noisy=replace(column.noisy, sql=sql.column(called), error=error))


def _in_table(noisy: Noisy, table: str) -> Noisy:
    error = None if noisy.error is None else exp.column(noisy.error.name, table=table, quoted=True)
    return replace(noisy, sql=exp.column(noisy.sql.name, table=table, quoted=True), error=error)


def with_error(node: exp.Expr, find: Find, compute: Callable[[exp.Expr], exp.Expr]) -> Noisy:
    """What is computed for ``node``, with its error bar if one is known."""
    far = _far(node, find, compute)
    if far is None:
        return Noisy(compute(node))
    factor, more, figure = far
    error = _scaled(far)
    bars = tuple(replace(one, factor=one.factor * factor, more=one.more * factor + more) for one in figure.bars)
    return Noisy(compute(node), None, error, bars)


def _scaled(far: _Far) -> exp.Expr:
    factor, more, figure = far
    assert figure.error is not None  # noqa: S101  # whatever has bars has one
    return exp.paren(figure.error.copy()) * sql.literal(factor) + sql.literal(more)


def _quotient(node: exp.Div, find: Find, compute: Callable[[exp.Expr], exp.Expr]) -> _Far | None:
    """The quotient of two figures whose noises are independent, with the error of ``postprocess.of_quotient``."""
    above, below = (_far(one, find, compute) for one in (node.this, node.expression))
    if above is None or below is None:
        return None
    bars = (*above[2].bars, *below[2].bars)
    some, others = ({name for one in far[2].bars for name in one.made_of} for far in (above, below))
    if some & others or not all(one.foreseen for one in bars):
        return None
    e, d = (exp.paren(_scaled(one)) for one in (above, below))
    ratio, divisor = exp.Abs(this=compute(node)), exp.Abs(this=exp.paren(compute(node.expression)))
    squared, once = d * d, exp.paren(ratio * d * d)
    room = exp.paren(divisor * divisor - squared)
    far = exp.paren(once + exp.Sqrt(this=once * once + room * exp.paren(e * e + ratio * once))) / room
    error = exp.case().when(exp.GT(this=divisor.copy(), expression=d.copy()), far)
    return 1.0, 0.0, Noisy(exp.null(), None, error, tuple(replace(one, foreseen=False) for one in bars))


def _far(node: exp.Expr, find: Find, compute: Callable[[exp.Expr], exp.Expr]) -> _Far | None:
    """How far an expression may be off: a factor times the error of a figure, plus a constant.

    Why it holds: each of these changes by at most a constant times as much as what is in it, plus one unit where both
    the figure and the truth are rounded.
    """
    found = find(node)
    if found is not None:
        return (1.0, 0.0, found) if found.bars else None
    inner = node.this if isinstance(node.this, exp.Expr) else None
    if inner is None:
        return None
    factor, more = 1.0, 0.0
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div):
        left, right = constant(node.this), constant(node.expression)
        if isinstance(node, exp.Div) and left is right is None:
            return _quotient(node, find, compute)
        known = right if left is None else left
        if known is None or (isinstance(node, exp.Div) and (right is None or right == 0)):
            return None
        inner = node.this if left is None else node.expression
        factor = float(abs(known)) if isinstance(node, exp.Mul) else factor
        factor = float(1 / abs(known)) if isinstance(node, exp.Div) else factor
    elif isinstance(node, exp.Round):
        digits = constant(node.args.get("decimals") or exp.Literal.number(0))
        if digits is None or digits.denominator != 1 or abs(digits) > 15:
            return None
        more = float(1 / Fraction(10) ** int(digits))
    elif isinstance(node, exp.Floor | exp.Ceil) and not node.args.get("decimals"):
        more = 1.0
    elif isinstance(node, exp.Least | exp.Greatest | exp.Coalesce):
        if any(constant(one) is None for one in node.expressions):
            return None
    elif isinstance(node, exp.Nullif):
        if constant(node.expression) is None:
            return None
    elif isinstance(node, exp.Cast):
        if not node.to.is_type("double", *WHOLE_CASTS):
            return None
        more = 1.0 if node.to.is_type(*WHOLE_CASTS) else 0.0
    elif not isinstance(node, exp.Paren | exp.Neg | exp.Abs):
        return None
    below = _far(inner, find, compute)
    if below is None or not factor * below[0] < inf:
        return None
    return factor * below[0], factor * below[1] + more, below[2]


def constant(node: exp.Expr) -> Fraction | None:
    """A number that is written out."""
    plain = node.unnest()
    if isinstance(plain, exp.Neg):
        inner = constant(plain.this)
        return None if inner is None else -inner
    if not isinstance(plain, exp.Literal) or plain.is_string or len(plain.name) > 40:
        return None
    try:
        known = Fraction(plain.name)
    except ValueError:
        return None
    return known if abs(known) < 10**15 else None
