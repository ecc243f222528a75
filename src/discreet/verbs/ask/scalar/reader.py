"""Reads an expression by the rule for each of its nodes; what several rules ask of a part is here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, TypeAlias

from sqlglot import exp

from discreet.core.kind import Kind
from discreet.errors import BadQuery, NotDeclared
from discreet.verbs.ask.value import Columns, Interval, Value, exponent, largest

Rule: TypeAlias = "Callable[[Reader, Any], Value]"

SAFE = Fraction(2**53)
"""No number is larger: whole ones are doubles exactly."""
TINY = Fraction(1, 2**200)
"""No bound that a number is multiplied with is smaller."""
MANY = 10_000
_LARGEST_TREE = 5_000
_READ = {
    *("this", "expression", "expressions", "table", "is_string", "to", "low", "high", "query", "unnest", "field"),
    *("negate", "ifs", "true", "false", "default", "decimals", "start", "length", "substr", "unit"),
    *("min_value", "max_value", "num_buckets", "safe", "typed", "ignore_nulls", "coalesce", "date_part_boundary"),
}
"""What the rules look at, or may overlook. Anything else in a tree has a meaning that is not known here."""


class Reader:
    """Reads expressions over rows with these columns."""

    def __init__(self, columns: Columns, rules: Mapping[type[exp.Expr], Rule]) -> None:
        self._columns = columns
        self._rules = rules

    def of(self, node: exp.Expr | None) -> Value:
        """What ``node`` computes."""
        if node is None:
            raise BadQuery("A part of the question is missing.")
        rule = self._rules.get(type(node))
        if rule is None or any(value and key not in _READ for key, value in node.args.items()):
            raise BadQuery(
                f"{said(node)} cannot be used on rows.",
                hint="Arithmetic, comparisons, AND/OR/NOT, CASE, IN, BETWEEN, LIKE, COALESCE, EXTRACT, DATE_DIFF, "
                "DATE_TRUNC and simple text functions can.",
            )
        value = rule(self, node)
        if sum(1 for _ in islice(value.sql.walk(), _LARGEST_TREE + 1)) > _LARGEST_TREE:
            raise BadQuery(f"{said(node)} is too long.")  # some rules use a part twice, and that part another twice
        return value

    def column(self, node: exp.Column) -> Value:
        """The column that is meant."""
        return self._columns.find(node)

    def number(self, node: exp.Expr | None) -> Value:
        """A number."""
        return number(node, self.of(node))

    def text(self, node: exp.Expr | None) -> Value:
        """A text."""
        value = self.of(node)
        if node is not None and value.kind is not Kind.TEXT:
            raise BadQuery(f"{said(node)} is {value.kind.value}, not text.")
        return value

    def truth(self, node: exp.Expr) -> exp.Expr:
        """A condition, in parentheses."""
        value = self.of(node)
        if value.kind is not Kind.BOOLEAN:
            raise BadQuery(f"{said(node)} is {value.kind.value}, not a condition.")
        return exp.paren(value.sql.copy())


def number(node: exp.Expr | None, value: Value) -> Value:
    """``value``, which ``node`` computes and which must be a number."""
    if node is not None and not value.number:
        raise BadQuery(f"{said(node)} is {value.kind.value}, not a number.")
    return value


def within(value: Value) -> Interval:
    """The bounds of a number, which must be known."""
    if value.within is None:
        what = f"column {value.name!r}" if value.name else "what is made of a column"
        raise NotDeclared(
            f"To compute with {what}, its bounds must be known, and the card declares none.",
            hint="Declare bounds on the card, or set them here: LEAST(GREATEST(x, lowest), highest). discreet does "
            "not read them off the data.",
        )
    return value.within


@dataclass(frozen=True)
class HalfBounded(Value):
    """A number with one bound that is known, at most. LEAST and GREATEST may give it the other."""

    low: Fraction | None = None
    high: Fraction | None = None


def half_bounded(made: exp.Expr, kind: Kind, low: Fraction | None, high: Fraction | None) -> Value:
    """A number with the bounds that are known."""
    if low is not None and high is not None:
        return Value(made, kind, (low, high))
    return HalfBounded(made, kind, low=low, high=high)


def ends(value: Value) -> tuple[Fraction | None, Fraction | None]:
    """Each bound of a number, as far as it is known."""
    if isinstance(value, HalfBounded):
        return value.low, value.high
    return value.within or (None, None)


def given(value: Value) -> Fraction | None:
    """The whole number that is written there; ``None``: it is none, or differs from row to row."""
    if value.kind is not Kind.INTEGER or value.within is None or value.sql.find(exp.Column, exp.Case, exp.Null):
        return None  # a CASE may be NULL whatever its bounds are
    return value.within[0] if value.within[0] == value.within[1] else None


def computed(node: exp.Expr, made: exp.Expr, within: Interval, kind: Kind) -> Value:
    """A number that was computed, if it is neither too large nor too small to compute on."""
    far = largest(within)
    if far > SAFE:
        raise BadQuery(f"{said(node)} could be as large as {_power(far)}, too large to compute with.")
    if 0 < far < TINY:
        raise BadQuery(f"{said(node)} is never larger than {_power(far)}, too small to compute with.")
    return Value(exp.paren(made), kind, within)


def said(node: exp.Expr) -> str:
    """A part of the question, as it can be quoted."""
    text = node.sql(dialect="duckdb")
    return text if len(text) <= 60 else text[:59] + "…"


def _power(far: Fraction) -> str:
    return f"{float(far):.3g}" if TINY < far < 1 / TINY else f"2**{exponent(far)}"
