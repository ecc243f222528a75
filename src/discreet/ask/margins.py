"""All marginals of so many of a table's columns, for one price, in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, ClassVar

import pyarrow as pa

from discreet.ask.marginals import MarginalCounts
from discreet.budget.promise import BETA, kept_rows, loss_of, promised, require_drawable, rows_per_unit
from discreet.core.arrow import arrow_type
from discreet.core.card import Card, Scalar
from discreet.core.exact import Number
from discreet.core.kind import Kind
from discreet.core.method import Method
from discreet.core.picture import Picture, bars
from discreet.core.sql import scale_of
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.parameters import whole

_BARS = 24
_MOST_SETS = 100


@dataclass(frozen=True)
class Marginals(Method[pa.Table]):
    """The counts over every ``ways`` of some columns whose values are declared, made to agree with each other.

    Why this is private: the counts get their noise from ``MarginalCounts``, where it is argued; the rest is made of
    noisy counts.

    The result has a row a cell: a value of each column, NULL where the marginal is over all of its values, the count
    ``n`` and its error bar. Marginals of fewer columns are sums of these, at no further price.
    """

    name: ClassVar[str] = "marginals"
    columns: Sequence[str]
    ways: int = 2
    epsilon: Number | None = None
    rho: Number | None = None

    def __post_init__(self) -> None:
        if isinstance(self.columns, str):
            raise BadInput("Marginals are over a list of columns.", hint=f"Such as [{self.columns!r}].")
        object.__setattr__(self, "columns", tuple(self.columns))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The columns, and how many at a time."""
        return {"columns": list(self.columns), "ways": self.ways}

    def steps(self, card: Card) -> tuple[str, ...]:
        """What is done, in words."""
        return (
            kept_rows(card),
            "rows without a value in one of the columns were left out; the cells of each marginal were counted and "
            "given exact noise, and made to agree by least squares; the error bars hold with 95 % confidence",
        )

    def promise(self, card: Card) -> Statement:
        """The loss that was asked for."""
        counts = self._plan(card)
        for noise in counts.noises:
            require_drawable(noise)
        return promised(counts.loss(rows_per_unit(card)), card)

    def expected_errors(self, card: Card) -> Mapping[str, float | None]:
        """The error bar of a cell, for each marginal."""
        counts = self._plan(card)
        return dict(zip(map(_called, counts.sets), counts.errors(BETA), strict=True))

    def run(self, table: Table, entropy: Entropy = SYSTEM) -> pa.Table:
        """Count on the engine, add noise, and make the marginals agree."""
        counts = self._plan(table.card)
        told = counts.agreed(counts.measure(table, entropy))
        cells: dict[str, list[Scalar | None]] = {name: [] for name in self.columns}
        n: list[float] = []
        error: list[float] = []
        for marginal, bar in zip(told, counts.errors(BETA), strict=True):
            for cell in product(*marginal.values):
                values = dict(zip(marginal.columns, cell, strict=True))
                for name in self.columns:
                    cells[name].append(values.get(name))
            n += marginal.counts.ravel().tolist()
            error += [bar] * marginal.counts.size
        shown = {name: pa.array(cells[name], _type(table.card, name)) for name in self.columns}
        return pa.table({**shown, "n": pa.array(n, pa.float64()), "n_error": pa.array(error, pa.float64())})

    def pictures(self, payload: pa.Table) -> tuple[Picture, ...]:
        """The counts as bars, if there are few enough to be read."""
        rows = payload.to_pylist()
        if len(rows) > _BARS:
            return ()
        labels = [_called(str(row[name]) for name in self.columns if row[name] is not None) for row in rows]
        return (bars(f"Counts by {_called(self.columns)}", labels, [round(row["n"]) for row in rows]),)

    def _plan(self, card: Card) -> MarginalCounts:
        taken = {"n", "n_error"} & {name.lower() for name in self.columns}
        if taken:
            raise BadInput(f"A column called {min(taken)} would be taken for a count.", hint="Ask by SQL instead.")
        if whole(self.ways, "ways") > len(self.columns):
            raise BadInput(f"There are no marginals of {self.ways} of {len(self.columns)} columns.")
        sets = list(combinations(self.columns, self.ways))
        if len(sets) > _MOST_SETS:
            raise BadInput(f"These are {len(sets):,} marginals; at most {_MOST_SETS} are asked for at once.")
        return MarginalCounts.for_loss(loss_of(self.epsilon, self.rho), card, sets)


def _called(names: Any) -> str:
    return " × ".join(names)


def _type(card: Card, name: str) -> pa.DataType:
    column = card[name]
    if column.kind is Kind.DECIMAL:
        return arrow_type(column.kind, scale=max(scale_of(value) for value in column.categories or ()))  # type: ignore[arg-type]
    zoned = any(getattr(value, "tzinfo", None) is not None for value in column.categories or ())
    return arrow_type(column.kind, zoned=zoned)
