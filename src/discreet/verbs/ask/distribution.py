"""How a number or a date is distributed: the counts of its bins, all ranges of them and all quantiles for one price."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.exact import Number, exact
from discreet.core.kind import CATEGORICAL, LISTABLE, ORDERED, Kind, Scalar
from discreet.core.report import Picture, bars
from discreet.core.sql import arrow_type
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.engines.contribution import owned_rows
from discreet.engines.limits import fetch
from discreet.engines.measures import COUNT, cell_counts
from discreet.errors import BadInput, NotDeclared
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.releases.method import BETA, Method, kept_rows, loss_of, promised, rows_per_unit
from discreet.verbs.ask.tree import Ranges, Tree

_BIN = "discreet_bin"
_BARS = 24
MOST_BINS = 1024
_WHOLE = LISTABLE & ORDERED
"""Kinds whose bins are made of whole values."""


@dataclass(frozen=True)
class Bins:
    """Where each bin of a column begins, and where the last one ends.

    Whole numbers and dates are in bins of as many values each (the last may have fewer), so that every value has
    one bin that says which it is.
    """

    column: Column
    starts: tuple[Scalar, ...]
    ends: tuple[Scalar, ...]
    """The last value of a bin where values can be counted; else where the next bin begins."""

    @classmethod
    def of(cls, column: Column, wanted: int) -> Bins:
        """About ``wanted`` bins of a column, and not more."""
        if isinstance(wanted, bool) or not isinstance(wanted, int) or not 1 <= wanted <= MOST_BINS:
            raise BadInput(f"The number of bins must be 1 to {MOST_BINS:,}, not {wanted!r}.")
        if column.kind in CATEGORICAL:
            raise BadInput(
                f"{column.name} is {column.kind.value}; a distribution is over numbers or dates.",
                hint="Ask for its marginal.",
            )
        if column.bounds is None:
            raise NotDeclared(
                f"A distribution of {column.name!r} needs its bounds, and the card declares none.",
                hint="Declare bounds on the card, or estimate unknown bounds for a price (Bounds).",
            )
        low, high = column.bounds
        if column.kind in _WHOLE:
            first, last = _number(low), _number(high)
            width = -((first - last - 1) // wanted)  # rounded up
            starts = range(first, last + 1, width)
            ends = [min(start + width - 1, last) for start in starts]
            return cls(column, *(tuple(_like(low, one) for one in some) for some in (starts, ends)))
        edges = [_between(low, high, Fraction(i, wanted)) for i in range(wanted + 1)]
        if any(a >= b for a, b in pairwise(edges)):  # type: ignore[operator]  # all are of one kind
            raise BadInput(f"There are fewer than {wanted:,} different values between the bounds of {column.name!r}.")
        return cls(column, tuple(edges[:-1]), tuple(edges[1:]))

    def __len__(self) -> int:
        return len(self.starts)

    def place(self) -> exp.Expr:
        """Which bin a row is in."""
        value: exp.Expr = sql.column(self.column.name)
        if self.column.kind is Kind.DECIMAL:
            value = exp.cast(value, exp.DType.DOUBLE)
        return place(value, self.starts[1:])

    def range(self, low: Scalar, high: Scalar) -> tuple[int, int]:
        """The bins from the one that begins at ``low`` to the one that ends at ``high``."""
        if low not in self.starts or high not in self.ends or low > high:  # type: ignore[operator]
            raise BadInput(
                f"No bins go from {low} to {high}.",
                hint=f"A range must start and end at bin edges, such as {self.starts[0]} to {self.ends[-1]}.",
            )
        return self.starts.index(low), self.ends.index(high) + 1


def place(value: exp.Expr, ends: Sequence[Any], first: int = 0) -> exp.Expr:
    """Which slice a value is in, by halving: comparisons are exact on every engine, arithmetic is not."""
    if not ends:
        return sql.literal(first)
    middle = len(ends) // 2
    lower, upper = place(value, ends[:middle], first), place(value, ends[middle + 1 :], first + middle + 1)
    return exp.case().when(exp.LT(this=value.copy(), expression=sql.literal(ends[middle])), lower).else_(upper)


def _number(value: Any) -> int:
    return value.toordinal() if isinstance(value, dt.date) else int(value)


def _like(example: Scalar, number: int) -> Scalar:
    return dt.date.fromordinal(number) if isinstance(example, dt.date) else number


def _between(low: Any, high: Any, share: Fraction) -> Scalar:
    """A value between two others; numbers as doubles."""
    if isinstance(low, dt.datetime):
        whole = (high - low) // dt.timedelta(microseconds=1)
        return low + dt.timedelta(microseconds=int(whole * share))
    return float(Fraction(low) + (Fraction(high) - Fraction(low)) * share)


@dataclass(frozen=True)
class Distribution(Method[pa.Table]):
    """The distribution of a column with declared bounds, in about ``bins`` equal bins.

    Why this is private: every row is in one bin, and rows without a value are in none; the counts get their noise
    from ``Tree``, where it is argued. Everything else is made of the noisy counts.

    The result has a row a bin: ``low`` and ``high``, the count ``n``, the count ``n_up_to`` of this bin and all
    below it, each with its error bar, and ``share_up_to``, which never falls and ends at 1. Ranges and quantiles are
    taken from it, at no further price.
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
        tree.noise.require_drawable()
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
                caption="Noisy counts: small ones may be below zero.",
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
            raise BadInput(f"A share must be between 0 and 1, not {share}.")
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
