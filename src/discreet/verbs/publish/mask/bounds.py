"""Masked numbers are finite, and stay within the bounds that the card declares: whoever reads the release relies on it.

No method can mask what is infinite (there is no noise that moves it, and no rank beside it), so it leaves as missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Card
from discreet.core.kind import Kind
from discreet.verbs.publish.masking import NUMERIC

Limits: TypeAlias = Mapping[str, tuple[Any, Any] | None]
"""For each column of numbers that is masked its bounds, if it has any."""
Some = TypeVar("Some", pa.Table, pa.RecordBatch)


def limits_of(card: Card, parameters: Mapping[str, Any]) -> Limits:
    """The bounds of the columns that a method says it masked; those of reals without bounds are listed too."""
    masked = [card[name] for name in parameters.get("columns", ())]
    limited = [one for one in masked if one.kind in NUMERIC and (one.bounds is not None or one.kind is Kind.REAL)]
    return {one.name: one.bounds for one in limited}


def within(rows: Some, limits: Limits) -> Some:
    """The same rows, with what lies beyond a bound moved to it and what is infinite missing; NULL and NaN stay."""
    for name, bounds in limits.items():
        place = rows.schema.get_field_index(name)
        cells = rows.column(place)
        if pa.types.is_floating(cells.type):
            cells = pc.if_else(pc.is_inf(cells), pa.scalar(None, cells.type), cells)
        if bounds is not None:
            low, high = _ends(bounds, cells.type)
            cells = pc.if_else(pc.less(cells, low), low, cells)
            cells = pc.if_else(pc.greater(cells, high), high, cells)
        rows = rows.set_column(place, rows.schema.field(place), cells)
    return rows


def said(limits: Limits) -> tuple[str, ...]:
    """For the recipe."""
    bounded = {name: bounds for name, bounds in limits.items() if bounds is not None}
    if not bounded:
        return ()
    listed = ", ".join(f"{name} {low} to {high}" for name, (low, high) in bounded.items())
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
