"""SQL aggregates of a table: sums, counts and largest contributions at one combination of levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isfinite
from typing import Any

import numpy as np
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Role
from discreet.core.kind import NUMBERS, Kind
from discreet.core.table import Table
from discreet.core.text import number
from discreet.errors import BadInput, DataError
from discreet.verbs.tabulate.tables.crosstable import Numbers
from discreet.verbs.tabulate.tables.respondents import numbered
from discreet.verbs.tabulate.tables.sides import Side

_MOST_DECIMALS = 12
_MOST = 2.0**62
"""No sum of absolute contributions reaches this many units, so that sums fit 64 bits."""
_MILLION = 1_000_000
_WHOLE = exp.DType.BIGINT
_LONG = "DECIMAL(38, 0)"


@dataclass(frozen=True)
class Measure:
    """What is added up: rows that have a value, whole units of it, and what was found out about them."""

    rows: Table
    value: exp.Expr
    decimals: int
    weight: exp.Expr | None
    """In millionths."""
    unit: str | None
    apart: bool
    """Whether no respondent has two rows."""
    negative: bool


@dataclass(frozen=True)
class LevelFigures:
    """The figures of the cells at ``places``, which has an array for each side."""

    places: tuple[Numbers, ...]
    values: Numbers
    counts: Numbers
    sole: Numbers
    """Where there is a single respondent their number, or 0 if no column says who they are; elsewhere -1."""
    absolute: Numbers
    largest: Numbers


def measure(table: Table, value: str | None, weight: str | None, decimals: int | None) -> Measure:
    """Look at what is to be added up, in one query; an error if it cannot be."""
    rows = table if value is None else _with_value(table, value)
    for name in (value, weight):
        if name is not None and table.card[name].kind not in NUMBERS:
            raise BadInput(f"{name} holds {table.card[name].kind.value} values, which cannot be summed.")
    if value is not None and (value == table.card.unit or table.card[value].role is Role.IDENTIFIER):
        raise BadInput(f"{value} is an identifier and cannot be summed.")
    scale = 0
    if value is not None and table.card[value].kind is Kind.DECIMAL:
        scale = table.schema.field(value).type.scale
    if decimals is None:
        decimals = 2 if value is not None and table.card[value].kind is Kind.REAL else scale
    if not 0 <= decimals <= _MOST_DECIMALS:
        raise BadInput(
            f"Figures must have 0 to {_MOST_DECIMALS} decimals, not {decimals}.", hint="Write for example decimals=2."
        )
    seen = _looked_at(rows, value, weight)
    _require_addable(table.card.name, seen, value, weight, decimals)
    unit = table.card.unit
    if unit is not None and weight is not None:
        _require_one_weight(rows, unit, weight)
    units: exp.Expr = _whole(sql.literal(10**decimals))
    if value is not None:
        units = _units(sql.column(value), table.card[value].kind, decimals, scale)
    return Measure(
        rows,
        units,
        decimals,
        None if weight is None else _units(sql.column(weight), Kind.REAL, 6, 0),
        unit,
        unit is None or seen["units"] == seen["rows"],
        seen["least"] < 0,
    )


def _with_value(table: Table, value: str) -> Table:
    """The rows that have something to add up."""
    there = sql.column(value).is_(exp.null()).not_()
    return replace(table, relation=table.query(exp.Star()).where(there))


def gather(what: Measure, sides: Sequence[Side], levels: Sequence[int | None], keep: int) -> LevelFigures:
    """The figures of the cells at these ``levels``; where one is ``None`` of the total of that side."""
    fetched = what.rows.engine.fetch(_query(what, sides, levels, keep))
    places = []
    for place, (one, level) in enumerate(zip(sides, levels, strict=True)):
        zeros = np.zeros(fetched.num_rows, np.int64)
        places.append(zeros if level is None else one.find(level, fetched.column(f"key_{place}")))
    kept = np.all([place >= 0 for place in places], axis=0)
    columns = {name: fetched.column(name) for name in fetched.column_names if not name.startswith("key_")}
    single = columns["respondents"].to_numpy() == 1
    sole = np.where(single, 0, -1)
    if what.unit is not None:
        sole[single] = numbered(columns["who"].filter(single).to_pylist())
    scale = 1 if what.weight is None else _MILLION
    return LevelFigures(
        tuple(place[kept] for place in places),
        _rounded(columns["total"], scale)[kept],
        columns["respondents"].to_numpy()[kept],
        sole[kept],
        _rounded(columns["absolute"], scale)[kept],
        np.stack([_rounded(columns[f"slot_{slot}"], scale) for slot in range(keep)] or [single], axis=-1)[kept],
    )


def _query(what: Measure, sides: Sequence[Side], levels: Sequence[int | None], keep: int) -> exp.Select:
    """A row a cell.

    Respondents are put in a row, the largest first, each as long as their weight; the part of that row between slot
    and slot + 1 is the contribution of rank slot + 1.
    """
    keys = [f"key_{place}" for place, level in enumerate(levels) if level is not None]
    shown = [
        sql.named(one.at(level), f"key_{place}")
        for place, (one, level) in enumerate(zip(sides, levels, strict=True))
        if level is not None
    ]
    weight = _whole(sql.literal(1)) if what.weight is None else what.weight.copy()
    who = [] if what.unit is None else [sql.named(sql.column(what.unit), "who")]
    rows = what.rows.query(*shown, *who, sql.named(what.value.copy(), "size"), sql.named(weight, "weight"))
    size, heavy = sql.column("size"), sql.column("weight")
    if what.unit is not None:
        alike = [*map(sql.column, keys), sql.column("who")]
        summed = (_sum(size, _WHOLE, "size"), sql.named(exp.Max(this=heavy.copy()), "weight"))
        rows = (
            exp.select(*alike, *summed)
            .from_(rows.subquery("r", copy=False), copy=False)
            .group_by(*(key.copy() for key in alike))
        )
    far = exp.Abs(this=size.copy())
    reach = exp.Window(
        this=exp.Sum(this=heavy.copy()),
        partition_by=[sql.column(key) for key in keys],
        order=exp.Order(expressions=[exp.Ordered(this=far.copy(), desc=True, nulls_first=False)]),
        spec=exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW"),
    )
    if keep:
        rows = exp.select("*", sql.named(_whole(reach), "reach")).from_(rows.subquery("u", copy=False), copy=False)
    long = what.weight is not None
    figures = [
        sql.named(exp.cast(sql.count_rows(), _WHOLE), "respondents"),
        _sum(_times(size, heavy, long), _LONG if long else _WHOLE, "total"),
        _sum(_times(far, heavy, long), _LONG if long else _WHOLE, "absolute"),
    ]
    one = _MILLION if long else 1
    for slot in range(keep):
        part = _times(far, _overlap(slot * one, (slot + 1) * one), long)
        figures.append(_sum(part, _LONG if long else _WHOLE, f"slot_{slot}"))
    if what.unit is not None:
        figures.append(sql.named(exp.Min(this=sql.column("who")), "who"))
    query = exp.select(*map(sql.column, keys), *figures).from_(rows.subquery("c", copy=False), copy=False)
    return query.group_by(*map(sql.column, keys)) if keys else query


def _overlap(start: int, end: int) -> exp.Expr:
    """How much of a respondent, who lies before ``reach`` and is as long as the weight, is from start to end."""
    reach, weight = sql.column("reach"), sql.column("weight")
    last = exp.case().when(reach.copy() < sql.literal(end), reach.copy()).else_(sql.literal(end))
    begin = exp.paren(reach.copy() - weight)
    first = exp.case().when(begin.copy() > sql.literal(start), begin.copy()).else_(sql.literal(start))
    length = exp.paren(exp.paren(last) - exp.paren(first))
    return exp.paren(exp.case().when(length.copy() > sql.literal(0), length.copy()).else_(sql.literal(0)))


def _units(value: exp.Expr, kind: Kind, decimals: int, scale: int) -> exp.Expr:
    """Whole units of 10 to the power of minus ``decimals``, by the same arithmetic on every engine."""
    if kind is Kind.INTEGER:
        return _whole(value * sql.literal(10**decimals) if decimals else value)
    if kind is Kind.REAL:
        scaled = exp.cast(value, exp.DType.DOUBLE) * sql.literal(float(10**decimals))
        return _whole(exp.Floor(this=exp.paren(scaled) + sql.literal(0.5)))
    narrow = exp.cast(value, f"DECIMAL({19 - decimals + scale}, {scale})")  # no wider: Spark would drop digits
    scaled = narrow * sql.literal(Decimal(10**decimals))
    return _whole(scaled if decimals >= scale else exp.Floor(this=exp.paren(scaled) + sql.literal(Decimal("0.5"))))


def _times(one: exp.Expr, other: exp.Expr, long: bool) -> exp.Expr:
    if not long:
        return exp.paren(one.copy()) * exp.paren(other.copy())
    return exp.cast(one.copy(), "DECIMAL(19, 0)") * exp.cast(other.copy(), "DECIMAL(19, 0)")


def _sum(value: exp.Expr, type_: exp.DType | str, name: str) -> exp.Expr:
    return sql.named(exp.cast(exp.Coalesce(this=exp.Sum(this=value.copy()), expressions=[sql.literal(0)]), type_), name)


def _whole(value: exp.Expr) -> exp.Expr:
    return exp.cast(value, _WHOLE)


def _rounded(column: Any, scale: int) -> Numbers:
    """Sums of products with weights in ``scale``, rounded to whole numbers; halves up."""
    if scale == 1:
        return np.asarray(column.to_numpy(), np.int64)
    return np.array([(2 * int(product) + scale) // (2 * scale) for product in column.to_pylist()], np.int64)


def _looked_at(rows: Table, value: str | None, weight: str | None) -> dict[str, Any]:
    """How many rows and units there are, and how far figures and weights reach."""
    ones = exp.cast(sql.literal(1), exp.DType.DOUBLE)
    figure, heavy = (ones if name is None else exp.cast(sql.column(name), exp.DType.DOUBLE) for name in (value, weight))
    far = exp.Abs(this=figure.copy())
    unit = rows.card.unit
    asked = {
        "rows": sql.count_rows(),
        "least": exp.Min(this=figure.copy()),
        "most": exp.Max(this=far.copy()),
        "all": exp.Sum(this=far.copy() * heavy.copy()),
        "lightest": exp.Min(this=heavy.copy()),
        "heaviest": exp.Max(this=heavy.copy()),
        "weighted": exp.Count(this=heavy.copy()),
    }
    if unit is not None:
        asked["units"] = exp.Count(this=exp.Distinct(expressions=[sql.column(unit)]))
        asked["owned"] = exp.Count(this=sql.column(unit))
    fetched = rows.engine.fetch(rows.query(*(sql.named(figure, name) for name, figure in asked.items())))
    seen: dict[str, Any] = fetched.to_pylist()[0]
    return seen


def _require_addable(name: str, seen: dict[str, Any], value: str | None, weight: str | None, decimals: int) -> None:
    if not seen["rows"]:
        raise DataError(f"{name} has no rows{f' with a {value}' if value else ''}: there is nothing to sum.")
    if seen.get("owned", seen["rows"]) < seen["rows"]:
        missing = number(seen["rows"] - seen["owned"], "row")
        raise DataError(f"{name}: {missing} without a unit, so their person is unknown.")
    if not isfinite(seen["most"]):
        raise DataError(f"{value} has values that are infinite or not a number: they cannot be summed.")
    if weight is not None and (seen["weighted"] < seen["rows"] or not 0 < seen["lightest"] <= seen["heaviest"] < 1e9):
        raise DataError(f"Some weights in {weight} are missing, not above 0, or not below a billion.")
    if seen["all"] * 10**decimals >= _MOST:
        raise DataError(
            f"The sum of {value or 'all rows'} with {decimals} decimals has more digits than 64 bits hold.",
            hint="Ask for fewer decimals.",
        )


def _require_one_weight(rows: Table, unit: str, weight: str) -> None:
    """A weight says for how many respondents one stands, so each has one."""
    least, most = exp.Min(this=sql.column(weight)), exp.Max(this=sql.column(weight))
    torn = rows.query(sql.named(sql.count_rows(), "n")).group_by(sql.column(unit)).having(least.neq(most))
    count = rows.engine.fetch(
        exp.select(sql.named(sql.count_rows(), "n")).from_(torn.subquery("d", copy=False), copy=False)
    )
    if count.column(0)[0].as_py():
        raise DataError(
            f"{number(count.column(0)[0].as_py(), unit)} with rows of different {weight}.",
            hint="A weight is the number of respondents that one represents: give all rows of a respondent "
            "the same weight.",
        )
