"""What a SELECT makes of noisy figures: expressions, windows, HAVING, QUALIFY, ORDER BY, LIMIT.

Why this is private: all of it is post-processing. Every query here is made of the nodes listed here, and reads nothing
but tables of noisy figures and the keys of groups that are shown: no other table can be named. It is charged with the
measures the figures are made of, whatever is made of them.

Nothing may fail once a question is charged. An expression is tried (``attempt``), and NULL where it fails. Engines try
no aggregate and no window, so each of them is computed on its own, from arguments that were tried, by functions that
have a result for all numbers; what is made of it is tried in a SELECT around. Numbers with decimals are doubles here:
engines may have no type in which two decimals can stand in one column. Texts are never made longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.errors import BadQuery
from discreet.verbs.ask.postprocess import ERROR, attempt
from discreet.verbs.ask.result_columns import (
    WHOLE_CASTS,
    AnswerColumn,
    Answers,
    Find,
    Noisy,
    constant,
    renamed,
    with_error,
)
from discreet.verbs.ask.rows import position
from discreet.verbs.ask.syntax import Size, clause_name
from discreet.verbs.ask.value import said

_MOST_ROWS = 10**9
_LONGEST_FRAME = 10**6
_WINDOWS = "discreet_windows"
_CASTS = (*WHOLE_CASTS, "float", "double", "decimal", "text", "varchar", "boolean")
_EXPRESSIONS = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Literal, exp.Column, exp.Identifier, exp.EQ, exp.NEQ,
    exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Not, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Null,
    exp.Round, exp.Abs, exp.Floor, exp.Ceil, exp.Sqrt, exp.Ln, exp.Least, exp.Greatest, exp.Boolean, exp.Is, exp.In,
    exp.Between, exp.Ordered, exp.Cast, exp.DataType, exp.DataTypeParam, exp.Pow, exp.Exp, exp.Pi, exp.Mod, exp.IntDiv,
    exp.Sign,
)  # fmt: skip
AGGREGATES = (
    exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Median, exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance,
    exp.VariancePop,
)  # fmt: skip
_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist)
_NEIGHBOURS = (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)
_CLAUSES = {
    "expressions", "from_", "joins", "where", "group", "having", "qualify", "order", "limit", "offset", "distinct",
    "kind", "hint", "with_",
}  # fmt: skip
Names = Mapping[str, exp.Expr]


@dataclass
class ResultSelect:
    """One SELECT over noisy figures: the part of a question after GROUP BY, or a SELECT around others."""

    select: exp.Select
    source: exp.Select
    """Where the figures come from: a query without columns."""
    find: Find
    """The column that an expression is."""
    missing: Callable[[exp.Column], None]
    """Says what is wrong with a column that is not there."""
    columns: list[AnswerColumn] = field(default_factory=list)
    _windows: dict[str, exp.Expr] = field(default_factory=dict)

    def made(self, shown: Sequence[tuple[str, exp.Expr]], *, inside: bool) -> Answers:
        """The answer of the SELECT with these columns; inside another SELECT they are called by their places."""
        for name, node in shown:
            column = AnswerColumn(name, self._noisy(node))
            self._require_new(column)
            self.columns.append(column)
        named = {one.name.lower(): one.noisy.sql for one in self.columns}
        query = self._having(named)
        qualify = self.select.args.get("qualify")
        kept = None if qualify is None else self.condition(qualify.this, named)
        order = list(self._order(named))
        above = [
            *(one.noisy.sql for one in self.columns),
            *(one.noisy.error for one in self.columns if one.noisy.error is not None),
            *(one for one in (kept,) if one is not None),
            *(one.this for one in order),
        ]
        if self.has_windows:
            query, above = self._around(query, above)
        turn = iter(attempt(one) for one in above)
        called = [f"a{place}" if inside else one.name for place, one in enumerate(self.columns)]
        values = [sql.named(next(turn), name) for name in called]
        errors = [
            sql.named(next(turn), f"{name}{ERROR}")
            for name, one in zip(called, self.columns, strict=True)
            if one.noisy.error is not None
        ]
        query = query.select(*values, *errors, copy=False)
        if kept is not None:
            query = query.where(next(turn), copy=False)
        for one in order:
            one.set("this", next(turn))
            query = query.order_by(one, copy=False)
        if self.select.args.get("distinct"):
            query = query.distinct(copy=False)
        query = _limited(query, self.select)
        Size().add(query)
        return Answers(query, tuple(map(renamed, self.columns, called)))

    @property
    def has_windows(self) -> bool:
        """Whether a window was asked for so far."""
        return bool(self._windows)

    def _noisy(self, node: exp.Expr) -> Noisy:
        found = self.find(node)
        if found is not None:
            return found
        return with_error(node, self.find, self.computed)

    def _require_new(self, column: AnswerColumn) -> None:
        taken = {name.lower() for one in self.columns for name in _names(one)}
        for name in _names(column):
            if name.lower() in taken:
                raise BadQuery(f"Two columns of the answer have the name {name!r}.", hint="Name them with AS.")

    # -- expressions

    def computed(self, node: exp.Expr, named: Names | None = None) -> exp.Expr:
        """An expression over columns of the source, aggregates, windows and columns of the answer."""
        found = self.find(node)
        if found is not None:
            return found.sql.copy()
        if isinstance(node, exp.Column):
            if named and not node.table and node.name.lower() in named:
                return named[node.name.lower()].copy()
            self.missing(node)
        if isinstance(node, exp.Window):
            return self._window(node, named)
        if isinstance(node, exp.Literal) and not node.is_string and not _fits(node.name):
            return exp.cast(node.copy(), exp.DType.DOUBLE)
        if not isinstance(node, _EXPRESSIONS):
            raise BadQuery(
                f"{said(node)} cannot be computed from the answer's figures.",
                hint="Arithmetic, comparisons, CASE, COALESCE, ROUND, SQRT, LN and windows can.",
            )
        if isinstance(node, exp.Cast) and not node.to.is_type(*_CASTS):
            raise BadQuery(
                f"{node.sql()} cannot be computed from the answer's figures.", hint="Only CAST to DOUBLE is supported."
            )
        copy = node.copy()
        for child in list(copy.iter_expressions()):
            if not isinstance(child, exp.DataType | exp.Identifier):
                child.replace(self.part(child, named))
        return _as_double(copy) if isinstance(copy, exp.Cast) and copy.to.is_type("decimal") else copy

    def part(self, node: exp.Expr, named: Names | None = None) -> exp.Expr:
        """A part of an expression. Decimals are computed with as doubles: how many digits they have is not known."""
        found = self.find(node)
        part = self.computed(node, named)
        return exp.cast(part, exp.DType.DOUBLE) if found is not None and found.kind is Kind.DECIMAL else part

    def condition(self, node: exp.Expr, named: Names) -> exp.Expr:
        """A condition on figures, keys and columns of the answer."""
        return exp.cast(self.part(node, named), exp.DType.BOOLEAN)

    def row_condition(self, node: exp.Expr, clause: str) -> exp.Expr:
        """A condition on single rows of the source."""
        condition = self.condition(node, {})
        if self.has_windows:
            raise BadQuery(f"{clause} cannot use a window.", hint="Use QUALIFY, or a SELECT around this one.")
        return condition

    def _having(self, named: Names) -> exp.Select:
        """The source, without the groups that HAVING leaves out."""
        having = self.select.args.get("having")
        if having is None:
            return self.source
        before = len(self._windows)
        condition = self.condition(having.this, named)
        if len(self._windows) > before or any(one.table == _WINDOWS for one in condition.find_all(exp.Column)):
            raise BadQuery("HAVING cannot use a window.", hint="Use QUALIFY, or a SELECT around this one.")
        return self.source.where(attempt(condition), copy=False)

    def _order(self, named: Names) -> Iterator[exp.Ordered]:
        order = self.select.args.get("order")
        for one in order.expressions if order is not None else ():
            if isinstance(one.this, exp.Literal) and not one.this.is_string:
                key = self.columns[position(one.this, len(self.columns), "ORDER BY")].noisy.sql.copy()
            elif isinstance(one.this, exp.Column) and not one.this.table and one.this.name.lower() in named:
                key = named[one.this.name.lower()].copy()  # a column of the answer comes before one that it is made of
            else:
                key = self.computed(one.this, named)
            yield exp.Ordered(this=key, desc=one.args.get("desc"), nulls_first=False)

    # -- windows

    def _window(self, node: exp.Window, named: Names | None) -> exp.Expr:
        """A window over the groups of the source: the column that it is computed as."""
        if node.args.get("alias") or any(
            value and key not in ("this", "partition_by", "order", "spec", "over") for key, value in node.args.items()
        ):
            raise BadQuery(f"{said(node)} is not supported.", hint="Write the window out: OVER (ORDER BY …).")
        order = [
            exp.Ordered(
                this=attempt(self.part(one.this, named)),
                desc=one.args.get("desc"),
                nulls_first=one.args["nulls_first"],
            )
            for one in (node.args["order"].expressions if node.args.get("order") else ())
        ]
        made = exp.Window(
            this=self._window_function(node.this, named),
            partition_by=[attempt(self.part(one, named)) for one in node.args.get("partition_by") or ()],
            order=exp.Order(expressions=order) if order else None,
            spec=_frame(node.args.get("spec")),
            over="OVER",
        )
        if any(one.table == _WINDOWS for one in made.find_all(exp.Column)):
            raise BadQuery(
                f"{said(node)}: a window cannot use another.", hint="Put the inner one into a SELECT in FROM."
            )
        name = next((name for name, one in self._windows.items() if one == made), f"w{len(self._windows)}")
        self._windows[name] = made
        column = exp.column(name, table=_WINDOWS, quoted=True)
        return exp.cast(column, exp.DType.DOUBLE) if isinstance(node.this, exp.Sum) else column

    def _window_function(self, function: exp.Expr, named: Names | None) -> exp.Expr:
        if isinstance(function, _RANKS) and not any(function.args.values()):
            return function.copy()
        if isinstance(function, exp.Ntile) and _whole(function.this, least=1) is not None:
            return function.copy()
        if isinstance(function, exp.Count) and isinstance(function.this, exp.Star):
            return exp.Count(this=exp.Star(), big_int=True)
        kept = {key: value for key, value in function.args.items() if value and key not in ("this", "big_int")}
        if isinstance(function, _NEIGHBOURS):
            if kept.keys() <= {"offset", "default"} and all(
                _whole(one) is not None if key == "offset" else constant(one) is not None for key, one in kept.items()
            ):
                shown = {key: self.part(one) for key, one in kept.items()}
                return type(function)(this=attempt(self.part(function.this, named)), **shown)
        elif isinstance(function, AGGREGATES) and not kept and not isinstance(function.this, exp.Distinct):
            return type(function)(this=attempt(self.part(function.this, named)))
        raise BadQuery(
            f"{said(function)} OVER (…) is not supported.",
            hint="Over the groups of an answer: SUM, AVG, MIN, MAX, COUNT, RANK, DENSE_RANK, ROW_NUMBER, PERCENT_RANK, "
            "CUME_DIST, NTILE(4), LAG, LEAD, FIRST_VALUE and LAST_VALUE.",
        )

    def _around(self, query: exp.Select, above: list[exp.Expr]) -> tuple[exp.Select, list[exp.Expr]]:
        """A SELECT around that of the windows, and what is computed in it: over columns of the inner one."""
        used: dict[str, exp.Expr] = {}
        trees = exp.Tuple(expressions=[one.copy() for one in above])
        for column in list(trees.find_all(exp.Column)):
            name = column.name
            if column.table != _WINDOWS:
                name = next((known for known, one in used.items() if one == column), f"b{len(used)}")
                used.setdefault(name, column.copy())
            column.replace(exp.column(name, table=_WINDOWS, quoted=True))
        inner = query.select(*(sql.named(one, name) for name, one in (used | self._windows).items()), copy=False)
        outer = exp.select(copy=False).from_(inner.subquery(_WINDOWS, copy=False), copy=False)
        return outer, trees.expressions


def _frame(spec: exp.WindowSpec | None) -> exp.WindowSpec | None:
    if spec is None:
        return None
    ends = [(spec.args.get("start"), spec.args.get("start_side")), (spec.args.get("end"), spec.args.get("end_side"))]
    known = all(
        end in (None, "UNBOUNDED", "CURRENT ROW")
        or (spec.args.get("kind") == "ROWS" and isinstance(end, exp.Expr) and _whole(end) is not None)
        for end, _ in ends
    )
    if not known or spec.args.get("exclude"):
        raise BadQuery(
            "This frame of a window is not supported.", hint="Such as ROWS BETWEEN 6 PRECEDING AND CURRENT ROW."
        )
    return spec.copy()


def _whole(node: exp.Expr, least: int = 0) -> int | None:
    """A whole number that is written out, if it is not too large."""
    known = constant(node)
    return int(known) if known is not None and known.denominator == 1 and least <= known <= _LONGEST_FRAME else None


def _fits(digits: str) -> bool:
    """Whether a number is a whole one of 64 bits: engines fail on sums of wider ones that become too large."""
    return digits.isdecimal() and len(digits) < 19


def _names(column: AnswerColumn) -> list[str]:
    return [column.name] if column.noisy.error is None else [column.name, f"{column.name}{ERROR}"]


def _as_double(cast: exp.Cast) -> exp.Expr:
    """A cast to DECIMAL(p, s): a double, rounded to s digits if they are given."""
    double = exp.cast(cast.this, exp.DType.DOUBLE)
    digits = cast.to.expressions[1:2] or [exp.Literal.number(0)]
    known = constant(digits[0].this if isinstance(digits[0], exp.DataTypeParam) else digits[0])
    if not cast.to.expressions or known is None:
        return double
    return exp.Round(this=double, decimals=sql.literal(int(known)))


def _limited(query: exp.Select, clauses: exp.Query) -> exp.Select:
    offset = clauses.args.get("offset")
    if offset is not None:
        skipped = offset.expression
        if not (isinstance(skipped, exp.Literal) and skipped.name.isdecimal() and int(skipped.name) <= _MOST_ROWS):
            raise BadQuery(f"OFFSET must be a number up to {_MOST_ROWS:,}.")
        query = query.offset(int(skipped.name), copy=False)
    limit = clauses.args.get("limit")
    if limit is None:
        return query
    wanted = limit.expression if isinstance(limit, exp.Limit) else limit.args.get("count")
    options = limit.args.get("limit_options")
    plain = options is None or not any(options.args.get(key) for key in ("percent", "with_ties"))
    if not (plain and isinstance(wanted, exp.Literal) and wanted.name.isdigit() and int(wanted.name) <= _MOST_ROWS):
        raise BadQuery(f"LIMIT must be a number up to {_MOST_ROWS:,}.")
    return query.limit(int(wanted.name), copy=False)


def is_aggregated(node: exp.Expr) -> bool:
    """Whether an expression has an aggregate that is not the function of a window."""
    return any(not isinstance(one.parent, exp.Window) or one.arg_key != "this" for one in node.find_all(exp.AggFunc))


def require_clauses(select: exp.Select) -> None:
    """An error if a SELECT of figures has a clause that none can have."""
    extra = [key for key, value in select.args.items() if value and key not in _CLAUSES]
    if extra:
        raise BadQuery(
            f"{clause_name(extra[0])} is not supported.", hint="Use WHERE, GROUP BY, HAVING, ORDER BY and LIMIT."
        )
