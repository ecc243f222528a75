"""Joins: of rows with a public table, and of private rows on their unit.

Why this is private. With a public table, every row of the result is made of one private row, and a private row is in
as many as the public table has rows with its key: how many at most is looked up there, since the public table is
about nobody. So a unit has at most that many times its rows. On the unit, a row of the result is made of two rows of
one unit: removing the unit removes those and no others, and a unit with a rows here and b there has at most a · b.
A LEFT JOIN keeps a row that has no partner, as one row of its unit; so the private side must be the left one: whether
a public row has a partner hangs on the rows of several people, and NULLs beside it would come and go with them.
(Johnson, Near and Song 2018 bound joins by the frequency of keys too.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.ask.columns import Columns
from discreet.ask.public import multiplicity
from discreet.ask.rows import UNIT, Rows, at, inside, is_unit, require_same_place, together
from discreet.ask.scalar import scalar
from discreet.ask.value import Value
from discreet.core import sql
from discreet.core.kind import Kind
from discreet.errors import BadQuery

_EXACT = (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN, Kind.DATE)
"""Kinds whose values are equal to themselves only, and so on every engine."""
_UNIT = "unit"
_MOST = 1_000_000


def joined(left: Rows, right: Rows, join: exp.Join) -> Rows:
    """The rows of ``left JOIN right``."""
    outer = _outer(join)
    require_same_place(left, right)
    if twice := left.columns.tables & right.columns.tables:
        raise BadQuery(f"Two tables are called {min(twice)!r}.", hint="Give one another name with AS.")
    using = [one.name for one in join.args.get("using") or ()]
    equal = [(_only(name, left), _only(name, right)) for name in using] or list(_equalities(join, left, right))
    for a, b in equal:
        if a.kind is not b.kind or a.kind not in _EXACT:
            what = f"{a.kind.value} and {b.kind.value}" if a.kind is not b.kind else a.kind.value
            raise BadQuery(f"Tables are joined on whole numbers, texts, dates or truths of one kind, not on {what}.")
    most = _most(left, right, equal, outer=outer)
    if most > _MOST:
        raise BadQuery(f"One unit could have {most:,} rows in this join; at most {_MOST:,} can be asked.")
    sides = _Side(left, "l", [a for a, _ in equal]), _Side(right, "r", [b for _, b in equal])
    owner = sides[0] if left.sources else sides[1]
    shown = [sql.named(sql.column(owner.name(_UNIT)), UNIT)] if owner.rows.unit else []
    columns = []
    for side in sides:
        optional = outer and side is sides[1]
        merged = {name.casefold() for name in using} if side is sides[1] else set()
        for place, one in enumerate(side.rows.columns.known):
            value = one.value
            if not is_unit(value) or optional:
                called = inside(len(shown))
                shown.append(sql.named(sql.column(side.name(place)), called))
                value = at(value, called)
                if optional:  # it is NULL where there is no partner, whatever the card requires
                    value = replace(value, required=False)
            columns.append(replace(one, value=value, bare=one.bare and one.name.casefold() not in merged))
    query = exp.select(*shown, copy=False).from_(sides[0].query.subquery("l", copy=False), copy=False)
    on = exp.and_(*(sql.column(sides[0].key(i)).eq(sql.column(sides[1].key(i))) for i in range(len(equal))))
    other = sides[1].query.subquery("r", copy=False)
    query = query.join(other, on=on, join_type="left" if outer else "inner", copy=False)
    return together(left, right, query, columns, most)


@dataclass(frozen=True)
class _Side:
    """One of the two, with names that the other has not."""

    rows: Rows
    letter: str
    keys: list[Value]

    def name(self, what: object) -> str:
        return f"{self.letter}_{what}"

    def key(self, place: int) -> str:
        return self.name(f"key{place}")

    @property
    def query(self) -> exp.Select:
        shown = [sql.named(one.value.sql, self.name(place)) for place, one in enumerate(self.rows.columns.known)]
        shown += [sql.named(value.sql, self.key(place)) for place, value in enumerate(self.keys)]
        if self.rows.unit is not None:
            shown.append(sql.named(sql.column(UNIT), self.name(_UNIT)))
        return exp.select(*shown, copy=False).from_(self.rows.query.subquery("r"), copy=False)


def _most(left: Rows, right: Rows, equal: list[tuple[Value, Value]], *, outer: bool) -> int:
    """The most rows a unit has in the result."""
    if left.sources and right.sources:
        if left.unit is None or left.unit != right.unit or not any(is_unit(a) and is_unit(b) for a, b in equal):
            names = " and ".join(sorted(left.sources | right.sources))
            raise BadQuery(
                f"{names}: tables about people are joined on their unit, which has one name and one kind in both.",
                hint="ON a.unit = b.unit, and further equalities beside it; or declare as public what is about nobody.",
            )
        return left.most * right.most
    if left.sources:
        return left.most * multiplicity(right, [b for _, b in equal])
    if right.sources and outer:
        raise BadQuery(
            "A LEFT JOIN has the table about people on the left.", hint="Turn it round, or ask a plain JOIN."
        )
    if right.sources:
        return right.most * multiplicity(left, [a for a, _ in equal])
    if multiplicity(right, [b for _, b in equal]) > 1:  # else every question could make them grow, for nothing
        raise BadQuery(
            "Public tables are joined with each other on what the second has once.",
            hint="Turn them round, or join each with the table about people.",
        )
    return 1


def _outer(join: exp.Join) -> bool:
    """Whether it is a LEFT JOIN; what is neither that nor a plain JOIN is refused."""
    side, kind = (str(join.args.get(key) or "").upper() for key in ("side", "kind"))
    other = [key for key, value in join.args.items() if value and key not in ("this", "on", "using", "side", "kind")]
    if other or (side, kind) not in (("", ""), ("", "INNER"), ("LEFT", ""), ("LEFT", "OUTER")):
        said = " ".join(filter(None, (str(join.args.get("method") or ""), side, kind, "JOIN")))
        raise BadQuery(f"{said} cannot be asked.", hint="JOIN and LEFT JOIN can, ON a.x = b.y or USING (x).")
    if not join.args.get("on") and not join.args.get("using"):
        raise BadQuery("A join needs ON a.x = b.y, or USING (x).")
    return side == "LEFT"


def _equalities(join: exp.Join, left: Rows, right: Rows) -> Iterator[tuple[Value, Value]]:
    """What ON holds equal, the left one first."""
    both = Columns((*left.columns.known, *right.columns.known))
    for said in _parts(join.args["on"]):
        if not isinstance(said, exp.EQ):
            raise BadQuery(
                f"ON {said.sql()}: tables are joined on equalities, ON a.x = b.y AND a.z = b.z.",
                hint="Put other conditions into WHERE, or into a SELECT inside FROM.",
            )
        here, there = (_whose(node, both, left) for node in (said.this, said.expression))
        if {True} not in (here, there) or {False} not in (here, there):
            raise BadQuery(f"ON {said.sql()}: one side is of one table, the other of the other.")
        a, b = (said.this, said.expression) if here == {True} else (said.expression, said.this)
        yield scalar(a, left.columns), scalar(b, right.columns)


def _parts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """What AND puts together."""
    plain = condition.unnest()
    if isinstance(plain, exp.And):
        yield from _parts(plain.this)
        yield from _parts(plain.expression)
    else:
        yield plain


def _whose(node: exp.Expr, both: Columns, left: Rows) -> set[bool]:
    """Whether the columns of an expression are of the left side."""
    columns = list(node.find_all(exp.Column))
    for column in columns:
        both.find(column)
    return {left.columns.has(column) for column in columns}


def _only(name: str, rows: Rows) -> Value:
    return rows.columns.find(exp.column(name, quoted=True))
