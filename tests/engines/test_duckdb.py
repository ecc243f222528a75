"""Rows in memory are counted by numbers of their values; what comes out is what the engine's GROUP BY says."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.engines.read import read
from discreet.models.classes import classes_of

TEXTS = ["b", None, "a", "b", "", None, "a", "b"]
ROWS = pa.table(
    {
        "text": TEXTS,
        "large": pa.array(TEXTS, pa.large_string()),
        "twice": pa.DictionaryArray.from_arrays(
            pa.array([0, None, 1, 2, 3, None, 1, 0]), pa.array(["b", "a", "b", "", "unused"])
        ),
        "whole": pa.array([3, 1, None, 3, 1, 1, None, 3], pa.int16()),
        "truth": [True, None, False, True, True, None, False, True],
        "day": [dt.date(2020, 1, 1), None, None, dt.date(2020, 1, 1), dt.date(2019, 1, 1), None, None, None],
        "real": [0.0, -0.0, float("nan"), 1.5, None, None, float("nan"), 0.0],
    }
)
KINDS = {"whole": Kind.INTEGER, "truth": Kind.BOOLEAN, "day": Kind.DATE, "real": Kind.REAL}


def table_of(rows: pa.Table, names: list[str]) -> Table:
    columns = tuple(Column(name, KINDS.get(name, Kind.TEXT), Role.QUASI) for name in names)
    return read(rows, Card("people", columns))


def held(table: Table) -> pa.Table | None:
    assert isinstance(table.engine, DuckDB)
    return table.engine.dictionary_codes(table.relation, table.columns)


def counted(table: Table, *, ordered: bool) -> Counter[tuple[Any, ...]]:
    found = classes_of(table, ordered=ordered)
    assert found.labels is not None
    keys = zip(*(column.to_pylist() for column in found.labels.columns), strict=True)
    return Counter(dict(zip(keys, found.sizes.tolist(), strict=True)))


@pytest.mark.parametrize(
    "names", [["text"], ["large", "whole"], ["twice"], ["truth", "day", "twice"], list(ROWS.column_names)[:6]]
)
@pytest.mark.parametrize("cuts", [[8], [3, 0, 5], []])
def test_counts_are_those_of_the_engine(names: list[str], cuts: list[int]) -> None:
    parts, at = [], 0
    for length in cuts:
        parts.append(ROWS.slice(at, length))
        at += length
    table = table_of(pa.concat_tables(parts) if parts else ROWS.slice(0, 0), names)
    assert held(table) is not None
    *keys, counts = (column.to_pylist() for column in table.histogram().columns)
    expected = Counter(dict(zip(zip(*keys, strict=True), counts, strict=True)))
    assert counted(table, ordered=False) == counted(table, ordered=True) == expected


def test_values_are_in_the_types_that_leave_an_engine() -> None:
    table = table_of(ROWS, list(ROWS.column_names)[:6])
    numbered = held(table)
    assert numbered is not None
    assert [field.type.value_type for field in numbered.schema] == [field.type for field in table.fetch().schema]
    assert classes_of(table).labels.schema == table.fetch().schema  # type: ignore[union-attr]


def test_what_is_no_mere_selection_is_left_to_the_engine() -> None:
    table = table_of(ROWS, ["text", "whole"])
    assert held(table.select("whole")) is not None
    fewer = table.where(sql.column("whole").eq(3))
    assert held(fewer) is None
    assert counted(fewer, ordered=False) == {("b", 3): 3}
    assert held(table.generalize({"text": 1})) is None
    relations = [
        table.query(exp.Star()).limit(2),
        table.query(exp.Star()).distinct(),
        table.query(sql.named(sql.column("whole"), "text"), sql.named(sql.column("text"), "whole")),
        table.query(sql.column("text"), sql.named(exp.cast(sql.column("whole"), exp.DType.TEXT), "whole")),
        exp.select("*").from_(sql.table("elsewhere")),
    ]
    assert isinstance(table.engine, DuckDB)
    assert [table.engine.dictionary_codes(relation, ("text", "whole")) for relation in relations] == [None] * len(
        relations
    )
    assert table.engine.dictionary_codes(table.relation, ("text", "missing")) is None


def test_reals_are_left_to_the_engine() -> None:
    table = table_of(ROWS, ["text", "real"])
    assert held(table) is None
    assert sum(counted(table, ordered=False).values()) == 8
