"""An original table and what was released of it, side by side for whoever measures what was lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.release import Release, with_rows
from discreet.core.table import Table
from discreet.errors import DataError, NotFound
from discreet.utility.cells import Array, on_one_footing, require_links


@dataclass(frozen=True)
class Pair:
    """The columns that both sides have as the same kind of value: numbers, dates and times as float64, all else as
    codes that both share. NULL is NaN. Rows of the two sides are in orders of their own."""

    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    """Of each column, whether differences mean something; codes are only equal or not."""
    original: Array
    released: Array
    links: Array | None = None
    """Of each released row the place of its original row, if whoever measures knows; -1: it has none."""
    left_out: tuple[str, ...] = ()
    """Columns of the original that the release lacks, or shows as another kind of value ("30 to 39")."""
    target: str | None = None
    """The column that models are to predict."""

    @cached_property
    def numbers(self) -> tuple[Array, Array]:
        """Both sides of the numeric columns, rows with a NULL or an infinite number in any of them left out."""
        which = np.array(self.numeric, dtype=bool)
        if not which.any():
            raise DataError("No column that both sides have holds numbers.")
        both = tuple(side[:, which] for side in (self.original, self.released))
        found = tuple(side[np.isfinite(side).all(axis=1)] for side in both)
        if min(map(len, found)) < 3:
            raise DataError("Fewer than three rows have all their numbers.")
        return found[0], found[1]

    @cached_property
    def number_names(self) -> tuple[str, ...]:
        """The names of the numeric columns."""
        return tuple(name for name, number in zip(self.columns, self.numeric, strict=True) if number)

    @cached_property
    def linked(self) -> tuple[Array, Array]:
        """All columns of the rows that are somebody's, the same person in the same place of both sides."""
        if self.links is None:
            raise DataError("Which released row is whose is not known.", hint="Give the links that publish kept.")
        real = self.links >= 0
        return self.original[self.links[real]], self.released[real]


def pair(
    table: Table,
    release: Release[Any] | pa.Table,
    links: Array | None = None,
    columns: Sequence[str] = (),
    target: str | None = None,
) -> Pair:
    """``table`` beside ``release`` (or bare rows): ``columns``, by default all that both have and are not identifiers.

    A release in its holder's hands has its links with it; bare rows and a release that was read again need ``links``.
    """
    rows = release
    if isinstance(release, Release):
        links = release.links if links is None else links
        rows = with_rows(release).payload
    if not isinstance(rows, pa.Table):
        raise DataError("What is lost can be measured only of a table of rows.", hint="This release is none.")
    mine = table.payload()
    if not mine.num_rows or not rows.num_rows:
        raise DataError("There are no rows to compare.")
    for name in (*columns, *([target] if target else [])):
        if name not in mine.column_names:
            raise NotFound(f"{table.card.name} releases no column {name!r}.")
    names, numeric, left, right, out = [], [], [], [], []
    for name in columns or mine.column_names:
        both = on_one_footing(mine[name], rows[name]) if name in rows.column_names else None
        if both is None or np.isnan(both[1]).all():
            out.append(name)
            continue
        names.append(name)
        numeric.append(both[0])
        left.append(both[1])
        right.append(both[2])
    if not names:
        raise DataError("The release has no column with values of the kind the original has.")
    if links is not None:
        links = np.asarray(links)
        require_links(links, mine.num_rows, rows.num_rows)
    sides = np.column_stack(left), np.column_stack(right)
    return Pair(tuple(names), tuple(numeric), *sides, links, tuple(out), target)
