"""Row-level values of a query, their columns, and the reader that builds them from SQL expressions.

A value is the SQL for it and what is known of it without looking. Columns are found as SQL finds them: whatever their
case, with or without their table's name. A name that could be two columns is an error: the bounds of one must never be
believed of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any, TypeAlias

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import NUMBERS, Kind, Scalar
from discreet.errors import BadQuery, NotDeclared

Interval: TypeAlias = tuple[Fraction, Fraction]
LONGEST_TEXT = 10_000
"""Largest length of a computed text, characters."""
WEIGHT = "weight"
"""Key in sqlglot's metadata of an expression for its number of nodes after substitution."""
CHARACTERS = "characters"
"""Key in sqlglot's metadata of a text expression for its maximum length, characters."""
SEARCH = "search"
"""Key in sqlglot's metadata of a search in a text for the comparisons of two characters that it may take."""
SPELLED = "spelled"
"""Key in sqlglot's metadata of a column for what it stands for, as it was asked."""
Rule: TypeAlias = "Callable[[Reader, Any], Value]"
SAFE = Fraction(2**53)
"""Largest absolute value of a number: integers up to it are exact as doubles."""
TINY = Fraction(1, 2**200)
"""Smallest absolute bound of a factor in a product."""
MANY = 10_000
"""Largest number of values in a list, and of buckets."""
_LARGEST_TREE = 5_000
"""Largest number of nodes of an expression."""
_MOST_MADE = 100_000
"""Nodes that may be made for the expressions of a question, those of a part each time it is put into another."""
_made: ContextVar[list[int] | None] = ContextVar("discreet_nodes_made", default=None)
_READ = {
    *("this", "expression", "expressions", "table", "is_string", "to", "low", "high", "query", "unnest", "field"),
    *("negate", "ifs", "true", "false", "default", "decimals", "start", "length", "substr", "unit"),
    *("min_value", "max_value", "num_buckets", "safe", "typed", "ignore_nulls", "coalesce", "date_part_boundary"),
    *("delimiter", "part_index", "flag", "format"),
}
"""Fields of sqlglot nodes that the rules read or may ignore; any other field is unsupported."""


@dataclass(frozen=True)
class Value:
    """An expression that cannot fail on any row, with its kind and its bounds or categories."""

    sql: exp.Expr
    kind: Kind
    within: Interval | None = None
    """Smallest and largest possible value (for dates: of ``date.toordinal``); ``None`` if not known."""
    domain: tuple[Scalar, ...] | None = None
    """All possible values, as declared; ``None`` if not known."""
    name: str = ""
    """Name of the column, if it is a bare column: for messages."""
    required: bool = False
    """Whether it is never NULL."""
    longest: int | None = None
    """Maximum length of a text, characters; ``None``: that of its domain, or not known."""
    weight: int = 1
    """Number of nodes of its tree after substituting computed columns, as an engine may do."""

    @property
    def number(self) -> bool:
        """Whether it is numeric."""
        return self.kind in NUMBERS

    @property
    def characters(self) -> int:
        """Maximum length of a text, characters; the global maximum if its length is not known."""
        if self.kind is not Kind.TEXT:
            return 0
        if self.longest is not None:
            return self.longest
        return max((len(str(one)) for one in self.domain), default=0) if self.domain is not None else LONGEST_TEXT

    @property
    def as_double(self) -> exp.Expr:
        """The expression as a double."""
        return self.sql.copy() if self.kind is Kind.REAL else exp.cast(self.sql.copy(), exp.DType.DOUBLE, copy=False)

    @property
    def is_double_column(self) -> bool:
        """Whether it is a column of doubles, whose bounds hold without rounding."""
        return bool(self.name) and self.kind is Kind.REAL

    @property
    def snapped(self) -> exp.Expr:
        """The expression as a double rounded to a multiple of about 2**-52 of its largest absolute value.

        So it is zero or large enough for a product not to underflow. Adding 3 · 2**e and taking it off again, with
        e such that only that many digits are left for the rest, is rounding without a product.
        """
        far = largest(self.within) if self.within else Fraction(0)
        if self.kind is not Kind.REAL or not far:
            return self.as_double
        away = sql.literal(float(3 * Fraction(2) ** exponent(far)))
        return exp.paren(exp.paren(exp.paren(self.sql.copy()) + away) - away.copy())


def add(one: Interval, other: Interval) -> Interval:
    """Bounds of a sum."""
    return one[0] + other[0], one[1] + other[1]


def multiply(one: Interval, other: Interval) -> Interval:
    """Bounds of a product."""
    corners = [a * b for a in one for b in other]
    return min(corners), max(corners)


def hull(*intervals: Interval | None) -> Interval | None:
    """Smallest interval that contains all of them; ``None`` if one is not known."""
    known = [interval for interval in intervals if interval is not None]
    if len(known) < len(intervals) or not known:
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def largest(interval: Interval) -> Fraction:
    """Largest absolute value in an interval."""
    return max(abs(interval[0]), abs(interval[1]))


def exponent(far: Fraction) -> int:
    """Exponent e of a power of two that is larger than a number, and at most four times as large."""
    return far.numerator.bit_length() - far.denominator.bit_length() + 1


def cut_to(double: exp.Expr, low: Fraction, high: Fraction) -> exp.Expr:
    """Clamp to bounds, as a double: NULL stays NULL, and NaN becomes the upper bound on every engine."""
    ends = sql.literal(float(low)), sql.literal(float(high))
    below, above = double < ends[0], double > ends[1]
    return exp.case().when(below, ends[0].copy()).when(above, ends[1].copy()).else_(double.copy())


@dataclass(frozen=True)
class Known:
    """A column with its name in the query."""

    name: str
    value: Value
    table: str = ""
    """Alias of its table in the query; empty without one."""
    bare: bool = True
    """Whether its name resolves without a table name; False for the second column merged by USING."""


def name_of(expression: exp.Expr) -> str:
    """Name of a column of a subquery; without an alias, the text of the expression."""
    return expression.alias_or_name if isinstance(expression, exp.Alias | exp.Column) else expression.sql()


class Columns(Mapping[str, Value]):
    """Columns in scope, in order."""

    def __init__(self, known: Iterable[Known]) -> None:
        self.known = tuple(known)

    def find(self, node: exp.Column) -> Value:
        """Resolve a column name; an error if there is none, or more than one."""
        found = self._among(node.name, node.table)
        if len(found) == 1:
            return found[0].value
        if found:
            said = " and ".join(f"{one.table}.{one.name}" if one.table else one.name for one in found)
            raise BadQuery(f"{node.name!r} could be {said}.", hint="Put the table's name before it.")
        if node.table and node.table.casefold() not in self.tables:
            named = ", ".join(dict.fromkeys(one.table for one in self.known if one.table)) or "none that has a name"
            raise BadQuery(f"There is no table {node.table!r} in this FROM.", hint=f"There is: {named}.")
        there = [one.name for one in self.known if not node.table or one.table.casefold() == node.table.casefold()]
        raise BadQuery(
            f"There is no column {node.name!r}.", hint=f"There are: {', '.join(dict.fromkeys(there)) or 'none'}."
        )

    def has(self, node: exp.Column) -> bool:
        """Whether a column has this name."""
        return bool(self._among(node.name, node.table))

    @property
    def tables(self) -> frozenset[str]:
        """Names of the tables, in lower case."""
        return frozenset(one.table.casefold() for one in self.known if one.table)

    def starred(self, table: str = "") -> list[tuple[str, Value]]:
        """Columns of ``*`` or ``table.*``."""
        if table and table.casefold() not in self.tables:
            raise BadQuery(f"There is no table {table!r} in this FROM.")
        chosen = (one for one in self.known if (one.table.casefold() == table.casefold() if table else one.bare))
        return [(one.name, one.value) for one in chosen]

    def called(self, table: str) -> Columns:
        """The same columns under the table alias ``name`` only."""
        return Columns(replace(one, table=table, bare=True) for one in self.known if one.bare)

    def text(self, node: exp.Expr) -> str:
        """Canonical text of an expression, the same for any table alias and letter case."""
        plain = node.copy()
        for column in list(plain.find_all(exp.Column)):
            found = self._among(column.name, column.table)
            meant = found[0].value.sql.copy() if len(found) == 1 else sql.column(f"?{column.sql()}")
            if column is plain:
                plain = meant
            else:
                column.replace(meant)
        return plain.sql(comments=False)

    def _among(self, name: str, table: str) -> list[Known]:
        found = [one for one in self.known if one.name.casefold() == name.casefold()]
        if table:
            return [one for one in found if one.table.casefold() == table.casefold()]
        return [one for one in found if one.bare]

    def __getitem__(self, name: str) -> Value:
        found = self._among(name, "")
        if len(found) != 1:
            raise KeyError(name)
        return found[0].value

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(one.name for one in self.known if one.bare))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Columns) and self.known == other.known

    def __hash__(self) -> int:
        return hash(tuple(self))


class Reader:
    """Reads SQL expressions over rows with these columns."""

    def __init__(self, columns: Columns, rules: Mapping[type[exp.Expr], Rule]) -> None:
        self._columns = columns
        self._rules = rules

    def of(self, node: exp.Expr | None) -> Value:
        """Value of an expression."""
        if node is None:
            raise BadQuery("The question is incomplete.")
        rule = self._rules.get(type(node))
        if rule is None or any(value and key not in _READ for key, value in node.args.items()):
            raise BadQuery(
                f"{said(node)} cannot be used on rows.",
                hint="Arithmetic, comparisons, AND/OR/NOT, CASE, IN, BETWEEN, LIKE, COALESCE, EXTRACT, "
                "DATE_DIFF, DATE_TRUNC and simple text functions are supported.",
            )
        value = rule(self, node)
        _require_few_nodes(node, value.sql)
        return value

    def column(self, node: exp.Column) -> Value:
        """Value of a column reference."""
        return self._columns.find(node)

    def number(self, node: exp.Expr | None) -> Value:
        """Value of a numeric expression."""
        return number(node, self.of(node))

    def text(self, node: exp.Expr | None) -> Value:
        """Value of a text expression."""
        value = self.of(node)
        if node is not None and value.kind is not Kind.TEXT:
            raise BadQuery(f"{said(node)} is {value.kind.value}, not text.")
        return value

    def truth(self, node: exp.Expr) -> exp.Expr:
        """Value of a condition, in parentheses."""
        value = self.of(node)
        if value.kind is not Kind.BOOLEAN:
            raise BadQuery(f"{said(node)} is {value.kind.value}, not a condition.")
        return exp.paren(value.sql.copy(), copy=False)


@contextmanager
def counting_nodes() -> Iterator[None]:
    """Plan a question within a block: all nodes that are made there for its expressions together are bounded."""
    token = _made.set([0])
    try:
        yield
    finally:
        _made.reset(token)


def _require_few_nodes(node: exp.Expr, made: exp.Expr) -> None:
    """An error if what was made of a part is too long: some rules use a part twice, and that part another twice."""
    nodes, all_nodes = sum(1 for _ in islice(made.walk(), _LARGEST_TREE + 1)), _made.get() or [0]
    all_nodes[0] += nodes
    if nodes > _LARGEST_TREE or all_nodes[0] > _MOST_MADE:
        raise BadQuery(f"{said(node)} is too long{', including what it uses' if nodes <= _LARGEST_TREE else ''}.")


def number(node: exp.Expr | None, value: Value) -> Value:
    """``value`` of ``node``; an error if it is not numeric."""
    if node is not None and not value.number:
        raise BadQuery(f"{said(node)} is {value.kind.value}, not a number.")
    return value


def within(value: Value) -> Interval:
    """Bounds of a number; an error if they are not known."""
    if value.within is None:
        what = f"column {value.name!r}" if value.name else "an expression"
        raise NotDeclared(
            f"Computing with {what} needs its bounds, and the card declares none.",
            hint="Declare bounds on the card, or set them here: LEAST(GREATEST(x, lowest), highest). "
            "discreet does not take them from the data.",
        )
    return value.within


@dataclass(frozen=True)
class HalfBounded(Value):
    """Number with at most one known bound. LEAST and GREATEST may provide the other."""

    low: Fraction | None = None
    high: Fraction | None = None


def half_bounded(made: exp.Expr, kind: Kind, low: Fraction | None, high: Fraction | None) -> Value:
    """Number with the bounds that are known."""
    if low is not None and high is not None:
        return Value(made, kind, (low, high))
    return HalfBounded(made, kind, low=low, high=high)


def ends(value: Value) -> tuple[Fraction | None, Fraction | None]:
    """Lower and upper bound of a number, each ``None`` if not known."""
    if isinstance(value, HalfBounded):
        return value.low, value.high
    return value.within or (None, None)


def given(value: Value) -> Fraction | None:
    """Integer literal; ``None`` for anything else."""
    if value.kind is not Kind.INTEGER or value.within is None or value.sql.find(exp.Column, exp.Case, exp.Null):
        return None  # a CASE may be NULL whatever its bounds are
    return value.within[0] if value.within[0] == value.within[1] else None


def computed(node: exp.Expr, made: exp.Expr, within: Interval, kind: Kind) -> Value:
    """A computed number; an error if its bounds are too large or too small to compute."""
    far = largest(within)
    if far > SAFE:
        raise BadQuery(f"{said(node)} could be as large as {_power(far)}, too large to compute.")
    if 0 < far < TINY:
        raise BadQuery(f"{said(node)} is never larger than {_power(far)}, too small to compute.")
    _require_few_nodes(node, made)
    return Value(exp.paren(made), kind, within)


def search(made: exp.Expr, text: Value, wanted: str) -> exp.Expr:
    """A search in a text, with what it may take: each place of the text is compared with all that is looked for."""
    made.meta[SEARCH] = text.characters * len(wanted)
    return made


def said(node: exp.Expr) -> str:
    """Text of a part of the query, for messages."""
    plain = node.copy()
    for column in list(plain.find_all(exp.Column)):
        if spelled := column.meta.get(SPELLED):
            column.replace(exp.var(spelled))
    text = plain.sql(dialect="duckdb")
    return text if len(text) <= 60 else text[:59] + "…"


def _power(far: Fraction) -> str:
    return f"{float(far):.3g}" if TINY < far < 1 / TINY else f"2**{exponent(far)}"
