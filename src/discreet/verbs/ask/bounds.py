"""Bounds for a column of which none are known: a private search over powers of two, charged like any answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card
from discreet.core.engine import Engine
from discreet.core.exact import Number, positive, probability, whole
from discreet.core.kind import Kind
from discreet.core.loss import Pure
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.engines.contribution import OwnedRows, owned_rows
from discreet.engines.limits import fetch
from discreet.engines.measures import COUNT, cell_counts
from discreet.errors import BadInput
from discreet.noise.deviation import sum_error
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.laplace import DiscreteLaplace
from discreet.releases.method import Method, kept_rows, loss_of, promised, rows_per_unit
from discreet.verbs.ask.distribution import place
from discreet.verbs.ask.value import Interval, Value

MAGNITUDE = 40
"""The largest power of two looked at, and, for numbers that are not whole, minus the smallest."""
_SLICE = "discreet_slice"


@dataclass(frozen=True)
class Bounds(Method[pa.Table]):
    """Powers of two between which all but a few values of a column of numbers lie.

    Why this is private: the search counts every row once, with noise, and sees noisy counts alone; see
    ``BoundsSearch``. So the bounds may be declared on a card: they were not taken from the data, but answered from it
    at a price.

    The result is one row: ``low`` and ``high``, and how many rows at most lie ``outside`` on either side, with 95 %
    confidence. Both are NULL if there seem to be too few rows to tell.
    """

    name: ClassVar[str] = "bounds"
    column: str
    epsilon: Number

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The column."""
        return {"column": self.column}

    def steps(self, card: Card) -> tuple[str, ...]:
        """What is done, in words."""
        return (
            kept_rows(card),
            "the rows between powers of two were counted and given exact noise, and searched from both ends",
        )

    def promise(self, card: Card) -> Statement:
        """The loss that was asked for; an error if the thresholds cannot be worked out."""
        search, _ = self._plan(card)
        search.noise.require_drawable()
        _ = search.outside  # kept for the run
        return promised(search.loss(rows_per_unit(card)), card)

    def expected_errors(self, card: Card) -> Mapping[str, float | None]:
        """How many rows may lie outside the bounds on either side."""
        return {"outside": float(self._plan(card)[0].outside)}

    def run(self, table: Table, entropy: Entropy = SYSTEM) -> pa.Table:
        """Count on the engine, add noise, and search."""
        search, value = self._plan(table.card)
        found = search.search(table.engine, value, owned_rows(table, rename=False), entropy)
        low, high = (None, None) if found is None else found
        type_ = pa.int64() if value.kind is Kind.INTEGER else pa.float64()
        as_number = int if value.kind is Kind.INTEGER else float
        return pa.table(
            {
                "low": pa.array([None if low is None else as_number(low)], type_),
                "high": pa.array([None if high is None else as_number(high)], type_),
                "outside": pa.array([search.outside], pa.int64()),
            }
        )

    def _plan(self, card: Card) -> tuple[BoundsSearch, Value]:
        spent = loss_of(self.epsilon, None)
        assert isinstance(spent, Pure)  # noqa: S101  # it is an epsilon
        value = Value(sql.column(self.column), card[self.column].kind)
        return BoundsSearch.for_loss(spent, value, rows_per_unit(card)), value


@dataclass(frozen=True)
class BoundsSearch:
    """Finds powers of two between which all but a few values of a column lie.

    Slices end at 0 and at plus and minus every power of two that is looked at; the first and the last slice are open.
    All are counted with noise. From the top down, the noisy counts are added up until their sum passes a
    threshold that noise alone passes with hardly any chance: the slice where it does holds the upper bound. The same
    is done from the bottom up.

    What is promised, together with probability 1 - beta, whatever the data is:

    * above the upper bound, and below the lower one, lie at most ``outside`` rows each, which is known beforehand
      (those beyond the largest power of two come on top, and are clamped there);
    * neither bound is further out than it must be: some row lies in the slice that it ends, or beyond, so that it is
      off by a factor of two at most, or by a slice at zero;
    * with more than 2 · ``outside`` rows, bounds are found.

    Why this is private: a row is in one slice, so a unit changes the counts by at most its number of rows in all, and
    discrete Laplace noise of ``scale`` loses Pure(rows_per_unit / scale) for both bounds together (Dwork and
    others 2006; Wilson and others 2020 find bounds by the same slices). The slices are fixed beforehand, and the
    search sees noisy counts alone.
    """

    ends: tuple[Fraction, ...]
    """Where one slice ends and the next begins; a number that is an end is in the slice above it."""
    noise: DiscreteLaplace
    beta: Fraction = Fraction(1, 20)

    def __post_init__(self) -> None:
        if len(self.ends) < 2 or any(a >= b for a, b in zip(self.ends, self.ends[1:], strict=False)):
            raise BadInput("Slices need two ends or more, each above the one before.")
        object.__setattr__(self, "beta", probability(self.beta, "beta"))

    @classmethod
    def for_loss(cls, loss: Pure, value: Value, rows_per_unit: int = 1, beta: Number = "1/20") -> BoundsSearch:
        """The search for bounds of ``value`` that loses ``loss``."""
        if not value.number:
            raise BadInput(f"Bounds are searched for numbers, not for {value.kind.value}.")
        powers = [Fraction(2) ** k for k in range(0 if value.kind is Kind.INTEGER else -MAGNITUDE, MAGNITUDE + 1)]
        ends = (*(-power for power in reversed(powers)), Fraction(0), *powers)
        scale = whole(rows_per_unit, "rows_per_unit") / positive(loss.epsilon, "epsilon")
        return cls(ends, DiscreteLaplace(scale), probability(beta, "beta"))

    def loss(self, rows_per_unit: int = 1) -> Pure:
        """Privacy loss, given the contribution bound: the largest number of rows of a unit."""
        return self.noise.loss(whole(rows_per_unit, "rows_per_unit"))

    @property
    def slices(self) -> int:
        """How many slices there are."""
        return len(self.ends) + 1

    @property
    def outside(self) -> int:
        """The most rows above the upper bound, and below the lower one: twice the largest threshold."""
        return 2 * max(self._thresholds)

    def query(self, value: Value, rows: OwnedRows) -> exp.Select:
        """How many rows are in each slice that has any. Missing values are in none."""
        whole_number = value.kind is Kind.INTEGER
        number = value.sql.copy() if whole_number else value.as_double
        ends = [int(end) if whole_number else float(end) for end in self.ends]
        return cell_counts(rows.where(value.sql.copy().is_(exp.null()).not_()), {_SLICE: place(number, ends)})

    def search(self, engine: Engine, value: Value, rows: OwnedRows, entropy: Entropy = SYSTEM) -> Interval | None:
        """Bounds of ``value``; ``None``: there seem to be too few rows to tell."""
        found = fetch(engine, self.query(value, rows))
        counts = [0] * self.slices
        for row in found.to_pylist():
            counts[row[_SLICE]] += row[COUNT]
        return self.choose(counts, entropy)

    def choose(self, counts: Sequence[int], entropy: Entropy = SYSTEM) -> Interval | None:
        """Bounds, given how many rows are in each slice; ``None``: too few to tell."""
        if len(counts) != self.slices:
            raise BadInput(f"{self.slices} slices need {self.slices} counts, not {len(counts)}.")
        noisy = self.noise.add_all(np.asarray(counts, dtype=np.int64), entropy)
        low, below_top = self._first_passed(noisy), self._first_passed(noisy[::-1])
        if low is None or below_top is None or low + below_top >= self.slices:
            return None
        high = self.slices - 1 - below_top
        return self.ends[max(low - 1, 0)], self.ends[min(high, len(self.ends) - 1)]

    def _first_passed(self, noisy: np.ndarray[Any, Any]) -> int | None:
        passed = np.flatnonzero(np.cumsum(noisy) > np.asarray(self._thresholds))
        return int(passed[0]) if passed.size else None

    @property
    def _thresholds(self) -> tuple[int, ...]:
        return _thresholds(self.noise, self.slices, self.beta)


@lru_cache(maxsize=32)
def _thresholds(noise: DiscreteLaplace, slices: int, beta: Fraction) -> tuple[int, ...]:
    """What the noise in the first 1, 2, 3, … slices from either end stays within, all with probability 1 - beta."""
    each = beta / (2 * slices)
    return tuple(ceil(sum_error(noise, np.ones(n), each)) for n in range(1, slices + 1))
