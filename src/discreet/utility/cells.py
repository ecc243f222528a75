"""Cells of two tables on one footing: numbers as numbers, all else as codes that are equal where the values are."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import DataError

Array: TypeAlias = npt.NDArray[Any]
Cells: TypeAlias = "pa.ChunkedArray[Any]"


def on_one_footing(mine: Cells, theirs: Cells) -> tuple[bool, Array, Array] | None:
    """Whether they are numbers, and both columns; ``None`` if they hold values of different kinds."""
    a, b = _plain(mine), _plain(theirs)
    if pa.types.is_float64(a.type) and pa.types.is_float64(b.type):
        return True, _numbers(a), _numbers(b)
    if a.type != b.type or pa.types.is_float64(a.type):
        return None
    together = pa.chunked_array([*a.chunks, *b.chunks], type=a.type).combine_chunks()
    codes = _numbers(pc.cast(together.dictionary_encode().indices, pa.float64()))
    return False, codes[: len(a)], codes[len(a) :]


def means(x: Array) -> Array:
    """The means of the columns; that of a constant is the constant itself, however many rows there are."""
    return np.asarray(x[0] + (x - x[0]).mean(axis=0))


def centred(x: Array) -> Array:
    """The columns less their means; a constant is exactly 0, which rounding would not leave of most."""
    moved = x - x[0]
    return np.asarray(moved - moved.mean(axis=0))


def spread(values: Array, ddof: int = 0) -> float:
    """The standard deviation of the numbers that are there: exactly 0 if they are all the same, or too few."""
    there = values[~np.isnan(values)]
    return float(np.sqrt((centred(there) ** 2).sum() / (len(there) - ddof))) if len(there) > ddof else 0.0


def require_links(links: Array, originals: int, rows: int) -> None:
    """An error unless ``links`` says of each released row which of the original it is, or -1."""
    if links.shape != (rows,) or links.dtype.kind not in "iu":
        raise DataError(f"Links are one whole number a released row: expected {rows:,}, got {links.shape}.")
    if len(links) and (links.max() >= originals or links.min() < -1):
        raise DataError(f"A link leads to no row of the {originals:,} of the original.")


def _plain(column: Cells) -> Cells:
    """Numbers, dates and times as float64, truth values as they are, all else as text."""
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
