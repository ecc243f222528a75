"""Noisy counts of leaf tables, made consistent by least squares.

A row that lacks a declared value in one of the columns asked for is in none of the tables, so that all tables are of
the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.budget.dp_statement import rows_per_unit
from discreet.core import sql
from discreet.core.card import Card
from discreet.core.kind import Scalar
from discreet.core.loss import Concentrated, Loss, Pure, sequential
from discreet.core.table import Table
from discreet.engines.contribution import COUNT, cell_counts, owned_rows
from discreet.engines.limits import fetch
from discreet.noise.deviation import Noise
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.tabulate.private.precision import SMALLEST, Precision
from discreet.verbs.tabulate.private.strategy import Strategy
from discreet.verbs.tabulate.private.workload import Columns

_Numbers = np.ndarray[Any, Any]


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
        most = rows_per_unit(card)
        noises: list[Noise] = []
        for share in strategy.shares:
            if isinstance(loss, Pure):
                noises.append(DiscreteLaplace.for_loss(Pure(loss.epsilon * share), most))
            else:
                noises.append(DiscreteGaussian.for_loss(Concentrated(loss.rho * share), most))
        return cls(values, tuple(tuple(name for name in values if name in one) for one in strategy.sets), tuple(noises))

    def loss(self, rows_per_unit: int = 1) -> Loss:
        """What all tables lose together when a unit has at most so many rows."""
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

    def measure(self, table: Table, entropy: Entropy = SYSTEM) -> list[_Numbers]:
        """The noisy counts of every table, as they are: an axis a column, a place a declared value."""
        found = []
        for columns, noise in zip(self.sets, self.noises, strict=True):
            true = self._counted(columns, fetch(table.engine, self.query(table, columns)))
            found.append(noise.add_all(true, entropy))
        return found

    def agreed(self, noisy: Sequence[_Numbers]) -> list[_Numbers]:
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

    def table(self, agreed: Sequence[_Numbers], columns: Columns) -> _Numbers:
        """The table of leaves over these columns, their axes in the order of ``values``."""
        over = [i for i, one in enumerate(self.sets) if columns <= set(one)]
        smallest = min(over, key=lambda i: agreed[i].size)
        return self._summed(agreed[smallest], smallest, columns)

    def _summed(self, counts: _Numbers, which: int, columns: Columns) -> _Numbers:
        drops = tuple(place for place, name in enumerate(self.sets[which]) if name not in columns)
        return np.asarray(counts.sum(axis=drops))

    def _counted(self, columns: Sequence[str], found: pa.Table) -> _Numbers:
        places = [{value: i for i, value in enumerate(self.values[name])} for name in columns]
        counts = np.zeros([len(place) for place in places], dtype=np.int64)
        keys = [found.column(name).to_pylist() for name in columns]
        for *cell, n in zip(*keys, found.column(COUNT).to_pylist(), strict=True):
            where = [place.get(value) for place, value in zip(places, cell, strict=True)]
            if None not in where:  # an engine may hold equal to a declared value what Python does not
                counts[tuple(where)] += n
        return counts


def overlaps(sets: Iterable[Columns]) -> list[Columns]:
    """Everything that two or more of the sets share, however they are intersected, the smallest first."""
    every = list(sets)
    found: set[Columns] = set()
    for one in every:
        found |= {one & other for other in found} | {one & other for other in every if other != one}
    return sorted(found, key=lambda shared: (len(shared), sorted(shared)))
