"""The Arrow types that leave an engine: one for each kind, whatever the engine's own types were.

integer     int64                       text       string
real        float64                     boolean    bool
decimal     decimal128(38, scale)       date       date32
timestamp   timestamp[us], or timestamp[us, UTC] where the engine knows the zone
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.kind import Kind
from discreet.errors import DataError

_TYPES: dict[Kind, pa.DataType] = {
    Kind.INTEGER: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
}


def arrow_type(kind: Kind, *, scale: int = 0, zoned: bool = False) -> pa.DataType:
    """The one Arrow type of a kind."""
    if kind is Kind.DECIMAL:
        return pa.decimal128(38, scale)
    if kind is Kind.TIMESTAMP and zoned:
        return pa.timestamp("us", "UTC")
    return _TYPES[kind]


def kind_of(type_: pa.DataType) -> Kind | None:
    """The kind an Arrow type holds; ``None`` for what no column of a card can be (lists, blobs, times)."""
    types = pa.types
    if types.is_dictionary(type_):
        return kind_of(type_.value_type)
    tests = (
        (types.is_integer, Kind.INTEGER),
        (types.is_floating, Kind.REAL),
        (types.is_decimal, Kind.DECIMAL),
        (types.is_string, Kind.TEXT),
        (types.is_large_string, Kind.TEXT),
        (types.is_string_view, Kind.TEXT),
        (types.is_boolean, Kind.BOOLEAN),
        (types.is_date, Kind.DATE),
        (types.is_timestamp, Kind.TIMESTAMP),
    )
    return next((kind for test, kind in tests if test(type_)), None)


def canonical(schema: pa.Schema) -> pa.Schema:
    """``schema`` in the types above. What no kind holds stays as it is; the card decides whether it matters."""
    fields = []
    for field in schema:
        kind = kind_of(field.type)
        if kind is not None:
            scale = field.type.scale if kind is Kind.DECIMAL else 0
            zoned = kind is Kind.TIMESTAMP and getattr(field.type, "tz", None) is not None
            field = field.with_type(arrow_type(kind, scale=scale, zoned=zoned))  # noqa: PLW2901
        fields.append(pa.field(field.name, field.type))
    return pa.schema(fields)


def recast(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The same rows in canonical types; columns that have them already are not copied."""
    schema = canonical(reader.schema)
    return pa.RecordBatchReader.from_batches(schema, _recast(reader, schema))


def recast_table(data: pa.Table) -> pa.Table:
    """The same rows in canonical types; columns that have them already are not copied."""
    schema = canonical(data.schema)
    columns = (_cast(data.column(i), data.schema.field(i), schema.field(i)) for i in range(len(schema)))
    return pa.Table.from_arrays(list(columns), schema=schema)


def content_order(rows: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Row numbers in the order of what the rows hold, so that the order they came in tells nothing."""
    plain = [column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column for column in rows.columns]
    keys = pa.table(plain, names=[str(place) for place in range(len(plain))])
    return np.asarray(pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names]), np.int64)


def _recast(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = (_cast(batch.column(i), batch.schema.field(i), schema.field(i)) for i in range(len(schema)))
        yield pa.RecordBatch.from_arrays(list(columns), schema=schema)


def _cast(column: Any, source: pa.Field[Any], target: pa.Field[Any]) -> Any:
    if source.type == target.type:
        return column
    try:
        return pc.cast(column, target.type)
    except pa.ArrowInvalid as error:
        raise DataError(
            f"Column {target.name!r} has values that do not fit {target.type}, as which it is read.",
            hint="Whole numbers beyond ±9223372036854775807 can be read as text.",
        ) from error
