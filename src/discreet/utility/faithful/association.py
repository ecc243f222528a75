"""How strongly columns hang together, whatever they hold: numbers by Pearson's correlation, categories by Cramér's V
(corrected for bias: Bergsma 2013), a number and a category by the correlation ratio.

Dates and times are taken by the parts they were cut into, as categories are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from sqlglot import exp

from discreet.core import sql
from discreet.core.table import Table
from discreet.utility.faithful.codes import Array, Coded, Columns, finite

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
    return exp.Case().when(finite(value), value)


def _number(value: float | None) -> float:
    return float("nan") if value is None or not np.isfinite(value) else min(max(float(value), -1.0), 1.0)
