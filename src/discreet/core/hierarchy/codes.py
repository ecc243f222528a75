"""Levels as small integers, for searches that compare labels millions of times.

The labels come from the very expression the engines run, on an in-process DuckDB, so that a search and the
release it finds can never disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core import sql
from discreet.core.hierarchy.expression import apply, unknown
from discreet.core.hierarchy.protocol import Hierarchy
from discreet.core.kind import Kind
from discreet.errors import HierarchyError


@dataclass(frozen=True)
class LevelCodes:
    """For each level and each value the number of its label.

    Numbers follow the first appearance among the values, so sorted values have ascending codes on every
    level whose groups are contiguous.
    """

    codes: npt.NDArray[np.int32]
    """Shape (height + 1, number of values)."""
    labels: tuple[pa.Array[Any], ...]
    """For each level the label of each code; level 0 has the values themselves."""


def codes(hierarchy: Hierarchy, kind: Kind, values: pa.Array[Any]) -> LevelCodes:
    """The codes of ``values`` on all levels. Values the hierarchy does not know are an error."""
    column = sql.column("value")
    levels = [apply(hierarchy, column, level, kind) for level in range(1, hierarchy.height + 1)]
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("given", pa.table({"value": values}))
        missing = unknown(hierarchy, column, kind)
        if missing is not None:
            _require_known(hierarchy, connection, missing.sql("duckdb"))
        shown = ", ".join(f"{tree.sql('duckdb')} AS l{level}" for level, tree in enumerate(levels, start=1))
        labelled = connection.sql(f"SELECT {shown} FROM given").to_arrow_table()  # noqa: S608
    encoded = [values.dictionary_encode(null_encoding="encode")]
    encoded += [column.combine_chunks().dictionary_encode(null_encoding="encode") for column in labelled.columns]
    rows = [np.asarray(level.indices.to_numpy(zero_copy_only=False), dtype=np.int32) for level in encoded]
    found = LevelCodes(np.stack(rows), tuple(level.dictionary for level in encoded))
    _require_nested(hierarchy, found, values)
    return found


def _require_known(hierarchy: Hierarchy, connection: duckdb.DuckDBPyConnection, missing: str) -> None:
    rows = connection.sql(f"SELECT value FROM given WHERE {missing}").to_arrow_table()  # noqa: S608
    if not rows.num_rows:
        return
    examples = ", ".join(repr(value) for value in rows.column(0)[:3].to_pylist())
    count = "1 value" if rows.num_rows == 1 else f"{rows.num_rows} values"
    raise HierarchyError(
        f"{hierarchy.type}: {count} unknown to the hierarchy, such as {examples}.",
        hint="Add them to the hierarchy, or declare other, the label of all it does not know.",
    )


def _require_nested(hierarchy: Hierarchy, found: LevelCodes, values: pa.Array[Any]) -> None:
    for level, (fine, coarse) in enumerate(zip(found.codes, found.codes[1:], strict=False)):
        _, first = np.unique(fine, return_index=True)
        torn = np.flatnonzero(coarse[first][fine] != coarse)
        if len(torn):
            one, two = values[int(first[fine[torn[0]]])].as_py(), values[int(torn[0])].as_py()
            raise HierarchyError(
                f"{hierarchy.type}: {one!r} and {two!r} share a label on level {level} but not on level {level + 1}."
            )
