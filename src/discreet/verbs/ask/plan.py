"""From SQL text to a plan of known shape: rows, keys, measures, and what is computed from the noisy figures.

Everything that touches rows is in the parts of a plan: one for each GROUP BY over rows, with its ``rows``, ``keys`` and
``measures``. The rest of the question (HAVING, ORDER BY, LIMIT, arithmetic, windows, SELECTs around it, unions and
joins of answers) works on figures that are private already (``results.py``, ``result_sources.py``).

A SELECT is over rows, or it is an answer: one that aggregates rows of several people, or reads an answer. The same
groups of the same rows are measured once, wherever in a question they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import TypeVar

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.engine import Written
from discreet.core.kind import Scalar
from discreet.core.table import Table
from discreet.engines.measures import Measure, measured_query, quick, units_counted
from discreet.errors import BadQuery, NotDeclared
from discreet.verbs.ask.aggregate import Aggregates, is_aggregate, quantiles_apart
from discreet.verbs.ask.grouping import TOTAL, grouping_sets
from discreet.verbs.ask.mode import largest_group, mode
from discreet.verbs.ask.nearest import nearest_question
from discreet.verbs.ask.postprocess import ERROR, NOISY, Chosen, Curved, Figure, MostFrequent, require_works
from discreet.verbs.ask.quantile import Choice
from discreet.verbs.ask.result_columns import SINGLE, Answers, Bar, Noisy, join_singles, single
from discreet.verbs.ask.result_sources import outer_select, united
from discreet.verbs.ask.results import ResultSelect, is_aggregated, require_clauses
from discreet.verbs.ask.rows import Rows, is_unit, keys_of, position
from discreet.verbs.ask.source import rows_of
from discreet.verbs.ask.syntax import Size, answer_name, depth, figure_clause, parse_question
from discreet.verbs.ask.value import Columns, Value, counting_nodes, said

UNITS = "units"
_DEEPEST_QUERY = 220  # writing it as text takes some calls a level, and Python allows a thousand
_MOST_PARTS = 16
_MOST_KEYS = 100_000
_MOST_WORK = 3_000_000
"""Rows of one unit in a join, times the work on each."""
_MOST_FIGURES = 1_000_000
MOST_QUANTILES = 5_000
MOST_VALUES = 3_000_000
"""Values of an answer: its groups, as often as they are read for it, times its columns."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class Part:
    """What is measured of one set of rows, in groups, and the figures made of it."""

    name: str
    """The table of its noisy figures."""
    rows: Rows
    keys: Mapping[str, Value]
    measures: Mapping[str, Measure]
    quantiles: Mapping[str, Choice]
    figures: Mapping[str, Figure]
    """What is worked out of the noisy measures, group by group."""
    units: str | None = None
    """The measure that decides which groups are shown; ``None``: all groups are known beforehand."""
    sets: tuple[tuple[str, ...], ...] = ()
    """By which keys there are groups, of ROLLUP and its like: what is measured is added up. None: by all of them."""
    written: Written | None = field(default=None, compare=False)
    """``query`` in the engine's text, if that is known (``shapes.py``)."""

    @property
    def declared(self) -> bool:
        """Whether all groups are known beforehand: every key has declared values."""
        return self.units is None

    @property
    def declared_groups(self) -> int | None:
        """How many groups are declared; ``None``: which there are is not known beforehand."""
        return prod(map(len, self.values_of_keys)) if self.declared else None

    @property
    def values_of_keys(self) -> list[tuple[Scalar | None, ...]]:
        """The declared values of each key. Where there are totals, rows without a value are counted too."""
        nulls = [(None,) if self.sets and not value.required else () for value in self.keys.values()]
        return [(*(value.domain or ()), *null) for value, null in zip(self.keys.values(), nulls, strict=True)]

    @property
    def added(self) -> int:
        """How many groups are added up for a total, at most."""
        many = dict(zip(self.keys, map(len, self.values_of_keys), strict=True))
        return max((prod(many[name] for name in self.keys if name not in kept) for kept in self.sets), default=1)

    @property
    def totals(self) -> list[str]:
        """The columns that say which keys a group is a total over."""
        return [f"{name}{TOTAL}" for name in self.keys] if self.sets else []

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


@dataclass(frozen=True)
class Plan:
    """What will be measured, and what is made of it. Names of keys, measures and figures are unique in a plan."""

    parts: tuple[Part, ...]
    after: exp.Select
    """The rest of the question, over tables of keys, figures and their errors."""
    bars: Mapping[str, tuple[Bar, ...]]
    """By column of the answer that has an error bar: what it is made of. It follows from the rest."""
    schema: pa.Schema | None = None
    """The columns of the answer. They follow from the rest."""

    @property
    def keys(self) -> Mapping[str, Value]:
        """The keys of all parts."""
        return _of_all(part.keys for part in self.parts)

    @property
    def measures(self) -> Mapping[str, Measure]:
        """The measures of all parts."""
        return _of_all(part.measures for part in self.parts)

    @property
    def quantiles(self) -> Mapping[str, Choice]:
        """The quantiles and modes of all parts."""
        return _of_all(part.quantiles for part in self.parts)

    @property
    def figures(self) -> Mapping[str, Figure]:
        """The figures of all parts."""
        return _of_all(part.figures for part in self.parts)

    @property
    def rows(self) -> Rows:
        """The rows of the first part, which is the only one of most questions."""
        return self.parts[0].rows

    @property
    def query(self) -> exp.Select:
        """What the engine is asked for the first part."""
        return self.parts[0].query

    @property
    def sources(self) -> frozenset[str]:
        """The private tables it is about."""
        return frozenset().union(*(part.rows.sources for part in self.parts))

    @property
    def public(self) -> frozenset[str]:
        """The public tables it reads."""
        return frozenset().union(*(part.rows.public for part in self.parts))

    @property
    def declared(self) -> bool:
        """Whether all groups are known beforehand."""
        return all(part.declared for part in self.parts)

    def values(self, groups: Mapping[str, int]) -> int:
        """The most values that an answer can have, given how many groups there are in each table of figures.

        Unions and joins have no more rows than what they are made of together (``result_sources.py``).
        """
        tables = (table.name for table in self.after.find_all(exp.Table))
        return sum(groups[name] for name in tables) * len(self.after.expressions)


def _of_all(mappings: Iterator[Mapping[str, _T]]) -> Mapping[str, _T]:
    return {name: one for some in mappings for name, one in some.items()}


def plan(text: str, tables: Mapping[str, Table]) -> Plan:
    """The plan for a question; what cannot be asked is refused with the nearest thing that can."""
    try:
        return _planned(text, tables)
    except BadQuery as refusal:
        instead = nearest_question(text, lambda near: _planned(near, tables))
        if instead is None:
            raise
        raise BadQuery(refusal.message, hint=f"{refusal.hint} Ask instead: {instead}".strip()) from None


def _planned(text: str, tables: Mapping[str, Table]) -> Plan:
    with counting_nodes():
        return _Planner(parse_question(text), tables).plan()


@dataclass
class _Planner:
    query: exp.Query
    tables: Mapping[str, Table]
    leaves: list[_Leaf] = field(default_factory=list)
    _answers: dict[str, Answers] = field(default_factory=dict)
    """What WITH has named so far, of answers."""
    _rows: list[exp.CTE] = field(default_factory=list)
    """What WITH has named so far, of rows."""

    def plan(self) -> Plan:
        for cte in (self.query.args.get("with_") or exp.With(expressions=[])).expressions:
            if self._is_answer(cte.this):
                _require_name_only(cte)
                self._answers[cte.alias.casefold()] = self._answer(cte.this)
            else:
                self._rows.append(cte)
        answers = self._answer(self.query, inside=False)
        if not isinstance(answers.query, exp.Select):
            raise BadQuery("A question must be one SELECT.")
        parts = tuple(leaf.part() for leaf in self.leaves)
        bars = {one.name: one.noisy.bars for one in answers.columns if one.noisy.error is not None}
        made = Plan(parts, answers.query, bars)
        self._require_small(made)
        types = dict.fromkeys(made.measures, np.int64) | dict.fromkeys(made.quantiles, np.float64)
        return replace(made, schema=require_works(made.after, parts, types))

    # -- which SELECTs are answers

    def _is_answer(self, node: exp.Expr) -> bool:
        """Whether a query makes figures of several people, and not rows of single ones."""
        if isinstance(node, exp.Subquery | exp.Paren):
            return self._is_answer(node.this)
        if isinstance(node, exp.SetOperation):
            return self._is_answer(node.this) or self._is_answer(node.expression)
        if not isinstance(node, exp.Select):
            return False
        if any(map(self._reads_answer, _sources(node))):
            return True
        if not _aggregates(node):
            return False
        rows = rows_of(self._over_rows(node), self.tables)
        if not rows.sources:
            return False
        plain, _ = grouping_sets(node)
        return not any(is_unit(value) for _, value in keys_of(plain, rows.columns))

    def _reads_answer(self, source: exp.Expr) -> bool:
        if isinstance(source, exp.Table):
            return not source.args.get("db") and source.name.casefold() in self._answers
        return self._is_answer(source)

    def _over_rows(self, select: exp.Select) -> exp.Select:
        """A SELECT over rows, with what WITH has named for it."""
        alone = select.copy()
        alone.set("with_", exp.With(expressions=[cte.copy() for cte in self._rows]) if self._rows else None)
        return alone

    # -- answers

    def _answer(self, node: exp.Expr, *, inside: bool = True) -> Answers:
        if isinstance(node, exp.Subquery | exp.Paren):
            _require_name_only(node)
            return self._answer(node.this, inside=inside)
        if isinstance(node, exp.Union):
            return united(self._answer(node.this), self._answer(node.expression), node, inside=inside)
        if not isinstance(node, exp.Select):
            raise BadQuery("Answers can be combined by UNION, UNION ALL and JOIN.")
        node, singles = self._with_singles(node)
        sources = _sources(node)
        if not any(map(self._reads_answer, sources)) and (sources or not singles):
            return self._measured(node, singles, inside=inside)
        found: list[tuple[str, Answers, exp.Join | None]] = []
        for source, join in zip(sources, (None, *(node.args.get("joins") or ())), strict=False):
            if not self._reads_answer(source):
                raise BadQuery(
                    f"{source.alias_or_name or 'A SELECT'} has rows, and cannot be joined with an answer.",
                    hint="Aggregate it first, in a SELECT in parentheses; or ask for the figure, and write it as a "
                    "number.",
                )
            _require_name_only(source)
            named = isinstance(source, exp.Table)
            answers = self._answers[source.name.casefold()] if named else self._answer(source)
            found.append((source.alias_or_name, answers, join))
        return outer_select(node, found, singles, inside=inside)

    def _with_singles(self, select: exp.Select) -> tuple[exp.Select, list[Answers]]:
        """A SELECT with columns for the SELECTs of one figure that stand beside its own figures, and their answers."""
        singles: list[Answers] = []
        select = select.copy()
        for node in list(select.find_all(exp.Subquery)):
            if not isinstance(node.this, exp.Query) or figure_clause(node.this) is not select:
                continue
            answers = self._answer(node.this) if self._is_answer(node.this) else None
            if answers is None or len(answers.columns) != 1 or frozenset() not in answers.unique:
                raise BadQuery(
                    f"{said(node)}: a SELECT beside figures must be one figure.",
                    hint="Like (SELECT COUNT(*) FROM visits).",
                )
            node.replace(exp.column(str(len(singles)), table=SINGLE, quoted=True))
            singles.append(answers)
        return select, singles

    def _measured(self, select: exp.Select, singles: Sequence[Answers], *, inside: bool) -> Answers:
        """The answer of a SELECT over rows."""
        require_clauses(select)
        for table in select.find_all(exp.Table):
            if self._reads_answer(table):
                raise BadQuery(
                    f"{table.name} has figures, and rows cannot be compared with them.",
                    hint="Ask for the figures first, and write them as numbers.",
                )
        if not _aggregates(select):
            select = _grouped_by_all(select)
        select = self._chosen(select)
        select = self._over_rows(select)  # a copy: reading its rows replaces what is computed with them
        leaf = _Leaf.of(select, self.tables, len(self.leaves))
        same = next((one for one in self.leaves if one.measures_same(leaf)), None)
        if same is not None:
            leaf.share(same)
        else:
            self.leaves.append(leaf)
        if len(self.leaves) > _MOST_PARTS:
            raise BadQuery(
                f"The question has more than {_MOST_PARTS} GROUP BYs over rows.", hint="Ask several questions."
            )
        return leaf.answer(select, singles, inside=inside)

    def _chosen(self, select: exp.Select) -> exp.Select:
        """The key of the largest group as the mode of the key, if that can be chosen: it is private for less."""
        key = largest_group(select)
        if key is None:
            return select
        over = self._over_rows(select)
        rows = rows_of(over, self.tables)
        try:
            [(_, value)] = keys_of(over, rows.columns)
            mode(value, said(key), rows.owned)
        except (BadQuery, NotDeclared):
            return select
        chosen = select.copy()
        for clause in ("group", "order", "limit"):
            chosen.set(clause, None)
        name = answer_name(select.expressions[0], 0)
        chosen.set("expressions", [exp.alias_(exp.Mode(this=key.copy()), name, quoted=True)])
        return chosen

    # -- limits

    def _require_small(self, made: Plan) -> None:
        figures = quantiles = 0
        for part in made.parts:
            groups = part.declared_groups or 0
            if groups > _MOST_KEYS:
                raise BadQuery(f"GROUP BY makes {groups:,} groups; the limit is {_MOST_KEYS:,}.")
            figures += groups * len(part.measures)
            quantiles += groups * len(part.quantiles)
            whole = Size()
            whole.add(part.query)
            if part.rows.reads > 1 and part.rows.most * whole.work > _MOST_WORK:
                raise BadQuery(
                    f"One unit could have {part.rows.most:,} rows in this join, and too much is computed for "
                    "each: the running time could reveal people.",
                    hint="Join fewer tables, or reduce each unit to one row first: GROUP BY the unit.",
                )
            if depth(part.query) > _DEEPEST_QUERY:
                raise BadQuery("The question is nested too deeply.", hint="Nest fewer SELECTs.")
        if depth(made.after) > _DEEPEST_QUERY:
            raise BadQuery("The question is nested too deeply.", hint="Nest fewer SELECTs.")
        values = made.values({part.name: (part.declared_groups or 0) * (len(part.sets) or 1) for part in made.parts})
        for many, most, what in (
            (figures, _MOST_FIGURES, "figures"),
            (quantiles, MOST_QUANTILES, "quantiles"),
            (values, MOST_VALUES, "values"),
        ):
            if many > most:
                raise BadQuery(f"This asks for {many:,} {what}; the limit is {most:,}.")


@dataclass
class _Leaf:
    """A SELECT over rows, and what it asks to be measured."""

    rows: Rows
    keys: dict[str, Value]
    key_texts: dict[str, str]
    aggregates: Aggregates
    name: str
    units: str | None
    sets: tuple[tuple[str, ...], ...]
    _found: dict[str, Noisy] = field(default_factory=dict)
    _size: Size = field(default_factory=Size)
    _counted: int = 0

    @classmethod
    def of(cls, select: exp.Select, tables: Mapping[str, Table], place: int) -> _Leaf:
        """The groups of a SELECT over rows."""
        rows = rows_of(select, tables)
        if not rows.sources:
            raise BadQuery(
                "These tables are public: read them directly.",
                hint="Questions must include a table about people, which may be joined with public ones.",
            )
        prefix = f"p{place}" if place else ""
        plain, groupings = grouping_sets(select)
        found = keys_of(plain, rows.columns)
        keys = {f"{prefix}k{at}": value for at, (_, value) in enumerate(found)}
        texts = {rows.columns.text(node): name for (node, _), name in zip(found, keys, strict=True)}
        declared = all(value.domain is not None for value in keys.values())
        if groupings and not declared:
            raise BadQuery(
                "ROLLUP, CUBE and GROUPING SETS need declared groups: totals would lack those that are not shown.",
                hint="Declare categories on the card, or ask for each grouping, with UNION ALL between them: SELECT a, "
                "b, COUNT(*) … GROUP BY a, b UNION ALL SELECT a, NULL, COUNT(*) … GROUP BY a.",
            )
        few, owned = rows.groups_per_unit, rows.owned
        if not declared and owned.unit is not None and few is not None and few < owned.most:
            few_keys = [value.sql for value in keys.values()]
            rows = replace(rows, owned=owned.few_groups(few_keys, few, rows.engine.dialect))
        aggregates = Aggregates(rows, grouped=bool(keys), prefix=prefix)
        units = None if declared else f"{prefix}{UNITS}"
        if units is not None:  # first, so that a question for it shares it
            aggregates.measures[units] = units_counted(rows.owned, grouped=True)
        sets = tuple(tuple(list(keys)[at] for at in grouping) for grouping in groupings)
        return cls(rows, keys, texts, aggregates, f"{NOISY}{place or ''}", units, sets)

    def measures_same(self, other: _Leaf) -> bool:
        """Whether both are the same groups of the same rows."""
        return (
            self.rows.owned == other.rows.owned
            and self.rows.engine is other.rows.engine
            and list(self.keys.values()) == list(other.keys.values())
            and _places(self) == _places(other)
        )

    def share(self, other: _Leaf) -> None:
        """Measure what is asked for together with what another leaf of the same groups asks for."""
        names = dict(zip(self.keys, other.keys, strict=True))
        self.key_texts = {text: names[name] for text, name in self.key_texts.items()}
        self.keys, self.name, self.units, self.sets = other.keys, other.name, other.units, other.sets
        self.aggregates.share(other.aggregates)

    def answer(self, select: exp.Select, singles: Sequence[Answers], *, inside: bool) -> Answers:
        """What a SELECT makes of the figures of its groups, and of single figures beside them."""
        source = join_singles(exp.select(copy=False).from_(sql.table(self.name), copy=False), singles)
        shown: list[tuple[str, exp.Expr]] = []
        places = []
        for place, node in enumerate(select.expressions):
            places.append(len(shown) + 1)
            name, several = answer_name(node, place), quantiles_apart(node.unalias())
            shown += [(f"{name}_{percent}", one) for percent, one in several] or [(name, node.unalias())]
        for ordered in (select.args.get("order") or exp.Order()).expressions:
            if isinstance(ordered.this, exp.Literal) and not ordered.this.is_string and len(shown) > len(places):
                ordered.set("this", sql.literal(places[position(ordered.this, len(places), "ORDER BY")]))
        if any(isinstance(node, exp.Star) for _, node in shown):
            raise BadQuery("SELECT * asks for rows; a question must ask for aggregates.")
        find = lambda node: single(node, singles) or self._find(node)  # noqa: E731
        made = ResultSelect(select, source, find, self._missing).made(shown, inside=inside)
        names = {
            self.key_texts.get(self.rows.columns.text(node)): one.noisy.sql.name
            for (_, node), one in zip(shown, made.columns, strict=True)
        }
        whole = frozenset(names[key] for key in self.keys if key in names)
        return replace(made, unique=frozenset({whole}) if len(whole) == len(self.keys) else frozenset())

    def part(self) -> Part:
        """What is measured, in the end."""
        return Part(
            self.name,
            replace(self.rows, columns=Columns(())),  # of which some list thousands of values, and plans are kept
            self.keys,
            self.aggregates.measures,
            self.aggregates.quantiles,
            self.aggregates.figures,
            self.units,
            self.sets,
        )

    def _find(self, node: exp.Expr) -> Noisy | None:
        text = self.rows.columns.text(node)
        if text in self.key_texts:
            key = self.key_texts[text]
            return Noisy(self._column(key), self.keys[key].kind)
        if isinstance(node, exp.Grouping):
            return Noisy(self._column(f"{self._grouped_by(node)}{TOTAL}"))
        if is_aggregate(node) and text not in self._found:
            self._found[text] = self._figure(node)
        return self._found.get(text) if is_aggregate(node) else None

    def _figure(self, node: exp.Expr) -> Noisy:
        figure = self.aggregates.figure(node)
        if self.sets:
            self._require_additive(node, self.aggregates.figures[figure])
        measures = list(self.aggregates.measures.values())
        for measure in measures[self._counted :]:  # as they come: the whole is made of all
            for computed in {one.sql(): one for one in sql.attempts(measure.sql)}.values():
                self._size.add(computed)
        self._counted = len(measures)
        made = self.aggregates.figures[figure]
        bars = (Bar(figure, made_of=made.made_of, foreseen=not isinstance(made, Curved)),) if made.barred else ()
        error = None if isinstance(made, MostFrequent) else self._column(f"{figure}{ERROR}")
        return Noisy(self._column(figure), None, error, bars)

    def _grouped_by(self, node: exp.Grouping) -> str:
        keys = [self.key_texts.get(self.rows.columns.text(one)) for one in node.expressions]
        if not self.sets or len(keys) != 1 or keys[0] is None:
            raise BadQuery(f"{node.sql()}: GROUPING takes one of the columns of ROLLUP, CUBE or GROUPING SETS.")
        return keys[0]

    def _require_additive(self, node: exp.Expr, figure: Figure) -> None:
        """An error unless the figure of a total can be made of what is measured in its groups."""
        measures = [self.aggregates.measures[name] for name in figure.made_of if name in self.aggregates.measures]
        if isinstance(figure, Chosen | MostFrequent) or any(measure.sql.find(exp.Distinct) for measure in measures):
            raise BadQuery(
                f"{node.sql()} of a total cannot be made of those of its groups, as ROLLUP, CUBE and GROUPING SETS do.",
                hint="Ask for each grouping, with UNION ALL between them: SELECT a, b, … GROUP BY a, b UNION ALL "
                "SELECT a, NULL, … GROUP BY a.",
            )

    def _missing(self, node: exp.Column) -> None:
        self.rows.columns.find(node)
        raise BadQuery(f"{node.sql()} must be in GROUP BY, or inside COUNT, SUM, AVG and the like.")

    def _column(self, name: str) -> exp.Column:
        """A column of the noisy table, whatever the answer's columns are called."""
        return exp.column(name, table=self.name, quoted=True)


def _places(leaf: _Leaf) -> list[list[int]]:
    return [[list(leaf.keys).index(name) for name in kept] for kept in leaf.sets]


def _sources(select: exp.Select) -> list[exp.Expr]:
    """What FROM and its joins name."""
    source = select.args.get("from_")
    joins = select.args.get("joins") or ()
    return [] if source is None else [source.this, *(join.this for join in joins)]


def _aggregates(select: exp.Select) -> bool:
    """Whether a SELECT makes groups."""
    clauses = (select.args.get(key) for key in ("group", "having"))
    return any(clauses) or any(map(is_aggregated, select.expressions))


def _grouped_by_all(select: exp.Select) -> exp.Select:
    """SELECT DISTINCT a, b as SELECT a, b GROUP BY a, b; without DISTINCT it asks for rows."""
    if not select.args.get("distinct"):
        if any(isinstance(one.unalias(), exp.Star) for one in select.expressions):
            raise BadQuery("SELECT * asks for rows; a question must ask for aggregates.")
        raise BadQuery(
            "A question must ask for aggregates, not rows.",
            hint="Use COUNT, SUM, AVG, MEDIAN and the like, with GROUP BY for several groups; windows work on the "
            "groups of an answer, such as SUM(COUNT(*)) OVER ().",
        )
    if any(select.args["distinct"].args.values()):
        raise BadQuery("DISTINCT ON is not supported.", hint="Use DISTINCT or GROUP BY.")
    grouped = select.copy()
    grouped.set("distinct", None)
    grouped.set("group", exp.Group(expressions=[one.unalias().copy() for one in select.expressions]))
    return grouped


def _require_name_only(node: exp.Expr) -> None:
    alias = node.args.get("alias")
    if (isinstance(alias, exp.TableAlias) and alias.columns) or any(
        value for key, value in node.args.items() if key not in ("this", "alias", "materialized")
    ):
        raise BadQuery("FROM takes an answer as it is, without sampling, pivoting or new names for its columns.")
