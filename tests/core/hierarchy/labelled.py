"""The labels DuckDB gives to values, level by level."""

from __future__ import annotations

from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from discreet.core import sql
from discreet.core.hierarchy.hierarchy import Hierarchy, apply
from discreet.core.kind import Kind


def labelled(hierarchy: Hierarchy, kind: Kind, values: pa.Array[Any]) -> list[list[str | None]]:
    """The labels of ``values`` on the levels from 1 to the top."""
    trees = [apply(hierarchy, sql.column("value"), level, kind) for level in range(1, hierarchy.height + 1)]
    shown = ", ".join(f"{tree.sql('duckdb')} AS l{level}" for level, tree in enumerate(trees))
    given = pa.table({"value": values})
    found = _connection().from_arrow(given).query("given", f"SELECT {shown} FROM given").to_arrow_table()
    assert all(field.type == pa.string() for field in found.schema)
    return [column.to_pylist() for column in found.columns]


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection
