"""How recognisable people are in a table: identifying columns, identifiers by their values, and long text.

A promise to people counts rows. If an identifier repeats, a person may have several rows, and the card must say which
column identifies the person of each row (``unit``) or that every row is a person all the same (``rows_are_people``).

Notes, remarks and letters name people in ways that no model counts and no masking method changes. So long text with
many values stays behind until the card says that it may leave. A column of texts counts as such if more than ten
different ones are long, and more than one in ten of the long ones is different: one with categories, or with a
hierarchy, is declared and does not.

All of it is counted on the engine, for the holder's eyes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Column, Role
from discreet.core.engine import Engine
from discreet.core.kind import NUMBERS, Kind
from discreet.core.table import Table, count_name
from discreet.errors import NotDeclared

LONG = 20
"""Characters; a text that has more is long."""
_MANY = 10
"""Different long texts; a column with more of them is withheld."""
_PAIRED = 12
_SHOWN_PAIRS = 10
"""Pairs of columns in the text of a description, at most."""
_AT_ONCE = 32


@dataclass(frozen=True)
class Identifying:
    """How far a set of columns gives a record away."""

    columns: tuple[str, ...]
    classes: int
    """How many different value combinations there are."""
    unique: int
    """How many records are alone with theirs."""
    crowd: float
    """Among how many records, itself included, a record hides on average."""

    def __str__(self) -> str:
        return f"{' × '.join(self.columns)}: {self.classes:,} values, {self.unique:,} unique"


@dataclass(frozen=True)
class Description:
    """How recognisable the people of a table are: for its holder, before anything is released."""

    rows: int
    together: Identifying | None
    """All quasi-identifiers taken together; ``None`` if the card declares none or there are no rows."""
    alone: tuple[Identifying, ...]
    """Each quasi-identifier by itself, the most identifying first."""
    pairs: tuple[Identifying, ...]
    """Every two of them, the most identifying first."""

    def __str__(self) -> str:
        if self.together is None:
            return f"{self.rows:,} rows, no quasi-identifiers" if self.rows else "no rows"
        lines = [str(one) for one in (*self.alone, *self.pairs[:_SHOWN_PAIRS])]
        share = self.together.unique / self.rows
        found = f"{self.together.unique:,} of {self.rows:,} rows ({share:.1%}) are unique on all quasi-identifiers"
        return "\n  ".join([f"{found}: {', '.join(self.together.columns)}", *lines])


def describe(table: Table) -> Description:
    """Count what makes the records of ``table`` recognisable, from the histogram of its quasi-identifiers.

    Pairs are looked for among the twelve most identifying columns: beyond that they grow too many to read.
    """
    rows = table.count()
    names = tuple(column.name for column in table.card.having(Role.QUASI))
    if not names or not rows:
        return Description(rows, None, (), ())
    (together,) = _measure(table, names, [names], rows)
    alone = [
        found
        for some in (names[at : at + _AT_ONCE] for at in range(0, len(names), _AT_ONCE))
        for found in _measure(table, some, [(name,) for name in some], rows)
    ]
    alone.sort(key=_rank)
    suspects = tuple(name for found in alone[:_PAIRED] for name in found.columns)
    pairs = _measure(table, suspects, list(combinations(suspects, 2)), rows) if len(suspects) > 1 else []
    return Description(rows, together, tuple(alone), tuple(sorted(pairs, key=_rank)))


def _rank(found: Identifying) -> tuple[int, float]:
    return -found.unique, found.crowd


def _measure(table: Table, names: tuple[str, ...], sets: list[tuple[str, ...]], rows: int) -> list[Identifying]:
    """All sets of columns in one query: the histogram once, then coarser histograms of it by GROUPING SETS."""
    count = count_name(names)
    histogram = table.histogram_query(*names)
    size = exp.cast(exp.Sum(this=sql.column(count)), exp.DType.BIGINT)
    mask: exp.Expr = exp.Literal.number(0)
    varying = tuple(name for name in names if not all(name in chosen for chosen in sets))
    for position, name in enumerate(varying):
        left_out = exp.cast(exp.Anonymous(this="GROUPING", expressions=[sql.column(name)]), exp.DType.BIGINT)
        mask = mask + left_out * (1 << position)
    grouping = exp.GroupingSets(
        expressions=[exp.Tuple(expressions=[sql.column(name) for name in chosen]) for chosen in sets]
    )
    classes = exp.select(sql.named(mask, "mask"), sql.named(size, "size")).from_(histogram.subquery("h"))
    classes.set("group", exp.Group(grouping_sets=[grouping]))
    squares = exp.Sum(this=exp.cast(sql.column("size"), exp.DType.DOUBLE) * sql.column("size"))
    found = table.engine.fetch(
        exp.select(
            sql.named(exp.cast(sql.column("mask"), exp.DType.BIGINT), "mask"),
            sql.named(sql.count_rows(), "classes"),
            sql.named(sql.count_if(sql.column("size").eq(1)), "uniques"),
            sql.named(squares, "squares"),
        )
        .from_(classes.subquery("c"))
        .group_by(sql.column("mask"))
    )
    by_mask = {row["mask"]: row for row in found.to_pylist()}
    return [
        Identifying(chosen, row["classes"], row["uniques"], row["squares"] / rows)
        for chosen in sets
        for row in [by_mask[_mask(varying, chosen)]]
    ]


def _mask(names: tuple[str, ...], chosen: tuple[str, ...]) -> int:
    """A bit for each column left out, as the query adds them up from SQL's GROUPING."""
    return sum(1 << position for position, name in enumerate(names) if name not in chosen)


# -- identifiers by their values

_CODE = r"^[0-9A-Za-z/_#.-]*[0-9][0-9A-Za-z/_#.-]*$"
"""A text such as P00017, 2024/0815 or 756.1234.5678.97: a digit somewhere, and no blanks."""
_LETTERS = r"^[A-Za-z]+$"
_NO_CODE = (
    r"^([0-9]{4}[./-][0-9]{1,2}[./-][0-9]{1,2}|[0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{2}|[0-9]{4})"
    r"|[+-]?[0-9]+[.][0-9]+|[A-Z][0-9]{2}[.][0-9A-Z]{1,4})$"
)
"""Dates, decimal numbers and diagnoses (ICD), which are written like codes."""
_FEWEST = 20
"""Fewer different values than this are categories."""
_MOST_ROWS = (50, 250)
"""Identifiers have no more rows each than this, on average; up to the second figure if they are as many themselves."""
_HALF = (0.05, 1.5)
"""Half of the rows belong to no less than this share of the identifiers, and this multiple of the square root of their
number: by Zipf's law, as of places and diagnoses, they would belong to fewer."""
_SHORTEST = 4
_YEARS = (1800, 2100)
_DENSE = (0.98, 0.95)
"""Least share of the numbers between the first and the last that are there: from 0 or 1 on, and from elsewhere."""
_GAPS = 0.75
"""The same, if gaps are evenly spread and not those of chance: measurements have theirs at the ends."""
_EVENLY = 0.03
_FEWER = 0.65
_DEVIATION = 1.3
"""Largest chance deviation of the number of distinct values, as a multiple of the square root of the range (four σ)."""
_NEARLY_ALL = 0.95
_COUNTED_FROM_ONE = 400
"""Fewest numbers with few gaps, from 0 or 1 on, that count as a numbering of people or rows."""


def repeating_identifiers(table: Table) -> tuple[str, ...]:
    """The identifiers of a table, but its unit, that several rows share; a missing value is shared with no one."""
    names = [column.name for column in table.card.having(Role.IDENTIFIER) if column.name != table.card.unit]
    counts = _counts(table.engine, table.relation, [sql.column(name) for name in names])
    return tuple(name for name, (there, own) in zip(names, counts, strict=True) if own < there)


def require_rows_of_people(table: Table) -> None:
    """An error if identifiers repeat, while the card neither names a unit nor says that every row is a person."""
    card = table.card
    if card.unit is not None or card.public or card.rows_are_people:
        return
    if found := repeating_identifiers(table):
        several = f"{', '.join(found[:-1])} and {found[-1]} repeat" if len(found) > 1 else f"{found[0]} repeats"
        raise NotDeclared(
            f"Several rows of {card.name} share identifiers: {several}. A person may have several rows, and "
            "the card names no column that identifies them.",
            hint=f'Declare unit = "{found[0]}" (and rows_per_unit); or, if each row is a different person anyway, '
            "rows_are_people = true.",
        )


def looks_like_identifiers(engine: Engine, relation: exp.Query, name: str, kind: Kind) -> bool:
    """Whether the values of a column look like identifiers, also if several rows share one.

    Codes of about one length (if of letters alone, of exactly one), or whole numbers of one length or with few gaps;
    many of them. Some may have many more rows than others, as patients have visits. But a few do not have most of the
    rows, as large cities and common diagnoses do. Years, and numbers that are rounded or that fall together by chance,
    are none.
    """
    if kind is not Kind.TEXT and kind not in NUMBERS:
        return False
    counted, spread = rows_of_values(engine, relation, name, kind)
    filled, distinct = sum(rows * values for rows, values in spread), sum(values for _, values in spread)
    if distinct < _FEWEST or not _shared_out(spread, filled, distinct):
        return False
    test = _are_codes if kind is Kind.TEXT else _are_keys
    return test(engine, counted, sql.column("discreet_v"), filled, distinct)


def rows_of_values(
    engine: Engine, relation: exp.Query, name: str, kind: Kind
) -> tuple[exp.Select, list[tuple[int, int]]]:
    """The query that counts the rows of each value (``discreet_v``, ``discreet_n``), and how many values have how many:
    pairs of a number of rows and the number of values that have that many."""
    value, n = sql.column(name), sql.column("discreet_n")
    there: exp.Expr = value.copy().is_(exp.null()).not_()
    if kind is Kind.REAL:
        there = exp.and_(there, value.copy().neq(exp.cast(sql.literal("NaN"), exp.DType.DOUBLE)))
    counted = (
        exp.select(sql.named(value, "discreet_v"), sql.named(sql.count_rows(), "discreet_n"))
        .from_(relation.subquery("t"))
        .where(there)
        .group_by(value.copy())
    )
    sizes = exp.select(n, sql.named(sql.count_rows(), "discreet_m")).from_(counted.subquery("c")).group_by(n.copy())
    return counted, [(int(row["discreet_n"]), int(row["discreet_m"])) for row in engine.fetch(sizes).to_pylist()]


def _shared_out(spread: list[tuple[int, int]], filled: int, distinct: int) -> bool:
    """Whether each value has few rows on average, and not a few values have half of them."""
    usual, most = _MOST_ROWS
    if filled > distinct * max(usual, min(distinct - 1, most)):
        return False
    left, holders = filled / 2, 0.0
    for rows, values in sorted(spread, reverse=True):
        some = min(values, left / rows)
        left, holders = left - some * rows, holders + some
    return holders >= max(_HALF[0] * distinct, _HALF[1] * math.sqrt(distinct))


def _are_codes(engine: Engine, counted: exp.Query, each: exp.Expr, filled: int, distinct: int) -> bool:
    code, letters, other = (exp.RegexpLike(this=each, expression=sql.literal(p)) for p in (_CODE, _LETTERS, _NO_CODE))
    written = (exp.and_(code, exp.not_(other)), letters)
    lengths = (exp.Min(this=exp.Length(this=each)), exp.Max(this=exp.Length(this=each)))
    shortest, longest, codes, words = sql.aggregates(engine, counted, [*lengths, *map(sql.count_if, written)])
    if longest < _SHORTEST or longest - shortest > 2:
        return False
    return bool((codes if shortest < longest else codes + words) >= _NEARLY_ALL * distinct)


def _are_keys(engine: Engine, counted: exp.Query, each: exp.Expr, filled: int, distinct: int) -> bool:
    natural = exp.and_(each.between(exp.Literal.number(0), exp.Literal.number(9 * 10**18)), each.eq(sql.floor(each)))
    whole = exp.Case().when(natural, sql.as_whole(each))
    odd = exp.NEQ(this=exp.Mod(this=whole, expression=exp.Literal.number(5)), expression=exp.Literal.number(0))
    figures = [exp.Count(this=whole), sql.count_if(odd), exp.Min(this=whole), exp.Max(this=whole)]
    numbers, odds, low, high = sql.aggregates(engine, counted, figures)
    if numbers < distinct or not odds or (_YEARS[0] <= low and high <= _YEARS[1]):
        return False
    room = high - low + 1
    by_chance = room * -math.expm1(-filled / room)  # how many would differ, if they were any in that range
    if low > 1 and (len(str(low)) != len(str(high)) or len(str(low)) < _SHORTEST):
        return False
    if low <= 1 and distinct < _COUNTED_FROM_ONE:
        return False
    if distinct >= _DENSE[low > 1] * room or (low > 1 and filled < room / 2 and distinct < _FEWER * by_chance):
        return True
    if distinct < _GAPS * room or abs(distinct - by_chance) < _DEVIATION * math.sqrt(room):
        return False
    middle = each.between(exp.Literal.number(low + room // 4), exp.Literal.number(high - room // 4))
    return bool(abs(sql.aggregates(engine, counted, [sql.count_if(middle)])[0] / distinct - 0.5) < _EVENLY)


def _counts(engine: Engine, relation: exp.Query, values: Sequence[exp.Expr]) -> Iterator[tuple[int, int]]:
    """How many rows have each value, and how many different ones there are."""
    pairs = [(exp.Count(this=one), exp.Count(this=exp.Distinct(expressions=[one.copy()]))) for one in values]
    found = sql.aggregates(engine, relation, [figure for pair in pairs for figure in pair])
    return zip(found[::2], found[1::2], strict=True)


# -- long text


def long_texts(engine: Engine, relation: exp.Query, names: Collection[str]) -> tuple[str, ...]:
    """Which of some columns of texts are long, with many values."""
    values = map(sql.column, names)
    long = [exp.Case().when(exp.Length(this=value) > LONG, value.copy()) for value in values]
    counts = _counts(engine, relation, long)
    return tuple(name for name, (filled, own) in zip(names, counts, strict=True) if own > _MANY and own * 10 > filled)


def hold_back(table: Table, named: Collection[str] = (), *, quasi: bool) -> Table:
    """The same table without long texts, so that nothing of them leaves.

    ``named`` are columns that someone asked for by name: if one of them would be withheld, that is an error.
    ``quasi``: whether quasi-identifiers may be long texts too, since they are made coarser.
    """
    found = long_texts(table.engine, table.relation, [c.name for c in table.card.columns if _undeclared(c, quasi)])
    if asked := [name for name in found if name in named]:
        raise NotDeclared(
            f"{asked[0]} of {table.card.name} holds long text with many values, which may name people: it is withheld.",
            hint="To release it, declare may_leave = true on the card; otherwise leave the column out.",
        )
    if not found:
        return table
    return replace(table.select(*(name for name in table.columns if name not in found)), withheld=found)


def said_of_withheld(table: Table) -> tuple[str, ...]:
    """For the statement of what is made of a table."""
    if not table.withheld:
        return ()
    return (
        f"Withheld, since long text with many values may name people: {', '.join(table.withheld)}. To "
        "release it, declare may_leave = true on the card.",
    )


def _undeclared(column: Column, quasi: bool) -> bool:
    """Whether nothing on the card says what the texts of a column are."""
    plain = column.kind is Kind.TEXT and column.categories is None and column.hierarchy is None
    roles = (Role.SENSITIVE, Role.OTHER, *(() if quasi else (Role.QUASI,)))
    return plain and column.role in roles and not column.may_leave
