"""How recognisable are the people in a table? Counted on the engine, for the holder's eyes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Role
from discreet.core.table import Table, count_name

_PAIRED = 12
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


@dataclass(frozen=True)
class Description:
    """What a holder wants to know before letting a table out."""

    rows: int
    together: Identifying | None
    """All quasi-identifiers taken together; ``None`` if the card declares none or there are no rows."""
    alone: tuple[Identifying, ...]
    """Each quasi-identifier by itself, the most identifying first."""
    pairs: tuple[Identifying, ...]
    """Every two of them, the most identifying first."""


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
