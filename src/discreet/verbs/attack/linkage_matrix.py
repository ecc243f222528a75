"""What a linking intruder has before them: known people and released rows, side by side as numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.card import Role
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import DataError, NotFound
from discreet.utility.pair import Array, on_one_footing, require_links


@dataclass(frozen=True)
class Sight:
    """The columns that both sides have, as float64: numbers, dates and times as they are, text and truth values as
    codes that both sides share. NULL is NaN."""

    columns: tuple[str, ...]
    numeric: Array
    """Of each column, whether differences mean something; codes are only equal or not."""
    known: Array
    """A row a person."""
    shown: Array
    """A row a released row."""
    truth: Array
    """Of each person the place of the released row, or -1: for measuring success, not for the attacker."""

    def only(self, which: Array) -> Sight:
        """The same people and rows, with these columns only."""
        names = tuple(np.array(self.columns, dtype=object)[which])
        return replace(
            self, columns=names, numeric=self.numeric[which], known=self.known[:, which], shown=self.shown[:, which]
        )

    def people(self, which: Array) -> Sight:
        """The same rows and columns, with these people only."""
        return replace(self, known=self.known[which], truth=self.truth[which])

    @property
    def guessing(self) -> float:
        """The share of people found by naming any released row."""
        return float(np.mean(self.truth >= 0)) / len(self.shown)


def see(release: Release[Any], known: Table, links: Array | None, columns: tuple[str, ...] = ()) -> Sight:
    """Both sides of ``columns`` (default: the quasi-identifiers, or all if the card declares none).

    A release in its holder's hands has its links with it. Columns that the release lacks, or shows as another kind of
    value (an age as "30 to 39"), or that hold nothing but NULL on one side, are left out.
    """
    payload = release.payload
    links = release.links if links is None else links
    if not isinstance(payload, pa.Table):
        raise DataError("The release is not a table of rows.")
    if links is None:
        raise DataError(
            "Whether a link is right can be told only by whoever holds the links between original and released rows.",
            hint="Give the links that publish kept for the holder.",
        )
    return side_by_side(payload, known.fetch(), links, columns or expected(known))


def side_by_side(payload: pa.Table, mine: pa.Table, links: Array, columns: tuple[str, ...]) -> Sight:
    """Released rows and those of known people, compared by ``columns``."""
    if not payload.num_rows or not mine.num_rows:
        raise DataError("There are no rows to link.")
    names, numeric, left, right = [], [], [], []
    for name in columns:
        if name not in mine.column_names:
            raise NotFound(f"The attacker's table has no column {name!r}.")
        both = on_one_footing(mine[name], payload[name]) if name in payload.column_names else None
        if both is not None and not (np.isnan(both[1]).all() or np.isnan(both[2]).all()):
            names.append(name)
            numeric.append(both[0])
            left.append(both[1])
            right.append(both[2])
    if not names:
        raise DataError("The release has no column with values of the kind the attacker knows.")
    truth = true_rows(np.asarray(links), mine.num_rows, payload.num_rows)
    return Sight(tuple(names), np.array(numeric), np.column_stack(left), np.column_stack(right), truth)


def expected(known: Table) -> tuple[str, ...]:
    """What attackers are taken to know about people: the quasi-identifiers or, if there are none, all but names."""
    card = known.card
    quasi = tuple(column.name for column in card.having(Role.QUASI))
    rest = (c.name for c in card.columns if c.role is not Role.IDENTIFIER and c.name != card.unit)
    return quasi or tuple(rest)


def true_rows(links: Array, people: int, rows: int) -> Array:
    """Of each person the place of their released row, or -1, by ``links``; an error if these make no sense."""
    require_links(links, people, rows)
    real = np.flatnonzero(links >= 0)
    truth = np.full(people, -1, np.int64)
    truth[links[real]] = real
    if np.count_nonzero(truth >= 0) != len(real):
        raise DataError("Two links lead to the same row of the original.")
    return truth
