"""Rows that lie in memory, their values as small numbers: made once, and then counting needs no SQL and no texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from sqlglot import exp

from discreet.core.arrow import arrow_type, kind_of
from discreet.core.kind import Kind

_COMPARED = (pa.types.is_signed_integer, pa.types.is_boolean, pa.types.is_date32)
"""Types of values that are equal in SQL exactly if they are equal here; text is, too."""


class Held:
    """Arrow tables by name, and those of their columns that were asked for as numbers."""

    def __init__(self) -> None:
        self.tables: dict[str, pa.Table] = {}
        self._known: dict[tuple[str, str], pa.Array[Any]] = {}

    def columns(self, relation: exp.Expr, names: Sequence[str]) -> pa.Table | None:
        """The named columns of a relation that only selects columns of a table here: places in a dictionary of the
        distinct values, NULL among them. ``None``: it is another relation, or a column is of another type."""
        found = _source(relation, set(names))
        if found is None or found.table not in self.tables:
            return None
        columns = {name: column for name in names if (column := self._column(found.table, name)) is not None}
        changed = any(columns[name].type.value_type != pa.string() for name in found.texts if name in columns)
        return pa.table(columns) if len(columns) == len(names) and not changed else None

    def _column(self, table: str, name: str) -> pa.Array[Any] | None:
        if (table, name) not in self._known:
            data = self.tables[table]
            column = data.column(name) if name in data.column_names else None
            encoded = None if column is None else _encoded(column)
            if encoded is None:
                return None
            self._known[table, name] = encoded
        return self._known[table, name]


class _Source(NamedTuple):
    table: str
    texts: set[str]
    """Columns that are cast to text on the way: they are as they are there only if they are text there."""


def _source(relation: exp.Expr, names: set[str]) -> _Source | None:
    """The table whose columns of these names a relation shows by their own names, all rows; ``None``: it does not."""
    texts: set[str] = set()
    while isinstance(relation, exp.Select):
        if not _bare(relation, "expressions", "from_"):
            return None
        if not (len(relation.expressions) == 1 and isinstance(relation.expressions[0], exp.Star)):
            shown = [_shown(one) for one in relation.expressions]
            if not names <= {name for name, _ in shown}:
                return None
            texts |= {name for name, cast in shown if cast and name in names}
        elif not _bare(relation.expressions[0]):
            return None
        relation = relation.args["from_"].this
        if isinstance(relation, exp.Subquery):
            if not _bare(relation, "this", "alias"):
                return None
            relation = relation.this
    return _Source(relation.name, texts) if isinstance(relation, exp.Table) and _bare(relation, "this") else None


def _bare(tree: exp.Expr, *parts: str) -> bool:
    """Whether a part of a query has no other parts than these."""
    return not any(value for part, value in tree.args.items() if part not in parts)


def _shown(selected: exp.Expr) -> tuple[str, bool]:
    """The column that is selected by its own name, and whether it is cast to text; no name, if it is anything else."""
    value, cast = selected, False
    if isinstance(value, exp.Alias):
        value = value.this
        if isinstance(value, exp.Cast) and value.to.this is exp.DType.TEXT:
            value, cast = value.this, True
    own = isinstance(value, exp.Column) and value.name == selected.alias_or_name
    return (value.name if own else ""), cast


def _encoded(column: pa.ChunkedArray[Any]) -> pa.Array[Any] | None:
    """A column as places in its distinct values, in the type that leaves an engine."""
    if pa.types.is_dictionary(column.type):  # it may list values twice, or that do not occur
        column = column.cast(column.type.value_type)
    kind = kind_of(column.type)
    if kind is None or not (kind is Kind.TEXT or any(test(column.type) for test in _COMPARED)):
        return None
    if len(column):
        encoded: Any = column.dictionary_encode(null_encoding="encode").combine_chunks()
    else:  # Arrow cannot combine no chunks of every type
        encoded = pa.array([], column.type).dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices, encoded.dictionary.cast(arrow_type(kind)), safe=False)
