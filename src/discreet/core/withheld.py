"""Long text with many values, which stays behind until the card says that it may leave.

Notes, remarks and letters name people in ways that no model counts and no masking method changes. A column of texts
counts as such if more than ten different ones are long, and more than one in ten of the long ones is different: one
with categories, or with a hierarchy, is declared and does not.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Column, Role
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.errors import NotDeclared

LONG = 20
"""Characters; what has more is long."""
_MANY = 10


def long_texts(engine: Engine, relation: exp.Query, names: Collection[str]) -> tuple[str, ...]:
    """Which of some columns of texts are long, with many values."""
    if not names:
        return ()
    figures: list[exp.Expr] = []
    for name in names:
        value = sql.column(name)
        long = exp.GT(this=exp.Length(this=value), expression=exp.Literal.number(LONG))
        kept = exp.Case().when(long, value.copy())
        figures += [exp.Count(this=kept), exp.Count(this=exp.Distinct(expressions=[kept.copy()]))]
    named = [sql.named(figure, f"c{place}") for place, figure in enumerate(figures)]
    counts = [*engine.fetch(exp.select(*named).from_(relation.subquery("t"))).to_pylist()[0].values()]
    both = zip(names, counts[::2], counts[1::2], strict=True)
    return tuple(name for name, filled, own in both if own > _MANY and own * 10 > filled)


def hold_back(table: Table, named: Collection[str] = (), *, quasi: bool) -> Table:
    """The same table without long texts, so that nothing of them leaves.

    ``named`` are columns that somebody asked for by name: if one of them would be withheld, that is an error.
    ``quasi``: whether quasi-identifiers may be long texts too, since they are made coarser.
    """
    found = long_texts(table.engine, table.relation, [c.name for c in table.card.columns if _undeclared(c, quasi)])
    if asked := [name for name in found if name in named]:
        raise NotDeclared(
            f"{asked[0]} of {table.card.name} holds long text with many values, which may name people: it is withheld.",
            hint="If it may, say so on the card: may_leave = true. Else leave it out.",
        )
    if not found:
        return table
    return replace(table.select(*(name for name in table.columns if name not in found)), withheld=found)


def said_of_withheld(table: Table) -> tuple[str, ...]:
    """For the statement of what is made of a table."""
    if not table.withheld:
        return ()
    return (
        f"Withheld, since long text with many values may name people: {', '.join(table.withheld)}. It leaves if the "
        "card says so (may_leave = true).",
    )


def _undeclared(column: Column, quasi: bool) -> bool:
    """Whether nothing on the card says what the texts of a column are."""
    plain = column.kind is Kind.TEXT and column.categories is None and column.hierarchy is None
    roles = (Role.SENSITIVE, Role.OTHER, *(() if quasi else (Role.QUASI,)))
    return plain and column.role in roles and not column.may_leave
