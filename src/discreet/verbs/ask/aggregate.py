"""Aggregates: what has to be measured for each, and how the figure follows from the noisy measures."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.engines.contribution import Measure, counted, units_counted
from discreet.errors import BadQuery, NotDeclared
from discreet.verbs.ask.figure import Association, Chosen, Count, Figure, Mean, Spread, Total
from discreet.verbs.ask.measure import middle, total
from discreet.verbs.ask.quantile import Quantile, quantile
from discreet.verbs.ask.rows import Rows, is_unit
from discreet.verbs.ask.scalar import scalar
from discreet.verbs.ask.value import Interval, Value, largest, multiply

_T = TypeVar("_T")
_FINEST = 1000
_EXTREME = Fraction(2) ** 400
_SPREADS: dict[type[exp.Expr], tuple[bool, bool]] = {  # of a sample, and its root
    exp.Variance: (True, False),
    exp.VariancePop: (False, False),
    exp.Stddev: (True, True),
    exp.StddevSamp: (True, True),
    exp.StddevPop: (False, True),
}
_PAIRS: dict[type[exp.Expr], tuple[bool, bool]] = {  # of a sample, and divided by both spreads
    exp.CovarSamp: (True, False),
    exp.CovarPop: (False, False),
    exp.Corr: (False, True),
}


def is_aggregate(node: exp.Expr) -> bool:
    """Whether ``node`` is an aggregate, with or without FILTER."""
    return isinstance(_inner(node), exp.AggFunc)


class Aggregates:
    """Collects what a question's aggregates need; the same thing is measured once, however often it is asked for."""

    def __init__(self, rows: Rows, *, grouped: bool) -> None:
        self._rows = rows
        self._grouped = grouped
        self.measures: dict[str, Measure] = {}
        self.quantiles: dict[str, Quantile] = {}
        self.figures: dict[str, Figure] = {}

    def figure(self, node: exp.Expr) -> str:
        """The name of the figure that answers an aggregate."""
        return _known(self.figures, self._made(node), "f")

    def _made(self, node: exp.Expr) -> Figure:
        only = node.expression.this if isinstance(node, exp.Filter) else None
        inner = _inner(node)
        if inner.args.get("order") or inner.args.get("expressions") or inner.this is None:
            raise BadQuery(f"{node.sql()} cannot be asked.")
        if isinstance(inner, exp.Count):
            return Count(self._count(inner, only))
        if isinstance(inner, exp.CountIf):
            both = inner.this if only is None else exp.and_(only, inner.this)
            return Count(self._counted(self._present(None, both)))
        if isinstance(inner, exp.Sum):
            value, within = self._argument(inner, inner.this)
            measure = total(self._rows.owned, self._conditional(value, only), within)
            return Total(self._measured(measure), measure.step)
        if isinstance(inner, exp.Avg):
            return self._average(inner, only)
        if type(inner) in _SPREADS:
            mean = self._average(inner, only)
            return Spread(mean, self._product(mean, mean), *_SPREADS[type(inner)])
        if type(inner) in _PAIRS:
            return self._association(inner, only)
        share = _share(inner)
        if share is not None:
            value, within = self._argument(inner, inner.this)
            chosen = quantile(self._conditional(value, only), within, share, self._rows.owned)
            return Chosen(_known(self.quantiles, chosen, "q"))
        raise BadQuery(
            f"{inner.sql()} cannot be asked.",
            hint="COUNT, COUNT(DISTINCT unit), COUNT_IF, SUM, AVG, VARIANCE, STDDEV, COVAR_POP, CORR, MEDIAN, "
            "QUANTILE_CONT, MIN and MAX can.",
        )

    def _count(self, node: exp.Count, only: exp.Expr | None) -> str:
        if isinstance(node.this, exp.Distinct):
            wanted = node.this.expressions
            if len(wanted) != 1 or not is_unit(scalar(wanted[0], self._rows.columns)) or only is not None:
                unit = self._rows.unit.name if self._rows.unit else "unit"
                raise BadQuery(f"{node.sql()} cannot be asked.", hint=f"COUNT(DISTINCT {unit}) can: it counts people.")
            return self._measured(units_counted(self._rows.owned, grouped=self._grouped))
        value = None if isinstance(node.this, exp.Star) else scalar(node.this, self._rows.columns)
        return self._counted(self._present(value, only))

    def _present(self, value: Value | None, only: exp.Expr | None) -> exp.Expr | None:
        """What rows that count have a value of; ``None``: all rows count."""
        if value is None or value.required or isinstance(value.sql, exp.Literal):
            return None if only is None else sql.one_if(self._condition(only))
        return self._conditional(value, only).sql

    def _counted(self, present: exp.Expr | None) -> str:
        return self._measured(counted(self._rows.owned, present))

    def _argument(self, node: exp.Expr, argument: exp.Expr) -> tuple[Value, Interval]:
        if isinstance(argument, exp.Distinct):
            raise BadQuery(f"{node.sql()}: DISTINCT cannot be asked here.")
        value = scalar(argument, self._rows.columns)
        if argument.find(exp.Column) is None and not isinstance(node, exp.Sum | exp.Avg):
            raise BadQuery(f"{node.sql('duckdb')} is about a constant.", hint="It can be told without asking anybody.")
        if not value.number:
            raise BadQuery(f"{node.sql()}: {value.kind.value} cannot be added.")
        if value.within is None:
            raise NotDeclared(
                f"{node.sql()} needs the bounds of {value.name or argument.sql()}, and the card declares none.",
                hint="Declare bounds on the card; discreet does not read them off the data.",
            )
        return value, value.within

    def _conditional(self, value: Value, only: exp.Expr | None) -> Value:
        if only is None:
            return value
        chosen = exp.case().when(self._condition(only), value.sql.copy())
        return Value(chosen, value.kind, value.within, value.domain)

    def _condition(self, only: exp.Expr) -> exp.Expr:
        condition = scalar(only, self._rows.columns)
        if condition.kind is not Kind.BOOLEAN:
            raise BadQuery(f"FILTER takes a condition; {only.sql()} is {condition.kind.value}.")
        return condition.sql.copy()

    def _average(self, node: exp.Expr, only: exp.Expr | None) -> Mean:
        value, within = self._argument(node, node.this)
        return self._mean(self._conditional(value, only), within, self._present(value, only))

    def _mean(self, value: Value, within: Interval, present: exp.Expr | None) -> Mean:
        centre = middle(within, value.kind, self._rows.most)
        added = total(self._rows.owned, value, within, centre)
        distance = exp.paren(value.snapped - sql.literal(float(centre)))
        measured, count = self._measured(added), self._counted(present)
        return Mean(measured, added.step, count, centre, within, distance, added.rounded)

    def _product(self, one: Mean, other: Mean) -> Total:
        """The sum of the products of two distances from their centres, less the middle of where a product can lie."""
        within = multiply(one.reach, other.reach)
        if not 1 / _EXTREME <= largest(within) <= _EXTREME:
            raise BadQuery("Numbers that may be so large, or are so small, have no spread that can be asked.")
        value = Value(exp.paren(one.distance.copy() * other.distance.copy()), Kind.REAL, within)
        centre = middle(within, Kind.REAL, self._rows.most)
        measure = total(self._rows.owned, value, within, centre)
        return Total(self._measured(measure), measure.step, centre)

    def _association(self, node: exp.Expr, only: exp.Expr | None) -> Association:
        """Rows in which one of the two is missing count for neither."""
        pair = [self._argument(node, one) for one in (node.this, node.expression)]
        needed: list[exp.Expr] = [value.sql.copy().is_(exp.null()).not_() for value, _ in pair if not value.required]
        needed += [] if only is None else [self._condition(only)]
        both = exp.and_(*needed) if needed else None
        present = None if both is None else sql.one_if(both)
        means = []
        for value, within in pair:
            chosen = None if both is None else exp.case().when(both.copy(), value.sql.copy())
            one = value if chosen is None else Value(chosen, value.kind, within)
            means.append(self._mean(one, within, present))
        sample, divided = _PAIRS[type(node)]
        own = tuple(self._product(mean, mean) for mean in means) if divided else ()
        return Association(means[0], means[1], self._product(*means), own, sample)

    def _measured(self, measure: Measure) -> str:
        return _known(self.measures, measure, "m")


def _known(known: dict[str, _T], wanted: _T, letter: str) -> str:
    for name, one in known.items():
        if one == wanted:
            return name
    name = f"{letter}{len(known)}"
    known[name] = wanted
    return name


def _inner(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.Filter) else node


def _share(node: exp.Expr) -> Fraction | None:
    """Which quantile an aggregate is. MIN and MAX are the first and the last hundredth: nobody's own value is told."""
    fixed: dict[type[exp.Expr], Fraction] = {
        exp.Median: Fraction(1, 2),
        exp.Min: Fraction(1, 100),
        exp.Max: Fraction(99, 100),
    }
    if type(node) in fixed:
        return fixed[type(node)]
    if not isinstance(node, exp.PercentileCont | exp.PercentileDisc | exp.Quantile | exp.ApproxQuantile):
        return None
    said = node.args.get("expression") or node.args.get("quantile")
    plain = isinstance(said, exp.Literal) and not said.is_string and "e" not in said.name.lower()
    share = Fraction(said.name) if plain and said else None
    if share is None or not 0 < share < 1:
        raise BadQuery(
            f"{node.sql('duckdb')}: the quantile is a number between 0 and 1.",
            hint="For example QUANTILE_CONT(x, 0.9).",
        )
    if share.denominator > _FINEST:
        raise BadQuery(
            f"{node.sql('duckdb')}: a quantile has at most three digits behind the point.",
            hint=f"For example {float(round(share, 3)) or 0.001}.",
        )
    return share
