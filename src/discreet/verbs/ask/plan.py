"""From SQL text to a plan of known shape: rows, keys, measures, and what is computed from the noisy figures.

Everything that touches rows is in ``rows``, ``keys`` and ``measures``. The rest of the question (HAVING, ORDER BY,
LIMIT, arithmetic) works on figures that are private already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import numpy as np
from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.contribution import Measure, measured_query, quick, units_counted
from discreet.errors import BadQuery
from discreet.verbs.ask.aggregate import Aggregates, is_aggregate
from discreet.verbs.ask.postprocess import ERROR, NOISY, Figure, attempt, require_works
from discreet.verbs.ask.quantile import Quantile
from discreet.verbs.ask.rows import Rows, keys_of, position
from discreet.verbs.ask.source import rows_of
from discreet.verbs.ask.syntax import Size, answer_name, depth, parse_question
from discreet.verbs.ask.value import Columns, Value, counting_nodes

UNITS = "units"
_DEEPEST_QUERY = 220  # writing it as text takes some calls a level, and Python allows a thousand
_MOST_ROWS = 10**9
_MOST_KEYS = 100_000
_MOST_WORK = 3_000_000
"""Rows of one unit in a join, times the work on each."""
_MOST_FIGURES = 1_000_000
MOST_QUANTILES = 5_000
MOST_VALUES = 3_000_000
"""Values of an answer: its groups, times its columns."""
_CASTS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "text", "varchar", "boolean")
_AFTER = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Literal, exp.Column, exp.Identifier, exp.EQ, exp.NEQ,
    exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Not, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Null,
    exp.Round, exp.Abs, exp.Floor, exp.Ceil, exp.Sqrt, exp.Ln, exp.Least, exp.Greatest, exp.Boolean, exp.Is, exp.In,
    exp.Between, exp.Ordered, exp.Cast, exp.DataType, exp.DataTypeParam,
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What will be measured, and what is made of it."""

    rows: Rows
    keys: Mapping[str, Value]
    measures: Mapping[str, Measure]
    quantiles: Mapping[str, Quantile]
    figures: Mapping[str, Figure]
    """What is worked out of the noisy measures, group by group."""
    after: exp.Select
    """The rest of the question, over a table of keys, figures and their errors."""

    @property
    def declared(self) -> bool:
        """Whether all groups are known beforehand: every key has declared values."""
        return all(value.domain is not None for value in self.keys.values())

    @property
    def declared_groups(self) -> int | None:
        """How many groups are declared; ``None``: which there are is not known beforehand."""
        return prod(len(value.domain or ()) for value in self.keys.values()) if self.declared else None

    @cached_property
    def query(self) -> exp.Select:
        """What the engine is asked."""
        return self._query({name: measure.sql for name, measure in self.measures.items()})

    def query_of_small(self, drawn: Callable[[int], int]) -> exp.Select:
        """The same, for groups of at most as many rows as are ``drawn`` for each measure up to its limit."""
        return self._query({name: quick(one, drawn(one.quick_rows)) for name, one in self.measures.items()})

    @property
    def query_of_large(self) -> exp.Select:
        """The same, for groups that are too large for the quick way to measure."""
        return self._query({name: measure.large or measure.sql for name, measure in self.measures.items()})

    def _query(self, measured: Mapping[str, exp.Expr]) -> exp.Select:
        return measured_query(self.rows.owned, {name: value.sql for name, value in self.keys.items()}, measured)


def plan(text: str, tables: Mapping[str, Table]) -> Plan:
    """The plan for a question; what cannot be asked is refused with the nearest thing that can."""
    with counting_nodes():
        return _Planner(parse_question(text), tables).plan()


@dataclass
class _Planner:
    select: exp.Select
    tables: Mapping[str, Table]
    rows: Rows = field(init=False)
    aggregates: Aggregates = field(init=False)
    keys: dict[str, Value] = field(default_factory=dict)
    _key_texts: dict[str, str] = field(default_factory=dict)

    def plan(self) -> Plan:
        self.rows = rows_of(self.select, self.tables)
        if not self.rows.sources:
            raise BadQuery(
                "These tables are public: read them directly.",
                hint="Questions must include a table about people, which may be joined with public ones.",
            )
        self._group()
        self.aggregates = Aggregates(self.rows, grouped=bool(self.keys))
        if not self._declared:
            self.aggregates.measures[UNITS] = units_counted(
                self.rows.owned, grouped=True
            )  # first, so that a question for it shares it
        columns: dict[str, exp.Expr] = {}
        size, known = Size(), 0
        for place, node in enumerate(self.select.expressions):
            name, column = self._column(place, node)
            columns[self._own_name(name, column, columns)] = column
            for measure in list(self.aggregates.measures.values())[known:]:  # as they come: the whole is made of all
                for computed in {one.sql(): one for one in sql.attempts(measure.sql)}.values():
                    size.add(computed)
            known = len(self.aggregates.measures)
        shown = [sql.named(attempt(column), name) for name, column in columns.items()]
        for name, column in columns.items():
            if self._has_error(column):
                shown.append(sql.named(_noisy(f"{column.name}{ERROR}"), f"{name}{ERROR}"))
        after = self._rest(exp.select(*shown, copy=False).from_(sql.table(NOISY), copy=False), columns)
        if not self.aggregates.figures:
            raise BadQuery(
                "A question must ask for aggregates, not rows.",
                hint="Use COUNT, SUM, AVG, MEDIAN and the like, with GROUP BY for several groups.",
            )
        made = Plan(
            replace(self.rows, columns=Columns(())),  # of which some list thousands of values, and plans are kept
            self.keys,
            self.aggregates.measures,
            self.aggregates.quantiles,
            self.aggregates.figures,
            after,
        )
        self._require_few_keys(made)
        whole = Size()
        whole.add(made.query)
        if self.rows.reads > 1 and self.rows.most * whole.work > _MOST_WORK:
            raise BadQuery(
                f"One unit could have {self.rows.most:,} rows in this join, and too much is computed for "
                "each: the running time could reveal people.",
                hint="Join fewer tables, or reduce each unit to one row first: GROUP BY the unit.",
            )
        if depth(made.query) > _DEEPEST_QUERY:
            raise BadQuery("The question is nested too deeply.", hint="Nest fewer SELECTs.")
        types = dict.fromkeys(made.measures, np.int64) | dict.fromkeys(made.quantiles, np.float64)
        require_works(after, made.keys, made.figures, types)
        return made

    def _own_name(self, name: str, column: exp.Expr, others: Mapping[str, exp.Expr]) -> str:
        """``name``, if no column of the answer has it, nor an error bar."""
        taken = [other for known, one in others.items() for other in self._names(known, one)]
        for one in self._names(name, column):
            if one.lower() in {other.lower() for other in taken}:
                raise BadQuery(f"Two columns of the answer have the name {one!r}.", hint="Name them with AS.")
        return name

    def _names(self, name: str, column: exp.Expr) -> list[str]:
        return [name, f"{name}{ERROR}"] if self._has_error(column) else [name]

    def _has_error(self, column: exp.Expr) -> bool:
        return isinstance(column, exp.Column) and column.name in self.aggregates.figures

    def _group(self) -> None:
        for place, (node, value) in enumerate(keys_of(self.select, self.rows.columns)):
            name = f"k{place}"
            self.keys[name] = value
            self._key_texts[self.rows.columns.text(node)] = name
        few, owned = self.rows.groups_per_unit, self.rows.owned
        if not self._declared and owned.unit is not None and few is not None and few < owned.most:
            keys = [value.sql for value in self.keys.values()]
            self.rows = replace(self.rows, owned=owned.few_groups(keys, few, self.rows.engine.dialect))

    @property
    def _declared(self) -> bool:
        return all(value.domain is not None for value in self.keys.values())

    def _require_few_keys(self, made: Plan) -> None:
        groups = made.declared_groups or 0
        if groups > _MOST_KEYS:
            raise BadQuery(f"GROUP BY makes {groups:,} groups; the limit is {_MOST_KEYS:,}.")
        for each, most, what in (
            (len(made.measures), _MOST_FIGURES, "figures"),
            (len(made.quantiles), MOST_QUANTILES, "quantiles"),
            (len(made.after.expressions), MOST_VALUES, "values"),
        ):
            if groups * each > most:
                raise BadQuery(f"This asks for {groups * each:,} {what}; the limit is {most:,}.")

    # -- the answer's columns

    def _column(self, place: int, node: exp.Expr) -> tuple[str, exp.Expr]:
        inner = node.unalias()
        if isinstance(inner, exp.Star):
            raise BadQuery("SELECT * asks for rows; a question must ask for aggregates.")
        return answer_name(node, place), self._computed(inner)

    def _computed(self, node: exp.Expr, named: Mapping[str, exp.Expr] | None = None) -> exp.Expr:
        """An expression over keys, aggregates and columns of the answer, over the noisy table."""
        key = self._key_texts.get(self.rows.columns.text(node))
        if key is not None:
            return _noisy(key)
        if isinstance(node, exp.Column) and named and node.name.lower() in named:
            return named[node.name.lower()].copy()
        if is_aggregate(node):
            return _noisy(self.aggregates.figure(node))
        if isinstance(node, exp.Column):
            self.rows.columns.find(node)
            raise BadQuery(f"{node.sql()} must be in GROUP BY, or inside COUNT, SUM, AVG and the like.")
        if not isinstance(node, _AFTER):
            raise BadQuery(f"{node.sql()} cannot be computed from the answer's figures.")
        if isinstance(node, exp.Cast) and not node.to.is_type(*_CASTS):
            raise BadQuery(
                f"{node.sql()} cannot be computed from the answer's figures.", hint="Only CAST to DOUBLE is supported."
            )
        copy = node.copy()
        for child in list(copy.iter_expressions()):
            if not isinstance(child, exp.DataType | exp.Identifier):
                child.replace(self._part(child, named))
        return copy

    def _part(self, node: exp.Expr, named: Mapping[str, exp.Expr] | None) -> exp.Expr:
        """A part of an expression. Decimals are computed with as doubles: how many digits they have is not known."""
        part = self._computed(node, named)
        key = self.keys.get(part.name) if isinstance(part, exp.Column) else None
        return exp.cast(part, exp.DType.DOUBLE) if key is not None and key.kind is Kind.DECIMAL else part

    def _rest(self, after: exp.Select, columns: Mapping[str, exp.Expr]) -> exp.Select:
        by_name = {name.lower(): column for name, column in columns.items()}
        having, order, limit = (self.select.args.get(key) for key in ("having", "order", "limit"))
        if having is not None:
            condition = exp.cast(self._part(having.this, by_name), exp.DType.BOOLEAN)
            after = after.where(attempt(condition), copy=False)
        for one in order.expressions if order is not None else ():
            if isinstance(one.this, exp.Literal) and not one.this.is_string:
                key = list(columns.values())[position(one.this, len(columns), "ORDER BY")].copy()
            else:
                key = self._computed(one.this, by_name)
            ordered = exp.Ordered(this=attempt(key), desc=one.args.get("desc"), nulls_first=False)
            after = after.order_by(ordered, copy=False)
        if limit is not None:
            said = limit.expression
            if not (isinstance(said, exp.Literal) and said.name.isdigit() and int(said.name) <= _MOST_ROWS):
                raise BadQuery(f"LIMIT must be a number up to {_MOST_ROWS:,}.")
            after = after.limit(int(said.name), copy=False)
        return after


def _noisy(name: str) -> exp.Column:
    """A column of the noisy table, whatever the answer's columns are called."""
    return exp.column(name, table=NOISY, quoted=True)
