"""Several marginals of one table, answered together: the price is split so that all cells together have least error.

A marginal is the table of counts over a set of columns with declared values. Rows that lack a value in one of the
columns asked for are in none of the marginals, so that all marginals are of the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.ask.deviation import Noise
from discreet.ask.fetch import fetch
from discreet.ask.rows import Rows
from discreet.ask.value import Value
from discreet.core import sql
from discreet.core.arrow import arrow_type
from discreet.core.card import Scalar
from discreet.core.engine import Engine
from discreet.core.exact import Number
from discreet.core.kind import Kind
from discreet.core.loss import Concentrated, Loss, Pure, sequential
from discreet.errors import BadInput, NotDeclared, NotFound
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

MOST_CELLS = 1_000_000
_WIDEST = 1000
_COUNT = "discreet_count"
_Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Marginal:
    """The noisy counts of one marginal: an axis a column, a place a declared value."""

    columns: tuple[str, ...]
    values: tuple[tuple[Scalar, ...], ...]
    counts: _Numbers

    def to_arrow(self, kinds: Sequence[Kind]) -> pa.Table:
        """One row a cell: its values, given the kinds of the columns, and its count as ``n``."""
        cells = list(product(*self.values))
        shown = {
            name: pa.array([cell[place] for cell in cells], arrow_type(kind))
            for place, (name, kind) in enumerate(zip(self.columns, kinds, strict=True))
        }
        return pa.table({**shown, "n": pa.array(self.counts.ravel())})


@dataclass(frozen=True)
class Marginals:
    """What will be counted, and the noise each marginal gets.

    Why this is private: a row is in one cell of a marginal. So a unit changes the counts of a marginal by at most
    its number of rows r, both in all and in Euclidean distance (all of them in one cell), and each marginal loses
    Pure(r / scale) with discrete Laplace noise, Concentrated(r² / 2σ²) with discrete Gaussian; the losses of
    all marginals add up (Dwork and others 2006; Bun and Steinke 2016). Which cells there are, and how the
    price is split, follows from declarations alone. Making marginals agree is done to noisy counts.
    """

    rows: Rows
    sets: tuple[tuple[str, ...], ...]
    noises: tuple[Noise, ...]

    @classmethod
    def for_loss(cls, loss: Pure | Concentrated, rows: Rows, sets: Sequence[Sequence[str]]) -> Marginals:
        """The marginals over these sets of columns, that lose ``loss`` together.

        Why the split is best: m cells with noise of scale 1/ε have the squared error 2m/ε², and of the sums
        2 Σ mᵢ/εᵢ² with a given Σ εᵢ the least has εᵢ in proportion to the cube root of mᵢ; with Gaussian noise it is Σ
        mᵢ/2ρᵢ, and ρᵢ in proportion to the square root.
        """
        wanted = tuple(tuple(columns) for columns in sets)
        if not wanted or len({frozenset(columns) for columns in wanted}) < len(wanted) or not all(wanted):
            raise BadInput("Marginals are over one or more different sets of columns.")
        if any(len(set(columns)) < len(columns) for columns in wanted):
            raise BadInput("A marginal has a column once.")
        cells = [prod(len(domain(rows, name)) for name in columns) for columns in wanted]
        if sum(cells) > MOST_CELLS:
            raise BadInput(f"These marginals have {sum(cells):,} cells; at most {MOST_CELLS:,} are counted.")
        noises: list[Noise] = []
        for share in _shares(cells, 1 / 3 if isinstance(loss, Pure) else 1 / 2):
            if isinstance(loss, Pure):
                noises.append(DiscreteLaplace.for_loss(Pure(loss.epsilon * share), rows.most))
            else:
                noises.append(DiscreteGaussian.for_loss(Concentrated(loss.rho * share), rows.most))
        return cls(rows, wanted, tuple(noises))

    def loss(self) -> Loss:
        """What all marginals lose together."""
        return sequential(noise.loss(self.rows.most) for noise in self.noises)

    def variances(self) -> tuple[float, ...]:
        """The variance of a cell's count, for each marginal. Making them agree makes none larger."""
        return tuple(noise.variance for noise in self.noises)

    def errors(self, beta: Number) -> tuple[int, ...]:
        """How far one cell's count may be off, for each marginal, with probability 1 - beta, before they agree."""
        return tuple(noise.error(beta) for noise in self.noises)

    def query(self, columns: Sequence[str]) -> exp.Select:
        """How many rows are in each cell of a marginal that has any."""
        keys = [self.rows.columns[name].sql for name in columns]
        shown = [sql.named(key.copy(), name) for key, name in zip(keys, columns, strict=True)]
        query = exp.select(*shown, sql.named(sql.count_rows(), _COUNT)).from_(self.rows.query.subquery("r"))
        for name in dict.fromkeys(name for each in self.sets for name in each):
            known = [sql.literal(value) for value in domain(self.rows, name)]
            query = query.where(exp.In(this=self.rows.columns[name].sql.copy(), expressions=known))
        return query.group_by(*(key.copy() for key in keys))

    def measure(self, engine: Engine, entropy: Entropy = SYSTEM) -> tuple[Marginal, ...]:
        """The noisy marginals, as they are."""
        found = []
        for columns, noise in zip(self.sets, self.noises, strict=True):
            true = self._counted(columns, fetch(engine, self.query(columns)))
            values = tuple(domain(self.rows, name) for name in columns)
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
            weights = {i: 1 / (spread[i] * max(self.noises[i].variance, 1e-100)) for i in over}
            mean = sum(weights[i] * tables[i] for i in over) / sum(weights.values())
            for i in over:
                back = [name for name in self.sets[i] if name in shared]
                change = _ordered((mean - tables[i]) / spread[i], order, back)
                counts[i] += np.expand_dims(change, drops[i])
        return tuple(Marginal(m.columns, m.values, table) for m, table in zip(noisy, counts, strict=True))

    def _counted(self, columns: Sequence[str], found: pa.Table) -> _Numbers:
        places = [{value: i for i, value in enumerate(domain(self.rows, name))} for name in columns]
        counts = np.zeros([len(place) for place in places], dtype=np.int64)
        keys = [found.column(name).to_pylist() for name in columns]
        for *cell, n in zip(*keys, found.column(_COUNT).to_pylist(), strict=True):
            where = [place.get(value) for place, value in zip(places, cell, strict=True)]
            if None not in where:  # an engine may hold equal to a declared value what Python does not
                counts[tuple(where)] += n
        return counts


def domain(rows: Rows, name: str) -> tuple[Scalar, ...]:
    """The declared values of a column: its categories, both truths, or the whole numbers between its bounds."""
    value = rows.columns.get(name)
    if value is None:
        raise NotFound(f"There is no column {name!r}.", hint=f"There are: {', '.join(rows.columns)}.")
    declared = _declared(value)
    if declared is None:
        raise NotDeclared(
            f"A marginal over {name!r} needs its values, and the card declares none.",
            hint=f"Declare categories, or bounds of a whole number with {_WIDEST:,} values at most.",
        )
    return declared


def _declared(value: Value) -> tuple[Scalar, ...] | None:
    if value.domain is not None:
        return value.domain
    if value.kind is Kind.BOOLEAN:
        return False, True
    if value.kind is Kind.INTEGER and value.within is not None and value.within[1] - value.within[0] < _WIDEST:
        return tuple(range(int(value.within[0]), int(value.within[1]) + 1))
    return None


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
