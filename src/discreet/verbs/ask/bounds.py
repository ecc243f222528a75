"""Bounds of a column nobody knows any of, as an answer that is paid for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from discreet.budget.dp_statement import kept_rows, loss_of, promised, require_drawable, rows_per_unit
from discreet.core import sql
from discreet.core.card import Card
from discreet.core.exact import Number
from discreet.core.kind import Kind
from discreet.core.loss import Pure
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.engines.contribution import owned_rows
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.releases.method import Method
from discreet.verbs.ask.unknown_bounds import BoundsSearch
from discreet.verbs.ask.value import Value


@dataclass(frozen=True)
class Bounds(Method[pa.Table]):
    """Powers of two between which all but a few values of a column of numbers lie.

    Why this is private: the search counts every row once, with noise, and sees noisy counts alone; see
    ``BoundsSearch``. So the bounds may be declared on a card: they were not read off the data, but answered from it
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
        require_drawable(search.noise)
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
