"""Contribution bounding: rows of which each belongs to one unit, and how many one unit can have.

It works on SQL trees and numbers and knows nothing of how they were worked out: what an expression is said to be, its
bounds, its kind, whether it is ever NULL, is a proposal here, and never believed
(``docs/decisions/0008-enforced-contributions.md`` has the whole argument).

``measures.py`` measures such rows. On these two modules rests the sensitivity of every measurement of private rows.

Why this is private, in three parts, of which the third is there.

**Expressions** over a single row (``row_wise``) are NULL where they fail. An expression that is let through is made of
the nodes listed here alone. Each of them is a function of the columns of one row: none reads another row or a table,
none draws a random number, none tells the time. So what is computed for a row depends on that row only. An expression
that fails on a row (an overflow, a root of a negative number, a cast) is NULL there (``TRY``): whether a question has
an answer depends on no one's values.

**Rows** (``OwnedRows``) each belong to one unit, with a bound on how many one unit can have, kept by how the query is
built. Two things hold of them, by induction over the functions here, which are the only ones that make any:

1. Removing a unit removes its own rows and changes no others (a transformation of stability 1; McSherry 2009). A
   condition and a projection work on a single row, as above. Rows about people are joined on their unit, so a
   joined row is made of rows of one unit; with a public table, of one private row and rows that are about no one. GROUP
   BY, DISTINCT, windows and the choice of few groups are each within one unit, which is always among what they group
   by. Whether a row has a partner (``matched``) is asked of public rows, or of rows of the same unit.
2. A unit has at most ``most`` rows. The bounded table has at most ``rows_per_unit`` of it (``engines/bounded_table.py``
   cuts them). A join on the unit multiplies two such bounds; UNION ALL adds them; a public table is cut, in the query,
   to as many rows with equal keys as the bound counts on, however many there are. Keys of both sides are cast to one
   type: a key of another type could be equal to several that are not equal to each other (2**53 as a double, to two
   whole numbers), and each of these would count as one. A FULL JOIN has the pairs of the i and j rows that have
   partners, at most i · j, and the rest of both: (i - 1)(j - 1) + a + b - 1, which is at most a · b, or a + b where
   there is no pair. A window adds a column and no row. Of the rows that ROW_NUMBER counts, within
   a unit, up to k, there are at most k of each unit.

Neither rests on what an expression computes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.core import sql
from discreet.core.engine import Engine
from discreet.core.kind import LISTABLE, Kind
from discreet.core.table import Table
from discreet.errors import BadQuery, NotDeclared

_ROW_WISE = frozenset(
    {
        exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Cast, exp.TryCast, exp.DataType,
        exp.DataTypeParam, exp.Var, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.EQ, exp.NEQ, exp.LT,
        exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between, exp.Like,
        exp.Escape, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Least, exp.Greatest, exp.Abs, exp.Floor, exp.Ceil,
        exp.Sqrt, exp.Ln, exp.Exp, exp.Lower, exp.Upper, exp.Trim, exp.DPipe, exp.Length, exp.Substring,
        exp.StrPosition, exp.StartsWith, exp.SplitPart, exp.RegexpLike, exp.Extract, exp.DateDiff, exp.TimestampTrunc,
        exp.Interval, exp.Anonymous,
    }
)  # fmt: skip
_FUNCTIONS = frozenset({"MAKE_DATE"})
"""Functions that sqlglot has no class for."""


def row_wise(expression: exp.Expr, columns: Collection[str]) -> exp.Expr:
    """The expression, NULL on rows on which it fails; an error unless it reads nothing but these columns of a row."""
    for node in expression.walk():
        if type(node) not in _ROW_WISE or (isinstance(node, exp.Anonymous) and node.name not in _FUNCTIONS):
            raise BadQuery(f"{expression.sql()[:60]} cannot be used on rows.")
        if isinstance(node, exp.Column) and (node.table or node.name not in columns):
            raise BadQuery(f"There is no column {node.sql()[:60]} here.")
    plain = isinstance(expression, exp.Column | exp.Literal | exp.Boolean | exp.Null)
    return expression.copy() if plain else sql.attempt(expression.copy())


# -- rows

UNIT = "discreet_unit"
_PLACE = "discreet_place"
VALUE = "discreet_value"
"""What columns are called that are computed of a row before it is used."""


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
    """Largest number of groups by ``cut_by`` per unit, if rows were bounded to it."""
    cut_by: tuple[exp.Expr, ...] = ()
    places: frozenset[str] = frozenset()
    """Columns by ROW_NUMBER within a unit: whole numbers from 1, of which no two rows of a unit have the same."""

    @property
    def groups(self) -> int:
        """The most groups that a unit can have rows in."""
        return self.most if self.cut is None else min(self.cut, self.most)

    def of(self, expression: exp.Expr) -> exp.Expr:
        """An expression over one of these rows."""
        return row_wise(expression, (*self.names, UNIT) if self.unit else self.names)

    def where(self, condition: exp.Expr) -> OwnedRows:
        """The rows for which a condition holds: of a unit no more than places that it leaves."""
        most = min(self.most, *(_places_left(one, self.places) or self.most for one in sql.conjuncts(condition)))
        return replace(self, query=self._from([exp.Star()]).where(self.of(condition), copy=False), most=most)

    def select(self, shown: Mapping[str, exp.Expr]) -> OwnedRows:
        """The rows with these columns instead."""
        named = [sql.named(self.of(one), name) for name, one in shown.items()]
        places = frozenset(
            name for name, one in shown.items() if isinstance(one, exp.Column) and one.name in self.places
        )
        query = self._from([*named, *self.own])
        return replace(self, query=query, names=_names(shown), cut=None, cut_by=(), places=places)

    def distinct(self) -> OwnedRows:
        """The rows, equal ones of a unit once."""
        self._require_unit()
        return replace(self, query=self._from([exp.Star()]).distinct(copy=False), most=self.most if self.names else 1)

    def group_by_unit(self, keys: Mapping[str, exp.Expr], aggregates: Mapping[str, UnitAggregate]) -> OwnedRows:
        """A row for every combination of keys of a unit, with aggregates of its own rows."""
        self._require_unit()
        grouped = {name: self.of(key) for name, key in keys.items()}
        shown = grouped | {name: one.sql.copy() for name, one in aggregates.items()}
        query = self._from([*(sql.named(one, name) for name, one in shown.items()), *self.own])
        query = query.group_by(*self.own, *(key.copy() for key in grouped.values()), copy=False)
        most = self.most if keys else 1
        return replace(self, query=query, names=_names(shown), most=most, cut=None, cut_by=(), places=frozenset())

    def windows(self, windows: Mapping[str, UnitWindow]) -> OwnedRows:
        """The rows with a further column for each window, computed of the rows of their own unit.

        Arguments are computed first, as columns: an engine need not attempt anything inside a window.
        """
        self._require_unit()
        parts: dict[str, exp.Expr] = {}
        shown = []
        for name, one in windows.items():
            tree = attempts_as_columns(one.sql.copy(), parts, VALUE)
            shown.append(sql.named(tree, name))
        computed = [sql.named(part, f"{VALUE}{place}") for place, part in enumerate(parts.values())]
        inner = self._from([exp.Star(), *computed]).subquery("w", copy=False)
        kept = [sql.column(name) for name in self.names]
        query = exp.select(*kept, *shown, *self.own, copy=False).from_(inner, copy=False)
        places = self.places | {name for name, one in windows.items() if one.place}
        return replace(self, query=query, names=_names((*self.names, *windows)), places=places)

    def matched(
        self, other: OwnedRows, on: Sequence[tuple[exp.Expr, exp.Expr]], kinds: Sequence[Kind], name: str
    ) -> OwnedRows:
        """The rows with a further column: whether ``other`` has a row with equal expressions, of these kinds.

        Rows about people are looked for among those of the same unit. Equal ones are one, so a row stays one row.
        """
        if other.sources and (not self.sources or self.unit is None or self.unit != other.unit):
            raise BadQuery("Tables about people must be compared on their unit.")
        people = bool(other.sources)
        left = self._side("l", [a for a, _ in on], kinds)
        keys = [f"r_key{place}" for place in range(len(on))] + ([f"r_{UNIT}"] if people else [])
        right = exp.select(*map(sql.column, keys), sql.named(sql.literal(1), "r_found"), copy=False)
        right = right.from_(other._side("r", [b for _, b in on], kinds).subquery("s", copy=False), copy=False)
        equal = [sql.column(f"l_key{place}").eq(sql.column(f"r_key{place}")) for place in range(len(on))]
        equal += [sql.column(f"l_{UNIT}").eq(sql.column(f"r_{UNIT}"))] if people else []
        shown = [sql.named(sql.column(f"l_{one}"), one) for one in self.names]
        shown.append(sql.named(sql.column("r_found").is_(exp.null()).not_(), name))
        shown += [sql.named(sql.column(f"l_{UNIT}"), UNIT)] if self.unit else []
        query = exp.select(*shown, copy=False).from_(left.subquery("l", copy=False), copy=False)
        query = query.join(
            right.distinct(copy=False).subquery("r", copy=False),
            on=exp.and_(*equal) if equal else exp.true(),
            join_type="left",
            copy=False,
        )
        return replace(self, query=query, names=_names((*self.names, name)), sources=self.sources | other.sources)

    def few_groups(self, keys: Sequence[exp.Expr], few: int, dialect: str) -> OwnedRows:
        """The rows of at most ``few`` groups of each unit: which ones depends on the unit's own rows."""
        self._require_unit()
        parts = [self.of(key) for key in keys]
        scrambled = sql.scrambled([*self.own, *(part.copy() for part in parts)], dialect)
        place = _ranked(exp.DenseRank(), self.own, [scrambled, *parts])
        placed = self._from([exp.Star(), place]).subquery("p", copy=False)
        kept = exp.select(exp.Star(), copy=False).from_(placed, copy=False)
        return replace(self, query=kept.where(sql.column(_PLACE) <= few, copy=False), cut=few, cut_by=tuple(keys))

    def join(
        self,
        other: OwnedRows,
        on: Sequence[tuple[exp.Expr, exp.Expr]],
        kinds: Sequence[Kind],
        *,
        how: str = "inner",
        matches: int,
        conditions: Sequence[JoinCondition] = (),
    ) -> OwnedRows:
        """The rows of ``self JOIN other`` on equal expressions, of these kinds, and on the unit if both are about
        people.

        ``how`` is inner, left or full. The result has the columns of both, numbered by ``numbered``, and then, of a
        LEFT JOIN on the unit, the unit of the other side; of a FULL JOIN those of both. Of a public side at most
        ``matches`` rows with equal keys take part.
        """
        people = [rows for rows in (self, other) if rows.sources]
        if len(people) == 2 and (self.unit is None or self.unit != other.unit):
            raise BadQuery("Tables about people must be joined on their unit.")
        if (how == "left" and people == [other]) or (how == "full" and len(people) == 1):
            raise BadQuery("A LEFT JOIN must have the table about people on the left.")
        further = [one.sides for one in conditions]
        left = self._side("l", [a for a, _ in (*on, *further)], kinds, matches if people == [other] else None)
        right = other._side("r", [b for _, b in (*on, *further)], kinds, matches if people == [self] else None)
        held: list[exp.Expr] = [sql.column(f"l_key{i}").eq(sql.column(f"r_key{i}")) for i in range(len(on))]
        held += [
            one.compared(this=sql.column(f"l_key{i}"), expression=sql.column(f"r_key{i}"))
            for i, one in enumerate(conditions, len(on))
        ]
        shown = [f"l_{name}" for name in self.names] + [f"r_{name}" for name in other.names]
        owner = other if people == [other] else self
        unit: exp.Expr = sql.column(f"{'l' if owner is self else 'r'}_{UNIT}")
        if len(people) == 2:
            held.append(sql.column(f"l_{UNIT}").eq(sql.column(f"r_{UNIT}")))
            shown += {"left": [f"r_{UNIT}"], "full": [f"l_{UNIT}", f"r_{UNIT}"]}.get(how, [])
            unit = exp.Coalesce(this=unit, expressions=[sql.column(f"r_{UNIT}")]) if how == "full" else unit
        columns = [sql.named(sql.column(name), numbered(place)) for place, name in enumerate(shown)]
        if owner.unit is not None:
            columns.append(sql.named(unit, UNIT))
        query = exp.select(*columns, copy=False).from_(left.subquery("l", copy=False), copy=False)
        query = query.join(right.subquery("r", copy=False), on=exp.and_(*held), join_type=how, copy=False)
        most = self.most * other.most if len(people) == 2 else owner.most * max(matches, 1)
        alike = {(one.sql(), two.sql()) for one, two in on} == {(sql.column(UNIT).sql(),) * 2} and not conditions
        if how == "full" and not alike:  # else all rows of a unit that both have are partners
            most = max(most, self.most + other.most)
        names = tuple(numbered(place) for place in range(len(shown)))
        return OwnedRows(query, names, most, owner.unit, self.sources | other.sources)

    def union(self, other: OwnedRows, shown: Sequence[tuple[exp.Expr, exp.Expr]]) -> OwnedRows:
        """The rows of both, with these columns, numbered.

        Without units every row is a person's own: of one table, and so of one part unless both parts read that table.
        """
        if self.unit != other.unit or bool(self.sources) != bool(other.sources):
            raise BadQuery("UNION ALL needs tables about the same people.")
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

    def _side(
        self, letter: str, keys: Sequence[exp.Expr], kinds: Sequence[Kind], matches: int | None = None
    ) -> exp.Select:
        """One side of a join under names that the other has not; at most ``matches`` rows with equal keys, which are
        those that have ``kinds``; more are compared otherwise."""
        shown = [sql.named(one, f"{letter}_{one.name}") for one in (*map(sql.column, self.names), *self.own)]
        named = [f"{letter}_key{place}" for place in range(len(keys))]
        cast = [_as_key(self.of(key), kind) for key, kind in zip(keys, kinds, strict=False)]
        cast += [self.of(key) for key in keys[len(kinds) :]]
        side = self._from([*shown, *map(sql.named, cast, named)])
        if matches is None:
            return side
        order = [sql.column(f"{letter}_{name}") for name in self.names]
        place = _ranked(exp.RowNumber(), [sql.column(name) for name in named[: len(kinds)]], order)
        placed = exp.select(exp.Star(), place, copy=False).from_(side.subquery("s", copy=False), copy=False)
        kept = exp.select(exp.Star(), copy=False).from_(placed.subquery("p", copy=False), copy=False)
        return kept.where(sql.column(_PLACE) <= matches, copy=False)

    def _from(self, shown: Sequence[exp.Expr]) -> exp.Select:
        return exp.select(*shown, copy=False).from_(self.query.subquery("r"), copy=False)

    @property
    def own(self) -> list[exp.Expr]:
        return [sql.column(UNIT)] if self.unit else []

    def _require_unit(self) -> None:
        if self.unit is None:
            raise BadQuery(
                "These rows have no unit: each is a different person, so there is nothing to combine per person."
            )


@dataclass(frozen=True)
class UnitAggregate:
    """An aggregate of the rows of one unit; ``unit_count`` and its like make them."""

    sql: exp.Expr


@dataclass(frozen=True)
class UnitWindow:
    """A column computed of a row and the other rows of its unit; ``unit_window`` makes it."""

    sql: exp.Expr
    place: bool = False
    """Whether it is ROW_NUMBER within the unit alone."""


@dataclass(frozen=True)
class JoinCondition:
    """A comparison of an expression over a row of the left side with one over a row of the right."""

    compared: type[exp.Binary]
    sides: tuple[exp.Expr, exp.Expr]

    def __post_init__(self) -> None:
        if self.compared not in (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE):
            raise BadQuery("Rows are joined on comparisons.")


def owned_rows(table: Table, *, rename: bool = True) -> OwnedRows:
    """The rows of a bounded table, its columns numbered or under their own names; of a public table, of no one."""
    card = table.card
    if card.unit is not None and card.rows_per_unit is None:
        raise NotDeclared(
            f"The card of {card.name} does not declare how many rows a unit may have (rows_per_unit).",
            hint="Declare rows_per_unit.",
        )
    named = {
        UNIT if one.name == card.unit else numbered(place) if rename else one.name: one.name
        for place, one in enumerate(card.columns)
    }
    if len(named) < len(card.columns):
        raise BadQuery("Two columns have the same name.")  # one is called like the unit here
    query = table.query(*(sql.named(sql.column(name), called) for called, name in named.items()))
    unit = None if card.unit is None else Unit(card.unit.casefold(), card[card.unit].kind)
    sources = frozenset() if card.public else frozenset({card.name})
    return OwnedRows(query, _names(name for name in named if name != UNIT), card.rows_per_unit or 1, unit, sources)


def numbered(place: int) -> str:
    """The name of a column inside, whatever a card or a question calls it: those could look like another's."""
    return f"c{place}"


def _as_key(value: exp.Expr, kind: Kind) -> exp.Expr:
    """A value in the one type of its kind, and NULL if it is none: most are of that type, and nothing is computed."""
    if kind not in LISTABLE:
        raise BadQuery(f"Tables cannot be joined on values that are {kind.value}.")
    return exp.TryCast(this=value, to=sql.sql_type(kind), safe=True)


def _ranked(rank: exp.Expr, within: Sequence[exp.Expr], order: Sequence[exp.Expr]) -> exp.Expr:
    by = exp.Order(expressions=[exp.Ordered(this=one) for one in order])
    return sql.named(exp.Window(this=rank, partition_by=[one.copy() for one in within], order=by), _PLACE)


def _places_left(condition: exp.Expr, places: Collection[str]) -> int | None:
    """How many whole numbers from 1 a condition on a place leaves; ``None``: it is no such condition."""
    if not isinstance(condition, exp.EQ | exp.LTE | exp.LT):
        return None
    column, given = condition.this.unnest(), condition.expression.unnest()
    if not (isinstance(column, exp.Column) and column.name in places and not column.table):
        return None
    if not (isinstance(given, exp.Literal) and not given.is_string and given.name.isdecimal()):
        return None
    return max(1, 1 if isinstance(condition, exp.EQ) else int(given.name) - isinstance(condition, exp.LT))


def _names(shown: Iterable[str]) -> tuple[str, ...]:
    names = tuple(shown)
    if len({name.casefold() for name in (*names, UNIT)}) <= len(names):
        raise BadQuery("Two columns have the same name.")
    return names


def attempts_as_columns(tree: exp.Expr, computed: dict[str, exp.Expr], value: str) -> exp.Expr:
    """The tree with every attempt as a column, of what is to be computed before."""
    for node in sql.attempts(tree):
        text = node.sql()
        computed.setdefault(text, node.copy())
        column = sql.column(f"{value}{list(computed).index(text)}")
        if node is tree:
            return column
        node.replace(column)
    return tree


# -- windows over the rows of one unit

_PLACES = (exp.RowNumber, exp.Rank, exp.DenseRank)
_NEIGHBOURS = (exp.Lag, exp.Lead, exp.FirstValue)


def unit_window(
    rows: OwnedRows,
    function: UnitAggregate | type[exp.Expr],
    keys: Sequence[exp.Expr] = (),
    order: Sequence[exp.Ordered] = (),
    *,
    value: exp.Expr | None = None,
    offset: int = 1,
) -> UnitWindow:
    """A window over the rows of a unit that have equal ``keys``, in some order.

    Rows that tie are put in the order of all their columns where it matters which comes first. So rows that still tie
    are alike, and what a row gets depends on rows of its own unit alone, in whatever order an engine reads them.
    """
    within = [*rows.own, *(rows.of(key) for key in keys)]
    by = [_ordered(rows.of(one.this), one) for one in order]
    if isinstance(function, UnitAggregate):
        made = function.sql.copy()
        for node in list(made.find_all(exp.AggFunc)):
            window = _over(node.copy(), within, by)
            if node is made:
                made = window
            else:
                node.replace(window)
        return UnitWindow(made)
    if function in (exp.RowNumber, *_NEIGHBOURS):
        by += [_ordered(sql.column(name), None) for name in rows.names]
    if function in _PLACES and value is None:
        place = function is exp.RowNumber and not keys
        return UnitWindow(exp.cast(_over(function(), within, by), exp.DType.BIGINT), place)
    if function in _NEIGHBOURS and value is not None:
        argument = {"this": rows.of(value)}
        if function is not exp.FirstValue:
            argument["offset"] = sql.literal(offset)
        return UnitWindow(_over(function(**argument), within, by))
    raise BadQuery("This function cannot be used over the rows of a unit.")


def _ordered(value: exp.Expr, like: exp.Ordered | None) -> exp.Ordered:
    """A value to order by; NULLs are last unless it is said where they are."""
    descending, first = (bool(like is not None and like.args.get(key)) for key in ("desc", "nulls_first"))
    return exp.Ordered(this=value, desc=descending, nulls_first=first)


def _over(function: exp.Expr, within: Sequence[exp.Expr], by: Sequence[exp.Ordered]) -> exp.Window:
    order = exp.Order(expressions=[one.copy() for one in by]) if by else None
    return exp.Window(this=function, partition_by=[one.copy() for one in within], order=order)
