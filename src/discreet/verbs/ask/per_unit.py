"""SELECTs inside others that work unit by unit: GROUP BY the unit, DISTINCT, and windows PARTITION BY the unit.

Why this is private is argued, and enforced, in ``engines/contribution.py``: every row that comes out is made of
rows of one unit. A sum is made of whole steps, and so is the same in whatever order an engine adds: a last digit that
depended on who else is in the table would tell of them. So would the sign of a zero, so there is one zero only.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.engines.contribution import UnitAggregate, unit_window
from discreet.engines.measures import unit_count, unit_extreme, unit_sum
from discreet.errors import BadQuery
from discreet.verbs.ask.aggregate import (
    aggregate_parts,
    filter_condition,
    is_aggregate,
    name_once,
    steps_of,
    summand_bounds,
)
from discreet.verbs.ask.rows import Rows, at, free_name, hidden, is_unit, keys_of, whole_domain
from discreet.verbs.ask.scalar import scalar
from discreet.verbs.ask.value import (
    CHARACTERS,
    MANY,
    Columns,
    Interval,
    Known,
    Value,
    cut_to,
    given,
    largest,
    name_of,
    said,
)

_SAFE = 2**53
_KEPT = 10
"""Factor for the characters of a text that is held for every unit, and not for a few thousand rows."""


def per_unit(select: exp.Select, rows: Rows) -> Rows:
    """The rows of ``SELECT unit, keys, aggregates FROM rows GROUP BY unit, keys HAVING condition``."""
    return _PerUnit(select, rows).rows_out()


def distinct(rows: Rows, node: exp.Distinct) -> Rows:
    """The rows, equal ones once: which must have their unit among their columns, or two people's rows were one."""
    if any(node.args.values()):
        raise BadQuery("DISTINCT ON is not supported.", hint="Use DISTINCT or GROUP BY.")
    if rows.unit is None or not any(is_unit(one.value) for one in rows.columns.known):
        raise BadQuery("DISTINCT inside FROM must include the unit.", hint=_hint(rows, "SELECT DISTINCT {unit}, …"))
    shown = rows.showing((one.name, _one_zero(one.value)) for one in rows.columns.known)
    return replace(shown, owned=shown.owned.distinct())


def windows(select: exp.Select, rows: Rows) -> Rows:
    """The rows with a column for every window of ``select``, which then is that column; QUALIFY chooses among them."""
    qualify = select.args.get("qualify")
    clauses = [*select.expressions, *([] if qualify is None else [qualify])]
    found = [node for clause in clauses for node in clause.find_all(exp.Window)]
    if found and (select.args.get("group") or select.args.get("having")):
        raise BadQuery(
            "A subquery that groups by the unit has no windows.",
            hint="Put the window into a SELECT around or inside it.",
        )
    if found:
        rows = _one_zero_each(rows)
    for node in found:
        value, rows = _windowed(node, rows)
        called = free_name([one.name for one in rows.columns.known if not one.bare] + list(rows.owned.names))
        rows = rows.with_hidden(called, value)
        node.replace(hidden(called, node))
    if qualify is None:
        return rows
    select.set("qualify", None)
    return rows.filtered(qualify.this, "QUALIFY")


def _windowed(node: exp.Window, rows: Rows) -> tuple[Value, Rows]:
    """The value of a window, and the rows with the columns it is made of."""
    unit = rows.unit.name if rows.unit else "unit"
    partition = [scalar(one, rows.columns) for one in node.args.get("partition_by") or ()]
    if not any(map(is_unit, partition)):
        raise BadQuery(
            f"{said(node)}: inside FROM, windows work within one person.",
            hint=_hint(rows, "Write OVER (PARTITION BY {unit} …)."),
        )
    if any(value for key, value in node.args.items() if key not in ("this", "partition_by", "order", "over")):
        raise BadQuery(
            f"{said(node)}: windows are supported without a frame (ROWS, RANGE).",
            hint=f"Write OVER (PARTITION BY {unit} ORDER BY …).",
        )
    order = [_order(one, rows) for one in (node.args.get("order") or exp.Order(expressions=[])).expressions]
    keys = [value.sql for value in partition if not is_unit(value)]
    function, called = node.this, free_name(rows.owned.names)
    most = Fraction(rows.most)
    if isinstance(function, exp.RowNumber | exp.Rank | exp.DenseRank) and not any(function.args.values()):
        made = {called: unit_window(rows.owned, type(function), keys, order)}
        place = Value(sql.column(called), Kind.INTEGER, (Fraction(1), most), whole_domain((Fraction(1), most)))
        return replace(place, required=True), replace(rows, owned=rows.owned.windows(made))
    if isinstance(function, exp.Lag | exp.Lead | exp.FirstValue):
        value, offset = scalar(function.this, rows.columns), function.args.get("offset")
        steps = Fraction(1) if offset is None else given(scalar(offset, rows.columns))
        if function.args.get("default") is not None or steps is None or not 1 <= steps <= MANY:
            raise BadQuery(
                f"{said(node)}: a column and a number of rows are given, and no default.", hint="Use COALESCE."
            )
        made = {called: unit_window(rows.owned, type(function), keys, order, value=value.sql, offset=int(steps))}
        return replace(at(value, called), name="", required=False), replace(rows, owned=rows.owned.windows(made))
    if not is_aggregate(function) or function.find(exp.Distinct):
        raise BadQuery(
            f"{said(function)} is not supported over the rows of one person.",
            hint="Use ROW_NUMBER, RANK, DENSE_RANK, LAG, LEAD, FIRST_VALUE, COUNT, SUM, AVG, MIN or MAX.",
        )
    aggregates = _UnitAggregates(rows, f"{called}_")
    value = aggregates.value(function)
    columns = {name: unit_window(rows.owned, one, keys, order) for name, one in aggregates.found.items()}
    return value, replace(rows, owned=rows.owned.windows(columns))


def _order(node: exp.Expr, rows: Rows) -> exp.Ordered:
    if not isinstance(node, exp.Ordered) or node.args.get("with_fill"):
        raise BadQuery(f"ORDER BY {said(node)} is not supported here.")
    value = scalar(node.this, rows.columns)
    return exp.Ordered(this=value.sql.copy(), desc=node.args.get("desc"), nulls_first=node.args.get("nulls_first"))


def _one_zero_each(rows: Rows) -> Rows:
    """The rows with 0 for -0: which of two rows comes first must not depend on what cannot be compared."""
    shown: dict[str, exp.Expr] = {name: sql.column(name) for name in rows.owned.names}
    for one in rows.columns.known:
        if one.value.kind is Kind.REAL and isinstance(one.value.sql, exp.Column) and one.value.sql.name in shown:
            shown[one.value.sql.name] = _one_zero(one.value).sql
    return replace(rows, owned=rows.owned.select(shown))


@dataclass
class _PerUnit:
    select: exp.Select
    rows: Rows
    aggregates: _UnitAggregates = field(init=False)
    keys: dict[str, exp.Expr] = field(default_factory=dict)
    known: dict[str, Known] = field(default_factory=dict)
    """What the SELECT may use, by its text: keys and aggregates, each under a name that can be read."""

    def rows_out(self) -> Rows:
        self.aggregates = _UnitAggregates(self.rows, "g")
        keys = keys_of(self.select, self.rows.columns)
        if self.rows.unit is None or not any(is_unit(value) for _, value in keys):
            raise BadQuery(
                "A subquery must work row by row, or group by the unit.",
                hint=_hint(self.rows, "… GROUP BY {unit}"),
            )
        for node, value in keys:
            kept = value if is_unit(value) else at(value, name_once(self.keys, _one_zero(value).sql, "k"))
            self._known(self.rows.columns.text(node), node.sql(), kept)
        shown = [(name_of(one), self._replaced(one.unalias())) for one in self.select.expressions]
        having = self.select.args.get("having")
        condition = None if having is None else self._replaced(having.this)
        owned = self.rows.owned.group_by_unit(self.keys, self.aggregates.found)
        groups = replace(self.rows, owned=owned, columns=Columns(self.known.values()))
        if condition is not None:
            groups = groups.filtered(condition, "HAVING")
        return groups.showing([(name, scalar(one, groups.columns)) for name, one in shown])

    def _replaced(self, node: exp.Expr) -> exp.Expr:
        """The expression, with keys and aggregates as the columns they are here."""
        text = self.rows.columns.text(node)
        if text in self.known:
            return exp.column(self.known[text].name, quoted=True)
        if is_aggregate(node):
            return exp.column(self._known(text, node.sql(), self.aggregates.value(node)).name, quoted=True)
        if isinstance(node, exp.Column):
            raise BadQuery(f"{node.sql()} must be in GROUP BY, or inside COUNT, SUM, AVG, MIN or MAX.")
        copy = node.copy()
        for child in list(copy.iter_expressions()):
            if not isinstance(child, exp.DataType | exp.Identifier):
                child.replace(self._replaced(child))
        return copy

    def _known(self, text: str, said: str, value: Value) -> Known:
        taken = {one.name.casefold() for one in self.known.values()}
        name = said if said.casefold() not in taken else f"{said} ({len(taken)})"
        return self.known.setdefault(text, Known(name, value))


@dataclass
class _UnitAggregates:
    """Aggregates of one unit's rows, and the columns they are made of."""

    rows: Rows
    letter: str
    """What the names of the columns begin with."""
    found: dict[str, UnitAggregate] = field(default_factory=dict)
    """What is computed of each group, by the name of its column."""

    def value(self, node: exp.Expr) -> Value:
        """The value of an aggregate."""
        inner, condition = aggregate_parts(node)
        only = None if condition is None else filter_condition(condition, self.rows.columns)
        if isinstance(inner, exp.Count):
            return self._count(inner, only)
        if not isinstance(inner, exp.Sum | exp.Avg | exp.Min | exp.Max) or isinstance(inner.this, exp.Distinct):
            raise BadQuery(f"{inner.sql()} is not supported per unit.", hint="Use COUNT, SUM, AVG, MIN or MAX.")
        value = _chosen(scalar(inner.this, self.rows.columns), only)
        if isinstance(inner, exp.Min | exp.Max):
            if value.kind is Kind.BOOLEAN:
                raise BadQuery(
                    f"{inner.sql()}: booleans have no order.", hint="Use MAX(CASE WHEN … THEN 1 ELSE 0 END)."
                )
            extreme = unit_extreme(self.rows.owned, type(inner), _one_zero(value).sql)
            if value.kind is Kind.TEXT:
                extreme.sql.meta[CHARACTERS] = _KEPT * value.characters
            return at(value, self._column(extreme))
        within = summand_bounds(inner, inner.this, value)
        return self._mean(value, within) if isinstance(inner, exp.Avg) else self._sum(inner, value, within)

    def _count(self, node: exp.Count, only: Value | None) -> Value:
        distinct = isinstance(node.this, exp.Distinct)
        if isinstance(node.this, exp.Star):
            present = None if only is None else sql.one_if(only.sql.copy())
        else:
            several = node.this.expressions if distinct else [node.this]
            if len(several) != 1:
                raise BadQuery(f"{node.sql()} is not supported.", hint="Use COUNT(DISTINCT x) of one expression.")
            present = _chosen(scalar(several[0], self.rows.columns), only).sql
        within = Fraction(1 if present is None else 0), Fraction(self.rows.most)
        made = self._column(unit_count(self.rows.owned, present, distinct=distinct))
        return Value(sql.column(made), Kind.INTEGER, within, whole_domain(within), required=True)

    def _sum(self, node: exp.Expr, value: Value, within: Interval) -> Value:
        """Of one to ``most`` rows; NULL if there is no value."""
        many = self.rows.most
        whole = min(within[0], many * within[0]), max(within[1], many * within[1])
        if value.kind is not Kind.INTEGER:
            count, total = self._in_steps(value, within)
            return Value(exp.case().when(count > 0, cut_to(exp.paren(total), *whole)), Kind.REAL, whole)
        if largest(whole) > _SAFE:
            raise BadQuery(f"{node.sql()} of a unit could overflow.")
        made = self._column(unit_sum(self.rows.owned, value.sql, max(1, int(largest(within)))))
        some = exp.case().when(self._values(value) > 0, sql.column(made))
        return Value(some, Kind.INTEGER, whole, whole_domain(whole))

    def _mean(self, value: Value, within: Interval) -> Value:
        count, total = self._in_steps(value, within)
        some = exp.Nullif(this=exp.cast(count, exp.DType.DOUBLE), expression=sql.literal(0.0))
        mean = exp.paren(exp.Div(this=exp.paren(total), expression=some))
        return Value(cut_to(mean, *within), Kind.REAL, within)

    def _in_steps(self, value: Value, within: Interval) -> tuple[exp.Expr, exp.Expr]:
        """How many values there are, and their sum as a double, of the finest steps."""
        steps = steps_of(replace(value, name=""), within, 1)
        made = self._column(unit_sum(self.rows.owned, steps.sql, steps.bound))
        total = exp.cast(sql.column(made), exp.DType.DOUBLE) * sql.literal(float(steps.step))
        return self._values(value), total

    def _values(self, value: Value) -> exp.Expr:
        return sql.column(self._column(unit_count(self.rows.owned, value.sql)))

    def _column(self, aggregate: UnitAggregate) -> str:
        return name_once(self.found, aggregate, self.letter)


def _one_zero(value: Value) -> Value:
    """The value with 0 for -0: both are equal, and which of them an engine keeps depends on the order of rows."""
    return replace(value, sql=exp.paren(value.sql.copy() + sql.literal(0.0))) if value.kind is Kind.REAL else value


def _chosen(value: Value, only: Value | None) -> Value:
    if only is None:
        return value
    chosen = exp.case().when(only.sql.copy(), value.sql.copy())
    return replace(value, sql=chosen, required=False)


def _hint(rows: Rows, text: str) -> str:
    if rows.unit is None:
        return "These rows have no unit: each is a different person, so there is nothing to combine per person."
    return text.format(unit=rows.unit.name)
