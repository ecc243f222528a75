"""How near a synthetic twin is to its table, and so how far its answers may be off.

Why a bound holds. Of some columns the twin and the table have counts S(x) and T(x) for every combination x of codes.
Whatever condition A on those columns is counted, T(A) - S(A) is the sum of T(x) - S(x) over the x in A: at most the
sum of all that are above 0, and at least that of all below. Both sums were bounded when the twin was made, privately
and with 95 % confidence, and the larger bound is the *reach* of those columns. So

* a count over those columns is off by at most the reach R, whatever is counted and however it is grouped;
* a sum of whole steps g(x), each within ±M, is off by at most 2 M R: what there is too much of and too little of is
  each at most R rows, of at most M. If no g(x) is below 0, or none above, each of the two moves the sum its own way,
  and M R is enough;
* an average follows from its sum and its count, as ``verbs/ask/figure.py`` has it. Both are taken over the same
  columns, so that one reach bounds both: two that hold with 95 % confidence each would hold together with less.

For the same reason, of several reaches that would do that of the fewest columns is taken, and then the first by name,
and not the smallest.

This holds where a figure is worked out of a row's codes alone, so only columns count of which every value has a code
of its own (``verbs/synthesize/distances.py`` measures, and says which those are). A figure that looks into a bin of
numbers has no bound; nor has one over more columns than were compared, of joined rows, or of rows that were put
together; nor has a median or a spread.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlglot import exp

from discreet.core.release import Rows
from discreet.core.table import Table
from discreet.engines.contribution import UNIT, numbered
from discreet.errors import BadInput
from discreet.verbs.ask.figure import Count, Mean, Total
from discreet.verbs.ask.plan import Plan
from discreet.verbs.ask.rows import table_rows


@dataclass(frozen=True)
class Nearness:
    """How far counts over columns may be off, for those columns of which every value has a code of its own."""

    reach: Mapping[frozenset[str], float]
    """By columns: the most rows that a count over them is off by, with 95 % confidence."""
    rows: int
    """How many rows the twin has."""

    def errors(self, plan: Plan, twin: Table) -> dict[str, dict[str, int]]:
        """For each figure of a plan on the twin that has a bound: how far each measure it is made of may be off."""
        seen = _condition(plan, twin)
        if seen is None or not plan.declared:
            return {}
        seen = seen.union(*(_columns(key.sql) for key in plan.keys.values()))
        names = {numbered(place): column.name for place, column in enumerate(twin.card.columns)}
        found: dict[str, dict[str, int]] = {}
        for name, figure in plan.figures.items():
            if not isinstance(figure, Count | Total | Mean):
                continue
            used = seen.union(*(_columns(plan.measures[one].sql) for one in figure.made_of))
            rows = None if UNIT in used else self._rows_off(frozenset(names[column] for column in used))
            if rows is not None:
                found[name] = {one: self._off(plan, one, rows, figure) for one in figure.made_of}
        return found

    def _rows_off(self, columns: frozenset[str]) -> int | None:
        """The most rows that a count over columns is off by, if that is known; as many as there are bound nothing."""
        around = [others for others in self.reach if columns <= others]
        if not around:
            return None
        rows = math.ceil(self.reach[min(around, key=lambda one: (len(one), sorted(one)))])
        return rows if rows < self.rows else None

    def _off(self, plan: Plan, measure: str, rows: int, figure: Count | Total | Mean) -> int:
        """How far a measure may be off, in its own steps, where counts are off by so many rows."""
        one = plan.measures[measure]
        if isinstance(figure, Count) or (isinstance(figure, Mean) and measure == figure.count):
            return rows
        rounding = self.rows + rows if isinstance(figure, Total) and one.rounded else 0
        return (2 if one.signed else 1) * (one.most // plan.rows.most) * rows + rounding


def measured_nearness(place: Path, twin: Table) -> Nearness:
    """What was measured of a twin, whose rows are in the file ``place``, when it was made; nothing, if it was not."""
    from discreet.verbs.synthesize.distances import distances

    try:
        near = distances(Rows(place))
    except BadInput:
        return Nearness({}, twin.count())
    told = {frozenset(columns): far for columns, far in near.reach.items()}
    return Nearness({columns: far for columns, far in told.items() if columns <= set(near.exact)}, near.rows)


def _condition(plan: Plan, twin: Table) -> frozenset[str] | None:
    """The columns that decide which rows of the twin a question is about; ``None``: it is about rows made of them."""
    base, query = table_rows(twin).query, plan.rows.query
    seen: frozenset[str] = frozenset()
    while query != base:
        where, source = query.args.get("where"), query.args.get("from_")
        if where is None or source is None or query.expressions != [exp.Star()]:
            return None
        if not isinstance(source.this, exp.Subquery) or query.args.get("joins"):
            return None
        seen |= _columns(where)
        query = source.this.this
    return seen


def _columns(node: exp.Expr) -> frozenset[str]:
    return frozenset(column.name for column in node.find_all(exp.Column))
