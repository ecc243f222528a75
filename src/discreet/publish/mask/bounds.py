"""Masked numbers stay within the bounds that the card declares: whoever reads the release relies on them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Card
from discreet.publish.masking import NUMERIC

Limits: TypeAlias = Mapping[str, tuple[Any, Any]]
"""For each column that is masked and has bounds these two."""
Some = TypeVar("Some", pa.Table, pa.RecordBatch)


def limits_of(card: Card, parameters: Mapping[str, Any]) -> Limits:
    """The bounds of the columns that a method says it masked."""
    masked = [card[name] for name in parameters.get("columns", ())]
    return {one.name: one.bounds for one in masked if one.bounds is not None and one.kind in NUMERIC}


def within(rows: Some, limits: Limits) -> Some:
    """The same rows, with what lies beyond a bound moved to it; NULL and NaN stay."""
    for name, bounds in limits.items():
        place = rows.schema.get_field_index(name)
        cells = rows.column(place)
        low, high = _ends(bounds, cells.type)
        cells = pc.if_else(pc.less(cells, low), low, cells)
        cells = pc.if_else(pc.greater(cells, high), high, cells)
        rows = rows.set_column(place, rows.schema.field(place), cells)
    return rows


def said(limits: Limits) -> tuple[str, ...]:
    """For the recipe."""
    if not limits:
        return ()
    listed = ", ".join(f"{name} {low} to {high}" for name, (low, high) in limits.items())
    return (
        f"Values do not leave the declared bounds ({listed}): whatever would lie beyond was moved to them, "
        "so that what is said of means and variances holds only nearly.",
    )


def _ends(bounds: tuple[Any, Any], type_: pa.DataType) -> tuple[Any, Any]:
    """The bounds as values of a type: the least and the largest it has between them."""
    low, high = bounds
    if isinstance(type_, pa.Decimal128Type):
        step = Decimal(1).scaleb(-type_.scale)
        low = Decimal(str(low)).quantize(step, ROUND_CEILING)
        high = Decimal(str(high)).quantize(step, ROUND_FLOOR)
    elif pa.types.is_floating(type_):
        low, high = float(low), float(high)
    return pa.scalar(low, type_), pa.scalar(high, type_)
