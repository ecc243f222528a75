"""One of several values: CASE, IF, COALESCE, NULLIF."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from discreet.core.kind import Kind
from discreet.errors import BadQuery
from discreet.verbs.ask.scalar.conditions import equal
from discreet.verbs.ask.scalar.reader import Reader, Rule, given, said
from discreet.verbs.ask.value import Value, hull


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
        raise BadQuery(f"{said(node)} has no value to give.")
    kinds = {value.kind for value in values}
    if all(value.number for value in values) and (len(kinds) > 1 or Kind.DECIMAL in kinds):
        return Kind.REAL, lambda value: value.as_double
    if len(kinds) > 1:
        raise BadQuery(f"The branches of {said(node)} are of different kinds.")
    return kinds.pop(), lambda value: value.sql.copy()


def _one_of(made: exp.Expr, kind: Kind, values: list[Value]) -> Value:
    domains = [value.domain for value in values]
    known = [domain for domain in domains if domain is not None]
    whole = len(known) == len(domains) and kind is not Kind.REAL
    domain = tuple(dict.fromkeys(one for d in known for one in d)) if whole else None
    longest = max(value.characters for value in values)
    return Value(made, kind, hull(*(value.within for value in values)), domain, longest=longest)


RULES: dict[type[exp.Expr], Rule] = {
    exp.Case: case,
    exp.If: case,
    exp.Coalesce: coalesce,
    exp.Nullif: nullif,
}
