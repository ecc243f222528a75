"""Several marginals of one table, answered together: the price is split so that all cells together have least error.

A marginal is the table of counts over a set of columns with declared values. Rows that lack a value in one of the
columns asked for are in none of the marginals, so that all marginals are of the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.budget.promise import rows_per_unit
from discreet.core import sql
from discreet.core.card import Card, Scalar
from discreet.core.exact import Number
from discreet.core.kind import Kind
from discreet.core.loss import Concentrated, Loss, Pure, sequential
from discreet.core.table import Table
from discreet.engines.fetch import fetch
from discreet.errors import BadInput, NotDeclared
from discreet.noise.deviation import Noise, spread_error
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

MOST_CELLS = 1_000_000
_WIDEST = 1000
_COUNT = "discreet_count"
_SMALLEST = 1e-100  # a variance to divide by
_Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Marginal:
    """The noisy counts of one marginal: an axis a column, a place a declared value."""

    columns: tuple[str, ...]
    values: tuple[tuple[Scalar, ...], ...]
    counts: _Numbers


@dataclass(frozen=True)
class MarginalCounts:
    """What will be counted, and the noise each marginal gets.

    Why this is private: a row is in one cell of a marginal. So a unit changes the counts of a marginal by at most
    its number of rows r, both in all and in Euclidean distance (all of them in one cell), and each marginal loses
    Pure(r / scale) with discrete Laplace noise, Concentrated(r² / 2σ²) with discrete Gaussian; the losses of
    all marginals add up (Dwork and others 2006; Bun and Steinke 2016). Which cells there are, and how the
    price is split, follows from declarations alone. Making marginals agree is done to noisy counts.
    """

    values: Mapping[str, tuple[Scalar, ...]]
    """The declared values of every column that is in a marginal."""
    sets: tuple[tuple[str, ...], ...]
    noises: tuple[Noise, ...]

    @classmethod
    def for_loss(cls, loss: Pure | Concentrated, card: Card, sets: Sequence[Sequence[str]]) -> MarginalCounts:
        """The marginals over these sets of columns of a bounded table, that lose ``loss`` together.

        Why the split is best: m cells with noise of scale 1/ε have the squared error 2m/ε², and of the sums
        2 Σ mᵢ/εᵢ² with a given Σ εᵢ the least has εᵢ in proportion to the cube root of mᵢ; with Gaussian noise it is Σ
        mᵢ/2ρᵢ, and ρᵢ in proportion to the square root.
        """
        wanted = tuple(tuple(columns) for columns in sets)
        if not wanted or len({frozenset(columns) for columns in wanted}) < len(wanted) or not all(wanted):
            raise BadInput("Marginals are over one or more different sets of columns.")
        if any(len(set(columns)) < len(columns) for columns in wanted):
            raise BadInput("A marginal has a column once.")
        values = {name: declared_values(card, name) for columns in wanted for name in columns}
        cells = [prod(len(values[name]) for name in columns) for columns in wanted]
        if sum(cells) > MOST_CELLS:
            raise BadInput(f"These marginals have {sum(cells):,} cells; at most {MOST_CELLS:,} are counted.")
        noises: list[Noise] = []
        most = rows_per_unit(card)
        for share in _shares(cells, 1 / 3 if isinstance(loss, Pure) else 1 / 2):
            if isinstance(loss, Pure):
                noises.append(DiscreteLaplace.for_loss(Pure(loss.epsilon * share), most))
            else:
                noises.append(DiscreteGaussian.for_loss(Concentrated(loss.rho * share), most))
        return cls(values, wanted, tuple(noises))

    def loss(self, rows_per_unit: int = 1) -> Loss:
        """What all marginals lose together when a unit has at most so many rows."""
        return sequential(noise.loss(rows_per_unit) for noise in self.noises)

    def variances(self) -> tuple[float, ...]:
        """The variance of a cell's count, for each marginal. Making them agree makes none larger."""
        return tuple(noise.variance for noise in self.noises)

    def errors(self, beta: Number) -> tuple[float, ...]:
        """How far one cell's count may be off once the marginals agree, for each of them, with probability 1 - beta.

        Why this is right: alone, a marginal is told as it was measured. Several are projected: with deviations as
        units, a cell's weights are a row of a symmetric projection, so none is above 1 and its variance V is not
        above that of its own noise. In counts, the weight of a cell whose noise has a smaller deviation is at most
        the ratio r of both, and sinh(w x) <= (w / r) sinh(r x) for w <= r. So the logarithms of the moments of all
        noises in it, which add up to less than the logarithm of the sum would (-ln(1 - a) - ln(1 - b) <=
        -ln(1 - a - b)), are at most those of r times one noise of variance V / r²; Chernoff's bound does the rest.
        """
        if len(self.noises) == 1:
            return (float(self.noises[0].error(beta)),)
        least = max(min(self.variances()), _SMALLEST)
        return tuple(spread_error(one, math.sqrt(max(one.variance / least, 1.0)), beta) for one in self.noises)

    def query(self, table: Table, columns: Sequence[str]) -> exp.Select:
        """How many rows are in each cell of a marginal that has any."""
        keys = [sql.column(name) for name in columns]
        query = table.query(*(key.copy() for key in keys), sql.named(sql.count_rows(), _COUNT))
        for name, values in self.values.items():
            query = query.where(exp.In(this=sql.column(name), expressions=[sql.literal(value) for value in values]))
        return query.group_by(*keys)

    def measure(self, table: Table, entropy: Entropy = SYSTEM) -> tuple[Marginal, ...]:
        """The noisy marginals, as they are."""
        found = []
        for columns, noise in zip(self.sets, self.noises, strict=True):
            true = self._counted(columns, fetch(table.engine, self.query(table, columns)))
            values = tuple(self.values[name] for name in columns)
            found.append(Marginal(columns, values, noise.add_all(true, entropy)))
        return tuple(found)

    def agreed(self, noisy: Sequence[Marginal]) -> tuple[Marginal, ...]:
        """The marginals nearest to the noisy ones, by weighted least squares, that agree wherever they overlap.

        Why this is right: for sets of columns S that marginals share, the smallest first, all marginals over S or more
        are given one and the same table over S, the mean of theirs weighted by variance; each spreads the
        change evenly over its cells (Qardaji, Yang, Li 2014). What is done for S changes nothing of what was
        agreed on before, as the overlap of S with an earlier set was agreed on too. As all cells of a marginal
        have the same noise, its parts that belong to different S are uncorrelated, so the best of each part is
        the best of all.
        """
        counts = [marginal.counts.astype(np.float64) for marginal in noisy]
        for shared in _overlaps(self.sets):
            over = [i for i, columns in enumerate(self.sets) if shared <= set(columns)]
            drops = {i: tuple(p for p, name in enumerate(self.sets[i]) if name not in shared) for i in over}
            spread = {i: prod(counts[i].shape[axis] for axis in drops[i]) for i in over}
            order = [name for name in self.sets[over[0]] if name in shared]
            tables = {i: _ordered(counts[i].sum(axis=drops[i]), self.sets[i], order) for i in over}
            weights = {i: 1 / (spread[i] * max(self.noises[i].variance, _SMALLEST)) for i in over}
            mean = sum(weights[i] * tables[i] for i in over) / sum(weights.values())
            for i in over:
                back = [name for name in self.sets[i] if name in shared]
                change = _ordered((mean - tables[i]) / spread[i], order, back)
                counts[i] += np.expand_dims(change, drops[i])
        return tuple(Marginal(m.columns, m.values, table) for m, table in zip(noisy, counts, strict=True))

    def _counted(self, columns: Sequence[str], found: pa.Table) -> _Numbers:
        places = [{value: i for i, value in enumerate(self.values[name])} for name in columns]
        counts = np.zeros([len(place) for place in places], dtype=np.int64)
        keys = [found.column(name).to_pylist() for name in columns]
        for *cell, n in zip(*keys, found.column(_COUNT).to_pylist(), strict=True):
            where = [place.get(value) for place, value in zip(places, cell, strict=True)]
            if None not in where:  # an engine may hold equal to a declared value what Python does not
                counts[tuple(where)] += n
        return counts


def declared_values(card: Card, name: str) -> tuple[Scalar, ...]:
    """The declared values of a column: its categories, both truths, or the whole numbers between its bounds."""
    column = card[name]
    if column.categories is not None:
        return column.categories
    if column.kind is Kind.BOOLEAN:
        return False, True
    if column.kind is Kind.INTEGER and column.bounds is not None:
        low, high = (int(end) for end in column.bounds)  # type: ignore[arg-type]  # the card saw to it
        if high - low < _WIDEST:
            return tuple(range(low, high + 1))
    raise NotDeclared(
        f"A marginal over {name!r} needs its values, and the card declares none.",
        hint=f"Declare categories, or bounds of a whole number with {_WIDEST:,} values at most.",
    )


def _shares(cells: Sequence[int], power: float) -> list[Fraction]:
    """Shares that add up to exactly 1, nearly in proportion to a power of the cells."""
    parts = [Fraction(max(1, round(1024 * count**power))) for count in cells]
    return [part / sum(parts) for part in parts]


def _overlaps(sets: Sequence[Sequence[str]]) -> list[frozenset[str]]:
    """Everything that two or more of the sets share, however they are intersected, the smallest first."""
    found: set[frozenset[str]] = set()
    for columns in sets:
        one = frozenset(columns)
        found |= {one & other for other in found} | {one & frozenset(other) for other in sets if set(other) != one}
    return sorted(found, key=len)


def _ordered(table: _Numbers, axes: Sequence[str], order: Sequence[str]) -> _Numbers:
    """``table`` with its axes (those of ``axes`` that are in ``order``) in that order."""
    have = [name for name in axes if name in order]
    return np.asarray(table).transpose([have.index(name) for name in order])
