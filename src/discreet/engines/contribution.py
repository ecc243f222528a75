"""Contribution bounding: the code on which the sensitivity of every measurement of private rows rests.

It works on SQL trees and numbers and knows nothing of how they were worked out: what an expression is said to be, its
bounds, its kind, whether it is ever NULL, is a proposal here, and never believed
(``docs/decisions/0008-enforced-contributions.md`` has the whole argument).

Why this is private, in three parts.

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
   BY, DISTINCT and the choice of few groups are each within one unit, which is always among what they group by.
2. A unit has at most ``most`` rows. The bounded table has at most ``rows_per_unit`` of it (``engines/bounded_table.py``
   cuts them). A join on the unit multiplies two such bounds; UNION ALL adds them; a public table is cut, in the query,
   to as many rows with equal keys as the bound counts on, however many there are.

Neither rests on what an expression computes.

**Measures** (``Measure``) are whole numbers that one unit can change by a known amount, whatever it holds. A unit has
at most ``rows.most`` rows, and GROUP BY puts each row into one group. A row adds 0 or 1 to a count. To a sum it adds a
whole number of steps that was clamped, in the type it is added in, to ``bound`` in absolute value, whatever was
computed for it; NULL, which includes whatever failed, adds 0. To the number of units of a group a unit adds 0 or 1. So
a unit changes a count by at most ``rows.most`` over all groups together, and a sum by at most ``bound`` times that.
Removing a unit changes no other row, so nothing else changes.

Whole numbers are added in any order to the same sum. Doubles that are multiples of one step are as well while no sum on
the way can reach 2**53 steps, which is so in groups of few enough rows; in larger ones such a measure is NULL and
``large`` gives the same number by whole numbers. A double is clamped, and then put on the grid of steps by adding 3 ·
2**51 steps and taking them off again: between 2**52 and 2**53 steps doubles are one step apart, so what is left is a
multiple of a step. Rounding is monotone, so it lies between what both ends of the clamp become, which is worked out
here in the same doubles, and is within ±``bound``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from discreet.core import sql
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.errors import BadQuery, NotDeclared

_ROW_WISE = frozenset(
    {
        exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Cast, exp.TryCast, exp.DataType,
        exp.DataTypeParam, exp.Var, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.EQ, exp.NEQ, exp.LT,
        exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between, exp.Like,
        exp.Escape, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Least, exp.Greatest, exp.Abs, exp.Floor, exp.Ceil,
        exp.Sqrt, exp.Ln, exp.Exp, exp.Lower, exp.Upper, exp.Trim, exp.DPipe, exp.Length, exp.Substring,
        exp.StrPosition, exp.StartsWith, exp.Extract, exp.DateDiff, exp.Interval, exp.Anonymous,
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


def clamped(number: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    """A number between two others. NULL stays NULL; NaN becomes ``high`` or NULL, whatever an engine holds of it."""
    inside = exp.Between(this=number.copy(), low=low.copy(), high=high.copy())
    below, above = exp.LT(this=number.copy(), expression=low), exp.GT(this=number.copy(), expression=high)
    cases = ((inside, number), (below, low), (above, high))  # of most rows nothing but the first is asked
    return exp.Case(ifs=[exp.If(this=condition, true=then.copy()) for condition, then in cases])


# -- rows

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
    """Largest number of groups by ``cut_by`` per unit, if rows were bounded to it."""
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
            raise BadQuery("Tables about people must be joined on their unit.")
        if outer and people == [other]:
            raise BadQuery("A LEFT JOIN must have the table about people on the left.")
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
            raise BadQuery(
                "These rows have no unit: each is a different person, so there is nothing to combine per person."
            )


@dataclass(frozen=True)
class UnitAggregate:
    """An aggregate of the rows of one unit; ``unit_count`` and its like make them."""

    sql: exp.Expr


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


def _ranked(rank: exp.Expr, within: Sequence[exp.Expr], order: Sequence[exp.Expr]) -> exp.Expr:
    by = exp.Order(expressions=[exp.Ordered(this=one) for one in order])
    return sql.named(exp.Window(this=rank, partition_by=[one.copy() for one in within], order=by), _PLACE)


def _names(shown: Iterable[str]) -> tuple[str, ...]:
    names = tuple(shown)
    if len({name.casefold() for name in (*names, UNIT)}) <= len(names):
        raise BadQuery("Two columns have the same name.")
    return names


# -- measures

LARGEST_BOUND = 2**32
"""The most steps a row can add: the sum of 2**31 rows fits 64 bits."""
_EXACT = 2**53
COUNT = "discreet_count"
_VALUE = "discreet_value"


@dataclass(frozen=True)
class Measure:
    """An aggregate that is a whole number for each group."""

    sql: exp.Expr
    most: int
    """What one unit can change it by, added up over all groups."""
    each: int
    """What one unit can change it by in a single group."""
    large: exp.Expr | None = None
    """The same for groups of any size, if ``sql`` is NULL in large ones."""
    quick_rows: int = 0
    """The most rows of a group in which ``sql`` is exact, if ``large`` is there for others."""
    step: Fraction = Fraction(1)
    """What one is worth: for anyone who reads the figure, as are ``rounded`` and ``signed``."""
    rounded: bool = False
    """Whether rows were rounded to steps, each by less than one."""
    signed: bool = False
    """Whether what rows add may be above 0 for some and below it for others."""

    @property
    def squares(self) -> int:
        """What one unit can change it by, squared and added up over all groups: Σ c² <= max c · Σ c."""
        return self.each * self.most


def counted(rows: OwnedRows, present: exp.Expr | None = None) -> Measure:
    """How many rows there are, or how many of them have a value of ``present``."""
    return Measure(_count(rows, present), rows.most, rows.most)


def units_counted(rows: OwnedRows, *, grouped: bool) -> Measure:
    """How many units there are among rows; without a unit all rows are counted, those of the same person too."""
    if rows.unit is None:
        return counted(rows)
    return Measure(exp.Count(this=exp.Distinct(expressions=[sql.column(UNIT)])), rows.groups if grouped else 1, 1)


def summed(rows: OwnedRows, steps: exp.Expr, bound: int) -> Measure:
    """The sum of a whole number of steps, each clamped to ±``bound``."""
    most = _bound(bound) * rows.most
    return Measure(_sum(rows, steps, bound), most, most)


def summed_on_grid(rows: OwnedRows, double: exp.Expr, centre: Fraction, step: Fraction, bound: int) -> Measure:
    """The sum of a double less ``centre``, in steps (a power of two), each clamped to ±``bound``; the fast way."""
    most = _bound(bound) * rows.most
    shift, back = float(3 * 2**51 * step - centre), float(3 * 2**51 * step)
    low, high = float(centre - bound * step), float(centre + bound * step)
    exact = all(part & (part - 1) == 0 for part in step.as_integer_ratio())
    for end in (low, high):
        if not (exact and 2**52 * step <= end + shift <= 2**53 * step and abs(end + shift - back) <= bound * step):
            raise BadQuery("These numbers are too large for the precision needed, and cannot be added.")
    inside = exp.paren(clamped(rows.of(double), sql.literal(low), sql.literal(high)))
    grid = exp.paren(exp.paren(inside + sql.literal(shift)) - sql.literal(back))
    scale = sql.literal(float(1 / step))
    some = exp.Coalesce(this=exp.Sum(this=grid), expressions=[sql.literal(0.0)])
    quick_ = exp.case().when(sql.count_rows() <= _EXACT // bound, exp.cast(some * scale, exp.DType.BIGINT))
    large = _whole_sum(exp.cast(exp.paren(grid.copy()) * scale.copy(), exp.DType.BIGINT))
    return Measure(quick_, most, most, large, _EXACT // bound)


def quick(measure: Measure, rows: int) -> exp.Expr:
    """The aggregate, NULL in groups of more rows than that, if there is another way to measure those."""
    limited = measure.sql.copy()
    if measure.large is not None:
        limited.args["ifs"][0].this.set("expression", sql.literal(rows))
    return limited


def measured_query(rows: OwnedRows, keys: Mapping[str, exp.Expr], measures: Mapping[str, exp.Expr]) -> exp.Select:
    """The measures of every group that has rows: each row is in one. What is computed of a row is computed once."""
    if rows.cut is not None and tuple(keys.values()) != rows.cut_by:
        raise BadQuery("Rows bounded to a number of groups must be grouped by the same keys.")
    return _grouped_query(rows, keys, measures)


def _grouped_query(rows: OwnedRows, keys: Mapping[str, exp.Expr], measures: Mapping[str, exp.Expr]) -> exp.Select:
    if keys.keys() & measures.keys():  # a count would be taken for the key it is of, and move with one row
        raise BadQuery(f"A column cannot be called {min(keys.keys() & measures.keys())!r} here.")
    value = _VALUE
    while any(name.casefold().startswith(value) for name in rows.names):  # a column must not be taken for another
        value += "_"
    computed: dict[str, exp.Expr] = {}
    grouped = {name: _column(rows.of(key), computed, value) for name, key in keys.items()}
    shown = grouped | {name: _column(one.copy(), computed, value) for name, one in measures.items()}
    source = rows.query
    if computed:
        each = [sql.named(attempt, f"{value}{place}") for place, attempt in enumerate(computed.values())]
        source = exp.select(exp.Star(), *each, copy=False).from_(source.subquery("r"), copy=False)
    query = exp.select(*(sql.named(one, name) for name, one in shown.items()), copy=False)
    query = query.from_(source.subquery("m"), copy=False)
    apart = [key.copy() for key in grouped.values() if not isinstance(key, exp.Literal)]  # a number would be a position
    return query.group_by(*apart, copy=False)


def _column(tree: exp.Expr, computed: dict[str, exp.Expr], value: str) -> exp.Expr:
    """The tree with every attempt as a column, of what is to be computed before."""
    for node in sql.attempts(tree):
        text = node.sql()
        computed.setdefault(text, node.copy())
        column = sql.column(f"{value}{list(computed).index(text)}")
        if node is tree:
            return column
        node.replace(column)
    return tree


def cell_counts(rows: OwnedRows, keys: Mapping[str, exp.Expr]) -> exp.Select:
    """How many rows are in every cell that has any: each row is in one."""
    return _grouped_query(rows, keys, {COUNT: sql.count_rows()})


# -- aggregates of one unit's rows: they need no bound, since whatever is measured of them gets one


def unit_count(rows: OwnedRows, present: exp.Expr | None = None, *, distinct: bool = False) -> UnitAggregate:
    """How many rows of a unit there are, or have a value, or how many values they have."""
    if distinct and present is not None:
        return UnitAggregate(exp.Count(this=exp.Distinct(expressions=[rows.of(present)])))
    return UnitAggregate(_count(rows, present))


def unit_sum(rows: OwnedRows, steps: exp.Expr, bound: int) -> UnitAggregate:
    """The sum of a whole number of steps over a unit's rows, each clamped to ±``bound``."""
    if bound * rows.most >= 2**62:
        raise BadQuery("The sum of a unit's rows could overflow.")
    return UnitAggregate(_sum(rows, steps, bound))


def unit_extreme(rows: OwnedRows, which: type[exp.Min] | type[exp.Max], value: exp.Expr) -> UnitAggregate:
    """The least or the largest value of a unit's rows."""
    return UnitAggregate(which(this=rows.of(value)))


def _bound(bound: int) -> int:
    if not 1 <= bound <= LARGEST_BOUND:
        raise BadQuery(
            "The declared bounds are too wide or too small to add such numbers.", hint="Declare other bounds."
        )
    return bound


def _count(rows: OwnedRows, present: exp.Expr | None) -> exp.Expr:
    return sql.count_rows() if present is None else exp.Count(this=rows.of(present))


def _sum(rows: OwnedRows, steps: exp.Expr, bound: int) -> exp.Expr:
    whole = rows.of(exp.cast(steps.copy(), exp.DType.BIGINT, copy=False))
    return _whole_sum(clamped(whole, sql.literal(-bound), sql.literal(bound)))


def _whole_sum(whole: exp.Expr) -> exp.Expr:
    some = exp.Coalesce(this=exp.Sum(this=whole), expressions=[sql.literal(0)])
    return exp.cast(some, exp.DType.BIGINT, copy=False)
