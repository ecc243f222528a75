"""A hierarchy as an engine's expression: the ends, NULL and unknown values, the same for every hierarchy."""

from __future__ import annotations

from sqlglot import exp

from discreet.core.hierarchy.protocol import TOP, Hierarchy
from discreet.core.kind import Kind
from discreet.errors import HierarchyError


def apply(hierarchy: Hierarchy, value: exp.Expr, level: int, kind: Kind) -> exp.Expr:
    """``value`` on a level: itself at 0, ``*`` at the top, its label between; NULL stays NULL below the top.

    Values the hierarchy does not know get its ``other``, or NULL if it declares none: ask ``unknown`` first.
    """
    _require_kind(hierarchy, kind)
    if not 0 <= level <= hierarchy.height:
        raise HierarchyError(f"{hierarchy.type}: there is no level {level}; levels go from 0 to {hierarchy.height}.")
    if level == 0:
        return value.copy()
    if level == hierarchy.height:
        # Cast, since a bare literal is refused by PostgreSQL in GROUP BY.
        return exp.cast(exp.Literal.string(TOP), exp.DType.TEXT)
    chosen = exp.case().when(value.is_(exp.null()), exp.null())
    known = hierarchy.knows(value, kind)
    if known is not None:
        other = exp.null() if hierarchy.other is None else exp.Literal.string(hierarchy.other)
        chosen = chosen.when(exp.not_(known), other)
    return chosen.else_(hierarchy.label(value, level, kind))


def unknown(hierarchy: Hierarchy, value: exp.Expr, kind: Kind) -> exp.Expr | None:
    """A condition that holds for values without a label (NULL has none and needs none); ``None``: there are none."""
    _require_kind(hierarchy, kind)
    known = hierarchy.knows(value, kind)
    if known is None or hierarchy.other is not None:
        return None
    return exp.and_(exp.not_(value.is_(exp.null())), exp.not_(known))


def _require_kind(hierarchy: Hierarchy, kind: Kind) -> None:
    if kind not in hierarchy.kinds:
        allowed = " or ".join(allowed.value for allowed in Kind if allowed in hierarchy.kinds)
        raise HierarchyError(f"{hierarchy.type}: this hierarchy is for {allowed} columns; this one is {kind.value}.")
