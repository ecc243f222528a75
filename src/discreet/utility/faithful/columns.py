"""Columns of original and synthetic rows as the same codes, how far their counts are apart, and how they associate.

Codes are SQL: the engine groups the rows by them, where they are, and only groups come out, a batch at a time. So the
memory this takes does not grow with the rows.

Associations are of whatever columns hold: numbers by Pearson's correlation, categories by Cramér's V (corrected for
bias: Bergsma 2013), a number and a category by the correlation ratio. Dates and times are taken by the parts they were
cut into, as categories are.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, pairwise
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Column
from discreet.core.kind import NUMBERS, ORDERED, Kind
from discreet.core.report import shortened
from discreet.core.table import Table
from discreet.core.text import bound

Array: TypeAlias = npt.NDArray[Any]
Columns: TypeAlias = tuple[int, ...]
"""Columns that are counted together, by their places."""

PARTS = 10
"""Number of quantile bins of numbers, dates and times, with equal shares of the original rows."""
_CATEGORIES = 30
"""Number of the most frequent values that have a category of their own; the rest are pooled."""
_LABEL = 24


@dataclass(frozen=True)
class Coded:
    """A column as codes from 0, which is NULL; ``labels`` says what each stands for."""

    name: str
    labels: tuple[str, ...]
    code: exp.Expr
    number: bool
    """Whether it is a number, so that it has correlations."""

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.labels)


def coded(table: Table, name: str) -> Coded:
    """A column's codes, which the original ``table`` settles: parts of numbers end at its quantiles.

    Equal parts of the declared bounds would be public, and useless here: of costs from 0 to a million nearly all lie in
    the first of ten.
    """
    column = table.card[name]
    if column.kind in ORDERED and column.categories is None:
        return _parted(table, column)
    return _listed(table, column)


def number(name: str, kind: Kind) -> exp.Expr:
    """A column's values as they are, but NULL for what is no finite number."""
    value = sql.column(name)
    return exp.Case().when(sql.finite(value), value) if kind is Kind.REAL else value


def counts(table: Table, columns: Sequence[Coded], sets: Sequence[Columns]) -> Mapping[Columns, Array]:
    """For each of ``sets`` how many rows have each combination of codes, in one pass over the rows."""
    names = [f"c{place}" for place in range(len(columns))]
    codes = table.query(*(sql.named(one.code.copy(), name) for one, name in zip(columns, names, strict=True)))
    keys = [sql.column(name) for name in names]
    grouped = (
        exp.select(*keys, sql.named(sql.count_rows(), "n"))
        .from_(codes.subquery("codes"))
        .group_by(*(key.copy() for key in keys))
    )
    sizes = [one.size for one in columns]
    found = {some: np.zeros(prod(sizes[place] for place in some)) for some in sets}
    for batch in table.engine.stream(grouped):
        rows = [batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64) for name in names]
        weight = batch.column("n").to_numpy(zero_copy_only=False).astype(np.float64)
        for some in sets:
            key = np.zeros(len(weight), np.int64)
            for place in some:
                key = key * sizes[place] + rows[place]
            found[some] += np.bincount(key, weight, minlength=len(found[some]))
    return {some: total.reshape([sizes[place] for place in some]) for some, total in found.items()}


def _parted(table: Table, column: Column) -> Coded:
    value = number(column.name, column.kind)
    values = table.query(sql.named(value.copy(), "v"))
    tile = exp.Window(
        this=exp.Anonymous(this="NTILE", expressions=[sql.literal(PARTS)]),
        order=exp.Order(expressions=[exp.Ordered(this=sql.column("v"))]),
    )
    tiles = (
        exp.select(sql.column("v"), sql.named(tile, "part"))
        .from_(values.subquery("vs"))
        .where(sql.column("v").is_(exp.null()).not_())
    )
    ends = (
        exp.select(sql.column("part"), sql.named(exp.Max(this=sql.column("v")), "last"))
        .from_(tiles.subquery("ts"))
        .group_by(sql.column("part"))
    )
    found: set[Any] = set(table.engine.fetch(ends)["last"].to_pylist())
    borders = sorted(found)[:-1]
    case = exp.Case().when(value.copy().is_(exp.null()), sql.literal(0))
    for place, border in enumerate(borders, 1):
        case = case.when(exp.LTE(this=value.copy(), expression=sql.literal(border)), sql.literal(place))
    said = [bound(border, dt.time.min) for border in borders]
    between = [f"over {low} to {high}" for low, high in pairwise(said)]
    labels = [f"up to {said[0]}", *between, f"over {said[-1]}"] if said else ["any"]
    return Coded(column.name, ("NULL", *labels), case.else_(sql.literal(len(labels))), column.kind in NUMBERS)


def _listed(table: Table, column: Column) -> Coded:
    value = number(column.name, column.kind)
    many = sql.named(sql.count_rows(), "n")
    values = table.query(sql.named(value.copy(), "v")).subquery("vs")
    grouped = exp.select(sql.column("v"), many).from_(values).group_by(sql.column("v"))
    there = grouped.where(sql.column("v").is_(exp.null()).not_())
    common = there.order_by(
        exp.Ordered(this=sql.column("n"), desc=True), exp.Ordered(this=sql.column("v"), desc=False)
    ).limit(_CATEGORIES)
    kept: list[Any] = table.engine.fetch(common)["v"].to_pylist()
    if column.categories is not None:
        order = {one: place for place, one in enumerate(column.categories)}
        kept.sort(key=lambda one: order.get(one, len(order)))
    case = exp.Case().when(value.copy().is_(exp.null()), sql.literal(0))
    for place, one in enumerate(kept, 1):
        case = case.when(exp.EQ(this=value.copy(), expression=sql.literal(one)), sql.literal(place))
    labels = ("NULL", *(shortened(str(one), _LABEL) for one in kept), "all else")
    return Coded(column.name, labels, case.else_(sql.literal(len(kept) + 1)), number=False)


_SMALLEST = 1e-12


def associations(table: Table, columns: Sequence[Coded], pairs: Mapping[Columns, Array]) -> Array:
    """A matrix of them, from -1 (numbers only) or 0 to 1; NaN where a column of a pair is all the same."""
    found = np.full((len(columns), len(columns)), np.nan)
    numbers = [place for place, column in enumerate(columns) if column.number]
    others = [place for place, column in enumerate(columns) if not column.number]
    for (a, b), value in _correlations(table, columns, numbers).items():
        found[a, b] = found[b, a] = value
    for category in others:
        for place, value in _ratios(table, columns, category, numbers).items():
            found[category, place] = found[place, category] = value
    for a, b in combinations(others, 2):
        found[a, b] = found[b, a] = _cramer(pairs[a, b])
    return found


def _correlations(table: Table, columns: Sequence[Coded], numbers: Sequence[int]) -> dict[Columns, float]:
    pairs = list(combinations(numbers, 2))
    if not pairs:
        return {}
    values = table.query(*(sql.named(_real(columns[place]), f"v{place}") for place in numbers)).subquery("vs")
    asked = []
    for a, b in pairs:
        both = (sql.column(f"v{a}"), sql.column(f"v{b}"))
        asked.append(sql.named(exp.cast(exp.Corr(this=both[0], expression=both[1]), exp.DType.DOUBLE), f"r{a}_{b}"))
    (row,) = table.engine.fetch(exp.select(*asked).from_(values)).to_pylist()
    return {(a, b): _number(row[f"r{a}_{b}"]) for a, b in pairs}


def _ratios(table: Table, columns: Sequence[Coded], category: int, numbers: Sequence[int]) -> dict[int, float]:
    """The share of a number's spread that lies between categories, as its square root."""
    if not numbers:
        return {}
    key = sql.column("code")
    shown = [sql.named(_real(columns[place]), f"v{place}") for place in numbers]
    values = table.query(sql.named(columns[category].code.copy(), "code"), *shown).subquery("vs")
    asked = []
    for place in numbers:
        value = sql.column(f"v{place}")
        for name, figure in (
            ("n", exp.Count(this=value)),
            ("m", exp.Avg(this=value)),
            ("s", exp.VariancePop(this=value)),
        ):
            asked.append(sql.named(exp.cast(figure.copy(), exp.DType.DOUBLE), f"{name}{place}"))
    rows = table.engine.fetch(exp.select(*asked).from_(values).group_by(key))
    found = {}
    for place in numbers:
        n, mean, spread = (np.nan_to_num(rows[f"{name}{place}"].to_numpy().astype(float)) for name in "nms")
        if not n.sum():
            found[place] = float("nan")
            continue
        middle = float(n @ mean / n.sum())
        between, within = float(n @ (mean - middle) ** 2), float(n @ spread)
        whole = between + within
        found[place] = float(np.sqrt(between / whole)) if whole > _SMALLEST * max(middle**2, 1) else float("nan")
    return found


def _cramer(counts: Array) -> float:
    """Cramér's V without the part that chance gives."""
    kept = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    rows, columns = kept.shape
    total = kept.sum()
    if min(rows, columns) < 2 or total < 2:
        return float("nan")
    expected = np.outer(kept.sum(axis=1), kept.sum(axis=0)) / total
    square = float(((kept - expected) ** 2 / expected).sum() / total)
    corrected = max(square - (rows - 1) * (columns - 1) / (total - 1), 0.0)
    least = min(rows - (rows - 1) ** 2 / (total - 1), columns - (columns - 1) ** 2 / (total - 1)) - 1
    return min(float(np.sqrt(corrected / least)), 1.0) if least > 0 else float("nan")


def _real(column: Coded) -> exp.Expr:
    value = exp.cast(sql.column(column.name), exp.DType.DOUBLE)
    return exp.Case().when(sql.finite(value), value)


def _number(value: float | None) -> float:
    return float("nan") if value is None or not np.isfinite(value) else min(max(float(value), -1.0), 1.0)


def variation(mine: Array, theirs: Array) -> float:
    """The total variation distance: the share of rows that would have to be elsewhere for the shares to be equal."""
    return float(np.abs(mine / mine.sum() - theirs / theirs.sum()).sum() / 2)


def of_a_sample(mine: Array, rows: int) -> float:
    """How far, on average, ``rows`` drawn from the original with replacement are from it.

    The mean absolute deviation of a binomial count is 2 k C(m, k) pᵏ (1 − p)ᵐ⁻ᵏ⁺¹ with k = ⌊mp⌋ + 1 (De Moivre 1730),
    so that nothing has to be drawn.
    """
    share = mine[mine > 0] / mine.sum()
    share = share[share < 1]
    k = np.minimum(np.floor(rows * share) + 1, rows)
    ways = _log_factorial(np.array([float(rows)])) - _log_factorial(k) - _log_factorial(rows - k)
    log = np.log(2 * k) + ways + k * np.log(share) + (rows - k + 1) * np.log1p(-share)
    return float(np.exp(log).sum() / (2 * rows))


def if_independent(mine: Array) -> float:
    """How far data are from the original that have each column right and nothing else: columns drawn one by one."""
    total = mine.sum()
    sides = [mine.sum(axis=tuple(other for other in range(mine.ndim) if other != axis)) for axis in range(mine.ndim)]
    shares = [side / total for side in sides]
    return float(np.abs(mine / total - reduce(np.multiply.outer, shares)).sum() / 2)


def _log_factorial(n: Array) -> Array:
    """By Stirling's series, which is off by less than 0.001 at 1 and by far less above."""
    safe = np.maximum(n, 1.0)
    found = safe * np.log(safe) - safe + np.log(2 * np.pi * safe) / 2 + 1 / (12 * safe) - 1 / (360 * safe**3)
    return np.where(n > 0, found, 0.0)
