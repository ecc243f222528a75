"""UNION ALL: the rows of two queries together, column by column (``engines/contribution.py`` bounds them)."""

from __future__ import annotations

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.engines.contribution import UNIT, numbered
from discreet.errors import BadQuery
from discreet.verbs.ask.columns import Known
from discreet.verbs.ask.rows import Rows, is_unit, require_same_place, together
from discreet.verbs.ask.value import Value, hull


def united(one: Rows, other: Rows) -> Rows:
    """The rows of both, with the names of the first."""
    require_same_place(one, other)
    if one.unit != other.unit or bool(one.sources) != bool(other.sources):
        raise BadQuery(
            "UNION ALL puts rows of the same people together: tables whose units have one name and one kind.",
            hint="Ask each on its own.",
        )
    if one.unit is not None and one.unit.kind is Kind.DECIMAL:
        raise BadQuery("Units that are decimals may have no common type.", hint="Ask each table on its own.")
    if len(one.columns.known) != len(other.columns.known):
        raise BadQuery("The SELECTs of UNION ALL have different numbers of columns.")
    shown: list[tuple[exp.Expr, exp.Expr]] = []
    columns = []
    for a, b in zip(one.columns.known, other.columns.known, strict=True):
        whole = _alike(a, b, numbered(len(shown)))
        columns.append(Known(a.name, whole))
        if not is_unit(whole):
            first, second = (v.as_double if v.kind is Kind.DECIMAL else v.sql for v in (a.value, b.value))
            shown.append((first, second))
    return together(one, other, one.owned.union(other.owned, shown), columns)


def _alike(one: Known, other: Known, called: str) -> Value:
    a, b = one.value, other.value
    if a.kind is not b.kind:
        raise BadQuery(f"UNION ALL: {one.name} is {a.kind.value} here and {b.kind.value} there.")
    domain = None
    if a.domain is not None and b.domain is not None:
        domain = tuple(dict.fromkeys((*a.domain, *b.domain)))
    within, required = hull(a.within, b.within), a.required and b.required
    whose = is_unit(a) and is_unit(b)
    if a.kind is Kind.DECIMAL and not whose:  # two decimals may have no common type that holds both
        return Value(sql.column(called), Kind.REAL, within, required=required)
    place = sql.column(UNIT if whose else called)
    longest = max(a.characters, b.characters)
    return Value(
        place, a.kind, within, domain, a.name if a.name and b.name else "", required, longest, max(a.weight, b.weight)
    )
