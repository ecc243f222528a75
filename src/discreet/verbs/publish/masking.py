"""What a masking method is, and what it leaves behind for whoever has to judge it.

Masking changes values, so that a row no longer is its person's, and keeps what analysts need. No method promises
anything by itself: how much an intruder still learns is measured (see ``attack/``), with all that the recipe says in
the intruder's hands (Kerckhoffs). What a method does *not* do is therefore part of what it returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import pyarrow as pa

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.noise.masking import Generator

NUMERIC = frozenset({Kind.INTEGER, Kind.REAL, Kind.DECIMAL})
ORDERED = NUMERIC | {Kind.DATE, Kind.TIMESTAMP}
ANY = frozenset(Kind)


@dataclass(frozen=True)
class Masked:
    """What a masker made, in the original's row order."""

    rows: pa.Table
    """All columns that will be released: no identifiers, no unit."""
    parameters: Mapping[str, Any]
    """For the recipe: everything an attacker may know. Method, parameters, columns, declared moments."""
    steps: tuple[str, ...]
    """For the recipe, as sentences."""
    not_promised: tuple[str, ...]
    """What this does not protect from, as sentences."""


@runtime_checkable
class Masker(Protocol):
    """A way of changing values so that rows are no longer those of people."""

    name: ClassVar[str]
    """The recipe's method, and what the command line calls it."""

    def mask(self, table: Table, seed: int | None = None) -> Masked:
        """The rows of ``table``, masked; the same ones for the same seed."""


@dataclass(frozen=True)
class Plan:
    """What a record-wise masker found out before it touches a row."""

    state: Any
    """What every row is masked by. It travels to Spark's workers: plain data and arrays."""
    parameters: Mapping[str, Any]
    steps: tuple[str, ...]
    not_promised: tuple[str, ...]


@runtime_checkable
class RecordMasker(Masker, Protocol):
    """A masker that needs to see one row at a time: tables larger than memory stream through it."""

    def plan(self, table: Table) -> Plan:
        """What the rows will be masked by: aggregates on the engine, never rows."""

    def batch(self, state: Any, rows: pa.RecordBatch, rng: Generator) -> pa.RecordBatch:
        """Some rows (released columns only), masked."""


def chosen(card: Card, columns: Sequence[str], kinds: frozenset[Kind], method: str) -> tuple[str, ...]:
    """The columns to be masked: those named, or else all quasi-identifiers of a kind the method can mask."""
    can = f"{method} masks {_listed(kinds)} columns"
    if not columns:
        found = tuple(c.name for c in card.having(Role.QUASI) if c.kind in kinds and c.name != card.unit)
        if not found:
            raise BadInput(
                f"{can}, and the card of {card.name} has no such quasi-identifier.", hint="Name the columns to mask."
            )
        return found
    if isinstance(columns, str):
        raise BadInput(f"Columns are a list of names, not the text {columns!r}.", hint=f"Write [{columns!r}].")
    if len(set(columns)) < len(columns):
        raise BadInput(f"A column is named twice: {', '.join(columns)}.")
    for name in columns:
        require_released(card, card[name])
        if card[name].kind not in kinds:
            raise BadInput(f"{can}; {name!r} is {card[name].kind.value}.", hint="Leave it out, or use another method.")
    return tuple(columns)


def require_released(card: Card, column: Column) -> None:
    """An error for a column that is never released."""
    if column.role is Role.IDENTIFIER or column.name == card.unit:
        raise BadInput(f"{column.name!r} is not released, so it cannot be masked.", hint="Leave it out.")


def _listed(kinds: frozenset[Kind]) -> str:
    return ", ".join(kind.value for kind in Kind if kind in kinds)
