"""Identifiers by their values: what looks like one whatever it is called, and rows that share one.

A promise to people counts rows. If an identifier repeats, a person may have several rows, and the card must say whose
row is whose (``unit``) or that every row is a person all the same (``rows_are_people``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Role
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.errors import NotDeclared

if TYPE_CHECKING:
    from discreet.core.table import Table

_CODE = r"^[0-9A-Za-z/_#-]*[0-9][0-9A-Za-z/_#-]*$"
"""A text such as P00017, 2024/0815 or MRN-4711: a digit somewhere, and no blanks."""
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_FEWEST = 20
"""Fewer different values than this are categories."""
_MOST_ROWS = 50
"""Identifiers have no more rows each than this, on average."""
_EVEN = 5
"""Most rows of one identifier, as a multiple of the average."""
_SHORTEST = 4
_YEARS = (1800, 2100)
_DENSE = 0.98
_FEWER = 0.65
_NEARLY_ALL = 0.95
_COUNTED_FROM_ONE = 400
"""Fewest numbers without a gap, from 0 or 1 on, that count as a numbering of people or rows."""


def repeating_identifiers(table: Table) -> tuple[str, ...]:
    """The identifiers of a table, but its unit, that several rows share; a missing value is shared with nobody."""
    names = [column.name for column in table.card.having(Role.IDENTIFIER) if column.name != table.card.unit]
    if not names:
        return ()
    figures: list[exp.Expr] = []
    for name in names:
        value = sql.column(name)
        figures += [exp.Count(this=value), exp.Count(this=exp.Distinct(expressions=[value.copy()]))]
    named = [sql.named(figure, f"c{place}") for place, figure in enumerate(figures)]
    counts = [*table.engine.fetch(table.query(*named)).to_pylist()[0].values()]
    return tuple(name for name, there, own in zip(names, counts[::2], counts[1::2], strict=True) if own < there)


def require_rows_of_people(table: Table) -> None:
    """An error if identifiers repeat, while the card neither names a unit nor says that every row is a person."""
    card = table.card
    if card.unit is not None or card.public or card.rows_are_people:
        return
    if found := repeating_identifiers(table):
        several = f"{', '.join(found[:-1])} and {found[-1]} repeat" if len(found) > 1 else f"{found[0]} repeats"
        raise NotDeclared(
            f"Several rows of {card.name} share identifiers: {several}. A person may have several rows, and the card "
            "does not say whose row is whose.",
            hint=f'Declare unit = "{found[0]}" (and rows_per_unit); or, if every row is about somebody else all the '
            "same, rows_are_people = true.",
        )


@dataclass(frozen=True)
class _Shape:
    """What was counted of the values of a column."""

    filled: int
    distinct: int
    most: int
    """Rows of the commonest value."""
    shortest: int
    longest: int
    codes: int
    """Different values that are codes."""
    low: int | None = None
    high: int | None = None
    rounded: bool = False

    @property
    def even(self) -> bool:
        average = self.filled / self.distinct
        return average <= _MOST_ROWS and self.most <= _EVEN * average + _EVEN


def looks_like_identifiers(engine: Engine, relation: exp.Query, name: str, kind: Kind) -> bool:
    """Whether the values of a column look like identifiers, also if several rows share one.

    Codes of about one length, or whole numbers of one length or without gaps; many of them, with about as many rows
    each, so that none is a category. Years, and numbers that are rounded or that fall together by chance, are none.
    """
    if kind not in (Kind.TEXT, Kind.INTEGER):
        return False
    shape = _shape(engine, relation, name, kind)
    if shape.distinct < _FEWEST or not shape.even:
        return False
    if kind is Kind.TEXT:
        alike = shape.longest - shape.shortest <= 2 and shape.longest >= _SHORTEST
        return alike and shape.codes >= _NEARLY_ALL * shape.distinct
    return _keys(shape)


def _keys(shape: _Shape) -> bool:
    """Whether whole numbers are keys."""
    low, high = shape.low, shape.high
    if low is None or high is None or low < 0 or shape.rounded or (_YEARS[0] <= low and high <= _YEARS[1]):
        return False
    room = high - low + 1
    if low <= 1 and shape.distinct >= max(_COUNTED_FROM_ONE, _DENSE * room):
        return True
    if len(str(low)) != len(str(high)) or len(str(low)) < _SHORTEST:
        return False
    by_chance = room * -math.expm1(-shape.filled / room)  # how many would differ, if they were any in that range
    return shape.distinct >= _DENSE * room or (shape.filled < room / 2 and shape.distinct < _FEWER * by_chance)


def _shape(engine: Engine, relation: exp.Query, name: str, kind: Kind) -> _Shape:
    value, n = sql.column(name), sql.column("discreet_n")
    counted = (
        exp.select(sql.named(value, "discreet_v"), sql.named(sql.count_rows(), "discreet_n"))
        .from_(relation.subquery("t"))
        .where(value.copy().is_(exp.null()).not_())
        .group_by(value.copy())
    )
    each = sql.column("discreet_v")
    figures: list[exp.Expr] = [exp.Sum(this=n), sql.count_rows(), exp.Max(this=n.copy())]
    if kind is Kind.TEXT:
        length = exp.Length(this=each)
        figures += [exp.Min(this=length), exp.Max(this=length.copy())]
        code, date = (exp.RegexpLike(this=each.copy(), expression=sql.literal(one)) for one in (_CODE, _DATE))
        figures.append(sql.count_if(exp.and_(code, exp.not_(date))))
    else:
        figures += [exp.Min(this=each), exp.Max(this=each.copy())]
        odd = exp.Mod(this=each.copy(), expression=exp.Literal.number(5))
        figures.append(sql.count_if(exp.NEQ(this=odd, expression=exp.Literal.number(0))))
    named = [sql.named(figure, f"c{place}") for place, figure in enumerate(figures)]
    found: list[Any] = [*engine.fetch(exp.select(*named).from_(counted.subquery("d"))).to_pylist()[0].values()]
    filled, distinct, most = (int(figure or 0) for figure in found[:3])
    if kind is Kind.TEXT:
        shortest, longest, codes = (int(figure or 0) for figure in found[3:])
        return _Shape(filled, distinct, most, shortest, longest, codes)
    low, high = (None if figure is None else int(figure) for figure in found[3:5])
    return _Shape(filled, distinct, most, 0, 0, 0, low, high, not found[5])
