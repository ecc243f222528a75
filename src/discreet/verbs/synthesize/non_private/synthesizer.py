"""Interface of synthesizers that promise nothing, and the base of those that make columns from what they learnt.

A synthesizer learns from the rows how they are, and draws others. *Synthetic does not mean safe*: what was learnt may
be someone, a value that only one person has may be drawn again, and nothing bounds how much that is. So a release
made in this way carries no loss, and is attacked before it leaves (see ``method.py``).

Columns are made or kept. If some are kept, as they are, row by row, the table is *partially* synthetic (only y given x;
Little 1993, Reiter 2003); if none is, it is *fully* synthetic, and may have another number of rows (Rubin 1993).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card
from discreet.core.catalogue import Checked, parameter
from discreet.core.table import Table
from discreet.core.text import number
from discreet.errors import BadInput, DataError
from discreet.models.model import Model
from discreet.verbs.publish.mask.masker import Masked, require_given, require_names
from discreet.verbs.publish.mask.values import Array, Cells
from discreet.verbs.publish.recoding import published_columns
from discreet.verbs.synthesize.non_private.sorted_column import SortedColumn

LEAST = 5
"""Fewest people to learn from, and to share a value that is released as it is."""


@dataclass(frozen=True)
class Synthetic(Masked):
    """Synthetic rows, in an order without meaning; of its parameters ``columns`` were made, and ``kept`` the others."""


@runtime_checkable
class Synthesizer(Protocol):
    """Interface of synthesizers without a privacy loss."""

    @property
    def name(self) -> str:
        """The recipe's method, and what the command line calls it."""

    def synthesize(self, table: Table, seed: int | None = None) -> Synthetic:
        """Rows like those of ``table``; the same ones for the same seed."""


@dataclass(frozen=True)
class ColumnRoles:
    """Which columns are made of which."""

    made: tuple[str, ...]
    given: tuple[str, ...]
    """Columns that are kept and that the others depend on."""
    kept: tuple[str, ...]
    """All columns that stay as they are."""

    @classmethod
    def of(cls, card: Card, columns: Sequence[str], given: Sequence[str]) -> ColumnRoles:
        """``columns`` are made (default: all but those given), depending on those ``given`` (default: all that are not
        made)."""
        released = [column.name for column in published_columns(card)]
        for said in (columns, given):
            require_names(said)
            require_given(card, said, columns if said is given else (), "made and given")
        made = tuple(n for n in released if (n in columns if columns else n not in given))
        if not made:
            raise BadInput("Every column is given: there is nothing to synthesize.", hint="Give fewer.")
        kept = tuple(n for n in released if n not in made)
        return cls(made, tuple(n for n in kept if n in given) if given else kept, kept)

    def rows(self, asked: int | None, found: int) -> int:
        """Number of rows that are made."""
        if asked is None or asked == found:
            return found
        if type(asked) is not int or asked < 1:
            raise BadInput(f"rows must be a whole number of at least 1, got {asked!r}.")
        if self.kept:
            raise BadInput(
                f"{', '.join(self.kept)} are kept, so there are as many rows as in the table.", hint="Leave rows out."
            )
        return asked

    def warnings(self) -> tuple[str, ...]:
        """Warnings about columns that stay as they are."""
        if not self.kept:
            return ()
        lone = [name for name in self.kept if name not in self.given]
        said = [f"Original values, row by row: {', '.join(self.kept)}. They may single people out."]
        if lone:
            said.append(f"Synthetic columns are independent of {', '.join(lone)}, which were not used.")
        return tuple(said)


def assemble(rows: pa.Table, made: Mapping[str, Cells]) -> pa.Table:
    """A table of the same columns, those that were made and, of the others, those of ``rows``."""
    columns = [made[name] if name in made else rows.column(name) for name in rows.column_names]
    return pa.Table.from_arrays(columns, schema=rows.schema)


def person_numbers(card: Card, rows: pa.Table) -> Array:
    """Number of the person of each row: without a unit the row's own; rows without a unit's value share one."""
    if card.unit is None:
        return np.arange(rows.num_rows)
    units: Any = pc.dictionary_encode(rows.column(card.unit).combine_chunks(), null_encoding="encode")
    return np.asarray(units.indices, np.int64)


def require_people(table: Table, least: int) -> None:
    """An error if there are too few people to draw anything from several of them."""
    unit = table.card.unit
    counted = sql.count_rows() if unit is None else exp.Count(this=exp.Distinct(expressions=[sql.column(unit)]))
    found = int(table.engine.fetch(table.query(sql.named(counted, "n"))).column(0)[0].as_py())
    if found < least:
        raise DataError(
            f"{table.card.name} has rows of {number(found, 'person', 'people')}, too few: values must be "
            f"drawn from at least {least} people.",
            hint="A model of so few people would reveal them.",
        )


def refuse_models(models: Sequence[Model]) -> None:
    """An error if models are required of synthetic rows, which are no one's."""
    if models:
        raise BadInput(
            f"{models[0].claim.text} is about links between rows and people, which synthetic rows do not "
            "have: it would promise nothing to the people in the original.",
            hint="Leave the models out; for a guarantee add epsilon: synthesize epsilon=1.",
        )


@dataclass(frozen=True)
class TrainingData:
    """The columns and rows that are learnt from."""

    parts: ColumnRoles
    rows: pa.Table
    """All columns that will be released."""
    learnt: Mapping[str, SortedColumn]
    """The columns that are given, and then those that are made."""
    count: int
    """Number of rows that are made."""

    def synthetic(
        self, made: Mapping[str, Cells], parameters: Mapping[str, Any], steps: Sequence[str], warnings: Sequence[str]
    ) -> Synthetic:
        """The table with the columns that were made, and what the recipe and the statement say of it."""
        parts = self.parts
        columns = {"columns": list(parts.made), "given": list(parts.given), "kept": list(parts.kept)}
        said = {**columns, **parameters, "made": self.count}
        return Synthetic(assemble(self.rows, made), said, tuple(steps), (*parts.warnings(), *warnings))


@dataclass(frozen=True)
class ColumnSynthesizer(Checked):
    """``columns`` are made anew (default: all but those given), depending on the columns ``given``, which stay as they
    are; without either, all are made."""

    columns: Sequence[str] = parameter("Columns to synthesize; default: all others.", default=(), clause="on")
    given: Sequence[str] = parameter("Columns to keep unchanged.", default=(), clause="given")
    rows: int | None = parameter("Number of rows; default: as many as in the original.", default=None, kw_only=True)

    def _lesson(self, table: Table, fewest: int, least: int) -> TrainingData:
        """Training data of at least ``fewest`` people; values that fewer than ``least`` share are not released."""
        parts = ColumnRoles.of(table.card, self.columns, self.given)
        require_people(table, fewest)
        everything = table.fetch()
        people = person_numbers(table.card, everything)
        used = (*parts.given, *parts.made)
        learnt = {name: SortedColumn.of(table.card[name], everything.column(name), least, people) for name in used}
        rows = everything.select([name for name in table.columns if name in (*parts.made, *parts.kept)])
        return TrainingData(parts, rows, learnt, parts.rows(self.rows, rows.num_rows))
