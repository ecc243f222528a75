"""Joins: of rows with a public table, and of private rows on their unit.

Why this is private is argued, and enforced, in ``engines/contribution.py``: a public table is cut there to as many
rows with equal keys as are counted on. How many that must be for no row to be lost is looked up here, since the
public table is about nobody. A LEFT JOIN keeps a row that has no partner, as one row of its unit; so the private side
must be the left one: whether a public row has a partner depends on the rows of several people, and NULLs beside it
would come and go with them. (Johnson, Near and Song 2018 bound joins by the frequency of keys too.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from discreet.core.kind import Kind
from discreet.engines.contribution import UNIT
from discreet.errors import BadQuery
from discreet.verbs.ask.columns import Columns
from discreet.verbs.ask.public import multiplicity
from discreet.verbs.ask.rows import Rows, at, is_unit, require_same_place, together
from discreet.verbs.ask.scalar import scalar
from discreet.verbs.ask.value import Value

_EXACT = (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN, Kind.DATE)
"""Kinds whose values are equal to themselves only, and so on every engine."""
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
    matches = _matches(left, right, equal, outer=outer)
    owned = left.owned.join(right.owned, [(a.sql, b.sql) for a, b in equal], outer=outer, matches=matches)
    if owned.most > _MOST:
        raise BadQuery(f"One unit could have {owned.most:,} rows in this join; at most {_MOST:,} can be asked.")
    merged = {name.casefold() for name in using}
    places = (
        dict(zip(left.owned.names, owned.names, strict=False)),
        dict(zip((*right.owned.names, *([UNIT] if outer else ())), owned.names[len(left.owned.names) :], strict=False)),
    )
    columns = []
    for side, names in zip((left, right), places, strict=True):
        for one in side.columns.known:
            called = names.get(one.value.sql.name)
            value = one.value if called is None else at(one.value, called)
            if outer and side is right:  # it is NULL where there is no partner, whatever the card requires
                value = replace(value, required=False)
            hidden = side is right and one.name.casefold() in merged
            columns.append(replace(one, value=value, bare=one.bare and not hidden))
    return together(left, right, owned, columns)


def _matches(left: Rows, right: Rows, equal: list[tuple[Value, Value]], *, outer: bool) -> int:
    """How many rows of a public side a row has as partners, at the most."""
    if left.sources and right.sources:
        if left.unit is None or left.unit != right.unit or not any(is_unit(a) and is_unit(b) for a, b in equal):
            names = " and ".join(sorted(left.sources | right.sources))
            raise BadQuery(
                f"{names}: tables about people are joined on their unit, which has one name and one kind in both.",
                hint="ON a.unit = b.unit, and further equalities beside it; or declare as public what is about nobody.",
            )
        return 1
    if left.sources:
        return multiplicity(right, [b for _, b in equal])
    if right.sources and outer:
        raise BadQuery(
            "A LEFT JOIN has the table about people on the left.", hint="Turn it round, or ask a plain JOIN."
        )
    if right.sources:
        return multiplicity(left, [a for a, _ in equal])
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
