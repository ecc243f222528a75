"""Rows of a table under query auditing: the query set of each row by public columns, and the audited values.

They are read once, numbered, and asked by a DuckDB of their own: every question must see the same rows under the same
numbers, wherever the table lies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Column
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.engines.limits import fetch
from discreet.errors import Refused
from discreet.verbs.ask.query_auditing.policy import EXTREMES, Policy, Watch, ends_of, require_many
from discreet.verbs.ask.query_auditing.question import AuditedQuestion
from discreet.verbs.ask.rows import Rows, table_rows

Raw: TypeAlias = int | float | Decimal | None
"""An exact figure, or the double nearest to it; None for an empty set."""
_ROW = "discreet_row"
_LARGEST = {Kind.INTEGER: 2**62, Kind.BOOLEAN: 2**62, Kind.REAL: 10**300}
_DIGITS = 38
"""Digits of a decimal, including those after the point."""


@dataclass(frozen=True)
class Sets:
    """Query sets of a question: one per group."""

    group: NDArray[np.int64]
    """Query set of each row; -1 for none."""
    keys: pa.Table
    """Group-by values of each query set."""
    sizes: NDArray[np.int64]
    """Number of rows in each query set."""

    @property
    def count(self) -> int:
        """Number of query sets."""
        return len(self.sizes)


class Facts:
    """Public columns of an audited table, the owner of each row, and the audited values."""

    def __init__(self, table: Table, policy: Policy) -> None:
        card = table.card
        unit = [card.unit] if card.unit is not None else []
        public = [column for column in card.columns if column.name in {*policy.by, *unit}]
        names = [column.name for column in public]
        found = fetch(table.engine, table.query(*(sql.column(name) for name in [*names, *policy.columns])))
        self.size = found.num_rows
        self._values = {name: found.column(name).combine_chunks() for name in policy.columns}
        self._kinds = {name: card[name].kind for name in policy.columns}
        for name, watch in policy.columns.items():
            self._require_exact(name, watch, ends_of(card, name))
        self.unit = None if card.unit is None else found.column(card.unit).combine_chunks()
        self.owner = np.arange(self.size) if card.unit is None else _codes(found.column(card.unit))
        numbered = found.select(names).append_column(_ROW, pa.array(np.arange(self.size)))
        engine = DuckDB(settings={"threads": "1"})
        engine.load("facts", numbered)
        known = replace(
            card, columns=(*public, Column(_ROW, Kind.INTEGER, required=True)), impossible=(), groups_per_unit=None
        )
        relation = exp.select(*(sql.column(column.name) for column in known.columns)).from_(sql.table("facts"))
        self.rows: Rows = table_rows(Table(known, engine, relation))

    def _require_exact(self, name: str, watch: Watch, ends: tuple[Fraction, Fraction]) -> None:
        """An error if sums of a column might not be exact, or if it has too few possible values."""
        kind = self._kinds[name]
        scale = self._values[name].type.scale if kind is Kind.DECIMAL else 0
        if kind is Kind.DECIMAL:
            require_many(name, ends, Fraction(1, 10**scale))
        largest = _LARGEST[kind] if kind is not Kind.DECIMAL else 10 ** (_DIGITS - scale) - 1
        if watch.how != EXTREMES and max(map(abs, ends)) * max(self.size, 1) > largest:
            raise Refused(f"Sums of {name} could be too large to be exact.", hint="Declare narrower bounds.")

    def sets(self, question: AuditedQuestion) -> Sets:
        """Query sets of a question, computed from public columns alone."""
        names = [f"k{place}" for place in range(len(question.keys))]
        shown = [sql.named(value.sql.copy(), name) for name, (_, value) in zip(names, question.keys, strict=True)]
        query = exp.select(sql.named(self.rows.columns[_ROW].sql.copy(), _ROW), *shown, copy=False)
        query = query.from_(self.rows.query.subquery("r"), copy=False)
        if question.where is not None:
            query = query.where(question.where.sql.copy(), copy=False)
        found = fetch(self.rows.engine, query)
        group = np.full(self.size, -1, dtype=np.int64)
        members = found.column(_ROW).to_numpy()
        if not names:
            group[members] = 0
            return Sets(group, pa.table({}), np.array([len(members)]))
        codes = np.zeros(len(members), dtype=np.int64)
        for name in names:
            one = _codes(found.column(name))
            codes = np.unique(codes * (int(one.max(initial=0)) + 1) + one, return_inverse=True)[1]
        _, first, codes, sizes = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
        keys = found.select(names).take(first)
        order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in names]).to_numpy()
        group[members] = np.argsort(order)[codes]
        return Sets(group, keys.take(order).rename_columns([name for name, _ in question.keys]), sizes[order])

    def figures(self, aggregate: str, column: str, sets: Sets) -> list[Raw]:
        """Aggregate of an audited column over each query set."""
        order = np.argsort(sets.group, kind="stable")[int((sets.group < 0).sum()) :]
        values, kind = self._values[column].take(order), self._kinds[column]
        ends = np.cumsum(sets.sizes)
        parts = [values.slice(end - size, size) for end, size in zip(ends, sets.sizes, strict=True)]
        return [_figure(aggregate, part, kind) for part in parts]

    def amounts(self, column: str) -> NDArray[np.float64]:
        """The audited values."""
        return np.asarray(self._values[column].cast(pa.float64()).to_numpy(zero_copy_only=False))

    def arrow_type(self, column: str) -> pa.DataType:
        """Arrow type of a column's sums and extremes."""
        kind = self._kinds[column]
        return pa.int64() if kind is Kind.BOOLEAN else self._values[column].type

    def read(self, column: str, text: str | None) -> Raw:
        """Parse a figure that ``written`` wrote."""
        if text is None:
            return None
        kind = self._kinds[column]
        return float(text) if kind is Kind.REAL else Decimal(text) if kind is Kind.DECIMAL else int(text)


def written(figure: Raw) -> str | None:
    """A figure as text, exactly."""
    return None if figure is None else repr(figure) if isinstance(figure, float) else str(figure)


def _figure(aggregate: str, values: Any, kind: Kind) -> Raw:
    if not len(values):
        return None
    if aggregate == "sum":
        if kind is Kind.REAL:
            return math.fsum(values.to_numpy())
        if kind is Kind.DECIMAL:
            added: Decimal = pc.sum(values.cast(pa.decimal128(_DIGITS, values.type.scale))).as_py()
            return added
        return int(values.to_numpy(zero_copy_only=False).sum(dtype=np.int64))
    found: Raw = (pc.max if aggregate == "max" else pc.min)(values).as_py()
    return found


def _codes(column: Any) -> NDArray[np.int64]:
    """Integer codes, equal where values are equal."""
    coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return np.asarray(coded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
