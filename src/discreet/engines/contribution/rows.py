"""Rows that each belong to one unit, with a bound on how many one unit can have, kept by how the query is built.

Why this is private. Two things hold of every ``OwnedRows``, by induction over the functions here, which are the only
ones that make any:

1. Removing a unit removes its own rows and changes no others (a transformation of stability 1; McSherry 2009). A
   condition and a projection work on a single row (``expression.py``). Rows about people are joined on their unit, so a
   joined row is made of rows of one unit; with a public table, of one private row and rows that are about nobody. GROUP
   BY, DISTINCT and the choice of few groups are each within one unit, which is always among what they group by.
2. A unit has at most ``most`` rows. The bounded table has at most ``rows_per_unit`` of it (``engines/bounded_table.py`` cuts
   them). A join on the unit multiplies two such bounds; UNION ALL adds them; a public table is cut, in the query, to
   as many rows with equal keys as the bound counts on, however many there are.

Neither rests on what an expression computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.core import sql
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.contribution.expression import row_wise
from discreet.errors import BadQuery, NotDeclared

UNIT = "discreet_unit"
_PLACE = "discreet_place"


@dataclass(frozen=True)
class Unit:
    """Whose rows they are. Tables whose units have the same name and kind are about the same people."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class OwnedRows:
    """A query for rows of columns called ``names`` and, if there is a unit, of a column `UNIT`: whose row it is."""

    query: exp.Query
    names: tuple[str, ...]
    most: int
    """The most rows of one unit. Without a unit, each row of a table is a person's own."""
    unit: Unit | None
    sources: frozenset[str]
    """The private tables the rows come from; none: they are public."""
    cut: int | None = None
    """The most groups by ``cut_by`` that rows of a unit are in, if they were cut to so many."""
    cut_by: tuple[exp.Expr, ...] = ()

    @property
    def groups(self) -> int:
        """The most groups that a unit can have rows in."""
        return self.most if self.cut is None else min(self.cut, self.most)

    def of(self, expression: exp.Expr) -> exp.Expr:
        """An expression over one of these rows."""
        return row_wise(expression, (*self.names, UNIT) if self.unit else self.names)

    def where(self, condition: exp.Expr) -> OwnedRows:
        """The rows for which a condition holds."""
        return replace(self, query=self._from([exp.Star()]).where(self.of(condition), copy=False))

    def select(self, shown: Mapping[str, exp.Expr]) -> OwnedRows:
        """The rows with these columns instead."""
        named = [sql.named(self.of(one), name) for name, one in shown.items()]
        return replace(self, query=self._from([*named, *self._own]), names=_names(shown), cut=None, cut_by=())

    def distinct(self) -> OwnedRows:
        """The rows, equal ones of a unit once."""
        self._require_unit()
        return replace(self, query=self._from([exp.Star()]).distinct(copy=False), most=self.most if self.names else 1)

    def group_by_unit(self, keys: Mapping[str, exp.Expr], aggregates: Mapping[str, UnitAggregate]) -> OwnedRows:
        """A row for every combination of keys of a unit, with aggregates of its own rows."""
        self._require_unit()
        grouped = {name: self.of(key) for name, key in keys.items()}
        shown = grouped | {name: one.sql.copy() for name, one in aggregates.items()}
        query = self._from([*(sql.named(one, name) for name, one in shown.items()), *self._own])
        query = query.group_by(*self._own, *(key.copy() for key in grouped.values()), copy=False)
        most = self.most if keys else 1
        return replace(self, query=query, names=_names(shown), most=most, cut=None, cut_by=())

    def few_groups(self, keys: Sequence[exp.Expr], few: int, dialect: str) -> OwnedRows:
        """The rows of at most ``few`` groups of each unit: which ones depends on the unit's own rows."""
        self._require_unit()
        parts = [self.of(key) for key in keys]
        scrambled = sql.scrambled([*self._own, *(part.copy() for part in parts)], dialect)
        place = _ranked(exp.DenseRank(), self._own, [scrambled, *parts])
        placed = self._from([exp.Star(), place]).subquery("p", copy=False)
        kept = exp.select(exp.Star(), copy=False).from_(placed, copy=False)
        return replace(self, query=kept.where(sql.column(_PLACE) <= few, copy=False), cut=few, cut_by=tuple(keys))

    def join(
        self, other: OwnedRows, on: Sequence[tuple[exp.Expr, exp.Expr]], *, outer: bool, matches: int
    ) -> OwnedRows:
        """The rows of ``self JOIN other`` on equal expressions, and on the unit if both are about people.

        The result has the columns of both, numbered by ``numbered``, and then, of a LEFT JOIN on the unit, the unit of
        the other side. Of a public side at most ``matches`` rows with equal keys take part.
        """
        people = [rows for rows in (self, other) if rows.sources]
        if len(people) == 2 and (self.unit is None or self.unit != other.unit):
            raise BadQuery("Tables about people are joined on their unit.")
        if outer and people == [other]:
            raise BadQuery("A LEFT JOIN has the table about people on the left.")
        left = self._side("l", [a for a, _ in on], matches if people == [other] else None)
        right = other._side("r", [b for _, b in on], matches if people == [self] else None)
        equal = [sql.column(f"l_key{i}").eq(sql.column(f"r_key{i}")) for i in range(len(on))]
        shown = [f"l_{name}" for name in self.names] + [f"r_{name}" for name in other.names]
        if len(people) == 2:
            equal.append(sql.column(f"l_{UNIT}").eq(sql.column(f"r_{UNIT}")))
            shown += [f"r_{UNIT}"] if outer else []
        owner = other if people == [other] else self
        columns = [sql.named(sql.column(name), numbered(place)) for place, name in enumerate(shown)]
        if owner.unit is not None:
            columns.append(sql.named(sql.column(f"{'l' if owner is self else 'r'}_{UNIT}"), UNIT))
        query = exp.select(*columns, copy=False).from_(left.subquery("l", copy=False), copy=False)
        how = "left" if outer else "inner"
        query = query.join(right.subquery("r", copy=False), on=exp.and_(*equal), join_type=how, copy=False)
        most = self.most * other.most if len(people) == 2 else owner.most * max(matches, 1)
        names = tuple(numbered(place) for place in range(len(shown)))
        return OwnedRows(query, names, most, owner.unit, self.sources | other.sources)

    def union(self, other: OwnedRows, shown: Sequence[tuple[exp.Expr, exp.Expr]]) -> OwnedRows:
        """The rows of both, with these columns, numbered.

        Without units every row is a person's own: of one table, and so of one part unless both parts read that table.
        """
        if self.unit != other.unit or bool(self.sources) != bool(other.sources):
            raise BadQuery("UNION ALL puts rows of the same people together.")
        parts = [
            rows.select({numbered(place): pair[which] for place, pair in enumerate(shown)})
            for which, rows in enumerate((self, other))
        ]
        query = exp.union(*(part.query for part in parts), distinct=False, copy=False)
        apart = self.unit is None and not self.sources & other.sources
        most = max(self.most, other.most) if apart else self.most + other.most
        return OwnedRows(query, parts[0].names, most, self.unit, self.sources | other.sources)

    def stored(self, engine: Engine, name: str) -> OwnedRows:
        """The same rows, kept by the engine under a new name."""
        engine.store(name, self.query)
        return replace(self, query=exp.select(exp.Star(), copy=False).from_(sql.table(name), copy=False))

    def _side(self, letter: str, keys: Sequence[exp.Expr], matches: int | None) -> exp.Select:
        """One side of a join under names that the other has not; at most ``matches`` rows with equal keys."""
        shown = [sql.named(one, f"{letter}_{one.name}") for one in (*map(sql.column, self.names), *self._own)]
        named = [f"{letter}_key{place}" for place in range(len(keys))]
        side = self._from([*shown, *(sql.named(self.of(key), name) for key, name in zip(keys, named, strict=True))])
        if matches is None:
            return side
        order = [sql.column(f"{letter}_{name}") for name in self.names]
        place = _ranked(exp.RowNumber(), [sql.column(name) for name in named], order)
        placed = exp.select(exp.Star(), place, copy=False).from_(side.subquery("s", copy=False), copy=False)
        kept = exp.select(exp.Star(), copy=False).from_(placed.subquery("p", copy=False), copy=False)
        return kept.where(sql.column(_PLACE) <= matches, copy=False)

    def _from(self, shown: Sequence[exp.Expr]) -> exp.Select:
        return exp.select(*shown, copy=False).from_(self.query.subquery("r"), copy=False)

    @property
    def _own(self) -> list[exp.Expr]:
        return [sql.column(UNIT)] if self.unit else []

    def _require_unit(self) -> None:
        if self.unit is None:
            raise BadQuery("These rows have no unit: each is a person's own, and there is nothing to put together.")


@dataclass(frozen=True)
class UnitAggregate:
    """An aggregate of the rows of one unit; ``measure.py`` makes them."""

    sql: exp.Expr


def owned_rows(table: Table, *, rename: bool = True) -> OwnedRows:
    """The rows of a bounded table, its columns numbered or under their own names; of a public table, of nobody."""
    card = table.card
    if card.unit is not None and card.rows_per_unit is None:
        raise NotDeclared(
            f"The card of {card.name} does not say how many rows a unit may have.", hint="Declare rows_per_unit."
        )
    named = {
        UNIT if one.name == card.unit else numbered(place) if rename else one.name: one.name
        for place, one in enumerate(card.columns)
    }
    if len(named) < len(card.columns):
        raise BadQuery("Two columns have one name.")  # one is called like the unit here
    query = table.query(*(sql.named(sql.column(name), called) for called, name in named.items()))
    unit = None if card.unit is None else Unit(card.unit.casefold(), card[card.unit].kind)
    sources = frozenset() if card.public else frozenset({card.name})
    return OwnedRows(query, _names(name for name in named if name != UNIT), card.rows_per_unit or 1, unit, sources)


def numbered(place: int) -> str:
    """The name of a column inside, whatever a card or a question calls it: those could look like another's."""
    return f"c{place}"


def _ranked(rank: exp.Expr, within: Sequence[exp.Expr], order: Sequence[exp.Expr]) -> exp.Expr:
    by = exp.Order(expressions=[exp.Ordered(this=one) for one in order])
    return sql.named(exp.Window(this=rank, partition_by=[one.copy() for one in within], order=by), _PLACE)


def _names(shown: Iterable[str]) -> tuple[str, ...]:
    names = tuple(shown)
    if len({name.casefold() for name in (*names, UNIT)}) <= len(names):
        raise BadQuery("Two columns have one name.")
    return names
