"""Cells of a column as numbers, back in the type they came in, and within the bounds that the card declares.

NULL and what is not finite stays as it is in a column that is not masked. Masked numbers are finite, and within the
declared bounds: anyone who reads the release relies on it. No method can mask what is infinite (there is no noise that
moves it, and no rank beside it), so it leaves as missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Card
from discreet.core.kind import NUMBERS, Kind
from discreet.noise.masking import Generator

Array: TypeAlias = npt.NDArray[Any]
Cells: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"

_LARGEST = float(2**63 - 1024)
"""The largest real number that is an int64."""


@dataclass(frozen=True)
class Numbers:
    """The cells that hold a finite number."""

    values: Array
    """float64, only those that are there."""
    there: Array
    """For each cell whether it holds one."""


def numbers(cells: Cells) -> Numbers:
    """Numbers as they are; dates as days and times as microseconds since 1970."""
    plain = _plain(cells).cast(pa.float64(), safe=False)
    all_ = np.asarray(plain.to_numpy(zero_copy_only=False), dtype=np.float64)
    there = np.isfinite(all_)
    return Numbers(all_[there], there)


def unit_of(type_: pa.DataType) -> float | None:
    """The step between two values of a type: 1 for whole numbers, days and microseconds; none for reals."""
    if pa.types.is_floating(type_):
        return None
    return 10.0**-type_.scale if isinstance(type_, pa.Decimal128Type) else 1.0


def round_at_random(values: Array, type_: pa.DataType, rng: Generator) -> Array:
    """Values that a type can hold: rounded up or down at random, so that they are right on average.

    Rounding to the nearest would undo small changes, and bias those that are in proportion.
    """
    unit = unit_of(type_)
    if unit is None:
        return values
    scaled = values / unit
    whole = np.rint(scaled)
    exact = np.abs(scaled - whole) <= 1e-9 * np.maximum(1.0, np.abs(scaled)) * (unit != 1.0)  # 0.1 / 0.01 is not 10
    down = np.floor(scaled)
    up = rng.random(len(values)) < scaled - down
    return np.where(exact, whole, down + up)


def write_numbers(values: Array, like: Cells, there: Array) -> Cells:
    """``values`` in place of the cells that are ``there``, in the type of ``like``; whole units if it has units."""
    type_ = like.type
    if pa.types.is_floating(type_):
        full = np.asarray(like.to_numpy(zero_copy_only=False), dtype=np.float64).copy()
        full[there] = values
        null = np.asarray(like.is_null().to_numpy(zero_copy_only=False))
        return pa.array(full, type=type_, mask=null)
    whole = np.zeros(len(there), np.int64)
    whole[there] = np.clip(np.rint(values), -_LARGEST, _LARGEST).astype(np.int64)
    cells: Cells = pa.array(whole, pa.int64(), mask=~there)
    if isinstance(type_, pa.Decimal128Type):
        return _units_to_decimals(cells, type_)
    return cells.cast(pa.int32()).cast(type_) if pa.types.is_date32(type_) else cells.cast(type_)


def whole_units(values: Array, type_: pa.DataType) -> Array:
    """Values as they are counted in ``write_numbers``: in units of the type, where it has any."""
    unit = unit_of(type_)
    return values if unit is None else values / unit


def with_column(rows: pa.Table, name: str, cells: Cells) -> pa.Table:
    """Replace the cells of one column."""
    return rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), cells)


def reorder(cells: Cells, source: Array) -> Cells:
    """The cells in another order: place i gets that of ``source[i]``."""
    return cells.take(pa.array(source, pa.int64()))


def _plain(cells: Cells) -> Cells:
    if pa.types.is_date32(cells.type):
        return cells.cast(pa.int32())
    return cells.cast(pa.int64()) if pa.types.is_timestamp(cells.type) else cells


def _units_to_decimals(cells: Any, type_: pa.Decimal128Type) -> Cells:
    """Whole units as decimals: 1234 as 12.34, without a detour through reals."""
    buffers = cells.cast(pa.decimal128(38, 0)).buffers()
    return pa.Array.from_buffers(type_, len(cells), buffers, null_count=cells.null_count)


Limits: TypeAlias = Mapping[str, tuple[Any, Any] | None]
"""For each column of numbers that is masked its bounds, if it has any."""
Some = TypeVar("Some", pa.Table, pa.RecordBatch)


def limits_of(card: Card, parameters: Mapping[str, Any]) -> Limits:
    """The bounds of the columns that a method says it masked; those of reals without bounds are listed too."""
    masked = [card[name] for name in parameters.get("columns", ())]
    limited = [one for one in masked if one.kind in NUMBERS and (one.bounds is not None or one.kind is Kind.REAL)]
    return {one.name: one.bounds for one in limited}


def clamp_to_bounds(rows: Some, limits: Limits) -> Some:
    """Move values beyond a bound to it, and make infinite ones missing; NULL and NaN stay."""
    for name, bounds in limits.items():
        place = rows.schema.get_field_index(name)
        cells = rows.column(place)
        if pa.types.is_floating(cells.type):
            cells = pc.if_else(pc.is_inf(cells), pa.scalar(None, cells.type), cells)
        if bounds is not None:
            low, high = _typed_bounds(bounds, cells.type)
            cells = pc.if_else(pc.less(cells, low), low, cells)
            cells = pc.if_else(pc.greater(cells, high), high, cells)
        rows = rows.set_column(place, rows.schema.field(place), cells)
    return rows


def bounds_steps(limits: Limits) -> tuple[str, ...]:
    """For the recipe."""
    bounded = {name: bounds for name, bounds in limits.items() if bounds is not None}
    if not bounded:
        return ()
    listed = ", ".join(f"{name} {low} to {high}" for name, (low, high) in bounded.items())
    return (
        f"Values do not leave the declared bounds ({listed}): values beyond them were clamped, so statements "
        "about means and variances hold only approximately.",
    )


def _typed_bounds(bounds: tuple[Any, Any], type_: pa.DataType) -> tuple[Any, Any]:
    """The bounds as values of a type: the least and the largest it has between them."""
    low, high = bounds
    if isinstance(type_, pa.Decimal128Type):
        step = Decimal(1).scaleb(-type_.scale)
        low = Decimal(str(low)).quantize(step, ROUND_CEILING)
        high = Decimal(str(high)).quantize(step, ROUND_FLOOR)
    elif pa.types.is_floating(type_):
        low, high = float(low), float(high)
    return pa.scalar(low, type_), pa.scalar(high, type_)
