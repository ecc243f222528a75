"""Noisy counts of leaf tables, made consistent by least squares.

A row that lacks a declared value in one of the columns asked for is in none of the tables, so that all tables are of
the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card
from discreet.core.exact import Number
from discreet.core.kind import Scalar
from discreet.core.loss import Concentrated, Loss, Pure, sequential
from discreet.core.table import Table
from discreet.engines.contribution import owned_rows
from discreet.engines.limits import fetch
from discreet.engines.measures import COUNT, cell_counts
from discreet.noise.deviation import Noise, Weighted, weighted_error
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.releases.method import rows_per_unit
from discreet.verbs.tabulate.private.strategy import Columns, Strategy, subsets
from discreet.verbs.tabulate.tables.crosstable import Numbers

SMALLEST = 1e-100
"""Smallest variance that is divided by."""
_CANCELLED = 1e-12  # what is left of a weight that is zero


@dataclass(frozen=True)
class NoisyCounts:
    """What will be counted, and the noise each table of leaves gets.

    Why this is private: a row is in one cell of a table of leaves, or in none of any. So a unit changes the counts of a
    table by at most its number of rows r, both in all and in Euclidean distance (all of them in one cell), and
    each table loses Pure(r / scale) with discrete Laplace noise, Concentrated(r² / 2σ²) with discrete Gaussian; the
    losses of all tables add up (Dwork and others 2006; Bun and Steinke 2016). Which cells there are, what is counted,
    and how the price is split, follows from declarations alone. Bringing tables into agreement is done to noisy counts.
    """

    values: Mapping[str, tuple[Scalar, ...]]
    """The declared values of every column that is in a table."""
    sets: tuple[tuple[str, ...], ...]
    noises: tuple[Noise, ...]

    @classmethod
    def for_loss(
        cls, loss: Pure | Concentrated, card: Card, values: Mapping[str, tuple[Scalar, ...]], strategy: Strategy
    ) -> NoisyCounts:
        """What the strategy counts of a bounded table, with the least noise that loses ``loss`` in all."""
        noises = tuple(noise_of(loss, share, rows_per_unit(card)) for share in strategy.shares)
        return cls(values, tuple(tuple(name for name in values if name in one) for one in strategy.sets), noises)

    def loss(self, rows_per_unit: int = 1) -> Loss:
        """Privacy loss of all tables together, given the largest number of rows of a unit."""
        return sequential(noise.loss(rows_per_unit) for noise in self.noises)

    @property
    def precision(self) -> Precision:
        """How far off whatever is made of the counts will be."""
        leaves = {name: len(values) for name, values in self.values.items()}
        return Precision(leaves, tuple(map(frozenset, self.sets)), self.noises)

    def query(self, table: Table, columns: Sequence[str]) -> exp.Select:
        """How many rows are in each cell that has any."""
        rows = owned_rows(table, rename=False)
        for name, values in self.values.items():
            rows = rows.where(exp.In(this=sql.column(name), expressions=[sql.literal(value) for value in values]))
        return cell_counts(rows, {name: sql.column(name) for name in columns})

    def measure(self, table: Table, entropy: Entropy = SYSTEM) -> list[Numbers]:
        """The noisy counts of every table, as they are: an axis a column, a place a declared value."""
        found = []
        for columns, noise in zip(self.sets, self.noises, strict=True):
            true = self._counted(columns, fetch(table.engine, self.query(table, columns)))
            found.append(noise.add_all(true, entropy))
        return found

    def agreed(self, noisy: Sequence[Numbers]) -> list[Numbers]:
        """The tables nearest to the noisy ones, by weighted least squares, that agree wherever they overlap.

        Why this is right: for sets of columns S that tables share, the smallest first, all tables over S or more
        are given one and the same table over S, the mean of theirs weighted by precision; each spreads the
        change evenly over its cells (Qardaji, Yang, Li 2014). What is done for S changes nothing of what was
        agreed on before, as the overlap of S with an earlier set was agreed on too. As all cells of a table
        have the same noise, its parts that belong to different S are uncorrelated, so the best of each part is
        the best of all.
        """
        counts = [np.array(one, dtype=np.float64) for one in noisy]
        for shared in overlaps(map(frozenset, self.sets)):
            over = [i for i, columns in enumerate(self.sets) if shared <= set(columns)]
            tables = {i: self._summed(counts[i], i, shared) for i in over}
            spread = {i: prod(len(self.values[name]) for name in self.sets[i] if name not in shared) for i in over}
            weights = {i: 1 / (spread[i] * max(self.noises[i].variance, SMALLEST)) for i in over}
            mean = sum(weights[i] * tables[i] for i in over) / sum(weights.values())
            for i in over:
                drops = tuple(place for place, name in enumerate(self.sets[i]) if name not in shared)
                counts[i] += np.expand_dims((mean - tables[i]) / spread[i], drops)
        return counts

    def table(self, agreed: Sequence[Numbers], columns: Columns) -> Numbers:
        """The table of leaves over these columns, their axes in the order of ``values``."""
        over = [i for i, one in enumerate(self.sets) if columns <= set(one)]
        smallest = min(over, key=lambda i: agreed[i].size)
        return self._summed(agreed[smallest], smallest, columns)

    def _summed(self, counts: Numbers, which: int, columns: Columns) -> Numbers:
        drops = tuple(place for place, name in enumerate(self.sets[which]) if name not in columns)
        return np.asarray(counts.sum(axis=drops))

    def _counted(self, columns: Sequence[str], found: pa.Table) -> Numbers:
        places = [{value: i for i, value in enumerate(self.values[name])} for name in columns]
        counts = np.zeros([len(place) for place in places], dtype=np.int64)
        keys = [found.column(name).to_pylist() for name in columns]
        for *cell, n in zip(*keys, found.column(COUNT).to_pylist(), strict=True):
            where = [place.get(value) for place, value in zip(places, cell, strict=True)]
            if None not in where:  # an engine may hold equal to a declared value what Python does not
                counts[tuple(where)] += n
        return counts


def noise_of(loss: Pure | Concentrated, share: Fraction, rows_per_unit: int) -> Noise:
    """The least noise of a table of counts that may lose a share of ``loss``."""
    if isinstance(loss, Pure):
        return DiscreteLaplace.for_loss(Pure(loss.epsilon * share), rows_per_unit)
    return DiscreteGaussian.for_loss(Concentrated(loss.rho * share), rows_per_unit)


def overlaps(sets: Iterable[Columns]) -> list[Columns]:
    """Everything that two or more of the sets share, however they are intersected, the smallest first."""
    every = list(sets)
    found: set[Columns] = set()
    for one in every:
        found |= {one & other for other in found} | {one & other for other in every if other != one}
    return sorted(found, key=lambda shared: (len(shared), sorted(shared)))


@dataclass(frozen=True)
class Precision:
    """Tables of leaves that were counted with noise, every cell of a table with noise of the same kind."""

    leaves: Mapping[str, int]
    """How many leaves each column has."""
    sets: tuple[Columns, ...]
    noises: tuple[Noise, ...]

    def weights(self, cell: Mapping[str, int]) -> list[Weighted]:
        """Which noises the least-squares figure of a cell is made of: of each counted table, how much of how many.

        ``cell`` says for each column of a table how many of its leaves the cell is the total of; columns that
        are left out, of all.

        Why this is right: let every column's counts split into their mean and what differs from it. The tables that
        were counted see the parts that these splits make, one for each set B of columns, each part evenly and
        no two together, since all cells of a table have the same noise; so the best estimate is, part by part, the
        mean of all tables that see it, weighted by their precision p over the number of their cells. A part's
        precision is c = Σ p / cells, and a cell of the table A weighs in it with p / (cells · c) times the product
        over the columns of what the two have in common of B: in or out (1 or 0) less the share f of the leaves within
        B, f outside (McKenna, Miklau, Hay, Machanavajjhala 2018; Xiao, He, Zhang, Kifer 2023).
        """
        share = {name: count / self.leaves[name] for name, count in cell.items()}
        found = []
        for table, noise, precision in zip(self.sets, self.noises, self._precisions, strict=True):
            common = [name for name in cell if name in table]
            beyond = math.prod(share[name] for name in cell if name not in table)
            times = np.full((2,) * len(common), math.prod(self.leaves[name] for name in table if name not in cell))
            sizes = np.empty((2,) * len(common))  # first by outside and within B, then by out of the cell and in it
            for which in np.ndindex(sizes.shape):
                part = frozenset(name for name, within in zip(common, which, strict=True) if within)
                sizes[which] = precision / (self._known(part) * self._size(table))
            for axis, name in enumerate(common):
                f, inside = share[name], cell[name]
                sizes = np.moveaxis(np.tensordot([[f, -f], [f, 1 - f]], sizes, axes=(1, axis)), 0, axis)
                many = np.array([self.leaves[name] - inside, inside])
                times = times * many.reshape([-1 if place == axis else 1 for place in range(len(common))])
            there = (times > 0) & (np.abs(sizes) > _CANCELLED)
            found.append(Weighted(noise, sizes[there] * beyond, times[there].astype(np.float64)))
        return found

    def variance(self, cell: Mapping[str, int]) -> float:
        """The variance of the least-squares figure of a cell: Σ over its parts of their squared length over c."""
        share = {name: count / self.leaves[name] for name, count in cell.items()}
        total = 0.0
        for part in subsets(cell):
            length = math.prod(f * (1 - f) if name in part else f * f for name, f in share.items())
            if length:
                total += length / self._known(part)
        return total

    def error(self, cell: Mapping[str, int], beta: Number) -> float:
        """How far the least-squares figure of a cell may be off, with probability 1 - beta."""
        return weighted_error(self.weights(cell), beta)

    @cached_property
    def _precisions(self) -> tuple[float, ...]:
        return tuple(1 / max(noise.variance, SMALLEST) for noise in self.noises)

    def _known(self, part: Columns) -> float:
        """With what precision a part is known, in all."""
        if part not in self._parts:
            seen = zip(self.sets, self._precisions, strict=True)
            self._parts[part] = sum(precision / self._size(table) for table, precision in seen if part <= table)
        return self._parts[part]

    @cached_property
    def _parts(self) -> dict[Columns, float]:
        return {}

    def _size(self, columns: Iterable[str]) -> int:
        return math.prod(self.leaves[name] for name in columns)
