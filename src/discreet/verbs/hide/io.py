"""Transactions read from any source, and written back in the form of that source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, get_args

import pyarrow as pa

from discreet.core.card import Role
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.verbs.hide.mining.frequent import frequent
from discreet.verbs.hide.mining.rules import rules
from discreet.verbs.hide.problem import HidingResult
from discreet.verbs.hide.reading import (
    Layout,
    Tabular,
    as_arrow,
    columns_with_items,
    layout_of,
    read_transactions,
    tabular,
)
from discreet.verbs.hide.secrets import Secret
from discreet.verbs.hide.transactions import Transactions

Source: TypeAlias = Transactions | Table | pa.Table | str | Path
UNKNOWN = "unknown"
"""The column of the items that may or may not be in a transaction."""


@dataclass(frozen=True, eq=False)
class OpenedSource:
    """Transactions, and the table that they are the rows of, if they are."""

    transactions: Transactions
    table: Tabular | None = None
    columns: tuple[str, ...] = ()
    """Of baskets that are the rows of a table, a person each: the columns that items are made of."""

    def payload(self, result: HidingResult) -> pa.Table:
        """What leaves: baskets as a column of lists, with one for what is unknown if there is any; or the table with
        what was removed, or is unknown, missing."""
        if self.table is not None:
            return self.table.back(result.after, unknown=result.possible is not None)
        made = as_arrow(result.after)
        if result.possible is None:
            return made
        before, may = result.after, result.possible
        unknown = Transactions(before.items, may.bits & ~before.bits, before.rows)
        return made.append_column(UNKNOWN, as_arrow(unknown).column(0))

    def read_back(self, payload: pa.Table) -> Transactions:
        """The transactions that someone reads from what leaves."""
        if self.table is None:
            return Transactions.of(row or () for row in payload.column(0).to_pylist())
        return tabular(payload).transactions


def opened(source: Source, layout: Layout | None = None, columns: Sequence[str] = ()) -> OpenedSource:
    """The transactions of a source; see ``reading.py`` for the layouts."""
    if layout not in (None, *get_args(Layout)):
        raise BadInput(f"There is no layout {layout!r}.", hint="There are baskets, pairs and table.")
    if isinstance(source, Transactions):
        return OpenedSource(source)
    if isinstance(source, Table):
        if named := [one.name for one in source.card.columns if one.role is Role.IDENTIFIER and one.name in columns]:
            raise BadInput(f"{named[0]!r} is an identifier: its values cannot be items.", hint="Leave it out.")
        if source.card.unit is not None:
            return OpenedSource(read_transactions(source, columns=columns), columns=columns_with_items(source, columns))
        made = tabular(source, columns=columns)
        return OpenedSource(made.transactions, made)
    if hasattr(source, "__arrow_c_stream__"):
        made = tabular(pa.table(source), columns=columns)
        return OpenedSource(made.transactions, made)
    if not isinstance(source, str | Path):
        raise BadInput(
            f"Transactions cannot be read from a {type(source).__name__}.",
            hint="Give a file, a table (Arrow, pandas, polars, dc.read), or Transactions.of(lists of items).",
        )
    path = Path(source)
    if (layout or layout_of(path, columns)) == "table":
        made = tabular(path, columns=columns)
        return OpenedSource(made.transactions, made)
    return OpenedSource(read_transactions(path, layout=layout, columns=columns))


def found_in(transactions: Transactions, secrets: Sequence[Secret]) -> list[Secret]:
    """The secrets that mining brings up, each with its own thresholds: the check on what leaves.

    It shares nothing with the hiding methods but the miner. Only the items of a secret are mined, since no other can
    make it frequent.
    """
    known = set(transactions.items)
    found = []
    for secret in secrets:
        if not secret.whole <= known:
            continue  # an item that is nowhere any more
        mined = frequent(transactions.projected(sorted(secret.whole)), secret.support)
        if secret.whole not in mined:
            continue
        if secret.confidence is None or rules(mined, secret.confidence).get(secret.antecedent, secret.consequent):
            found.append(secret)
    return found
