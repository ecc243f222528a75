"""PRAM, the post-randomisation method (Gouweleeuw, Kooiman, Willenborg and de Wolf 1998), for columns of categories.

Every value is drawn anew by the row of a transition matrix that belongs to it: row k says what becomes of category k,
and with what probability. The matrix is in the recipe, so counts can be estimated back (``undone``). An *invariant*
matrix has the column's own shares as its fixed point: counts are right on average without any estimating.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Column
from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import MASKING
from discreet.core.kind import LISTABLE
from discreet.core.programs import Program
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.noise.masking import Generator
from discreet.verbs.publish.mask.masker import MaskingPlan, columns_to_mask, mask_rows, with_cells
from discreet.verbs.publish.mask.values import Array

_MOST = 1000


@declare(MASKING, "pram", example="pram keep=0.8", paper="Gouweleeuw and others 1998", extra="tabulate")
class Pram:
    """Post-randomisation: categories change at random, by a transition matrix.

    ``keep`` is the chance that a value stays, or ``matrices`` has the matrix of each column, by name, its rows and
    columns in the order of the card's categories (or of the values, sorted). ``keep`` is at least 1 in the number of
    categories: below, two of them would be flipped for sure rather than hidden.

    ``how``: ``even`` changes to any other category; ``invariant`` is ``even``, made invariant; ``optimal`` is, of all
    invariant matrices by which no shown category tells the true one with more than ``keep``, the one that moves values
    least (by how far apart categories are in their order). There ``keep`` is at least the commonest category's share.
    """

    name: ClassVar[str]
    keep: float | None = parameter("Probability that a value is unchanged.", default=None, least=0, below=1)
    columns: Sequence[str] = parameter("Columns to mask; default: all quasi-identifiers.", default=(), clause="on")
    how: Literal["even", "invariant", "optimal"] = parameter("Choice of the transition matrix.", default="invariant")
    matrices: Mapping[str, Sequence[Sequence[float]]] | None = parameter(
        "Matrix of each column, by name.", default=None, python=True
    )

    mask = mask_rows

    def __post_init__(self) -> None:
        if (self.keep is None) == (self.matrices is None):
            raise BadInput("PRAM needs either keep or the matrices.", hint="Such as keep=0.8.")
        check_parameters(self)

    def plan(self, table: Table) -> MaskingPlan:
        """The categories, how often each comes, and the matrix of each column."""
        names = columns_to_mask(table.card, tuple(self.columns or self.matrices or ()), LISTABLE, self.name)
        state, described = {}, {}
        for name in names:
            values, counts = _category_counts(table, table.card[name])
            matrix = self._matrix(name, counts)
            state[name] = (values, np.minimum(np.cumsum(matrix, axis=1), 1.0))
            described[name] = {
                "categories": [str(value) for value in values.to_pylist()],
                "matrix": matrix.tolist(),
                "invariant": bool(np.allclose(counts @ matrix, counts, rtol=1e-9, atol=1e-9)),
                "changed": expected_change(matrix, counts),
            }
        shares = ", ".join(f"{name} ({described[name]['changed']:.1%})" for name in names)
        return MaskingPlan(
            state,
            {"columns": list(names), "keep": self.keep, "how": self.how if self.matrices is None else "given"}
            | {"matrices": described},
            (f"Values were redrawn by a transition matrix; expected share changed in each column: {shares}.",),
            (
                "A rare category may still be the person's true one, with the probability in the matrix.",
                "Columns are changed independently, so impossible combinations may occur; each reveals a change.",
                "An invariant or optimal matrix depends on the column's frequencies, and reveals them.",
            ),
        )

    def batch(self, state: Any, rows: pa.RecordBatch, rng: Generator) -> pa.RecordBatch:
        """Some rows, drawn anew; NULLs stay."""
        for name, (values, cumulated) in state.items():
            cells = rows.column(name)
            codes = pc.index_in(cells, value_set=values)
            there = np.asarray(cells.is_valid().to_numpy(zero_copy_only=False))
            drawn = rng.random(len(there))
            if codes.null_count > np.count_nonzero(~there):
                raise DataError(f"A value of {name!r} is not one of its categories.", hint="Add it to the card.")
            known = np.asarray(codes.fill_null(0).to_numpy(zero_copy_only=False))
            made = np.zeros(len(there), np.int64)
            for code in np.unique(known):
                here = known == code
                made[here] = np.searchsorted(cumulated[code], drawn[here], side="right")
            made = np.minimum(made, len(values) - 1)
            rows = with_cells(rows, name, values.take(pa.array(made, mask=~there)))
        return rows

    def _matrix(self, name: str, counts: Array) -> Array:
        if self.matrices is not None:
            if name not in self.matrices:
                raise BadInput(f"There is no matrix for {name!r}.")
            return require_transition(np.asarray(self.matrices[name], dtype=np.float64), len(counts), name)
        keep = self.keep or 0.0
        if len(counts) < 2:
            return np.ones((1, 1))
        if self.how == "optimal":
            return optimal_matrix(counts, keep, name)
        if keep < 1 / len(counts):
            raise BadInput(
                f"{name}: with keep={keep:g} a value is less likely to stay than to become another of {len(counts)} "
                "categories: two would mostly be flipped (even), or flipped and flipped back (invariant).",
                hint=f"Choose a keep of at least 1/{len(counts)}.",
            )
        even = even_matrix(len(counts), keep)
        return invariant_matrix(even, counts) if self.how == "invariant" else even


def undone(counts: Sequence[float], matrix: Sequence[Sequence[float]]) -> tuple[Array, Array]:
    """Unbiased estimates of the category counts before PRAM, and their standard errors.

    Why this is right: the expected shown counts are Mᵗt, so (Mᵗ)⁻¹ of them is t. Given the original, each row of M
    scatters its counts as a multinomial; the error takes t by its estimate.
    """
    m = require_transition(np.asarray(matrix, dtype=np.float64), len(counts), "PRAM")
    if np.linalg.cond(m) > 1e12:
        raise BadInput("This matrix is not invertible: counts cannot be estimated from the release.")
    back = np.linalg.inv(m.T)
    estimate = back @ np.asarray(counts, dtype=np.float64)
    likely = np.maximum(estimate, 0.0)
    scatter = sum(n * (np.diag(row) - np.outer(row, row)) for n, row in zip(likely, m, strict=True))
    return estimate, np.sqrt(np.maximum(np.diag(back @ scatter @ back.T), 0.0))


def _category_counts(table: Table, column: Column) -> tuple[pa.Array[Any], Array]:
    """All categories of a column, in order, and how many rows have each."""
    found = table.histogram(column.name)
    shown, often = found.column(0), found.column(1).to_pylist()
    counts = {value: n for value, n in zip(shown.to_pylist(), often, strict=True) if value is not None}
    order = list(column.categories) if column.categories else sorted(counts)
    unknown = [value for value in counts if value not in set(order)]
    if unknown:
        raise DataError(f"{column.name!r} holds {unknown[0]!r}, which is not one of its categories.")
    if not order:
        raise DataError(f"{column.name!r} has only missing values.", hint="Leave it out.")
    if len(order) > _MOST:
        raise BadInput(
            f"{column.name!r} has {len(order):,} values: too many for a matrix.", hint="Generalise it first."
        )
    return pa.array(order, type=shown.type), np.array([counts.get(value, 0) for value in order], dtype=np.float64)


def require_transition(matrix: Array, size: int, name: str) -> Array:
    """The matrix, if its rows are chances that add up to 1 and there is one for each category."""
    if matrix.shape != (size, size):
        raise BadInput(f"{name}: the matrix has shape {matrix.shape}, and there are {size} categories.")
    if not np.isfinite(matrix).all() or (matrix < 0).any() or (np.abs(matrix.sum(axis=1) - 1) > 1e-9).any():
        raise BadInput(f"{name}: every row of a transition matrix must be probabilities that add up to 1.")
    return matrix


def even_matrix(size: int, keep: float) -> Array:
    """The matrix that keeps a value with probability ``keep``, and changes it evenly to any other."""
    matrix = np.full((size, size), (1 - keep) / (size - 1))
    np.fill_diagonal(matrix, keep)
    return matrix


def invariant_matrix(matrix: Array, counts: Array) -> Array:
    """The matrix followed by its Bayes inverse: draw by it, then draw an original that could have given this.

    Why this is right: the Bayes inverse takes the shown shares back to the original ones, whatever the matrix is; so
    their product takes the original ones to themselves (Gouweleeuw et al. 1998, two-stage PRAM).
    """
    counts = np.asarray(counts, dtype=np.float64)
    joint = counts[:, None] * matrix
    shown = joint.sum(axis=0)
    safe = np.where(shown > 0, shown, 1.0)
    back = np.where(shown[:, None] > 0, joint.T / safe[:, None], np.eye(len(counts)))
    return np.asarray(matrix @ back)


def optimal_matrix(counts: Array, keep: float, name: str) -> Array:
    """The invariant matrix that hides with ``keep`` and moves values least on average.

    A linear program: a flow from shares to the same shares, with |i - j| for the cost of a way. No way takes more than
    ``keep`` of either end, so that no category becomes another (or stays), and none that is shown was another (or the
    same), with a greater chance: anyone who sees it and knows the matrix names the true one with ``keep`` at best. A
    bound on who stays alone would let a small ``keep`` flip categories almost for sure.

    There is such a matrix if and only if ``keep`` is no less than the largest share: then all rows may be the shares
    themselves; else, as shown and true shares are the same, some shown category must be the commonest with a greater
    chance. Categories that no one has stay out of it.
    """
    there = np.flatnonzero(counts > 0)
    shares = counts[there] / counts.sum()
    if keep < shares.max():
        raise BadInput(
            f"{name}: keep={keep:g} is below the share of the commonest category: an invariant matrix cannot "
            "protect that much, as guessing that category succeeds more often.",
            hint=f"Choose a keep of at least {math.ceil(1000 * shares.max()) / 1000:g}, or how='invariant'.",
        )
    size = len(there)
    cost = np.abs(np.subtract.outer(there, there)).astype(np.float64)
    rows, columns = np.kron(np.eye(size), np.ones(size)), np.kron(np.ones(size), np.eye(size))
    most = keep * np.minimum.outer(shares, shares).ravel()
    ends = np.r_[shares, shares]
    found = Program(cost.ravel(), np.vstack([rows, columns]), ends, ends, 0.0, most).solve()
    if found.x is None:
        raise BadInput(f"{name}: no matrix was found: {found.status.value}.", hint="Take how='invariant'.")
    flow = np.maximum(found.x.reshape(size, size), 0.0)
    matrix = np.eye(len(counts))
    matrix[np.ix_(there, there)] = flow / flow.sum(axis=1, keepdims=True)
    return matrix


def expected_change(matrix: Array, counts: Array) -> float:
    """Expected share of rows that change."""
    total = float(counts.sum())
    return float(counts @ (1 - np.diag(matrix)) / total) if total else 0.0
