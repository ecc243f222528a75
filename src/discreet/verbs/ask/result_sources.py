"""SELECTs around answers: nested ones, unions, joins of answers on their keys, and GROUP BY over figures.

Why this is private: it is post-processing, as ``results.py`` says. A join is on all keys of one side, or with an answer
of one row, so that no answer has more rows than those it is made of together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.errors import BadQuery
from discreet.verbs.ask.postprocess import ERROR, attempt
from discreet.verbs.ask.result_columns import AnswerColumn, Answers, Noisy, join_singles, single
from discreet.verbs.ask.results import AGGREGATES, ResultSelect, is_aggregated, require_clauses
from discreet.verbs.ask.rows import position
from discreet.verbs.ask.syntax import answer_name
from discreet.verbs.ask.value import said

_GROUPED = "discreet_grouped"
_UNION_CLAUSES = {"this", "expression", "distinct", "order", "limit", "offset", "with_"}
_JOIN_CLAUSES = {"this", "on", "using", "side", "kind"}
_JOINS = {"": "", "INNER": "inner", "LEFT": "left", "RIGHT": "right", "FULL": "full"}


def outer_select(
    select: exp.Select,
    sources: Sequence[tuple[str, Answers, exp.Join | None]],
    singles: Sequence[Answers] = (),
    *,
    inside: bool,
) -> Answers:
    """The answer of a SELECT whose FROM has answers only, the first without a join, and of figures beside it."""
    require_clauses(select)
    scope = _Scope(singles=singles)
    for place, (name, answers, join) in enumerate(sources):
        scope.add(name, answers, join, f"s{place}")
    source = join_singles(scope.query, singles)
    where = select.args.get("where")
    if where is not None:
        plain = ResultSelect(select, source, scope.find, scope.missing)
        source = source.where(attempt(plain.row_condition(where.this, "WHERE")), copy=False)
    shown = list(scope.shown(select))
    if not any(select.args.get(key) for key in ("group", "having")) and not any(is_aggregated(one) for _, one in shown):
        made = ResultSelect(select, source, scope.find, scope.missing).made(shown, inside=inside)
        asked = [(scope.found(node), one.noisy.sql.name) for (_, node), one in zip(shown, made.columns, strict=True)]
        keys = {found.sql: name for found, name in asked if found is not None}
        unique = {frozenset(keys[one] for one in key) for key in scope.unique if key <= keys.keys()}
        return replace(made, unique=frozenset(unique))
    groups = _Groups(select, scope, dict(shown))
    made_of = ResultSelect(select, exp.select(copy=False), groups.find, groups.missing)
    made_of.source.from_(sql.table(_GROUPED), copy=False)  # what is in it is known once all of it was asked for
    made = made_of.made(shown, inside=inside)
    groups.put_into(made.query, source)
    names = {groups.text(node): one.noisy.sql.name for (_, node), one in zip(shown, made.columns, strict=True)}
    whole = frozenset(names[key] for key in groups.keys if key in names)
    return replace(made, unique=frozenset({whole}) if len(whole) == len(groups.keys) else frozenset())


def united(one: Answers, other: Answers, union: exp.Union, *, inside: bool) -> Answers:
    """The rows of two answers, under the names of the first."""
    if len(one.columns) != len(other.columns):
        raise BadQuery("The SELECTs of UNION have different numbers of columns.")
    extra = [key for key, value in union.args.items() if value and key not in _UNION_CLAUSES]
    if extra:
        raise BadQuery(f"{extra[0].rstrip('_').upper()} is not supported with UNION.", hint="Use UNION ALL or UNION.")
    parts: list[list[exp.Expr]] = [[], []]
    columns = []
    for place, (a, b) in enumerate(zip(one.columns, other.columns, strict=True)):
        barred = a.noisy.error is not None or b.noisy.error is not None
        kind = a.noisy.kind if a.noisy.kind is b.noisy.kind is not Kind.DECIMAL else None
        error = sql.column(f"u{place}{ERROR}") if barred else None
        noisy = Noisy(sql.column(f"u{place}"), kind, error, (*a.noisy.bars, *b.noisy.bars))
        columns.append(AnswerColumn(a.name, noisy))
        for part, side in zip(parts, (a, b), strict=True):
            value = side.noisy.sql.copy()
            if side.noisy.kind is Kind.DECIMAL:  # two decimals may have no common type that holds both
                value = exp.cast(value, exp.DType.DOUBLE)
            part.append(sql.named(value, f"u{place}"))
            if barred:
                bar = side.noisy.error or exp.cast(exp.null(), exp.DType.DOUBLE)
                part.append(sql.named(bar.copy(), f"u{place}{ERROR}"))
    sides = [
        exp.select(*part, copy=False).from_(side.query.subquery("s", copy=True), copy=False)
        for part, side in zip(parts, (one, other), strict=True)
    ]
    both = exp.union(*sides, distinct=bool(union.args.get("distinct")), copy=False)
    answers = Answers(both, tuple(columns))
    around = exp.Select(expressions=[sql.column(column.name) for column in columns])
    for clause in ("order", "limit", "offset"):
        around.set(clause, union.args.get(clause))
    return outer_select(around, [("discreet_union", answers, None)], inside=inside)


@dataclass
class _Scope:
    """The answers in a FROM clause."""

    columns: list[tuple[str, AnswerColumn, bool]] = field(default_factory=list)
    """The name of its table, a column, and whether it needs that name."""
    unique: frozenset[frozenset[exp.Expr]] = frozenset()
    query: exp.Select = field(default_factory=lambda: exp.select(copy=False))
    singles: Sequence[Answers] = ()

    def add(self, name: str, answers: Answers, join: exp.Join | None, inside: str) -> None:
        """One more answer."""
        if name and name.lower() in {table.lower() for table, _, _ in self.columns}:
            raise BadQuery(f"Two tables have the name {name!r}.", hint="Rename one with AS.")
        added = [(name, column, False) for column in answers.called(inside)]
        unique = frozenset(
            frozenset(exp.column(one, table=inside, quoted=True) for one in key) for key in answers.unique
        )
        table = answers.query.subquery(inside, copy=True)
        if join is None:
            self.columns, self.unique = added, unique
            self.query = self.query.from_(table, copy=False)
        else:
            self._join(table, added, unique, join)

    def _join(
        self,
        table: exp.Subquery,
        added: list[tuple[str, AnswerColumn, bool]],
        unique: frozenset[frozenset[exp.Expr]],
        join: exp.Join,
    ) -> None:
        side, kind = (str(join.args.get(key) or "").upper() for key in ("side", "kind"))
        extra = [key for key, value in join.args.items() if value and key not in _JOIN_CLAUSES]
        if extra or side not in _JOINS or kind not in ("", "INNER", "OUTER", "CROSS"):
            raise BadQuery("This kind of join is not supported.", hint="Use JOIN, LEFT JOIN or FULL JOIN of answers.")
        using = [one.name for one in join.args.get("using") or ()]
        right, both = _Scope(added, unique), _Scope([*self.columns, *added])
        pairs = [(self._only(name), right._only(name)) for name in using]
        rest: list[exp.Expr] = []
        on = join.args.get("on")
        for condition in () if on is None else sql.conjuncts(on):
            pair = self._equal(condition, both)
            if pair is not None:
                pairs.append(pair)
            else:
                plain = ResultSelect(exp.Select(), self.query, both.find, both.missing)
                rest.append(attempt(plain.row_condition(condition, "ON")))
        if any(a.kind is None or a.kind is not b.kind for a, b in pairs):
            raise BadQuery(
                "Answers can be joined on the columns they are grouped by, of one type.",
                hint="ON a.ward = b.ward, where both are GROUP BY ward.",
            )
        mine, theirs = ({pair[which].sql for pair in pairs} for which in (0, 1))
        one_right, one_left = any(key <= theirs for key in unique), any(key <= mine for key in self.unique)
        if not one_right and not one_left:
            raise BadQuery(
                "A join of answers must be on all the columns that one of them is grouped by.",
                hint="ON a.ward = b.ward AND a.sex = b.sex; CROSS JOIN works with an answer of one row.",
            )
        if side and not pairs and not rest:
            raise BadQuery(f"A {side} JOIN needs ON a.x = b.x, or USING (x).")
        on = [exp.EQ(this=a.sql.copy(), expression=b.sql.copy()) for a, b in pairs] + rest
        how = _JOINS[side] if on else "cross"
        self.query = self.query.join(table, on=exp.and_(*on) if on else None, join_type=how, copy=False)
        kept: frozenset[frozenset[exp.Expr]] = frozenset()
        if one_right and side in ("", "LEFT"):  # each row of the left side is there once, at the most
            kept |= self.unique
        if one_left and side in ("", "RIGHT"):
            kept |= unique
        self.unique = kept
        merged = {name.lower() for name in using}
        self.columns = [(name, self._merged(column, pairs, side), hidden) for name, column, hidden in self.columns]
        self.columns += [(name, column, hidden or column.name.lower() in merged) for name, column, hidden in added]

    def _equal(self, condition: exp.Expr, both: _Scope) -> tuple[Noisy, Noisy] | None:
        """The two columns that a condition holds equal, ours first, if it is that."""
        if not isinstance(condition, exp.EQ):
            return None
        one, other = both.found(condition.this), both.found(condition.expression)
        ours = [any(side is column.noisy for _, column, _ in self.columns) for side in (one, other)]
        if one is None or other is None or ours[0] == ours[1]:
            return None
        return (one, other) if ours[0] else (other, one)

    def _merged(self, column: AnswerColumn, pairs: Sequence[tuple[Noisy, Noisy]], side: str) -> AnswerColumn:
        """A column of USING: of an outer join it is that of the side which has the row."""
        other = next((b for a, b in pairs if a is column.noisy), None)
        if other is None or side not in ("RIGHT", "FULL"):
            return column
        either = exp.Coalesce(this=column.noisy.sql.copy(), expressions=[other.sql.copy()])
        return replace(column, noisy=replace(column.noisy, sql=either))

    def _only(self, name: str) -> Noisy:
        found = self.found(exp.column(name))
        if found is None:
            self.missing(exp.column(name))
        assert found is not None  # noqa: S101  # ``missing`` raises
        return found

    def found(self, node: exp.Expr) -> Noisy | None:
        """The column that a name stands for."""
        plain = node.unalias()
        if not isinstance(plain, exp.Column) or isinstance(plain.this, exp.Star):
            return None
        if (figure := single(plain, self.singles)) is not None:
            return figure
        hits = [
            column.noisy
            for table, column, hidden in self.columns
            if column.name.lower() == plain.name.lower()
            and (table.lower() == plain.table.lower() if plain.table else not hidden)
        ]
        if len(hits) > 1:
            raise BadQuery(f"{plain.sql()} is in several answers.", hint="Say which: answer.column.")
        return hits[0] if hits else None

    find = found

    def missing(self, node: exp.Column) -> None:
        there = ", ".join(column.name for _, column, _ in self.columns)
        raise BadQuery(f"There is no column {node.sql()} in the answer.", hint=f"There are: {there}.")

    def shown(self, select: exp.Select) -> Iterator[tuple[str, exp.Expr]]:
        """The columns that a SELECT asks for."""
        for place, node in enumerate(select.expressions):
            star = node.this if isinstance(node, exp.Column) else node
            if not isinstance(star, exp.Star):
                yield answer_name(node, place), node.unalias()
                continue
            if any(star.args.values()):
                raise BadQuery(f"{node.sql()} is not supported.", hint="Name the columns.")
            table = node.table.lower() if isinstance(node, exp.Column) else ""
            for name, column, hidden in self.columns:
                if (name.lower() == table) if table else not hidden:
                    yield column.name, exp.column(column.name, table=name or None, quoted=True)


class _Groups:
    """GROUP BY over answers: its keys, and the aggregates that are asked for."""

    def __init__(self, select: exp.Select, scope: _Scope, shown: Mapping[str, exp.Expr]) -> None:
        self._scope = scope
        self._inner = ResultSelect(select, scope.query, scope.find, scope.missing)
        self._aggregates: dict[str, exp.Expr] = {}
        self.keys: dict[str, exp.Expr] = {}
        """By their texts."""
        self._kinds: dict[str, Kind | None] = {}
        group = select.args.get("group")
        listed = list(group.expressions) if group is not None else []
        if group is not None and any(value for key, value in group.args.items() if key not in ("expressions", "all")):
            raise BadQuery(
                "ROLLUP, CUBE and GROUPING SETS group rows, not answers.", hint="Use them in the inner SELECT."
            )
        if group is not None and group.args.get("all"):
            listed = [one for one in shown.values() if not is_aggregated(one)]
        for given in listed:
            node = given
            if isinstance(given, exp.Literal) and not given.is_string:
                node = list(shown.values())[position(given, len(shown), "GROUP BY")]
            elif isinstance(given, exp.Column) and not given.table and scope.found(given) is None:
                node = next((one for name, one in shown.items() if name.lower() == given.name.lower()), given)
            found = scope.found(node)
            self._kinds[self.text(node)] = None if found is None else found.kind
            self.keys[self.text(node)] = attempt(self._inner.computed(node))
        if self._inner.has_windows:
            raise BadQuery("GROUP BY cannot use a window.", hint="Put the window into a SELECT in FROM.")

    def text(self, node: exp.Expr) -> str:
        """An expression with all its columns resolved: equal for equal ones."""
        holder = exp.Tuple(expressions=[node.copy()])
        for column in list(holder.find_all(exp.Column)):
            found = self._scope.found(column)
            if found is not None:
                column.replace(found.sql.copy())
        return holder.sql()

    def find(self, node: exp.Expr) -> Noisy | None:
        """The column of a key, or of an aggregate."""
        text = self.text(node)
        if text in self.keys:
            name = f"g{list(self.keys).index(text)}"
            return Noisy(exp.column(name, table=_GROUPED, quoted=True), self._kinds[text])
        inner = node.this if isinstance(node, exp.Filter) else node
        if not isinstance(inner, exp.AggFunc):
            return None
        made = self._aggregate(node, inner)
        name = next((name for name, one in self._aggregates.items() if one == made), f"x{len(self._aggregates)}")
        self._aggregates[name] = made
        return Noisy(exp.column(name, table=_GROUPED, quoted=True))

    def _aggregate(self, node: exp.Expr, inner: exp.AggFunc) -> exp.Expr:
        extra = [key for key, value in inner.args.items() if value and key not in ("this", "big_int")]
        if not isinstance(inner, AGGREGATES) or extra:
            raise BadQuery(
                f"{said(inner)} of an answer's figures is not supported.",
                hint="Use COUNT, SUM, AVG, MIN, MAX, MEDIAN, STDDEV or VARIANCE.",
            )
        made: exp.Expr
        if isinstance(inner.this, exp.Star):
            made = exp.Count(this=exp.Star(), big_int=True)
        elif isinstance(inner.this, exp.Distinct):
            if not isinstance(inner, exp.Count) or len(inner.this.expressions) != 1:
                raise BadQuery(f"{said(inner)} is not supported.")
            made = exp.Count(this=exp.Distinct(expressions=[self._argument(inner.this.expressions[0])]))
        else:
            made = type(inner)(this=self._argument(inner.this))
        if isinstance(node, exp.Filter):
            condition = attempt(self._inner.condition(node.expression.this, {}))
            made = exp.Filter(this=made, expression=exp.Where(this=condition))
        if self._inner.has_windows:
            raise BadQuery(f"{said(inner)} cannot use a window.", hint="Put the window into a SELECT in FROM.")
        return exp.cast(made, exp.DType.DOUBLE) if isinstance(inner, exp.Sum) else made

    def _argument(self, node: exp.Expr) -> exp.Expr:
        return attempt(self._inner.part(node))

    def missing(self, node: exp.Column) -> None:
        if self._scope.found(node) is None:
            self._scope.missing(node)
        raise BadQuery(f"{node.sql()} must be in GROUP BY, or inside COUNT, SUM, AVG and the like.")

    def put_into(self, query: exp.Query, source: exp.Select) -> None:
        """Replace the table of groups by the query that makes it."""
        keys = [sql.named(one, f"g{place}") for place, one in enumerate(self.keys.values())]
        grouped = source.select(*keys, *(sql.named(one, name) for name, one in self._aggregates.items()), copy=False)
        if not self._aggregates:
            grouped = grouped.select(sql.named(sql.count_rows(), "rows"), copy=False)
        grouped = grouped.group_by(*(exp.Literal.number(place + 1) for place in range(len(keys))), copy=False)
        for table in list(query.find_all(exp.Table)):
            if table.name == _GROUPED:
                table.replace(grouped.subquery(_GROUPED, copy=False))
