"""An original table and its release as comparable columns, and the interface of utility measures.

Numbers are numbers, all else is codes that are equal where the values are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.release import Release, with_rows
from discreet.core.table import Table
from discreet.errors import DataError, NotFound

Array: TypeAlias = npt.NDArray[Any]
Cells: TypeAlias = "pa.ChunkedArray[Any]"


def comparable_columns(mine: Cells, theirs: Cells) -> tuple[bool, Array, Array] | None:
    """Whether two columns are numeric, and both as float64 or shared codes; ``None`` if their kinds differ."""
    a, b = _plain(mine), _plain(theirs)
    if pa.types.is_float64(a.type) and pa.types.is_float64(b.type):
        return True, _numbers(a), _numbers(b)
    if a.type != b.type or pa.types.is_float64(a.type):
        return None
    together = pa.chunked_array([*a.chunks, *b.chunks], type=a.type).combine_chunks()
    codes = _numbers(pc.cast(together.dictionary_encode().indices, pa.float64()))
    return False, codes[: len(a)], codes[len(a) :]


def means(x: Array) -> Array:
    """Column means; the mean of a constant column is exactly that constant."""
    return np.asarray(x[0] + (x - x[0]).mean(axis=0))


def centred(x: Array) -> Array:
    """Columns less their means; a constant column becomes exactly 0, despite rounding."""
    moved = x - x[0]
    return np.asarray(moved - moved.mean(axis=0))


def spread(values: Array, ddof: int = 0) -> float:
    """Standard deviation of the values that are not missing; exactly 0 if all are equal, or too few."""
    there = values[~np.isnan(values)]
    return float(np.sqrt((centred(there) ** 2).sum() / (len(there) - ddof))) if len(there) > ddof else 0.0


def require_links(links: Array, originals: int, rows: int) -> None:
    """An error unless ``links`` gives each released row its row number in the original, or -1."""
    if links.shape != (rows,) or links.dtype.kind not in "iu":
        raise DataError(f"Links must be one whole number per released row: expected {rows:,}, got {links.shape}.")
    if len(links) and (links.max() >= originals or links.min() < -1):
        raise DataError(f"A link points outside the {originals:,} rows of the original.")


def _plain(column: Cells) -> Cells:
    """Numbers, dates and times as float64, booleans as they are, everything else as text."""
    kind = column.type
    if isinstance(kind, pa.DictionaryType):
        return _plain(column.cast(kind.value_type))
    if pa.types.is_date32(kind):
        column, kind = column.cast(pa.int32()), pa.int32()
    elif pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        column, kind = column.cast(pa.timestamp("us")).cast(pa.int64()), pa.int64()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.float64(), safe=False)
    return column if pa.types.is_boolean(kind) else column.cast(pa.string())


def _numbers(column: Any) -> Array:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


@dataclass(frozen=True)
class Pair:
    """Comparable columns of an original table and its release.

    Numbers, dates and times are float64; all other values are codes shared by both sides. NULL is NaN. The rows of
    the two sides are not in the same order.
    """

    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    """Whether each column is numeric; codes can only be equal or different."""
    original: Array
    released: Array
    links: Array | None = None
    """Row number in the original of each released row, if known; -1: none."""
    left_out: tuple[str, ...] = ()
    """Columns of the original that the release lacks, or shows as another kind of value ("30 to 39")."""
    target: str | None = None
    """Target column of predictive models."""

    @cached_property
    def numbers(self) -> tuple[Array, Array]:
        """Numeric columns of both sides, without rows that have a NULL or an infinite number."""
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
        """Names of the numeric columns."""
        return tuple(name for name, number in zip(self.columns, self.numeric, strict=True) if number)

    @cached_property
    def linked(self) -> tuple[Array, Array]:
        """All columns of the linked rows, original and released side by side in the same order."""
        if self.links is None:
            raise DataError(
                "Released rows are not linked to original ones.",
                hint="Give the links from the holder's copy of publish.",
            )
        real = self.links >= 0
        return self.original[self.links[real]], self.released[real]


def pair(
    table: Table,
    release: Release[Any] | pa.Table,
    links: Array | None = None,
    columns: Sequence[str] = (),
    target: str | None = None,
) -> Pair:
    """Compare ``table`` with ``release`` (or bare rows) on ``columns``; by default all shared ones but identifiers.

    A release in its holder's hands has its links with it; bare rows and a release that was read again need ``links``.
    """
    rows = release
    if isinstance(release, Release):
        links = release.links if links is None else links
        rows = with_rows(release).payload
    if not isinstance(rows, pa.Table):
        raise DataError(
            "Information loss can be measured for a table of rows only.", hint="This release is not a table of rows."
        )
    mine = table.payload()
    if not mine.num_rows or not rows.num_rows:
        raise DataError("There are no rows to compare.")
    for name in (*columns, *([target] if target else [])):
        if name not in mine.column_names:
            raise NotFound(f"{table.card.name} releases no column {name!r}.")
    wanted = columns or mine.column_names
    both = {name: comparable_columns(mine[name], rows[name]) for name in wanted if name in rows.column_names}
    found = {name: one for name, one in both.items() if one is not None and not np.isnan(one[1]).all()}
    if not found:
        raise DataError("The release has no column with values of the kind the original has.")
    if links is not None:
        links = np.asarray(links)
        require_links(links, mine.num_rows, rows.num_rows)
    numeric, left, right = zip(*found.values(), strict=True)
    out = tuple(name for name in wanted if name not in found)
    return Pair(tuple(found), numeric, np.column_stack(left), np.column_stack(right), links, out, target)


@dataclass(frozen=True)
class Figure:
    """Value of a measure, with the details it is computed from."""

    value: float
    details: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Metric:
    """A utility measure, with its direction: whether large is good."""

    name: str
    meaning: str
    """Meaning in one sentence, for readers who are not statisticians."""
    measure: Callable[[Pair], Figure]
    """Computes the figure; a ``DataError`` where it cannot be measured, which is not a bad figure."""
    best: float = 0.0
    """Value for an exact copy of the original."""
    worst: float | None = 1.0
    """Worst possible value; ``None`` if there is no limit."""
    record_wise: bool = False
    """Whether it needs the link between released and original rows."""

    @property
    def direction(self) -> str:
        """Direction of improvement, in words."""
        less = self.worst is None or self.best < self.worst
        ends = f"{self.best:g} is best" + ("" if self.worst is None else f", {self.worst:g} worst")
        return f"{'less' if less else 'more'} is better ({ends})"
