"""Data shuffling (Muralidhar and Sarathy 2006): confidential values are dealt out again by a model of their ranks.

Ranks become normal scores; the scores of the confidential columns are drawn anew given those of the others (a Gaussian
copula), and the value of rank j goes where the drawn score has rank j. Every column keeps all its values, rank
correlations stay roughly, and given the columns that are ``given`` the new values depend on the old ones through
nothing but these figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import MASKING
from discreet.core.kind import ORDERED
from discreet.core.optional import extra
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.noise.masking import Generator, generator
from discreet.verbs.publish.mask.masker import Masked, columns_to_mask, require_given
from discreet.verbs.publish.mask.moments import matrix_of, root
from discreet.verbs.publish.mask.swap import ranks
from discreet.verbs.publish.mask.values import Array, reorder, with_column


@declare(MASKING, "shuffle", paper="Muralidhar and Sarathy 2006", extra="attack")
class Shuffle:
    """Values reassigned by a model of their ranks, depending on columns that stay unchanged."""

    name: ClassVar[str]
    columns: Sequence[str] = parameter("Columns to mask; default: all quasi-identifiers.", default=(), clause="on")
    given: Sequence[str] = parameter("Columns that the new values depend on.", default=(), clause="given")

    def mask(self, table: Table, seed: int | None = None) -> Masked:
        """All rows at once. NULLs stay where they are."""
        names = columns_to_mask(table.card, self.columns, ORDERED, self.name)
        require_given(table.card, self.given, names)
        for name in self.given:
            if table.card[name].kind not in ORDERED:
                raise BadInput(f"Shuffling needs ordered columns; {name!r} is {table.card[name].kind.value}.")
        rng, rows = generator(seed), table.payload()
        correlations, drawn = _draw_scores(_scores(matrix_of(rows, (*names, *self.given)), rng), len(names), rng)
        for place, name in enumerate(names):
            there, ranked = ranks(rows.column(name), rng)
            source = np.arange(rows.num_rows)
            source[there[np.argsort(drawn[there, place], kind="stable")]] = there[ranked]
            rows = with_column(rows, name, reorder(rows.column(name), source))
        on = f", given {', '.join(self.given)}" if self.given else ""
        return Masked(
            rows,
            {
                "columns": list(names),
                "given": list(self.given),
                "marginals": "unchanged",
                "normal_score_correlations": [[round(float(c), 6) for c in row] for row in correlations],
            },
            (f"{', '.join(names)}: reassigned by a Gaussian copula of ranks{on}.",),
            (
                "Given columns are unchanged and may single people out.",
                "The largest and smallest values are still in the release.",
                "Only monotone dependence is kept; the recipe gives the correlations of normal scores.",
            ),
        )


def _scores(values: Array, rng: Generator) -> Array:
    """Normal scores of the ranks, ties at random; a missing value is in the middle, so that it says nothing."""
    with extra("attack"):
        from scipy.special import ndtri
    scores = np.zeros(values.shape)
    for place in range(values.shape[1]):
        there = np.flatnonzero(~np.isnan(values[:, place]))
        shuffled = rng.permutation(there)
        order = shuffled[np.argsort(values[shuffled, place], kind="stable")]
        scores[order, place] = ndtri((np.arange(len(order)) + 0.5) / max(1, len(order)))
    return scores


def _draw_scores(scores: Array, count: int, rng: Generator) -> tuple[Array, Array]:
    """The correlations of the scores, and the first ``count`` columns drawn anew given the others."""
    rows = len(scores)
    if rows <= scores.shape[1]:
        raise DataError(f"{rows:,} rows are too few to shuffle {scores.shape[1]} columns.")
    spread = np.sqrt((scores**2).mean(axis=0))
    spread[spread == 0] = 1.0
    scores = scores / spread
    correlations = scores.T @ scores / rows
    own, shared, others = correlations[:count, :count], correlations[:count, count:], correlations[count:, count:]
    weights = shared @ np.linalg.pinv(others)
    left = root(own - weights @ shared.T)
    drawn: Array = scores[:, count:] @ weights.T + rng.standard_normal((rows, count)) @ left.T
    return correlations, drawn
