"""How a number or a date is distributed: the counts of its bins, all ranges of them and all quantiles for one price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.budget.dp_statement import BETA, kept_rows, loss_of, promised, require_drawable, rows_per_unit
from discreet.core import sql
from discreet.core.card import Card
from discreet.core.exact import Number, exact
from discreet.core.kind import Kind, Scalar
from discreet.core.report import Picture, bars
from discreet.core.sql import arrow_type
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.engines.contribution import COUNT, cell_counts, owned_rows
from discreet.engines.limits import fetch
from discreet.errors import BadInput
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.releases.method import Method
from discreet.verbs.ask.bins import Bins
from discreet.verbs.ask.tree import Ranges, Tree

_BIN = "discreet_bin"
_BARS = 24


@dataclass(frozen=True)
class Distribution(Method[pa.Table]):
    """The distribution of a column with declared bounds, in about ``bins`` equal bins.

    Why this is private: every row is in one bin, and rows without a value are in none; the counts get their noise
    from ``Tree``, where it is argued. Everything else is made of the noisy counts.

    The result has a row a bin: ``low`` and ``high``, the count ``n``, the count ``n_up_to`` of this bin and all
    below it, each with its error bar, and ``share_up_to``, which never falls and ends at 1. Ranges and quantiles are
    read off it, at no further price.
    """

    name: ClassVar[str] = "distribution"
    column: str
    bins: int = 64
    epsilon: Number | None = None
    rho: Number | None = None

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The column and the number of bins."""
        return {"column": self.column, "bins": self.bins}

    def steps(self, card: Card) -> tuple[str, ...]:
        """What is done, in words."""
        return (
            kept_rows(card),
            "the rows of every bin, and of groups of bins, were counted and given exact noise, and made to agree by "
            "least squares; the error bars hold with 95 % confidence",
        )

    def promise(self, card: Card) -> Statement:
        """The loss that was asked for; an error if the error bars cannot be worked out."""
        tree, _ = self._plan(card)
        require_drawable(tree.noise)
        _errors(tree)  # kept for the run
        return promised(tree.loss(rows_per_unit(card)), card)

    def expected_errors(self, card: Card) -> Mapping[str, float | None]:
        """The largest error bar of a bin, and of all bins up to one."""
        errors = _errors(self._plan(card)[0])
        return {name: max(some) for name, some in errors.items()}

    def run(self, table: Table, entropy: Entropy = SYSTEM) -> pa.Table:
        """Count on the engine, add noise, and make all ranges agree."""
        tree, bins = self._plan(table.card)
        there = owned_rows(table, rename=False).where(sql.column(self.column).is_(exp.null()).not_())
        counts = np.zeros(len(bins), dtype=np.int64)
        for row in fetch(table.engine, cell_counts(there, {_BIN: bins.place()})).to_pylist():
            counts[row[_BIN]] += row[COUNT]
        return _shown(bins, tree, tree.measure(counts, entropy))

    def pictures(self, payload: pa.Table) -> tuple[Picture, ...]:
        """The counts as bars, neighbouring bins together where there are many."""
        low, high = (payload.column(name).to_pylist() for name in ("low", "high"))
        n = _numbers(payload, "n")
        step = -(-len(n) // _BARS)
        parts = [slice(at, at + step) for at in range(0, len(n), step)]
        return (
            bars(
                f"Distribution of {self.column}",
                [_label(low[part][0], high[part][-1]) for part in parts],
                [round(sum(n[part])) for part in parts],
                caption="Noisy counts: where hardly anybody is, they may be below zero.",
            ),
        )

    def between(self, card: Card, payload: pa.Table, low: Scalar, high: Scalar) -> tuple[float, float]:
        """How many rows lie in the bins from ``low`` to ``high``, and its error bar at 95 % confidence."""
        tree, bins = self._plan(card)
        first, last = bins.range(low, high)
        up_to = [0.0, *_numbers(payload, "n_up_to")]
        return up_to[last] - up_to[first], tree.error(BETA, first, last)

    def quantile(self, payload: pa.Table, share: Number) -> Scalar:
        """Where the bin ends up to which at least this share of all rows lies."""
        wanted = exact(share, "share")
        if wanted > 1:
            raise BadInput(f"A share is between 0 and 1, not {share}.")
        place = next(at for at, one in enumerate(_numbers(payload, "share_up_to")) if Fraction(one) >= wanted)
        found: Scalar = payload.column("high")[place].as_py()
        return found

    def _plan(self, card: Card) -> tuple[Tree, Bins]:
        bins = Bins.of(card[self.column], self.bins)
        return Tree.for_loss(loss_of(self.epsilon, self.rho), len(bins), rows_per_unit(card)), bins


@lru_cache(maxsize=32)
def _errors(tree: Tree) -> dict[str, list[float]]:
    places = range(tree.slices)
    return {
        "n": [tree.error(BETA, place, place + 1) for place in places],
        "n_up_to": [tree.error(BETA, 0, place + 1) for place in places],
    }


def _shown(bins: Bins, tree: Tree, ranges: Ranges) -> pa.Table:
    kind = Kind.REAL if bins.column.kind is Kind.DECIMAL else bins.column.kind
    zoned = kind is Kind.TIMESTAMP and getattr(bins.starts[0], "tzinfo", None) is not None
    type_ = arrow_type(kind, zoned=zoned)
    errors = _errors(tree)
    return pa.table(
        {
            "low": pa.array(bins.starts, type_),
            "high": pa.array(bins.ends, type_),
            "n": pa.array([float(b - a) for a, b in pairwise(ranges.cumulative)]),
            "n_error": pa.array(errors["n"]),
            "n_up_to": pa.array([float(one) for one in ranges.cumulative[1:]]),
            "n_up_to_error": pa.array(errors["n_up_to"]),
            "share_up_to": pa.array(ranges.distribution()),
        }
    )


def _numbers(payload: pa.Table, name: str) -> list[float]:
    return [float(one) for one in payload.column(name).to_numpy()]


def _label(low: object, high: object) -> str:
    return str(low) if low == high else f"{_short(low)} to {_short(high)}"


def _short(value: object) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
