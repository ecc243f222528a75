"""Variances and covariances of columns, computed where the rows lie, and columns as a matrix for regressions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card
from discreet.core.kind import ORDERED
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.verbs.publish.mask.swap import equal_row_codes
from discreet.verbs.publish.mask.values import Array, numbers


def variances(table: Table, names: Sequence[str]) -> Array:
    """The variance (over n) of each column; NULL and what is not finite does not count. 0 for an empty column."""
    values = _values(table, names)
    means = _averages(table, values, [exp.column(f"v{i}") for i in range(len(names))])
    gaps = _gaps(means)
    return _averages(table, values, [exp.Mul(this=gap, expression=gap.copy()) for gap in gaps])


def covariances(table: Table, names: Sequence[str]) -> Array:
    """The covariance matrix (over n) of the rows in which no column is missing."""
    values = _values(table, names)
    values = exp.select("*").from_(values.subquery("v"))
    values = values.where(*(exp.column(f"v{i}").is_(exp.null()).not_() for i in range(len(names))))
    (counted,) = table.engine.fetch(
        exp.select(sql.named(sql.count_rows(), "n")).from_(values.subquery("c"))
    ).to_pylist()
    if counted["n"] <= len(names):
        raise DataError(f"There are too few complete rows for the covariances of {len(names)} columns.")
    gaps = _gaps(_averages(table, values, [exp.column(f"v{i}") for i in range(len(names))]))
    pairs = np.triu_indices(len(names))
    products = [exp.Mul(this=gaps[i].copy(), expression=gaps[j].copy()) for i, j in zip(*pairs, strict=True)]
    matrix = np.zeros((len(names), len(names)))
    matrix[pairs] = matrix.T[pairs] = _averages(table, values, products)
    return matrix


def root(covariance: Array) -> Array:
    """L with LLᵗ = covariance. By eigenvalues: a constant column has no Cholesky factor."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _values(table: Table, names: Sequence[str]) -> exp.Select:
    """The columns as real numbers v0, v1, …; NULL where they are not finite."""
    reals = [exp.cast(sql.column(name), exp.DType.DOUBLE) for name in names]
    return table.query(*(sql.named(exp.Case().when(sql.finite(v), v), f"v{i}") for i, v in enumerate(reals)))


def _gaps(means: Array) -> list[exp.Expr]:
    """The columns around their means: the difference of two large sums would lose all digits."""
    return [exp.paren(exp.column(f"v{i}") - sql.literal(float(mean))) for i, mean in enumerate(means)]


def _averages(table: Table, values: exp.Select, what: Sequence[exp.Expr]) -> Array:
    """Averages to ten digits: engines add up in no fixed order, and the same seed shall give the same rows."""
    asked = [exp.cast(exp.Avg(this=value), exp.DType.DOUBLE) for value in what]
    query = exp.select(*(sql.named(value, f"m{i}") for i, value in enumerate(asked))).from_(values.subquery("a"))
    (row,) = table.engine.fetch(query).to_pylist()
    return np.array([float(f"{row[f'm{i}'] or 0.0:.10g}") for i in range(len(asked))])


_MOST = 200


def regressors(card: Card, rows: pa.Table, given: Sequence[str]) -> Array:
    """A column of ones, numbers as they are, standardised, and for each category but the first a column of 0 and 1."""
    made = [np.ones((rows.num_rows, 1))]
    for name in given:
        cells = rows.column(name)
        if card[name].kind in ORDERED:
            found = numbers(cells)
            if not found.there.all():
                raise DataError(
                    f"{name!r} is given and has missing values.", hint="Use columns without missing values."
                )
            around = found.values - found.values.sum() / max(1, len(found.values))
            spread = np.sqrt((around**2).sum() / max(1, len(around))) or 1.0
            made.append((around / spread)[:, None])
        else:
            codes = equal_row_codes(rows, [name])
            if codes.max(initial=0) >= _MOST:
                raise BadInput(f"{name!r} has more than {_MOST} categories.", hint="Use a coarser column.")
            made.append(np.eye(int(codes.max(initial=0)) + 1)[codes][:, 1:])
    return np.hstack(made)


def matrix_of(rows: pa.Table, names: Sequence[str]) -> Array:
    """Columns as float64; what is missing is NaN."""
    made = np.full((rows.num_rows, len(names)), np.nan)
    for place, name in enumerate(names):
        found = numbers(rows.column(name))
        made[found.there, place] = found.values
    return made
