"""Which rows of a unit are kept: those that come first by a hash of the row, and by the row itself where hashes tie.

Why the fast way keeps the same rows. With h the hash of a row, and ``last`` the n-th smallest h of a unit, the first
n rows all have h <= last. If the (n+1)-th smallest is larger than ``last``, no other row has: so h <= last is the
choice itself. If it is equal (a row is there twice, or two hashes collide), the unit is tied, and its rows with
h <= last are put in order as the definition says. A unit with fewer than n rows has no ``last`` and keeps all.
Finding the smallest h takes no sorting, and ordering nearly no rows: that is what makes it fast.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from discreet.core import sql
from discreet.core.engine import Engine
from discreet.engines.duckdb import DuckDB
from discreet.errors import EngineError

ANY_ORDER = "SET preserve_insertion_order = false"
"""For a statement of DuckDB's after it: rows need not come out in the order they are read in."""
_PLACE, _HASH, _UNIT = "discreet_place", "discreet_hash", "discreet_unit"
_SMALLEST, _LAST, _TIED = "discreet_smallest", "discreet_last", "discreet_tied"
_NO_LAST = 2**63 - 1  # no hash is larger
_MOST = 16  # the smallest hashes of all units are in memory at once
_DENSE = "SET perfect_ht_threshold = 20"  # units that are numbered up to a million are found by their number


@dataclass(frozen=True)
class Cut:
    """So many rows of every unit, of these columns."""

    rows: exp.Select
    names: list[str]
    unit: str
    most: int

    def first_rows(self, engine: Engine) -> exp.Query:
        """The rows that are kept, as a query for the named columns.

        Inside they are numbered: a table may have a column that is called like one of those that are worked out here.
        """
        inside = {name: f"c{place}" for place, name in enumerate(self.names)}
        rows = exp.select(*(sql.named(sql.column(name), called) for name, called in inside.items()))
        numbered = Cut(rows.from_(self.rows.subquery("n")), list(inside.values()), inside[self.unit], self.most)
        kept = exp.select(*(sql.named(sql.column(called), name) for name, called in inside.items()))
        return kept.from_(numbered._first_rows(engine).subquery("k"))

    def _first_rows(self, engine: Engine) -> exp.Query:
        hashed = sql.scrambled(self._columns, engine.dialect)
        if isinstance(engine, DuckDB):
            half = exp.BitwiseRightShift(this=hashed, expression=sql.literal(1))  # 63 bits are compared faster
            hashed = exp.cast(exp.paren(half), exp.DType.BIGINT)
            if self.most <= _MOST:
                try:
                    return self._found(hashed, engine)
                except EngineError:  # there are too many units for its memory; sorting can do with less
                    pass
        return self._ordered(self.rows, hashed)

    def _ordered(self, rows: exp.Query, hashed: exp.Expr) -> exp.Select:
        """By the definition."""
        others = [sql.column(name) for name in self.names if name != self.unit]
        place = exp.Window(
            this=exp.RowNumber(),
            partition_by=[sql.column(self.unit)],
            order=exp.Order(expressions=[exp.Ordered(this=by) for by in (hashed, *others)]),
        )
        placed = exp.select(*self._columns, sql.named(place, _PLACE)).from_(rows.subquery("r"))
        return exp.select(*self._columns).from_(placed.subquery("p")).where(sql.column(_PLACE) <= self.most)

    def _found(self, signed: exp.Expr, engine: DuckDB) -> exp.Query:
        """Without sorting. The smallest hashes are found here and now, the rows when the query is run."""
        least = sql.table(engine.new_name("discreet least"))
        found = self._least(signed)
        engine.run(f"{ANY_ORDER}; {_DENSE}; CREATE TABLE {least.sql('duckdb')} AS {found.sql('duckdb')}")
        with_hash = exp.select(*self._columns, sql.named(signed, _HASH)).from_(self.rows.subquery("r"))
        first = (
            exp.select(*self._columns, sql.column(_HASH))
            .from_(with_hash.subquery("h"))
            .join(least.copy(), on=sql.column(self.unit).eq(sql.column(_UNIT)))
            .where(sql.column(_HASH) <= sql.column(_LAST))
        )
        tied = exp.select(sql.count_rows()).from_(least).where(sql.column(_TIED))
        if not engine.fetch(tied).column(0)[0].as_py():
            return exp.select(*self._columns).from_(first.subquery("f"))
        settled = exp.select(*self._columns).from_(first.where(exp.not_(sql.column(_TIED))).subquery("f"))
        ordered = self._ordered(first.where(sql.column(_TIED)), sql.column(_HASH))
        return exp.union(settled, ordered, distinct=False)

    def _least(self, signed: exp.Expr) -> exp.Select:
        """For every unit the last hash that is kept, and whether another row has the same."""
        smallest = exp.Anonymous(this="min", expressions=[signed, sql.literal(self.most + 1)])
        whose = sql.column(self.unit)
        found = exp.select(sql.named(whose, _UNIT), sql.named(smallest, _SMALLEST)).from_(self.rows.subquery("r"))
        last, next_ = (
            exp.Anonymous(this="list_extract", expressions=[sql.column(_SMALLEST), sql.literal(place)])
            for place in (self.most, self.most + 1)
        )
        return exp.select(
            sql.column(_UNIT),
            sql.named(exp.Coalesce(this=last, expressions=[sql.literal(_NO_LAST)]), _LAST),
            sql.named(exp.Coalesce(this=last.eq(next_), expressions=[exp.false()]), _TIED),
        ).from_(found.group_by(whose.copy()).subquery("g"))

    @property
    def _columns(self) -> list[exp.Expr]:
        return [sql.column(name) for name in self.names]
